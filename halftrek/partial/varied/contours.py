"""An answer as a function of two edges at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.frames import as_frame
from halftrek.graphs import Edge
from halftrek.inference import How
from halftrek.notes import Note, note
from halftrek.partial.varied.curve import checked_values, default_values
from halftrek.partial.varied.family import Family
from halftrek.partial.varied.marks import Mark, marks_of
from halftrek.portable import Portable
from halftrek.progress import late_bar
from halftrek.queries import Query
from halftrek.upward import Tabled

POINTS = 21  # along each edge


@dataclass(frozen=True, eq=False, repr=False)
class Contours(Portable, Tabled):
    """An answer as a function of two edges: ``estimates[i, j]`` where they have the values ``first[i]``, ``second[j]``.

    ``intervals[i, j]`` are the two ends of its interval. ``correlations[i, j]`` are the same values without units:
    correlations of errors, or weights in standard deviations. Nan where there is no model.
    """

    question: str
    edges: tuple[str, str]
    first: Floats
    second: Floats
    correlations: Floats
    estimates: Floats
    intervals: Floats
    level: float
    target: float = 0.0
    marks: tuple[tuple[Mark, ...], tuple[Mark, ...]] = ((), ())
    notes: tuple[Note, ...] = ()
    library: str = ""

    def to_frame(self) -> Any:
        """A tidy frame, one row for each pair of values: first second est ci_low ci_high."""
        one, two = np.meshgrid(self.first, self.second, indexing="ij")
        columns = {"first": one, "second": two, "est": self.estimates}
        columns |= {"ci_low": self.intervals[..., 0], "ci_high": self.intervals[..., 1]}
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
) -> Contours:
    """The answer for each pair of values of two edges."""
    family = Family(fitted, query, edges)
    _ = family.verdict  # refuses a question that has no answer once the edges are held
    if values is None:
        first, second = default_values(family, 0, POINTS), default_values(family, 1, POINTS)
    elif len(values) != 2:
        raise InputError("sensitivity: for two edges values are two lists of numbers, one for each edge")
    else:
        first, second = checked_values(values[0]), checked_values(values[1])
    one, two = np.meshgrid(first, second, indexing="ij")
    points = family.at(np.stack([one.ravel(), two.ravel()], axis=1))
    estimates, how = points.answers(query), How(interval=None, level=level)
    intervals, notes = np.full((len(estimates), 2), np.nan), {}
    with late_bar("sensitivity") as advance:
        for k in np.flatnonzero(np.isfinite(estimates)):
            judged = family.judged(points, int(k), how)
            intervals[k] = judged.estimate.intervals[0]
            notes.update({n.code: n for n in judged.notes if n.code not in notes})
            advance(int(k) + 1, len(estimates))
    both = f"{edges[0]} and {edges[1]}"
    said = [note("covariance stays" if family.direct else "each value refitted", edges=both)]
    if np.isnan(estimates).any():
        said.append(note("values without a model", count=int(np.isnan(estimates).sum()), total=one.size, edges=both))
    shape = one.shape
    return Contours(
        str(query), (str(edges[0]), str(edges[1])), first, second, points.shares(edges).reshape(*shape, 2),
        estimates.reshape(shape), intervals.reshape(*shape, 2), level, target,
        (marks_of(fitted, edges[0]), marks_of(fitted, edges[1])), (*said, *notes.values()), fitted.frame,
    )  # fmt: skip
