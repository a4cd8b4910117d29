"""A question's text to a query: ``P(y | do(x=1), z=2)``, ``x ~> y``, ``x -> m -> y``, ``x <-> y``."""

from __future__ import annotations

from halftrek.errors import GraphError, InputError, QuestionSyntaxError
from halftrek.graph import check_name
from halftrek.queries import (
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
)
from halftrek.queries.types import Value
from halftrek.syntax.tokens import Cursor, Token, rules, scan

_RULES = rules(comments=r"#[^\n]*", symbols=r"<->|->|<-|~>|[→←↔⇝()\[\]{},=|<>+*/^;:-]")
_ARROWS = {"->": "->", "→": "->", "<-": "<-", "←": "<-", "<->": "<->", "↔": "<->", "~>": "~>", "⇝": "~>"}
_CLOSING = {"(": ")", "[": "]"}
_FORMS = "P(y | do(x=1)), P(y | do(x=1), z=2), x ~> y, x -> y, x -> m -> y, x ~> m ~> y or x <-> y"


def parse_question(text: str) -> Query:
    """The query that a text asks; an error points at the place in the text. Values may be left out.

    ``E[y | do(x=1)]`` asks for the same distribution as ``P(y | do(x=1))``.
    """
    if not isinstance(text, str):
        raise InputError(f"a question's text is needed, not {type(text).__name__}")
    cursor = Cursor(text, scan(text, _RULES, QuestionSyntaxError), QuestionSyntaxError)
    if cursor.done:
        cursor.fail(f"the question is empty; ask for instance {_FORMS}")
    query = _distribution(cursor) if _begins_distribution(cursor) else _effect(cursor)
    if not cursor.done:
        cursor.fail(f"{cursor.here.shown()} is not understood after the end of a question; ask {_FORMS}")
    return query


def _begins_distribution(cursor: Cursor) -> bool:
    return cursor.here.kind == "name" and cursor.after.kind == "symbol" and cursor.after.text in _CLOSING


# -- P( ... ) ------------------------------------------------------------------------------------


def _distribution(cursor: Cursor) -> Interventional:
    function = cursor.take()
    if function.text not in ("P", "p", "E"):
        cursor.fail(f"{function.text!r} is not understood here; a distribution is written P(...) or E[...]", function)
    opened = cursor.take()
    outcomes = _outcomes(cursor)
    do: dict[str, Value] = {}
    given: dict[str, Value] = {}
    if cursor.accept("|"):
        _conditions(cursor, outcomes, do, given)
    if cursor.done:
        cursor.fail(f"this '{opened.text}' is not closed; add a '{_CLOSING[opened.text]}'", opened)
    cursor.expect(_CLOSING[opened.text], f"',' or '{_CLOSING[opened.text]}' is needed here")
    return Interventional(tuple(outcomes), do, given)


def _outcomes(cursor: Cursor) -> dict[str, Token]:
    outcomes: dict[str, Token] = {}
    while True:
        name = _variable(cursor)
        if name.word in outcomes:
            cursor.fail(f"{name.word!r} is named twice", name)
        outcomes[name.word] = name
        if cursor.sees("=", "<", ">"):
            cursor.fail("the probability of an event is not understood; name only the outcome before '|'")
        if not cursor.accept(","):
            return outcomes


def _conditions(cursor: Cursor, outcomes: dict[str, Token], do: dict[str, Value], given: dict[str, Value]) -> None:
    while True:
        if cursor.sees("do") and cursor.after.text == "(":
            cursor.take()
            opened = cursor.take()
            _assignment(cursor, outcomes, do, (do, given))
            while cursor.accept(","):
                _assignment(cursor, outcomes, do, (do, given))
            if cursor.done:
                cursor.fail("this '(' is not closed; add a ')'", opened)
            cursor.expect(")", "',' or ')' is needed here")
        elif cursor.sees("do") and cursor.after.is_name:
            cursor.fail("an intervention is written with parentheses: do(x=1)", cursor.here, cursor.after)
        else:
            _assignment(cursor, outcomes, given, (do, given))
        if not cursor.accept(","):
            return


def _assignment(
    cursor: Cursor, outcomes: dict[str, Token], values: dict[str, Value], taken: tuple[dict[str, Value], ...]
) -> None:
    """``x`` or ``x=1``, put into ``values``."""
    name = _variable(cursor)
    if name.word in outcomes:
        cursor.fail(f"{name.word!r} is the outcome and cannot also be held or given", name)
    if any(name.word in others for others in taken):
        cursor.fail(f"{name.word!r} is held or given twice; keep one", name)
    values[name.word] = None
    if cursor.accept("="):
        if cursor.here.kind != "number":
            cursor.fail(f"a number is needed after '=', not {cursor.here.shown()}")
        token = cursor.take()
        value = float(token.text)
        if value in (float("inf"), float("-inf")):
            cursor.fail("the value is too large", token)
        values[name.word] = value


def _variable(cursor: Cursor) -> Token:
    name = cursor.expect_name()
    if cursor.sees("{") and name.text.endswith("_"):
        cursor.fail("counterfactuals are not understood here; interventions are written do(x=1)", name, cursor.here)
    try:
        check_name(name.word)
    except GraphError as error:
        cursor.fail(str(error), name)
    return name


# -- arrows --------------------------------------------------------------------------------------


def _effect(cursor: Cursor) -> Query:
    names = [_variable(cursor)]
    first = cursor.here
    if not cursor.sees(*_ARROWS):
        cursor.fail(f"{first.shown()} is not understood here; ask {_FORMS}")
    kind = _ARROWS[first.text]
    while cursor.sees(*_ARROWS):
        arrow = cursor.take()
        if _ARROWS[arrow.text] != kind:
            cursor.fail(f"{arrow.text!r} and {first.text!r} cannot be mixed in one question", arrow)
        if len(names) == 2 and kind in ("<->", "<-"):
            cursor.fail(f"a question with {arrow.text} has two variables", arrow)
        names.append(_variable(cursor))
        if names[-1].word in {t.word for t in names[:-1]}:
            cursor.fail(f"{names[-1].word!r} is named twice; a path never comes back", names[-1])
    words = tuple(t.word for t in names)
    if kind == "<->":
        return ErrorCovariance(words[0], words[1])
    if kind == "<-":
        return DirectEffect(words[1], words[0])
    if kind == "->":
        return DirectEffect(words[0], words[1]) if len(words) == 2 else PathEffect(words)
    return TotalEffect(words[0], words[1]) if len(words) == 2 else ThroughEffect(words)
