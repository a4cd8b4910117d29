"""Profile likelihood: the values of an answer whose best log-likelihood is close enough to the maximum.

The interval holds every c with ``2 (max loglik - max{loglik : answer = c})`` below the quantile of chi-squared with one
degree of freedom. It needs no standard error, may be skewed, and is unbounded where data do not bound the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.portable import Portable
from halftrek.errors import ConvergenceError, InputError
from halftrek.estimation import Fitted
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.landscape import Target
from halftrek.inference.profiles.walk import (
    LOWER,
    End,
    HigherGroundError,
    Walk,
    find_end,
    restarted,
    return_beyond,
    start_walk,
)
from halftrek.models import Gaussian
from halftrek.notes import Note, note
from halftrek.queries import Query, evaluate
from halftrek.upward import Faces

INFINITE = float("inf")
RESTARTS = 4  # from higher ground, before a profile is given up
SHORT = 1e-3  # deviance by which a fit may lie below the maximum


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Portable, Faces):
    """The deviance along an answer: ``deviance[i]`` is twice the log-likelihood lost with the answer at ``values[i]``.

    ``interval`` holds the values with a deviance below ``cut``; ``notes`` are what to know about it.
    """

    values: Floats
    deviance: Floats
    estimate: float
    interval: tuple[float, float]
    cut: float
    level: float = 0.95
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Ends:
    """Both ends of one target's interval, with the walk that found them."""

    low: float
    high: float
    walk: Walk | None
    notes: tuple[Note, ...] = ()


def profile_intervals(
    fit: Fitted, query: Query, sizes: tuple[int, int], cuts: Floats
) -> tuple[Floats, Floats, list[Note]]:
    """Intervals of an answer's values and variances (so many of each) from the likelihood, and notes.

    ``cuts`` are the deviances up to which values are kept, for the values and then for the variances.
    """
    found = [profile_ends(fit, Target(query, "value", k), float(cuts[k])) for k in range(sizes[0])]
    spread = [profile_ends(fit, Target(query, "variance", k), float(cuts[sizes[0] + k])) for k in range(sizes[1])]
    both = [np.array([(e.low, e.high) for e in ends]).reshape(-1, 2) for ends in (found, spread)]
    return both[0], both[1], list(dict.fromkeys(n for e in (*found, *spread) for n in e.notes))


def profile_ends(fit: Fitted, target: Target, cut: float) -> Ends:
    """The ends of the interval of one number."""
    for explicit in (False, True):
        land = kind_of_data(fit).landscape(fit, target, explicit)
        if not len(land.relevant):  # nothing free moves the answer
            value = target.of(fit.model)
            return Ends(value, value, None)
        walk = start_walk(land, cut)
        if not explicit and not land.feasible(walk.top.point):
            continue
        walk, low, high = _both_ends(walk, cut)
        inside = all(land.feasible(e.held.point) for e in (low, high) if e.held is not None)
        if explicit or inside:
            break
    return _described(target, walk, low, high, cut)


def higher_start(fit: Fitted, query: Query, count: int) -> dict[tuple[str, str], float] | None:
    """Coefficients where the profile of one of so many values sees a higher likelihood than the fit's, if it does."""
    cut = NormalDist().inv_cdf(0.975) ** 2
    for k in range(count):
        walk = profile_ends(fit, Target(query, "value", k), cut).walk
        if walk is not None and walk.land.n * (walk.land.at(walk.land.start).value - walk.top.value) > SHORT:
            model = walk.top.point.model
            return {(u, v): float(model.T[model.names.index(u), model.names.index(v)]) for u, v in model.graph.directed}
    return None


def _both_ends(walk: Walk, cut: float) -> tuple[Walk, End, End]:
    for _ in range(RESTARTS):
        try:
            return walk, find_end(walk, -1, cut), find_end(walk, 1, cut)
        except HigherGroundError as higher:
            walk = restarted(walk, higher.point, cut)
    return walk, End(float("nan")), End(float("nan"))


def _described(target: Target, walk: Walk, low: End, high: End, cut: float) -> Ends:
    """The interval, and a note for each thing about it that is not plain."""
    notes: list[Note] = []
    name = str(target.query) if target.kind == "value" else f"the variance of {target.query}"
    a, b = low.level, high.level
    gap = _gap(walk, low, high, cut)
    if np.isinf(a) and np.isinf(b):
        notes.append(note("unbounded", name=name))
    elif gap is not None:
        notes.append(note("ruled out", name=name, low=gap[0], high=gap[1]))
        a, b = -INFINITE, INFINITE
    elif np.isinf(a) or np.isinf(b):
        notes.append(note("unbounded on one side", name=name, side="above" if np.isinf(b) else "below"))
    if np.isnan(a) or np.isnan(b):
        side = "either side" if np.isnan(a) and np.isnan(b) else "the lower side" if np.isnan(a) else "the upper side"
        notes.append(note("walk lost", name=name, side=side))
    short = walk.land.n * (walk.land.at(walk.land.start).value - walk.top.value)
    if short > SHORT:
        notes.append(note("short of the maximum", name=name, short=short / 2.0, estimate=walk.estimate))
    return Ends(a, b, walk, tuple(notes))


def _gap(walk: Walk, low: End, high: End, cut: float) -> tuple[float, float] | None:
    """What is ruled out if the values that are not go through infinity: all but an interval."""
    for end, other, side in ((low, high, -1), (high, low, 1)):
        if np.isinf(other.level) and end.held is not None:
            back = return_beyond(walk, end.held, side, cut)
            if back is not None:
                return (back, end.level) if side < 0 else (end.level, back)
    return None


def profile_curve(fit: Fitted, query: Query, *, points: int = 41, level: float = 0.95) -> Profile:
    """The deviance at evenly spaced values around the interval, for a picture."""
    if points < 3:
        raise InputError(f"points must be at least 3, not {points}")
    result = evaluate(query, fit.model)
    if isinstance(result, Gaussian) and len(result.names) > 1:
        raise InputError(f"{query} has {len(result.names)} outcomes; ask for the profile of one at a time")
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {level!r}")
    cut = NormalDist().inv_cdf(0.5 + level / 2.0) ** 2
    ends = profile_ends(fit, Target(query), cut)
    if ends.walk is None:
        value = ends.low
        return Profile(np.array([value]), np.zeros(1), value, (value, value), cut, level, ends.notes)
    walk = ends.walk
    for _ in range(RESTARTS):
        values = np.linspace(*_window(ends, walk), points)
        try:
            lost = _deviances(walk, values)
        except HigherGroundError as higher:
            walk, low, high = _both_ends(restarted(walk, higher.point, cut), cut)
            ends = _described(Target(query), walk, low, high, cut)
            continue
        return Profile(values, lost, walk.estimate, (ends.low, ends.high), cut, level, ends.notes)
    raise ConvergenceError(f"the likelihood of {query} has more peaks than can be followed; fit again with more starts")


def _window(ends: Ends, walk: Walk) -> tuple[float, float]:
    """From a little below the interval to a little above; a few first steps where it has no end."""
    finite = [abs(e - walk.estimate) for e in (ends.low, ends.high) if np.isfinite(e)]
    far = 2.0 * max([*finite, walk.step])
    low = ends.low if np.isfinite(ends.low) else walk.estimate - far
    high = ends.high if np.isfinite(ends.high) else walk.estimate + far
    return walk.estimate - 1.25 * (walk.estimate - low), walk.estimate + 1.25 * (high - walk.estimate)


def _deviances(walk: Walk, values: Floats) -> Floats:
    """The deviance at each value, walking outwards from the maximum; nan where the walk gets lost."""
    found = np.full(len(values), np.nan)
    for side in (-1, 1):
        held = walk.top
        for i in np.argsort(np.abs(values - walk.estimate)):
            if side * (values[i] - walk.estimate) < 0 or (side < 0 and values[i] == walk.estimate):
                continue
            step = walk.reach(held, float(values[i]))
            if step is not None:
                held = step
                found[i] = max(walk.deviance(held), 0.0)
                if walk.deviance(held) < -LOWER:
                    raise HigherGroundError(held.point)
    return found
