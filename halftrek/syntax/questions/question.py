"""A question's text to a query: ``P(y | do(x=1), z=2)``, ``E[y_{x=1} - y_{x=0} | x=0]``, ``x ~> y``, ``x <-> y``."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple, NoReturn, get_args

from halftrek.errors import InputError, QuestionSyntaxError
from halftrek.queries import (
    Arithmetic,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)
from halftrek.queries.kinds.effects import EFFECTS
from halftrek.queries.kinds.terms import DEEPEST, Expression, Kind, leaves
from halftrek.queries.kinds.variants import Case, Event, Sum
from halftrek.syntax.questions.contrasts import CONTRASTS, contrast_here
from halftrek.syntax.questions.variants import (
    LESS,
    MORE,
    begins_with_bound,
    bounded_event,
    close,
    conditions_here,
    event_after,
    number_here,
    plain_name,
    sum_here,
)
from halftrek.syntax.tokens import UNSIGNED, Cursor, Token, rules, scan

_RULES = rules(
    comments=r"#[^\n]*",
    symbols=r"<->|->|<-|~>|[-+*/]=|<=|>=|[→←↔⇝≤≥()\[\]{},=|<>+*/^;:~-]",
    number=UNSIGNED,
)
_ARROWS = {"->": "->", "→": "->", "<-": "<-", "←": "<-", "<->": "<->", "↔": "<->", "~>": "~>", "⇝": "~>"}
_CLOSING = {"(": ")", "[": "]"}
_KINDS: dict[str, Kind] = {**{k.lower(): k for k in get_args(Kind)}, "cor": "Corr"}
_FUNCTIONS = (
    "P(...), E[...], Var[...], SD[...], Cov[...], Corr[...], Q(0.9, ...), std(...), RD(...), RR(...) or OR(...)"
)
_FORMS = (
    "P(y | do(x=1)), E[y | do(x=1), z=2], P(y > 2 | do(x=1)), E[y_{x=1} - y_{x=0} | x=0], x ~> y, x -> y, x -> m -> y, "
    "x ~> m ~> y or x <-> y"
)


def parse_question(text: str) -> Query:
    """The query that a text asks; an error points at the place in the text. Values may be left out.

    ``P(...)`` of variables asks for their distribution, of events for a probability. A subscript changes the world for
    one variable: ``E[y_{x=1} | x=0, y=2]``. Numbers may be added, subtracted, multiplied and divided.
    """
    if not isinstance(text, str):
        raise InputError(f"a question's text is needed, not {type(text).__name__}")
    cursor = Cursor(text, scan(text, _RULES, QuestionSyntaxError), QuestionSyntaxError)
    if cursor.done:
        cursor.fail(f"the question is empty; ask for instance {_FORMS}")
    start = cursor.here
    found = _expression(cursor)
    if not cursor.done:
        cursor.fail(f"{cursor.here.shown()} is not understood after the end of a question; ask {_FORMS}")
    if isinstance(found, float):
        cursor.fail(f"this is a number and asks nothing; ask for instance {_FORMS}", start)
    if isinstance(found, Arithmetic) and next(leaves(found), None) is None:
        cursor.fail(f"this asks nothing about any variable; ask for instance {_FORMS}", start)
    return found


# -- arithmetic ----------------------------------------------------------------------------------

Found = Expression | Distribution


class _Waiting(NamedTuple):
    """A sign or an opening bracket whose right side has not been read, and where that begins."""

    kind: Literal["minus", "bracket", "operation"]
    token: Token
    start: Token


def _expression(cursor: Cursor) -> Found:
    """Sums and products in brackets. What waits is on a list of ours: depth is no matter of Python's calls."""
    waiting: list[_Waiting] = []
    values: list[Found] = []
    while True:
        _signs_and_brackets(cursor, waiting)
        values.append(_atom(cursor))
        while not cursor.sees("*", "/", "+", "-"):
            _finish(cursor, waiting, values, "+-*/")
            if not waiting:
                return values[0]
            opened = waiting.pop().token
            if cursor.done:
                cursor.fail(f"this '{opened.text}' is not closed; add a '{_CLOSING[opened.text]}'", opened)
            cursor.expect(_CLOSING[opened.text], f"'{_CLOSING[opened.text]}' is needed here")
        _finish(cursor, waiting, values, "*/" if cursor.sees("*", "/") else "+-*/")
        waiting.append(_Waiting("operation", cursor.take(), cursor.here))


def _signs_and_brackets(cursor: Cursor, waiting: list[_Waiting]) -> None:
    """What can stand before a number, any number of times within reason."""
    count = Counter(one.kind for one in waiting) if cursor.sees("-", "(", "[") else Counter()
    while cursor.sees("-", "+", "(", "["):
        token = cursor.take()
        if token.text != "+":
            waiting.append(_Waiting("minus" if token.text == "-" else "bracket", token, cursor.here))
            count[waiting[-1].kind] += 1
            if count[waiting[-1].kind] > DEEPEST:
                _too_deep(cursor, token)


def _finish(cursor: Cursor, waiting: list[_Waiting], values: list[Found], operations: str) -> None:
    """Carry out what waits and binds no weaker than what comes, back to the last bracket."""
    while waiting and waiting[-1].kind != "bracket":
        last = waiting[-1]
        if last.kind == "operation" and last.token.text not in operations:
            return
        waiting.pop()
        if last.kind == "minus":
            values.append(_negative(cursor, last, values.pop()))
        else:
            right, left = values.pop(), values.pop()
            values.append(_operation(cursor, last, left, right))


def _negative(cursor: Cursor, sign: _Waiting, found: Found) -> Found:
    return -found if isinstance(found, float) else _operation(cursor, sign, -1.0, found)


def _operation(cursor: Cursor, last: _Waiting, left: Found, right: Found) -> Arithmetic:
    for side, place in ((left, last.token), (right, last.start)):
        if isinstance(side, Distribution):
            cursor.fail(f"{side} is a distribution, not a number; take E[...] or the probability of an event", place)
        if isinstance(side, Arithmetic) and side.depth == DEEPEST:
            _too_deep(cursor, last.token)
    if last.kind == "operation" and last.token.text == "/" and right == 0.0:
        cursor.fail("nothing can be divided by zero", last.start)
    operation = "*" if last.kind == "minus" else last.token.text
    return Arithmetic(operation, left, right)  # type: ignore[arg-type]


def _too_deep(cursor: Cursor, place: Token) -> NoReturn:
    cursor.fail(f"a question has at most {DEEPEST} operations or brackets within each other; ask it in parts", place)


def _atom(cursor: Cursor) -> Found:
    here = cursor.here
    if here.kind == "number" and cursor.after.text not in _ARROWS:
        return number_here(cursor, "here")
    if here.kind == "name" and cursor.after.kind == "symbol" and cursor.after.text in _CLOSING:
        return _function(cursor)
    return _effect(cursor)


# -- P( ... ), E[ ... ] and so on ----------------------------------------------------------------


def _function(cursor: Cursor) -> Found:
    function = cursor.take()
    name = function.text.lower()
    opened = cursor.take()
    if name == "std":
        return _standardized(cursor, opened)
    if name in ("p", "pr"):
        return _probability(cursor, opened)
    if name in CONTRASTS:
        return contrast_here(cursor, opened, name)
    if name == "q":
        level = number_here(cursor, "for the level of the quantile, as in Q(0.9, y),")
        if not 0.0 < level < 1.0:
            cursor.fail("the level of a quantile lies between 0 and 1: Q(0.9, y)", opened)
        cursor.expect(",", "',' and the outcome are needed here: Q(0.9, y)")
        sums, case = _behind(cursor, opened, 1)
        return Quantile(level, sums[0], case)
    if name not in _KINDS:
        cursor.fail(f"{function.text!r} is not understood here; ask {_FUNCTIONS}", function)
    kind = _KINDS[name]
    count = 2 if kind in ("Cov", "Corr") else None if kind == "E" else 1
    sums, case = _behind(cursor, opened, count)
    return Distribution(sums, case) if len(sums) > 1 and kind == "E" else Statistic(kind, sums, case)


def _behind(cursor: Cursor, opened: Token, count: int | None) -> tuple[tuple[Sum, ...], Case]:
    """Outcomes (as many as told), conditions and the closing bracket."""
    sums: dict[Sum, Token] = {}
    while True:
        start = cursor.here
        of = sum_here(cursor)
        if cursor.sees(*LESS, *MORE, "="):
            cursor.fail("the probability of an event is written P(...); name only the outcome before '|'")
        if of in sums and count != 2:
            cursor.fail(f"{_name(of)} is named twice", start)
        sums[of] = start
        if count is not None and len(sums) > count:
            cursor.fail("there is one outcome too many here" if count == 1 else "two outcomes are meant here", start)
        if not cursor.accept(","):
            break
    if count == 2 and len(sums) < 2:
        cursor.fail("two different outcomes are needed here, separated by ','")
    case = conditions_here(cursor, list(sums)) if cursor.accept("|") else Case()
    close(cursor, opened, _CLOSING[opened.text])
    return tuple(sums), case


def _name(of: Sum) -> str:
    return repr(of.alone.variable) if of.alone else str(of)


def _probability(cursor: Cursor, opened: Token) -> Found:
    """A distribution if variables are named, a number if events are."""
    sums: dict[Sum, Token] = {}
    events: list[Event] = []
    while True:
        start = cursor.here
        event = bounded_event(cursor) if begins_with_bound(cursor) else None
        of = event.of if event else sum_here(cursor)
        if event is None and cursor.sees(*LESS, *MORE, "="):
            event = event_after(cursor, of)
        if event is not None:
            events.append(event)
        elif of in sums:
            cursor.fail(f"{_name(of)} is named twice", start)
        else:
            sums[of] = start
        if events and sums:
            cursor.fail("events and variables cannot be mixed; write y > 2 for each, or name variables only", start)
        if not cursor.accept(","):
            break
    before = [e.of for e in events] if events else list(sums)
    case = conditions_here(cursor, before) if cursor.accept("|") else Case()
    close(cursor, opened, _CLOSING[opened.text])
    return Probability(tuple(events), case) if events else Distribution(tuple(sums), case)


def _standardized(cursor: Cursor, opened: Token) -> Standardized:
    start = cursor.here
    effect = _effect(cursor)
    if not isinstance(effect, EFFECTS):
        cursor.fail("only effects have a standardized version; for error terms ask Corr[...] of variables", start)
    close(cursor, opened, _CLOSING[opened.text])
    return Standardized(effect)


# -- arrows --------------------------------------------------------------------------------------


def _effect(cursor: Cursor) -> DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance:
    names = [plain_name(cursor)]
    seen = {names[0].word}
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
        names.append(plain_name(cursor))
        if names[-1].word in seen:
            cursor.fail(f"{names[-1].word!r} is named twice; a path never comes back", names[-1])
        seen.add(names[-1].word)
    words = tuple(t.word for t in names)
    if kind == "<->":
        return ErrorCovariance(words[0], words[1])
    if kind == "<-":
        return DirectEffect(words[1], words[0])
    if kind == "->":
        return DirectEffect(words[0], words[1]) if len(words) == 2 else PathEffect(words)
    return TotalEffect(words[0], words[1]) if len(words) == 2 else ThroughEffect(words)
