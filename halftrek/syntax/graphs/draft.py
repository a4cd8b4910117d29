"""A graph while its text is read: every piece remembers where it stood, so that errors can point there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple, NoReturn

from halftrek.errors import GraphError, GraphSyntaxError, shortened
from halftrek.graphs import Coefficient, Edge, Graph, arcs_of, check_name, quoted, written
from halftrek.graphs.checks import known_coefficients, unordered
from halftrek.graphs.edges import holds_half_letter
from halftrek.graphs.forms.sketch import Role, Sketch
from halftrek.graphs.order import find_cycle
from halftrek.notes import Note
from halftrek.syntax.tokens import Token

_FEW = 30  # names up to which all pairs of them are edges like others; more are kept as one block


class SaidEdge(NamedTuple):
    """An edge with the stretch of text that says it."""

    u: str
    kind: str
    v: str
    start: int
    end: int
    coefficient: Coefficient | None = None


class Draft:
    """Collects names and edges; ``build`` makes the graph or says where it is impossible."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._met: dict[str, Token] = {}
        self._hidden: dict[str, Token] = {}
        self._stated: dict[str, Token] = {}
        self._edges: list[SaidEdge] = []
        self._blocks: list[list[Token]] = []
        self._joined: set[str] = set()  # names in blocks, none in two
        self._places: dict[str, tuple[float, float]] = {}
        self._roles: dict[tuple[str, Role], None] = {}
        self.variances: dict[str, Coefficient] = {}  # of errors, by variable: a number, or a label
        self.intercepts: dict[str, Coefficient] = {}
        self.box: tuple[float, float, float, float] | None = None  # the part of the plane that the text shows
        self.definitions: dict[str, str] = {}  # numbers that the text makes of labels

    def meet(self, name: Token) -> None:
        """The name occurs; it is observed unless it is hidden somewhere."""
        word = name.word
        if word not in self._met:
            try:
                check_name(word)
            except GraphError as error:
                raise GraphSyntaxError(str(error), self.text, name.start, name.end) from None
            self._met[word] = name

    @property
    def names(self) -> dict[str, Token]:
        """Every name with the place where it stands first."""
        return self._met

    def hide(self, name: Token) -> None:
        """The text says that the variable is hidden."""
        self.meet(name)
        self._hidden.setdefault(name.word, name)

    def state(self, name: Token) -> None:
        """The text says that the variable is observed."""
        self.meet(name)
        self._stated.setdefault(name.word, name)

    def place(self, name: Token, x: float, y: float) -> None:
        """The text says where the variable is drawn."""
        self.meet(name)
        self._places[name.word] = (x, y)

    def mark(self, name: Token, role: Role) -> None:
        """The text says what part an observed variable plays."""
        self.state(name)
        self._roles[name.word, role] = None

    def connect(
        self,
        left: Token,
        arrow: str,
        right: Token,
        coefficient: Coefficient | None = None,
        span: tuple[Token, ...] = (),
    ) -> None:
        """An edge ``->``, ``<-`` or ``<->`` between two names, said by the stretch of text from one to the other."""
        self.meet(left)
        self.meet(right)
        u, v = (right.word, left.word) if arrow == "<-" else (left.word, right.word)
        if span:
            begin, end = min(t.start for t in span), max(t.end for t in span)
        else:
            begin, end = min(left.start, right.start), max(left.end, right.end)
        self._edges.append(SaidEdge(u, "<->" if arrow == "<->" else "->", v, begin, end, coefficient))

    def join(self, names: list[Token]) -> None:
        """Each of the names is joined to each other by ``<->``."""
        words = {name.word for name in names}
        if len(names) <= _FEW or len(words) < len(names) or not words.isdisjoint(self._joined):
            for left, right in combinations(names, 2):
                self.connect(left, "<->", right)
            return
        for name in names:
            self.meet(name)
        self._blocks.append(names)
        self._joined |= words

    def say(self, what: str, name: Token, value: Coefficient | None) -> None:
        """The text says something of a variable's error ``"variance"`` or of its ``"intercept"``; None leaves it free.

        A hidden variable has a convention for both, which this replaces.
        """
        self.meet(name)
        known = self.variances if what == "variance" else self.intercepts
        label = f"{what} of {name.word}" if value is None else value
        if known.setdefault(name.word, label) != label:
            self.refuse(f"two things are said of the {what} of {name.word!r}; keep one", name)

    def coefficient(self, token: Token) -> Coefficient:
        """What the token says of an edge: a number, or the label of a free coefficient."""
        word = token.word
        try:
            number = float(word)
        except ValueError:
            if not word.strip():
                self.refuse("a coefficient is a number or a label", token)
            if holds_half_letter(word):
                self.refuse(f"the label {word!r} holds half a letter, which no file can hold; use another", token)
            return word
        if not math.isfinite(number):
            self.refuse(f"the coefficient {word!r} is not a finite number; write a number or another label", token)
        return number

    def build(self, notes: Iterable[Note] = ()) -> Graph:
        """The graph with what there is to say of its reading; otherwise an error that points at the culprit."""
        if not self._met:
            raise GraphSyntaxError("the text names no variable; write for instance x -> y", self.text, 0, 1)
        for name, place in self._hidden.items():
            if name in self._stated:
                later = max(place, self._stated[name], key=lambda t: t.start)
                self.refuse(f"{name!r} is both latent and observed; keep one of the two", later)
        hidden = self._hidden
        for edge in self._edges:
            if edge.u == edge.v:
                self.refuse(f"{edge.u!r} has an edge to itself; remove it", edge)
        given = self._coefficients()
        arrows = {(e.u, e.v): e for e in self._edges if e.kind == "->"}
        cycle = find_cycle(tuple(self._met), arrows)
        if cycle:
            last = max((arrows[pair] for pair in pairwise(cycle)), key=lambda e: e.start)
            self.refuse(
                f"the graph has a cycle: {shortened(' -> '.join(cycle), 400)}. "
                f"Remove or turn one of these arrows; feedback is not supported",
                last,
            )
        observed = tuple(v for v in self._met if v not in hidden)
        if not observed:
            self.refuse("all variables are hidden; name at least one that is observed", next(iter(self._met.values())))
        pairs = unordered((e.u, e.v) for e in self._edges if e.kind == "<->")
        arcs = arcs_of(pairs, ([name.word for name in block] for block in self._blocks))
        if self._has_more_than_roots():
            return self._sorted(arcs, written(given), notes)
        children: dict[str, list[str]] = {u: [] for u in hidden}
        for u, v in arrows if hidden else ():
            if u in hidden:
                children[u].append(v)
        latents = {u: tuple(kids) for u, kids in children.items()}
        between = dict.fromkeys(pair for pair in arrows if pair[0] not in hidden) if hidden else dict.fromkeys(arrows)
        known = known_coefficients(written(given), between, arcs if self._blocks else pairs, latents)
        drawn = self._sketch()
        return object.__new__(Graph)._keep(
            between, arcs, latents, observed, known, notes, drawn, definitions=self.definitions
        )

    def _has_more_than_roots(self) -> bool:
        """True if a hidden variable has a cause or covaries, or if more is known than of edges."""
        if self.variances or self.intercepts:
            return True
        hidden = self._hidden
        return bool(hidden) and (
            any(e.v in hidden or (e.u in hidden and e.kind == "<->") for e in self._edges)
            or not self._joined.isdisjoint(hidden)
        )

    def _sorted(self, arcs: Sequence[tuple[str, str]], known: dict[str, Coefficient], notes: Iterable[Note]) -> Graph:
        """A graph whose hidden variables are more than roots."""
        arrows = dict.fromkeys((e.u, e.v) for e in self._edges if e.kind == "->")
        observed = [v for v in self._met if v not in self._hidden]
        try:
            return Graph(
                arrows, arcs, None, observed, known, hidden=self._hidden,
                variances=self.variances, intercepts=self.intercepts, notes=notes, sketch=self._sketch(),
                definitions=self.definitions,
            )  # fmt: skip
        except GraphError as error:
            raise GraphSyntaxError(str(error), self.text, 0, len(self.text)) from None

    def _sketch(self) -> Sketch | None:
        if not (self._places or self._roles or self.box):
            return None
        return Sketch(tuple((v, x, y) for v, (x, y) in self._places.items()), tuple(self._roles), self.box)

    def _coefficients(self) -> dict[Edge, Coefficient]:
        known: dict[Edge, Coefficient] = {}
        for said in self._edges:
            if said.coefficient is None:
                continue
            edge = Edge(said.u, said.kind, said.v)
            edge = edge.turned if edge.kind == "<->" and edge.turned in known else edge
            if known.setdefault(edge, said.coefficient) != said.coefficient:
                self.refuse(f"'{edge}' has two coefficients, {known[edge]} and {said.coefficient}; keep one", said)
        return known

    def refuse(self, message: str, place: Token | SaidEdge) -> NoReturn:
        """Raise an error that points at the place."""
        raise GraphSyntaxError(message, self.text, place.start, place.end)


def bare_or_quoted(name: str, bare: re.Pattern[str], reserved: tuple[str, ...]) -> str:
    """The name as a language writes it: without quotes where it can be, which reserved words cannot."""
    if bare.fullmatch(name) and name.lower() not in reserved:
        return name
    return quoted(name) if quoted(name) != name else f'"{name}"'


def equation_of(graph: Graph, name: str) -> list[tuple[str, Coefficient]]:
    """What is known of a variable's error variance and intercept."""
    both = (("variance", graph.variances), ("intercept", graph.intercepts))
    return [(word, known[name]) for word, known in both if name in known]


def number_text(value: float) -> str:
    """The shortest text that reads back as this number."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text
