"""Hidden variables that are more than independent roots: which they are, which can go, and what scale they have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halftrek.errors import GraphError
from halftrek.graphs.arcs import Arcs, arcs_of
from halftrek.graphs.checks import Coefficient, Pair, ends_of, known_value
from halftrek.graphs.edges import Edge
from halftrek.graphs.order import find_cycle, neighbours, reachable
from halftrek.notes import Note, note

if TYPE_CHECKING:
    from halftrek.graphs.graph import Graph


@dataclass
class Pieces:
    """The parts of a graph while its hidden variables are sorted: roots into ``latents``, all others into ``hidden``.

    ``declared`` are the hidden variables as they were given, ``said`` those of which something is known beside edges.
    """

    arrows: dict[Pair, None]
    arcs: Sequence[Pair]
    declared: Mapping[str, tuple[str, ...]]
    said: frozenset[str] = frozenset()
    spoken: frozenset[Pair] = frozenset()  # arrows of which a coefficient is known
    hidden: tuple[str, ...] = ()
    latents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        """An arrow out of a hidden root is one of its children; other hidden variables stay among the arrows."""
        given = self.declared
        self.arrows |= {(u, c): None for u, kids in given.items() for c in kids} if self._stirred(given) else {}
        self._remove()
        left = {u: kids for u, kids in given.items() if u not in self.gone}
        stirred = self._stirred(left)
        self.hidden = tuple(u for u in left if u in stirred)
        kids = {u: {c: None for c in own if c not in self.gone} for u, own in left.items() if u not in stirred}
        for u, v in list(self.arrows) if kids else ():
            if u in kids:
                kids[u][v] = None
                del self.arrows[u, v]
        self.latents = {u: tuple(own) for u, own in kids.items()}

    def _stirred(self, declared: Mapping[str, tuple[str, ...]]) -> set[str]:
        """Hidden variables with a cause, a bidirected edge, a hidden effect, or of which more is known."""
        if not declared:
            return set()
        arrows = [*self.arrows, *((u, c) for u, kids in declared.items() for c in kids if u not in self.gone)]
        found = {v for _, v in arrows if v in declared} | {u for u, v in arrows if u in declared and v in declared}
        return found | (set(ends_of(self.arcs)) | self.said) & declared.keys()

    def _remove(self) -> None:
        """Take out what changes nothing that is observed: dead ends, and roots that only feed one hidden variable."""
        stirred = self._stirred(self.declared)
        if not stirred:
            return
        names = dict.fromkeys((*self.declared, *(v for pair in self.arrows for v in pair), *ends_of(self.arcs)))
        if find_cycle(tuple(names), self.arrows):
            return  # which is refused in a moment
        above = neighbours(names, ((v, u) for u, v in self.arrows))
        seen = reachable([v for v in names if v not in self.declared], above)
        dead = [u for u in self.declared if u in stirred and u not in seen]
        self._drop(dead, "hidden without effects")
        while chained := self._feed_one():
            self._drop(chained, "hidden root of one hidden")

    def _feed_one(self) -> list[str]:
        """Hidden roots that do nothing but to add to one other hidden variable, of neither of which more is known."""
        effects = neighbours(self.declared, (pair for pair in self.arrows if pair[0] in self.declared))
        known = self.said | set(ends_of(self.arcs)) | {v for _, v in self.arrows} | self.gone
        alone = {u: own[0] for u, own in effects.items() if len(own) == 1 and u not in known}
        return [u for u, v in alone.items() if v in self.declared and v not in self.said and (u, v) not in self.spoken]

    def _drop(self, names: Collection[str], code: str) -> None:
        self.gone |= set(names)
        self.arrows = {pair: None for pair in self.arrows if not self.gone.intersection(pair)}
        keep = set(ends_of(self.arcs)) - self.gone
        if len(keep) < len(ends_of(self.arcs)):
            arcs = self.arcs if isinstance(self.arcs, Arcs) else Arcs(tuple(self.arcs))
            self.arcs = arcs_of(*_split(arcs.within(keep)))
        self.notes += [note(code, variable=u) for u in names]


def _split(arcs: Sequence[Pair]) -> tuple[Iterable[Pair], tuple[tuple[str, ...], ...]]:
    return (arcs.loose, arcs.blocks) if isinstance(arcs, Arcs) else (arcs, ())


def stated(given: Mapping[str, Coefficient] | None, what: str, nodes: Collection[str]) -> dict[str, Coefficient]:
    """What is known of the error variance or the intercept of variables: a number, or a label."""
    found: dict[str, Coefficient] = {}
    for name, value in (given or {}).items():
        if name not in nodes:
            raise GraphError(f"{what} of {name!r} is given, but the graph has no such variable with an equation")
        known = found[name] = known_value(f"{what} of {name}", value)
        if what == "the variance" and isinstance(known, float) and known < 0.0:
            raise GraphError(f"the variance of {name!r} is given as {value}; no variance is negative")
    return found


def scaled_by(graph: Graph, name: str) -> str | None:
    """The effect whose fixed loading gives a hidden variable its scale; None if its error has the variance 1."""
    own = (v for v in graph.children(name) if isinstance(graph.known.get(Edge(name, "->", v)), float))
    return next((v for v in own if graph.known[Edge(name, "->", v)] != 0.0), None)


def turnable(graph: Graph) -> list[tuple[tuple[str, ...], tuple[str, str]]]:
    """Hidden variables whose signs no data tell, each with the arrow that is to be positive; effects before causes.

    One that shares a label with others is turned round together with these. Where an edge is fixed, or a label also
    stands at one that would keep its sign, the sign means something, and nothing is to be turned.
    """
    labels: dict[str, list[Edge]] = {}
    for edge, x in graph.known.items():
        if isinstance(x, str):
            labels.setdefault(x, []).append(edge)
    joined = {v: {v} for v in graph.hidden}
    for edges in labels.values():
        tied = [v for edge in edges for v in (edge.first, edge.second) if v in joined] if len(edges) > 1 else []
        together = set().union(*(joined[v] for v in tied))
        joined |= dict.fromkeys(together, together)
    found: list[tuple[tuple[str, ...], tuple[str, str]]] = []
    for v in reversed([u for u in graph.topological_order if u in joined]):
        group = joined[v]
        turned = {e: (e.first in group) != (e.second in group) for e in graph.known}
        spoken = any(x != 0.0 and turned[e] for e, x in graph.known.items() if isinstance(x, float))
        spoken = spoken or any(len({turned[e] for e in edges}) > 1 for edges in labels.values())
        spoken = spoken or any(_level_means_something(graph, u, group, labels) for u in group)
        out = (
            [] if spoken else [(u, c) for u in graph.hidden if u in group for c in graph.children(u) if c not in group]
        )
        if out and not any(v in others for others, _ in found):
            found.append((tuple(group), next((pair for pair in out if pair[1] in graph.observed), out[0])))
    return found


def _level_means_something(graph: Graph, name: str, group: set[str], labels: Collection[str]) -> bool:
    """True if the intercept is fixed, or equal to something that is not turned round with it."""
    level = graph.intercepts.get(name, 0.0)
    shared = level in labels or any(x == level and v not in group for v, x in graph.intercepts.items())
    return level != 0.0 and (isinstance(level, float) or shared)


def settled(graph: Graph) -> tuple[dict[str, Coefficient], dict[str, Coefficient]]:
    """Error variances and intercepts that are fixed or equal, with the conventions of hidden variables.

    A hidden variable has the intercept 0, and either a fixed loading or an error of variance 1; what is stated goes
    before. A label that is used once leaves a parameter free.
    """
    variances: dict[str, Coefficient] = {v: 1.0 for v in graph.hidden if scaled_by(graph, v) is None}
    intercepts: dict[str, Coefficient] = dict.fromkeys(graph.hidden, 0.0)
    variances.update(graph.variances)
    intercepts.update(graph.intercepts)
    return _shared(variances, graph), _shared(intercepts, graph)


def _shared(known: Mapping[str, Coefficient], graph: Graph) -> dict[str, Coefficient]:
    labels = [
        x
        for part in (graph.coefficients, graph.variances, graph.intercepts)
        for x in part.values()
        if isinstance(x, str)
    ]
    return {v: x for v, x in known.items() if not isinstance(x, str) or labels.count(x) > 1}


def weak_points(graph: Graph) -> list[Note]:
    """What in the measurement of hidden variables leaves them undetermined, as far as one look at the arrows tells."""
    found = []
    for v in graph.hidden:
        effects = graph.children(v)
        weights = [graph.known.get(Edge(v, "->", c)) for c in effects]
        if len(effects) == 1 and not isinstance(graph.variances.get(effects[0]), float):
            found.append(note("one effect", variable=v, effect=effects[0]))
        if 0.0 in weights and not any(isinstance(x, float) and x != 0.0 for x in weights):
            zero = effects[weights.index(0.0)]
            found.append(note("marker of zero", variable=v, effect=zero))
    for k, v in enumerate(graph.hidden):
        for w in graph.hidden[:k]:
            same = set(graph.children(v)) == set(graph.children(w))
            fixed = any(isinstance(x, float) for e, x in graph.known.items() if e.first in (v, w) and e.kind == "->")
            if same and not fixed:
                found.append(note("same effects", first=w, second=v))
    return found


def refuse_hidden(graph: Graph, what: str) -> None:
    """Raise for what has no answer yet where hidden variables have causes."""
    if graph.hidden:
        names = ", ".join(map(repr, graph.hidden[:3])) + (" and others" if len(graph.hidden) > 3 else "")
        raise GraphError(
            f"{what} is not available where hidden variables have causes or covary ({names}). Ask it of the graph "
            f"without them, graph.project(), if only the observed variables matter"
        )
