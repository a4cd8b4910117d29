"""One parameter of a fit with its uncertainty, a row of the table of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import nan

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Edge
from halftrek.inference.evidence.evidence import two_sided
from halftrek.inference.intervals.base import ends_on
from halftrek.queries.gradients import Scale

NO_MEANS = "no means were given"
UNDETERMINED = "not determined by data"


@dataclass(frozen=True)
class Parameter:
    """One row, written as in lavaan: ``y ~ x``, ``x ~~ y``, ``f =~ x``, ``y ~1``; nan where nothing is determined."""

    lhs: str
    op: str
    rhs: str
    est: float
    se: float
    z: float
    p: float
    ci_low: float
    ci_high: float
    std: float
    note: str = ""

    @property
    def edge(self) -> Edge:
        """The parameter as an edge."""
        first, second = (self.lhs, self.rhs) if self.op in ("~~", "=~") else (self.rhs, self.lhs)
        return Edge(first, "<->" if self.op == "~~" else "->", second)


FIELDS = tuple(f.name for f in fields(Parameter))


@dataclass(frozen=True)
class Reach:
    """How many standard errors an interval reaches, at which level, and by how much a variance is estimated too low."""

    quantile: float
    level: float = 0.95
    lift: float = 1.0


def row_of(
    lhs: str, op: str, rhs: str, est: float, se: Floats | float, std: float, reach: Reach, note: str = ""
) -> Parameter:
    """A row with its interval; nothing but a note where data do not determine it."""
    error, value = float(se), float(est)
    if np.isnan(error):
        return Parameter(lhs, op, rhs, nan, nan, nan, nan, nan, nan, nan, note or UNDETERMINED)
    scale: Scale = "log" if op == "~~" and lhs == rhs else "plain"
    far = np.array([reach.quantile * error if error else 0.0])
    low, high = map(float, ends_on(scale, np.array([value]), far, reach.lift)[0])
    z = value / error if error > 0.0 else nan
    p = float(two_sided(np.array(z), reach.quantile, reach.level))
    return Parameter(lhs, op, rhs, value, error, z, p, low, high, float(std), note)
