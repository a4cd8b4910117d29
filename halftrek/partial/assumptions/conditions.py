"""Assumptions as smooth inequalities ``g(T, Omega, Sigma) <= 0``, with slopes, of one model or of many at once.

Every function here takes arrays with any leading axes. Sigma is an argument of its own: on the fibre it is fixed; where
the likelihood is searched it moves with T and Omega, and the caller carries the slopes in Sigma on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isfinite

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.graphs import Graph
from halftrek.partial.assumptions.checks import correlation_limit, covariates
from halftrek.partial.assumptions.kinds import AbsoluteSum, Assumption, Compared, Confounded, Norm, Within
from halftrek.partial.assumptions.numbers import Slopes, State, number_of
from halftrek.partial.assumptions.quantities import ErrorCorrelation, Weight
from halftrek.partial.assumptions.strength import limit_like

__all__ = ["Condition", "Conditions", "Slopes", "State", "conditions_of"]

Smooth = Callable[[State], tuple[Floats, Slopes]]


@dataclass(frozen=True, eq=False)
class Condition:
    """One inequality ``g <= 0`` (``g == 0`` if ``equal``) of one assumption; ``words`` says which limit is reached."""

    assumption: Assumption
    words: str
    smooth: Smooth
    equal: bool = False


@dataclass(frozen=True, eq=False)
class Conditions:
    """All inequalities of some assumptions, in the order of the variables ``names``."""

    names: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    each: tuple[Condition, ...]

    def __len__(self) -> int:
        return len(self.each)

    @cached_property
    def equal(self) -> Flags:
        """Which of them are equations."""
        return np.array([one.equal for one in self.each], dtype=bool)

    def values(self, state: State) -> Floats:
        """``(..., m)``: every entry is at most zero in a model that obeys (zero where ``equal``)."""
        return self.both(state)[0]

    def both(self, state: State) -> tuple[Floats, Slopes]:
        """Values ``(..., m)`` and slopes with an axis for the conditions before those of the matrices."""
        if not self.each:
            return np.zeros((*state.axes, 0)), Slopes.stacked([], state)
        found = [one.smooth(state) for one in self.each]
        values = np.stack([np.broadcast_to(value, state.axes) for value, _ in found], axis=-1)
        return values, Slopes.stacked([slopes for _, slopes in found], state)


def conditions_of(assumptions: Sequence[Assumption], graph: Graph, names: Sequence[str] | None = None) -> Conditions:
    """The inequalities; ``graph`` is the one before it is relaxed (it says among which covariates a yardstick is)."""
    order = tuple(graph.observed if names is None else names)
    each = [one for assumption in assumptions for one in _conditions(assumption, graph, order)]
    return Conditions(order, tuple(assumptions), tuple(each))


def _conditions(assumption: Assumption, graph: Graph, names: tuple[str, ...]) -> list[Condition]:
    match assumption:
        case Within(quantity, low, high):
            number = number_of(quantity, names)
            if low == high:
                return [Condition(assumption, f"{quantity} = {high:g}", _shifted(number, 1.0, high), equal=True)]
            found = []
            if isfinite(high):
                found.append(Condition(assumption, f"{quantity} = {high:g}", _shifted(number, 1.0, high)))
            if isfinite(low):
                found.append(Condition(assumption, f"{quantity} = {low:g}", _shifted(number, -1.0, -low)))
            return found
        case Compared(left, right, factor, absolute):
            sides = number_of(left, names), number_of(right, names)
            return [Condition(assumption, str(assumption).replace("<=", "="), _less(*sides, factor, absolute))]
        case Norm(weights, limit):
            words = str(assumption).replace("<=", "=")
            return [Condition(assumption, words, _norm([number_of(w, names) for w in weights], limit))]
        case AbsoluteSum(weights, limit):
            return _signed_sums(assumption, weights, limit, names)
        case Confounded(pair, shares, times, like):
            number = number_of(ErrorCorrelation(pair.first, pair.second), names)
            if shares is not None:
                most = _constant(correlation_limit(*shares))
            else:
                others = [v for v in covariates(graph, pair.first, pair.second) if v != like]
                most = limit_like(pair.first, pair.second, like or "", others, times, names)
            words = str(assumption).replace("<=", "=")
            return [Condition(assumption, words, _below(number, sign, most)) for sign in (1.0, -1.0)]


def _shifted(number: Smooth, sign: float, limit: float) -> Smooth:
    def smooth(state: State) -> tuple[Floats, Slopes]:
        value, slopes = number(state)
        return sign * value - limit, slopes if sign == 1.0 else slopes * sign

    return smooth


def _constant(value: float) -> Smooth:
    return lambda state: (np.full(state.axes, value), Slopes.zero(state))


def _below(number: Smooth, sign: float, most: Smooth) -> Smooth:
    """``sign * number - most``."""

    def smooth(state: State) -> tuple[Floats, Slopes]:
        (value, slopes), (limit, moving) = number(state), most(state)
        return sign * value - limit, slopes * sign + moving * -1.0

    return smooth


def _less(left: Smooth, right: Smooth, factor: float, absolute: bool) -> Smooth:
    def smooth(state: State) -> tuple[Floats, Slopes]:
        (a, by_a), (b, by_b) = left(state), right(state)
        if not absolute:
            return a - factor * b, by_a + by_b * -factor
        return a * a - factor**2 * b * b, by_a * (2.0 * a) + by_b * (-2.0 * factor**2 * b)

    return smooth


def _norm(numbers: Sequence[Smooth], limit: float) -> Smooth:
    """Squares, which are smooth at nothing."""

    def smooth(state: State) -> tuple[Floats, Slopes]:
        value, slopes = np.full(state.axes, -(limit**2)), Slopes.zero(state)
        for number in numbers:
            a, by_a = number(state)
            value, slopes = value + a * a, slopes + by_a * (2.0 * a)
        return value, slopes

    return smooth


def _signed_sums(
    assumption: AbsoluteSum, weights: tuple[Weight, ...], limit: float, names: tuple[str, ...]
) -> list[Condition]:
    """A sum of sizes is at most the limit exactly if the sum with any signs is: smooth inequalities, one for each."""
    numbers = [number_of(w, names) for w in weights]

    def signed(signs: tuple[float, ...]) -> Smooth:
        def smooth(state: State) -> tuple[Floats, Slopes]:
            value, slopes = np.full(state.axes, -limit), Slopes.zero(state)
            for sign, number in zip(signs, numbers, strict=True):
                a, by_a = number(state)
                value, slopes = value + sign * a, slopes + by_a * sign
            return value, slopes

        return smooth

    words = str(assumption).replace("<=", "=")
    return [Condition(assumption, words, signed(signs)) for signs in product((1.0, -1.0), repeat=len(weights))]
