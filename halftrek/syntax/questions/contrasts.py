"""Risks in two worlds, compared by name: difference, ratio and odds ratio, ``RR(y > 0 | do(x=1) : do(x=0))``.

They are written out as arithmetic with probabilities (of a 0/1 outcome without an event: with its means).
"""

from __future__ import annotations

from halftrek.queries import Arithmetic, Probability, Statistic
from halftrek.queries.kinds.variants import Case, Sum
from halftrek.syntax.questions.variants import (
    LESS,
    MORE,
    begins_with_bound,
    bounded_event,
    close,
    conditions_here,
    event_after,
    sum_here,
)
from halftrek.syntax.tokens import Cursor, Token

CONTRASTS = ("rd", "rr", "or")

Risk = Probability | Statistic


def contrast_here(cursor: Cursor, opened: Token, name: str) -> Arithmetic:
    """What stands after the opening bracket: the outcome, and two worlds with a colon between them."""
    event = bounded_event(cursor) if begins_with_bound(cursor) else None
    of = event.of if event else sum_here(cursor)
    if event is None and cursor.sees(*LESS, *MORE, "="):
        event = event_after(cursor, of)
    cursor.expect("|", f"'|' and two worlds are needed here: {name.upper()}(y > 0 | do(x=1) : do(x=0))")
    cases = [conditions_here(cursor, [of])]
    cursor.expect(":", "':' and what to compare with are needed here: do(x=1) : do(x=0)")
    cases.append(conditions_here(cursor, [of]))
    close(cursor, opened, ")" if opened.text == "(" else "]")

    def risk(case: Case, of: Sum = of) -> Risk:
        return Statistic("E", (of,), case) if event is None else Probability((event,), case)

    first, second = map(risk, cases)
    match name:
        case "rd":
            return Arithmetic("-", first, second)
        case "rr":
            return Arithmetic("/", first, second)
    return Arithmetic("/", _odds(first), _odds(second))


def _odds(risk: Risk) -> Arithmetic:
    return Arithmetic("/", risk, Arithmetic("-", 1.0, risk))
