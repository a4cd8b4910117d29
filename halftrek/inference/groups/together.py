"""Groups that were fitted together: standard errors of parameters that some of them share, and how well it all fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments, Patterns
from halftrek.data.missing.likelihood import completed
from halftrek.data.missing.unrestricted import best_loglik
from halftrek.estimation import Fitted
from halftrek.estimation.hidden.problem import Kind
from halftrek.estimation.hidden.together import Together, free_options, labels_at
from halftrek.estimation.status import Status
from halftrek.graphs import Graph
from halftrek.graphs.formulas import read_formula
from halftrek.inference.checks.measures import Measures, free_roots, measured, srmr_of
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.information import LEAK
from halftrek.inference.information.missing.incomplete import directions
from halftrek.inference.tables.definitions import value_at
from halftrek.inference.tables.hidden_parameters import rows_by_errors
from halftrek.inference.tables.parameter import Parameter, Reach, row_of
from halftrek.inference.tables.parameters import all_rows

_REACH = Reach(1.959963984540054)


@dataclass(frozen=True, eq=False)
class Shared:
    """The information about all parameters of all groups; ``kind`` as in a fit of one group."""

    found: Together
    kind: Kind

    @cached_property
    def _known(self) -> tuple[Floats, Floats, Floats]:
        """The information, directions of which data say something, and the others."""
        problem, point = self.found.problem, self.found.ended.point
        both: tuple[Kind, ...] = ("expected",) if self.kind == "expected" else ("expected", "observed")
        matrices = problem.informations(point, both)
        return matrices[-1], *directions(matrices[0])

    @property
    def rank(self) -> int:
        """How many parameters data determine."""
        return int(self._known[1].shape[1])

    @cached_property
    def _root(self) -> Floats | None:
        """``L^-1 D'``, where ``L L'`` is the information along the determined directions D; None at no maximum."""
        matrix, determined, _ = self._known
        try:
            root = np.linalg.cholesky(determined.T @ matrix @ determined)
        except np.linalg.LinAlgError:
            return None
        return np.asarray(np.linalg.solve(root, determined.T))

    def errors(self, slopes: Floats) -> Floats:
        """Standard errors of numbers with these gradients, one a line; nan for what data do not determine."""
        _, determined, flat = self._known
        if self._root is None:
            return np.full(len(slopes), nan)
        lost = np.abs(slopes @ flat).max(axis=1, initial=0.0)
        largest = np.maximum(np.abs(slopes @ determined).max(axis=1, initial=0.0), lost)
        errors = np.sqrt(((self._root @ slopes.T) ** 2).sum(axis=0))
        return np.where(lost > LEAK * largest, nan, errors)


def fit_of_group(found: Together, g: int, data: Moments | Patterns) -> Fitted:
    """The model of one group as a fit; its likelihood alone says nothing of how sure it is."""
    model, graph = found.models[g], found.graphs[g]
    p = len(graph.observed)
    patterns = data if isinstance(data, Patterns) else None
    moments = data if isinstance(data, Moments) else completed(data, np.array(model.mean[:p]), model.cov[:p, :p])
    return Fitted(graph, moments, model, nan, Status("converged"), options=free_options(graph), patterns=patterns)


def rows_of_group(shared: Shared, g: int, fit: Fitted) -> list[Parameter]:
    """Every parameter of one group."""
    found = shared.found
    errors = shared.errors(np.eye(len(found.theta)))[found.owner[g]]
    return all_rows(fit, rows_by_errors(fit, found.spaces[g], errors, [_REACH] * len(errors), _REACH))


def rows_of_definitions(shared: Shared, definitions: Mapping[str, str]) -> list[Parameter]:
    """What the text makes of labelled parameters of any group; nan where data do not determine one of them."""
    found, size = shared.found, len(shared.found.theta)
    values: dict[str, float] = {}
    slopes: dict[str, Floats] = {}
    for graph, space, own in zip(found.graphs, found.spaces, found.owner, strict=True):
        for label, a in labels_at(graph, space):
            slopes[label] = np.eye(size)[own[a]]
            values[label] = float(found.theta[own[a]])
    rows = []
    for name, text in definitions.items():
        formula = read_formula(text)
        own_values = {label: values[label] for label in formula.names}
        value = value_at(formula, {label: complex(x) for label, x in own_values.items()})
        slope = np.full(size, nan)
        if isfinite(value):
            parts = formula.slopes(own_values)
            slope = sum((parts[label] * slopes[label] for label in formula.names), np.zeros(size))
        values[name], slopes[name] = value, slope
        error = float(shared.errors(slope[None])[0]) if np.isfinite(slope).all() else nan
        rows.append(row_of(name, ":=", text, value, error, nan, _REACH))
    return rows


def measures_together(shared: Shared, fits: Sequence[Fitted], data: Sequence[Moments | Patterns]) -> Measures:
    """Measures of fit of all groups at once, as lavaan has them."""
    found, groups = shared.found, len(fits)
    n = np.array([fit.n for fit in fits])
    p = len(found.graphs[0])
    best = sum(map(best_loglik, data))
    moments = groups * (p * (p + 1) // 2 + p)
    worst, apart = 0.0, 0
    for graph, part in zip(found.graphs, data, strict=True):
        alone, pairs = _baseline(graph, part)
        worst, apart = worst + alone, apart + p * (p - 1) // 2 - pairs
    residuals = np.array([srmr_of(fit, kind_of_data(fit).unrestricted(fit)) for fit in fits])
    with_means, without = residuals.T @ n / n.sum()
    return measured(
        float(n.sum()), (shared.rank, moments - shared.rank), found.loglik, best,
        (max(0.0, 2.0 * (best - worst)), apart), (float(with_means), float(without)), groups,
    )  # fmt: skip


def _baseline(graph: Graph, part: Moments | Patterns) -> tuple[float, int]:
    """The log-likelihood without covariances but those of exogenous variables, and how many pairs these are."""
    free, pairs = free_roots(graph, graph.observed)
    apart = [(v,) for v in graph.observed if v not in free] + ([tuple(free)] if free else [])
    return sum(best_loglik(part.select(names)) for names in apart), pairs
