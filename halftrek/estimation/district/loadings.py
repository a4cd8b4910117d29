"""Hidden causes of two children: from the error covariance that was fitted back to a pair of loadings.

Only the product of the two loadings is determined. A choice with noise variances that are not negative exists exactly
if the comparison matrix (diagonal as it is, minus the absolute values elsewhere) is positive semi-definite ("scaled
diagonally dominant"). With v > 0 its lowest eigenvector, ``c_i² = |w_ij| v_j / v_i`` leaves the lowest eigenvalue as
noise for every member. On the scale of correlations this is the stated canonical form.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from halftrek.bottom.arrays import Floats, Ints

Pairs = tuple[tuple[int, int], ...]


def split_covariances(W: Floats, pairs: Pairs, bidirected: Pairs = ()) -> tuple[Floats, Floats]:
    """Loadings of the pairs ``(batch, pair, 2)`` and the noise share that is left ``(batch,)``; negative: none exists.

    ``bidirected`` pairs keep their covariance in W; they only have to leave it positive definite.
    """
    first, second, parts = _layout(W.shape[1], pairs, bidirected)
    scale = np.sqrt(W.diagonal(axis1=1, axis2=2))
    correlation = W / (scale[:, :, None] * scale[:, None, :])
    weights = np.ones(scale.shape)
    share = np.ones(len(W))
    for part, twice in parts:
        if len(part) == 2:  # one pair: equal weights
            share = np.minimum(share, 1.0 - np.abs(correlation[:, part[0], part[1]]))
        else:
            compare = twice - np.abs(correlation[:, part[:, None], part])
            values, vectors = np.linalg.eigh(compare)
            weights[:, part] = np.maximum(np.abs(vectors[:, :, 0]), 1e-150)
            share = np.minimum(share, values[:, 0])
    if bidirected:
        for i in np.flatnonzero(share < 0.0):
            weights[i], share[i] = _search(correlation[i], first, second, weights[i])
    product = correlation[:, first, second]
    size = np.sqrt(np.abs(product))
    tilt = np.sqrt(weights[:, second] / weights[:, first])
    loadings = np.empty((*product.shape, 2))
    loadings[:, :, 0] = size * tilt * scale[:, first]
    loadings[:, :, 1] = np.copysign(size / tilt, product) * scale[:, second]
    return loadings, share


def _search(correlation: Floats, first: Ints, second: Ints, start: Floats) -> tuple[Floats, float]:
    """Maximise the lowest eigenvalue of what is left, a concave function of log v."""
    from scipy.optimize import minimize

    size = np.abs(correlation[first, second])

    def worst(u: Floats) -> float:
        left = correlation.copy()
        left[first, second] = left[second, first] = 0.0
        np.subtract.at(left, (first, first), size * np.exp(u[second] - u[first]))
        np.subtract.at(left, (second, second), size * np.exp(u[first] - u[second]))
        return -float(np.linalg.eigvalsh(left)[0])

    found = minimize(worst, np.log(start), method="Nelder-Mead", options={"maxiter": 400 * len(start), "xatol": 1e-9})
    return np.exp(found.x), -float(found.fun)


@lru_cache(maxsize=1024)
def _layout(d: int, pairs: Pairs, bidirected: Pairs) -> tuple[Ints, Ints, list[tuple[Ints, Floats]]]:
    """Ends of the pairs, and the connected parts of more than one member, each with twice the identity."""
    label = list(range(d))
    for i, j in (*pairs, *bidirected):
        a, b = label[i], label[j]
        label = [a if x == b else x for x in label]
    parts = [np.flatnonzero(np.array(label) == x) for x in dict.fromkeys(label)]
    first, second = np.array(pairs, dtype=np.intp).T.copy()
    # the tiny part keeps v positive if a pair is zero
    return first, second, [(part, 2.0 * np.eye(len(part)) - 1e-13) for part in parts if len(part) > 1]
