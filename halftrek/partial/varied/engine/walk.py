"""From the fitted model to models of the same covariance in which an edge has other values: many walks at once.

Solutions are analytic in the value of the edge, with poles. A walk goes round these, through complex values, and comes
back to the real line beyond them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from halftrek.bottom.arrays import Array, Floats
from halftrek.partial.varied.engine.equations import Equations

STEPS = (8, 48)  # of a walk; more where the first were too few
AROUND = 0.3  # how far a walk leaves the real line, as a share of its length
CORRECTIONS = 3  # Newton steps at every step of a walk
CLOSE = 1e-9  # what may be left of the equations, beside their terms
RANK = 1e-11  # squares of singular values below this share of the largest are none ...
NOTHING = 1e-8  # ... or of this: of a few equations, in standard deviations, all may be rounding
FREE = 1e-6  # share of an edge's slope that must lie along the models of one covariance
FAR = 30.0  # growth towards a place that tells a pole
NUMBERS = 2**23  # derivatives that are held at a time


def free_given_covariance(equations: Equations, start: Floats) -> bool:
    """True if the varied edges can be moved, each by itself, among models of the same covariance."""
    _, slopes, _, along = equations.at(start[None])
    left = along[0] - along[0] @ _row_space(slopes[0])
    size = np.linalg.norm(along[0], axis=1)
    if not (np.linalg.norm(left, axis=1) > FREE * size).all() or not size.all():
        return False
    unit = left / np.linalg.norm(left, axis=1, keepdims=True)
    return bool(np.linalg.matrix_rank(unit, tol=FREE) == len(unit))


def walk(equations: Equations, start: Floats, targets: Floats) -> Floats:
    """The unknowns where the varied edges have the target values, one line each; nan where no model was found."""
    found = np.full((len(targets), equations.size), np.nan)
    waiting = np.arange(len(targets))
    for steps in STEPS:
        some = max(1, NUMBERS // max(1, len(equations.pairs) * equations.size))
        for first in range(0, len(waiting), some):
            piece = waiting[first : first + some]
            found[piece] = _walked(equations, start, targets[piece], steps)
        waiting = waiting[np.isnan(found[waiting]).any(axis=1)]
    return found


def _walked(equations: Equations, start: Floats, targets: Floats, steps: int) -> Floats:
    first = equations.at(start[None])[2][0]
    z = np.broadcast_to(start, (len(targets), len(start))).astype(complex)
    flat = undetermined(equations, start)
    with np.errstate(all="ignore"):
        for k in range(1, steps):
            share = k / steps + 1j * AROUND * np.sin(np.pi * k / steps)
            z = _corrected(equations, z, first + (targets - first) * share, CORRECTIONS, flat)
        z = _corrected(equations, z, targets.astype(complex), 2 * CORRECTIONS, flat)
        real = np.abs(z.imag).max(axis=1, initial=0.0) <= 1e-6 * (1.0 + np.abs(z.real).max(axis=1, initial=0.0))
        return settled(equations, np.where(real[:, None], z.real, np.nan), targets, flat)


def settled(equations: Equations, z: Floats, targets: Floats, flat: bool) -> Floats:
    """Real points after a few Newton steps; nan where the equations do not hold then."""
    with np.errstate(all="ignore"):
        z = _corrected(equations, z, targets, CORRECTIONS, flat)
        left, _, value, _ = equations.at(z)
        off = np.abs(np.concatenate([left, value - targets], axis=1)).max(axis=1, initial=0.0)
        size = 1.0 + np.square(np.abs(z).max(axis=1, initial=0.0))
    return np.where((off <= CLOSE * size)[:, None], z, np.nan)


def _corrected(equations: Equations, z: Array, targets: Array, times: int, flat: bool) -> Array:
    for _ in range(times):
        left, slopes, value, along = equations.at(z)
        J = np.concatenate([slopes, along], axis=1)
        off = np.concatenate([left, value - targets], axis=1)
        z = z - _solved(J, off, flat)
    return z


def _solved(J: Array, off: Array, flat: bool) -> Array:
    """The least step that takes away what is left, to first order."""
    turned = np.conj(np.swapaxes(J, 1, 2))
    square, side = turned @ J, turned @ off[:, :, None]
    bad = ~np.isfinite(square).all(axis=(1, 2))
    square[bad] = np.eye(J.shape[2])
    if flat:
        return _least(square, side)
    try:
        return np.asarray(np.linalg.solve(square, side)[:, :, 0])
    except np.linalg.LinAlgError:  # one of them is at a pole
        return np.asarray((np.linalg.pinv(square, rcond=1e-15, hermitian=True) @ side)[:, :, 0])


def _least(square: Array, side: Array) -> Array:
    """The least solutions of normal equations that leave some unknowns open."""
    values, vectors = np.linalg.eigh(square)
    told = values > RANK * np.maximum(values[:, -1:], NOTHING)
    by = np.where(told, 1.0 / np.where(told, values, 1.0), 0.0)
    return np.asarray((vectors @ (by[:, :, None] * (np.conj(np.swapaxes(vectors, 1, 2)) @ side)))[:, :, 0])


def undetermined(equations: Equations, start: Floats) -> bool:
    """True if other unknowns are not determined even where the varied edges are held."""
    if not equations.size:
        return False
    _, slopes, _, along = equations.at(start[None])
    values = np.linalg.svd(_short(np.concatenate([slopes[0], along[0]])), compute_uv=False)
    return len(values) < equations.size or bool(values[-1] ** 2 <= RANK * max(values[0] ** 2, NOTHING))


def others(equations: Equations, start: Floats, targets: Floats) -> Iterator[Floats]:
    """Other unknowns with the same values of the varied edges, nearer and nearer; none if these determine them."""
    _, slopes, _, along = equations.at(start[None])
    shares, directions = np.linalg.eigh(_row_space(np.concatenate([slopes[0], along[0]])))
    free = directions[:, shares < 0.5].T
    for step in (0.3, 0.1, 0.03) if len(free) else ():
        away = start + step * np.cos(1.0 + np.arange(len(free))) @ free
        there = settled(equations, away[None], targets, flat=True)
        if np.isfinite(there).all():
            yield there


def _row_space(slopes: Floats) -> Floats:
    """The projection on what the equations determine."""
    _, values, rows = np.linalg.svd(_short(slopes), full_matrices=False)
    kept = rows[values**2 > RANK * max(values[0] ** 2, NOTHING)] if len(values) else rows
    return np.asarray(kept.T @ kept)


def _short(slopes: Floats) -> Floats:
    """A matrix with the same row space and singular values, of as few lines as it has columns."""
    return np.asarray(np.linalg.qr(slopes, mode="r")) if len(slopes) > 2 * slopes.shape[1] else slopes


def orientation(equations: Equations, start: Floats, z: Floats) -> Floats:
    """A number for each point that changes its sign where the solutions have a pole."""
    _, slopes, _, along = equations.at(np.concatenate([start[None], z]))
    J = np.concatenate([slopes, along], axis=1)
    rows = _row_space(J[0])
    values, vectors = np.linalg.eigh(rows)
    basis = vectors[:, values > 0.5]
    return np.asarray(np.linalg.det(np.linalg.pinv(J[0] @ basis) @ J[1:] @ basis))
