"""Zeros between two values at which a function has different signs: many at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints

ROUNDS = 80  # at most
CLOSE = 4e-15  # of the values: rounding
ZERO = 1e-7  # of the function at the ends: above, its sign changes at a pole and not at a zero

Step = Callable[[Ints, Floats, Floats], tuple[Floats, Floats]]  # which, their values, solutions nearby


@dataclass(frozen=True, eq=False)
class Bracket:
    """Where the sign changes: two values, the function there, and a solution of the equations nearby; nan: nowhere."""

    low: Floats
    high: Floats
    at_low: Floats
    at_high: Floats
    near: Floats

    @staticmethod
    def empty(count: int, size: int) -> Bracket:
        """Nothing yet."""
        low, high, at_low, at_high = (np.full(count, np.nan) for _ in range(4))
        return Bracket(low, high, at_low, at_high, np.full((count, size), np.nan))

    def put(self, which: Ints, low: Floats, high: Floats, at_low: Floats, at_high: Floats, near: Floats) -> None:
        """Note some."""
        self.low[which], self.high[which], self.at_low[which], self.at_high[which] = low, high, at_low, at_high
        self.near[which] = near


def narrowed(bracket: Bracket, step: Step, target: float, *, close: float = CLOSE) -> tuple[Floats, Floats]:
    """Where each function has the target, and the solution there; nan where there is none.

    Regula falsi, with the end that stays halved (Illinois), and bisection every third time.
    """
    a, b, fa, fb = (x.copy() for x in (bracket.low, bracket.high, bracket.at_low, bracket.at_high))
    z, start = bracket.near.copy(), np.fmax(np.abs(fa), np.abs(fb))
    root, best = np.full(len(a), np.nan), np.full(len(a), np.inf)
    solution = np.full_like(z, np.nan)
    open_ = np.isfinite(a)
    for k in range(ROUNDS):
        at = np.flatnonzero(open_)
        if not len(at):
            break
        with np.errstate(all="ignore"):
            c = b[at] - fb[at] * (b[at] - a[at]) / (fb[at] - fa[at])
        middle = 0.5 * (a[at] + b[at])
        c = np.where((k % 3 == 2) | ~np.isfinite(c), middle, c)
        there, found = step(at, c, z[at])
        f = found - target
        gone = np.isnan(f)
        nearer = ~gone & (np.abs(f) < best[at])
        here = at[nearer]
        root[here], best[here], solution[here] = c[nearer], np.abs(f[nearer]), there[nearer]
        same = f * fb[at] > 0.0  # the new value takes the place of b
        stay = at[same & ~gone]
        b[stay], fb[stay], fa[stay] = c[same & ~gone], f[same & ~gone], 0.5 * fa[stay]
        turn = at[~same & ~gone]
        a[turn], fa[turn], fb[turn] = c[~same & ~gone], f[~same & ~gone], 0.5 * fb[turn]
        z[at[~gone]] = there[~gone]
        done = gone | (f == 0.0) | (np.abs(b[at] - a[at]) <= close * (np.abs(a[at]) + np.abs(b[at])))
        open_[at[done]] = False
    with np.errstate(invalid="ignore"):
        none = ~(best <= ZERO * start)
    root[none], solution[none] = np.nan, np.nan
    return root, solution
