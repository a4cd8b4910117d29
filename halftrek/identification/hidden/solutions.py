"""Models with one covariance of the observed variables, met from random starts: is what is unique nearby unique at all?

The parameters solve ``Sigma(theta) = Sigma_0`` at a random model of the graph. Many searches run side by side, by
Levenberg and Marquardt's steps. Solutions that differ by the signs of hidden variables are one: the convention of fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.graphs.hidden import turnable
from halftrek.identification.clock import Clock, start_clock
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.parameters import Parameters, Point, parameters_of
from halftrek.identification.local.witness import Witness, checked_witness, starting_values
from halftrek.identification.numbers.fields import Reals
from halftrek.models import CGLSCM
from halftrek.queries.types import Query

if TYPE_CHECKING:
    from halftrek.graphs import Graph

MOST_WORK = 2e7  # products of parameters squared, pairs and starts, above which no search is begun
_STARTS = 64
_STEPS = 150
_CLOSE = 1e-12  # of covariances that are the same
_LEAST = 1e-3  # an eigenvalue of the errors' covariance


@dataclass(frozen=True, eq=False)
class Solutions:
    """A random model, and models with its covariance, with the signs that are the convention."""

    home: Point
    others: tuple[Point, ...]

    def witness(self, query: Query) -> Witness | None:
        """The random model and one of the others, where their answers visibly differ."""
        for other in self.others:
            try:
                apart = np.abs(functionals(query, other).values - functionals(query, self.home).values)
                found = checked_witness(self.home, other, query, int(np.argmax(apart))) if len(apart) else None
            except QueryError:  # no answer in one of the models
                continue
            if found is not None:
                return found
        return None


def solutions(graph: Graph, rng: np.random.Generator, clock: Clock, *, starts: int = _STARTS) -> Solutions | None:
    """Other models with the covariance of a random one; None if the graph is too large to search, or time is up."""
    table = parameters_of(graph)
    return solutions_at(Point(table, Reals(), starting_values(table, rng)), rng, clock, starts=starts)


def solutions_at(
    home: Point, rng: np.random.Generator, clock: Clock, *, starts: int = _STARTS, units: Floats | None = None
) -> Solutions | None:
    """The same for a model that is given; ``units`` are the standard deviations of its variables."""
    table = home.parameters
    equations = Equations(table, np.ones(len(table.graph)) if units is None else units)
    if table.count**2 * len(equations.pairs[0]) * starts > MOST_WORK or not table.count:
        return None
    sizes = equations.sizes
    here = equations.turned(home.values[None] / sizes)[0]
    begin = np.array([starting_values(table, rng) * rng.choice([0.5, 1.0, 3.0]) for _ in range(starts)])
    noise = sorted({e.parameter for e in table.entries if e.kind == "noise" and e.parameter is not None})
    begin[:, noise] = np.abs(begin[:, noise]) * rng.uniform(0.1, 2.0, (starts, len(noise)))
    ends = equations.descend(begin, here, clock)
    home, *others = (Point(table, home.field, theta * sizes) for theta in (here, *ends))
    return Solutions(home, tuple(others))


def real_answers(graph: Graph, query: Query, model: CGLSCM, *, seconds: float = 5.0) -> list[float]:
    """The answers of models with the covariance of one, that of this one first; fewer than two if no other was met."""
    table = parameters_of(graph)
    place = {v: i for i, v in enumerate(model.names)}
    values = np.zeros(table.count)
    for e in table.entries:
        if e.parameter is not None:
            row = model.latents.index(e.source) if e.kind == "loading" else place[e.source]
            matrix = {"direct": model.T, "loading": model.C}.get(e.kind, model.W)
            values[e.parameter] = matrix[row, place[e.target]]
    units = np.sqrt(np.diag(model.cov))[[place[v] for v in table.graph.observed]]
    home = Point(table, Reals(), values)
    met = solutions_at(home, np.random.default_rng(0), start_clock(seconds), units=units)
    found: list[float] = []
    for point in () if met is None else (met.home, *met.others):
        answers = functionals(query, point).values
        if len(answers) != 1:
            return []
        if not any(np.isclose(answers[0], other, rtol=1e-4, atol=1e-8) for other in found):
            found.append(float(answers[0]))
    return found


@dataclass(frozen=True, eq=False)
class Equations:
    """Covariances of the observed variables as functions of the parameters, at many points at once."""

    table: Parameters
    units: Floats  # of the variables: parameters and covariances are those of variables divided by them

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.table.graph.observed

    @cached_property
    def sizes(self) -> Floats:
        """What a parameter is to be multiplied with, to be one of variables in their own units."""
        unit, found = dict(zip(self.names, self.units, strict=True)), np.ones(self.table.count)
        for e in reversed(self.table.entries):
            if e.parameter is not None:
                source = {"direct": 1.0 / unit.get(e.source, 1.0), "loading": 1.0}.get(e.kind, unit.get(e.source, 1.0))
                found[e.parameter] = unit[e.target] * source
        return found

    @cached_property
    def pairs(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.int_]], ...]:
        """Pairs of observed variables."""
        given = set(self.table.seen.observed if self.table.seen is not None else self.names)
        seen = np.array([i for i, v in enumerate(self.names) if v in given], dtype=int)
        i, j = np.triu_indices(len(seen))
        return seen[i], seen[j]

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        at = {v: i for i, v in enumerate(self.names)}
        roots = {u: i for i, u in enumerate(self.table.graph.latents)}
        return [(roots[e.source] if e.kind == "loading" else at[e.source], at[e.target]) for e in self.table.entries]

    def matrices(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """T, C and W, one for each point."""
        p, s, theta = len(self.names), len(theta), theta * self.sizes
        T, W, C = np.zeros((s, p, p)), np.zeros((s, p, p)), np.zeros((s, len(self.table.graph.latents), p))
        for e, (i, j) in zip(self.table.entries, self._places, strict=True):
            value = e.value if e.parameter is None else theta[:, e.parameter]
            if e.kind == "direct":
                T[:, i, j] = value
            elif e.kind == "loading":
                C[:, i, j] = value
            else:
                W[:, i, j] = W[:, j, i] = value
        return T, C, W

    def covariances(self, theta: Floats, *, slopes: bool) -> tuple[Floats, Floats]:
        """Covariances of the pairs, and their derivatives (empty if not asked for)."""
        T, C, W = self.matrices(theta)
        B = np.linalg.inv(np.eye(len(self.names)) - T)
        factors = C @ B
        sigma = B.transpose(0, 2, 1) @ W @ B + factors.transpose(0, 2, 1) @ factors
        i, j = self.pairs
        scale = self.units[i] * self.units[j]
        if not slopes:
            return sigma[:, i, j] / scale, np.zeros((len(theta), 0, len(i)))
        J = np.zeros((len(theta), self.table.count, len(i)))
        for e, (a, b) in zip(self.table.entries, self._places, strict=True):
            if e.parameter is not None:
                left = {"direct": sigma, "loading": factors}.get(e.kind, B)[:, a]
                change = left[:, i] * B[:, b][:, j] + left[:, j] * B[:, b][:, i]
                J[:, e.parameter] += change / 2.0 if e.kind == "noise" else change
        return sigma[:, i, j] / scale, J * self.sizes[:, None] / scale

    def turned(self, theta: Floats) -> Floats:
        """The points with the signs of hidden variables that fits choose."""
        table, found = self.table, theta.copy()
        for group, (u, v) in turnable(table.seen) if table.seen is not None else ():
            marker = table.direct[u, v].parameter
            assert marker is not None  # what is fixed cannot be turned round
            turning = {
                e.parameter
                for e in table.entries
                if e.parameter is not None and (e.source in group) != (e.target in group)
            }
            turned = np.where(found[:, marker] < 0.0, -1.0, 1.0)
            found[:, sorted(turning)] *= turned[:, None]
        return found

    def descend(self, theta: Floats, home: Floats, clock: Clock) -> list[Floats]:
        """Where searches for the covariance at home end, if they find it in a model; each end once."""
        wanted = self.covariances(home[None], slopes=False)[0][0]
        size, k = float(np.abs(wanted).max()), theta.shape[1]
        damping, gap = np.ones(len(theta)), wanted - self.covariances(theta, slopes=False)[0]
        waiting = np.ones(len(theta), dtype=bool)
        for _ in range(_STEPS):
            at = np.flatnonzero(waiting)
            if not len(at) or clock.over():
                break
            J = self.covariances(theta[at], slopes=True)[1]
            normal = J @ J.transpose(0, 2, 1) + damping[at, None, None] * np.eye(k)
            try:
                change = np.linalg.solve(normal, (J @ gap[at, :, None]))[:, :, 0]
            except np.linalg.LinAlgError:
                break
            trial = theta[at] + change
            with np.errstate(all="ignore"):
                left = wanted - self.covariances(trial, slopes=False)[0]
                better = (left**2).sum(axis=1) < (gap[at] ** 2).sum(axis=1)
            theta[at[better]], gap[at[better]] = trial[better], left[better]
            damping[at] = np.where(better, np.maximum(damping[at] / 5.0, 1e-13), damping[at] * 4.0)
            waiting[at] = (np.abs(gap[at]).max(axis=1) > _CLOSE / 10.0 * size) & (damping[at] < 1e10)
        near = theta[np.abs(gap).max(axis=1) < 1e-8 * size]
        return self._distinct([end for one in near if (end := self._polished(one, wanted)) is not None])

    def _polished(self, theta: Floats, wanted: Floats) -> Floats | None:
        """The solution to the last digits; None if there is none here, or it is none of a model."""
        gap = np.full_like(wanted, np.inf)
        for _ in range(20):
            found, J = self.covariances(theta[None], slopes=True)
            gap = wanted - found[0]
            if np.abs(gap).max() < 1e-14 * np.abs(wanted).max():
                break
            theta = theta + np.linalg.lstsq(J[0].T, gap, rcond=1e-10)[0]
        if not np.abs(gap).max() < _CLOSE * np.abs(wanted).max():
            return None
        errors = self.matrices(theta[None])[2][0] / np.outer(self.units, self.units)
        fixed = {e.target for e in self.table.entries if e.kind == "noise" and e.parameter is None and e.value == 0.0}
        moving = [i for i, v in enumerate(self.names) if v not in fixed]
        return theta if np.linalg.eigvalsh(errors[np.ix_(moving, moving)])[0] > _LEAST else None

    def _distinct(self, ends: Sequence[Floats]) -> list[Floats]:
        found: list[Floats] = []
        for theta in self.turned(np.array(ends)) if len(ends) else ():
            if not any(np.allclose(theta, other, rtol=1e-5, atol=1e-7) for other in found):
                found.append(theta)
        return found
