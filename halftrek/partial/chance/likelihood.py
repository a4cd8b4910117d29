"""The values that data and assumptions leave, although only a set is identified: the likelihood set.

``{Q(theta) : theta obeys the assumptions, deviance <= c}``. It holds the identified set, covers the true value as often
as it says, and where an instrument is weak it is a union of Anderson-Rubin sets: unbounded where it has to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.partial.chance.active import restrictions_at, touched_by_loss
from halftrek.partial.chance.cut import mixture_tail
from halftrek.partial.chance.program import Point, Program
from halftrek.partial.chance.search import Ends, Factor, Found, Search, merged
from halftrek.queries import Probability, Query
from halftrek.queries.gradients import scale_of

SHORT = 1e-5  # of the answer's scale, by which an end of the interval may seem to fall short of the set's
STILL = 1e-6  # share of the answer's slope that may be left at an end which assumptions alone hold
NEAREST = 8  # starts from which models are looked for that obey the assumptions


@dataclass(frozen=True, eq=False)
class Contradiction:
    """The likelihood-ratio test of the assumptions: what the best model that obeys them loses."""

    statistic: float
    restrictions: int
    p: float
    mixture: bool  # False if they are equations: chi-squared of so many degrees of freedom

    @staticmethod
    def certain() -> Contradiction:
        """Where no model at all obeys the assumptions, as far as the search saw."""
        return Contradiction(inf, 1, 0.0, mixture=False)

    def __str__(self) -> str:
        law = "a mixture of chi-squared with {} and {}" if self.mixture else "chi-squared with {1}"
        degrees = law.format(self.restrictions - 1, self.restrictions)
        return f"likelihood ratio {self.statistic:.4g}, p = {self.p:.3g} ({degrees} degrees of freedom)"


@dataclass(frozen=True, eq=False)
class LikelihoodSet:
    """Pieces from left to right, none if the data exclude every value; what binds at the outer ends, if they have one.

    ``lost``: sides (-1, 1) of which the search did not find the end, so that nothing is said of them.
    """

    pieces: tuple[Ends, ...]
    low: Found | None = None
    high: Found | None = None
    lost: tuple[int, ...] = ()

    @property
    def interval(self) -> Ends | None:
        """The outermost values; None if there are none."""
        return (self.pieces[0][0], self.pieces[-1][1]) if self.pieces else None


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of the identified set with vectors of models that attain its ends; None where that is nowhere."""

    low: float
    high: float
    at_low: Floats | None
    at_high: Floats | None


def likelihood_set(
    program: Program, pieces: Sequence[Piece], level: float, factor: Factor, more: Sequence[Floats] = ()
) -> LikelihoodSet:
    """From the pieces of the identified set, left to right.

    ``more`` are further vectors to begin with, for sets whose ends are not proved: then every start is tried.
    """
    starts = [program.at(v) for p in pieces for v in (p.at_low, p.at_high) if v is not None]
    starts += [p for v in more if (p := program.at(v)).broken <= 1e-5]
    if not starts:
        return LikelihoodSet(merged([(p.low, p.high) for p in pieces]))
    weights = program.coordinates.parts[0]
    usual = min(starts, key=lambda p: float(np.linalg.norm(p.vector[weights])))  # an end may be far out, at a limit
    search = Search(program, level, usual.vector, range_of(program.query), factor)
    below, above = (
        _side(search, end, starts, side, bool(more)) for end, side in ((pieces[0].low, -1), (pieces[-1].high, 1))
    )
    if below.through != above.through:  # values that go through infinity on one side come back from the other
        below, above = _come_back(search, below, starts, -1), _come_back(search, above, starts, 1)
    lost = tuple(side for side, one in ((-1, below), (1, above)) if one.lost)
    excluded = [*below.excluded, *above.excluded]
    for left, right in pairwise(pieces):
        if left.at_high is not None and right.at_low is not None:
            excluded += search.over(program.at(left.at_high), program.at(right.at_low))
    return LikelihoodSet(_without((below.value, above.value), excluded), below.found, above.found, lost)


@dataclass(frozen=True, eq=False)
class _Side:
    """The outermost value to one side, where it is attained, what is excluded before it."""

    value: float
    found: Found | None = None
    excluded: tuple[Ends, ...] = ()
    through: bool = False  # values are kept up to infinity, though the set is bounded on this side
    lost: bool = False  # the search found no end, so that nothing is excluded on this side


def _side(search: Search, known: float, starts: Sequence[Point], side: int, thorough: bool) -> _Side:
    border = search.range[side > 0]
    if np.isinf(known) or known == border:
        return _Side(known)
    outer = max(starts, key=lambda p: side * p.answer)
    others = sorted((p for p in starts if p is not outer), key=lambda p: -side * p.answer)
    found = _outermost(search, outer, others if thorough else [], side)
    if found is not None and side * (found.value - known) < -SHORT * search.scale:
        found = None  # an end of its own, short of the set
    if found is None:
        found = _held(search, outer, known, side)
    if found is None or found.point is None:
        beyond = search.beyond(outer, side)
    else:  # two standard errors beyond the set; at eight nothing is kept, unless the likelihood is far from a parabola
        beyond = search.beyond(found.point, side, first=outer.answer + 4.0 * (found.value - outer.answer))
    if beyond.kept and beyond.point is not None:
        return _Side(side * inf, None, _between(search, outer, beyond.point), through=True)
    if found is None and beyond.point is not None:
        found = search.walked(outer, beyond.point, side)
    return _Side(border, lost=True) if found is None else _Side(found.value, found)


def _held(search: Search, outer: Point, known: float, side: int) -> Found | None:
    """The end of the set where assumptions alone hold it, whatever the data are; None if the data have a part in it."""
    cut, binding = search.cut_at(outer, side)
    steepness = float(np.linalg.norm(outer.answer_slope))
    moves = float(np.linalg.norm(binding.direction)) > STILL * steepness or binding.unexplained > STILL
    apart = abs(outer.answer - known) > SHORT * search.scale
    alone = binding.limits.any() or steepness <= 1e-12  # an answer that nothing moves is what the assumptions say
    return Found(known, cut, outer, binding) if alone and not moves and not apart else None


def _outermost(search: Search, outer: Point, others: Sequence[Point], side: int) -> Found | None:
    """The farthest end from several starts; first, if there are several, the limit that the outer one nears."""
    limit = search.limit(outer, side) if others else None
    found = search.end([*([outer] if limit is None else []), *others], side)
    if limit is None:
        return search.limit(outer, side) if found is None and not others else found
    return limit if found is None or side * (limit.value - found.value) > 0.0 else found


def _come_back(search: Search, one: _Side, starts: Sequence[Point], side: int) -> _Side:
    if np.isinf(one.value):
        return one
    outer = max(starts, key=lambda p: side * p.answer)
    beyond = search.beyond(outer, side, early=False)
    if not beyond.kept or beyond.point is None:
        return one
    return _Side(side * inf, None, _between(search, outer, beyond.point), through=True)


def _between(search: Search, outer: Point, beyond: Point) -> tuple[Ends, ...]:
    left, right = (outer, beyond) if outer.answer < beyond.answer else (beyond, outer)
    return tuple(search.over(left, right))


def _without(whole: Ends, excluded: Sequence[Ends]) -> tuple[Ends, ...]:
    low, high = whole
    found = []
    for a, b in sorted(excluded):
        found.append((low, a))
        low = b
    return (*found, (low, high))


def range_of(query: Query) -> Ends:
    """Between which numbers every answer lies."""
    match scale_of(query):
        case "log":
            return (0.0, inf)
        case "logit":
            return (0.0, 1.0)
        case "atanh":
            return (-1.0, 1.0)
    return (0.0, 1.0) if isinstance(query, Probability) else (-inf, inf)


def nearest(program: Program, starts: Sequence[Floats]) -> Point | None:
    """The model of highest likelihood that obeys the assumptions, from several starts."""
    found = [p for v in starts[:NEAREST] if (p := program.nearest(v)) is not None]
    return min(found, key=lambda p: p.loss, default=None)


def contradiction(program: Program, best: Point, factor: Factor) -> Contradiction:
    """The test of the assumptions by the best model that obeys them."""
    points = program.coordinates
    binding, direction = touched_by_loss(points, best)
    held = restrictions_at(points, best, binding)
    equal = restrictions_at(points, best, np.zeros_like(binding))
    statistic = max(best.loss, 0.0) / factor(direction)
    if held > equal:
        return Contradiction(statistic, held, mixture_tail(statistic, held), mixture=True)
    from scipy.special import chdtrc

    return Contradiction(statistic, held, float(chdtrc(max(held, 1), statistic)), mixture=False)


def start_from(program: Program, best: Point, level: float, factor: Factor) -> LikelihoodSet:
    """The likelihood set where no model of the fitted covariance obeys: around the best that does, if it is kept."""
    outermost = max(binding_cut(program, best, side, level, factor) for side in (-1, 1))
    if best.loss > outermost:
        return LikelihoodSet(())
    piece = Piece(best.answer, best.answer, best.vector, best.vector)
    return likelihood_set(program, (piece,), level, factor)


def binding_cut(program: Program, point: Point, side: int, level: float, factor: Factor) -> float:
    """The loss up to which a value is kept."""
    return Search(program, level, point.vector, factor=factor).cut_at(point, side)[0]
