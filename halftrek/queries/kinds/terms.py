"""Numbers that may be asked for, and arithmetic with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.effects import DirectEffect, Effect, ErrorCovariance, PathEffect, ThroughEffect, TotalEffect
from halftrek.queries.kinds.variants import Case, Event, Sum
from halftrek.queries.written.writing import Written, number

Kind = Literal["E", "Var", "SD", "Cov", "Corr"]
Operation = Literal["+", "-", "*", "/"]
DEEPEST = 100  # operations within each other; ours to choose, so that Python's own limit on calls never decides


@dataclass(frozen=True)
class Statistic(Written):
    """``E[y | ...]``, ``Var[y | ...]``, ``SD[y | ...]``, ``Cov[y, z | ...]`` or ``Corr[y, z | ...]``."""

    kind: Kind | Literal["steps"]
    of: tuple[Sum, ...]
    case: Case = field(default_factory=Case)

    def __str__(self) -> str:
        return f"{self.kind}[{', '.join(map(str, self.of))}{self.case.behind_bar}]"


@dataclass(frozen=True)
class Stepped(Statistic):
    """The mean of a column that goes up by a step where the variable behind it passes a cut; its kind is "steps".

    ``first + sum_k steps_k P(y > cuts_k | ...)``. It is what a question about a ranked column becomes, and is not read
    from text.
    """

    first: float = 0.0
    cuts: tuple[float, ...] = ()
    steps: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"E[{', '.join(map(str, self.of))}{self.case.behind_bar}]"

    @cached_property
    def arrays(self) -> tuple[Floats, Floats]:
        """Cuts and steps."""
        return np.array(self.cuts), np.array(self.steps)


@dataclass(frozen=True)
class Probability(Written):
    """``P(y > 2, 0 < z < 1 | ...)``: the probability that all events happen."""

    events: tuple[Event, ...]
    case: Case = field(default_factory=Case)

    def __str__(self) -> str:
        return f"P({', '.join(map(str, self.events))}{self.case.behind_bar})"


@dataclass(frozen=True)
class Quantile(Written):
    """``Q(0.9, y | ...)``: the value below which y lies with this probability."""

    level: float
    of: Sum
    case: Case = field(default_factory=Case)

    def __str__(self) -> str:
        return f"Q({number(self.level)}, {self.of}{self.case.behind_bar})"


@dataclass(frozen=True)
class Standardized(Written):
    """``std(x ~> y)``: an effect in standard deviations of y per standard deviation of x, as they are without do."""

    effect: Effect

    def __str__(self) -> str:
        return f"std({self.effect})"


Term = Statistic | Probability | Quantile | Standardized
Leaf = Term | Effect | ErrorCovariance


@dataclass(frozen=True)
class Arithmetic(Written):
    """``left + right`` and so on; a side may be a number."""

    operation: Operation
    left: Expression
    right: Expression

    def __post_init__(self) -> None:
        if self.depth > DEEPEST:
            raise QueryError(
                f"a question has at most {DEEPEST} operations or brackets within each other; ask it in parts"
            )

    @cached_property
    def depth(self) -> int:
        """How many operations there are within each other, itself included."""
        return 1 + max(side.depth if isinstance(side, Arithmetic) else 0 for side in (self.left, self.right))

    def __str__(self) -> str:
        tight = self.operation in "*/"
        left = _side(self.left, brackets="+-" if tight else "")
        right = _side(self.right, brackets="+-*/" if tight else "+-")
        return f"{left} {self.operation} {right}"


Expression = Arithmetic | Leaf | float


def _side(side: Expression, brackets: str) -> str:
    if isinstance(side, float):
        return number(side)
    if isinstance(side, DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance):
        return f"({side})"
    if isinstance(side, Arithmetic) and side.operation in brackets:
        return f"({side})"
    return str(side)


def no_effect(query: object) -> float:
    """The answer that says that nothing differs: 1 for a ratio of one number in two worlds, 0 for all others."""
    if not (isinstance(query, Arithmetic) and query.operation == "/"):
        return 0.0
    sides = [set(leaves(side)) for side in (query.left, query.right)]
    alike = {(type(leaf), leaf.of if isinstance(leaf, Statistic) else leaf.events)
             for side in sides for leaf in side if isinstance(leaf, Statistic | Probability)}  # fmt: skip
    told = all(isinstance(leaf, Statistic | Probability) for side in sides for leaf in side)
    return 1.0 if all(sides) and told and len(alike) == 1 else 0.0


def leaves(expression: Expression) -> Iterator[Leaf]:
    """The numbers of a model that an expression is made of, from left to right."""
    waiting = [expression]
    while waiting:
        last = waiting.pop()
        if isinstance(last, Arithmetic):
            waiting += [last.right, last.left]
        elif not isinstance(last, float):
            yield last


def sums_of(term: Term | Distribution) -> tuple[Sum, ...]:
    """What a term is about, before the bar."""
    match term:
        case Statistic(_, of, _) | Distribution(of, _):
            return of
        case Probability(events, _):
            return tuple(e.of for e in events)
        case Quantile(_, of, _):
            return (of,)
        case Standardized():
            return ()


def case_of(term: Term | Distribution) -> Case:
    """What stands behind the bar."""
    return Case() if isinstance(term, Standardized) else term.case
