"""Variables in changed worlds, sums of them, events and conditions, as they stand in the text of a question."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite

from halftrek.errors import GraphError
from halftrek.graphs import check_name
from halftrek.queries.kinds.variants import DEEPEST, Case, Change, Draw, Event, Scale, Shift, Sum, Target, Variant
from halftrek.queries.types import Value
from halftrek.syntax.tokens import Cursor, Token

LESS, MORE = ("<", "<=", "≤", "<-"), (">", ">=", "≥")
# The commonest way to hold a variable twice is to write two worlds side by side.
_KEEP_ONE = "keep one (two worlds are compared with a colon: RD(y > 0 | do(x=1) : do(x=0)))"
_MIXED = "do() and subscripts cannot be mixed; write what is held as a subscript: y_{x=1}"


def number_here(cursor: Cursor, after: str) -> float:
    """A number, perhaps with a sign."""
    sign = 1.0
    while cursor.sees("-", "+"):
        sign *= -1.0 if cursor.take().text == "-" else 1.0
    if cursor.here.kind != "number":
        texts = "; texts such as yes and no are read as numbers, which the fit's summary tells"
        also = texts if cursor.here.kind == "name" and after.startswith("after") else ""
        cursor.fail(f"a number is needed {after}, not {cursor.here.shown()}{also}")
    token = cursor.take()
    value = float(token.text)
    if value == inf:
        cursor.fail("the value is too large", token)
    if value == 0.0 and any(digit in "123456789" for digit in token.text.lower().partition("e")[0]):
        cursor.fail("the value is too small", token)
    return sign * value


def checked(cursor: Cursor, token: Token, word: str) -> str:
    """The name, if a variable can be called so."""
    try:
        return check_name(word)
    except GraphError as error:
        cursor.fail(str(error), token)


def value_here(cursor: Cursor) -> Value:
    """``=1``, or nothing."""
    return number_here(cursor, "after '='") if cursor.accept("=") else None


def has_subscript(cursor: Cursor) -> bool:
    """True if the next word is a variable with a subscript: ``y_{``."""
    name, mark = cursor.here, cursor.after
    if name.kind == "quoted":
        return mark.text == "_" and mark.start == name.end
    return name.is_name and name.text.endswith("_") and mark.text == "{" and mark.start == name.end


def variant_here(cursor: Cursor, depth: int = 1) -> Variant:
    """``y`` or ``y_{x=1, z+=2, m_{x=0}}``."""
    name = cursor.expect_name()
    word = name.word
    mark = cursor.here
    if name.kind == "quoted" and mark.text == "_" and mark.start == name.end and cursor.after.text == "{":
        cursor.take()
    elif name.kind != "quoted" and mark.text == "{" and mark.start == name.end and word.endswith("_"):
        word = word[:-1]
    else:
        return Variant(checked(cursor, name, word))
    if not word:
        cursor.fail("a variable's name is needed before '_{'", name)
    variable = checked(cursor, name, word)
    if depth > DEEPEST:
        cursor.fail(f"subscripts are nested more than {DEEPEST} deep here; write it with fewer", cursor.here)
    opened = cursor.take()
    return Variant(variable, changes_here(cursor, "}", opened, given=set(), outcomes={variable}, depth=depth))


def plain_name(cursor: Cursor) -> Token:
    """A variable without a subscript."""
    name = cursor.expect_name()
    if cursor.sees("{") and name.text.endswith("_"):
        cursor.fail("a counterfactual variable is not understood here; name the variable alone", name, cursor.here)
    checked(cursor, name, name.word)
    return name


def changes_here(
    cursor: Cursor, closing: str, opened: Token, *, given: set[str], outcomes: set[str], depth: int = 0
) -> dict[Target, Change]:
    """What is held, shifted, scaled, drawn or cut, one or several, and what closes them.

    ``given`` and ``outcomes`` are variables that cannot also be held.
    """
    found: dict[Target, Change] = {}
    while True:
        start = cursor.here
        target, change = _change(cursor, depth)
        held = not isinstance(change, Shift | Scale | Draw) and isinstance(target, str)
        if held and target in outcomes:
            cursor.fail(f"{target!r} is the outcome and cannot also be held or given", start)
        if target in found or (held and target in given):
            cursor.fail(f"{_shown(target)} is held or given twice; {_KEEP_ONE}", start)
        found[target] = change
        if not cursor.accept(","):
            break
    close(cursor, opened, closing)
    return found


def _shown(target: Target) -> str:
    return repr(target) if isinstance(target, str) else f"{target[0]} -> {target[1]}"


def _change(cursor: Cursor, depth: int) -> tuple[Target, Change]:
    if has_subscript(cursor):
        inner = variant_here(cursor, depth + 1)
        return inner.variable, inner
    name = plain_name(cursor)
    if cursor.accept("->", "→"):
        head = plain_name(cursor)
        if head.word == name.word:
            cursor.fail(f"{head.word!r} is named twice; an edge joins two variables", head)
        return (name.word, head.word), value_here(cursor)
    if cursor.accept("+="):
        return name.word, Shift(number_here(cursor, "after '+='"))
    if cursor.accept("-="):
        return name.word, Shift(-number_here(cursor, "after '-='"))
    if cursor.accept("*="):
        return name.word, Scale(number_here(cursor, "after '*='"))
    if cursor.sees("/="):
        sign = cursor.take()
        divisor = number_here(cursor, "after '/='")
        if divisor == 0.0:
            cursor.fail("a variable cannot be divided by zero", sign)
        if not isfinite(1.0 / divisor):
            cursor.fail("the value is too small to divide by", sign)
        return name.word, Scale(1.0 / divisor)
    if cursor.sees("~"):
        return name.word, _draw(cursor, in_subscript=depth > 0)
    return name.word, value_here(cursor)


def _draw(cursor: Cursor, *, in_subscript: bool) -> Draw:
    start = cursor.take()
    if in_subscript:
        cursor.fail("a new distribution is understood in do(...) only: do(x ~ N(0, 1))", start)
    if not (cursor.sees("N") and cursor.after.text == "("):
        cursor.fail("a normal distribution is needed after '~': x ~ N(mean, variance)")
    cursor.take()
    opened = cursor.take()
    mean = number_here(cursor, "for the mean")
    cursor.expect(",", "',' and the variance are needed here: N(mean, variance)")
    place = cursor.here
    variance = number_here(cursor, "for the variance")
    if variance < 0.0:
        cursor.fail("a variance is never negative", place)
    close(cursor, opened, ")")
    return Draw(mean, variance)


def close(cursor: Cursor, opened: Token, closing: str) -> None:
    """What closes a bracket, passed over."""
    if cursor.done:
        cursor.fail(f"this '{opened.text}' is not closed; add a '{closing}'", opened)
    cursor.expect(closing, f"',' or '{closing}' is needed here")


# -- sums and events -----------------------------------------------------------------------------


def sum_here(cursor: Cursor) -> Sum:
    """``y``, ``y_{x=1} - y_{x=0}``, ``2 * y - z / 3``."""
    start = cursor.here
    weights: dict[Variant, float] = {}
    sign = -1.0 if cursor.sees("-") else 1.0
    cursor.accept("-", "+")
    while True:
        variant, weight = _part(cursor)
        weights[variant] = weights.get(variant, 0.0) + sign * weight
        if not cursor.sees("+", "-"):
            break
        sign = -1.0 if cursor.take().text == "-" else 1.0
    if not all(map(isfinite, weights.values())):
        cursor.fail("the weight of a variable is too large here", start)
    if any(weight == 0.0 for weight in weights.values()):
        cursor.fail("a variable takes itself away here, or has the weight 0; leave it out", start)
    return Sum(tuple((weight, v) for v, weight in weights.items()))


def _part(cursor: Cursor) -> tuple[Variant, float]:
    weight = 1.0
    if cursor.here.kind == "number" and cursor.after.text == "*":
        weight = number_here(cursor, "here")
        cursor.take()
    variant = variant_here(cursor)
    while cursor.sees("*", "/"):
        sign = cursor.take()
        factor = number_here(cursor, f"after '{sign.text}'")
        if sign.text == "/" and factor == 0.0:
            cursor.fail("a variable cannot be divided by zero", sign)
        weight = weight * factor if sign.text == "*" else weight / factor
    return variant, weight


def begins_with_bound(cursor: Cursor) -> bool:
    """True if a number and a comparison come next, as in ``1 < y < 2``."""
    if cursor.sees("-", "+"):
        return cursor.after.kind == "number" and cursor.third.text in (*LESS, *MORE)
    return cursor.here.kind == "number" and cursor.after.text in (*LESS, *MORE)


def bounded_event(cursor: Cursor) -> Event:
    """``1 < y < 2`` or ``2 > y``, from its first number on."""
    start = cursor.here
    first = number_here(cursor, "here")
    rising = cursor.sees(*LESS)
    included = _comparison(cursor)
    of = sum_here(cursor)
    if not cursor.sees(*(LESS if rising else MORE)):
        if cursor.sees(*LESS, *MORE):
            cursor.fail("both comparisons must point the same way: 1 < y < 2")
        return Event(of, low=first, low_in=included) if rising else Event(of, high=first, high_in=included)
    ends = (included, _comparison(cursor))
    second = number_here(cursor, "after the comparison")
    low, high = (first, second) if rising else (second, first)
    if not low < high:
        cursor.fail("no number lies between these two; write the smaller one first", start)
    return Event(of, low, high, *(ends if rising else ends[::-1]))


def event_after(cursor: Cursor, of: Sum) -> Event:
    """``> 2`` or ``= 1``, after what it is about."""
    if cursor.accept("="):
        value = number_here(cursor, "after '='")
        return Event(of, value, value, low_in=True, high_in=True)
    rising = cursor.sees(*MORE)
    included = _comparison(cursor)
    bound = number_here(cursor, "after the comparison")
    if cursor.sees(*LESS, *MORE):
        cursor.fail("write the variable between its bounds: 1 < y < 2")
    return Event(of, low=bound, low_in=included) if rising else Event(of, high=bound, high_in=included)


def _comparison(cursor: Cursor) -> bool:
    """A comparison, and whether its number belongs to it; in ``y<-2`` the sign belongs to the number."""
    if cursor.sees("<-"):
        cursor.split(1)
    return cursor.take().text in ("<=", "≤", ">=", "≥")


# -- behind the bar ------------------------------------------------------------------------------


@dataclass
class Conditions:
    """What has been read behind the bar so far."""

    do: dict[Target, Change] = field(default_factory=dict)
    given: dict[Variant, Value] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    @property
    def case(self) -> Case:
        """All of it."""
        return Case(self.do, self.given, tuple(self.events))


def conditions_here(cursor: Cursor, outcomes: list[Sum]) -> Case:
    """Interventions, values and events, separated by commas."""
    found = Conditions()
    worlds = any(v.changes for of in outcomes for _, v in of.parts)
    while True:
        start = cursor.here
        if cursor.sees("do") and cursor.after.text == "(":
            cursor.take()
            opened = cursor.take()
            if worlds:
                cursor.fail(_MIXED, start)
            taken = {v.variable for v in found.given} | {t for t in found.do if isinstance(t, str)}
            whole = {v.variable for of in outcomes for _, v in of.parts}
            for target, change in changes_here(cursor, ")", opened, given=taken, outcomes=whole).items():
                if target in found.do:
                    cursor.fail(f"{_shown(target)} is held or given twice; {_KEEP_ONE}", start)
                found.do[target] = change
        elif cursor.sees("do") and cursor.after.is_name:
            cursor.fail("an intervention is written with parentheses: do(x=1)", cursor.here, cursor.after)
        else:
            worlds = _evidence(cursor, found, outcomes) or worlds
        if not cursor.accept(","):
            return found.case


def _evidence(cursor: Cursor, found: Conditions, outcomes: list[Sum]) -> bool:
    """One value or event; True if it is in a world of its own."""
    start = cursor.here
    of = None
    if begins_with_bound(cursor):
        found.events.append(bounded_event(cursor))
        of = found.events[-1].of
    else:
        of = sum_here(cursor)
        if cursor.sees(*LESS, *MORE):
            found.events.append(event_after(cursor, of))
        else:
            _value_seen(cursor, found, of, outcomes, start)
    worlds = any(v.changes for _, v in of.parts)
    if worlds and found.do:
        cursor.fail(_MIXED, start)
    return worlds


def _value_seen(cursor: Cursor, found: Conditions, of: Sum, outcomes: list[Sum], start: Token) -> None:
    seen = of.alone
    if seen is None:
        cursor.fail("a value can be given for a variable, not for a sum of variables", start)
    if any(other.alone == seen for other in outcomes):
        cursor.fail(f"{seen.variable!r} is the outcome and cannot also be held or given", start)
    soft = isinstance(found.do.get(seen.variable), Shift | Scale | Draw)
    if seen in found.given or (not seen.changes and seen.variable in found.do and not soft):
        cursor.fail(f"{seen.variable!r} is held or given twice; {_KEEP_ONE}", start)
    found.given[seen] = value_here(cursor)
