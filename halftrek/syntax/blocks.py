"""The grammar that dagitty and DOT share: a head, braces, nodes and chains of edges with attributes in brackets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from halftrek.errors import GraphSyntaxError
from halftrek.syntax.tokens import Cursor, Token, rules, scan

_RULES = rules(
    comments=r"#[^\n]*|//[^\n]*|%%[^\n]*|/\*.*?\*/",
    symbols=r"<->|@->|<-@|@-@|@--|--@|->|<-|--|[→←↔{}\[\],;=:]|~>|[-~+*|<>()@]",
)
ARROWS = {"->": "->", "→": "->", "<-": "<-", "←": "<-", "<->": "<->", "↔": "<->"}
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


@dataclass(frozen=True, slots=True)
class Node:
    """A variable where it is mentioned first or described, with what is said of it there."""

    name: Token
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Link:
    """One edge of a chain."""

    left: Token
    arrow: Token
    right: Token
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Block:
    """A whole text: the word at its head and what stands between the braces."""

    head: Token
    items: tuple[Node | Link, ...]


@dataclass(frozen=True, slots=True)
class _Scope:
    """Attributes that ``node [...]`` and ``edge [...]`` set for what follows in the same braces."""

    node: dict[str, Attribute]
    edge: dict[str, Attribute]

    def inner(self) -> _Scope:
        return _Scope(dict(self.node), dict(self.edge))


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
    reader.braces(_Scope({}, {}))
    cursor.skip(";")
    if not cursor.done:
        cursor.fail(f"nothing can follow the closing brace, but here is {cursor.here.shown()}")
    return Block(head, tuple(reader.items))


class _Reader:
    """Reads statements and collects what they say."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._met: set[str] = set()
        self.items: list[Node | Link] = []

    def braces(self, scope: _Scope) -> list[Token]:
        """Everything up to the closing brace; returns each name mentioned once."""
        cursor = self._cursor
        opened = cursor.expect("{", "a '{' is needed here")
        mentioned: dict[str, Token] = {}
        while True:
            cursor.skip(";", ",")
            if cursor.accept("}"):
                return list(mentioned.values())
            if cursor.done:
                cursor.fail("this '{' is not closed; add a '}'", opened)
            for name in self._statement(scope):
                mentioned.setdefault(name.word, name)

    def _statement(self, scope: _Scope) -> list[Token]:
        cursor = self._cursor
        if _word(cursor) in ("node", "edge", "graph") and cursor.after.text == "[":
            word = cursor.take().text.lower()
            attributes = self._attributes()
            if word != "graph":
                (scope.node if word == "node" else scope.edge).update(attributes)
            return []
        if cursor.here.is_name and cursor.after.text == "=":  # of the whole graph: bb="0,0,1,1", rankdir=LR
            cursor.take()
            cursor.take()
            self._value()
            return []
        ends = [self._end(scope)]
        arrows: list[Token] = []
        while cursor.sees(*_ENDS):
            arrows.append(cursor.take())
            ends.append(self._end(scope))
        own = self._attributes()
        for (left, right), arrow in zip(pairwise(ends), arrows, strict=True):
            self.items.extend(Link(u, arrow, v, {**scope.edge, **own}) for u in left for v in right)
        if own and not arrows:
            self.items.extend(Node(name, own) for name in ends[0])
        return [name for end in ends for name in end]

    def _end(self, scope: _Scope) -> list[Token]:
        """A name, or several in braces."""
        cursor = self._cursor
        if _word(cursor) == "subgraph":
            cursor.take()
            if cursor.here.is_name:
                cursor.take()
        if cursor.sees("{"):
            return self.braces(scope.inner())
        name = cursor.expect_name()
        if cursor.sees(":"):
            cursor.fail("ports are not understood; put a name with a colon in double quotes")
        if name.word not in self._met:
            self._met.add(name.word)
            self.items.append(Node(name, dict(scope.node)))
        return [name]

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
                found[word.word.lower()] = Attribute(word, self._value() if cursor.accept("=") else None)
                cursor.skip(",", ";")
        return found

    def _value(self) -> Token:
        cursor = self._cursor
        if cursor.here.kind not in ("name", "number", "quoted"):
            cursor.fail(f"a value is needed after '=', not {cursor.here.shown()}")
        return cursor.take()


def _word(cursor: Cursor) -> str:
    return cursor.here.text.lower() if cursor.here.kind == "name" else ""
