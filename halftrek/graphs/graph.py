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
from halftrek.graphs.arcs import Arcs, Unordered, arcs_of, degrees, unordered_parts
from halftrek.graphs.checks import (
    Coefficient,
    Pair,
    as_drawn,
    children_of,
    ends_of,
    known_coefficients,
    observed_names,
    pair_of,
    unordered,
)
from halftrek.graphs.edges import Edge, check_name
from halftrek.graphs.forms.sketch import Sketch
from halftrek.graphs.hidden import Pieces, settled, stated
from halftrek.graphs.near import Neighbourhood
from halftrek.graphs.order import find_cycle

if TYPE_CHECKING:
    import networkx

    from halftrek.notes import Note

_STATED = ("variances", "intercepts")


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Neighbourhood, upward.Faces):
    """An acyclic graph with hidden confounders.

    - ``directed``: pairs ``(cause, effect)``;
    - ``bidirected``: pairs of observed variables whose error terms may covary freely (``x <-> y``); a tuple, or
      ``Arcs``, which keep many pairs as one block and count, iterate and compare like the tuple of them;
    - ``latents``: hidden root causes with their observed children, any number of them;
    - ``hidden``: hidden variables that have causes, covary, or cause other hidden ones; their edges are among
      ``directed`` and ``bidirected``. Name them here or in ``latents``: the graph sorts them;
    - ``observed``: the measured variables; those named only in edges are added in order of appearance;
    - ``coefficients``: what is known of an edge, keyed by its text: ``{"x -> y": 0.5}`` fixes it,
      ``{"x -> y": "a", "z -> y": "a"}`` makes edges of one label equal;
    - ``variances``, ``intercepts``: the same for error variances and intercepts, keyed by the variable. A hidden
      variable's error has the variance 1, or any if one of its loadings is fixed; its intercept is 0; a label frees it;
    - ``definitions``: numbers made of labels, ``{"ab": "a * b"}``, which tables of a fit list; no part of the model;
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
    hidden: tuple[str, ...] = ()
    variances: Mapping[str, Coefficient] = field(default_factory=dict)
    intercepts: Mapping[str, Coefficient] = field(default_factory=dict)
    definitions: Mapping[str, str] = field(default_factory=dict)

    def __init__(
        self,
        directed: Iterable[Pair] = (),
        bidirected: Iterable[Pair] = (),
        latents: Mapping[str, Iterable[str]] | None = None,
        observed: Iterable[str] = (),
        coefficients: Mapping[str, Coefficient] | None = None,
        *,
        hidden: Iterable[str] = (),
        variances: Mapping[str, Coefficient] | None = None,
        intercepts: Mapping[str, Coefficient] | None = None,
        definitions: Mapping[str, str] | None = None,
        notes: Iterable[Note] = (),
        sketch: Sketch | None = None,
    ) -> None:
        declared = {check_name(u): children_of(u, kids) for u, kids in (latents or {}).items()}
        declared |= {check_name(u): () for u in hidden if u not in declared}
        arrows = dict.fromkeys(pair_of(e, "directed") for e in directed)
        loose, blocks = (bidirected.loose, bidirected.blocks) if isinstance(bidirected, Arcs) else (bidirected, ())
        arcs = arcs_of(unordered(pair_of(e, "bidirected") for e in loose), blocks)
        given = coefficients or {}
        said = frozenset((*(variances or {}), *(intercepts or {})))
        names = observed_names(observed, arrows, ends_of(arcs), declared)
        made = Pieces(arrows, arcs, declared, said, frozenset(Edge.read(text)[::2] for text in given))
        arrows, arcs, roots, gone = made.arrows, made.arcs, made.latents, made.gone
        if not names:
            raise GraphError("the graph has no observed variable; name at least one")
        nodes = (*names, *made.hidden)
        cycle = find_cycle(nodes, arrows)
        if cycle:
            raise GraphError(
                f"the graph has a cycle: {shortened(' -> '.join(cycle), 400)}. Remove or turn one of these arrows; "
                f"feedback is not supported"
            )
        if gone:
            given = {text: x for text, x in given.items() if gone.isdisjoint(Edge.read(text)[::2])}
        known = known_coefficients(given, arrows, arcs if blocks or not given else dict.fromkeys(arcs), roots)
        spread, level = (
            {} if not part else stated({v: x for v, x in part.items() if v not in gone}, what, nodes)
            for part, what in ((variances, "the variance"), (intercepts, "the intercept"))
        )
        said_of = (*notes, *(n for n in made.notes if n not in notes))
        self._keep(arrows, arcs, roots, names, known, said_of, sketch, made.hidden, spread, level, definitions or {})

    def _keep(
        self,
        arrows: Iterable[Pair],
        arcs: Sequence[Pair],
        latents: Mapping[str, tuple[str, ...]],
        names: tuple[str, ...],
        known: Mapping[str, Coefficient],
        notes: Iterable[Note],
        sketch: Sketch | None = None,
        hidden: tuple[str, ...] = (),
        variances: Mapping[str, Coefficient] = MappingProxyType({}),
        intercepts: Mapping[str, Coefficient] = MappingProxyType({}),
        definitions: Mapping[str, str] = MappingProxyType({}),
    ) -> Graph:
        """The graph of pieces that are known to make one, each arrow and arc once, keys of what is known as drawn."""
        drawn = (sketch.only((*names, *latents, *hidden)) or None) if sketch is not None else None
        kept = (
            tuple(arrows), arcs, MappingProxyType(latents), names, MappingProxyType(known), tuple(notes), drawn,
            hidden, MappingProxyType(variances), MappingProxyType(intercepts), MappingProxyType(definitions),
        )  # fmt: skip
        for part, value in zip(fields(self), kept, strict=True):
            object.__setattr__(self, part.name, value)
        return self

    # -- what is known of it -----------------------------------------------------------------

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

    # -- other forms ---------------------------------------------------------------------------

    def with_(
        self,
        *,
        directed: Iterable[Pair] | None = None,
        bidirected: Iterable[Pair] | None = None,
        latents: Mapping[str, Iterable[str]] | None = None,
        observed: Iterable[str] | None = None,
        coefficients: Mapping[str, Coefficient] | None = None,
        hidden: Iterable[str] | None = None,
        variances: Mapping[str, Coefficient] | None = None,
        intercepts: Mapping[str, Coefficient] | None = None,
        notes: Iterable[Note] | None = None,
        sketch: Sketch | None = None,
    ) -> Graph:
        """The graph with these parts in place of its own; the others stay, coefficients as far as their edges do.

        Places and roles stay too, of variables that the graph still has.

        ``graph.with_(directed=[*graph.directed, ("x", "y")])`` has one more arrow.
        """
        arrows = self.directed if directed is None else tuple(pair_of(e, "directed") for e in directed)
        arcs: Sequence[Pair] = self.bidirected
        if bidirected is not None:
            given = bidirected
            arcs = given if isinstance(given, Arcs) else tuple(pair_of(e, "bidirected") for e in given)
        roots = self.latents if latents is None else {u: tuple(kids) for u, kids in latents.items()}
        seen = self.observed if observed is None else tuple(observed)
        inner = self.hidden if hidden is None else tuple(hidden)
        if coefficients is None and self.known:
            drawn = set(arrows), arcs if isinstance(arcs, Arcs) else set(arcs), roots
            coefficients = {str(e): x for e, x in self.known.items() if as_drawn(e, *drawn)}
        own = {*seen, *inner}
        return Graph(
            arrows, arcs, roots, seen, coefficients, hidden=inner,
            variances={v: x for v, x in self.variances.items() if v in own} if variances is None else variances,
            intercepts={v: x for v, x in self.intercepts.items() if v in own} if intercepts is None else intercepts,
            definitions=self.definitions,
            notes=self.notes if notes is None else notes, sketch=self.sketch if sketch is None else sketch,
        )  # fmt: skip

    @cached_property
    def opened(self) -> Graph:
        """The graph in which hidden variables with causes are ordinary ones, with their scales as known variances.

        For those who work with models; whether something can be known must not be asked of it.
        """
        if not self.hidden:
            return self
        variances, intercepts = settled(self)
        return self.with_(observed=self.nodes, hidden=(), variances=variances, intercepts=intercepts)

    def induced(self, variables: Iterable[str]) -> Graph:
        """The graph over some of its variables, all others deleted (not marginalised; for that see ``project``)."""
        keep = set(self._several(variables))
        arrows = [(u, v) for u, v in self.directed if u in keep and v in keep]
        arcs = (self.bidirected if isinstance(self.bidirected, Arcs) else Arcs(tuple(self.bidirected))).within(keep)
        hidden = {u: some for u, kids in self.latents.items() if (some := [c for c in kids if c in keep])}
        names, inner = ([v for v in some if v in keep] for some in (self.observed, self.hidden))
        return self.with_(directed=arrows, bidirected=arcs, latents=hidden, observed=names, hidden=inner)

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
        from halftrek.graphs.forms.projection import project

        return project(self.opened, self.observed if onto is None else tuple(self._several(onto)))

    def canonical(self) -> Graph:
        """Every bidirected edge replaced by a hidden cause of its own; a smaller set of covariances in general."""
        from halftrek.graphs.forms.projection import canonical

        return canonical(self)

    def m_separated(self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """True if ``x`` and ``y`` are m-separated by ``given``: independent in every model of the graph."""
        from halftrek.graphs.independences.separation import m_separated

        return m_separated(self, self._several(x), self._several(y), self._several(given))

    def implied_independences(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """A basis of the conditional independences that the graph implies, as ``(x, y, given)``."""
        from halftrek.graphs.independences.separation import implied_independences

        return implied_independences(self.project() if self.hidden else self)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """As a networkx graph: edges carry ``kind`` "directed" or "bidirected", nodes carry ``hidden``."""
        from halftrek.graphs.forms.interchange import to_networkx

        return to_networkx(self)

    @staticmethod
    def from_networkx(graph: object) -> Graph:
        """From a networkx ``DiGraph`` or ``MultiDiGraph`` (see ``to_networkx`` for the attributes)."""
        from halftrek.graphs.forms.interchange import from_networkx

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
            frozenset(self.hidden),
            frozenset(self.variances.items()),
            frozenset(self.intercepts.items()),
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
        more = partial(Graph, hidden=self.hidden, variances=dict(self.variances), intercepts=dict(self.intercepts))
        return (partial(more, definitions=dict(self.definitions), notes=self.notes, sketch=self.sketch), state)

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
        more = f", hidden={list(self.hidden)}" if self.hidden else ""
        more += "".join(f", {what}={dict(getattr(self, what))}" for what in _STATED if getattr(self, what))
        return f"Graph(directed={list(self.directed)}{arcs}{hidden}, observed={list(self.observed)}{known}{more})"
