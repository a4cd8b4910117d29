"""What would help: the smallest changes that make a query identified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, starmap
from time import monotonic

from halftrek.graphs import Edge, Graph
from halftrek.identification.local.jacobian import jacobian_test
from halftrek.notes import Note, note
from halftrek.queries.checks import all_variants, variables_of
from halftrek.queries.kinds.terms import leaves
from halftrek.queries.kinds.variants import variants_in
from halftrek.queries.types import (
    Arithmetic,
    DirectEffect,
    Distribution,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)

Decide = Callable[[Graph, Query], bool]
_KNOWN = 0.37109375  # stands for "some number that is known"; nothing hangs on its value


@dataclass(frozen=True, eq=False)
class Change:
    """A change in words, and the graph (and query) after it."""

    kind: str
    note: Note
    graph: Graph
    query: Query

    @property
    def text(self) -> str:
        """The change in words."""
        return str(self.note)


def helpful_changes(graph: Graph, query: Query, decide: Decide, *, seconds: float = 1.0, most: int = 6) -> list[Change]:
    """Single changes that make the query identified, the cheapest to argue for first; pairs of them if none does."""
    deadline = monotonic() + seconds
    found: list[Change] = []
    for change in _single_changes(graph, query):
        if monotonic() > deadline or len(found) == most:
            return found
        if _works(change, decide):
            found.append(change)
    if found:
        return found
    for first, second in combinations(list(_ruled_out(graph, query)), 2):
        if monotonic() > deadline or len(found) == most:
            break
        removed = set(graph.bidirected) - (set(first.graph.bidirected) & set(second.graph.bidirected))
        arcs = [e for e in graph.bidirected if e not in removed]
        facts = {**first.note.facts, **{f"other_{name}": v for name, v in second.note.facts.items()}}
        both = Change("rule out", Note("rule out two arcs", facts), graph.with_(bidirected=arcs), query)
        if _works(both, decide):
            found.append(both)
    return found


def is_identified_with(graph: Graph, query: Query, edge: Edge, decide: Decide) -> bool:
    """True if the query is identified once the coefficient or covariance of an edge is known from elsewhere."""
    known = graph.with_(coefficients={**graph.coefficients, str(edge): _KNOWN})
    return _works(Change("know", note("know coefficient", edge=str(edge)), known, query), decide)


def _works(change: Change, decide: Decide) -> bool:
    return jacobian_test(change.graph, change.query) and decide(change.graph, change.query)


def _single_changes(graph: Graph, query: Query) -> Iterator[Change]:
    yield from _ruled_out(graph, query)
    yield from _measured_confounder(graph, query)
    yield from _new_instrument(graph, query)
    yield from _new_mediator(graph, query)
    yield from _known_coefficient(graph, query)


def _ruled_out(graph: Graph, query: Query) -> Iterator[Change]:
    for u, v in graph.bidirected:
        changed = graph.with_(bidirected=[e for e in graph.bidirected if e != (u, v)])
        yield Change("rule out", note("rule out arc", first=u, second=v), changed, query)


def _measured_confounder(graph: Graph, query: Query) -> Iterator[Change]:
    for u, v in graph.bidirected:
        arcs = [e for e in graph.bidirected if e != (u, v)]
        name = _fresh(graph, "confounder")
        changed = graph.with_(directed=[*graph.directed, (name, u), (name, v)], bidirected=arcs)
        yield Change("measure", note("measure common cause", first=u, second=v), changed, query)
    for u, kids in graph.latents.items():
        hidden = {h: c for h, c in graph.latents.items() if h != u}
        changed = graph.with_(directed=[*graph.directed, *((u, c) for c in kids)], latents=hidden)
        yield Change("measure", note("measure hidden cause", variable=u), changed, query)


def causes_of(query: Query) -> tuple[str, ...]:
    """What is held, moved or asked about as a cause."""
    match query:
        case DirectEffect() | TotalEffect() | PathEffect() | ThroughEffect():
            return variables_of(query)[:-1]
        case Standardized(effect):
            return causes_of(effect)
        case Arithmetic():
            return tuple(dict.fromkeys(x for leaf in leaves(query) for x in causes_of(leaf)))
        case Statistic() | Probability() | Quantile() | Distribution():
            targets = (t for v in all_variants(query) for w in variants_in(v) for t in w.changes)
            return tuple(dict.fromkeys(t if isinstance(t, str) else t[0] for t in targets))
    return ()


def _new_instrument(graph: Graph, query: Query) -> Iterator[Change]:
    for x in causes_of(query):
        changed = graph.with_(directed=[(_fresh(graph, "instrument"), x), *graph.directed])
        yield Change("instrument", note("measure instrument", cause=x), changed, query)


def _new_mediator(graph: Graph, query: Query) -> Iterator[Change]:
    named = variables_of(query)
    for u, v in graph.directed:
        if u in causes_of(query) and v in named:
            name = _fresh(graph, "mediator")
            arrows = [e for e in graph.directed if e != (u, v)] + [(u, name), (name, v)]
            asked: Query = TotalEffect(u, v) if isinstance(query, DirectEffect) else query
            yield Change("mediator", note("measure mediator", cause=u, effect=v), graph.with_(directed=arrows), asked)


def _known_coefficient(graph: Graph, query: Query) -> Iterator[Change]:
    asked = {f"{query.cause} -> {query.effect}"} if isinstance(query, DirectEffect | TotalEffect) else set()
    asked |= {str(query)}
    for edge in starmap(Edge, graph.edges()):
        if edge in graph.known or str(edge) in asked or edge.first in graph.latents:
            continue
        known = graph.with_(coefficients={**graph.coefficients, str(edge): _KNOWN})
        code = "know error covariance" if edge.kind == "<->" else "know coefficient"
        yield Change("know", note(code, edge=str(edge)), known, query)


def _fresh(graph: Graph, name: str) -> str:
    taken = {*graph.observed, *graph.latents}
    while name in taken:
        name += "_"
    return name
