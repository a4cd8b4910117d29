"""The distribution function of a normal variable where others lie in a box, at many cuts at once."""

from __future__ import annotations

from math import inf

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.layer.bivariate import below_both, phi
from halftrek.queries.normal.events import box_probability, interval_probability

FINE = 8  # points for each standard deviation at which larger boxes are looked at
NOTHING = 1e-12
NARROW = 1e-2  # share of a standard deviation below which boxes are not told apart
SAME = 1.0 - 1e-9  # correlation from which on two variables are one


def chances_below(mean: Floats, root: Floats, box: Floats, cuts: Floats) -> tuple[Floats, Floats, float] | None:
    """``P(x <= c, others in their box)`` at rising cuts, its slopes in these, and the probability of the box.

    The first variable is x, all have this mean and covariance ``root'root``; a line of ``box`` has the ends of each.
    None if x does not vary. An event about a variable that goes with x is one about x.
    """
    sd = np.linalg.norm(root, axis=0)
    if sd[0] <= NOTHING * max(1.0, float(np.abs(cuts).max())):
        return None
    r = (root[:, 0] @ root) / np.maximum(sd[0] * sd, NOTHING * sd[0])
    low, high, others = box[0, 0], box[0, 1], []
    for k in range(1, len(mean)):
        if abs(r[k]) < SAME:
            others.append(k)
            continue
        ends = mean[0] + np.sign(r[k]) * sd[0] / sd[k] * (box[k] - mean[k])
        low, high = max(low, float(ends.min())), min(high, float(ends.max()))
    at = np.clip(np.append(cuts, [low, high]), low, high)
    share, density = _chances(mean, root, box, at, others)
    inside = (cuts > low) & (cuts < high)
    return share[:-2] - share[-2], np.where(inside, density[:-2], 0.0), float(share[-1] - share[-2])


def _chances(mean: Floats, root: Floats, box: Floats, at: Floats, others: list[int]) -> tuple[Floats, Floats]:
    """The same without an event about x, at any places."""
    sd = np.linalg.norm(root, axis=0)
    u = (at - mean[0]) / sd[0]
    if not others:
        return interval_probability(np.full(len(u), -inf), u), phi(u) / sd[0]
    if len(others) == 1 and sd[others[0]] > 0.0:
        k = others[0]
        a, b = (box[k] - mean[k]) / sd[k]
        r = float(root[:, 0] @ root[:, k]) / (sd[0] * sd[k])
        turn = -1.0 if a > 0.0 and b == inf else 1.0  # keeps digits in the upper tail
        a, b = (a, b) if turn > 0.0 else (-b, -a)
        share = below_both(u, np.array(b), np.array(turn * r)) - below_both(u, np.array(a), np.array(turn * r))
        left, v = np.sqrt((1.0 - r) * (1.0 + r)), np.where(np.isfinite(u), u, 0.0)
        given = interval_probability((a - turn * r * v) / left, (b - turn * r * v) / left)
        return share, np.where(np.isfinite(u), phi(u) * given / sd[0], 0.0)
    return _splined([0, *others], mean, root, box, at)


def _splined(own: list[int], mean: Floats, root: Floats, box: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Larger boxes at points that are close to each other, and a cubic between them."""
    from scipy.interpolate import CubicSpline

    def chance(c: float) -> float:
        return box_probability(mean[own], root[:, own], box[own, 0], np.array([c, *box[own[1:], 1]]))

    others, finite = root[:, own[1:]], np.isfinite(at)
    rest = root[:, 0] - others @ np.linalg.lstsq(others, root[:, 0], rcond=None)[0]
    narrow = max(float(np.linalg.norm(rest)), NARROW * float(np.linalg.norm(root[:, 0])))
    first, last = float(at[finite].min()), float(at[finite].max())
    points = np.linspace(first, max(last, first + narrow), int(FINE * (last - first) / narrow) + FINE)
    line = CubicSpline(points, [chance(c) for c in points.tolist()])
    share, slope = np.zeros(len(at)), np.zeros(len(at))
    share[finite], slope[finite] = line(at[finite]), line(at[finite], 1)
    share[at == inf] = chance(inf)
    return share, slope
