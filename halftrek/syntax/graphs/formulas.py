"""The formulas of lavaan as pieces: left side, operator and one term of the right side at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from halftrek.errors import GraphSyntaxError
from halftrek.syntax.tokens import UNSIGNED, Cursor, Token, rules, scan

NAME = r"(?:[^\W\d]|\.(?!\d))[\w.]*"
_RULES = rules(
    comments=r"[#!][^\n]*",
    symbols=r"~\*~|=~|~~|<~|:=|==|<->|->|<-|~>|[~+*<>|:;(),\[\]{}%^/=?-]",
    name=NAME,
    number=UNSIGNED,
)
_REFUSED = {
    "==": "constraints are not supported; give the edges the same label to make them equal",
    "<": "inequality constraints are not supported",
    ">": "inequality constraints are not supported",
    "<~": "composites (<~) are not supported",
    "|": "thresholds (|) are not supported; all variables are continuous here",
    "~*~": "scaling factors (~*~) are not supported; all variables are continuous here",
    ":": "blocks, groups and interactions (:) are not supported",
}


class Term(NamedTuple):
    """One term of a right side: ``0.5*x``, ``a*x``, ``NA*x``.

    Without a name it is the intercept, or the 0 of ``f =~ 0``, a hidden cause without children.
    """

    name: Token | None
    first: Token
    last: Token
    fixed: float | None = None
    label: str | None = None
    freed: bool = False


class Formula(NamedTuple):
    """``left operator term``; a statement with several names or terms becomes several of these."""

    left: Token
    operator: Token
    term: Term


class Definition(NamedTuple):
    """``name := expression``, which says nothing of the graph."""

    name: Token


def parse_formulas(text: str) -> Iterator[Formula | Definition]:
    """Every formula and definition of the text, in order."""
    cursor = Cursor(text, scan(text, _RULES, GraphSyntaxError, newlines=True), GraphSyntaxError)
    while True:
        cursor.skip("\n", ";")
        if cursor.done:
            return
        yield from _formula(cursor)
        if not (cursor.done or cursor.sees("\n", ";")):
            cursor.fail(
                _REFUSED.get(cursor.here.text)
                or f"{cursor.here.shown()} is not understood here; '+', ';' or a new line can follow"
            )


def _formula(cursor: Cursor) -> Iterator[Formula | Definition]:
    lefts = [_left(cursor)]
    while cursor.accept("+"):
        lefts.append(_left(cursor))
    operator = cursor.here
    if cursor.sees(":="):
        while not (cursor.done or cursor.sees("\n", ";")):
            if cursor.take().text in ("+", "-", "*", "/", "^", ",", "(", ":="):
                cursor.skip("\n")
        yield from map(Definition, lefts)
        return
    if not cursor.sees("~", "~~", "=~"):
        cursor.fail(
            _REFUSED.get(operator.text)
            or f"a formula has one of the operators ~, ~~ and =~ after its left side, not {operator.shown()}"
        )
    cursor.take()
    cursor.skip("\n")
    if operator.text == "=~" and cursor.sees("0") and cursor.after.text in ("", "\n", ";"):
        nothing = Term(None, cursor.here, cursor.take())
        yield from (Formula(left, operator, nothing) for left in lefts)
        return
    while True:
        cursor.skip("\n")
        term = _term(cursor)
        if term.name is None and operator.text != "~":
            cursor.fail(f"a variable's name is needed after {operator.text}, not a number", term.first, term.last)
        for left in lefts:
            yield Formula(left, operator, term)
        if cursor.beyond_newlines.text != "+":
            return
        cursor.skip("\n")
        cursor.take()


def _left(cursor: Cursor) -> Token:
    if cursor.here.kind not in ("name", "quoted"):
        cursor.fail(f"a formula begins with a variable's name, not {cursor.here.shown()}")
    return cursor.take()


def _term(cursor: Cursor) -> Term:
    first = cursor.here
    fixed: float | None = None
    label: str | None = None
    freed = False
    while True:
        token, number = cursor.here, _number(cursor)
        if number is not None:
            if not cursor.sees("*"):
                if number != 1.0:
                    cursor.fail("a number alone can only be the intercept, 1; write number*name", first, token)
                return Term(None, first, token, fixed, label, freed)
            fixed = number
        elif token.kind == "name" and cursor.after.text == "(":
            label = _call(cursor) or label
        elif token.kind in ("name", "quoted"):
            cursor.take()
            if not cursor.sees("*"):
                return Term(token, first, token, fixed, label, freed)
            if token.kind == "name" and token.text == "NA":
                freed = True
            else:
                label = _label(token)
        else:
            cursor.fail(f"a variable's name is needed here, not {token.shown()}")
        cursor.expect("*", "a '*' is needed between a modifier and its variable")
        cursor.skip("\n")


def _label(token: Token) -> str:
    """lavaan takes ``"a b"`` and ``"ab"`` for one label: it removes spaces also within quotes."""
    return "".join(token.word.split())


def _number(cursor: Cursor) -> float | None:
    if cursor.here.kind == "number":
        return float(cursor.take().text)
    if cursor.sees("-") and cursor.after.kind == "number":
        cursor.take()
        return -float(cursor.take().text)
    return None


def _call(cursor: Cursor) -> str | None:
    """``start(0.5)`` says nothing about the model, ``label("a")`` names a coefficient; other calls change the model."""
    function = cursor.take()
    opened = cursor.take()
    inside: list[Token] = []
    while not cursor.accept(")"):
        if cursor.done or cursor.sees("\n"):
            cursor.fail("this '(' is not closed; add a ')'", opened)
        inside.append(cursor.take())
    if function.text == "start":
        return None
    if function.text == "label" and len(inside) == 1 and inside[0].kind in ("quoted", "name"):
        return _label(inside[0])
    return cursor.fail(
        f"the modifier {function.text}() is not supported; a number, a label, NA, start() and label() are", function
    )
