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
        facts = {**first.note.facts, **{f"other_{name}": v for name, v in second.note.facts.items()}}
        both = _change("rule out", Note("rule out two arcs", facts), graph, query)
        if _works(both, decide):
            found.append(both)
    return found


def is_identified_with(graph: Graph, query: Query, edge: Edge, decide: Decide) -> bool:
    """True if the query is identified once the coefficient or covariance of an edge is known from elsewhere."""
    known = graph.with_(coefficients={**graph.coefficients, str(edge): _KNOWN})
    return _works(Change("know", note("know coefficient", edge=str(edge)), known, query), decide)


def graph_after(graph: Graph, advice: Note) -> Graph:
    """The graph once an advice is followed; knowing a coefficient changes nothing until its number is there."""
    facts = advice.facts
    match advice.code:
        case "rule out arc":
            return _without(graph, (facts["first"], facts["second"]))
        case "rule out two arcs":
            both = (facts["first"], facts["second"]), (facts["other_first"], facts["other_second"])
            return _without(graph, *both)
        case "measure common cause":
            u, v = facts["first"], facts["second"]
            name = _fresh(graph, "confounder")
            return _without(graph, (u, v)).with_(directed=[*graph.directed, (name, u), (name, v)])
        case "measure hidden cause":
            u = facts["variable"]
            hidden = {h: kids for h, kids in graph.latents.items() if h != u}
            return graph.with_(directed=[*graph.directed, *((u, c) for c in graph.latents[u])], latents=hidden)
        case "measure instrument":
            return graph.with_(directed=[(_fresh(graph, "instrument"), facts["cause"]), *graph.directed])
        case "measure mediator":
            u, v = facts["cause"], facts["effect"]
            name = _fresh(graph, "mediator")
            return graph.with_(directed=[e for e in graph.directed if e != (u, v)] + [(u, name), (name, v)])
    return graph


def question_after(query: Query, advice: Note) -> Query:
    """What to ask once an advice is followed: an arrow that a mediator takes the place of is an effect from then on."""
    if advice.code == "measure mediator" and isinstance(query, DirectEffect):
        return TotalEffect(query.cause, query.effect)
    return query


def _without(graph: Graph, *arcs: tuple[str, str]) -> Graph:
    return graph.with_(bidirected=[e for e in graph.bidirected if e not in arcs])


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
        yield _change("rule out", note("rule out arc", first=u, second=v), graph, query)


def _measured_confounder(graph: Graph, query: Query) -> Iterator[Change]:
    for u, v in graph.bidirected:
        yield _change("measure", note("measure common cause", first=u, second=v), graph, query)
    for u in graph.latents:
        yield _change("measure", note("measure hidden cause", variable=u), graph, query)


def _change(kind: str, advice: Note, graph: Graph, query: Query) -> Change:
    return Change(kind, advice, graph_after(graph, advice), question_after(query, advice))


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
        yield _change("instrument", note("measure instrument", cause=x), graph, query)


def _new_mediator(graph: Graph, query: Query) -> Iterator[Change]:
    named = variables_of(query)
    for u, v in graph.directed:
        if u in causes_of(query) and v in named:
            yield _change("mediator", note("measure mediator", cause=u, effect=v), graph, query)


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
