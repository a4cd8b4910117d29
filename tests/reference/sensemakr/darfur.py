"""Writes what sensemakr says of its own data, and the moments of these data, to ``darfur.json``.

    python tests/reference/sensemakr/darfur.py

needs PySensemakr, statsmodels and pandas. The rows are the survey of refugees from Darfur that comes with sensemakr
(Hazlett 2019); only their moments are stored. Two regressions: with all covariates but the villages, and with the
villages, of which the moments are those of residuals after regression on all covariates but one and on the villages.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TREATMENT, OUTCOME = "directlyharmed", "peacefactor"
COVARIATES = ("age", "farmer_dar", "herder_dar", "pastvoted", "hhsize_darfur", "female")
BENCHMARKS = ("female", "age")


def moments(columns) -> dict:  # type: ignore[no-untyped-def]
    values = columns.to_numpy(dtype=float)
    centred = values - values.mean(axis=0)
    return {"names": list(columns.columns), "n": len(values), "cov": (centred.T @ centred / len(values)).tolist()}


def said_of(formula: str, rows) -> dict:  # type: ignore[no-untyped-def]
    import sensemakr as smkr  # type: ignore[import-not-found]
    import statsmodels.formula.api as smf  # type: ignore[import-not-found]

    model = smf.ols(formula, data=rows).fit()
    found = smkr.Sensemakr(model, TREATMENT, benchmark_covariates=list(BENCHMARKS), kd=[1, 2, 3], ky=[1, 2, 3])
    keys = ("estimate", "se", "t_statistic", "r2yd_x", "rv_q", "rv_qa", "f2yd_x", "dof")
    statistics = {key: float(found.sensitivity_stats[key]) for key in keys}
    half = smkr.sensitivity_statistics.robustness_value(model=model, covariates=TREATMENT, q=0.5, alpha=0.1)
    uneven = smkr.ovb_bounds(model=model, treatment=TREATMENT, benchmark_covariates=["female"], kd=[1.5], ky=[0.5])
    lower = smkr.ovb_bounds(
        model=model, treatment=TREATMENT, benchmark_covariates=["female"], kd=[1.0], ky=[1.0], reduce=False, alpha=0.1
    )
    return {
        "formula": formula,
        "statistics": statistics,
        "rv_half_90": float(np.squeeze(half)),
        "bounds": found.bounds.to_dict(orient="records"),
        "uneven": uneven.to_dict(orient="records"),
        "away_90": lower.to_dict(orient="records"),
    }


def residuals(rows, columns: list[str], given: list[str]):  # type: ignore[no-untyped-def]
    import pandas as pd

    villages = pd.get_dummies(rows["village"], dtype=float).to_numpy()
    design = np.column_stack([villages, rows[given].to_numpy(dtype=float)])
    values = rows[columns].to_numpy(dtype=float)
    return pd.DataFrame(values - design @ np.linalg.lstsq(design, values, rcond=None)[0], columns=columns)


def write() -> None:
    import sensemakr as smkr

    rows = smkr.load_darfur()
    right = " + ".join((TREATMENT, *COVARIATES))
    columns = [TREATMENT, *COVARIATES, OUTCOME]
    others = [v for v in COVARIATES if v != "female"]
    found = {
        "source": f"PySensemakr {version('PySensemakr')}, data of Hazlett (2019)",
        "plain": moments(rows[columns]) | said_of(f"{OUTCOME} ~ {right}", rows),
        "villages": moments(residuals(rows, [TREATMENT, "female", OUTCOME], others))
        | said_of(f"{OUTCOME} ~ {right} + village", rows),
    }
    (HERE / "darfur.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write()
