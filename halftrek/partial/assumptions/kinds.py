"""Assumptions as values: a number within limits, two numbers compared, several weights together, a hidden cause."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from halftrek.graphs import quoted
from halftrek.partial.assumptions.quantities import (
    Confounding,
    Correlation,
    Quantity,
    Weight,
    variables_in,
)
from halftrek.queries.written.writing import number


@dataclass(frozen=True)
class Within:
    """``low <= quantity <= high``; an infinite end is no limit, equal ends hold the number."""

    quantity: Quantity
    low: float = -inf
    high: float = inf

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.quantity} == {number(self.low)}"
        if self.low == -self.high:
            return f"abs({self.quantity}) <= {number(self.high)}"
        if not isfinite(self.low):
            return f"{self.quantity} <= {number(self.high)}"
        if not isfinite(self.high):
            return f"{self.quantity} >= {number(self.low)}"
        return f"{self.quantity} in [{number(self.low)}, {number(self.high)}]"

    @property
    def words(self) -> str:
        """The assumption in words."""
        it = self.quantity.words
        if self.low == self.high:
            return f"{it} is {number(self.low)}"
        if not isfinite(self.low):
            return f"{it} is at most {number(self.high)}"
        if not isfinite(self.high):
            return f"{it} is at least {number(self.low)}"
        return f"{it} is between {number(self.low)} and {number(self.high)}"


@dataclass(frozen=True)
class Compared:
    """``left <= factor * right`` of two correlations; with ``absolute`` of their sizes, signs left out."""

    left: Correlation
    right: Correlation
    factor: float = 1.0
    absolute: bool = False

    def __str__(self) -> str:
        left, right = (f"abs({q})" if self.absolute else str(q) for q in (self.left, self.right))
        times = "" if self.factor == 1.0 else f"{number(self.factor)} * "
        return f"{left} <= {times}{right}"

    @property
    def words(self) -> str:
        """The assumption in words."""
        times = "" if self.factor == 1.0 else f"{number(self.factor)} times "
        sizes = ", both without their signs" if self.absolute else ""
        return f"{self.left.words} is at most {times}{self.right.words}{sizes}"


@dataclass(frozen=True)
class Norm:
    """``norm(z1 -> y, z2 -> y) <= limit``: the root of the sum of squares of some weights."""

    weights: tuple[Weight, ...]
    limit: float

    def __str__(self) -> str:
        return f"norm({', '.join(map(str, self.weights))}) <= {number(self.limit)}"

    @property
    def words(self) -> str:
        """The assumption in words."""
        return f"the weights {_listed(self.weights)} have a root of the sum of squares of at most {number(self.limit)}"


@dataclass(frozen=True)
class AbsoluteSum:
    """``|z1 -> y| + |z2 -> y| <= limit``: the sizes of some weights, added."""

    weights: tuple[Weight, ...]
    limit: float

    def __str__(self) -> str:
        return f"{' + '.join(f'abs({w})' for w in self.weights)} <= {number(self.limit)}"

    @property
    def words(self) -> str:
        """The assumption in words."""
        return f"the sizes of the weights {_listed(self.weights)} add up to at most {number(self.limit)}"


@dataclass(frozen=True)
class Confounded:
    """``confounding(x, y) <= (r2x, r2y)``, or ``<= times * z``: one hidden cause of x and y is no stronger than that.

    ``shares``: it explains at most r2x of what the causes of x leave of x, and at most r2y of what x and the causes of
    y leave of y (Cinelli and Hazlett, 2020, "Making sense of sensitivity"). ``times`` and ``like``: these shares are
    those of a cause that is so many times as strong as the observed variable ``like``.
    """

    pair: Confounding
    shares: tuple[float, float] | None = None
    times: float = 1.0
    like: str | None = None

    def __str__(self) -> str:
        if self.shares is None:
            return f"{self.pair} <= {number(self.times)} * {quoted(self.like or '')}"
        return f"{self.pair} <= ({number(self.shares[0])}, {number(self.shares[1])})"

    @property
    def words(self) -> str:
        """The assumption in words."""
        x, y = self.pair.first, self.pair.second
        if self.shares is None:
            return f"a hidden cause of {x} and {y} is at most {number(self.times)} times as strong as {self.like}"
        first, second = self.shares
        return (
            f"a hidden cause of {x} and {y} explains at most {number(100 * first)} % of what the causes of {x} leave of "
            f"it, and {number(100 * second)} % of what {x} and the causes of {y} leave of {y}"
        )


Assumption = Within | Compared | Norm | AbsoluteSum | Confounded


def names_of(assumption: Assumption) -> tuple[str, ...]:
    """The variables that an assumption names, each once."""
    match assumption:
        case Within(quantity):
            found = variables_in(quantity)
        case Compared(left, right):
            found = (*variables_in(left), *variables_in(right))
        case Norm(weights) | AbsoluteSum(weights):
            found = tuple(v for w in weights for v in variables_in(w))
        case Confounded(pair, _, _, like):
            found = (*variables_in(pair), *((like,) if like is not None else ()))
    return tuple(dict.fromkeys(found))


def _listed(weights: tuple[Weight, ...]) -> str:
    return ", ".join(map(str, weights))
