"""The pattern of a district and the data for it: slots, error covariances, loadings, ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Shape:
    """The pattern of a district: who regresses on how many slots, which entries of Omega are free.

    Parameters, in this order: one coefficient per slot (``column`` says whose), error covariances ``pairs``, free noise
    variances ``noisy`` (as logarithms if there are loadings, to stay positive), loadings ``(latent, member)``.
    """

    size: int
    column: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    noisy: tuple[int, ...]
    loadings: tuple[tuple[int, int], ...] = ()

    @cached_property
    def slots(self) -> int:
        return len(self.column)

    @cached_property
    def parameters(self) -> int:
        return len(self.column) + len(self.pairs) + len(self.noisy) + len(self.loadings)

    @cached_property
    def hidden(self) -> int:
        return 1 + max((k for k, _ in self.loadings), default=-1)

    @cached_property
    def at(self) -> Places:
        return Places.of(self)


@dataclass(frozen=True, eq=False)
class Places:
    """Index arrays of a shape, made once."""

    column: Ints
    slot: Ints
    first: Ints
    second: Ints
    noisy: Ints
    latent: Ints
    child: Ints
    target: Ints  # the member j of every parameter's direction u e_j' + e_j u'
    t: slice
    w: slice
    v: slice
    c: slice
    same_latent: Floats
    entries: Ints  # where the parameters of W stand in its flat form ...
    sources: Ints  # ... and which parameters they are
    size: int

    @cached_property
    def directions(self) -> Floats:
        """The vectors u of the parameters of W, for noise variances that are not logarithms."""
        pairs, variances = len(self.first), len(self.noisy)
        found = np.zeros((pairs + variances, self.size))
        found[np.arange(pairs), self.first] = 1.0
        found[pairs + np.arange(variances), self.noisy] = 0.5
        return found

    @staticmethod
    def of(shape: Shape) -> Places:
        column = np.array(shape.column, dtype=np.intp)
        first, second = (np.array([pair[i] for pair in shape.pairs], dtype=np.intp) for i in (0, 1))
        noisy = np.array(shape.noisy, dtype=np.intp)
        latent, child = (np.array([pair[i] for pair in shape.loadings], dtype=np.intp) for i in (0, 1))
        ends = [int(x) for x in np.cumsum([0, len(column), len(first), len(noisy), len(latent)])]
        pairs, variances = np.arange(ends[1], ends[2]), np.arange(ends[2], ends[3])
        return Places(
            column=column,
            slot=np.arange(len(column)),
            first=first,
            second=second,
            noisy=noisy,
            latent=latent,
            child=child,
            target=np.concatenate([column, second, noisy, child]),
            t=slice(ends[0], ends[1]),
            w=slice(ends[1], ends[2]),
            v=slice(ends[2], ends[3]),
            c=slice(ends[3], ends[4]),
            same_latent=(latent[:, None] == latent[None, :]).astype(float),
            entries=np.concatenate(
                [first * shape.size + second, second * shape.size + first, noisy * (shape.size + 1)]
            ),
            sources=np.concatenate([pairs, pairs, variances]),
            size=shape.size,
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """Data for a shape: second moments of (slots, members), the fixed part of W, and optional linear ties.

    With ties the parameters are ``base + link @ free``: coefficients held equal or fixed.
    """

    shape: Shape
    G: Floats
    W0: Floats
    link: Floats | None = None
    base: Floats | None = None
    lower: Floats | None = None  # lower bounds of the free parameters, for variances that run into zero
    barrier: float = 0.0  # weight of -log|W|, which keeps W positive definite where it holds covariances beside C
    before: Floats | None = None  # 1 for a slot whose regressor no member causes, for each member of the batch

    def take(self, rows: Ints) -> Problem:
        """Some members of the batch."""
        link = None if self.link is None else self.link[rows]
        base = None if self.base is None else self.base[rows]
        before = None if self.before is None else self.before[rows]
        return replace(self, G=self.G[rows], W0=self.W0[rows], link=link, base=base, before=before)

    @cached_property
    def covarying(self) -> bool:
        """True if W has covariances, free or fixed."""
        return bool(self.shape.pairs) or bool((self.W0 - self.W0 * np.eye(self.shape.size)).any())

    @cached_property
    def saturated(self) -> bool:
        """True if the errors' covariance is free altogether, so that the best one for given coefficients is known."""
        s = self.shape
        complete = len(s.pairs) == s.size * (s.size - 1) // 2 and len(s.noisy) == s.size
        return complete and not s.loadings and self.link is None

    @property
    def two_equations(self) -> bool:
        """True for two equations whose errors covary freely, one of which has at most one slot."""
        column = self.shape.column
        return self.saturated and self.shape.size == 2 and min(column.count(0), column.count(1)) <= 1

    @property
    def free(self) -> int:
        """Number of free parameters."""
        return self.shape.parameters if self.link is None else int(self.link.shape[2])

    def expand(self, free: Floats) -> Floats:
        """All parameters from the free ones."""
        if self.link is None or self.base is None:
            return free
        return np.asarray(self.base + (self.link @ free[..., None])[..., 0])


def error_matrices(shape: Shape, theta: Floats, W0: Floats) -> tuple[Floats, Floats]:
    """W and C from all parameters."""
    at = shape.at
    W = W0.copy()
    if shape.loadings:
        theta = theta.copy()
        theta[:, at.v] = np.exp(np.clip(theta[:, at.v], -80.0, 80.0))
    W.reshape(len(W), -1)[:, at.entries] = theta[:, at.sources]
    C = np.zeros((len(theta), shape.hidden, shape.size))
    if shape.loadings:
        C[:, at.latent, at.child] = theta[:, at.c]
    return W, C
