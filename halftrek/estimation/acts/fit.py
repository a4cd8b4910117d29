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
from halftrek.estimation.acts.climb import CLOSE, EXACT, climbed, climbed_whole
from halftrek.estimation.acts.holes import patterns_in, refuse_large
from halftrek.estimation.acts.likelihood import own_places
from halftrek.estimation.acts.places import District, Held, Off, Places, in_units, joined_districts, standard_units
from halftrek.estimation.acts.ranks import mixed_ranks
from halftrek.estimation.acts.separated import run_off, unseen_at_zero
from halftrek.estimation.acts.settled import settled
from halftrek.estimation.acts.spread import spread_of
from halftrek.graphs import Graph
from halftrek.layer import Margin
from halftrek.layer.layer import refuse_margin
from halftrek.layer.margins import margin_of
from halftrek.models import CGLSCM

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
    off: tuple[Off, ...] = ()  # parameters without a most likely value
    have: Floats | None = None  # the share of rows that have a value, by column, where some do not

    def places(self, graph: Graph) -> Places:
        """Where the parameters stand."""
        return Places(graph, self.margins, self.centre, self.scale, self.held, self.off)

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
    if not here.all():
        rows = in_units(graph.observed, values, margins, centre, scale)
        return _with_holes(places, values, rows, w, cluster, sampling=sampling, start=start, known=like is not None)
    near = EXACT if like is None else CLOSE
    places, theta, total, arrived = _top(places, values, w, start, near)
    spread, flat = np.zeros((places.size, places.size)), np.zeros((0, places.size))
    off: tuple[Off, ...] = ()
    if like is None:
        off = run_off(places, theta, in_units(graph.observed, values, places.margins, centre, scale))
        if off:
            places = replace(places, off=off)
            places, theta, total, arrived = _top(places, values, w, unseen_at_zero(places, theta), near)
        spread, flat = spread_of(places, theta, values, w, cluster, sampling=sampling)
    lines = flat if len(flat) else None
    return Acting(places.margins, centre, scale, theta, spread, total, arrived, lines, held=held, off=off)


def _top(
    places: Places, values: Floats, weights: Floats, start: Floats | None, near: float
) -> tuple[Places, Floats, float, bool]:
    """The best parameters, with ranked columns where they put them; the log-likelihood, and whether it is the top."""
    if mixed_ranks(places.graph, places.margins):
        return settled(places, values, weights, partial(_best, weights=weights), start, near)
    rows = in_units(places.names, values, places.margins, places.centre, places.scale)
    return places, *_best(places, rows, weights, start)


def _best(
    places: Places, rows: Floats, weights: Floats, start: Floats | None, *, rough: bool = False
) -> tuple[Floats, float, bool]:
    """The best parameters district by district, the log-likelihood, and whether all tops were reached.

    ``rough`` is near enough to them.
    """
    theta, total, arrived = np.zeros(places.size) if start is None else start.copy(), 0.0, True
    for district in places.districts:
        tries = STARTS if start is None and district.covariances else STARTS[:1]
        begun = [start if start is not None else _begin(places, district, rows, weights, r) for r in tries]
        begun = [places.put_held(one) for one in begun]
        near = max((climbed(places, district, one, rows, weights) for one in begun), key=lambda found: found[1])
        best = near if rough else climbed(places, district, near[0], rows, weights, finish=True)
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
    theta, value, arrived = climbed_whole(places, patterns, theta, rows, weights, CLOSE if known else EXACT)
    spread, flat = np.zeros((places.size, places.size)), np.zeros((0, places.size))
    off: tuple[Off, ...] = ()
    if not known:
        off = run_off(places, theta, rows)
        if off:
            places = replace(places, off=off)
            begun = unseen_at_zero(places, theta)
            theta, value, arrived = climbed_whole(places, patterns, begun, rows, weights, EXACT)
        spread, flat = spread_of(places, theta, values, weights, cluster, sampling=sampling)
    lines, units = flat if len(flat) else None, (places.centre, places.scale)
    have = weights @ ~np.isnan(values) / weights.sum()
    return Acting(places.margins, *units, theta, spread, value, arrived, lines, "", places.held, off, have)


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


def _refuse(graph: Graph, margins: Mapping[str, Margin]) -> None:
    if hidden := [*graph.latents, *graph.hidden]:
        instead = "write what the hidden cause does as x <-> y"
        if first := [
            v for v, m in margins.items() if m.kind == "acts" and not graph.parents(v) and not graph.siblings(v)
        ]:
            instead = (
                f"say nothing of {first[0]!r}, which is then taken for normal: its effects hold, and probabilities do "
                f"unless one of its values is rare or its effects are large"
            )
        raise DataError(
            f"hidden variables ({listed(hidden)}) and a column that acts are not known together yet; {instead}"
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
