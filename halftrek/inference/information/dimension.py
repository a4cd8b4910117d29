"""How many parameters do data determine? Decided by the structure of the model, not at one numerically lucky point.

The rank of the information is the same at almost every point, smaller at special ones, and blurred by rounding where
estimates run far. Where the information is clearly regular it is the number of parameters. Otherwise it is counted
exactly, at a random point modulo a prime, if all variances and means are free, and else at random points.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.data import Moments
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind
from halftrek.estimation.given.options import Options
from halftrek.estimation.plan import make_plan
from halftrek.estimation.status import Status
from halftrek.graphs import Graph
from halftrek.inference.information.information import FLAT, district_information

if TYPE_CHECKING:
    from halftrek.estimation.space import Space
    from halftrek.models import CGLSCM

POINTS = (1, 2)  # seeds of random points
CLEAR = 1e-6  # share of the largest eigenvalue from which on there is no doubt that a direction carries information


def district_dimension(fit: Fitted) -> int:
    """How many parameters complete moments determine, free means not counted."""
    plain, others = _plain_covariances(fit)
    spectra = [scaled_spectrum(block.matrix) for block in district_information(fit, touching=others)]
    if all(values[0] > CLEAR * values[-1] for values in spectra if len(values)):
        return plain + sum(map(len, spectra))
    if not fit.options.noise and not fit.options.intercepts:
        return exact_dimension(fit.graph)
    return max(plain + sum(map(_rank, spectra)), random_rank(fit.graph, fit.options))


def _plain_covariances(fit: Fitted) -> tuple[int, Flags]:
    """How many covariances belong to variables without causes that all covary, and which variables are others.

    Data determine each of them, whatever it is; the information of hundreds of variables would not fit into memory.
    """
    others, count = np.ones(len(fit.model.names), dtype=bool), 0
    if fit.options.noise or fit.options.intercepts:
        return count, others
    for task in make_plan(fit.graph, fit.model.names, fit.options).every_task:
        k = task.shape.size
        if not task.shape.slots and not task.shape.loadings and len(task.shape.pairs) == k * (k - 1) // 2:
            others[list(task.variables)] = False
            count += k * (k + 1) // 2
    return count, others


def whole_dimension(fit: Fitted) -> int:
    """How many parameters rows with missing values determine, means among them."""
    from halftrek.inference.information.missing.incomplete import information_at, pattern_information

    patterns = patterns_behind(fit)
    own = pattern_information(fit, "expected")
    if not patterns.apart and not fit.options.noise and not fit.options.intercepts:
        return exact_dimension(fit.graph) + len(fit.graph)
    points = [own.space.vector(random_fit(fit.graph, fit.options, seed).model) for seed in POINTS]
    return max(own.rank, *(information_at(own.space, patterns, theta, "expected").rank for theta in points))


@lru_cache(maxsize=64)
def exact_dimension(graph: Graph) -> int:
    """Dimension of the set of covariances that a graph allows where all variances are free."""
    from halftrek.identification.local.jacobian import model_dimension

    return model_dimension(graph)


@lru_cache(maxsize=64)
def random_rank(graph: Graph, options: Options) -> int:
    """The rank of the information at random points."""
    fits = [random_fit(graph, options, seed) for seed in POINTS]
    return max(sum(information_rank(block.matrix) for block in district_information(one)) for one in fits)


def random_fit(graph: Graph, options: Options, seed: int) -> Fitted:
    """A fit whose parameters are random and whose moments are its own."""
    from halftrek.simulation import random_model

    model = random_model(graph, noise=dict(options.noise), random_state=seed)
    moments = Moments(model.names, 1000.0, np.array(model.mean), np.array(model.cov))
    return Fitted(graph, moments, model, 0.0, Status("converged"), options=options)


def aside(space: Space, model: CGLSCM) -> Floats:
    """A point near a model at which no parameter is special, as one of zero may be; any units."""
    theta, sd, random = space.vector(model), np.sqrt(np.diag(model.cov)), np.random.default_rng(POINTS[0])
    unit = np.ones(space.size)
    unit[space.T_at[:, 2]] = sd[space.T_at[:, 1]] / sd[space.T_at[:, 0]]
    unit[space.W_at[:, 2]] = sd[space.W_at[:, 0]] * sd[space.W_at[:, 1]]
    unit[space.C_at[:, 2]] = sd[space.C_at[:, 1]]
    unit[space.mu_at[:, 2]] = sd[space.mu_at[:, 0]]
    return theta + 0.3 * unit * random.normal(size=space.size)


def information_rank(matrix: Floats) -> int:
    """The rank of an information matrix at its own point."""
    return _rank(scaled_spectrum(matrix))


def scaled_spectrum(matrix: Floats) -> Floats:
    """Eigenvalues of the matrix brought to a unit diagonal, smallest first."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return np.asarray(np.linalg.eigvalsh(matrix / np.outer(scale, scale)))


def _rank(values: Floats) -> int:
    return int((values > FLAT * max(float(values[-1]), 1e-300)).sum()) if len(values) else 0
