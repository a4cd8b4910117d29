"""The likelihood of rows with missing values around a fit, over all parameters at once.

The parameters are those of the model's space, each in units of its own: what a correlation's would be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Patterns
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind
from halftrek.estimation.missing.incomplete import evaluate, information
from halftrek.estimation.space import Space, make_space
from halftrek.inference.information.landscape import Landscape, Point, Target, shifted, small_model, variables_behind
from halftrek.queries.gradients import Gradient

FLOOR = 1e-10  # of a noise variance, as a share of the variable's variance


@dataclass(frozen=True, eq=False)
class MissingLandscape(Landscape):
    """All parameters of a model whose rows lack values; ``behind`` are the target's variables in the whole model."""

    space: Space
    patterns: Patterns
    units: Floats
    behind: tuple[int, ...]

    def at(self, theta: Floats) -> Point:
        """The likelihood at a point."""
        seen = evaluate(self.space, self.patterns, theta * self.units)
        value = float("inf") if seen is None else -2.0 * seen.value / self.n
        return Point(self, theta, value, seen=seen)

    def gradient(self, point: Point) -> Floats:
        """First derivatives of the value."""
        assert point.seen is not None  # asked for only inside of the parameter space
        return np.asarray(-2.0 / self.n * point.seen.gradient * self.units)

    def hessian(self, point: Point) -> Floats:
        """Second derivatives of the value."""
        assert point.seen is not None  # asked for only inside of the parameter space
        found = information(self.space, self.patterns, point.seen)
        return np.asarray(2.0 / self.n * found * np.outer(self.units, self.units))

    def arrays(self, point: Point) -> tuple[Floats, Floats, Floats]:
        """T, Omega and mu of the target's variables."""
        T, W, C, mu = self.space.arrays(point.theta * self.units)
        at = list(self.behind)
        return T[np.ix_(at, at)], (W + C.T @ C)[np.ix_(at, at)], mu[at]

    def pull(self, point: Point, found: Gradient, slopes: Floats) -> Floats:
        """A gradient in (T, Omega, intercepts) of the small model as one in the vector."""
        p = len(self.space.names)
        at = list(self.behind)
        T, omega, mu = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
        T[np.ix_(at, at)], omega[np.ix_(at, at)], mu[at] = found.T, found.omega, slopes
        C = self.space.arrays(point.theta * self.units)[2]
        return np.asarray(self.space.collect(T, omega, mu, C) * self.units)

    def refit_errors(self, before: Point, theta: Floats) -> Floats:
        """A point with its error covariances moved as the residuals' move, rows filled in as ``before`` expects."""
        space = self.space
        if len(space.C_at):
            return theta
        _, cov = space.moments(before.theta * self.units)
        old, new = (np.eye(len(space.names)) - space.arrays(t * self.units)[0] for t in (before.theta, theta))
        moved = new.T @ cov @ new - old.T @ cov @ old
        i, j, a = space.W_at.T
        theta = theta.copy()
        theta[a] = before.theta[a] + moved[i, j] / self.units[a]
        return theta

    def feasible(self, point: Point) -> bool:
        """True: hidden causes of two children count as an error covariance here."""
        return bool(np.isfinite(point.value))


def missing_landscape(fit: Fitted, target: Target) -> MissingLandscape:
    """The landscape of a target where values are missing."""
    patterns, behind = patterns_behind(fit), variables_behind(fit, target)
    names = fit.model.names
    space = make_space(fit.graph, names, fit.options)
    shift = np.zeros(len(names)) if fit.options.intercepts else np.array(fit.model.mean)
    model = shifted(fit.model, shift)
    spread = np.sqrt(np.diag(fit.model.cov))
    units = _units(space, spread)
    lower = np.full(space.size, -np.inf)
    noise = space.W_at[space.W_at[:, 0] == space.W_at[:, 1], 2]
    lower[noise] = FLOOR
    whole = MissingLandscape(
        target=target,
        n=patterns.total,
        start=np.maximum(space.vector(model) / units, lower),
        lower=lower,
        model=small_model(model, behind),
        shift=shift[behind],
        relevant=np.zeros(0, dtype=np.intp),
        space=space,
        patterns=_moved(patterns, shift),
        units=units,
        behind=tuple(behind),
    )
    return replace(whole, relevant=np.flatnonzero(whole.pattern()))


def _units(space: Space, spread: Floats) -> Floats:
    """What each parameter would be measured in if all variables had unit variance."""
    units = np.ones(space.size)
    u, v, a = space.T_at.T
    units[a] = spread[v] / spread[u]
    i, j, a = space.W_at.T
    units[a] = spread[i] * spread[j]
    _, j, a = space.C_at.T
    units[a] = spread[j]
    j, _, a = space.mu_at.T
    units[a] = spread[j]
    return units


def _moved(patterns: Patterns, shift: Floats) -> Patterns:
    """The rows less a constant."""
    return replace(patterns, mean=np.where(patterns.observed, patterns.mean - shift, 0.0))
