"""Do causes tell the categories of a column apart, alone or together? Then the likelihood has no top.

The variable behind the column is ``b'x + error``, and a row in category k has its error between ``t_{k-1} - b'x`` and
``t_k - b'x``. A direction ``d = (b, t)`` along which no row's bounds come nearer, and those of some move away, is
uphill for ever, whatever the error correlates with (Albert and Anderson 1984). Such directions are a cone; a linear
program finds whether it has any, and others which parameters run off along it, and to which side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Codes, Floats

FIRST = 2000  # rows that a program begins with; it takes in others as they object
TINY = 1e-7  # part of a parameter's range, or of a row's bound, that is none


@dataclass(frozen=True)
class Separation:
    """Which slopes and cuts run off: 1 or -1 for the side where only one is known, 0 for either; None if they stay.

    ``total`` if all rows' bounds move away, so that nothing is seen of errors.
    """

    slopes: tuple[int | None, ...]
    cuts: tuple[int | None, ...]
    total: bool


def separation(causes: Floats, codes: Codes) -> Separation | None:
    """What runs off in the equation of a column, whose categories are numbered from 0; None if nothing does.

    ``causes`` has a column for each, in units of about their spread.
    """
    cone = _Cone(causes, codes)
    if not cone.goes(cone.sum):
        return None
    sides = [cone.side(k) for k in range(cone.size)]
    p = causes.shape[1]
    return Separation(tuple(sides[:p]), tuple(sides[p:]), cone.is_wide())


class _Cone:
    """The directions in which no row's bounds come nearer: ``rows @ d >= 0``."""

    def __init__(self, causes: Floats, codes: Codes) -> None:
        known = np.unique(np.column_stack([causes, codes]), axis=0)
        causes, codes = known[:, :-1], known[:, -1].astype(int)
        last, p = int(codes.max(initial=0)), causes.shape[1]
        upper, lower = codes < last, codes > 0
        self.rows = np.zeros((int(upper.sum() + lower.sum()), p + last))
        self.rows[:, :p] = np.concatenate([-causes[upper], causes[lower]])
        places = np.concatenate([codes[upper], codes[lower] - 1])
        self.rows[np.arange(len(self.rows)), p + places] = np.repeat([1.0, -1.0], [upper.sum(), lower.sum()])
        self.size = self.rows.shape[1]
        self.sum = self.rows.mean(axis=0)
        step = max(len(self.rows) // FIRST, 1)
        self.used = np.zeros(len(self.rows), dtype=bool)
        self.used[::step] = True

    def goes(self, aim: Floats) -> bool:
        """True if a direction of the cone goes along another at all."""
        from scipy.optimize import linprog

        while True:
            none = np.zeros(int(self.used.sum()))
            found = linprog(-aim, A_ub=-self.rows[self.used], b_ub=none, bounds=(-1.0, 1.0), method="highs")
            if not found.success or -found.fun < TINY:
                return False
            slack = self.rows @ found.x
            against = np.flatnonzero((slack < -TINY) & ~self.used)
            if not len(against):
                return bool(slack.min(initial=0.0) > -10.0 * TINY)
            self.used[against[np.argsort(slack[against])][:FIRST]] = True

    def side(self, place: int) -> int | None:
        """To which side a parameter runs off; 0 for both, None for neither."""
        aim = np.zeros(self.size)
        aim[place] = 1.0
        up, down = self.goes(aim), self.goes(-aim)
        return None if not (up or down) else int(up) - int(down)

    def is_wide(self) -> bool:
        """True if all rows' bounds can move away together."""
        from scipy.optimize import linprog

        aim = np.zeros(self.size + 1)
        aim[-1] = -1.0  # the smallest distance
        kept = np.column_stack([-self.rows, np.ones(len(self.rows))])
        found = linprog(aim, A_ub=kept, b_ub=np.zeros(len(kept)), bounds=(-1.0, 1.0), method="highs")
        return bool(found.success and -found.fun > TINY)
