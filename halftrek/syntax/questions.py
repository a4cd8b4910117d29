"""A question's text to a query: ``P(y | do(x=1), z=2)``, ``P(y_{x=1} | x=0)``, ``x ~> y``, ``x <-> y``."""

from __future__ import annotations

from halftrek.errors import GraphError, InputError, QuestionSyntaxError
from halftrek.graph import check_name
from halftrek.queries import (
    Counterfactual,
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Potential,
    Query,
    ThroughEffect,
    TotalEffect,
)
from halftrek.queries.types import Value
from halftrek.syntax.tokens import Cursor, Token, rules, scan

_RULES = rules(comments=r"#[^\n]*", symbols=r"<->|->|<-|~>|[→←↔⇝()\[\]{},=|<>+*/^;:-]")
_ARROWS = {"->": "->", "→": "->", "<-": "<-", "←": "<-", "<->": "<->", "↔": "<->", "~>": "~>", "⇝": "~>"}
_CLOSING = {"(": ")", "[": "]"}
_FORMS = "P(y | do(x=1)), P(y | do(x=1), z=2), P(y_{x=1} | x=0), x ~> y, x -> y, x -> m -> y, x ~> m ~> y or x <-> y"


def parse_question(text: str) -> Query:
    """The query that a text asks; an error points at the place in the text. Values may be left out.

    ``E[y | do(x=1)]`` asks for the same distribution as ``P(y | do(x=1))``. A subscript holds variables in a world of
    its own: ``P(y_{x=1} | x=0, y=2)``.
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


def _distribution(cursor: Cursor) -> Interventional | Counterfactual:
    function = cursor.take()
    if function.text not in ("P", "p", "E"):
        cursor.fail(f"{function.text!r} is not understood here; a distribution is written P(...) or E[...]", function)
    opened = cursor.take()
    outcomes = _outcomes(cursor)
    do: dict[str, Value] = {}
    given: dict[Potential, Value] = {}
    if cursor.accept("|"):
        _conditions(cursor, outcomes, do, given)
    if cursor.done:
        cursor.fail(f"this '{opened.text}' is not closed; add a '{_CLOSING[opened.text]}'", opened)
    cursor.expect(_CLOSING[opened.text], f"',' or '{_CLOSING[opened.text]}' is needed here")
    if any(v.held for v in (*outcomes, *given)):
        return Counterfactual(tuple(outcomes), given)
    return Interventional(tuple(v.variable for v in outcomes), do, {v.variable: x for v, x in given.items()})


def _outcomes(cursor: Cursor) -> dict[Potential, Token]:
    outcomes: dict[Potential, Token] = {}
    while True:
        start = cursor.here
        outcome = _potential(cursor)
        if outcome in outcomes:
            cursor.fail(f"{outcome.variable!r} is named twice", start)
        outcomes[outcome] = start
        if cursor.sees("=", "<", ">"):
            cursor.fail("the probability of an event is not understood; name only the outcome before '|'")
        if not cursor.accept(","):
            return outcomes


def _conditions(
    cursor: Cursor, outcomes: dict[Potential, Token], do: dict[str, Value], given: dict[Potential, Value]
) -> None:
    worlds = any(v.held for v in outcomes)
    while True:
        if cursor.sees("do") and cursor.after.text == "(":
            start = cursor.take()
            opened = cursor.take()
            if worlds:
                cursor.fail("do() and subscripts cannot be mixed; write what is held as a subscript: y_{x=1}", start)
            _held(cursor, ")", opened, do, {v.variable for v in given if not v.held}, {v.variable for v in outcomes})
        elif cursor.sees("do") and cursor.after.is_name:
            cursor.fail("an intervention is written with parentheses: do(x=1)", cursor.here, cursor.after)
        else:
            start = cursor.here
            seen = _potential(cursor)
            if seen.held and do:
                cursor.fail("do() and subscripts cannot be mixed; write what is held as a subscript: y_{x=1}", start)
            worlds = worlds or bool(seen.held)
            if seen in outcomes:
                cursor.fail(f"{seen.variable!r} is the outcome and cannot also be held or given", start)
            if seen in given or (not seen.held and seen.variable in do):
                cursor.fail(f"{seen.variable!r} is held or given twice; keep one", start)
            given[seen] = _value(cursor)
        if not cursor.accept(","):
            return


def _held(
    cursor: Cursor, closing: str, opened: Token, values: dict[str, Value], given: set[str], outcomes: set[str]
) -> None:
    """``x`` or ``x=1``, one or several, put into ``values``, and what closes them."""
    while True:
        name = _variable(cursor)
        if name.word in outcomes:
            cursor.fail(f"{name.word!r} is the outcome and cannot also be held or given", name)
        if name.word in values or name.word in given:
            cursor.fail(f"{name.word!r} is held or given twice; keep one", name)
        values[name.word] = _value(cursor)
        if not cursor.accept(","):
            break
    if cursor.done:
        cursor.fail(f"this '{opened.text}' is not closed; add a '{closing}'", opened)
    cursor.expect(closing, f"',' or '{closing}' is needed here")


def _value(cursor: Cursor) -> Value:
    """``=1``, or nothing."""
    if not cursor.accept("="):
        return None
    if cursor.here.kind != "number":
        cursor.fail(f"a number is needed after '=', not {cursor.here.shown()}")
    token = cursor.take()
    value = float(token.text)
    if value in (float("inf"), float("-inf")):
        cursor.fail("the value is too large", token)
    return value


def _potential(cursor: Cursor) -> Potential:
    """``y`` or ``y_{x=1}``."""
    name = cursor.expect_name()
    word = name.word
    mark = cursor.here
    if name.kind == "quoted" and mark.text == "_" and mark.start == name.end and cursor.after.text == "{":
        cursor.take()
    elif name.kind != "quoted" and mark.text == "{" and mark.start == name.end and word.endswith("_"):
        word = word[:-1]
    else:
        return Potential(_checked(cursor, name, word))
    if not word:
        cursor.fail("a variable's name is needed before '_{'", name)
    variable = _checked(cursor, name, word)
    opened = cursor.take()
    held: dict[str, Value] = {}
    _held(cursor, "}", opened, held, set(), {variable})
    return Potential(variable, held)


def _variable(cursor: Cursor) -> Token:
    name = cursor.expect_name()
    if cursor.sees("{") and name.text.endswith("_"):
        cursor.fail("a counterfactual variable is not understood here; name the variable alone", name, cursor.here)
    _checked(cursor, name, name.word)
    return name


def _checked(cursor: Cursor, token: Token, word: str) -> str:
    try:
        return check_name(word)
    except GraphError as error:
        cursor.fail(str(error), token)


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
