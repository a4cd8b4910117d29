"""An answer as a function of two edges at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.frames import as_frame
from halftrek.bottom.portable import Portable
from halftrek.estimation import Fitted
from halftrek.graphs import Edge
from halftrek.inference import How
from halftrek.notes import Note, note
from halftrek.partial.varied.curve import REACH, WEIGHT, checked_values, default_values, followed, intervals_of
from halftrek.partial.varied.engine.family import Family
from halftrek.partial.varied.engine.points import Points
from halftrek.partial.varied.marks import Mark, marks_of
from halftrek.queries import Query
from halftrek.upward import Tabled

POINTS = 21  # along each edge


@dataclass(frozen=True, eq=False, repr=False)
class Contours(Portable, Tabled):
    """An answer as a function of two edges: ``estimates[i, j]`` where they have the values ``values[i, j]``.

    ``correlations[i, j]`` are the same two values without units: correlations of errors, or weights in standard
    deviations. ``intervals[i, j]`` are the ends of the interval, nan unless intervals were asked for. Nan where there
    is no model; ``beyond`` tells models that lie on the other side of a pole than the graph as it is.
    """

    question: str
    edges: tuple[str, str]
    values: Floats
    correlations: Floats
    estimates: Floats
    intervals: Floats
    beyond: Flags
    level: float
    target: float = 0.0
    marks: tuple[tuple[Mark, ...], tuple[Mark, ...]] = ((), ())
    notes: tuple[Note, ...] = ()
    library: str = ""

    def to_frame(self) -> Any:
        """A tidy frame, one row for each pair of values: first second, their correlations, est ci_low ci_high."""
        columns = {"first": self.values[..., 0], "second": self.values[..., 1]}
        columns |= {"first_correlation": self.correlations[..., 0], "second_correlation": self.correlations[..., 1]}
        columns |= {"est": self.estimates, "ci_low": self.intervals[..., 0], "ci_high": self.intervals[..., 1]}
        return as_frame({name: column.ravel().tolist() for name, column in columns.items()}, self.library)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def contours_of(
    fitted: Fitted,
    query: Query,
    edges: tuple[Edge, Edge],
    *,
    values: Sequence[Sequence[float]] | None = None,
    level: float = 0.95,
    target: float = 0.0,
    intervals: bool = False,
) -> Contours:
    """The answer for each pair of values of two edges; ``intervals`` are made if asked for, since they take longer."""
    family = Family(fitted, query, edges)
    _ = family.verdict  # refuses a question that has no answer once the edges are held
    points, shape, nominal = _grid(family, values)
    estimates = points.answers(family.behind)
    ends = np.full((len(estimates), 2), np.nan)
    told: tuple[Note, ...] = ()
    if intervals:
        ends, told = intervals_of(family, points, estimates, How(interval=None, level=level))
    both = f"{edges[0]} and {edges[1]}"
    said = [followed(family)]
    lost = int(np.isnan(estimates).sum())
    if lost:
        said.append(note("values without a model", count=lost, total=len(estimates), edges=both))
    with np.errstate(invalid="ignore"):
        beyond = family.turns(points) < 0.0
    return Contours(
        str(query), (str(edges[0]), str(edges[1])), points.values(edges).reshape(*shape, 2),
        (family.shares(points) if nominal is None else nominal).reshape(*shape, 2), estimates.reshape(shape),
        ends.reshape(*shape, 2), beyond.reshape(shape), level, target,
        (marks_of(fitted, edges[0]), marks_of(fitted, edges[1])), (*said, *told), fitted.frame,
    )  # fmt: skip


def _grid(family: Family, values: Sequence[Sequence[float]] | None) -> tuple[Points, tuple[int, ...], Floats | None]:
    """Models over all pairs of values; left out, of correlations and weights in standard deviations, given too."""
    if values is None and family.by_share:
        axes = [np.linspace(-1.0, 1.0, POINTS) * (WEIGHT if e.kind == "->" else REACH) for e in family.edges]
    elif values is None:
        axes = [default_values(family, k, POINTS) for k in range(2)]
    else:
        axes = [checked_values(one) for one in values]
    one, two = np.meshgrid(*axes, indexing="ij")
    pairs = np.stack([one.ravel(), two.ravel()], axis=1)
    if values is None and family.by_share:
        return family.at_shares(pairs), one.shape, pairs
    return family.at(pairs), one.shape, None
