"""The fit of a model in which hidden variables have causes: every parameter at once, from moments or patterns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments, Patterns
from halftrek.data.missing.likelihood import completed
from halftrek.errors import DataError
from halftrek.estimation.given.checks import refuse_dependent, well_posed
from halftrek.estimation.given.options import Options
from halftrek.estimation.hidden.opening import opened_data
from halftrek.estimation.hidden.problem import Single
from halftrek.estimation.hidden.search import Ended, climb
from halftrek.estimation.hidden.starts import first_point
from halftrek.estimation.missing.fiml import with_loadings
from halftrek.estimation.space import Space, make_space
from halftrek.estimation.status import Code, DistrictReport, Status, overall
from halftrek.graphs import Graph
from halftrek.graphs.hidden import turnable, weak_points
from halftrek.models import CGLSCM

FLOOR = 1e-8  # of an error variance, as a share of the variance at the start
NEAR_FLOOR = 1e3  # times the floor: zero for all purposes
FAR = 1e4  # standard deviations from zero of a cause's mean
SHAKEN = 6  # more searches, from points moved at random, where none has found a maximum
SAME = 1e-6  # of a log-likelihood: two searches that ended there found the same


@dataclass(frozen=True, eq=False)
class Whole:
    """What was found: the model of all variables, its likelihood, and the moments that complete rows would have."""

    model: CGLSCM
    moments: Moments
    loglik: float
    reports: tuple[DistrictReport, ...]

    @property
    def status(self) -> Status:
        """How it ended, and what in the graph leaves parameters undetermined."""
        found = overall(self.reports)
        weak = weak_points(self.model.graph) if any(r.flat for r in self.reports) else []
        return Status(found.code, (*found.notes, *weak))


def fit_whole(
    graph: Graph, data: Moments | Patterns, options: Options, *, starts: int | None = None, max_iter: int = 200
) -> Whole:
    """The model of highest likelihood of what was observed."""
    first = data if isinstance(data, Moments) else data.warm
    if not well_posed(first.cov[None], first.n)[0]:
        refuse_dependent(first, graph.project())
    _refuse_far_causes(graph, first)
    search = _Search.of(graph, data, first, options)
    ended = search.best(starts, max_iter)
    if ended is None:
        raise DataError(
            "no search for the best values of the hidden variables' model could begin: the covariances of the "
            "observed variables are too far from those of any such model. Check the signs and the arrows"
        )
    return search.finished(ended)


def _refuse_far_causes(graph: Graph, first: Moments) -> None:
    """Raise for a cause whose mean is so far from zero that its effect and intercepts have no digits left."""
    for v, mean, variance in zip(first.names, first.mean, np.diag(first.cov), strict=True):
        if abs(mean) > FAR * np.sqrt(variance) and graph.children(v):
            raise DataError(
                f"the mean of {v!r} is {abs(mean) / np.sqrt(variance):.1g} standard deviations from zero, too far for "
                f"a model with hidden variables. Subtract a constant from {v!r}, for instance its mean"
            )


@dataclass(frozen=True, eq=False)
class _Search:
    """One problem: rows of all variables, less a constant each, and the parameters to be found.

    Where each observed variable has an intercept of its own and no value is missing, means need no search.
    """

    graph: Graph
    data: Moments | Patterns
    first: Moments
    options: Options
    space: Space
    patterns: Patterns
    less: Floats
    separate: bool
    lower: Floats

    @staticmethod
    def of(graph: Graph, data: Moments | Patterns, first: Moments, options: Options) -> _Search:
        opened, p = with_loadings(graph.opened), len(graph.observed)
        names = opened.observed
        space = make_space(opened, names, options)
        own = [a for i, _, a in space.mu_at if i < p]
        free = len(set(own)) == p and not any(i >= p for i, _, _ in space.mu_at) and not space.elsewhere
        separate = free and isinstance(data, Moments)
        if separate:
            space = make_space(opened, names, replace(options, intercepts=tuple((v, 0.0) for v in names)))
        less = np.array(first.mean) if free else np.zeros(p)
        lower = np.full(space.size, -np.inf)
        spread = np.append(np.diag(first.cov), np.full(len(graph.hidden), np.diag(first.cov).min()))
        for i, j, a in space.W_at:
            if i == j:
                lower[a] = FLOOR * spread[i]
        return _Search(graph, data, first, options, space, opened_data(data, graph.hidden, less), less, separate, lower)

    def best(self, starts: int | None, max_iter: int) -> tuple[Ended, int, int] | None:
        """The highest end of a few searches, of how many, and how many ended there."""
        opened = self.graph.opened
        found: list[Ended] = []
        for number in range(2 + SHAKEN):
            theta = first_point(opened, self.space, self.first.cov, plain=number > 0)
            if number > 1:  # a product of weights that has to change its sign can end a search in a pass, not on a top
                if any(one.converged for one in found):
                    break
                at, rng = np.unique(self.space.T_at[:, 2]), np.random.default_rng(number)
                theta[at] *= rng.uniform(0.3, 1.5, len(at)) * rng.choice([-1.0, 1.0], len(at))
            theta = self._with_means(theta)
            ended = climb(Single(self.space, self.patterns), theta, self.lower, max_iter)
            found += [] if ended is None else [ended]
            if starts is None and any(one.converged and not one.pinned.any() for one in found):
                break
            if len(found) == starts:
                break
        if not found:
            return None
        top = max(found, key=lambda one: one.point.value)
        return top, len(found), sum(one.point.value > top.point.value - SAME for one in found)

    def _with_means(self, theta: Floats) -> Floats:
        """The point with intercepts that bring the means as near to those of the data as they can be."""
        at = np.setdiff1d(self.space.mu_at[:, 2], list(self.space.elsewhere)).astype(np.intp)
        if not len(at):
            return theta
        p = len(self.graph.observed)
        slopes = self.space.jacobian(theta)[0][at][:, :p]
        gap = self.first.mean - self.less - self.space.moments(theta)[0][:p]
        moved = theta.copy()
        moved[at] += np.linalg.lstsq(slopes.T, gap, rcond=None)[0]
        return moved

    def finished(self, best: tuple[Ended, int, int]) -> Whole:
        """The model at the end of the search, on the scale and with the signs that the graph asks for."""
        ended, starts, agreeing = best
        graph, names = self.graph, self.space.names
        T, W, C, mu = self.space.arrays(ended.point.theta)
        flip = _signs(graph, names, T)
        T, W = T * np.outer(flip, flip), W * np.outer(flip, flip)
        C, mu = C * flip, mu * flip
        latents = tuple(graph.latents)
        loadings = np.zeros((len(latents), len(names)))
        loadings[list(self.space.latents)] = C
        mu = self._moved(T, mu)
        model = CGLSCM(names, T, loadings, mu, W, latents, graph)
        return Whole(model, self._moments(ended), ended.point.value, self._reports(ended, starts, agreeing))

    def _moved(self, T: Floats, mu: Floats) -> Floats:
        """Intercepts of the variables as they are, from those of variables that have a constant less."""
        p = len(self.less)
        if not (self.less.any() or self.separate):
            return mu
        mean = mu @ np.linalg.inv(np.eye(len(T)) - T)
        level = np.zeros(len(T))
        level[:p] = self.less + mean[:p]
        inner = np.eye(len(T) - p) - T[p:, p:]
        level[p:] = np.linalg.solve(inner.T, level[:p] @ T[:p, p:] + mu[p:])
        moved = level - level @ T
        moved[p:] = mu[p:]
        return np.asarray(moved)

    def _moments(self, ended: Ended) -> Moments:
        """What complete rows of the observed variables are expected to have: where none lacks a value, the data."""
        if isinstance(self.data, Moments):
            return self.data
        p = len(self.less)
        mean, cov = self.space.moments(ended.point.theta)
        found = completed(self.data.less(self.less), mean[:p], cov[:p, :p])
        return replace(found, mean=found.mean + self.less)

    def _reports(self, ended: Ended, starts: int, agreeing: int) -> tuple[DistrictReport, ...]:
        """How it went; error variances of zero have a report of their own, which names their variables."""
        pairs = sum(len(kids) == 2 for kids in self.graph.latents.values())  # of which data tell the product alone
        flat = max(0, ended.flat - pairs)
        code: Code = "not converged" if not ended.converged else "flat" if flat else "converged"
        low = self.space.W_at[
            ended.point.theta[self.space.W_at[:, 2]] <= NEAR_FLOOR * self.lower[self.space.W_at[:, 2]]
        ]
        zero = tuple(dict.fromkeys(self.space.names[i] for i, j, _ in low if i == j))
        zero = zero if ended.converged else ()
        others = tuple(v for v in self.space.names if v not in zero)
        report = DistrictReport(others, code, ended.steps, starts, agreeing, flat)
        return (report, *([DistrictReport(zero, "boundary", ended.steps, 1, 1)] if zero else []))


def _signs(graph: Graph, names: tuple[str, ...], T: Floats) -> Floats:
    """Minus one for each hidden variable to be turned round: its first effect then has a positive loading."""
    place, flip = {v: i for i, v in enumerate(names)}, np.ones(len(names))
    for group, (v, first) in turnable(graph):
        if T[place[v], place[first]] * flip[place[first]] < 0.0:
            flip[[place[u] for u in group]] = -1.0
    return flip
