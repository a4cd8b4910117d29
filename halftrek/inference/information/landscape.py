"""The likelihood around a fit as a function of one vector, and an answer as a function of the same vector.

``value`` is ``-2/n loglik`` up to a constant. How the vector is made of parameters is left to the kinds of landscape:
by district where moments are complete, all at once where values are missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.errors import ModelError, QueryError
from halftrek.estimation import Fitted
from halftrek.estimation.district.block import State
from halftrek.estimation.missing.incomplete import Point as Seen
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries import (
    DirectEffect,
    ErrorCovariance,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    evaluate,
    variables_of,
)
from halftrek.queries.gradients import Gradient, linearize

ALONG_PATHS = (DirectEffect, TotalEffect, PathEffect, ThroughEffect)


@dataclass(frozen=True)
class Target:
    """One number of an answer: the k-th value, or the k-th variance."""

    query: Query
    kind: Literal["value", "variance"] = "value"
    k: int = 0

    @property
    def needs_means(self) -> bool:
        """False if the means of the variables cannot matter for it."""
        effects = DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance
        return self.kind == "value" and not isinstance(self.query, effects)

    def of(self, model: CGLSCM) -> float:
        """Its value in a model; nan where it has none."""
        if isinstance(self.query, TotalEffect | ThroughEffect):  # B is known here, whatever the size of the graph
            at = [model.names.index(v) for v in variables_of(self.query)]
            return float(np.prod([model.B[i, j] for i, j in pairwise(at)]))
        try:
            found = evaluate(self.query, model)
        except (QueryError, ModelError):  # division by zero, evidence that cannot be
            return float("nan")
        if not isinstance(found, Gaussian):
            return float(found)
        return float(found.mean[self.k] if self.kind == "value" else found.variance[self.k])

    def slope(self, model: CGLSCM) -> Gradient:
        """Its gradient at a model."""
        found = linearize(self.query, model)
        return found.values[self.k] if self.kind == "value" else found.variances[self.k]


@dataclass(frozen=True, eq=False)
class Point:
    """A place in the landscape: ``value`` is inf outside of the parameter space.

    ``states`` are those of the districts, ``seen`` the likelihood of rows with missing values.
    """

    land: Landscape
    theta: Floats
    value: float
    states: tuple[State, ...] = ()
    seen: Seen | None = None

    @cached_property
    def model(self) -> CGLSCM:
        """The small model of the target here."""
        land = self.land
        T, omega, mu = land.arrays(self)
        mu = mu + land.shift - land.shift @ T  # means are those of the shifted data, and the shift
        return CGLSCM(land.model.names, T, np.zeros((0, len(mu))), mu, omega, (), land.model.graph)


@dataclass(frozen=True, eq=False)
class Landscape(ABC):
    """The likelihood and a target over one vector.

    ``model`` is the fitted small model of the target: the variables behind it, hidden causes folded into the error
    covariances. Parameters are those of data less ``shift``. ``relevant`` are the places in the vector that the target
    depends on; ``lower`` bounds of all.
    """

    target: Target
    n: float
    start: Floats
    lower: Floats
    model: CGLSCM
    shift: Floats
    relevant: Ints

    @abstractmethod
    def at(self, theta: Floats) -> Point:
        """The likelihood at a point."""

    @abstractmethod
    def gradient(self, point: Point) -> Floats:
        """First derivatives of the value."""

    @abstractmethod
    def hessian(self, point: Point) -> Floats:
        """Second derivatives of the value."""

    @abstractmethod
    def arrays(self, point: Point) -> tuple[Floats, Floats, Floats]:
        """T, Omega and mu of the target's variables."""

    @abstractmethod
    def pull(self, point: Point, found: Gradient, slopes: Floats) -> Floats:
        """A gradient in (T, Omega, intercepts) of the small model as one in the vector."""

    @abstractmethod
    def refit_errors(self, before: Point, theta: Floats) -> Floats:
        """A point with its error covariances moved as the residuals' covariances move from ``before``."""

    @abstractmethod
    def feasible(self, point: Point) -> bool:
        """True if hidden causes of two children exist that give these error covariances."""

    def answer(self, point: Point) -> float:
        """The target at a point."""
        return self.target.of(point.model)

    def slope(self, point: Point) -> Floats:
        """The target's gradient at a point."""
        model = point.model
        found = self.target.slope(model)
        slopes = model.B @ found.mean
        moved = Gradient(found.T + np.outer(model.mean - self.shift, slopes), found.omega, found.mean)
        return self.pull(point, moved, slopes)

    def bend(self, point: Point, slope: Floats) -> Floats:
        """The target's second derivatives, by differences of its gradient in the few parameters that matter."""
        found = np.zeros((len(self.start), len(self.start)))
        for a in self.relevant:
            step = 1e-6 * (1.0 + abs(point.theta[a]))
            theta = point.theta.copy()
            theta[a] += step
            aside = self.at(theta)
            if np.isfinite(aside.value):
                found[a] = (self.slope(aside) - slope) / step
        found = (found + found.T) / 2.0
        return np.where(np.isfinite(found), found, 0.0)

    def pattern(self) -> Flags:
        """Which places of the vector the target depends on, seen from a point in general position."""
        rng = np.random.default_rng(0)
        aside = rng.uniform(0.05, 0.1, len(self.start)) * rng.choice([-1.0, 1.0], len(self.start))
        point = self.at(self.start)
        for _ in range(20):
            tried = self.at(np.maximum(self.start, np.maximum(self.lower, -20.0)) + aside)
            if np.isfinite(tried.value) and np.isfinite(self.answer(tried)):
                point = tried
                break
            aside /= 2.0
        found = np.abs(self.slope(point))
        return np.asarray(found > 1e-12 * found.max(initial=0.0))


def path_bend(query: Query, model: CGLSCM, rows: Ints, columns: Ints) -> Floats:
    """Second derivatives of an effect over paths in some coefficients, a product of edges or of total effects.

    ``d² B_ij / dT_ab dT_cd = B_ia B_bc B_dj + B_ic B_da B_bj``.
    """
    edges = isinstance(query, DirectEffect | PathEffect)
    at = [model.names.index(v) for v in variables_of(query)]
    values, slopes, bends = [], [], []
    crossed = model.B[np.ix_(columns, rows)]
    for i, j in pairwise(at):
        if edges:
            values.append(float(model.T[i, j]))
            slopes.append(((rows == i) & (columns == j)).astype(float))
            continue
        into, out = model.B[i, rows], model.B[columns, j]
        half = into[:, None] * crossed * out
        values.append(float(model.B[i, j]))
        slopes.append(into * out)
        bends.append(half + half.T)
    found = np.zeros((len(rows), len(rows)))
    for k in range(len(values)):
        others = values[:k] + values[k + 1 :]
        if bends:
            found += prod(others) * bends[k]
        for m in range(k):
            both = prod(x for n, x in enumerate(values) if n not in (k, m)) * np.outer(slopes[k], slopes[m])
            found += both + both.T
    return found


def variables_behind(fit: Fitted, target: Target) -> list[int]:
    """Places of the variables that a target names, and of all their causes."""
    causes = fit.graph.ancestors(variables_of(target.query))
    return [i for i, v in enumerate(fit.model.names) if v in causes]


def small_model(model: CGLSCM, behind: Sequence[int]) -> CGLSCM:
    """The model of some variables and all their causes, hidden causes folded into the error covariances."""
    names = tuple(model.names[i] for i in behind)
    kept = set(names)
    graph = Graph([(u, v) for u, v in model.graph.directed if u in kept and v in kept], observed=names)
    at = np.ix_(behind, behind)
    return CGLSCM(names, model.T[at], np.zeros((0, len(names))), model.mu[behind], model.omega[at], (), graph)


def shifted(model: CGLSCM, shift: Floats) -> CGLSCM:
    """The model of the data less a constant."""
    mu = model.mu - shift + shift @ model.T
    return CGLSCM(model.names, model.T, model.C, mu, model.W, model.latents, model.graph)
