"""Maximum likelihood where categories act: each district climbs by the spread of its rows' scores, then by Newton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Codes, Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.bottom.portable import Portable
from halftrek.bottom.words import listed
from halftrek.errors import DataError
from halftrek.estimation.acts.boxes import MOST
from halftrek.estimation.acts.holes import patterns_in, refuse_large, whole_logliks, whole_scores
from halftrek.estimation.acts.likelihood import KNOWN, Pieces, bend_of, own_places, pieces, scores
from halftrek.estimation.acts.places import District, Held, Places, in_units, joined_districts, standard_units
from halftrek.estimation.acts.ranks import mixed_ranks
from halftrek.estimation.acts.settled import settled
from halftrek.estimation.acts.spread import spread_of
from halftrek.graphs import Graph
from halftrek.layer import Margin
from halftrek.layer.layer import refuse_margin
from halftrek.layer.margins import margin_of
from halftrek.models import CGLSCM

STEPS = 200
NEAR, EXACT = 1e-6, 1e-12  # gain of the log-likelihood, per row, that a step still promises
CLOSE = 1e-9  # enough for rows drawn again: less than a thousandth of a standard error
ROUGH = 1e-4  # enough to choose among starts where each step costs much
POOR = 0.1  # share of what a step promises, half of which is the gain on a parabola
STARTS = (0.0, 0.5, -0.5)  # correlations of errors to begin with
ENOUGH = 5  # complete rows for each parameter, from which on they say where to begin
FAR = 50.0  # a parameter, in standard units, that has run off


@dataclass(frozen=True, eq=False)
class Acting(Portable):
    """A fit in which categories act: the parameters one after the other, and how they vary over samples.

    ``margins`` are those of the columns in categories and of ranked ones, by name; ``centre`` and ``scale`` are the
    units of the others.
    """

    margins: Mapping[str, Margin]
    centre: Floats
    scale: Floats
    theta: Floats
    spread: Floats
    loglik: float
    converged: bool
    flat: Floats | None = None  # directions that the rows do not determine, a line each
    missing: str = ""  # what is said of missing values, where rows have any
    held: tuple[Held, ...] = ()  # edges that were not fitted, but given

    def places(self, graph: Graph) -> Places:
        """Where the parameters stand."""
        return Places(graph, self.margins, self.centre, self.scale, self.held)

    def at(self, graph: Graph, theta: Floats) -> tuple[CGLSCM, dict[str, Margin]]:
        """The model of some parameters, and the columns that have margins, those in categories with its cuts."""
        places = self.places(graph)
        cuts = places.cuts(theta)
        return places.model(theta), {
            v: replace(m, given_cuts=cuts[v]) if v in cuts else m for v, m in self.margins.items()
        }


def fit_acting(
    graph: Graph,
    values: Floats,
    kinds: Mapping[str, ColumnKind],
    weights: Floats | None = None,
    cluster: Codes | None = None,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    *,
    sampling: bool = False,
    start: Floats | None = None,
    like: Acting | None = None,
    held: tuple[Held, ...] = (),
) -> Acting:
    """The best parameters for rows, columns in the order of the graph's variables; ``labels`` are texts.

    Missing values are nan: each row is integrated over what it lacks.

    ``like`` has the units and categories of another fit, with whose parameters these are compared; they and the ranks
    are all that is found then, without their spread. ``held`` are edges with given numbers.
    """
    w = np.ones(len(values)) if weights is None else weights
    texts = {} if labels is None else labels
    here = ~np.isnan(values)
    margins = {
        v: margin_of(values[here[:, k], k], w[here[:, k]], kinds[v], texts.get(v, ()))
        for k, v in enumerate(graph.observed) if v in kinds
    }  # fmt: skip
    if like is not None:
        margins |= {v: m for v, m in like.margins.items() if m.cut}
    _refuse(graph, margins)
    if like is None:
        for k, v in enumerate(graph.observed):
            own = values[here[:, k], k]
            if v in margins:
                refuse_margin(v, margins[v], own, 2)
            elif len(own) and own.min() == own.max():
                raise DataError(f"{v!r} has one value in all rows; leave it out of the graph")
    units = None if like is None else (like.centre, like.scale)
    centre, scale = units or standard_units(graph.observed, values, margins)
    places = Places(graph, margins, centre, scale, held)
    rows = in_units(graph.observed, values, margins, centre, scale)
    if not here.all():
        return _with_holes(places, values, rows, w, cluster, sampling=sampling, start=start, known=like is not None)
    if mixed_ranks(graph, margins):
        near = EXACT if like is None else CLOSE
        places, theta, total, arrived = settled(places, values, w, partial(_best, weights=w), start, near)
        margins = dict(places.margins)
    else:
        theta, total, arrived = _best(places, rows, w, start)
    spread, flat = np.zeros((places.size, places.size)), np.zeros((0, places.size))
    if like is None:
        spread, flat = spread_of(places, theta, values, w, cluster, sampling=sampling)
    return Acting(margins, centre, scale, theta, spread, total, arrived, flat if len(flat) else None, held=held)


def _best(
    places: Places, rows: Floats, weights: Floats, start: Floats | None, *, rough: bool = False
) -> tuple[Floats, float, bool]:
    """The best parameters district by district, the log-likelihood, and whether all tops were reached.

    ``rough`` is near enough to them.
    """
    theta, total, arrived = np.zeros(places.size), 0.0, True
    for district in places.districts:
        tries = STARTS if start is None and district.covariances else STARTS[:1]
        begun = [start if start is not None else _begin(places, district, rows, weights, r) for r in tries]
        begun = [places.put_held(one) for one in begun]
        near = max((_climbed(places, district, one, rows, weights) for one in begun), key=lambda found: found[1])
        best = near if rough else _climbed(places, district, near[0], rows, weights, finish=True)
        at = own_places(district)
        theta[at], total, arrived = best[0][at], total + best[1], arrived and best[2]
    return places.put_held(theta), total, arrived


def _with_holes(
    places: Places,
    values: Floats,
    rows: Floats,
    weights: Floats,
    cluster: Codes | None,
    *,
    sampling: bool,
    start: Floats | None,
    known: bool,
) -> Acting:
    """The same for rows with missing values: all districts climb together, from where complete rows end."""
    _refuse_holes(places, values)
    patterns = patterns_in(places, rows)
    theta = _begun(places, values, rows, weights) if start is None else start
    refuse_large(places, patterns, theta)
    found = whole_logliks(places, patterns, theta, rows)
    value, arrived = -np.inf if found is None else float(weights @ found), False
    for _ in range(STEPS):
        each = whole_scores(places, patterns, theta, rows)
        if each is None:
            break
        slope = each.T @ weights
        move = _uphill(each.T @ (each * weights[:, None]), slope)
        if float(slope @ move) < (CLOSE if known else EXACT) * len(rows):
            arrived = True
            break
        length = 1.0
        while length > 1e-6:
            found = whole_logliks(places, patterns, theta + length * move, rows)
            new = -np.inf if found is None else float(weights @ found)
            if new > value:
                break
            length /= 2.0
        else:
            arrived = float(slope @ move) < NEAR * len(rows)
            break
        theta, value = theta + length * move, new
    spread, flat = np.zeros((places.size, places.size)), np.zeros((0, places.size))
    if not known:
        spread, flat = spread_of(places, theta, values, weights, cluster, sampling=sampling)
    lines = flat if len(flat) else None
    return Acting(places.margins, places.centre, places.scale, theta, spread, value, arrived, lines, held=places.held)


def _begun(places: Places, values: Floats, rows: Floats, weights: Floats) -> Floats:
    """The parameters of complete rows, if these are enough; else regressions with means in the place of holes."""
    whole = ~np.isnan(values).any(axis=1)
    if whole.sum() >= ENOUGH * places.size:
        none = np.zeros(0)
        like = Acting(places.margins, places.centre, places.scale, none, np.zeros((0, 0)), 0.0, converged=True)
        kinds: dict[str, ColumnKind] = {v: m.kind for v, m in places.margins.items()}
        found = fit_acting(places.graph, values[whole], kinds, weights[whole], like=like, held=places.held)
        if found.converged and np.isfinite(found.theta).all() and float(np.abs(found.theta).max()) < FAR:
            return found.theta
    filled = rows.copy()
    for k, v in enumerate(places.names):
        gone = np.isnan(rows[:, k])
        there = (
            places.margins[v].values[places.margins[v].codes(rows[~gone, k])] if v in places.margins else rows[~gone, k]
        )
        filled[gone, k] = np.median(there) if v in places.margins else there.mean()
    theta = np.zeros(places.size)
    for district in places.districts:
        at = own_places(district)
        theta[at] = _begin(places, district, filled, weights, 0.0)[at]
    return theta


def _refuse_holes(places: Places, values: Floats) -> None:
    """Raise for what is not known where values are missing."""
    for v, margin in places.margins.items():
        if not margin.cut:
            raise DataError(
                f"{v!r} is ranked, and missing values beside a column that acts are known for plain columns and "
                f"columns in categories alone; missing='drop' leaves out rows with missing values"
            )
    for k, v in enumerate(places.names):
        if np.isnan(values[:, k]).all():
            raise DataError(f"{v!r} has no value in any row; leave it out of the graph")


def _begin(places: Places, district: District, rows: Floats, weights: Floats, r: float) -> Floats:
    """Regressions for the slopes, cuts of the margins, and errors that correlate a little."""
    theta = np.zeros(places.size)
    for i in district.members:
        mine = [(u, place) for u, v, place in district.slopes if v == i]
        X = np.column_stack([np.ones(len(rows)), *(_seen(places, u, rows) for u, _ in mine)])
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


def _seen(places: Places, at: int, rows: Floats) -> Floats:
    """A cause as an equation sees it; what is behind a category about in its middle."""
    margin = places.margins.get(places.names[at])
    behind = margin is not None and margin.kind == "behind"
    return margin.scores[margin.codes(rows[:, at])] if margin is not None and behind else rows[:, at]


def _climbed(
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
    held = bend_of(places, district, theta, rows, weights) if finish and few else None
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


def _uphill(bend: Floats, slope: Floats) -> Floats:
    """The step to the top of a parabola; along directions without a top, uphill."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(bend)), 1e-12))
    values, vectors = np.linalg.eigh(bend / np.outer(scale, scale))
    steep = np.maximum(np.abs(values), 1e-6 * np.abs(values).max())
    return np.asarray(vectors @ ((vectors.T @ (slope / scale)) / steep) / scale)


def _value(now: Pieces | None, weights: Floats) -> float:
    return -np.inf if now is None else float(weights @ now.logliks)


def _refuse(graph: Graph, margins: Mapping[str, Margin]) -> None:
    if graph.latents:
        raise DataError(
            f"hidden causes ({listed(list(graph.latents))}) and a column that acts are not known together yet; write "
            f"what the hidden cause does as x <-> y"
        )
    if graph.known:
        raise DataError("fixed or equal coefficients and a column that acts are not known together yet; free them")
    for district in joined_districts(graph, margins):
        cut = [v for v in district if v in margins and margins[v].cut]
        if len(cut) > MOST:
            raise DataError(
                f"{listed(cut)} are in categories and share hidden causes, or are behind one another: more than the "
                f"{MOST} of which the likelihood is known; leave one out, take out arcs between them, or say 'plain' "
                f"of one with many categories"
            )
