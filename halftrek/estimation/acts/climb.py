"""Uphill in the likelihood where categories act, by the spread of the rows' scores or by how it bends itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation.acts.holes import Pattern, whole_bend, whole_logliks, whole_scores
from halftrek.estimation.acts.likelihood import KNOWN, Pieces, bend_of, own_places, pieces, scores
from halftrek.estimation.acts.places import District, Places

STEPS = 200
NEAR, EXACT = 1e-6, 1e-12  # gain of the log-likelihood, per row, that a step still promises
CLOSE = 1e-9  # enough for rows drawn again: less than a thousandth of a standard error
ROUGH = 1e-4  # enough to choose among starts where each step costs much
POOR = 0.1  # share of what a step promises, half of which is the gain on a parabola


def climbed(
    places: Places, district: District, theta: Floats, rows: Floats, weights: Floats, *, finish: bool = False
) -> tuple[Floats, float, bool]:
    """Uphill from a start: where to, how high, and whether the top was reached.

    The bend of the likelihood is that of the rows' scores, and in the finish, if it costs little, the one at the start.
    Of many members in categories it is worked out where the other misleads, as along directions that the graph leaves
    open: there scores hardly vary, and the likelihood bends all the same.
    """
    at, theta = own_places(district), theta.copy()
    now = pieces(places, district, theta, rows)
    value = _value(now, weights)
    if not len(at):
        return theta, value, True
    few = len(district.cut) <= KNOWN
    held = _own_bend(places, district, theta, rows, weights) if finish and few else None
    near = NEAR if few or finish else ROUGH
    for _ in range(STEPS):
        each = None if now is None else scores(places, district, theta, rows, at, now)
        if each is None:
            return theta, value, False
        slope = each.T @ weights
        move = _uphill(each.T @ (each * weights[:, None]) if held is None else held, slope)
        if float(slope @ move) < (EXACT if finish else near) * len(rows):
            return theta, value, True
        length = 1.0
        while length > 1e-6:
            there = theta.copy()
            there[at] += length * move
            found = pieces(places, district, there, rows)
            new = _value(found, weights)
            if new > value:
                break
            length /= 2.0
        else:
            promised = float(slope @ move)
            if few or held is not None or promised < near * len(rows):
                return theta, value, promised < near * len(rows)
            held = _own_bend(places, district, theta, rows, weights)
            if held is None:
                return theta, value, False
            continue
        if not few and new - value < POOR * float(slope @ move):
            held = _own_bend(places, district, there, rows, weights)
        theta, value, now = there, new, found
    return theta, value, False


def _own_bend(places: Places, district: District, theta: Floats, rows: Floats, weights: Floats) -> Floats | None:
    """The bend of the likelihood at some parameters; None next to such that make no model."""
    found = bend_of(places, district, theta, rows, weights)
    return found if np.isfinite(found).all() else None


def climbed_whole(
    places: Places, patterns: Sequence[Pattern], theta: Floats, rows: Floats, weights: Floats, near: float
) -> tuple[Floats, float, bool]:
    """Uphill with all districts together: where to, how high, and whether the top was reached.

    Scores may hardly vary where the likelihood bends all the same, as that of the spread of a cause which is 0 and 1
    equally often. Where they mislead, its own bend is worked out.
    """
    at = np.concatenate([own_places(district) for district in places.districts])
    found = whole_logliks(places, patterns, theta, rows)
    value, held, fresh = -np.inf if found is None else float(weights @ found), None, False
    for _ in range(STEPS):
        each = whole_scores(places, patterns, theta, rows)
        if each is None:
            return theta, value, False
        slope = each[:, at].T @ weights
        move = _uphill(each[:, at].T @ (each[:, at] * weights[:, None]) if held is None else held, slope)
        promised = float(slope @ move)
        if promised < near * len(rows):
            return theta, value, True
        length = 1.0
        while length > 1e-6:
            there = theta.copy()
            there[at] += length * move
            found = whole_logliks(places, patterns, there, rows)
            new = -np.inf if found is None else float(weights @ found)
            if new > value:
                break
            length /= 2.0
        else:
            if fresh or promised < NEAR * len(rows):
                return theta, value, promised < NEAR * len(rows)
            held, fresh = _whole_bend(places, patterns, theta, rows, weights, at), True
            continue
        poor = new - value < POOR * promised
        theta, value, fresh = there, new, False
        if poor:
            held, fresh = _whole_bend(places, patterns, theta, rows, weights, at), True
    return theta, value, False


def _whole_bend(
    places: Places, patterns: Sequence[Pattern], theta: Floats, rows: Floats, weights: Floats, at: Ints
) -> Floats | None:
    """The bend of the likelihood at some parameters; None next to such that make no model."""
    found = whole_bend(places, patterns, theta, rows, weights)
    return None if found is None or not np.isfinite(found).all() else np.asarray(found[np.ix_(at, at)])


def _uphill(bend: Floats, slope: Floats) -> Floats:
    """The step to the top of a parabola; along directions without a top, uphill."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(bend)), 1e-12))
    values, vectors = np.linalg.eigh(bend / np.outer(scale, scale))
    steep = np.maximum(np.abs(values), max(1e-6 * np.abs(values).max(initial=0.0), 1e-12))
    return np.asarray(vectors @ ((vectors.T @ (slope / scale)) / steep) / scale)


def _value(now: Pieces | None, weights: Floats) -> float:
    return -np.inf if now is None else float(weights @ now.logliks)
