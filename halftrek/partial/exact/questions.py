"""What a question is on the fibre: a quotient of polynomials, one with a root, and an increasing function of it.

Effects, means, variances and covariances are quotients q. Standard deviations are roots of these, quantiles ``m + k
sqrt(v)``, correlations and the arguments of one-sided probabilities ``m / sqrt(v)``. All that finds the extremes of
these are signs of polynomials. Probabilities of several events and of intervals, and what is given events, have no such
form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from math import inf, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np

from halftrek.partial.exact.rational import Rational, exact, total
from halftrek.partial.exact.tower import Tower
from halftrek.partial.exact.worlds import Spread, spread_of
from halftrek.queries.kinds.effects import ends_of
from halftrek.queries.kinds.statistics import refuse_single_values
from halftrek.queries.kinds.terms import Expression, case_of
from halftrek.queries.types import (
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

Shape = Literal["quotient", "root", "ratio"]
Outer = Literal["same", "normal", "root"]


@dataclass(frozen=True, eq=False)
class Form:
    """``main``, ``main + factor * sqrt(spread)`` or ``main / sqrt(spread)``, and an increasing function of that."""

    shape: Shape
    main: Rational
    spread: Rational | None = None
    factor: float = 0.0
    outer: Outer = "same"

    @property
    def coordinates(self) -> frozenset[int]:
        """The coordinates that it depends on."""
        return self.main.coordinates | (self.spread.coordinates if self.spread is not None else frozenset())

    def outward(self, inner: float) -> float:
        """The answer for a value of the inner function."""
        if self.outer == "normal":
            return NormalDist().cdf(inner) if abs(inner) != inf else float(inner > 0)
        return sqrt(max(inner, 0.0)) if self.outer == "root" else inner

    def inward(self, value: float) -> float:
        """The value of the inner function that gives an answer."""
        if self.outer == "normal":
            return NormalDist().inv_cdf(value) if 0.0 < value < 1.0 else (inf if value >= 1.0 else -inf)
        return value * value if self.outer == "root" else value


def form_of(query: Query, tower: Tower) -> Form | None:
    """The question on the fibre; None if it has no such form. Of a distribution its mean is meant."""
    if isinstance(query, Distribution):
        return _statistic(Statistic("E", query.of, query.case), tower)
    return _expression(query, tower)


def _expression(expression: Expression, tower: Tower) -> Form | None:
    place = tower.place
    match expression:
        case DirectEffect(cause, effect):
            return Form("quotient", tower.weight(place[cause], place[effect]))
        case PathEffect(path):
            legs = (tower.weight(place[u], place[v]) for u, v in pairwise(path))
            return Form("quotient", reduce(lambda a, b: a * b, legs))
        case TotalEffect(cause, effect):
            return Form("quotient", total_effect(tower, cause, effect))
        case ThroughEffect(stations):
            legs = (total_effect(tower, u, v) for u, v in pairwise(stations))
            return Form("quotient", reduce(lambda a, b: a * b, legs))
        case ErrorCovariance(first, second):
            return Form("quotient", tower.omega(place[first], place[second]))
        case Standardized(effect):
            inner = _expression(effect, tower)
            i, j = (place[v] for v in ends_of(effect))
            ratio = sqrt(float(tower.sigma[i][i]) / float(tower.sigma[j][j]))
            return None if inner is None else replace(inner, main=inner.main.times(ratio))
        case Arithmetic():
            return _arithmetic(expression, tower)
        case Statistic():
            return _statistic(expression, tower)
        case Quantile(level, _, case) if not case.events:
            found = spread_of(expression, tower)
            factor = NormalDist().inv_cdf(level)
            return None if found is None else _root(found.mean[0], found.cov[0][0], factor)
        case Probability(events, case) if len(events) == 1 and not case.events:
            refuse_single_values(expression)
            return _probability(expression, tower)
        case float() | int():
            return Form("quotient", tower.ring.number(expression))
    return None


def _arithmetic(expression: Arithmetic, tower: Tower) -> Form | None:
    left, right = _expression(expression.left, tower), _expression(expression.right, tower)
    if left is None or right is None:
        return None
    if left.shape == right.shape == "quotient" and left.outer == right.outer == "same":
        return _of_quotients(expression.operation, left.main, right.main)
    return None


def _of_quotients(operation: str, left: Rational, right: Rational) -> Form | None:
    if operation == "/" and right.is_zero:
        return None
    found = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }[operation]()
    return Form("quotient", found)


def divisors_of(query: Query | Expression, tower: Tower) -> list[tuple[str, Rational]]:
    """What an expression divides by and is not the same everywhere, as text and on the fibre."""
    if not isinstance(query, Arithmetic):
        return []
    found = [*divisors_of(query.left, tower), *divisors_of(query.right, tower)]
    right = _expression(query.right, tower) if query.operation == "/" else None
    if right is not None and right.spread is None and right.main.coordinates:
        found.append((str(query.right), right.main))
    return found


def _statistic(term: Statistic, tower: Tower) -> Form | None:
    if case_of(term).events:
        return None
    found = spread_of(term, tower)
    if found is None:
        return None
    match term.kind:
        case "E":
            return Form("quotient", found.mean[0])
        case "Var":
            return Form("quotient", found.cov[0][0])
        case "SD":
            return Form("quotient", found.cov[0][0], outer="root")
        case "Cov":
            return Form("quotient", found.cov[0][1])
        case "Corr":
            return _ratio(found.cov[0][1], found.cov[0][0] * found.cov[1][1])
    return None


def _root(mean: Rational, variance: Rational, factor: float) -> Form:
    if factor == 0.0 or variance.is_zero:
        return Form("quotient", mean)
    return Form("root", mean, variance, factor)


def _ratio(main: Rational, spread: Rational) -> Form | None:
    return None if spread.is_zero else Form("ratio", main, spread)


def _probability(term: Probability, tower: Tower) -> Form | None:
    """``P(y > c) = Phi((m - c) / s)``, ``P(y < c) = Phi((c - m) / s)``."""
    event = term.events[0]
    if np.isfinite(event.low) == np.isfinite(event.high):
        return None
    found: Spread | None = spread_of(term, tower)
    if found is None:
        return None
    if np.isfinite(event.low):
        main = found.mean[0] - tower.ring.number(event.low)
    else:
        main = tower.ring.number(event.high) - found.mean[0]
    form = _ratio(main, found.cov[0][0])
    return None if form is None else replace(form, outer="normal")


def total_effect(tower: Tower, cause: str, effect: str) -> Rational:
    """The sum over directed paths, along the variables between the two."""
    graph = tower.plan.graph
    between = graph.descendants(cause) & graph.ancestors(effect)
    if cause not in between or effect not in between:
        return tower.ring.zero
    reach = {cause: tower.ring.one}
    for v in graph.topological_order:
        if v in between and v != cause:
            causes = [u for u in graph.parents(v) if u in reach]
            reach[v] = total([reach[u] * tower.weight(tower.place[u], tower.place[v]) for u in causes], tower.ring)
    return reach[effect]


__all__ = ["Form", "divisors_of", "exact", "form_of", "total_effect"]
