"""A model and the variables behind ranked columns on which its categories act, found together.

The parameters are where all scores add up to zero, with every ranked column where the parameters themselves put it:
``U(theta, h(theta)) = 0``. Steps are those of Newton for columns that stay where they are, and learn from each step how
much columns move (Broyden 1965).

What a row adds to the parameters is ``J^-1`` times its own score and its share in where ranked columns are, with
``J = -dU/dtheta`` in whole, that is through h as well. A row moves h by ``(1{y_i <= v} - P_i(h(v))) / density``, all
scores because they are brought to 0 and 1, and ranked columns that come later. Which adds up backwards: from what a sum
makes of the scores of the last column to what it makes of ranks of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation.acts.likelihood import FINE, bend_of, own_places, row_logliks, scores
from halftrek.estimation.acts.places import Places, in_units
from halftrek.estimation.acts.ranks import before_of, mixed_ranks, mixture_of, with_ranks
from halftrek.layer import Margin
from halftrek.layer.bivariate import phi

ROUNDS = 80
CLOSE_BY = 0.1  # gain of the log-likelihood, in all, from which on steps need not wait for the best model
STEPS = 30


class Climb(Protocol):
    """What finds the best parameters for columns that stay where they are, from some others."""

    def __call__(
        self, places: Places, rows: Floats, *, start: Floats | None, rough: bool
    ) -> tuple[Floats, float, bool]:
        """The parameters, the log-likelihood, and whether the top was reached; ``rough`` is near enough to it."""


def settled(
    places: Places, values: Floats, weights: Floats, climb: Climb, start: Floats | None, near: float
) -> tuple[Places, Floats, float, bool]:
    """Places and parameters that agree, the log-likelihood, and whether they were found; ``near`` is the gain left.

    Far from there columns stay where they are until the model is best, and are moved then, which may take many rounds
    and seldom goes astray. ``start`` is close to where it ends.
    """
    left, total = near * len(values), -np.inf
    theta = start if start is None else places.put_held(start)
    if theta is None:
        theta, total, _ = climb(places, _rows(places, values), start=None, rough=True)
    else:
        theta, arrived = _stepped(places, theta, values, weights, left, quick=True)
        if arrived and (found := with_ranks(places, theta, values, weights)) is not None:
            return found, theta, _loglik(found, theta, values, weights), True
    tried, far = CLOSE_BY, True
    for _ in range(ROUNDS):
        there = with_ranks(places, theta, values, weights)
        each = None if there is None else _scores(there, theta, _rows(there, values))
        if there is None or each is None:
            break
        places = there
        before = theta
        theta, total, top = climb(places, _rows(places, values), start=theta, rough=far)
        gain = float(weights @ each @ (theta - before)[_free(places)])
        if abs(gain) < left and not far:
            return places, theta, total, top
        far = far and abs(gain) > CLOSE_BY
        if abs(gain) < tried:
            tried = abs(gain) / 10.0
            theta, _ = _stepped(places, theta, values, weights, left)
    return places, theta, total, False


def _stepped(
    places: Places, theta: Floats, values: Floats, weights: Floats, left: float, *, quick: bool = False
) -> tuple[Floats, bool]:
    """Steps that lead nearer to zero, as far as they do; ``quick`` ones are more, and each costs less."""
    there, free = with_ranks(places, theta, values, weights), _free(places)
    each = None if there is None else _scores(there, theta, _rows(there, values))
    if there is None or each is None or not len(free):
        return theta, each is not None
    start = inverse = _inverse(there, theta, values, weights, quick=quick)[np.ix_(free, free)]
    slope = each.T @ weights
    for _ in range(STEPS):
        height = float(slope @ start @ slope)
        if height < left:
            return theta, True
        step = inverse @ slope
        further = theta.copy()
        further[free] += step
        each = _each(places, further, values, weights)
        now = slope if each is None else each.T @ weights
        if not float(now @ start @ now) < height:
            return theta, False
        fall, along = slope - now, step @ inverse
        if abs(float(along @ fall)) > 1e-12 * float(along @ along):
            inverse = inverse + np.outer(step - inverse @ fall, along) / float(along @ fall)
        theta, slope = further, now
    return theta, False


def _loglik(places: Places, theta: Floats, values: Floats, weights: Floats) -> float:
    rows = _rows(places, values)
    each = [row_logliks(places, district, theta, rows) for district in places.districts]
    return sum(-np.inf if one is None else float(weights @ one) for one in each)


def _inverse(places: Places, theta: Floats, values: Floats, weights: Floats, *, quick: bool) -> Floats:
    """The inverse of how the likelihood bends while columns stay where they are; upwards where it is flat.

    ``quick`` takes it to bend by how scores vary.
    """
    rows, found = _rows(places, values), np.zeros((places.size, places.size))
    for district in places.districts:
        at = own_places(district)
        bend = None if quick else bend_of(places, district, theta, rows, weights)
        if bend is None or not np.isfinite(bend).all():
            each = scores(places, district, theta, rows, at)
            assert each is not None  # what was seen to make a model
            bend = each.T @ (each * weights[:, None])
        scale = np.sqrt(np.maximum(np.abs(np.diag(bend)), 1e-12))
        steep, along = np.linalg.eigh(bend / np.outer(scale, scale))
        steep = np.maximum(np.abs(steep), 1e-6 * np.abs(steep).max(initial=0.0))
        found[np.ix_(at, at)] = (along / steep) @ along.T / np.outer(scale, scale)
    return found


def _rows(places: Places, values: Floats) -> Floats:
    return in_units(places.names, values, places.margins, places.centre, places.scale)


def _free(places: Places) -> Ints:
    return np.sort(np.concatenate([own_places(d) for d in places.districts]))


def _each(places: Places, theta: Floats, values: Floats, weights: Floats) -> Floats | None:
    """The scores of each row, with ranked columns where the parameters put them; a column for each free parameter."""
    there = with_ranks(places, theta, values, weights)
    return None if there is None else _scores(there, theta, _rows(there, values))


def _scores(places: Places, theta: Floats, rows: Floats) -> Floats | None:
    free = _free(places)
    found = np.zeros((len(rows), places.size))
    for district in places.districts:
        at = own_places(district)
        each = scores(places, district, theta, rows, at)
        if each is None:
            return None
        found[:, at] = each
    return found[:, free]


# -- what rows add -------------------------------------------------------------------------------


def scores_and_bend(places: Places, theta: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats] | None:
    """What each row adds to the sum of all scores, and by how much that falls with each parameter, columns and all.

    A column of the first, and a line and a column of the second, for each parameter; zero for those that are held.
    """
    rows, free = _rows(places, values), _free(places)
    own = _scores(places, theta, rows)
    if own is None:
        return None
    each, bend = np.zeros((len(rows), places.size)), _bend(places, theta, values, weights)
    each[:, free] = own + by_places(places, theta, values, weights, _by_scores(places, theta, rows, weights), {})
    return None if bend is None else (each, bend)


def _bend(places: Places, theta: Floats, values: Floats, weights: Floats) -> Floats | None:
    """By how much the sums of all scores, the lines, fall with each parameter, the columns."""
    free, found = _free(places), np.zeros((places.size, places.size))
    for k in free.tolist():
        sides = []
        for step in (FINE, -FINE):
            there = _each(places, _moved(theta, k, step), values, weights)
            if there is None:
                return None
            sides.append(there.T @ weights)
        found[free, k] = (sides[1] - sides[0]) / (2.0 * FINE)
    return found


def _by_scores(places: Places, theta: Floats, rows: Floats, weights: Floats) -> dict[str, Floats]:
    """How the scores of each row, times its weight, move with where it is behind its ranked columns."""
    found = {}
    for v, margin in places.margins.items():
        if margin.kind == "ranked":
            sides = []
            for step in (FINE, -FINE):
                each = _scores(places, theta, _shifted(rows, places.names.index(v), step))
                assert each is not None  # parameters that make a model do so for all rows
                sides.append(each)
            found[v] = (sides[0] - sides[1]) / (2.0 * FINE) * weights[:, None]
    return found


def by_places(
    places: Places,
    theta: Floats,
    values: Floats,
    weights: Floats,
    on_scores: Mapping[str, Floats],
    on_cuts: Mapping[str, Floats],
) -> Floats:
    """What each row, times its weight, adds to some sums because it has a share in where ranked columns are.

    ``on_scores`` are slopes of the sums in the score of each row, by column, ``on_cuts`` those in its cuts; a column
    for each sum. Parameters stay as they are.
    """
    rows, total = _rows(places, values), float(weights.sum())
    slopes = dict(on_scores)
    found = np.zeros((len(rows), next(iter((*on_scores.values(), *on_cuts.values()))).shape[1]))
    for v in reversed(mixed_ranks(places.graph, places.margins)):
        k, margin = places.names.index(v), places.margins[v]
        codes, before = margin.codes(values[:, k]), before_of(places, theta, rows, v)
        assert before is not None
        mixture = mixture_of(before, weights)
        at_points = np.zeros((len(mixture.at), found.shape[1]))
        if v in slopes:
            by_value = np.zeros((len(margin.values), found.shape[1]))
            np.add.at(by_value, codes, slopes.pop(v))
            z = margin.scores
            level, scale = by_value.sum(axis=0), z @ by_value  # what comes of bringing scores to 0 and 1
            found -= (np.outer(z, level) + np.outer(0.5 * (z**2 - 1.0), scale))[codes] / total
            by_value = (by_value - np.outer(margin.shares, level) - np.outer(margin.shares * z, scale)) / margin.sd
            places_of = margin.mean + margin.sd * z
            by_value /= total * mixture.steepness(places_of)[:, None]
            found += (_from(by_value) - 0.5 * by_value)[codes]
            at_points += _on_points(mixture.at, places_of, by_value)
        if v in on_cuts:
            by_cut = on_cuts[v] / (total * mixture.steepness(margin.cuts)[:, None])
            found += np.concatenate([_from(by_cut), np.zeros((1, found.shape[1]))])[codes]
            at_points += _on_points(mixture.at, margin.cuts, by_cut)
        found -= before.summed_below(mixture.at, at_points)
        for u in places.graph.ancestors(v) - {v}:
            if u in places.margins and places.margins[u].kind == "ranked":
                sides = []
                for step in (FINE, -FINE):
                    there = before_of(places, theta, _shifted(rows, places.names.index(u), step), v)
                    assert there is not None
                    sides.append(there.summed_below(mixture.at, at_points))
                moves = weights[:, None] * (sides[0] - sides[1]) / (2.0 * FINE)
                slopes[u] = slopes[u] - moves if u in slopes else -moves
    for u, part in slopes.items():
        found += shared(places.margins[u], values[:, places.names.index(u)], part, total)
    return found


def shared(margin: Margin, column: Floats, slopes: Floats, total: float) -> Floats:
    """The same for normal scores: ``z = Phi^-1 F(x)`` moves by ``(1{x_i <= x} - F(x)) / phi(z)``."""
    from scipy.special import ndtri

    codes, moves = margin.codes(column), np.zeros((len(margin.values), slopes.shape[1]))
    np.add.at(moves, codes, slopes)
    moves /= (total * margin.sd * phi(ndtri(margin.middle)))[:, None]
    return np.asarray((_from(moves) - 0.5 * moves)[codes] - margin.middle @ moves)


def _from(lines: Floats) -> Floats:
    """Sums of each line and all after it."""
    return np.cumsum(lines[::-1], axis=0)[::-1]


def _on_points(points: Floats, at: Floats, lines: Floats) -> Floats:
    """Lines that stand anywhere, shared between the two points at their sides."""
    k = np.clip(np.searchsorted(points, at) - 1, 0, len(points) - 2)
    part = ((at - points[k]) / (points[k + 1] - points[k]))[:, None]
    found = np.zeros((len(points), lines.shape[1]))
    np.add.at(found, k, lines * (1.0 - part))
    np.add.at(found, k + 1, lines * part)
    return found


def _shifted(rows: Floats, k: int, step: float) -> Floats:
    found = rows.copy()
    found[:, k] += step
    return found


def _moved(theta: Floats, k: int, step: float) -> Floats:
    found = theta.copy()
    found[k] += step
    return found
