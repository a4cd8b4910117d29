"""How the parameters vary over samples: what each row adds to them, and the sandwich of that.

A row adds ``bend^-1 s`` with its own score s. Where columns are ranked it also moves the scores of all other rows, by
the share that it has in their ranks: ``z = Phi^-1 F(x)`` moves by ``(1{x_i <= x} - F(x)) / phi(z)``, and scores with z.
"""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Codes, Floats
from halftrek.estimation.acts.holes import patterns_in, whole_bend, whole_scores
from halftrek.estimation.acts.likelihood import FINE, bend_of, own_places, scores
from halftrek.estimation.acts.places import District, Places, in_units
from halftrek.estimation.acts.ranks import mixed_ranks
from halftrek.estimation.acts.separated import lines_off
from halftrek.estimation.acts.settled import scores_and_bend, shared

SINGULAR = 1e-6  # part of the largest eigenvalue below which a likelihood is flat along a direction ...
SADDLE = -1e-4  # ... and below which it is not at its top


def spread_of(
    places: Places, theta: Floats, values: Floats, weights: Floats, cluster: Codes | None, *, sampling: bool
) -> tuple[Floats, Floats]:
    """The sandwich, without directions along which the likelihood is flat; and these, a line each.

    Districts have parameters that vary by themselves, unless ranks, clusters or holes make them vary together.
    """
    each, flat = influence_and_flat(places, theta, values, weights)
    together = summed(each, weights, cluster, sampling=sampling)
    tied = np.isnan(values).any() or any(not m.cut for m in places.margins.values())
    if cluster is not None or tied:
        return together, flat
    found = np.zeros_like(together)
    for district in places.districts:
        grid = np.ix_(own_places(district), own_places(district))
        found[grid] = together[grid]
    return found, flat


def summed(each: Floats, weights: Floats, cluster: Codes | None, *, sampling: bool) -> Floats:
    """The covariance of what rows with these weights add up to; a column for each number that they add to."""
    if cluster is None:
        return np.asarray(each.T @ (each * (weights**2 if sampling else weights)[:, None]))
    sums = np.zeros((int(cluster.max()) + 1, each.shape[1]))
    np.add.at(sums, cluster, each * weights[:, None])
    count = len(np.unique(cluster))
    return np.asarray(sums.T @ sums * (count / (count - 1.0) if count > 1 else np.nan))


def row_influence(places: Places, theta: Floats, values: Floats, weights: Floats) -> Floats:
    """What each row, times its weight, adds to the parameters."""
    return influence_and_flat(places, theta, values, weights)[0]


def influence_and_flat(places: Places, theta: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """What each row adds to the parameters but along flat directions, nan off the top; and these directions.

    Each is as long as parameters are sure, were the others known: what moves along it is not determined, and what does
    not is as sure as if there were none.
    """
    rows = in_units(places.names, values, places.margins, places.centre, places.scale)
    if np.isnan(values).any():
        return _whole_influence(places, theta, rows, weights)
    if mixed_ranks(places.graph, places.margins):
        return _settled_influence(places, theta, values, weights)
    found, flat = np.zeros((len(rows), places.size)), [lines_off(places, theta)]
    for district in places.districts:
        at = own_places(district)
        bend, each = bend_of(places, district, theta, rows, weights), scores(places, district, theta, rows, at)
        if each is None or not np.isfinite(bend).all():
            found[:, at] = np.nan
            continue
        each = each + by_ranks(places, district, theta, rows, values, weights)
        found[:, at], along = _moved_by(bend, each)
        lines = np.zeros((len(along), places.size))
        lines[:, at] = along
        flat.append(lines)
    return found, np.concatenate(flat)


def _moved_by(bend: Floats, each: Floats) -> tuple[Floats, Floats]:
    """What rows with these scores add to parameters, nan off the top; and directions that are flat, a line each."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(bend)), 1e-300))
    steep, along = np.linalg.eigh(bend / np.outer(scale, scale))
    if len(bend) and steep[0] < SADDLE * steep[-1]:
        return np.full_like(each, np.nan), np.zeros((0, len(bend)))
    level = steep <= SINGULAR * steep[-1:]
    if not level.any():
        return np.asarray(each @ np.linalg.inv(bend)), np.zeros((0, len(bend)))
    rest = along[:, ~level] / scale[:, None]
    return np.asarray(each @ (rest / steep[~level]) @ rest.T), np.asarray(along[:, level].T / scale)


def _whole_influence(places: Places, theta: Floats, rows: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The same where values are missing, which may tie districts together."""
    patterns = patterns_in(places, rows)
    each, bend = (
        whole_scores(places, patterns, theta, rows),
        whole_bend(places, patterns, theta, rows, weights),
    )
    if each is None or bend is None or not np.isfinite(bend).all():
        return np.full((len(rows), places.size), np.nan), np.zeros((0, places.size))
    if not places.off:
        return _moved_by(bend, each)
    free = np.setdiff1d(np.arange(places.size), [k for district in places.districts for k in district.off])
    moved, along = _moved_by(bend[np.ix_(free, free)], each[:, free])
    found, lines = np.zeros_like(each), np.zeros((len(along), places.size))
    found[:, free], lines[:, free] = moved, along
    return found, np.concatenate([lines_off(places, theta), lines])


def _settled_influence(places: Places, theta: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The same where parameters say where ranked columns are, which ties districts together as well.

    How scores fall with parameters has no two equal sides then, and flat is what moves none of them.
    """
    known = scores_and_bend(places, theta, values, weights)
    if known is None or not np.isfinite(known[1]).all():
        return np.full((len(values), places.size), np.nan), np.zeros((0, places.size))
    each, bend = known
    at = np.sort(np.concatenate([own_places(d) for d in places.districts]))
    found, bend = np.zeros_like(each), bend[np.ix_(at, at)]
    scale = np.sqrt(np.maximum(np.abs(np.diag(bend)), 1e-300))
    left, steep, right = np.linalg.svd(bend / np.outer(scale, scale))
    level = steep < SINGULAR * steep[:1]
    inverse = (right[~level].T / steep[~level]) @ left[:, ~level].T / np.outer(scale, scale)
    found[:, at] = each[:, at] @ inverse.T
    flat = np.zeros((int(level.sum()), places.size))
    flat[:, at] = right[level] / scale
    return found, np.concatenate([lines_off(places, theta), flat])


def by_ranks(
    places: Places, district: District, theta: Floats, rows: Floats, values: Floats, weights: Floats
) -> Floats:
    """What each row adds to the sum of all scores because it has a share in the ranks of others."""
    at = own_places(district)
    found = np.zeros((len(rows), len(at)))
    used = {*district.members, *(u for u, *_ in district.slopes)}
    for k in sorted(used):
        margin = places.margins.get(places.names[k])
        if margin is None or margin.cut:
            continue
        sides = []
        for step in (FINE, -FINE):
            moved = rows.copy()
            moved[:, k] += step
            each = scores(places, district, theta, moved, at)
            assert each is not None  # parameters that make a model do so for all rows
            sides.append(each)
        slopes = (sides[0] - sides[1]) / (2.0 * FINE) * weights[:, None]
        found += shared(margin, values[:, k], slopes, float(weights.sum()))
    return found
