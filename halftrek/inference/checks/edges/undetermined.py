"""Which edges would have no determined weight if they were added, though data notice that they are missing?

Only where a district is flat: elsewhere an edge of which data tell something has a determined weight. Looked for at a
random point of the graph with the edge; the point differs from one of the graph without it by the edge alone, and
nothing but the information of the districts that the edge enters is made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.space import Space, make_space
from halftrek.inference.checks.edges.scores import Edges
from halftrek.inference.information.dimension import random_fit
from halftrek.inference.information.information import FLAT, LEAK
from halftrek.inference.information.tangent import Tangent, entries_of, information_of, tangent

WEIGHT = 0.37  # of an arrow at the random point, in units of its ends' errors; any number that is not special would do


def undetermined_edges(fit: Fitted, edges: Edges) -> Flags:
    """For each edge: True if its weight would not be determined, or only at special values of the other parameters."""
    found = np.zeros(len(edges), dtype=bool)
    if not len(edges):
        return found
    anywhere = random_fit(fit.graph, fit.options, 1)
    point, place = _Point.of(anywhere), {v: i for i, v in enumerate(anywhere.model.names)}
    at = np.array([place[v] for v in fit.model.names], dtype=np.intp)  # a graph may have its variables in another order
    for k, (arrow, u, v) in enumerate(zip(edges.arrow, at[edges.first], at[edges.second], strict=True)):
        found[k] = point.leaves_open(bool(arrow), int(u), int(v))
    return found


@dataclass(frozen=True, eq=False)
class _Point:
    """A random point of the graph, and for each variable which part of its tangent space it belongs to."""

    base: Tangent
    space: Space
    mu: Floats
    home: Ints

    @staticmethod
    def of(fit: Fitted) -> _Point:
        base = tangent(fit)
        home = np.zeros(len(base.K), dtype=np.intp)
        for d, part in enumerate(base.parts):
            home[part.variables] = d
        space = make_space(fit.graph, fit.model.names, fit.options)
        mu = space.arrays(space.vector(fit.model))[3]  # random intercepts, but for those that are held
        return _Point(base, space, mu, home)

    def leaves_open(self, arrow: bool, u: int, v: int) -> bool:
        """True if the weight of one more edge has a share in a direction that carries no information."""
        base = self.base
        parts = [base.parts[d] for d in dict.fromkeys((self.home[v],) if arrow else (self.home[v], self.home[u]))]
        B, K, omega = base.B, base.K, base.omega
        if arrow:
            weight = WEIGHT * float(np.sqrt(omega[v, v] / base.cov[u, u]))
            B = B + weight * np.outer(B[:, u], B[v])
        else:
            K, omega = _with_arc(K, omega, u, v)
        mean = self.mu @ B if base.means else base.mean
        own = np.concatenate([part.parameters for part in parts])
        X, at, w, owner = entries_of(_some(self.space, own), B, K, base.C, mean, base.means)
        free, owner = len(own), np.searchsorted(np.sort(own), owner)
        new = B[:, u] if arrow else K[u]
        X, at = np.vstack([X, new]), np.append(at, v)
        w, owner = np.append(w, mean[u] if arrow and base.means else 0.0), np.append(owner, free)
        return _open(information_of(X, at, w, owner, free + 1, omega, K))


def _with_arc(K: Floats, omega: Floats, u: int, v: int) -> tuple[Floats, Floats]:
    """Precision and covariance of the errors with one more covariance, half as large as it might be."""
    size = 0.5 / (abs(K[u, v]) + float(np.sqrt(K[u, u] * K[v, v])))
    more, ends = omega.copy(), np.array([u, v])
    more[u, v] += size
    more[v, u] += size
    change = np.linalg.inv(np.array([[0.0, 1.0 / size], [1.0 / size, 0.0]]) + K[np.ix_(ends, ends)])
    return K - K[:, ends] @ change @ K[ends], more


def _some(space: Space, own: Ints) -> Space:
    """The entries of some parameters."""
    mine = np.zeros(space.size, dtype=bool)
    mine[own] = True
    at = (space.T_at, space.W_at, space.C_at, space.mu_at)
    T_at, W_at, C_at, mu_at = (one[mine[one[:, 2]]] for one in at)
    return replace(space, T_at=T_at, W_at=W_at, C_at=C_at, mu_at=mu_at)


def _open(information: Floats) -> bool:
    """True if the last parameter needs a direction without information."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    flat = values <= FLAT * values[-1]
    along = np.abs(vectors[-1])
    return bool(along[flat].max(initial=0.0) > LEAK * along.max())
