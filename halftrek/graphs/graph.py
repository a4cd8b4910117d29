"""What the user believes: observed variables, arrows, correlated errors and hidden causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from halftrek import upward
from halftrek.errors import GraphError, shortened
from halftrek.graphs.arcs import Arcs, Unordered, arcs_of, bows, degrees, siblings_in, unordered_parts
from halftrek.graphs.checks import (
    Coefficient,
    Pair,
    as_drawn,
    children_of,
    ends_of,
    known_coefficients,
    observed_names,
    pair_of,
    refuse_impossible,
    refuse_unknown,
    unordered,
)
from halftrek.graphs.edges import Edge, check_name
from halftrek.graphs.order import connected, find_cycle, neighbours, reachable, topological_sort
from halftrek.graphs.reach import Reach
from halftrek.graphs.sketch import Sketch

if TYPE_CHECKING:
    import networkx

    from halftrek.notes import Note


@dataclass(frozen=True, eq=False, repr=False)
class Graph(upward.Faces):
    """An acyclic graph with hidden confounders.

    - ``directed``: pairs ``(cause, effect)``;
    - ``bidirected``: pairs of observed variables whose error terms may covary freely (``x <-> y``); a tuple, or
      ``Arcs``, which keep many pairs as one block and count, iterate and compare like the tuple of them;
    - ``latents``: hidden root causes with their observed children, any number of them;
    - ``observed``: the measured variables; those named only in edges are added in order of appearance;
    - ``coefficients``: what is known of an edge, keyed by its text: ``{"x -> y": 0.5}`` fixes it,
      ``{"x -> y": "a", "z -> y": "a"}`` makes edges of one label equal;
    - ``notes``: what the text of a graph said that the graph does not hold, or holds in another way;
    - ``sketch``: how a dagitty text draws it, see ``positions`` and ``roles``; equality of graphs does not ask for it.

    A bidirected edge and a hidden cause of two variables are not the same model, see ``canonical`` and ``project``.
    """

    directed: tuple[Pair, ...] = ()
    bidirected: Sequence[Pair] = ()
    latents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    observed: tuple[str, ...] = ()
    coefficients: Mapping[str, Coefficient] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    sketch: Sketch | None = None

    def __init__(
        self,
        directed: Iterable[Pair] = (),
        bidirected: Iterable[Pair] = (),
        latents: Mapping[str, Iterable[str]] | None = None,
        observed: Iterable[str] = (),
        coefficients: Mapping[str, Coefficient] | None = None,
        *,
        notes: Iterable[Note] = (),
        sketch: Sketch | None = None,
    ) -> None:
        hidden = {check_name(u): children_of(u, kids) for u, kids in (latents or {}).items()}
        arrows = dict.fromkeys(pair_of(e, "directed") for e in directed)
        if hidden:
            out: dict[str, dict[str, None]] = {u: dict.fromkeys(kids) for u, kids in hidden.items()}
            for u, v in list(arrows):
                if u in hidden and v not in hidden:  # an arrow out of a hidden cause is one of its children
                    out[u][v] = None
                    del arrows[u, v]
            hidden = {u: tuple(kids) for u, kids in out.items()}
        loose, blocks = (bidirected.loose, bidirected.blocks) if isinstance(bidirected, Arcs) else (bidirected, ())
        arcs = arcs_of(unordered(pair_of(e, "bidirected") for e in loose), blocks)
        ends = ends_of(arcs)
        names = observed_names(observed, arrows, ends, hidden)
        refuse_impossible(names, arrows, ends, hidden)
        cycle = find_cycle(names, arrows)
        if cycle:
            raise GraphError(
                f"the graph has a cycle: {shortened(' -> '.join(cycle), 400)}. Remove or turn one of these arrows; "
                f"feedback is not supported"
            )
        given = coefficients or {}
        known = known_coefficients(given, arrows, arcs if blocks or not given else dict.fromkeys(arcs), hidden)
        self._keep(arrows, arcs, hidden, names, known, notes, sketch)

    def _keep(
        self,
        arrows: Iterable[Pair],
        arcs: Sequence[Pair],
        hidden: Mapping[str, tuple[str, ...]],
        names: tuple[str, ...],
        known: Mapping[str, Coefficient],
        notes: Iterable[Note],
        sketch: Sketch | None = None,
    ) -> Graph:
        """The graph of pieces that are known to make one, each arrow and arc once, keys of what is known as drawn."""
        drawn = (sketch.only((*names, *hidden)) or None) if sketch is not None else None
        kept = (tuple(arrows), arcs, MappingProxyType(hidden), names, MappingProxyType(known), tuple(notes), drawn)
        for part, value in zip(fields(self), kept, strict=True):
            object.__setattr__(self, part.name, value)
        return self

    # -- who is next to whom ------------------------------------------------------------------

    @cached_property
    def _parents(self) -> dict[str, tuple[str, ...]]:
        return neighbours(self.observed, ((v, u) for u, v in self.directed))

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        return neighbours(self.observed, self.directed)

    @cached_property
    def _siblings(self) -> dict[str, tuple[str, ...]]:
        return siblings_in(self.observed, self.bidirected)

    @property
    def _blocks(self) -> tuple[tuple[str, ...], ...]:
        return self.bidirected.blocks if isinstance(self.bidirected, Arcs) else ()

    @property
    def _loose(self) -> Sequence[Pair]:
        return self.bidirected.loose if isinstance(self.bidirected, Arcs) else self.bidirected

    @cached_property
    def _hubs(self) -> dict[str, tuple[str, ...]]:
        """Each block as a node that causes its members, which joins them as their pairs do; no variable is named so."""
        return {f"<-> {k}": block for k, block in enumerate(self._blocks)}

    @cached_property
    def _loose_siblings(self) -> dict[str, tuple[str, ...]]:
        both = [*self._loose, *((b, a) for a, b in self._loose)]
        return neighbours(self.observed, both) if self._blocks else self._siblings

    @cached_property
    def _latent_parents(self) -> dict[str, tuple[str, ...]]:
        return neighbours(self.observed, ((c, u) for u, kids in self.latents.items() for c in kids))

    @cached_property
    def _ways(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """Causes, effects and siblings of each variable, hidden causes among them; not to be changed."""
        hidden = {**self.latents, **self._hubs}
        if not hidden:
            return self._parents, self._children, self._siblings
        above = neighbours(self.observed, ((c, u) for u, kids in hidden.items() for c in kids))
        into = {v: (*causes, *above[v]) for v, causes in self._parents.items()}
        return into | dict.fromkeys(hidden, ()), self._children | hidden, self._loose_siblings

    def parents(self, variable: str) -> tuple[str, ...]:
        """Observed direct causes of ``variable``."""
        return self._entry(self._parents, variable)

    def children(self, variable: str) -> tuple[str, ...]:
        """Observed direct effects of ``variable`` (of a hidden cause: its children)."""
        return self._entry(self.latents if variable in self.latents else self._children, variable)

    def siblings(self, variable: str) -> tuple[str, ...]:
        """Variables joined to ``variable`` by a bidirected edge."""
        return self._entry(self._siblings, variable)

    def latent_parents(self, variable: str) -> tuple[str, ...]:
        """Hidden causes of ``variable``."""
        return self._entry(self._latent_parents, variable)

    def spouses(self, variable: str) -> tuple[str, ...]:
        """Variables whose error may covary with that of ``variable``: siblings and those with a shared hidden cause."""
        if not self.latents:
            return self.siblings(variable)
        shared = (c for u in self.latent_parents(variable) for c in self.latents[u])
        return tuple(v for v in dict.fromkeys((*self.siblings(variable), *shared)) if v != variable)

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.topological_order, self.directed)

    def ancestors(self, variables: str | Iterable[str]) -> frozenset[str]:
        """The variables and everything observed that causes them."""
        return reachable(self._several(variables), self._parents)

    def descendants(self, variables: str | Iterable[str]) -> frozenset[str]:
        """The variables and everything observed that they cause."""
        return reachable(self._several(variables), self._children)

    @cached_property
    def known(self) -> Mapping[Edge, Coefficient]:
        """The coefficients, by edges as values in place of their text."""
        return MappingProxyType({Edge.read(text): value for text, value in self.coefficients.items()})

    @cached_property
    def restrictions(self) -> Mapping[str, Coefficient]:
        """The coefficients that are fixed or equal to others; a label that is used once only gives an edge a name."""
        uses = Counter(value for value in self.coefficients.values() if isinstance(value, str))
        return {k: v for k, v in self.coefficients.items() if not isinstance(v, str) or uses[v] > 1}

    @property
    def positions(self) -> dict[str, tuple[float, float]]:
        """Where a dagitty text places variables, ``(x, y)`` with y growing downwards; empty for other graphs."""
        return {} if self.sketch is None else self.sketch.positions

    @property
    def roles(self) -> dict[str, tuple[str, ...]]:
        """What a dagitty text marks variables as: "exposure", "outcome", "adjusted"; no question is asked by them."""
        return {} if self.sketch is None else self.sketch.roles_of_each

    @cached_property
    def topological_order(self) -> tuple[str, ...]:
        """Causes before effects; ties in the order of ``observed``."""
        return topological_sort(self.observed, self._children)

    @cached_property
    def districts(self) -> tuple[tuple[str, ...], ...]:
        """Classes of variables connected through correlated errors or shared hidden causes, members in causal order."""
        return connected(self.topological_order, self._loose_siblings, {**self.latents, **self._hubs})

    def district(self, variable: str) -> tuple[str, ...]:
        """The district that holds ``variable``."""
        return self._district_of[self._known(variable)]

    @cached_property
    def _district_of(self) -> dict[str, tuple[str, ...]]:
        return {v: district for district in self.districts for v in district}

    @property
    def is_bow_free(self) -> bool:
        """True if no variable has a direct cause that it is also confounded with; then everything is identified."""
        above = {v: set(causes) for v, causes in self._latent_parents.items() if causes} if self.latents else {}
        return not bows(self.directed, self.bidirected, above)

    # -- other forms ---------------------------------------------------------------------------

    def with_(
        self,
        *,
        directed: Iterable[Pair] | None = None,
        bidirected: Iterable[Pair] | None = None,
        latents: Mapping[str, Iterable[str]] | None = None,
        observed: Iterable[str] | None = None,
        coefficients: Mapping[str, Coefficient] | None = None,
        notes: Iterable[Note] | None = None,
        sketch: Sketch | None = None,
    ) -> Graph:
        """The graph with these parts in place of its own; the others stay, coefficients as far as their edges do.

        Places and roles stay too, of variables that the graph still has.

        ``graph.with_(directed=[*graph.directed, ("x", "y")])`` has one more arrow.
        """
        made = Graph(
            self.directed if directed is None else directed,
            self.bidirected if bidirected is None else bidirected,
            self.latents if latents is None else latents,
            self.observed if observed is None else observed,
            notes=self.notes if notes is None else notes,
            sketch=self.sketch if sketch is None else sketch,
        )
        if coefficients is None and self.known:
            arrows, arcs = set(made.directed), made.bidirected if made._blocks else set(made.bidirected)
            coefficients = {str(e): x for e, x in self.known.items() if as_drawn(e, arrows, arcs, made.latents)}
        parts = made.directed, made.bidirected, made.latents, made.observed
        return Graph(*parts, coefficients, notes=made.notes, sketch=made.sketch) if coefficients else made

    def induced(self, variables: Iterable[str]) -> Graph:
        """The graph over some of its variables, all others deleted (not marginalised; for that see ``project``)."""
        keep = set(self._several(variables))
        arrows = [(u, v) for u, v in self.directed if u in keep and v in keep]
        arcs = (self.bidirected if isinstance(self.bidirected, Arcs) else Arcs(tuple(self.bidirected))).within(keep)
        hidden = {u: some for u, kids in self.latents.items() if (some := [c for c in kids if c in keep])}
        names = [v for v in self.observed if v in keep]
        return self.with_(directed=arrows, bidirected=arcs, latents=hidden, observed=names)

    def edges(self) -> list[tuple[str, str, str]]:
        """Every edge as ``(from, "->" or "<->", to)``: directed, out of hidden causes, bidirected."""
        arrows = [*self.directed, *((u, c) for u, kids in self.latents.items() for c in kids)]
        return [(u, "->", v) for u, v in arrows] + [(u, "<->", v) for u, v in self.bidirected]

    @property
    def edge_count(self) -> int:
        """How many edges there are, counted without writing them out."""
        return len(self.directed) + sum(map(len, self.latents.values())) + len(self.bidirected)

    def project(self, onto: Iterable[str] | None = None) -> Graph:
        """Latent projection: hidden variables (and observed ones not in ``onto``) become bidirected edges."""
        from halftrek.graphs.projection import project

        return project(self, self.observed if onto is None else tuple(self._several(onto)))

    def canonical(self) -> Graph:
        """Every bidirected edge replaced by a hidden cause of its own; a smaller set of covariances in general."""
        from halftrek.graphs.projection import canonical

        return canonical(self)

    def m_separated(self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """True if ``x`` and ``y`` are m-separated by ``given``: independent in every model of the graph."""
        from halftrek.graphs.separation import m_separated

        return m_separated(self, self._several(x), self._several(y), self._several(given))

    def implied_independences(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """A basis of the conditional independences that the graph implies, as ``(x, y, given)``."""
        from halftrek.graphs.separation import implied_independences

        return implied_independences(self)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """As a networkx graph: edges carry ``kind`` "directed" or "bidirected", nodes carry ``hidden``."""
        from halftrek.graphs.interchange import to_networkx

        return to_networkx(self)

    @staticmethod
    def from_networkx(graph: object) -> Graph:
        """From a networkx ``DiGraph`` or ``MultiDiGraph`` (see ``to_networkx`` for the attributes)."""
        from halftrek.graphs.interchange import from_networkx

        return from_networkx(graph)

    # -- being a value ---------------------------------------------------------------------------

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        """What equal graphs share, but for which pairs are bidirected: of these only how many each variable has."""
        return (
            frozenset(self.observed),
            frozenset(self.directed),
            frozenset(degrees(self.bidirected).items()),
            frozenset((u, frozenset(kids)) for u, kids in self.latents.items()),
            frozenset((e if e.kind == "->" else frozenset(e), value) for e, value in self.known.items()),
        )

    @cached_property
    def _pairs(self) -> Unordered:
        return unordered_parts(self.bidirected)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Graph) or self._identity != other._identity:
            return False
        if self._pairs == other._pairs or self._pairs[1] == other._pairs[1]:
            return self._pairs == other._pairs
        return set(map(frozenset, self.bidirected)) == set(map(frozenset, other.bidirected))  # not kept in one way

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple[object, ...]:
        state = (self.directed, self.bidirected, dict(self.latents), self.observed, dict(self.coefficients))
        return (partial(Graph, notes=self.notes, sketch=self.sketch), state)

    def __len__(self) -> int:
        return len(self.observed)

    def __contains__(self, variable: object) -> bool:
        return variable in self._parents

    def to_tikz(self) -> str:
        """A TikZ picture of the graph for LaTeX; for weights see ``halftrek.reporting.to_tikz``."""
        return upward.tikz(self)

    def __repr__(self) -> str:
        hidden = f", latents={ {u: list(k) for u, k in self.latents.items()} }" if self.latents else ""
        drawn = f"{self.bidirected!r}" if self._blocks else f"{list(self.bidirected)}"
        arcs = f", bidirected={drawn}" if self.bidirected else ""
        known = f", coefficients={dict(self.coefficients)}" if self.coefficients else ""
        return f"Graph(directed={list(self.directed)}{arcs}{hidden}, observed={list(self.observed)}{known})"

    def _entry(self, table: Mapping[str, tuple[str, ...]], variable: str) -> tuple[str, ...]:
        try:
            return table[variable]
        except (KeyError, TypeError):  # no such name, or no name at all: say so in words
            pass
        return table[self._known(variable)]

    def _known(self, variable: str) -> str:
        if isinstance(variable, str) and variable in self._parents:
            return variable
        return refuse_unknown(variable, self.observed, self.latents)

    def _several(self, variables: str | Iterable[str]) -> tuple[str, ...]:
        chosen = (variables,) if isinstance(variables, str) else tuple(dict.fromkeys(variables))
        known = self._parents
        return chosen if all(v in known for v in chosen) else tuple(self._known(v) for v in chosen)
