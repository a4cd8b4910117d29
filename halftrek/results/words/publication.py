"""Fits and answers for the table makers of papers: the plug-in protocol of the package maketables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.errors import HalftrekError, MissingExtraError
from halftrek.results.words.answer_lines import lines_of
from halftrek.results.words.listings import measures_of
from halftrek.trust import judged_parameters

if TYPE_CHECKING:
    import pandas as pd

    from halftrek.estimation.fit import Fitted
    from halftrek.results.answers import Answer

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


def answers_table(answers: Sequence[Answer]) -> pd.DataFrame:
    """A pandas frame with a row for each number of the answers; one without a number is left out, as in a fit."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a table for maketables", "dev") from None
    lines = [line for one in answers if one.form == "point" for line in lines_of(one)]
    several = {line.question for line in lines if sum(other.question == line.question for other in lines) > 1}
    names = [f"{line.question}: {line.outcome}" if line.question in several else line.question for line in lines]
    columns = {"b": "est", "se": "se", "t": "z", "p": "p"}
    columns |= {"ci95l": "ci_low", "ci95u": "ci_high"} if all(one.level == 0.95 for one in lines) else {}
    found = {head: [getattr(line, name) for line in lines] for head, name in columns.items()}
    return pd.DataFrame(found, index=pd.Index(names, name="Coefficient"), dtype=float)


def answers_statistic(answers: Sequence[Answer], key: str) -> int | float | str | None:
    """Rows behind the answers, if all have the same; None for what answers do not know."""
    rows = {one.n for one in answers if one.n is not None}
    if key != "N" or len(rows) != 1:
        return None
    (n,) = rows
    return int(n) if float(n).is_integer() else float(n)


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
