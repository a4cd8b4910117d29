"""The interval for the true value of an answer of which only a set is identified, as ``trust`` lets it be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite, nan

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import SetInterval
from halftrek.inference.intervals.base import ends_on
from halftrek.notes import Note, note
from halftrek.partial.chance.active import binding_at
from halftrek.partial.chance.cut import stoye_quantile
from halftrek.partial.chance.likelihood import (
    Contradiction,
    LikelihoodSet,
    Piece,
    contradiction,
    likelihood_set,
    nearest,
    range_of,
    start_from,
)
from halftrek.partial.chance.program import Program
from halftrek.partial.chance.search import SETTLED, Ends, Factor, Search
from halftrek.queries.derivatives import Scale
from halftrek.results.sets.bounds import CONTRADICTED
from halftrek.trust import Leeway

Spread = Callable[[Search, float, int], float]  # the error of an end: a search that begins there, its value, its side
STEPS = (1e-3, 4e-3, 2.5e-4, 1.6e-2)  # of deviance, by which an end is moved to see its error: the first that can be


@dataclass(frozen=True, eq=False)
class Chance:
    """What chance leaves open: pieces of the interval, the test of assumptions that nothing obeys, and notes.

    ``cuts`` are the deviances at the outer ends, nan where there is none.
    """

    pieces: tuple[Ends, ...]
    kind: SetInterval
    level: float
    cuts: Ends
    notes: tuple[Note, ...]
    refuted: Contradiction | None = None


def chance_of(
    program: Program,
    pieces: Sequence[Piece],
    starts: Sequence[Floats],
    level: float,
    given: Leeway,
    *,
    kind: SetInterval = "likelihood",
    proved: bool = True,
    spread: Spread | None = None,
    scale: Scale = "plain",
) -> Chance:
    """From the identified set at the estimates, which is empty if there are no pieces.

    ``starts``: vectors of models with the fitted covariance, for sets that are empty or not ``proved``. ``spread`` is
    the error of an end whose answer moves with more than the likelihood knows; of an empty set nothing is then left.
    ``scale``: where ends are closer to normal, for intervals by their errors.
    """
    points = program.coordinates

    def factor(direction: Floats) -> float:
        return given.factor(*points.seen_slopes(direction))

    if not pieces:
        nothing = _empty(program, starts, level, given, factor)
        return nothing if spread is None else replace(nothing, pieces=(), cuts=(nan, nan))
    if kind == "stoye":
        return _stoye(program, pieces, level, given, _by_likelihood(factor) if spread is None else spread, scale)
    found = likelihood_set(program, pieces, level, factor, () if proved else starts)
    said = _said(program, found, pieces)
    return Chance(found.pieces, kind, level, _cuts(found), (*given.notes, *_scaled(given, found, factor), *said))


def _empty(program: Program, starts: Sequence[Floats], level: float, given: Leeway, factor: Factor) -> Chance:
    """Where no model of the fitted covariance obeys: the test, and what is left around the best model that obeys."""
    best = nearest(program, starts)
    if best is None:
        return Chance((), "likelihood", level, (float("nan"), float("nan")), given.notes, Contradiction.certain())
    test = contradiction(program, best, factor)
    found = start_from(program, best, level, factor)
    code = "assumptions contradicted" if test.p < CONTRADICTED else "assumptions doubted"
    words = note(code, statistic=test.statistic, p=test.p)
    return Chance(found.pieces, "likelihood", level, _cuts(found), (words, *given.notes), test)


def _stoye(
    program: Program, pieces: Sequence[Piece], level: float, given: Leeway, spread: Spread, scale: Scale
) -> Chance:
    """So many standard errors beyond the outer ends, on the scale where these are closer to normal."""
    low, high = pieces[0], pieces[-1]
    errors = [
        _error(program, vector, end, side, spread)
        for vector, end, side in ((low.at_low, low.low, -1), (high.at_high, high.high, 1))
    ]
    least, most = range_of(program.query)
    if np.isnan(errors).any():
        return _half_lost((low.low, high.high), errors, level, given, (least, most), scale)
    c = stoye_factor((low.low, high.high), errors, level)

    def below(end: float) -> float:
        return moved_end(end, -1, c * errors[0], scale)

    def above(end: float) -> float:
        return moved_end(end, 1, c * errors[1], scale)

    ends = (max(below(low.low), least), min(above(high.high), most))
    notes = (*given.notes, note("stoye set", quantile=c))
    inner = [(above(a.high), below(b.low)) for a, b in pairwise(pieces)]
    kept: list[Ends] = []
    start = ends[0]
    for a, b in inner:
        if a < b:
            kept.append((start, a))
            start = b
    return Chance((*kept, (start, ends[1])), "stoye", level, (c**2, c**2), notes)


def _half_lost(
    ends: Ends, errors: Sequence[float], level: float, given: Leeway, outermost: Ends, scale: Scale
) -> Chance:
    """Where the error of an end is not known: nothing is said of its side, and the other end is one-sided."""
    c = stoye_quantile(np.inf, 1.0, level)
    found = list(outermost)
    for k, side in enumerate((-1, 1)):
        if not np.isnan(errors[k]):
            inner = moved_end(ends[k], side, c * errors[k], scale)
            found[k] = max(inner, outermost[0]) if side < 0 else min(inner, outermost[1])
    lost = [note("set end lost", side=name) for name, e in zip(("lower", "upper"), errors, strict=True) if np.isnan(e)]
    said = [note("stoye set", quantile=c)] if len(lost) == 1 else []
    return Chance(((found[0], found[1]),), "stoye", level, (nan, nan), (*given.notes, *said, *lost))


def stoye_factor(ends: Ends, errors: Sequence[float], level: float) -> float:
    """How many standard errors an interval goes beyond the ends of a set."""
    width = ends[1] - ends[0]
    return stoye_quantile(width, max(errors), level) if isfinite(width) else stoye_quantile(np.inf, 1.0, level)


def moved_end(end: float, side: int, reach: float, scale: Scale) -> float:
    """An end moved outwards, on the scale where it is closer to normal."""
    return float(ends_on(scale, np.array([end]), np.array([reach]))[0, int(side > 0)])


def _error(program: Program, vector: Floats | None, end: float, side: int, spread: Spread) -> float:
    """The standard error of an end of the set; nothing is left open at an infinite one."""
    if vector is None or not isfinite(end):
        return 0.0
    return spread(Search(program, 0.95, vector), end, side)


def _by_likelihood(factor: Factor) -> Spread:
    """From how far an end moves with a little likelihood; nan where no program finds that out."""

    def error(search: Search, end: float, side: int) -> float:
        for step in STEPS:
            point = search.program.furthest(search.aside(search.origin, side, step), side, step)
            if point is not None:
                usual = abs(point.answer - end) / np.sqrt(step)
                return float(usual * np.sqrt(factor(search.cut_at(point, side)[1].direction)))
        return nan

    return error


def by_rows(given: Leeway, cuts: Callable[[int], Mapping[str, Floats]]) -> Spread:
    """From how each row moves the moments behind columns, and the ``cuts`` of a side: their slopes in its end.

    An end is an extreme, so that it moves with the data as its Lagrangian does where the model is held: by the slope of
    the answer less what limits and equations take of it (the envelope theorem). nan where these leave something of the
    slope in the weights, so that it is no extreme.
    """

    def error(search: Search, _: float, side: int) -> float:
        points = search.program.coordinates
        binding = binding_at(points, search.program.at(search.origin), side)
        if binding.unexplained > SETTLED:
            return nan
        return given.error(*points.seen_slopes(side * binding.direction), cuts(side))

    return error


def _cuts(found: LikelihoodSet) -> Ends:
    nothing = float("nan")
    return (nothing if found.low is None else found.low.cut, nothing if found.high is None else found.high.cut)


def _scaled(given: Leeway, found: LikelihoodSet, factor: Factor) -> list[Note]:
    """By how much the likelihood was scaled at each end."""
    if not given.units:
        return []
    known = [
        factor(end.binding.direction) / given.stretch**2 if end is not None and end.binding is not None else 1.0
        for end in (found.low, found.high)
    ]
    return [note("set by units", units=given.units, low=known[0], high=known[1])]


def _said(program: Program, found: LikelihoodSet, pieces: Sequence[Piece]) -> list[Note]:
    """What is not plain about an interval."""
    name = str(program.query)
    notes = [note("likelihood set")]
    for side, words, known in ((-1, "below", pieces[0].low), (1, "above", pieces[-1].high)):
        if side in found.lost:
            notes.append(note("set end lost", side="lower" if side < 0 else "upper"))
        elif found.pieces and isfinite(known) and not isfinite(found.pieces[0 if side < 0 else -1][side > 0]):
            notes.append(note("set unbounded", name=name, side=words))
    notes += [note("set excluded", low=a[1], high=b[0]) for a, b in pairwise(found.pieces)]
    return notes
