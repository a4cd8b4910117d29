"""How strong must something be that the graph leaves out, for an answer to be zero, or no longer significant?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from halftrek.bottom.progress import late_bar
from halftrek.errors import InputError, NotIdentifiedError
from halftrek.estimation import Fitted
from halftrek.graphs import Edge, Graph
from halftrek.inference import How
from halftrek.notes import Note, note
from halftrek.partial.hidden.counted import refuse_uncounted
from halftrek.partial.hidden.marked import by_error, marked
from halftrek.partial.varied.common import common_limit
from halftrek.partial.varied.engine.crossings import Crossing, crossings
from halftrek.partial.varied.engine.edges import EdgeLike, has_edge, read_edge
from halftrek.partial.varied.engine.family import Family, drawn_value
from halftrek.partial.varied.engine.minimax import STEPS
from halftrek.partial.varied.engine.significance import where_lost
from halftrek.partial.varied.listed import Listed
from halftrek.partial.varied.omitted import Regression, regression_behind, robustness_value
from halftrek.partial.varied.ranking import ranking_of
from halftrek.partial.varied.target import looked_for
from halftrek.queries import Query
from halftrek.results.answering import answer
from halftrek.results.answers import Answer
from halftrek.results.given.inputs import read_question
from halftrek.upward import Faces

SAME = 1e-8  # correlations that differ by less are one


@dataclass(frozen=True)
class EdgeRobustness(Faces):
    """What one edge has to be for the answer to change.

    - ``smallest``: the least correlation of the two errors (of an arrow: the least weight, in standard deviations) with
      which the answer is the target; None if no value does it. ``value`` is the same with its sign, as a covariance or
      weight in the units of the data; ``rv`` is the robustness value of an arc: a hidden cause that explains this share
      of what is left of both ends does it;
    - ``lost``, ``lost_value``, ``lost_rv``: the same for the first value at which the interval holds the target;
    - ``held_by_data``: data tell the edge, so that everything was estimated again with it held; ``deviance`` is then
      how much twice the log-likelihood falls at ``value``.
    """

    edge: str
    smallest: float | None
    value: float | None
    rv: float | None = None
    lost: float | None = None
    lost_value: float | None = None
    lost_rv: float | None = None
    held_by_data: bool = False
    deviance: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Listed):
    """The answer, and for each edge how strong it must be to change it, the least first.

    ``common`` is one limit for all absent edges together (correlations of errors, and weights in standard deviations
    of arrows along the graph's order): if all are smaller, no model was found in which the answer is the target.
    ``common_arcs`` is the same for correlations of errors alone, ``common_rv`` its robustness value.
    """

    row: ClassVar = EdgeRobustness

    question: str
    estimate: float
    interval: tuple[float, float]
    level: float
    target: float
    rows: tuple[EdgeRobustness, ...]
    common: float | None = None
    common_arcs: float | None = None
    common_rv: float | None = None
    notes: tuple[Note, ...] = ()
    library: str = ""

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def robustness_of(
    fitted: Fitted,
    question: str | Query,
    edge: EdgeLike | None = None,
    *,
    target: float | None = None,
    level: float = 0.95,
) -> Robustness:
    """For one edge, or for every absent edge that carries the answer and all absent edges together."""
    target = looked_for(target, read_question(question))
    if fitted.moments.layer is not None and edge is None:
        raise InputError(
            "robustness() of all edges at once is not known where columns are ordered or ranked: whether data test an "
            'edge is asked of normal rows there; say which one, fit.robustness(question, edge="x <-> y")'
        )
    refuse_uncounted(fitted, "robustness()")
    said = answer(fitted, question, level=level)
    query = said.query
    edges = [read_edge(fitted.graph, edge)] if edge is not None else _carrying(fitted, query, target)
    together = edge is None and not fitted.graph.hidden
    plan = _Plan(marked(fitted, query), query, said, target, level, _regression(fitted, query), fitted.graph)
    rows, steps = [], len(edges) + (2 * STEPS if together else 0)
    limits: dict[str, float | None] = {}
    undetermined: list[Edge] = []
    with late_bar("robustness") as advance:
        for done, one in enumerate(edges):
            try:
                rows.append(plan.row(one))
            except NotIdentifiedError:
                if edge is not None:
                    raise
                undetermined.append(one)
            advance(done + 1, steps)
        if together:
            arcs = common_limit(fitted, query, target, arrows=False, advance=lambda k: advance(len(edges) + k, steps))
            both = common_limit(
                fitted, query, target, arrows=True, advance=lambda k: advance(len(edges) + STEPS + k, steps)
            )
            advance(steps, steps)
            limits = {"common": both if arcs is None or both is None else min(both, arcs), "common_arcs": arcs,
                      "common_rv": None if arcs is None else robustness_value(arcs)}  # fmt: skip
    low, high = plan.interval
    rows.sort(key=lambda row: float("inf") if row.smallest is None else row.smallest)
    notes = [n for n in said.notes if n.level in ("doubt", "warning")]
    bare = [row for row in rows if row.smallest is None and row.value is not None]
    if bare:
        at = ", ".join(f"{row.value:.3g} of {row.edge}" for row in bare)
        goes = f"; the answer is {target:g} at a covariance of {at}"
        notes.append(note("no correlation", edges=", ".join(row.edge for row in bare), at=goes))
    scaleless = [e for e in undetermined if {e.first, e.second}.intersection(by_error(fitted.graph))]
    if scaleless:
        notes.append(note("strength not known", edges=", ".join(map(str, scaleless))))
    undetermined = [e for e in undetermined if e not in scaleless]
    if undetermined:
        one = undetermined[0]
        assume = f"abs(corr({one})) <= 0.3" if one.kind == "<->" else f"abs({one}) <= 0.3"
        notes.append(note("undetermined beside an edge", edges=", ".join(map(str, undetermined)), assume=assume))
    if edge is None:
        notes.append(note("edges left out of robustness", edges=len(edges)))
    if edge is None and not together:
        notes.append(note("no common limit", hidden=", ".join(fitted.graph.hidden[:4])))
    return Robustness(str(query), plan.estimate, (low, high), level, target, tuple(rows), notes=tuple(notes),
                      library=fitted.frame, **limits)  # fmt: skip


def _regression(fitted: Fitted, query: Query) -> Regression | None:
    """The regression behind an answer; of variables that nobody saw as they are there is none."""
    unseen = fitted.graph.hidden or fitted.moments.layer is not None
    return None if unseen else regression_behind(fitted, query)


def _carrying(fitted: Fitted, query: Query, target: float) -> list[Edge]:
    return [Edge.read(row.edge) for row in ranking_of(fitted, query, target=target).carrying]


@dataclass(frozen=True, eq=False)
class _Plan:
    """What all edges share."""

    fitted: Fitted
    query: Query
    said: Answer
    target: float
    level: float
    regression: Regression | None
    drawn: Graph

    @property
    def estimate(self) -> float:
        return float(self.said.value)

    @property
    def interval(self) -> tuple[float, float]:
        ends = self.said.interval
        return (float("nan"), float("nan")) if ends is None else (float(ends[0]), float(ends[1]))

    @property
    def _kind(self) -> str:
        return "" if self.said.estimate is None else self.said.estimate.kind

    def row(self, edge: Edge) -> EdgeRobustness:
        """What one edge has to be."""
        family = Family(self.fitted, self.query, (edge,))
        _ = family.verdict  # refuses a question that has no answer once the edge is held
        found = crossings(family, self.target)
        nearest = found[0] if found else None
        row = EdgeRobustness(str(edge), None, None, held_by_data=family.told)
        if nearest is not None:
            smallest, rv = _strength(nearest, edge)
            row = replace(row, smallest=smallest, value=nearest.value, rv=rv)
            if family.told:
                row = replace(row, deviance=family.deviance(nearest.value))
        return self._as_drawn(self._lost(row, family, nearest), family)

    def _as_drawn(self, row: EdgeRobustness, family: Family) -> EdgeRobustness:
        """The row with its values on the scales of the graph as it was drawn."""
        edge = family.edges[0]
        if self.fitted.graph == self.drawn or not {edge.first, edge.second}.intersection(by_error(self.drawn)):
            return row
        value, lost = (None if x is None else drawn_value(family, x, self.drawn) for x in (row.value, row.lost_value))
        return replace(row, value=value, lost_value=lost)

    def _lost(self, row: EdgeRobustness, family: Family, nearest: Crossing | None) -> EdgeRobustness:
        low, high = self.interval
        if low <= self.target <= high:
            return replace(row, lost=0.0, lost_value=0.0, lost_rv=0.0 if row.rv is not None else None)
        closed = self._closed_form(family, nearest)
        if closed is not None:
            share, rv = closed
            value = float(family.at_shares(np.array([[share]])).values(family.edges)[0, 0])
            return replace(row, lost=abs(share), lost_value=value, lost_rv=rv)
        how = How(interval=None, level=self.level)
        found = where_lost(family, self.target, self.estimate > self.target, how, nearest)
        if found is None:
            return row
        size = _strength(found, family.edges[0])
        return replace(row, lost=size[0], lost_value=found.value, lost_rv=size[1])

    def _closed_form(self, family: Family, nearest: Crossing | None) -> tuple[float, float] | None:
        """That of a regression, where the edge joins its cause and effect and normal theory suits the rows."""
        edge, known = family.edges[0], self.regression
        if known is None or nearest is None or edge.kind != "<->" or has_edge(self.fitted.graph, edge):
            return None
        if {edge.first, edge.second} != {known.cause, known.effect} or self._kind not in ("delta", "t"):
            return None
        f = known.strength(self.target)
        if not abs(abs(nearest.share) - f / float(np.sqrt(1.0 + f * f))) <= SAME:
            return None
        share, rv = known.lost(self.level, self.target)
        return float(np.copysign(share, nearest.share)), rv


def _strength(found: Crossing, edge: Edge) -> tuple[float | None, float | None]:
    """A value without its units, and of an arc its robustness value; None where data tell no correlation."""
    if np.isnan(found.share):
        return None, None
    return abs(found.share), robustness_value(found.share) if edge.kind == "<->" else None
