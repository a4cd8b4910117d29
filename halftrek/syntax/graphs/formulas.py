"""The formulas of lavaan as pieces: left side, operator and one term of the right side at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from halftrek.errors import GraphSyntaxError
from halftrek.syntax.graphs.modifiers import PLAIN, Modifier, Said, call, in_brackets, label_of, together
from halftrek.syntax.tokens import UNSIGNED, Cursor, Token, rules, scan

NAME = r"(?:[^\W\d]|\.(?!\d))[\w.]*"
_RULES = rules(
    comments=r"[#!][^\n]*",
    symbols=r"~\*~|=~|~~|<~|:=|==|<->|->|<-|~>|[~+*<>|:;(),\[\]{}%^/=?-]",
    name=NAME,
    number=UNSIGNED,
)
_REFUSED = {
    "<": "inequality constraints are not supported",
    ">": "inequality constraints are not supported",
    "<~": "composites (<~) are not supported",
    "|": "thresholds (|) are not supported; all variables are continuous here",
    "~*~": "scaling factors (~*~) are not supported; all variables are continuous here",
    "%": "group weights (%) are not supported; groups count by their rows",
    ":": "blocks, groups and interactions (:) are not supported",
}
_BLOCKS = {
    "level": "levels (level: 1) are not supported: multilevel models have random parts for clusters, which a graph "
    "does not have; cluster= gives standard errors that count clusters",
    "group": "blocks of groups (group: 1) are not supported; write c(a, b)* where groups differ",
    "class": "mixtures (class: 1) are not supported",
    "block": "blocks (block: 1) are not supported",
}


class Term(NamedTuple):
    """One term of a right side: ``0.5*x``, ``a*x``, ``NA*x``.

    Without a name it is the intercept, or the 0 of ``f =~ 0``, a hidden cause without children. ``each`` has what is
    said of it: once for all, or for each group.
    """

    name: Token | None
    first: Token
    last: Token
    each: Said = PLAIN

    @property
    def only(self) -> Modifier:
        """What is said of it, where all groups have the same."""
        return self.each[0]

    @property
    def fixed(self) -> float | None:
        return self.only.fixed

    @property
    def label(self) -> str | None:
        return self.only.label

    @property
    def freed(self) -> bool:
        return self.only.freed


class Formula(NamedTuple):
    """``left operator term``; a statement with several names or terms becomes several of these."""

    left: Token
    operator: Token
    term: Term


class Definition(NamedTuple):
    """``name := expression``, which says nothing of the graph, or the constraint ``left == right``, without a name."""

    name: Token | None
    tokens: tuple[Token, ...]
    operator: Token


def parse_formulas(text: str) -> Iterator[Formula | Definition]:
    """Every formula, definition and constraint of the text, in order."""
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
    known = _constraint(cursor)
    if known is not None:
        yield known
        return
    lefts = [_left(cursor)]
    while cursor.accept("+"):
        lefts.append(_left(cursor))
    operator = cursor.here
    if cursor.sees(":="):
        tokens = _to_the_end(cursor)[1:]
        yield from (Definition(left, tokens, operator) for left in lefts)
        return
    if cursor.sees(":") and lefts[-1].text.lower() in _BLOCKS:
        cursor.fail(_BLOCKS[lefts[-1].text.lower()], lefts[-1], operator)
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


def _constraint(cursor: Cursor) -> Definition | None:
    """A statement with ``==`` in it, or one with ``<`` or ``>``, which is refused."""
    for token in cursor.statement:
        if token.kind == "quoted":
            continue
        if token.text == "==":
            tokens = _to_the_end(cursor)
            return Definition(None, tokens, token)
        if token.text in ("<", ">"):
            cursor.fail(_REFUSED[token.text], token)
        if token.text in ("~", "~~", "=~", ":=", "<~", "|", "~*~", ":"):
            break
    return None


def _to_the_end(cursor: Cursor) -> tuple[Token, ...]:
    """The rest of a statement, which goes on over the end of a line behind an operator or an open bracket."""
    found: list[Token] = []
    while not (cursor.done or cursor.sees("\n", ";")):
        found.append(cursor.take())
        if found[-1].text in ("+", "-", "*", "/", "^", ",", "(", ":=", "=="):
            cursor.skip("\n")
    return tuple(found)


def _left(cursor: Cursor) -> Token:
    if cursor.here.kind == "name" and cursor.after.text == "(":
        call(cursor)  # efa("block")*f and other calls are refused there
        cursor.fail("a formula begins with a variable's name, without a modifier")
    if cursor.here.kind not in ("name", "quoted"):
        cursor.fail(f"a formula begins with a variable's name, not {cursor.here.shown()}")
    return cursor.take()


def _term(cursor: Cursor) -> Term:
    first = cursor.here
    said = PLAIN
    while True:
        token, number = cursor.here, _number(cursor)
        if number is not None:
            if cursor.accept("?"):
                said = together(cursor, said, (Modifier(start=number),), token)
                continue
            if not cursor.sees("*"):
                if number not in (0.0, 1.0):
                    cursor.fail("a number alone can only be the intercept, 1 or 0; write number*name", first, token)
                zero = (Modifier(fixed=0.0),)  # y ~ 0: no intercept
                return Term(None, first, token, said if number else together(cursor, said, zero, token))
            added: Said = (Modifier(fixed=number),)
        elif token.kind == "name" and cursor.after.text == "(":
            added = call(cursor)
        elif token.kind in ("name", "quoted"):
            cursor.take()
            if not cursor.sees("*"):
                return Term(token, first, token, said)
            free = token.kind == "name" and token.text == "NA"
            added = (Modifier(freed=True) if free else Modifier(label=label_of(token)),)
        elif token.text == "(":
            added = (Modifier(fixed=in_brackets(cursor)),)
        else:
            cursor.fail(f"a variable's name is needed here, not {token.shown()}")
        said = together(cursor, said, added, token)
        cursor.expect("*", "a '*' is needed between a modifier and its variable")
        cursor.skip("\n")


def _number(cursor: Cursor) -> float | None:
    if cursor.here.kind == "number":
        return float(cursor.take().text)
    if cursor.sees("-") and cursor.after.kind == "number":
        cursor.take()
        return -float(cursor.take().text)
    return None
