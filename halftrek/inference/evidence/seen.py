"""What the rows say of some variables by themselves, without the graph: their own moments, and regressions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from halftrek import estimation
from halftrek.data import Moments, RowReader
from halftrek.data.weights import Sampled
from halftrek.errors import HalftrekError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.inference.information.base import kind_of_data
from halftrek.models import Gaussian
from halftrek.notes import Note
from halftrek.queries import Query, evaluate, variables_of


def seen_moments(fit: Fitted, names: Sequence[str]) -> Moments:
    """The moments of the rows that have all of these variables; no model has filled in any of their values."""
    return kind_of_data(fit).seen_moments(fit, names)


def seen_rows(fit: Fitted, like: Moments) -> RowReader | None:
    """The rows behind such moments, if the fit has rows."""
    if fit.rows is None:
        return None
    found = fit.rows.having(like.names)
    return replace(found, sampling=like.weighting.mean) if isinstance(like.weighting, Sampled) else found


def seen_fit(fit: Fitted, names: Sequence[str]) -> Fitted:
    """Each of the variables regressed on all before it: a model that says what the rows say and nothing more."""
    return fit_to_seen(fit, Graph(list(combinations(names, 2)), observed=names))


def fit_to_seen(fit: Fitted, graph: Graph) -> Fitted:
    """Another graph, of some of the variables, fitted to the rows that have all of these."""
    moments = seen_moments(fit, graph.observed)
    return replace(
        estimation.fit(graph, moments), rows=seen_rows(fit, moments), frame=fit.frame, rows_left_out=fit.rows_left_out,
        clusters_left_out=fit.clusters_left_out,
    )  # fmt: skip


def seen_note(fit: Fitted, query: Query, result: float | Gaussian) -> Note | None:
    """What the rows alone say to a question about no intervention, if the model says something else."""
    try:
        alone = evaluate(query, seen_fit(fit, sorted(variables_of(query))).model)
    except HalftrekError:  # too few rows, or variables that determine each other
        return None
    model, rows = (_number(found) for found in (result, alone))
    if model is None or rows is None or f"{model:.4g}" == f"{rows:.4g}":
        return None
    return Note("model, not rows", {"model": model, "rows": rows})


def _number(found: float | Gaussian) -> float | None:
    if isinstance(found, Gaussian):
        return float(found.mean[0]) if len(found.names) == 1 else None
    return float(found)
