"""The values of an answer that independent errors do not exclude (Stock and Wright 2000).

A value is kept if some weights that leave the answer at it pass the test of all conditions: ``min J <= chi2`` with as
many degrees of freedom as there are conditions beyond the other weights. That holds whether or not errors are far
enough from normal to tell the answer: where they are not, every value is kept, and no standard error would say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.progress import Advance
from halftrek.inference.independence.conditions import Conditions
from halftrek.inference.independence.least import FAR, Answer, Least, least, least_at

Ends = tuple[float, float]
TURNS = 32  # values between -infinity and infinity that are looked at first, even in their angle
CHARTS = 3  # weights for which the answer is solved in turn: at zero a product has several ways to be it
_PLAIN = 6.0  # times its bound: a J from which on no other start is tried
_CLOSE = 1e-3  # of a standard deviation: how precisely ends are found


@dataclass(frozen=True, eq=False)
class Kept:
    """``estimate`` has the smallest J of all values; ``pieces`` are the values that are kept, none if all are excluded.

    ``bound`` is what J must not exceed, with ``df`` degrees of freedom.
    """

    estimate: float
    statistic: float
    bound: float
    df: int
    pieces: tuple[Ends, ...]

    @property
    def bounded(self) -> bool:
        """True if no value however large is kept."""
        return bool(np.isfinite([end for piece in self.pieces for end in piece]).all())

    @property
    def everything(self) -> bool:
        """True if no value is excluded."""
        return self.pieces == ((-np.inf, np.inf),)


def kept_values(
    given: Conditions,
    answer: Callable[[Floats], float],
    fitted: Floats,
    *,
    level: float,
    unit: float,
    progress: Advance | None = None,
) -> Kept:
    """All values of an answer, a function of the arrows' weights, that the conditions keep; ``unit`` is its scale."""
    from scipy.special import chdtri

    def of_free(free: Floats) -> float:
        return answer(given.to_raw(free)) / unit

    best = least(given, given.starts(fitted))
    df = given.count - given.unknowns + 1
    bound = float(chdtri(df, 1.0 - level))
    middle = of_free(best.free)
    if best.statistic > bound:
        return Kept(middle * unit, best.statistic, bound, df, ())
    search = _Search(given, of_free, best, bound, progress)
    pieces = search.pieces(middle)
    return Kept(middle * unit, best.statistic, bound, df, tuple((low * unit, high * unit) for low, high in pieces))


def is_kept(
    given: Conditions, answer: Callable[[Floats], float], fitted: Floats, value: float, *, level: float, unit: float
) -> bool:
    """True if one value is kept: the same test alone, from all starts."""
    from scipy.special import chdtri

    def of_free(free: Floats) -> float:
        return answer(given.to_raw(free)) / unit

    bound = float(chdtri(given.count - given.unknowns + 1, 1.0 - level))
    starts = list(given.starts(fitted))
    tried = (least_at(given, of_free, value / unit, k, starts, bound) for k in charts(given, of_free, starts[0]))
    return any(found.statistic <= bound for found in tried)


class _Search:
    """J along the values of the answer, which remembers where it has been."""

    def __init__(self, given: Conditions, answer: Answer, best: Least, bound: float, progress: Advance | None) -> None:
        self.given, self.answer, self.best, self.bound, self.progress = given, answer, best, bound, progress
        self.charts = charts(given, answer, best.free)
        self.seen: dict[float, Least] = {answer(best.free): best}

    def at(self, value: float, *, near_by: bool = False) -> float:
        """The smallest J with the answer at a value, less its bound; any below the bound does.

        ``near_by`` others were found, and are where to look.
        """
        if value not in self.seen:
            near = sorted(self.seen, key=lambda x: abs(np.arctan(x) - np.arctan(value)))[:2]
            starts = [self.seen[x].free for x in near] + [self._turned(x, value) for x in near[:1] if x]
            found = self._lowest(value, starts, Least(np.inf, self.best.free))
            if not near_by and self.bound < found.statistic < _PLAIN * self.bound:
                anew = list(self.given.starts(self.given.to_raw(self.best.free)))[1:]
                found = self._lowest(value, anew, found)
            self.seen[value] = found
        return self.seen[value].statistic - self.bound

    def _lowest(self, value: float, starts: list[Floats], found: Least) -> Least:
        for chart in self.charts:
            one = least_at(self.given, self.answer, value, chart, starts, self.bound)
            found = min(found, one, key=lambda one: one.statistic)
            if found.statistic <= self.bound:
                break
        return found

    def _turned(self, near: float, value: float) -> Floats:
        """The weights found at another value, all of them larger by the same factor."""
        return np.asarray(self.seen[near].free * np.clip(value / near, -FAR, FAR))

    def pieces(self, middle: float) -> list[Ends]:
        """The values at which J is below its bound, from left to right."""
        angles = np.pi * (np.arange(1, TURNS) / TURNS - 0.5)
        grid = sorted({-FAR, *np.tan(angles).tolist(), middle, FAR}, key=lambda x: abs(x - middle))
        for done, value in enumerate(grid):  # from the middle outwards, so that each begins where the last one ended
            self.at(value)
            if self.progress is not None:
                self.progress(done + 1, len(grid))
        grid = sorted(grid)
        grid = sorted({*grid, *self._dips(grid)})
        inside = [self.at(value) <= 0.0 for value in grid]
        ends: list[Ends] = []
        begin = -np.inf if inside[0] else np.nan
        for a, b, was, now in zip(grid, grid[1:], inside, inside[1:], strict=False):
            if now and not was:
                begin = self._end(a, b)
            if was and not now:
                ends.append((begin, self._end(b, a)))
        return [*ends, (begin, np.inf)] if inside[-1] else ends

    def _dips(self, grid: Sequence[float]) -> list[float]:
        """Values between those of the grid at which J may fall below its bound, though it does not on either side."""
        from scipy.optimize import minimize_scalar

        found = []
        for a, b, c in zip(grid, grid[1:], grid[2:], strict=False):
            left, low, right = self.at(a), self.at(b), self.at(c)
            if 0.0 < low <= min(left, right) and low < max(4.0, 0.5 * self.bound):
                lowest = minimize_scalar(
                    lambda x: self.at(x, near_by=True), bounds=(a, c), method="bounded", options={"maxiter": 10}
                )
                found.append(float(lowest.x))
        return found

    def _end(self, outside: float, inside: float) -> float:
        """Where J crosses its bound."""
        for _ in range(40):
            half = 0.5 * (outside + inside)
            if abs(outside - inside) <= _CLOSE * (1.0 + abs(half)):
                break
            if self.at(half, near_by=True) <= 0.0:
                inside = half
            else:
                outside = half
        return inside


def charts(given: Conditions, answer: Answer, here: Floats) -> list[int]:
    """Weights in which the answer is affine and with which it moves, those first that move it most."""
    slopes = []
    for k in range(given.unknowns):
        at = [here.copy() for _ in range(3)]
        for step, free in enumerate(at):
            free[k] = float(step)
        low, middle, high = map(answer, at)
        curved = abs(high - 2.0 * middle + low) > 1e-9 * (1.0 + abs(high) + abs(low))
        slopes.append(0.0 if curved else abs(high - low))
    order = sorted(range(given.unknowns), key=lambda k: -slopes[k])
    return [k for k in order if slopes[k] > 1e-9][:CHARTS]
