"""The same question with seeing in the place of doing: what rows say without a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halftrek.errors import QueryError
from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.effects import DirectEffect, TotalEffect
from halftrek.queries.kinds.terms import Arithmetic, Expression, Probability, Quantile, Statistic
from halftrek.queries.kinds.variants import Case, Sum, Variant, single
from halftrek.queries.types import Query
from halftrek.queries.written.writing import Value


def as_seen(query: Query) -> Query:
    """``E[y | do(x=1)]`` becomes ``E[y | x=1]``, and ``x ~> y`` the slope of y on x, ``Cov[x, y] / Var[x]``.

    Raises QueryError for what has no counterpart in the rows: effects along paths, shifts, other worlds.
    """
    found = _seen(query)
    if found == query:
        raise QueryError(
            f"crude: {query} asks nothing about an intervention, so that there is nothing to set beside it"
        )
    return found


def has_crude(query: Query) -> bool:
    """True if the question has a counterpart in the rows."""
    try:
        as_seen(query)
    except QueryError:
        return False
    return True


def slope(cause: str, outcome: str) -> Arithmetic:
    """The regression of an outcome on a cause alone."""
    x, y = single(cause), single(outcome)
    return Arithmetic("/", Statistic("Cov", (x, y)), Statistic("Var", (x,)))


def _seen(query: Query) -> Query:
    match query:
        case TotalEffect(cause, effect) | DirectEffect(cause, effect):
            return slope(cause, effect)
        case Arithmetic(operation, left, right):
            return Arithmetic(operation, _side(left), _side(right))
        case Statistic(_, of, case) | Distribution(of, case):
            return replace(query, case=_case(case, of, query))
        case Probability(events, case):
            return replace(query, case=_case(case, [e.of for e in events], query))
        case Quantile(_, of, case):
            return replace(query, case=_case(case, [of], query))
    raise _none(query)


def _side(side: Expression) -> Expression:
    return side if isinstance(side, float) else _seen(side)  # type: ignore[return-value]


def _case(case: Case, sums: Sequence[Sum], query: Query) -> Case:
    """What is held becomes what is given."""
    inside = [v for of in (*sums, *(e.of for e in case.events)) for _, v in of.parts]
    if any(v.changes for v in (*inside, *case.given)):
        raise _none(query)
    held: dict[Variant, Value] = {}
    for target, change in case.do.items():
        if not isinstance(target, str) or not isinstance(change, float | int | None):
            raise _none(query)
        held[Variant(target)] = None if change is None else float(change)
    return Case({}, {**held, **case.given}, case.events)


def _none(query: Query) -> QueryError:
    return QueryError(
        f"crude: {query} has no counterpart in the rows; it goes with an effect, x ~> y or x -> y, and with questions "
        f"that hold variables at values, such as P(y | do(x=1))"
    )
