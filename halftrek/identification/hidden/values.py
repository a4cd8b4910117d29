"""Questions about values of hidden variables, in floating point: intercepts are parameters beside all others.

Means of observed variables are seen, those of hidden ones follow from intercepts: zero by convention, or what the graph
says. So covariances and means together are held, and the question is whether the answer moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.identification.hidden.solutions import Equations, Solutions
from halftrek.identification.local.parameters import Parameters, Point, parameters_of
from halftrek.identification.local.pieces import stand_in
from halftrek.identification.local.smooth import filled
from halftrek.identification.local.witness import TOLERANCE, Witness, starting_values
from halftrek.identification.numbers.fields import Reals
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries.evaluate import evaluate
from halftrek.queries.types import Composite, Query

_POINTS = 3
_STEP = 1e-4
_VISIBLE = 0.01  # a difference between answers; some are probabilities
_MOVES = 1e-5  # of an answer, as a share of the way along a direction


def stands_still(graph: Graph, query: Query) -> bool:
    """True if the answer stays along every direction in which the observed covariances and means do."""
    table = parameters_of(graph)
    values, rng, still = _Values(table), np.random.default_rng(7), False
    for _ in range(_POINTS):
        theta = starting_values(table, rng)
        try:
            if values.moves(query, theta):
                return False
            still = True
        except QueryError:  # no answer in this model
            continue
    return still


def witness_of_values(met: Solutions, query: Query) -> Witness | None:
    """Two of the models, with intercepts that give both the same means, whose answers visibly differ."""
    values = _Values(met.home.parameters)
    first = values.model(met.home, values.levels)
    means = values.means(first)
    try:
        answers = values.answers(query, first)
        others = [(second, values.answers(query, second)) for second in values.others(met, means)]
    except QueryError:  # no answer in one of the models
        return None
    if not others or not len(answers):
        return None
    second, theirs = max(others, key=lambda other: float(np.abs(other[1] - answers).max()))
    row = int(np.argmax(np.abs(theirs - answers)))
    found = Witness((first, second), values.texts(query, first)[row], (float(answers[row]), float(theirs[row])))
    visible = abs(found.answers[0] - found.answers[1]) > _VISIBLE
    return found if visible and found.largest_difference < TOLERANCE else None


@dataclass(frozen=True, eq=False)
class _Values:
    table: Parameters

    @property
    def graph(self) -> Graph:
        return self.table.graph

    @cached_property
    def _seen(self) -> list[int]:
        given = self.graph if self.table.seen is None else self.table.seen
        return [self.graph.observed.index(v) for v in given.observed]

    @cached_property
    def _intercepts(self) -> tuple[Floats, Floats]:
        """Of all variables: what is fixed, and for each unknown the variables that it is the intercept of."""
        known = self.graph.intercepts
        fixed = np.array([x if isinstance(x := known.get(v), float) else 0.0 for v in self.graph.observed])
        keys = {v: known.get(v, f"of {v}") for v in self.graph.observed if not isinstance(known.get(v), float)}
        labels = list(dict.fromkeys(keys.values()))
        onto = np.zeros((len(labels), len(self.graph)))
        for v, key in keys.items():
            onto[labels.index(key), self.graph.observed.index(v)] = 1.0
        return fixed, onto

    @cached_property
    def levels(self) -> Floats:
        """Unknown intercepts that stand for any others."""
        return np.array([stand_in(f"level {k}") for k in range(len(self._intercepts[1]))])

    def model(self, point: Point, levels: Floats) -> CGLSCM:
        """The model with these unknown intercepts."""
        graph = self.graph
        T, C, W = point.matrices(graph.observed)
        mu = self._intercepts[0] + levels @ self._intercepts[1]
        return CGLSCM(graph.observed, T, C, mu, W, tuple(graph.latents), self.table.seen or graph)

    def means(self, model: CGLSCM) -> Floats:
        """Means of the observed variables."""
        return np.asarray(model.mean)[self._seen]

    def answers(self, query: Query, model: CGLSCM) -> Floats:
        """The numbers of the answer."""
        found = evaluate(filled(query) if isinstance(query, Composite) else query, model)
        if isinstance(found, Gaussian):
            return np.concatenate([found.mean, found.cov[np.triu_indices(len(found.mean))]])
        return np.array([found])

    def texts(self, query: Query, model: CGLSCM) -> list[str]:
        """What each of them is."""
        found = evaluate(filled(query) if isinstance(query, Composite) else query, model)
        if not isinstance(found, Gaussian):
            return [str(query)]
        i, j = np.triu_indices(len(found.mean))
        one = [f"the mean of {v} in {query}" for v in found.names]
        spread = [
            f"the variance of {found.names[a]} in {query}"
            if a == b else f"the covariance of {found.names[a]} and {found.names[b]} in {query}"
            for a, b in zip(i, j, strict=True)
        ]  # fmt: skip
        return one + spread

    def moves(self, query: Query, theta: Floats) -> bool:
        """True if a direction changes the answer and neither covariances nor means."""
        directions = self._directions(theta)
        k = self.table.count
        here = self.answers(query, self._model(theta, self.levels))
        for n in directions.T:
            ahead, behind = (
                self.answers(query, self._model(theta + s * n[:k], self.levels + s * n[k:])) for s in (_STEP, -_STEP)
            )
            if (np.abs(ahead - behind) / (2.0 * _STEP) > _MOVES * (1.0 + np.abs(here))).any():
                return True
        return False

    def _model(self, theta: Floats, levels: Floats) -> CGLSCM:
        return self.model(Point(self.table, Reals(), theta), levels)

    def _directions(self, theta: Floats) -> Floats:
        """The null space of the derivatives of covariances and means in all parameters."""
        equations = Equations(self.table, np.ones(len(self.graph)))
        by_theta = equations.covariances(theta[None], slopes=True)[1][0]
        model = self._model(theta, self.levels)
        B = np.linalg.inv(np.eye(len(self.graph)) - model.T)
        place = {v: i for i, v in enumerate(self.graph.observed)}
        of_means = np.zeros((self.table.count, len(self._seen)))
        for e in self.table.entries:
            if e.kind == "direct" and e.parameter is not None:
                of_means[e.parameter] += model.mean[place[e.source]] * B[place[e.target]][self._seen]
        by_levels = self._intercepts[1] @ B[:, self._seen]
        joint = np.block([[by_theta, of_means], [np.zeros((len(by_levels), by_theta.shape[1])), by_levels]])
        _, values, vectors = np.linalg.svd(joint.T)
        rank = int((values > 1e-9 * values[0]).sum()) if len(values) else 0
        return np.asarray(vectors[rank:].T)

    def others(self, met: Solutions, means: Floats) -> Iterator[CGLSCM]:
        """Models with these means: at other solutions, and at the same one with other intercepts."""
        for point in (*met.others, met.home):
            start = self.means(self.model(point, self.levels))
            T = point.matrices(self.graph.observed)[0]
            by_levels = (self._intercepts[1] @ np.linalg.inv(np.eye(len(T)) - T)[:, self._seen]).T
            change = np.linalg.lstsq(by_levels, means - start, rcond=1e-10)[0]
            if np.abs(by_levels @ change - (means - start)).max(initial=0.0) > 1e-9:
                continue  # the means tell this one apart
            found = self.levels + change
            _, values, vectors = np.linalg.svd(by_levels)
            rank = int((values > 1e-9 * values[0]).sum()) if len(values) else 0
            yield from (self.model(point, levels) for levels in (found, *(found + n for n in vectors[rank:])))
