"""What stands before a ``*`` in lavaan's syntax: numbers, labels, ``NA``, ``start()``, ``c(a, b)`` for groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from halftrek.syntax.tokens import Cursor, Token

_FUNCTIONS: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log}
_BOUNDS = ("lower", "upper")


class Modifier(NamedTuple):
    """What is said of one parameter; ``equal`` is the text of another one that it equals."""

    fixed: float | None = None
    label: str | None = None
    freed: bool = False
    start: float | None = None
    equal: str | None = None

    def with_(self, other: Modifier) -> Modifier:
        """Both together; what is said last goes before."""
        return Modifier(
            self.fixed if other.fixed is None else other.fixed,
            self.label if other.label is None else other.label,
            self.freed or other.freed,
            self.start if other.start is None else other.start,
            self.equal if other.equal is None else other.equal,
        )


Said = tuple[Modifier, ...]  # one for all groups, or one for each
PLAIN: Said = (Modifier(),)


def together(cursor: Cursor, before: Said, after: Said, first: Token) -> Said:
    """Two modifiers of one term."""
    if len(before) == 1 or len(after) == 1:
        width = max(len(before), len(after))
        before, after = before * (width // len(before)), after * (width // len(after))
    if len(before) != len(after):
        cursor.fail(f"one modifier has {len(before)} groups, the other {len(after)}; give one value a group", first)
    return tuple(a.with_(b) for a, b in zip(before, after, strict=True))


def call(cursor: Cursor) -> Said:
    """``start(0.5)``, ``label("a")``, ``equal("f=~x")``, ``c(a, b)`` and ``sqrt(2)``; other functions are refused."""
    function = cursor.take()
    opened = cursor.take()
    inside: list[Token] = []
    depth = 1
    while depth:
        if cursor.done or cursor.sees("\n"):
            cursor.fail("this '(' is not closed; add a ')'", opened)
        token = cursor.take()
        depth += {"(": 1, ")": -1}.get(token.text if token.kind != "quoted" else "", 0)
        inside.append(token)
    return _meaning(cursor, function, inside[:-1])


def _meaning(cursor: Cursor, function: Token, inside: list[Token]) -> Said:
    word = function.text
    if word in ("start", "label", "equal"):
        bare = inside[2:-1] if [t.text for t in inside[:2]] == ["c", "("] else inside
        pieces = _pieces(bare)
        if word == "start":
            return tuple(Modifier(start=_number(piece)) for piece in pieces)
        if all(len(piece) == 1 and piece[0].kind in ("quoted", "name") for piece in pieces):
            words = [label_of(piece[0]) for piece in pieces]
            return tuple(Modifier(label=w) if word == "label" else Modifier(equal=w) for w in words)
    if word == "c" and inside:
        return tuple(_entry(cursor, piece, function) for piece in _pieces(inside))
    if word in _FUNCTIONS and len(pieces := _pieces(inside)) == 1 and (number := _number(pieces[0])) is not None:
        try:
            return (Modifier(fixed=_FUNCTIONS[word](number)),)
        except (ValueError, OverflowError):
            cursor.fail(f"{word}() has no finite value here", function)
    if word in _BOUNDS:
        cursor.fail(f"bounds, {word}(), are not supported; leave it out", function)
    if word == "efa":
        cursor.fail("exploratory factors, efa(), are not supported; say which factor has which indicators", function)
    if word == "rv":
        cursor.fail("random slopes, rv(), are not supported", function)
    return cursor.fail(
        f"the modifier {word}() is not supported; a number, a label, NA, start(), label(), equal() and c() are",
        function,
    )


def label_of(token: Token) -> str:
    """lavaan takes ``"a b"`` and ``"ab"`` for one label: it removes spaces also within quotes."""
    return "".join(token.word.split())


def _pieces(tokens: list[Token]) -> list[list[Token]]:
    """What stands between commas."""
    pieces: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == "," and token.kind != "quoted":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def _number(tokens: list[Token]) -> float | None:
    """A number with its sign, or a fraction of two; None for anything else."""
    texts = [t.text for t in tokens]
    sign = -1.0 if texts[:1] == ["-"] else 1.0
    rest = tokens[1:] if sign < 0 else tokens
    if len(rest) == 1 and rest[0].kind == "number":
        return sign * float(rest[0].text)
    if len(rest) == 3 and rest[1].text == "/" and rest[0].kind == rest[2].kind == "number" and float(rest[2].text):
        return sign * float(rest[0].text) / float(rest[2].text)
    return None


def _entry(cursor: Cursor, piece: list[Token], function: Token) -> Modifier:
    """One value of ``c(...)``."""
    number = _number(piece)
    if number is not None:
        return Modifier(fixed=number)
    if len(piece) == 1 and piece[0].kind == "name" and piece[0].text == "NA":
        return Modifier(freed=True)
    if len(piece) == 1 and piece[0].kind in ("name", "quoted"):
        return Modifier(label=label_of(piece[0]))
    return cursor.fail("c() holds a number, a label or NA for each group", *(piece[:1] or [function]))


def in_brackets(cursor: Cursor) -> float:
    """``(1/3)``, a number in brackets."""
    opened = cursor.take()
    inside: list[Token] = []
    while not cursor.accept(")"):
        if cursor.done or cursor.sees("\n"):
            cursor.fail("this '(' is not closed; add a ')'", opened)
        inside.append(cursor.take())
    number = _number(inside)
    if number is None:
        cursor.fail("brackets before a '*' hold a number or a fraction, (1/3)", opened)
    return number
