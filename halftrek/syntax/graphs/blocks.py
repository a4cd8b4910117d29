"""The grammar that dagitty and DOT share: a head, braces, nodes and chains of edges with attributes in brackets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from halftrek.errors import GraphSyntaxError
from halftrek.graphs import Graph
from halftrek.syntax.graphs.draft import Draft
from halftrek.syntax.tokens import DEEPEST, Cursor, Token, rules, scan

_RULES = rules(
    comments=r"#[^\n]*|//[^\n]*|%%[^\n]*|/\*.*?\*/",
    symbols=r"<->|@->|<-@|@-@|@--|--@|->|<-|--|[→←↔{}\[\],;=:]|~>|[-~+*|<>()@]",
)
ARROWS = {"->": "->", "→": "->", "<-": "<-", "←": "<-", "<->": "<->", "↔": "<->"}
# attributes that dagitty or DOT texts are read for; others are looks, and are passed over
_READ = {"latent", "unobserved", "l", "u", "exposure", "outcome", "adjusted", "e", "o", "a", "selected", "s", "beta"}
_READ |= {"hidden", "observed", "dir", "coefficient", "pos", "variance", "intercept"}
_ENDS = ("@->", "<-@", "@-@", "@--", "--@", "--", *ARROWS)


@dataclass(frozen=True, slots=True)
class Attribute:
    """``word=value`` or only ``word`` in brackets."""

    word: Token
    value: Token | None = None

    @property
    def text(self) -> str:
        """The value in small letters; empty if only the word was given."""
        return "" if self.value is None else self.value.word.strip().lower()

    @property
    def says_yes(self) -> bool:
        """True if only the word was given, or a value that means yes."""
        return self.value is None or self.text in ("yes", "true", "1")


Attributes = Mapping[str, Attribute]


class Node(NamedTuple):
    """A variable where it is mentioned first or described, with what is said of it there."""

    name: Token
    attributes: Attributes


class Link(NamedTuple):
    """One edge of a chain."""

    left: Token
    arrow: Token
    right: Token
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Block:
    """A whole text: the word at its head, what stands between the braces, and ``word=value`` of the whole graph."""

    head: Token
    items: tuple[Node | Link, ...]
    settings: Mapping[str, Token]

    def drawn(
        self, draft: Draft, add_node: Callable[[Draft, Node], None], add_link: Callable[[Draft, Link], None]
    ) -> Graph:
        """The graph of a draft to which each node and each link was added in a language's own way."""
        for item in self.items:
            if isinstance(item, Node):
                add_node(draft, item)
            else:
                add_link(draft, item)
        return draft.build()


@dataclass(frozen=True, slots=True)
class _Scope:
    """Attributes that ``node [...]`` and ``edge [...]`` set for what follows in the same braces."""

    node: dict[str, Attribute]
    edge: dict[str, Attribute]

    def inner(self) -> _Scope:
        return _Scope(dict(self.node), dict(self.edge))


@dataclass(slots=True)
class _Braces:
    """Braces that are being read: what they mention, and the ends and arrows of the statement at hand."""

    opened: Token
    scope: _Scope
    mentioned: dict[str, Token] = field(default_factory=dict)
    ends: list[dict[str, Token]] = field(default_factory=list)
    arrows: list[Token] = field(default_factory=list)
    within: bool = False  # a statement has begun, and a name or braces must follow


def parse_block(text: str, heads: tuple[str, ...], example: str) -> Block:
    """The pieces of ``head name { ... }``; braces inside are flattened."""
    cursor = Cursor(text, scan(text, _RULES, GraphSyntaxError), GraphSyntaxError)
    if cursor.done:
        cursor.fail(f"the text is empty; write for instance {example}")
    if _word(cursor) == "strict" and "digraph" in heads:
        cursor.take()
    if _word(cursor) not in heads:
        cursor.fail(f"the text must begin with {heads[0]}, as in {example}; not with {cursor.here.shown()}")
    head = cursor.take()
    if cursor.here.is_name:
        cursor.take()
    reader = _Reader(cursor)
    reader.braces()
    cursor.skip(";")
    if not cursor.done:
        cursor.fail(f"nothing can follow the closing brace, but here is {cursor.here.shown()}")
    return Block(head, tuple(reader.items), reader.settings)


class _Reader:
    """Reads statements and collects what they say."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._met: set[str] = set()
        self.items: list[Node | Link] = []
        self.settings: dict[str, Token] = {}

    def braces(self) -> None:
        """Everything up to the brace that closes the first one; for braces inside there is a list, not a call each."""
        cursor = self._cursor
        stack = [_Braces(cursor.expect("{", "a '{' is needed here"), _Scope({}, {}))]
        while stack:
            here = stack[-1]
            if not here.within:
                cursor.skip(";", ",")
                if cursor.accept("}"):
                    stack.pop()
                    if stack:
                        self._ended(stack[-1], here.mentioned)
                    continue
                if cursor.done:
                    cursor.fail("this '{' is not closed; add a '}'", here.opened)
                if self._setting(here.scope):
                    continue
                here.within = True
            if _word(cursor) == "subgraph":
                cursor.take()
                if cursor.here.is_name:
                    cursor.take()
            if cursor.sees("{"):
                if len(stack) == DEEPEST:
                    cursor.fail(f"braces are nested more than {DEEPEST} deep here; write the edges with fewer")
                stack.append(_Braces(cursor.take(), here.scope.inner()))
            else:
                self._ended(here, self._name(here.scope))

    def _setting(self, scope: _Scope) -> bool:
        """``node [...]``, ``edge [...]``, ``graph [...]`` or ``word=value``; False if there is none."""
        cursor = self._cursor
        if _word(cursor) in ("node", "edge", "graph") and cursor.after.text == "[":
            word = cursor.take().text.lower()
            attributes = self._attributes()
            if word != "graph":
                (scope.node if word == "node" else scope.edge).update(attributes)
            return True
        if cursor.here.is_name and cursor.after.text == "=":  # of the whole graph: bb="0,0,1,1", rankdir=LR
            word = cursor.take().word.lower()
            cursor.take()
            self.settings[word] = self._value()
            return True
        return False

    def _ended(self, here: _Braces, names: dict[str, Token]) -> None:
        """One end of an edge has been read, a name or several in braces: an arrow follows, or the statement is over."""
        cursor = self._cursor
        here.ends.append(names)
        if cursor.sees(*_ENDS):
            here.arrows.append(cursor.take())
            return
        own = self._attributes()
        if here.arrows:
            marks = {**here.scope.edge, **own}
            for (left, right), arrow in zip(pairwise(here.ends), here.arrows, strict=True):
                self.items.extend(Link(u, arrow, v, marks) for u in left.values() for v in right.values())
        elif own:
            self.items.extend(Node(name, own) for name in names.values())
        for end in here.ends:
            if here.mentioned:
                for word, name in end.items():
                    here.mentioned.setdefault(word, name)
            else:
                here.mentioned = end
        here.ends, here.arrows, here.within = [], [], False

    def _name(self, scope: _Scope) -> dict[str, Token]:
        cursor = self._cursor
        name = cursor.expect_name()
        if cursor.sees(":"):
            cursor.fail("ports are not understood; put a name with a colon in double quotes")
        word = name.word
        if word not in self._met:
            self._met.add(word)
            self.items.append(Node(name, dict(scope.node)))
        return {word: name}

    def _attributes(self) -> dict[str, Attribute]:
        cursor = self._cursor
        found: dict[str, Attribute] = {}
        while cursor.sees("["):
            opened = cursor.take()
            cursor.skip(",", ";")
            while not cursor.accept("]"):
                if cursor.done:
                    cursor.fail("this '[' is not closed; add a ']'", opened)
                word = cursor.expect_name("an attribute or ']' is needed here")
                attribute = Attribute(word, self._value() if cursor.accept("=") else None)
                if word.word.lower() in _READ:
                    found[word.word.lower()] = attribute
                cursor.skip(",", ";")
        return found

    def _value(self) -> Token:
        cursor = self._cursor
        if cursor.here.kind not in ("name", "number", "quoted"):
            cursor.fail(f"a value is needed after '=', not {cursor.here.shown()}")
        return cursor.take()


def _word(cursor: Cursor) -> str:
    return cursor.here.text.lower() if cursor.here.kind == "name" else ""
