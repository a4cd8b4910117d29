"""Maximum likelihood where categories act: each district climbs by the spread of its rows' scores, then by Newton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Codes, Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.bottom.portable import Portable
from halftrek.bottom.words import listed
from halftrek.errors import DataError
from halftrek.estimation.acts.likelihood import own_places, row_logliks, scores
from halftrek.estimation.acts.places import District, Places, standard_units
from halftrek.graphs import Graph
from halftrek.layer import Margin
from halftrek.layer.layer import refuse_margin
from halftrek.layer.margins import margin_of
from halftrek.models import CGLSCM

STEPS = 200
NEAR, EXACT = 1e-6, 1e-12  # gain of the log-likelihood, per row, that a step still promises
STARTS = (0.0, 0.5, -0.5)  # correlations of errors to begin with
FINE = 1e-4
MOST = 2  # members of a district in categories


@dataclass(frozen=True, eq=False)
class Acting(Portable):
    """A fit in which categories act: the parameters one after the other, and how they vary over samples.

    ``margins`` are those of the columns in categories, by name; ``centre`` and ``scale`` the units of the others.
    """

    margins: Mapping[str, Margin]
    centre: Floats
    scale: Floats
    theta: Floats
    spread: Floats
    loglik: float
    converged: bool

    def places(self, graph: Graph) -> Places:
        """Where the parameters stand."""
        return Places(graph, self.margins, self.centre, self.scale)

    def at(self, graph: Graph, theta: Floats) -> tuple[CGLSCM, dict[str, Margin]]:
        """The model of some parameters, and the columns in categories with its cuts."""
        places = self.places(graph)
        cuts = places.cuts(theta)
        return places.model(theta), {v: replace(m, given_cuts=cuts[v]) for v, m in self.margins.items()}


def fit_acting(
    graph: Graph,
    values: Floats,
    kinds: Mapping[str, ColumnKind],
    weights: Floats | None = None,
    cluster: Codes | None = None,
    *,
    sampling: bool = False,
    start: Floats | None = None,
    like: Acting | None = None,
) -> Acting:
    """The best parameters for complete rows, columns in the order of the graph's variables.

    ``like`` has the units and categories of another fit, with whose parameters these are compared; they are all that is
    found then, without their spread.
    """
    w = np.ones(len(values)) if weights is None else weights
    margins = (
        dict(like.margins)
        if like is not None
        else {v: margin_of(values[:, k], w, kinds[v]) for k, v in enumerate(graph.observed) if v in kinds}
    )
    _refuse(graph, margins)
    if like is None:
        for k, v in enumerate(graph.observed):
            if v in margins:
                refuse_margin(v, margins[v], values[:, k], 2)
    units = None if like is None else (like.centre, like.scale)
    centre, scale = units or standard_units(graph.observed, values, margins)
    if not scale.all():
        raise DataError(
            f"{graph.observed[int(np.argmin(scale))]!r} has one value in all rows; leave it out of the graph"
        )
    places, rows = Places(graph, margins, centre, scale), (values - centre) / scale
    theta, spread, total, arrived = np.zeros(places.size), np.zeros((places.size, places.size)), 0.0, True
    for district in places.districts:
        tries = STARTS if start is None and district.covariances else STARTS[:1]
        begun = [start if start is not None else _begin(places, district, rows, w, r) for r in tries]
        near = max((_climbed(places, district, one, rows, w) for one in begun), key=lambda found: found[1])
        best = _climbed(places, district, near[0], rows, w, finish=True)
        at = own_places(district)
        theta[at], total, arrived = best[0][at], total + best[1], arrived and best[2]
        if like is None:
            spread[np.ix_(at, at)] = _spread(places, district, best[0], rows, w, cluster, sampling=sampling)
    return Acting(margins, centre, scale, theta, spread, total, arrived)


def _begin(places: Places, district: District, rows: Floats, weights: Floats, r: float) -> Floats:
    """Regressions for the slopes, cuts of the margins, and errors that correlate a little."""
    theta = np.zeros(places.size)
    for i in district.members:
        mine = [(u, place) for u, v, place in district.slopes if v == i]
        X = np.column_stack([np.ones(len(rows)), *(rows[:, u] for u, _ in mine)])
        y = rows[:, i]
        if i in district.cuts:
            margin = places.margins[places.names[i]]
            y = np.concatenate([[-1.0], margin.cuts, [margin.cuts[-1] + 1.0]])[margin.codes(y) + 1]
        root = np.sqrt(weights)[:, None]
        slope = np.linalg.lstsq(X * root, y * root[:, 0], rcond=None)[0]
        for (_, place), b in zip(mine, slope[1:], strict=True):
            theta[place] = b
        if i in district.cuts:
            shift = float(weights @ (X[:, 1:] @ slope[1:])) / float(weights.sum())
            theta[slice(*district.cuts[i])] = margin.cuts + shift
        else:
            theta[district.intercepts[i]] = slope[0]
            theta[district.spreads[i]] = 0.5 * np.log(max(float(weights @ (y - X @ slope) ** 2 / weights.sum()), 1e-8))
    for i, j, place in district.covariances:
        sds = [np.exp(theta[district.spreads[k]]) if k in district.spreads else 1.0 for k in (i, j)]
        theta[place] = r * sds[0] * sds[1] * (1.0 if len(district.members) == 2 else 0.5)
    return theta


def _climbed(
    places: Places, district: District, theta: Floats, rows: Floats, weights: Floats, *, finish: bool = False
) -> tuple[Floats, float, bool]:
    """Uphill from a start: where to, how high, and whether the top was reached.

    The bend of the likelihood is that of the rows' scores, and in the finish the one at the start of it.
    """
    at, theta = own_places(district), theta.copy()
    value = _value(places, district, theta, rows, weights)
    if not len(at):
        return theta, value, True
    held = _bend(places, district, theta, rows, weights) if finish else None
    for _ in range(STEPS):
        each = scores(places, district, theta, rows, at)
        if each is None:
            return theta, value, False
        slope = each.T @ weights
        move = _uphill(each.T @ (each * weights[:, None]) if held is None else held, slope)
        if float(slope @ move) < (EXACT if finish else NEAR) * len(rows):
            return theta, value, True
        length = 1.0
        while length > 1e-6:
            there = theta.copy()
            there[at] += length * move
            new = _value(places, district, there, rows, weights)
            if new > value:
                break
            length /= 2.0
        else:
            return theta, value, float(slope @ move) < NEAR * len(rows)
        theta, value = there, new
    return theta, value, False


def _uphill(bend: Floats, slope: Floats) -> Floats:
    """The step to the top of a parabola; along directions without a top, uphill."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(bend)), 1e-12))
    values, vectors = np.linalg.eigh(bend / np.outer(scale, scale))
    steep = np.maximum(np.abs(values), 1e-6 * np.abs(values).max())
    return np.asarray(vectors @ ((vectors.T @ (slope / scale)) / steep) / scale)


def _value(places: Places, district: District, theta: Floats, rows: Floats, weights: Floats) -> float:
    each = row_logliks(places, district, theta, rows)
    return -np.inf if each is None else float(weights @ each)


def _bend(places: Places, district: District, theta: Floats, rows: Floats, weights: Floats) -> Floats:
    """Minus the second derivatives of the log-likelihood, by differences of its slope."""
    at = own_places(district)
    found = np.zeros((len(at), len(at)))
    for k, place in enumerate(at):
        sides = []
        for step in (FINE, -FINE):
            moved = theta.copy()
            moved[place] += step
            each = scores(places, district, moved, rows, at)
            sides.append(np.full(len(at), np.nan) if each is None else each.T @ weights)
        found[k] = -(sides[0] - sides[1]) / (2.0 * FINE)
    return (found + found.T) / 2.0


def _spread(
    places: Places,
    district: District,
    theta: Floats,
    rows: Floats,
    weights: Floats,
    cluster: Codes | None,
    *,
    sampling: bool,
) -> Floats:
    """The sandwich; nan where the rows do not determine the parameters."""
    at = own_places(district)
    bend, each = _bend(places, district, theta, rows, weights), scores(places, district, theta, rows, at)
    if each is None or not np.isfinite(bend).all():
        return np.full((len(at), len(at)), np.nan)
    scale = np.sqrt(np.maximum(np.abs(np.diag(bend)), 1e-300))
    values = np.linalg.eigvalsh(bend / np.outer(scale, scale))
    if len(at) and values[0] < 1e-7 * values[-1]:
        return np.full((len(at), len(at)), np.nan)
    if cluster is not None:
        sums = np.zeros((int(cluster.max()) + 1, len(at)))
        np.add.at(sums, cluster, each * weights[:, None])
        count = len(np.unique(cluster))
        meat = sums.T @ sums * (count / (count - 1.0) if count > 1 else np.nan)
    else:
        meat = each.T @ (each * (weights**2 if sampling else weights)[:, None])
    inverse = np.linalg.inv(bend)
    return np.asarray(inverse @ meat @ inverse)


def _refuse(graph: Graph, margins: Mapping[str, Margin]) -> None:
    for v, margin in margins.items():
        if margin.kind in ("behind", "ranked"):
            raise DataError(
                f"{v!r} is {margin.kind!r} and another column acts: the two are not known together yet. Say kinds={{"
                f"{v!r}: 'acts'}}, or 'plain', or leave it out"
            )
    if graph.latents:
        raise DataError(
            f"hidden causes ({listed(list(graph.latents))}) and a column that acts are not known together yet; write "
            f"what the hidden cause does as x <-> y"
        )
    if graph.known:
        raise DataError("fixed or equal coefficients and a column that acts are not known together yet; free them")
    for district in graph.districts:
        cut = [v for v in district if v in margins]
        if len(cut) > MOST:
            raise DataError(
                f"{listed(cut)} are in categories and share hidden causes, more than the {MOST} of which the "
                f"likelihood is known; leave one out, or take out arcs between them"
            )
