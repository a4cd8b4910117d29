"""Is one model inside another?"""

from __future__ import annotations

import numpy as np

from halftrek.data import Moments
from halftrek.estimation import fit as fit_model
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.results.fit import Fit

EXACT = 1e-7  # misfit per row below which covariances count as reproduced


def contained(small: Fit, large: Fit) -> bool:
    """True if every covariance of the small model, near its estimates, is one of the large model too.

    By edges where both graphs leave everything free; otherwise two points near the estimates are fitted with the large
    model, which must reproduce them exactly. Other containments than these are not found.
    """
    if _plain(small) and _plain(large) and _edges_inside(small.graph, large.graph):
        return True
    return all(_reproduced(small, large, seed) for seed in (1, 2))


def _plain(fit: Fit) -> bool:
    return not fit.graph.restrictions and not fit.options.noise and not fit.options.intercepts


def _edges_inside(small: Graph, large: Graph) -> bool:
    arcs = {frozenset(e) for e in large.bidirected}
    hidden = [set(kids) for kids in large.latents.values()]
    return (
        set(small.directed) <= set(large.directed)
        and all(frozenset(e) in arcs for e in small.bidirected)
        and all(set(kids) in hidden or len(kids) < 2 for kids in small.latents.values())
        and len(small.latents) <= len(large.latents)
    )


def _reproduced(small: Fit, large: Fit, seed: int) -> bool:
    """Fit the large model to the moments of the small one at a point near its estimates."""
    names = small.model.names
    space = make_space(small.graph, names, small.options)
    theta = space.vector(small.model)
    rng = np.random.default_rng(seed)
    step = theta * 0.1 * rng.standard_normal(space.size)
    for shrink in (1.0, 0.3, 0.1):
        mean, cov = space.moments(theta + shrink * step)
        sd = np.sqrt(np.diag(cov))
        if np.linalg.eigvalsh(cov / np.outer(sd, sd))[0] > 1e-8 * len(cov):
            break
    else:
        return False
    moments = Moments(names, small.n, mean, cov)
    found = fit_model(large.graph, moments, noise=dict(large.options.noise), intercepts=dict(large.options.intercepts))
    p = len(names)
    best = -0.5 * (p * np.log(2.0 * np.pi) + float(np.linalg.slogdet(cov)[1]) + p)
    return bool(best - found.loglik / moments.n < EXACT)
