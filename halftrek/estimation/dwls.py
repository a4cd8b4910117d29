"""Diagonally weighted least squares of the variables behind columns, as lavaan fits ordered columns by default.

``sum_ij w_ij (S_ij - Sigma_ij)^2`` is least, each covariance weighted by one over the spread of what rows add to it.
Variances that are 1 by convention are met exactly; means are free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.errors import InputError
from halftrek.estimation.fit import Fitted
from halftrek.estimation.space import Space, make_space
from halftrek.estimation.status import Status
from halftrek.models import CGLSCM
from halftrek.notes import note

STEPS = 200
EXACT = 1e-12
STILL = 0.01  # spread of the variance of a standard variable, 2 if it is normal, below which it is met exactly
FIRM = 1e8  # weight, beside the largest of the others, of a variance that is 1 by convention


@dataclass(frozen=True, eq=False)
class Weighted:
    """Covariances one after the other (``np.triu_indices``): their weights, and slopes of the model's in parameters."""

    space: Space
    at: Ints  # parameters but the intercepts
    weights: Floats
    slopes: Floats

    @property
    def inverse(self) -> Floats:
        """``(J'WJ)^-1``, of what data determine."""
        whole = self.slopes @ (self.weights[:, None] * self.slopes.T)
        unit = 1.0 / np.sqrt(np.maximum(np.diag(whole), 1e-300))  # whatever units variables have
        return np.asarray(np.linalg.pinv(whole * np.outer(unit, unit), rcond=1e-14) * np.outer(unit, unit))

    def at_point(self, theta: Floats, seen: int) -> Weighted:
        """The same where the parameters are these; the first ``seen`` variables are."""
        return _weighted(self.space, theta, self.weights, seen)


def fit_dwls(fitted: Fitted) -> Fitted:
    """The fit by weighted least squares, from where maximum likelihood ended."""
    space = _space(fitted)
    theta, data = space.vector(fitted.model), fitted.moments
    p = len(data.names)
    i, j = np.triu_indices(p)
    weights = weights_of(fitted)
    converged = False
    for _ in range(STEPS):
        now = _weighted(space, theta, weights, p)
        gap = (data.cov - space.moments(theta)[1][:p, :p])[i, j]
        move = now.inverse @ (now.slopes @ (weights * gap))
        theta = theta.copy()
        theta[now.at] += move
        if np.abs(move).max(initial=0.0) < EXACT * (1.0 + np.abs(theta).max()):
            converged = True
            break
    T, W, loadings, _ = space.arrays(theta)
    C, mu = fitted.model.C.copy(), np.array(fitted.model.mu)
    C[list(space.latents)] = loadings
    mean = np.concatenate([data.mean, hidden_means(data.mean, T, mu)])
    mu[:p] = (mean - mean @ T)[:p]
    model = CGLSCM(fitted.model.names, T, C, mu, W, fitted.model.latents, fitted.graph)
    status = fitted.status if converged else Status("not converged", (note("steps ran out, weighted"),))
    return replace(fitted, model=model, method="dwls", status=status)


def weighted_of(fitted: Fitted) -> Weighted:
    """Weights and slopes at a fit."""
    space = _space(fitted)
    return _weighted(space, space.vector(fitted.model), weights_of(fitted), len(fitted.moments.names))


def hidden_means(seen: Floats, T: Floats, mu: Floats) -> Floats:
    """Means of the hidden variables, which stand after those that are seen, whose means are given."""
    p = len(seen)
    return np.asarray(np.linalg.solve((np.eye(len(T) - p) - T[p:, p:]).T, mu[p:] + seen @ T[:p, p:]))


def _space(fitted: Fitted) -> Space:
    """The parameters of all variables, the hidden ones too."""
    return make_space(fitted.graph.opened, fitted.model.names, fitted.options)


def weights_of(fitted: Fitted) -> Floats:
    """One over the spread of each covariance; what is 1 by convention is firm, and so is what rows hardly move.

    That is the variance of a column of 0 and 1, about half of each. Variables may have any units.
    """
    layer = fitted.moments.layer
    if layer is None or layer.spread is None:
        raise InputError('estimator="dwls" goes with kinds of columns; leave it out for others')
    at = np.triu_indices(len(layer.names))
    unit = np.outer(layer.scale, layer.scale)[at] ** 2
    spread = layer.spread[at] / unit
    moved = spread > np.where(at[0] == at[1], STILL, 0.0)
    found = 1.0 / np.where(moved, spread, np.inf)
    return np.asarray(np.where(moved, found, FIRM * found.max()) / unit)


def _weighted(space: Space, theta: Floats, weights: Floats, seen: int) -> Weighted:
    at = np.setdiff1d(np.arange(space.size), space.mu_at[:, 2])
    i, j = np.triu_indices(seen)
    return Weighted(space, at, weights, space.jacobian(theta)[1][at][:, i, j])
