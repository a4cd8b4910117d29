"""Does an assumption fit a graph, can it hold at all, and do two of them exclude each other?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import inf
from typing import NoReturn

from halftrek.errors import InputError
from halftrek.graphs import Graph, did_you_mean
from halftrek.partial.assumptions.kinds import AbsoluteSum, Assumption, Compared, Confounded, Norm, Within, names_of
from halftrek.partial.assumptions.quantities import (
    Endogeneity,
    ErrorCorrelation,
    ErrorCovariance,
    Quantity,
    reach_of,
    same_number,
)
from halftrek.partial.assumptions.relaxing import with_roots


def unknown_name(name: str, graph: Graph) -> str | None:
    """Why a name cannot stand in an assumption about this graph; None if it can."""
    known = (*graph.nodes, *graph.latents)
    if name not in known:
        return f"the graph has no variable {name!r}.{did_you_mean(name, known)}"
    return None


def refuse_misfit(assumption: Assumption, graph: Graph) -> None:
    """Raise InputError for a variable that the graph lacks, or one that cannot serve as a yardstick."""
    for name in names_of(assumption):
        if why := unknown_name(name, graph):
            raise InputError(f"{assumption}: {why}")
    if isinstance(assumption, Confounded) and assumption.like is not None:
        known = covariates(with_roots(graph, (assumption,)), assumption.pair.first, assumption.pair.second)
        if assumption.like not in known:
            raise InputError(
                f"{assumption}: {assumption.like!r} is no cause of {assumption.pair.first} or {assumption.pair.second} "
                f"beside them, so nothing can be as strong as it.{did_you_mean(assumption.like, known)}"
            )


def covariates(graph: Graph, first: str, second: str) -> tuple[str, ...]:
    """What is adjusted for where first and second are confounded: their causes that are no effects of the first."""
    downstream = graph.descendants(first)
    causes = (*graph.parents(first), *graph.parents(second))
    return tuple(v for v in dict.fromkeys(causes) if v not in downstream and v != second)


def _raise(why: str) -> NoReturn:
    raise InputError(why)


def refuse_beyond_reach(assumption: Assumption, fail: Callable[[str], NoReturn] = _raise) -> None:
    """Refuse limits that the number can never have: they say nothing, or nobody can obey them."""
    match assumption:
        case Within(quantity, low, high):
            least, most = reach_of(quantity)
            for limit in (low, high):
                if limit not in (-inf, inf) and not least <= limit <= most:
                    fail(f"{limit:g} is beyond what {quantity.words} can be: {_between(least, most)}")
            if isinstance(quantity, ErrorCorrelation | Endogeneity) and (low == 1.0 or high == -1.0):
                fail(f"{assumption}: no correlation with an error is 1 or -1 where errors have variances")
            if low != low or high != high or low > high:
                fail(f"{assumption}: no number is above {low:g} and below {high:g}")
        case Norm(_, limit) | AbsoluteSum(_, limit):
            if not limit >= 0.0:
                fail(f"{assumption}: the limit must be a number that is not negative")
        case Compared(_, _, factor):
            if not factor > 0.0:
                fail(f"{assumption}: the factor must be a positive number")
        case Confounded(_, shares, times, _):
            for share in shares or ():
                if not 0.0 <= share <= 1.0:
                    fail(f"{share:g} is beyond what a share of variance can be: between 0 and 1")
            if shares is not None and 1.0 in shares:
                fail("a hidden cause that explains everything leaves no limit; give shares below 1")
            if not times >= 0.0:
                fail(f"{assumption}: a strength is a number that is not negative")


def _between(least: float, most: float) -> str:
    if most == inf:
        return f"it is at least {least:g}"
    return f"it is at most {most:g}" if least == -inf else f"it is between {least:g} and {most:g}"


def refuse_contradictions(assumptions: Sequence[Assumption], graph: Graph | None = None) -> None:
    """Raise InputError that names two assumptions of which each excludes the other.

    ``graph``: with all edges that they name. A variable without causes there is its own error.
    """
    for one, other in combinations(assumptions, 2):
        for quantity, low, high in _limits(one, graph):
            for second, least, most in _limits(other, graph):
                apart = same_number(quantity, second) and (low > most or least > high)
                if apart or _signs_apart(quantity, low, high, second, least, most):
                    raise InputError(
                        f"the assumptions '{one}' and '{other}' contradict each other: no model obeys both. Leave one "
                        f"out"
                    )


def _limits(assumption: Assumption, graph: Graph | None) -> list[tuple[Quantity, float, float]]:
    """Between which numbers an assumption leaves each quantity that it names."""
    match assumption:
        case Within(Endogeneity(variable, error), low, high) if graph is not None and not graph.parents(variable):
            return [(ErrorCorrelation(variable, error), low, high)]
        case Within(quantity, low, high):
            return [(quantity, low, high)]
        case Norm(weights, limit) | AbsoluteSum(weights, limit):
            return [(w, -limit, limit) for w in weights]
        case Confounded(pair, (first, second), _, _):
            most = correlation_limit(first, second)
            return [(ErrorCorrelation(pair.first, pair.second), -most, most)]
    return []


def correlation_limit(first: float, second: float) -> float:
    """The largest correlation of two errors when a hidden cause explains these shares of them.

    ``rho² = R2_D R2_Y / (1 - R2_D + R2_D R2_Y)``: the second share is of what is left when the first variable is known.
    """
    return float((first * second / (1.0 - first + first * second)) ** 0.5) if second > 0.0 else 0.0


def _signs_apart(one: Quantity, low: float, high: float, other: Quantity, least: float, most: float) -> bool:
    """A covariance of one sign, its correlation of the other."""
    kinds = (ErrorCovariance, ErrorCorrelation)
    if type(one) is type(other) or not isinstance(one, kinds) or not isinstance(other, kinds):
        return False
    if {one.first, one.second} != {other.first, other.second}:
        return False
    return (low > 0.0 and most <= 0.0) or (least > 0.0 and high <= 0.0) or (high < 0.0 <= least) or (most < 0.0 <= low)
