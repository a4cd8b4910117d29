"""One covariance structure for several groups whose means are their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Ints
from halftrek.data import Moments, Patterns
from halftrek.data.missing.likelihood import best_mean
from halftrek.data.missing.patterns import put_together
from halftrek.estimation.fit import Fitted, fit
from halftrek.estimation.many.groups import FittedGroups

ROUNDS = 50  # of model and means by turns; three are the rule
SETTLED = 1e-6  # gain in log-likelihood that does not show in a test


def pooled_fit(fits: FittedGroups, data: Sequence[Moments | Patterns]) -> Fitted:
    """The best model for all groups, where some rows have holes.

    By turns the best model given the means and the best means given the model, which hardly depend on each other.
    """
    again = partial(fit, fits.graph, noise=dict(fits.options.noise), intercepts="zero", max_iter=fits.max_iter)
    means = np.stack([d.available[0] if isinstance(d, Patterns) else d.mean for d in data])
    found = again(put_together(data, means), starts=fits.starts)
    names = found.model.names
    for _ in range(ROUNDS):
        cov, T = found.model.cov, found.model.T
        means = np.stack([best_mean(d, cov) if isinstance(d, Patterns) else d.mean for d in data])
        start = {(u, v): float(T[names.index(u), names.index(v)]) for u, v in fits.graph.directed}
        before, found = found.loglik, again(put_together(data, means), starts=1, start=start)
        if found.loglik - before < SETTLED:
            break
    return found


def pooled_within(fits: FittedGroups, rows: Ints) -> Moments:
    """The covariance within groups, pooled: what is left when every group has means of its own."""
    n = fits.groups.n[rows]
    cov = np.einsum("g,gij->ij", n / n.sum(), fits.groups.cov[rows])
    return Moments(fits.groups.names, float(n.sum()), np.zeros(len(fits.groups.names)), cov)
