"""A fit for the table makers of papers: the plug-in protocol of the package maketables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.errors import HalftrekError, MissingExtraError
from halftrek.results.listings import measures_of
from halftrek.trust import judged_parameters

if TYPE_CHECKING:
    import pandas as pd

    from halftrek.estimation.fit import Fitted

LABELS = {"N": "Observations", "ll": "Log-likelihood", "chi2": "χ²", "df": "df", "cfi": "CFI", "rmsea": "RMSEA"}
_MEASURES = ("chi2", "df", "pvalue", "cfi", "tli", "rmsea", "srmr", "aic", "bic")


def coefficient_table(fit: Fitted) -> pd.DataFrame:
    """A pandas frame with a row for each edge: b se t p ci95l ci95u; what data do not determine is left out."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a table for maketables", "dev") from None
    rows = [r for r in judged_parameters(fit) if r.op != "~1" and r.lhs != r.rhs and not np.isnan(r.est)]
    columns = {
        "b": [r.est for r in rows],
        "se": [r.se for r in rows],
        "t": [r.z for r in rows],
        "p": [r.p for r in rows],
        "ci95l": [r.ci_low for r in rows],
        "ci95u": [r.ci_high for r in rows],
    }
    return pd.DataFrame(columns, index=pd.Index([str(r.edge) for r in rows], name="Coefficient"), dtype=float)


def statistic(fit: Fitted, key: str) -> float | str | None:
    """A number for the foot of the table; None if there is none of that name."""
    if key == "N":
        return int(fit.n) if float(fit.n).is_integer() else float(fit.n)
    if key == "ll":
        return float(fit.loglik)
    if key == "se_type":
        return "maximum likelihood"
    if key not in _MEASURES:
        return None
    try:
        value: float | None = measures_of(fit).get(key)
    except HalftrekError:
        return None
    return None if value is None or not np.isfinite(value) else value


def outcomes(fit: Fitted) -> str:
    """The variables that have causes and no effects."""
    graph = fit.graph
    return ", ".join(v for v in graph.observed if graph.parents(v) and not graph.children(v))
