"""What rows with missing values tell about means and covariances themselves, restricted by no model."""

from __future__ import annotations

from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np

from halftrek.data import Moments, Patterns
from halftrek.estimation.options import Options
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Graph
from halftrek.inference.information.incomplete import PatternInformation, information_at
from halftrek.inference.information.information import Kind
from halftrek.models import Floats

LARGE = 2500  # means and covariances whose information would be too much work

_kept: WeakKeyDictionary[Patterns, PatternInformation] = WeakKeyDictionary()


def saturated_information(patterns: Patterns) -> PatternInformation | None:
    """The observed information about the unrestricted moments; None if they do not exist, or are too many."""
    p = len(patterns.names)
    if p + p * (p + 1) // 2 > LARGE or not patterns.unrestricted.converged:
        return None
    if patterns not in _kept:
        _kept[patterns] = moment_information(patterns, patterns.unrestricted.moments, "observed")
    return _kept[patterns]


def moment_information(patterns: Patterns, at: Moments, kind: Kind) -> PatternInformation:
    """The information about the free mean and covariance at a point."""
    space = moment_space(patterns.names)
    theta = np.zeros(space.size)
    theta[space.W_at[:, 2]] = at.cov[space.W_at[:, 0], space.W_at[:, 1]]
    theta[space.mu_at[:, 2]] = at.mean[space.mu_at[:, 0]]
    return information_at(space, patterns, theta, kind)


def moment_space(names: tuple[str, ...]) -> Space:
    """Every mean and every covariance is a parameter."""
    return make_space(Graph([], list(combinations(names, 2)), observed=names), names, Options())


def moved_moments(free: Space, space: Space, theta: Floats) -> Floats:
    """Derivatives of the free moments (lines) in the parameters of a model (columns)."""
    dmean, dcov = space.jacobian(theta)
    moved = np.zeros((free.size, space.size))
    i, j, a = free.W_at.T
    moved[a] = dcov[:, i, j].T
    k, _, b = free.mu_at.T
    moved[b] = dmean[:, k].T
    return moved


def covariance_error(known: PatternInformation, slope: Floats, n: float) -> float:
    """Standard error of a number whose derivative in the covariance is ``slope``, symmetric; nan if undetermined."""
    return float(np.sqrt(known.spread(covariance_slope(known, slope)) / n))


def covariance_slope(known: PatternInformation, slope: Floats) -> Floats:
    """A symmetric derivative in the covariance as one in the free moments."""
    p = len(slope)
    return np.asarray(known.space.collect(np.zeros((p, p)), slope, np.zeros(p), np.zeros((0, p))))
