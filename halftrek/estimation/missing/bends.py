"""How the likelihood of each of many data sets bends, about: the information of the fit, carried over to each.

The information of complete rows is known for each data set, once what is missing has been filled in as its model
expects: with errors ``e = y (I - T) - mu``, their inverse covariance E, and sums over rows,

    T_uv, T_u'v':  E_vv' sum(y_u y_u')        T_uv, W_ij:  sum(y_u (eE)_i) E_jv + sum(y_u (eE)_j) E_iv

and so on; it splits into districts. How much of it is lost by what is missing differs little between data sets. With
``J = L L'`` of a data set, and ``J0 = L0 L0'`` and H0, the information of all rows without and with holes, that of the
data set is about

    H = L (L0^-1 H0 L0^-T) L'
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data.missing.stack import Slopes
from halftrek.estimation.space import Space

Sums = tuple[Floats, Floats, Floats, Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class At:
    """Data sets at a point each: coefficients, error covariances and intercepts, and slopes in mean and covariance."""

    T: Floats
    W: Floats
    mu: Floats
    B: Floats
    rows: Floats
    slopes: Slopes


@dataclass(frozen=True, eq=False)
class Bends:
    """Roots of inverse information, block by block, one for each data set; ``shared`` is what the holes take of it."""

    blocks: list[Ints]
    roots: list[Floats]
    shared: Floats

    def steps(self, gradient: Floats, which: Ints) -> Floats:
        """``H^-1 g`` of some data sets."""
        inside = np.zeros_like(gradient)
        for block, root in zip(self.blocks, self.roots, strict=True):
            inside[:, block] = (root[which] @ gradient[:, block, None])[:, :, 0]
        inside = inside @ self.shared
        found = np.empty_like(gradient)
        for block, root in zip(self.blocks, self.roots, strict=True):
            found[:, block] = (root[which].transpose(0, 2, 1) @ inside[:, block, None])[:, :, 0]
        return found


def bends(space: Space, start: At, near: At, information: Floats) -> Bends | None:
    """From where all started, with the information of a row there, and where each is now; None where that is no help.

    Loadings of hidden causes are not among the parameters that this is known of.
    """
    if len(space.C_at):
        return None
    n = start.rows[:, None, None]
    first = Slopes(
        np.zeros(1), (start.slopes.mean / n[:, 0]).mean(axis=0)[None], (start.slopes.cov / n).mean(axis=0)[None]
    )
    one = At(start.T[:1], start.W[:1], start.mu[:1], start.B[:1], np.ones(1), first)
    blocks = blocks_of(space)
    roots, of_all = [], np.zeros_like(information)
    at_once, each = sums_of(one), sums_of(near)
    for block in blocks:
        known, own = (complete_of(space, at, sums, block) for at, sums in ((one, at_once), (near, each)))
        try:
            whole = np.linalg.cholesky(known[0])
        except np.linalg.LinAlgError:
            return None
        of_all[np.ix_(block, block)] = whole
        roots.append(_inverse_roots(own, near.rows[:, None, None] * known))
    inside = np.linalg.solve(information, of_all)
    return Bends(blocks, roots, of_all.T @ inside)


def _inverse_roots(matrices: Floats, instead: Floats) -> Floats:
    """``L^-1`` of each; of another where it is not positive definite."""
    try:
        roots = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        usable = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))[:, None, None]
        least = np.linalg.eigvalsh(np.where(usable, matrices, 0.0))[:, 0]
        clear = least > 1e-12 * np.abs(np.diagonal(instead, axis1=1, axis2=2)).max(axis=1)
        roots = np.linalg.cholesky(np.where(clear[:, None, None], matrices, instead))
    return np.asarray(np.linalg.inv(roots))


def blocks_of(space: Space) -> list[Ints]:
    """Parameters that complete rows know apart from all others: those of districts, with those of the same label."""
    p = len(space.names)
    owner = np.arange(p + space.size)  # variables, then parameters: the first of those that go together

    def join(a: int, b: int) -> None:
        owner[owner == max(owner[a], owner[b])] = min(owner[a], owner[b])

    for i, j in np.argwhere(np.triu(space.W0, 1)):
        join(int(i), int(j))
    for i, j, a in space.W_at:
        join(int(i), p + int(a))
        join(int(j), p + int(a))
    for _, v, a in space.T_at:
        join(int(v), p + int(a))
    for v, _, a in space.mu_at:
        join(int(v), p + int(a))
    return [np.flatnonzero(owner[p:] == k) for k in np.unique(owner[p:])]


def complete_of(space: Space, at: At, sums: Sums, block: Ints) -> Floats:
    """The information of completed rows about some parameters that belong together, one matrix for each data set."""
    place = np.full(space.size, -1)
    place[block] = np.arange(len(block))
    T_at, W_at, mu_at = (x[place[x[:, 2]] >= 0] for x in (space.T_at, space.W_at, space.mu_at))
    (u, v, a), (i, j, b), (own, _, c) = T_at.T, W_at.T, mu_at.T
    E, mean, second, level, beside, bent = sums
    n = at.rows[:, None, None]
    share = np.where(i == j, 0.5, 1.0)

    def cells(matrix: Floats, rows: Ints, columns: Ints) -> Floats:
        return np.asarray(matrix[:, rows[:, None], columns])

    TT = cells(E, v, v) * cells(second, u, u) + n * cells(at.B, v, u) * cells(at.B, v, u).transpose(0, 2, 1)
    Tm = cells(E, v, own) * mean[:, u, None]
    mm = n * cells(E, own, own)
    TW = share * (cells(beside, u, i) * cells(E, v, j) + cells(beside, u, j) * cells(E, v, i))
    mW = share * (level[:, None, i] * cells(E, own, j) + level[:, None, j] * cells(E, own, i))
    half = cells(E, j, j) * cells(bent, i, i) + cells(E, i, i) * cells(bent, j, j)
    half = half + cells(E, i, j) * cells(bent, j, i) + cells(E, j, i) * cells(bent, i, j)
    WW = 0.5 * share * share[:, None] * half
    whole = np.concatenate(
        [
            np.concatenate([TT, TW, Tm], axis=2),
            np.concatenate([TW.transpose(0, 2, 1), WW, mW.transpose(0, 2, 1)], axis=2),
            np.concatenate([Tm.transpose(0, 2, 1), mW, mm], axis=2),
        ],
        axis=1,
    )
    owner = (place[np.concatenate([a, b, c])] == np.arange(len(block))[:, None]).astype(float)
    return np.asarray(owner @ whole @ owner.T)


def sums_of(at: At) -> Sums:
    """E, sums of ``y``, of ``y y'``, of ``e E``, of ``y (e E)'``, and ``2 E sum(e'e) E - n E``, of completed rows.

    Slopes in mean and covariance are ``sum(P x)`` and ``(P sum(x x') P - n P) / 2``, x the completed row less its mean.
    """
    n, B = at.rows[:, None, None], at.B
    turned = B.transpose(0, 2, 1)
    cov = turned @ at.W @ B
    centre = (at.mu[:, None] @ B)[:, 0]
    level = (B @ at.slopes.mean[:, :, None])[:, :, 0]
    apart = (cov @ at.slopes.mean[:, :, None])[:, :, 0]
    inside = at.slopes.cov @ turned
    mean = apart + at.rows[:, None] * centre
    second = cov @ (2.0 * at.slopes.cov) @ cov + n * cov
    cross = apart[:, :, None] * centre[:, None]
    second = second + cross + cross.transpose(0, 2, 1) + n * centre[:, :, None] * centre[:, None]
    E = np.linalg.inv(at.W)
    beside = cov @ (2.0 * inside) + n * turned + centre[:, :, None] * level[:, None]
    return E, mean, second, level, beside, 4.0 * (B @ inside) + n * E
