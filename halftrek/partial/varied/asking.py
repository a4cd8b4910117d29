"""What users ask: an answer along one edge or two, from a fit, or from a graph and data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from halftrek.bottom.calls import public
from halftrek.errors import GraphError, InputError
from halftrek.estimation import Fitted
from halftrek.graphs import Edge, Graph
from halftrek.graphs.hidden import scaled_by
from halftrek.partial.hidden.marked import by_error, marked
from halftrek.partial.varied.contours import Contours, contours_of
from halftrek.partial.varied.curve import Sensitivity, curve_of
from halftrek.partial.varied.engine.edges import EdgeLike, read_edges
from halftrek.partial.varied.engine.family import Family
from halftrek.partial.varied.target import looked_for
from halftrek.queries import Query
from halftrek.results.given.inputs import read_graph, read_question
from halftrek.results.workflow import fit

Values = Sequence[float] | Sequence[Sequence[float]]


def varied(
    fitted: Fitted,
    question: str | Query,
    edge: EdgeLike | Sequence[EdgeLike],
    *,
    values: Values | None = None,
    level: float = 0.95,
    target: float | None = None,
    intervals: bool = False,
) -> Sensitivity | Contours:
    """The answer along one edge, or over two."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {level!r}")
    query, edges = read_question(question), read_edges(fitted.graph, edge)
    target = looked_for(target, query)
    for e in edges:
        if e.first in fitted.graph.hidden and e.kind == "->" and scaled_by(fitted.graph, e.first) == e.second:
            raise InputError(f"{e} sets the scale of hidden {e.first!r}, and other values of it say nothing new")
    unscaled = {v for e in edges for v in (e.first, e.second)}.intersection(by_error(fitted.graph))
    fitted = fitted if unscaled else marked(fitted, query)
    if unscaled and not Family(fitted, query, edges).answered:
        raise InputError(
            f"sensitivity: hidden {min(unscaled)!r} is on the scale of its error, whose sign is free, so that values "
            f"of {edges[0]} say nothing of it; fix a loading, {min(unscaled)} -> {_item(fitted, min(unscaled))} [1]"
        )
    if len(edges) == 1:
        return curve_of(fitted, query, edges[0], values=_numbers(values), level=level, target=target)
    return contours_of(
        fitted, query, (edges[0], edges[1]), values=_lists(values), level=level, target=target, intervals=intervals
    )


def _item(fitted: Fitted, hidden: str) -> str:
    """An effect that may give a hidden variable its scale."""
    return next((v for v in fitted.graph.children(hidden) if v in fitted.graph.observed), "item")


def _numbers(values: Values | None) -> list[float] | None:
    if values is None:
        return None
    found = [x for x in np.asarray(values).tolist() if isinstance(x, int | float)]
    if len(found) != len(values):
        raise InputError("sensitivity: for one edge values are numbers, in one list")
    return found


def _lists(values: Values | None) -> list[list[float]] | None:
    if values is None:
        return None
    found = [list(one) for one in values if not isinstance(one, int | float)]
    if len(found) != 2 or len(values) != 2:
        raise InputError("sensitivity: for two edges values are two lists of numbers, one for each edge")
    return found


@overload
def sensitivity(
    graph: object,
    data: object,
    question: str | Query,
    *,
    arc: tuple[str, str],
    values: Sequence[float] | None = None,
    level: float = 0.95,
    target: float | None = None,
) -> Sensitivity: ...
@overload
def sensitivity(
    graph: object,
    data: object,
    question: str | Query,
    *,
    edge: EdgeLike | Sequence[EdgeLike],
    values: Values | None = None,
    level: float = 0.95,
    target: float | None = None,
) -> Sensitivity | Contours: ...
@public
def sensitivity(
    graph: object,
    data: object,
    question: str | Query,
    *,
    arc: tuple[str, str] | None = None,
    edge: EdgeLike | Sequence[EdgeLike] | None = None,
    values: Values | None = None,
    level: float = 0.95,
    target: float | None = None,
) -> Sensitivity | Contours:
    """The answer for each value of an edge, which the graph may have or lack; see ``Fit.sensitivity``.

    ``edge`` is written ``"x <-> y"`` or ``"x -> y"``, and may be a list of two; ``arc=("x", "y")`` is the first of
    these. ``values`` are covariances of the two errors, or weights of the arrow; the default is a range around zero.
    """
    chosen = read_graph(graph)
    if (arc is None) == (edge is None):
        raise InputError('sensitivity takes the edge to vary, like edge="x <-> y", or arc=("x", "y")')
    named = _arc(chosen, arc) if arc is not None else read_edges(chosen, edge)  # type: ignore[arg-type]
    return varied(fit(chosen, data), question, list(named), values=values, level=level, target=target)


def _arc(graph: Graph, arc: Sequence[str]) -> tuple[Edge, ...]:
    if isinstance(arc, str) or len(tuple(arc)) != 2:
        raise InputError(f'arc is a pair of variables, like arc=("x", "y"), not {arc!r}')
    first, second = arc
    for v in (first, second):
        graph.parents(v)  # an unknown or hidden name is refused here, with a hint
    if first == second:
        raise GraphError(f"arc names {first!r} twice; it takes two variables")
    return (Edge(first, "<->", second),)
