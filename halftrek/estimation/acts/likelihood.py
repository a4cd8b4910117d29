"""The likelihood of each row, district by district: ``phi(eps_C) P(eps_D in its box | eps_C)``.

C are the members of a district that were seen as they are, D those of which only the category was; eps are their
errors, given the values of their causes. Districts have one or two members in categories.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation.acts.places import District, Places
from halftrek.layer.bivariate import below_both, phi

LEAST = 1e-300
LOG_2PI = float(np.log(2.0 * np.pi))
STEP = 1e-5
_FAR = 40.0


@dataclass(frozen=True, eq=False)
class Pieces:
    """Of each row: the log-density of errors that were seen, and the standard box of those that were not.

    ``r`` is the correlation of two errors in a box.
    """

    seen: Floats
    low: Floats
    high: Floats
    r: float = 0.0


def pieces(places: Places, district: District, theta: Floats, rows: Floats) -> Pieces | None:
    """What a district makes of each row, in standard units; None where parameters make no model."""
    omega = places.errors(district, theta)
    own = {i: k for k, i in enumerate(district.members)}
    try:
        np.linalg.cholesky(omega)
    except np.linalg.LinAlgError:
        return None
    line = np.zeros((len(rows), len(places.names)))
    for u, v, place in district.slopes:
        line[:, v] += theta[place] * rows[:, u]
    for i, place in district.intercepts.items():
        line[:, i] += theta[place]
    seen, cut = [own[i] for i in district.plain], [own[i] for i in district.cut]
    found = np.zeros(len(rows))
    mean, left = np.zeros((len(rows), len(cut))), omega[np.ix_(cut, cut)]
    if seen:
        errors = rows[:, district.plain] - line[:, district.plain]
        inside = omega[np.ix_(seen, seen)]
        root = np.linalg.cholesky(inside)
        white = np.linalg.solve(root, errors.T)
        found -= 0.5 * (white**2).sum(axis=0) + np.log(np.diag(root)).sum() + 0.5 * len(seen) * LOG_2PI
        found -= np.log(places.scale[list(district.plain)]).sum()
        slope = np.linalg.solve(inside, omega[np.ix_(seen, cut)])
        mean, left = errors @ slope, left - omega[np.ix_(cut, seen)] @ slope
    if not cut:
        return Pieces(found, mean, mean)
    ends = _ends(places, district, theta, rows, line, mean)
    if ends is None:
        return None
    spread = np.sqrt(np.diag(left))
    r = 0.0 if len(cut) == 1 else float(left[0, 1] / (spread[0] * spread[1]))
    return Pieces(found, ends[0] / spread, ends[1] / spread, r)


def row_logliks(places: Places, district: District, theta: Floats, rows: Floats) -> Floats | None:
    """The log-likelihood that a district adds to each row; None where parameters make no model."""
    found = pieces(places, district, theta, rows)
    return None if found is None else np.asarray(found.seen + np.log(_share(found)))


def _share(box: Pieces) -> Floats:
    """The probability of each row's box."""
    if not box.low.shape[1]:
        return np.ones(len(box.seen))
    share = _one(box.low[:, 0], box.high[:, 0]) if box.low.shape[1] == 1 else _two(box.low, box.high, box.r)
    return np.maximum(share, LEAST)


def _ends(
    places: Places, district: District, theta: Floats, rows: Floats, line: Floats, mean: Floats
) -> tuple[Floats, Floats] | None:
    """Between which values the errors of the members in categories lie, less what the others say of them."""
    low, high = np.empty_like(mean), np.empty_like(mean)
    for k, i in enumerate(district.cut):
        cuts = theta[slice(*district.cuts[i])]
        if (np.diff(cuts) <= 0.0).any():
            return None
        codes = places.margins[places.names[i]].codes(rows[:, i])
        around = np.concatenate([[-np.inf], cuts, [np.inf]])
        shift = line[:, i] + mean[:, k]
        low[:, k], high[:, k] = around[codes] - shift, around[codes + 1] - shift
    return low, high


def _one(low: Floats, high: Floats) -> Floats:
    from scipy.special import ndtr

    upper = low > 0.0
    return np.asarray(ndtr(np.where(upper, -low, high)) - ndtr(np.where(upper, -high, low)))


def _two(low: Floats, high: Floats, r: float) -> Floats:
    a, b, c, d = low[:, 0], high[:, 0], low[:, 1], high[:, 1]
    turn = np.where((a > 0.0) & np.isinf(b), -1.0, 1.0)  # keep what is infinite below, and digits in the tail
    first, last = np.where(turn > 0, a, -b), np.where(turn > 0, b, -a)
    side = np.where((c > 0.0) & np.isinf(d), -1.0, 1.0)
    under, over = np.where(side > 0, c, -d), np.where(side > 0, d, -c)
    s = turn * side * r
    corners = below_both(last, over, s) - below_both(first, over, s) - below_both(last, under, s)
    return np.asarray(corners + below_both(first, under, s))


def scores(places: Places, district: District, theta: Floats, rows: Floats, at: Ints) -> Floats | None:
    """Derivatives of each row's log-likelihood in the parameters ``at``, one column each.

    How boxes move with a parameter is seen by small steps, and what the probability makes of it in closed form.
    """
    now = pieces(places, district, theta, rows)
    if now is None:
        return None
    by_low, by_high, by_r = _slopes(now)
    found = np.empty((len(rows), len(at)))
    for k, place in enumerate(at):
        sides = []
        for step in (STEP, -STEP):
            moved = theta.copy()
            moved[place] += step
            sides.append(pieces(places, district, moved, rows))
        up, down = sides
        if up is None or down is None:
            return None
        found[:, k] = up.seen - down.seen + by_r * (up.r - down.r)
        with np.errstate(invalid="ignore"):  # ends that are infinite stay so
            for slope, more, less in ((by_low, up.low, down.low), (by_high, up.high, down.high)):
                found[:, k] += np.where(np.isfinite(more), slope * (more - less), 0.0).sum(axis=1)
    return found / (2.0 * STEP)


def _slopes(box: Pieces) -> tuple[Floats, Floats, Floats]:
    """Derivatives of the logarithm of a box's probability in its ends, and in the correlation."""
    share = _share(box)[:, None]
    low, high = _finite(box.low), _finite(box.high)
    if box.low.shape[1] < 2:
        return -phi(low) / share, phi(high) / share, np.zeros(len(share))
    from scipy.special import ndtr

    rest, turned = float(np.sqrt((1.0 - box.r) * (1.0 + box.r))), [1, 0]
    other = (box.low[:, turned], box.high[:, turned])

    def density(at: Floats) -> Floats:
        inside = [ndtr((end - box.r * at) / rest) for end in other]
        return np.asarray(phi(at) * (inside[1] - inside[0]))

    by_r = np.zeros(len(share))
    for first, sign in ((high, 1.0), (low, -1.0)):
        for second, side in ((high, 1.0), (low, -1.0)):
            x, y = first[:, 0], second[:, 1]
            square = x * x - 2.0 * box.r * x * y + y * y
            by_r += sign * side * np.exp(-0.5 * square / rest**2) / (2.0 * np.pi * rest)
    return -density(low) / share, density(high) / share, by_r / share[:, 0]


def _finite(ends: Floats) -> Floats:
    """Ends that are infinite, where the density is zero in floating point."""
    return np.clip(ends, -_FAR, _FAR)


def own_places(district: District) -> Ints:
    """The places of a district's parameters."""
    found = [place for *_, place in (*district.slopes, *district.covariances)]
    found += [*district.intercepts.values(), *district.spreads.values()]
    found += [place for ends in district.cuts.values() for place in range(*ends)]
    return np.array(sorted(found), dtype=np.intp)
