"""Hidden variables with causes: data of the observed variables, parameters of all.

What is asked of the data alone is answered as without hidden variables. What is asked of the parameters is asked of
the same rows with a column more for each hidden variable, of which nobody has a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Patterns
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.estimation.plan import make_plan
from halftrek.inference.checks import hidden_checks
from halftrek.inference.draws.hidden_draws import hidden_replicates
from halftrek.inference.evidence.evidence import Support, equation_sizes
from halftrek.inference.evidence.strength import whole_strengths
from halftrek.inference.information.base import DataKind
from halftrek.inference.information.behind.opened import opened, seen_scores, usual
from halftrek.inference.information.influence import Scores
from halftrek.inference.information.information import Kind
from halftrek.inference.information.missing.incomplete import pattern_information, row_scores
from halftrek.inference.information.missing.likelihood import missing_landscape
from halftrek.inference.standard_errors.factor import Columns, Piece, whole_columns
from halftrek.inference.tables.hidden_parameters import hidden_parameters
from halftrek.queries.gradients import Gradient


def _row_scores(fit: Fitted, gradients: tuple[Gradient, ...]) -> Scores:
    return seen_scores(fit, row_scores(opened(fit), gradients))


def _variances(fit: Fitted, gradients: Sequence[Gradient], kind: Kind | None) -> Floats:
    known = pattern_information(opened(fit), usual(fit, kind))
    return np.array([known.spread(known.pull(g)) for g in gradients])


def _columns(fit: Fitted, pieces: list[Piece], kind: Kind | None, level: float) -> Columns:
    return whole_columns(opened(fit), pieces, usual(fit, kind), level, lambda _, pulled: _rests(fit, pulled))


def _support(fit: Fitted, gradients: Sequence[Gradient], kind: Kind | None) -> Support:
    known = pattern_information(opened(fit), usual(fit, kind))
    return _rests(fit, np.array([known.pull(g) for g in gradients]).reshape(len(gradients), known.space.size))


def _rests(fit: Fitted, pulled: Floats) -> Support:
    """What numbers with these gradients rest on: all rows, less the parameters of the largest equation."""
    known = pattern_information(opened(fit), usual(fit, None))
    variance = np.array([known.spread(g) for g in pulled]).reshape(len(pulled), 1) / fit.n
    sizes = equation_sizes(make_plan(fit.graph, fit.model.names, fit.options))
    names, seen = fit.model.names, set(fit.graph.observed)
    own = [size for variables, size in sizes.items() if any(names[v] in seen for v in variables)]
    return Support(variance, np.full(variance.shape, _rows(fit)), np.array([float(max(own, default=1))]))


def _rows(fit: Fitted) -> float:
    data = data_of(fit)
    return data.used / len(fit.graph) if isinstance(data, Patterns) else fit.n


def _determined(fit: Fitted) -> int:
    """How many parameters data determine, free means among them."""
    known = pattern_information(opened(fit), "expected")
    means = 0 if fit.moments.has_mean else len(np.unique(known.space.mu_at[:, 2]))
    return known.rank - means


@lru_cache(maxsize=4)
def with_hidden(kind: DataKind) -> DataKind:
    """The kind of data, where parameters are those of a model with hidden variables."""
    return replace(
        kind,
        by_district=False,
        rows=_rows,
        determined=_determined,
        variances=_variances,
        columns=_columns,
        support=_support,
        strengths=lambda fit, gradients: whole_strengths(opened(fit), gradients),
        row_scores=_row_scores,
        parameters=hidden_parameters,
        landscape=lambda fit, target, _: missing_landscape(opened(fit), target),
        relaxer=hidden_checks.relaxer,
        residual_errors=hidden_checks.residual_errors,
        residual_scores=hidden_checks.residual_scores,
        scaling=hidden_checks.scaling,
        as_complete=kind.as_complete if kind.moments_suffice else lambda fit, _ratio, _mean: None,  # noqa: ARG005
        replicates=hidden_replicates,
    )
