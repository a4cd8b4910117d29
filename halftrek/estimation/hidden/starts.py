"""Where the search begins: hidden variables from the covariances of what they cause, then regressions.

From effects to causes each hidden variable gets the loadings of a single factor of its effects, and covariances with
all others by Bartlett's scores, which are consistent where the effects have nothing else in common. From the covariance
of all variables that this gives follow coefficients, by least squares, and what they leave.
"""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation.space import Space
from halftrek.graphs import Edge, Graph

STEPS = 30  # of the factor solution
LEAST, MOST = 0.05, 0.95  # shares of an effect's variance that a factor may have at the start
ROOM = 0.9  # of the error covariances that are kept while these are no covariance matrix


def first_point(graph: Graph, space: Space, seen: Floats, *, plain: bool = False) -> Floats:
    """Parameters to begin with, from the covariance of the observed variables, in the units of the data.

    ``plain``: every effect owes half of its variance to its hidden cause, whatever the covariances say.
    """
    S = _completed(graph, space.names, seen, plain=plain)
    T = np.array(space.T0)
    free = np.zeros(T.shape, dtype=bool)
    free[space.T_at[:, 0], space.T_at[:, 1]] = True
    place = {v: i for i, v in enumerate(space.names)}
    held = np.array([space.W0[i, i] for i in range(len(place))])
    for name in graph.topological_order:
        v = place[name]
        left = S[:, v] - S @ space.T0[:, v]
        at = np.flatnonzero(free[:, v])
        if len(at):
            T[at, v] = np.linalg.lstsq(S[np.ix_(at, at)], left[at], rcond=1e-8)[0]
        if name not in graph.observed[: len(seen)] and held[v] > 0.0:  # bring its error to the variance that is fixed
            change = np.eye(len(place))[v] - T[:, v]
            error = float(change @ S @ change)
            scale = np.sqrt(held[v] / max(error, 1e-3 * S[v, v]))
            S[v], S[:, v] = S[v] * scale, S[:, v] * scale
            T[at, v] *= scale
    theta = np.zeros(space.size)
    u, v, a = space.T_at.T
    theta[a] = T[u, v]
    theta = _with_errors(space, theta, S)
    mean = np.zeros(len(place))
    theta[space.mu_at[:, 2]] = mean[space.mu_at[:, 0]]
    return theta


def _with_errors(space: Space, theta: Floats, S: Floats) -> Floats:
    """The point with error covariances and loadings of independent hidden roots from what coefficients leave."""
    change = np.eye(len(S)) - space.arrays(theta)[0]
    E = change.T @ S @ change
    floor = 0.05 * np.diag(S)
    np.fill_diagonal(E, np.maximum(np.diag(E), floor))
    for k in np.unique(space.C_at[:, 0]):
        kids = space.C_at[space.C_at[:, 0] == k]
        share = one_factor(E[np.ix_(kids[:, 1], kids[:, 1])])
        theta[kids[:, 2]] = share
        E[kids[:, 1], kids[:, 1]] = np.maximum(E[kids[:, 1], kids[:, 1]] - share**2, floor[kids[:, 1]])
    i, j, a = space.W_at.T
    counts = np.bincount(a, minlength=space.size)
    own = i == j
    theta[a[own]] = 0.0
    np.add.at(theta, a[own], E[i[own], i[own]] / counts[a[own]])
    theta[a[~own]] = E[i[~own], j[~own]]
    for _ in range(200):
        W = space.errors(theta)
        try:
            np.linalg.cholesky(W - 0.02 * np.diag(np.diag(W)))
            break
        except np.linalg.LinAlgError:
            theta[a[~own]] *= ROOM
    return theta


def _completed(graph: Graph, names: tuple[str, ...], seen: Floats, *, plain: bool) -> Floats:
    """A covariance of all variables that has the observed one in it."""
    p, place = len(seen), {v: i for i, v in enumerate(names)}
    S = np.zeros((len(names), len(names)))
    S[:p, :p] = seen
    done = list(range(p))
    for name in reversed(graph.topological_order):
        v = place[name]
        if v < p:
            continue
        kids = [place[c] for c in graph.children(name) if place[c] in done]
        inner = S[np.ix_(kids, kids)]
        half = np.sqrt(0.5 * np.diag(inner))
        share = half if plain else one_factor(inner)
        marker = [(i, graph.known.get(Edge(name, "->", names[c]))) for i, c in enumerate(kids)]
        fixed = [(i, x) for i, x in marker if isinstance(x, float) and x != 0.0]
        scale = share[fixed[0][0]] / fixed[0][1] if fixed else 1.0
        if abs(scale) < 0.1 * half[fixed[0][0]] if fixed else False:
            scale = half[fixed[0][0]] / fixed[0][1]
        error = np.maximum(np.diag(inner) - share**2, LEAST * np.diag(inner))
        weight = share / error / float(share @ (share / error))
        S[v, done] = S[done, v] = scale * (weight @ S[np.ix_(kids, done)])
        S[v, kids] = S[kids, v] = scale * share
        S[v, v] = scale**2
        done.append(v)
    return _definite(S, p)


def _definite(S: Floats, p: int) -> Floats:
    """The matrix with covariances of hidden variables shrunk until it is safely positive definite."""
    scale = np.sqrt(np.diag(S))
    R = S / np.outer(scale, scale)
    for _ in range(200):
        try:
            np.linalg.cholesky(R - 1e-6 * np.eye(len(R)))
            break
        except np.linalg.LinAlgError:
            R[p:, :] *= ROOM
            R[:p, p:] *= ROOM
            np.fill_diagonal(R, 1.0)
    return np.asarray(R * np.outer(scale, scale))


def one_factor(S: Floats) -> Floats:
    """Loadings of one factor of variance 1 by iterated principal axes; with two effects they share the covariance."""
    k, scale = len(S), np.sqrt(np.diag(S))
    R = S / np.outer(scale, scale)
    if k == 1:
        return np.asarray(np.sqrt(0.7) * scale)
    if k == 2:
        r = float(R[0, 1])
        size = np.sqrt(np.clip(abs(r), LEAST, MOST))
        return np.asarray(np.array([1.0, -1.0 if r < 0.0 else 1.0]) * size * scale)
    share = np.clip(np.abs(R - np.eye(k)).max(axis=0), LEAST, MOST)
    loading = np.sqrt(share)
    for _ in range(STEPS):
        inside = R.copy()
        np.fill_diagonal(inside, share)
        values, vectors = np.linalg.eigh(inside)
        loading = vectors[:, -1] * np.sqrt(max(float(values[-1]), LEAST))
        new = np.clip(loading**2, LEAST, MOST)
        settled = np.abs(new - share).max() < 1e-4
        share = new
        if settled:
            break
    loading = np.sign(loading + (loading == 0.0)) * np.sqrt(share)
    return np.asarray(loading * scale * (1.0 if loading[0] > 0.0 else -1.0))
