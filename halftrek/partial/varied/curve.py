"""An answer as a function of the value of one edge, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.bottom.frames import as_frame
from halftrek.bottom.portable import Portable
from halftrek.bottom.progress import late_bar
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import refit
from halftrek.graphs import Edge
from halftrek.inference import How
from halftrek.notes import Note, note
from halftrek.partial.varied.engine.bracket import Bracket, narrowed
from halftrek.partial.varied.engine.edges import has_edge, held, plain
from halftrek.partial.varied.engine.family import Family
from halftrek.partial.varied.engine.points import Points
from halftrek.partial.varied.engine.poles import poles_between
from halftrek.partial.varied.marks import Mark, marks_of
from halftrek.queries import Query
from halftrek.upward import Tabled

REACH = 0.75  # of the errors' standard deviations, to either side ...
WEIGHT = 0.5  # ... and of an arrow, in standard deviations of both variables
POINTS = 21


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Portable, Tabled):
    """An answer as a function of one edge: of the covariance of two errors, or of the weight of an arrow.

    ``correlation`` is the same without units: the correlation of the two errors, or the weight in standard deviations.
    Where no model has a value, or the answer runs off to infinity (``poles``), estimate and interval are nan. ``zero``
    and ``zero_correlation`` say where the answer is the ``target``, zero unless another was asked for; None if it is
    not within the range. ``marks`` are observed variables, each at the correlation that leaving it out would cause.
    """

    question: str
    edge: str
    values: Floats
    correlation: Floats
    estimates: Floats
    intervals: Floats
    level: float
    target: float = 0.0
    zero: float | None = None
    zero_correlation: float | None = None
    poles: tuple[float, ...] = ()
    marks: tuple[Mark, ...] = ()
    notes: tuple[Note, ...] = ()
    library: str = ""

    @property
    def arc(self) -> tuple[str, str]:
        """The two ends of the edge."""
        edge = Edge.read(self.edge)
        return edge.first, edge.second

    @property
    def covariance(self) -> Floats:
        """The values of the edge, which for an arc are covariances."""
        return self.values

    @property
    def is_arc(self) -> bool:
        """True for a covariance of errors, False for the weight of an arrow."""
        return Edge.read(self.edge).kind == "<->"

    def to_frame(self) -> Any:
        """A tidy frame: covariance (of an arrow: weight) correlation est ci_low ci_high."""
        low, high = self.intervals[:, 0].tolist(), self.intervals[:, 1].tolist()
        name = "covariance" if self.is_arc else "weight"
        columns = {name: self.values.tolist(), "correlation": self.correlation.tolist()}
        return as_frame({**columns, "est": self.estimates.tolist(), "ci_low": low, "ci_high": high}, self.library)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def curve_of(
    fitted: Fitted,
    query: Query,
    edge: Edge,
    *,
    values: Sequence[float] | None = None,
    level: float = 0.95,
    target: float = 0.0,
) -> Sensitivity:
    """The answer for each value of an edge that the graph may have or lack; everything else is what the data say then.

    Where data leave the edge free, these are models of the fitted covariance, and nothing is estimated again.
    """
    family = Family(fitted, query, (edge,))
    verdict = family.verdict
    given = default_values(family, 0) if values is None else checked_values(values)
    points = family.at(given[:, None])
    gaps = poles_between(family, given, points) if np.isfinite(points.T).all(axis=(1, 2)).sum() > 1 else []
    if gaps:
        given = np.unique(np.concatenate([given, gaps, *(_around(given, gap) for gap in gaps if values is None)]))
        points = family.at(given[:, None])
    estimates = np.where(np.isin(given, gaps), np.nan, points.answers(family.behind))
    if np.isfinite(estimates).sum() < 2:
        raise InputError(f"sensitivity: no model of these data has such values of {edge}")
    intervals, said = intervals_of(family, points, estimates, How(interval=None, level=level))
    zero = _nearest(family, given, estimates, target)
    notes = _notes(family, estimates, gaps, verdict.status == "finite")
    return Sensitivity(
        str(query), str(edge), given, family.shares(points)[:, 0], estimates, intervals, level, target,
        zero, None if zero is None else float(family.shares(family.at(np.array([[zero]])))[0, 0]),
        tuple(gaps), marks_of(fitted, edge), (*notes, *said), fitted.frame,
    )  # fmt: skip


def checked_values(values: Sequence[float]) -> Floats:
    """What a user gave, in order."""
    found = np.sort(np.asarray(values, dtype=float))
    if found.ndim != 1 or len(found) < 2 or not np.isfinite(found).all():
        raise InputError(
            "sensitivity: values must be at least two numbers: covariances of errors, or weights of an arrow"
        )
    return np.unique(found)


def default_values(family: Family, which: int, points: int = POINTS) -> Floats:
    """Values around zero, as large as the errors without the edge allow and a little less."""
    edge = family.edges[which]
    i, j = (family.fitted.model.names.index(v) for v in (edge.first, edge.second))
    if edge.kind == "->":
        reach = WEIGHT * float(family.units[which])
    else:
        omega = _without(family.fitted, edge).model.omega
        reach = REACH * float(np.sqrt(omega[i, i] * omega[j, j]))
    if not family.direct:
        reach = max(reach, 1.25 * abs(float(family.standing[which])))
    half = np.linspace(0.0, reach, points // 2 + 1)  # zero itself is among them, and not 1e-16
    return np.concatenate([-half[:0:-1], half])


def _around(values: Floats, pole: float) -> Floats:
    """More values where the curve is steep."""
    near = pole + np.diff(values).min() * np.array([-2.5, -1.5, -0.8, -0.4, 0.4, 0.8, 1.5, 2.5])
    return np.asarray(near[(near > values[0]) & (near < values[-1])])


def _without(fitted: Fitted, edge: Edge) -> Fitted:
    graph = plain(fitted.graph)
    if not has_edge(graph, edge):
        return fitted
    arcs = [arc for arc in graph.bidirected if set(arc) != {edge.first, edge.second}]
    without = held(graph, [edge], [0.0]) if graph.hidden else graph.with_(bidirected=arcs)
    options = fitted.options
    return refit(fitted, without, noise=dict(options.noise), intercepts=dict(options.intercepts))


def intervals_of(family: Family, points: Points, estimates: Floats, how: How) -> tuple[Floats, tuple[Note, ...]]:
    """An interval for every answer, and what there is to know of any of them, each thing once."""
    found, notes = np.full((len(estimates), 2), np.nan), {}
    with late_bar("sensitivity") as advance:
        for k in np.flatnonzero(np.isfinite(estimates)):
            judged = family.judged(points, int(k), how)
            found[k] = judged.estimate.intervals[0]
            notes.update({n.code: n for n in judged.notes if n.code not in notes})
            advance(int(k) + 1, len(estimates))
    return found, tuple(notes.values())


def _nearest(family: Family, values: Floats, estimates: Floats, target: float) -> float | None:
    """The value nearest to zero at which the answer is the target, between those that were looked at."""
    off = estimates - target
    low = np.flatnonzero(off[1:] * off[:-1] < 0.0)
    exact = values[off == 0.0]
    near = np.zeros((len(low), 0))

    def step(_at: Ints, along: Floats, near: Floats) -> tuple[Floats, Floats]:
        return near, family.at(along[:, None]).answers(family.behind)

    bracket = Bracket(values[low], values[low + 1], off[low], off[low + 1], near)
    root, _ = narrowed(bracket, step, target, close=1e-12)
    found = np.concatenate([root[np.isfinite(root)], exact])
    return float(found[np.argmin(np.abs(found))]) if len(found) else None


def followed(family: Family) -> Note:
    """Whether the fitted covariance stays, or each value is fitted again."""
    refitted = "fitted at each value" if family.fitted.graph.hidden else "each value refitted"
    edges = " and ".join(map(str, family.edges))
    return note("covariance stays" if family.direct else refitted, edges=edges)


def _notes(family: Family, estimates: Floats, gaps: Sequence[float], several: bool) -> list[Note]:
    edge = str(family.edges[0])
    found = [followed(family)]
    if family.without_share.any():
        found.append(note("no correlation", edges=edge, at=""))
    if several:
        found.append(note("one of several", edges=edge))
    lost = int(np.isnan(estimates).sum()) - len(gaps)
    if lost:
        found.append(note("values without a model", count=lost, total=len(estimates) - len(gaps), edges=edge))
    return found + [note("a pole", where=float(f"{gap:.4g}"), edges=edge) for gap in gaps]
