"""Two equations whose errors covary, one of them with a single regressor or none: the highest of all maxima.

Let ``r = y - t z`` be the residual of that equation. The best error covariance and the best coefficients of the other
equation, with regressors Z and response v, are known for each t, and what is left to minimise is

    F(t) = log Var(r) + log Var(r | Z, v) - log Var(r | Z) + log Var(v | Z) + 2

whose variances are quadratics in t. Its stationary points are the real roots of a quintic (Drton and Richardson 2004),
so that the lowest of them is where no other start can lead higher. Roots are taken in ``1 / (t - t0)`` with t0 far from
them: where the quintic is of lower degree, its roots at infinity are zeros there.
"""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation.district.shape import Problem
from halftrek.models.kernels import inverses, quiet

AWAY = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])  # a quintic does not vanish at all of these
POWERS = AWAY ** np.arange(6)[:, None] / (1.0 + AWAY**2) ** 2.5
NONE = 1e-13  # a share of a variance that is rounding ...
SOME = 1e-8  # ... and one that is not


def highest_maxima(problem: Problem) -> tuple[Floats, Floats]:
    """The coefficients at the highest maximum of each data set, and F there: zero and nan where rounding leaves doubt.

    They stand in all parameters; those of the errors, which follow from them, are left at zero.
    """
    shape, G = problem.shape, problem.G
    at, m = shape.at, shape.slots
    short = int(shape.column.count(1) <= shape.column.count(0))  # the later one, which does not cause the other
    mine, theirs = np.flatnonzero(at.column == short), np.flatnonzero(at.column != short)
    ends = np.array([m + short, *mine, m + 1 - short])  # y, z if there is one, v
    cross = G[:, theirs[:, None], ends]
    with quiet():
        slopes = inverses(G[:, theirs[:, None], theirs]) @ cross
        given = G[:, ends[:, None], ends] - cross.transpose(0, 2, 1) @ slopes
        own, v, rest = given[:, :-1, :-1], given[:, :-1, -1], given[:, -1, -1]
        further = own - v[:, :, None] * v[:, None, :] / rest[:, None, None]
        t, value = _lowest(np.stack([G[:, ends[:-1, None], ends[:-1]], further, own], axis=1))
        r = np.concatenate([np.ones((len(t), 1)), -t], axis=1)
        shared = (r * v).sum(axis=1) / (r[:, None] @ own @ r[:, :, None])[:, 0, 0]  # of v with r, given Z
        value = value + np.log(rest) + 2.0
        others = slopes[:, :, -1] - shared[:, None] * (slopes[:, :, :-1] @ r[:, :, None])[:, :, 0]
    theta = np.zeros((len(G), shape.parameters))
    theta[:, mine], theta[:, theirs] = t, others
    known = np.isfinite(theta).all(axis=1) & np.isfinite(value)
    return np.where(known[:, None], theta, 0.0), np.where(known, value, np.nan)


def _lowest(moments: Floats) -> tuple[Floats, Floats]:
    """Where F is lowest, and F there without what is the same everywhere.

    ``moments``: second moments of y and z, given nothing, (Z, v) and Z.
    """
    Q, clear = _quadratics(moments)
    if moments.shape[2] == 1:
        return np.zeros((len(Q), 0)), np.where(clear, _height(Q, np.zeros((len(Q), 1)))[:, 0], np.nan)
    origin = AWAY[np.abs(_quintic(Q) @ POWERS).argmax(axis=1)]
    quintic = _quintic(_about(Q, origin))
    companion = np.zeros((len(Q), 5, 5))
    companion[:, np.arange(1, 5), np.arange(4)] = 1.0
    companion[:, 0] = -quintic[:, 1:] / quintic[:, :1]
    clear &= np.isfinite(companion).all(axis=(1, 2))
    companion[~clear] = 0.0
    t = origin[:, None] + (1.0 / np.linalg.eigvals(companion)).real  # not only of real roots: two may just have met
    height = _height(Q, t)
    height = np.where(np.isfinite(height), height, np.inf)
    best = height.argmin(axis=1)[:, None]
    t, value = (np.take_along_axis(x, best, axis=1) for x in (t, height))
    clear &= np.isfinite(value[:, 0])
    return np.where(clear[:, None], t, 0.0), np.where(clear, value[:, 0], np.nan)


def _quadratics(moments: Floats) -> tuple[Floats, Flags]:
    """The variances of ``y - t z`` as polynomials in t, lowest power first, and where they are known well enough.

    Where z is among what is given, nothing is left of it but rounding, which is made zero. Where y is, the residual is
    as z is but for the factor -t, of which F has no trace: both variances have it.
    """
    Q = np.zeros((len(moments), 3, 3))
    y = moments[:, :, 0, 0]
    if moments.shape[2] == 1:
        Q[:, :, 0] = y
        return Q, np.asarray((y > SOME).all(axis=1))
    z, both, gone = moments[:, :, 1, 1], moments[:, :, 0, 1], y <= NONE
    there = (z > NONE) & ~gone
    Q[:, :, 0], Q[:, :, 1], Q[:, :, 2] = (
        np.where(gone, z, y),
        np.where(there, -2.0 * both, 0.0),
        np.where(there, z, 0.0),
    )
    known = (Q[:, :, 0] > SOME) & (~there | (z > SOME) & (y * z - both**2 > SOME * z))
    return Q, known.all(axis=1) & (gone[:, 1] == gone[:, 2])


def _quintic(Q: Floats) -> Floats:
    """The derivative of ``log Q1 + log Q2 - log Q3``, times all three: lowest power first."""
    product, last = _times(Q[:, 0], Q[:, 1]), Q[:, 2]
    return _times(_derived(product), last) - _times(product, _derived(last))


def _times(one: Floats, other: Floats) -> Floats:
    found = np.zeros((len(one), one.shape[1] + other.shape[1] - 1))
    for power in range(other.shape[1]):
        found[:, power : power + one.shape[1]] += one * other[:, power, None]
    return found


def _derived(polynomial: Floats) -> Floats:
    return np.asarray(polynomial[:, 1:] * np.arange(1, polynomial.shape[1]))


def _about(Q: Floats, origin: Floats) -> Floats:
    """The quadratics in ``t - origin``."""
    t = origin[:, None]
    c, b, a = Q[..., 0], Q[..., 1], Q[..., 2]
    return np.stack([c + t * (b + t * a), b + 2.0 * t * a, a], axis=2)


def _height(Q: Floats, t: Floats) -> Floats:
    """F at several points, without what is the same everywhere."""
    one, two, three = np.moveaxis(Q[..., :1] + t[:, None] * (Q[..., 1:2] + t[:, None] * Q[..., 2:]), 1, 0)
    return np.asarray(np.log(one) + np.log(two) - np.log(three))
