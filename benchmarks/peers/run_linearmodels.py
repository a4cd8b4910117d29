"""linearmodels: two-stage least squares. It knows no graphs: its user has to name the instrument and the controls."""

from __future__ import annotations

from driver import NotForThis, run


def answer(problem, path):
    import pandas as pd
    from linearmodels.iv import IV2SLS

    if not problem["instrument"] and problem["controls"] is None:
        raise NotForThis("knows no graphs: needs an instrument or a set of controls, and this problem has neither")
    data = pd.read_csv(path).assign(one=1.0)
    fixed = ["one", *(problem["controls"] or ())]
    if problem["instrument"]:
        fit = IV2SLS(data[problem["effect"]], data[fixed], data[problem["cause"]], data[problem["instrument"]]).fit()
    else:
        fit = IV2SLS(data[problem["effect"]], data[[*fixed, problem["cause"]]], None, None).fit()
    ends = fit.conf_int().loc[problem["cause"]]
    return {"value": float(fit.params[problem["cause"]]), "low": float(ends["lower"]), "high": float(ends["upper"])}


if __name__ == "__main__":
    run(answer)
