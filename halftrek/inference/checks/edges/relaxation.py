"""What freeing one missing edge would do: its score, its information, and how it would move an answer.

An edge is a parameter c held at zero. With score s of a row, information I of the free parameters p and
``a = I_pp^+ I_pc`` their answer to c, the efficient score is ``s_c - a's_p`` and its information ``e = I_cc - a'I_pc``;
freed, the edge takes about ``E[s] / e``, and a number with gradient g moves by ``g_c - a'g_p`` for each unit of that.

Edges have entries of the same form as parameters have (see ``tangent``), and so have their scores: with r the errors of
a row and ``w = K r``, an entry ``K x`` with target j has ``w_j (K x)'r - (K x)_j``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.space import make_space
from halftrek.inference.checks.edges.scores import LEAST_LEFT, Edges, Relaxation, Relaxer
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.information import Kind
from halftrek.inference.information.tangent import Part, Tangent, tangent
from halftrek.queries.gradients import Gradient

LEAST = 1500  # edges that are freed at a time: where districts are not separate all their information is one matrix
NUMBERS = 4_000_000  # entries of edges that are held at a time


def relaxations(
    fit: Fitted, edges: Edges, gradients: Sequence[Gradient] = (), kind: Kind | None = None
) -> Iterator[Relaxation]:
    """Each edge freed alone, at the fitted parameters; some edges at a time. ``kind`` is for missing values."""
    data = kind_of_data(fit)
    freed = data.relaxer(fit, kind)
    for some in edges.pieces(max(LEAST, NUMBERS // len(fit.model.names)) if data.by_district else LEAST):
        yield freed(some, gradients)


def relaxation(fit: Fitted, edges: Edges, gradients: Sequence[Gradient] = ()) -> Relaxation:
    """Some edges, all at a time."""
    return kind_of_data(fit).relaxer(fit, None)(edges, gradients)


def district_relaxer(fit: Fitted, kind: Kind | None) -> Relaxer:
    """What frees edges where moments are complete."""
    if kind == "observed":
        raise InputError("the observed information is for modification indices with missing values; leave it out")
    return partial(_freed, fit, tangent(fit))


def _freed(fit: Fitted, base: Tangent, edges: Edges, gradients: Sequence[Gradient]) -> Relaxation:
    X, weight = _entries(base, edges)
    inside, slopes = _answers(fit, base, gradients, edges)
    full = np.where(edges.arrow, np.diag(base.cov)[edges.first], np.diag(base.K)[edges.first]) + weight**2
    full = _at_target(X, edges.second) ** 2 + full * np.diag(base.K)[edges.second]
    used, along = np.zeros(len(edges)), []
    for part in base.parts:
        met = np.flatnonzero(_meets(part, edges, len(base.K)))
        if not len(met):
            continue
        crossed = _crossed(base, part, X[met], weight[met], edges.second[met])
        vectors, values = part.directions()
        reply = (vectors / values) @ (vectors.T @ crossed)
        used[met] += (crossed * reply).sum(axis=0)
        slopes[:, met] -= inside[:, part.parameters] @ reply
        along.append((part, met, reply))
    left = full - used
    clear = left > LEAST_LEFT * full
    gap = fit.moments.mean @ np.linalg.inv(base.B) - fit.model.mu if base.means else np.zeros(len(base.K))
    rows = EfficientScores(base, gap, X, weight, edges.second, tuple(along))
    score = np.where(clear, rows.mean(fit.moments.cov), np.nan)
    return Relaxation(edges, score, np.where(clear, left, np.nan), slopes, rows)


def _meets(part: Part, edges: Edges, p: int) -> Flags:
    """Which edges share information with a district's parameters: those into it, and arcs out of it."""
    own = np.zeros(p, dtype=bool)
    own[part.variables] = True
    return np.asarray(own[edges.second] | (own[edges.first] & ~edges.arrow))


def _entries(base: Tangent, edges: Edges) -> tuple[Floats, Floats]:
    """``K x`` of each edge, and what it adds to the mean of its target."""
    X = np.where(edges.arrow[:, None], base.B[:, edges.first].T, base.K[edges.first])
    return X, np.where(edges.arrow & base.means, base.mean[edges.first], 0.0)


def _crossed(base: Tangent, part: Part, X: Floats, weight: Floats, at: Ints) -> Floats:
    """The information that the free parameters of a part share with each edge."""
    shared = (part.X @ base.omega) @ X.T + np.outer(part.w, weight)
    return part.sum_up(part.X[:, at] * X[:, part.at].T + shared * base.K[np.ix_(part.at, at)])


def _answers(fit: Fitted, base: Tangent, gradients: Sequence[Gradient], edges: Edges) -> tuple[Floats, Floats]:
    """Derivatives of answers (one a line) in the free parameters of the space, and in each edge."""
    space = make_space(fit.graph, fit.model.names, fit.options)
    inside, own = np.zeros((len(gradients), space.size)), np.zeros((len(gradients), len(edges)))
    ends = edges.first, edges.second
    for k, gradient in enumerate(gradients):
        intercepts = base.B @ gradient.mean if base.means else np.zeros(len(base.K))
        T = gradient.T + np.outer(base.mean, intercepts)
        inside[k] = space.collect(T, gradient.omega, intercepts, base.C)
        own[k] = np.where(edges.arrow, T[ends], 2.0 * gradient.omega[ends])
    return inside, own


@dataclass(frozen=True, eq=False)
class EfficientScores:
    """Scores of edges less what the free parameters take up: ``along`` are districts, their edges and their answers.

    ``gap`` is the mean of the errors of the data, which is not zero where intercepts are held.
    """

    base: Tangent
    gap: Floats
    X: Floats
    weight: Floats
    target: Ints
    along: tuple[tuple[Part, Ints, Floats], ...]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def at(self) -> Ints:
        """The columns that matter: any."""
        return np.arange(len(self.gap))

    def values(self, centred: Floats, cov: Floats) -> Floats:  # noqa: ARG002 (as all of its kind are called)
        """One column for each edge; rows less the mean of the data."""
        r = centred @ np.linalg.inv(self.base.B) + self.gap
        w = r @ self.base.K
        found = w[:, self.target] * (r @ self.X.T + self.weight) - _at_target(self.X, self.target)
        for part, met, reply in self.along:
            entries = w[:, part.at] * (r @ part.X.T + part.w) - _at_target(part.X, part.at)
            found[:, met] -= part.sum_up(entries.T).T @ reply
        return np.asarray(found)

    def mean(self, cov: Floats) -> Floats:
        """The mean score of each edge, over rows with this covariance; those of the free parameters are zero."""
        A = np.linalg.inv(self.base.B)
        moments = (A.T @ cov @ A + np.outer(self.gap, self.gap)) @ self.base.K  # of the errors r with w
        levels = self.weight * (self.gap @ self.base.K)[self.target]
        return np.asarray((self.X * moments[:, self.target].T).sum(axis=1) + levels - _at_target(self.X, self.target))


def _at_target(X: Floats, at: Ints) -> Floats:
    return np.asarray(X[np.arange(len(at)), at])
