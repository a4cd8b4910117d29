"""Two standard normal variables cut into cells: probabilities of the cells, and how they move with r and with the cuts.

``h`` and ``k`` are cuts of the first and of the second variable, in increasing order, ``(..., a)`` and ``(..., b)``;
``r`` has the leading axes. Cells number one more than cuts on either side. A cut at infinity makes an empty cell, so
that pairs of columns with fewer categories can stand in one array with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats

BORDER = 1.0 - 1e-7  # correlations are looked for up to here
SMALL = 1e-300  # stands for a cut at zero, where Owen's function has no ratio of the two cuts


def phi(x: Floats) -> Floats:
    """The standard normal density."""
    return np.asarray(np.exp(-0.5 * np.square(x)) / np.sqrt(2.0 * np.pi))


def below_both(h: Floats, k: Floats, r: Floats) -> Floats:
    """``P(x < h, y < k)`` for standard normal variables with correlation r, by Owen's T function."""
    from scipy.special import ndtr, owens_t

    h, k, r = np.broadcast_arrays(h, k, r)
    h, k = np.where(h == 0.0, SMALL, h), np.where(k == 0.0, SMALL, k)
    known = np.isfinite(h) & np.isfinite(k)
    a, b = np.where(known, h, 1.0), np.where(known, k, 1.0)
    rest = np.sqrt((1.0 - r) * (1.0 + r))
    with np.errstate(over="ignore"):
        first, second = (b / a - r) / rest, (a / b - r) / rest
    found = 0.5 * (ndtr(a) + ndtr(b)) - owens_t(a, first) - owens_t(b, second) - 0.5 * ((a < 0.0) != (b < 0.0))
    return np.asarray(np.where(known, found, np.minimum(ndtr(h), ndtr(k))))


@dataclass(frozen=True, eq=False)
class Cells:
    """Probabilities of all cells, their derivatives in r, and in each cut of the first and of the second variable.

    ``by_first`` is ``(..., cut, a, b)``: a cut moves the cells on both of its sides.
    """

    share: Floats
    by_r: Floats
    by_rr: Floats
    by_first: Floats
    by_second: Floats


def cells(h: Floats, k: Floats, r: Floats) -> Cells:
    """The cells that the cuts make."""
    return Cells(*shares(h, k, r), _moved(h, k, r), np.swapaxes(_moved(k, h, r), -1, -2))


def shares(h: Floats, k: Floats, r: Floats) -> tuple[Floats, Floats, Floats]:
    """Probabilities of the cells, and their first and second derivatives in r."""
    H, K, R = h[..., :, None], k[..., None, :], r[..., None, None]
    rest = (1.0 - R) * (1.0 + R)
    share = _differences(_framed(below_both(H, K, R), h, k))
    finite = np.isfinite(H) & np.isfinite(K)
    x, y = np.where(finite, H, 0.0), np.where(finite, K, 0.0)
    square = x * x - 2.0 * R * x * y + y * y
    density = np.where(finite, np.exp(-0.5 * square / rest) / (2.0 * np.pi * np.sqrt(rest)), 0.0)
    steeper = density * (R / rest + x * y / rest - R * square / rest**2)
    by_r, by_rr = (_differences(_bordered(part)) for part in (density, steeper))
    return share, by_r, by_rr


def _moved(h: Floats, k: Floats, r: Floats) -> Floats:
    """``(..., cut, a, b)``: how the cells move with the cuts of the first variable."""
    from scipy.special import ndtr

    H, K, R = h[..., :, None], k[..., None, :], r[..., None, None]
    known = np.isfinite(H)
    with np.errstate(invalid="ignore"):
        inner = ndtr((K - R * np.where(known, H, 0.0)) / np.sqrt((1.0 - R) * (1.0 + R)))
    edges = [np.zeros_like(inner[..., :1]), inner, np.ones_like(inner[..., :1])]
    along = np.diff(np.concatenate(edges, axis=-1), axis=-1) * np.where(known, phi(np.where(known, H, 0.0)), 0.0)
    cuts = h.shape[-1]
    found = np.zeros((*along.shape[:-2], cuts, cuts + 1, along.shape[-1]))
    at = np.arange(cuts)
    found[..., at, at, :] = along
    found[..., at, at + 1, :] = -along
    return found


def _framed(inside: Floats, h: Floats, k: Floats) -> Floats:
    """Probabilities below both cuts, with those of no cut (0) and of a cut at infinity (one variable alone) around."""
    from scipy.special import ndtr

    found = _bordered(inside)
    found[..., 1:-1, -1] = ndtr(h)
    found[..., -1, 1:-1] = ndtr(k)
    found[..., -1, -1] = 1.0
    return found


def _bordered(inside: Floats) -> Floats:
    """The array with zeros around its last two axes."""
    *lead, rows, columns = inside.shape
    found = np.zeros((*lead, rows + 2, columns + 2))
    found[..., 1:-1, 1:-1] = inside
    return found


def _differences(corners: Floats) -> Floats:
    return np.asarray(np.diff(np.diff(corners, axis=-1), axis=-2))
