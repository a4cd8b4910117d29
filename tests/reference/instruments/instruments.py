"""Writes ``instruments.csv`` and what linearmodels says of it to ``instruments.json``.

    python tests/reference/instruments/instruments.py

needs linearmodels. The rows are drawn: three instruments, two causes with hidden confounders, one control, errors
whose spread grows with an instrument, and groups with an error of their own.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
NAMES = ("y", "x1", "x2", "z1", "z2", "z3", "w", "group")


def drawn(n: int = 240, groups: int = 48, seed: int = 20) -> np.ndarray:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), n // groups)
    shared = rng.normal(size=(groups, 3))[group]
    w = rng.normal(size=n) + 0.5 * shared[:, 2]
    z = rng.normal(size=(n, 3)) + 0.5 * w[:, None] + 0.6 * shared[:, :1]
    hidden = rng.normal(size=n) + 0.5 * shared[:, 1]
    spread = 0.6 + 0.5 * np.abs(z[:, 0])
    x1 = 0.4 * z[:, 0] + 0.3 * z[:, 1] + 0.1 * z[:, 2] + 0.3 * w + hidden + spread * rng.normal(size=n)
    x2 = -0.2 * z[:, 0] + 0.2 * z[:, 1] + 0.5 * z[:, 2] + 0.2 * w + 0.7 * hidden + rng.normal(size=n)
    y = 0.5 * x1 + 0.3 * x2 + 0.4 * w - 1.2 * hidden + spread * rng.normal(size=n)
    return np.column_stack([y, x1, x2, z, w, group])


def figures(frame, causes: list[str], instruments: list[str]) -> dict:  # type: ignore[no-untyped-def]
    from linearmodels.iv import IV2SLS, IVGMM, IVLIML  # type: ignore[import-not-found]

    frame = frame.assign(one=1.0)
    parts = (frame["y"], frame[["one", "w"]], frame[causes], frame[instruments])
    plain = IV2SLS(*parts).fit(cov_type="unadjusted", debiased=True)
    robust = IV2SLS(*parts).fit(cov_type="robust", debiased=True)
    clustered = IV2SLS(*parts).fit(cov_type="clustered", clusters=frame["group"], debiased=True)
    stages = {"classical": plain.first_stage, "robust": robust.first_stage, "clustered": clustered.first_stage}
    table = plain.first_stage.diagnostics
    gmm = IVGMM(*parts, weight_type="robust").fit(iter_limit=2)
    by_group = IVGMM(*parts, weight_type="clustered", clusters=frame["group"]).fit(iter_limit=2)
    liml = IVLIML(*parts).fit(cov_type="unadjusted")
    found = {
        "tsls": [float(plain.params[v]) for v in causes],
        "liml": [float(liml.params[v]) for v in causes],
        "se": {
            "classical": [float(plain.std_errors[v]) for v in causes],
            "robust": [float(robust.std_errors[v]) for v in causes],
            "clustered": [float(clustered.std_errors[v]) for v in causes],
        },
        "partial_r2": [float(v) for v in table["partial.rsquared"]],
        "shea_r2": [float(v) for v in table["shea.rsquared"]],
        "first_stage_f": {
            kind: [_as_f(one.diagnostics.loc[v], len(instruments)) for v in causes] for kind, one in stages.items()
        },
        "wu_hausman": [float(plain.wu_hausman().stat), float(plain.wu_hausman().pval)],
    }
    if len(instruments) > len(causes):
        found["sargan"] = [float(plain.sargan.stat), float(plain.sargan.pval)]
        found["hansen_j"] = {"robust": float(gmm.j_stat.stat), "clustered": float(by_group.j_stat.stat)}
    return found


def _as_f(line, count: int) -> float:  # type: ignore[no-untyped-def]
    """linearmodels prints a chi-square where errors are robust: the same Wald statistic, not divided by its df."""
    return float(line["f.stat"]) / (count if line["f.dist"].startswith("chi2") else 1)


def write() -> None:
    import pandas as pd

    rows = drawn()
    frame = pd.DataFrame(rows, columns=NAMES).round(6)
    frame["group"] = frame["group"].astype(int)
    frame.to_csv(HERE / "instruments.csv", index=False)
    cases = {
        "one cause, one instrument": (["x1"], ["z1"]),
        "one cause, three instruments": (["x1"], ["z1", "z2", "z3"]),
        "two causes, three instruments": (["x1", "x2"], ["z1", "z2", "z3"]),
    }
    found = {
        "tool": {"name": "linearmodels", "version": version("linearmodels")},
        "cases": [
            {"name": name, "causes": causes, "instruments": tools, **figures(frame, causes, tools)}
            for name, (causes, tools) in cases.items()
        ],
    }
    (HERE / "instruments.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write()
