"""Variables in changed worlds, sums of them, and what is known about them.

A world differs from the world as it is by changes of equations. ``x=1`` holds x; ``x+=1`` adds to what x would have
been; ``x*=2`` multiplies it; ``x ~ N(0, 1)`` draws it anew; ``x -> y = 1`` lets y alone take x to be 1; ``m_{x=0}``
holds m at the value that it has in another world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isfinite
from types import MappingProxyType

from halftrek.bottom.portable import Portable
from halftrek.errors import QueryError
from halftrek.graphs import quoted
from halftrek.queries.written.writing import Value, number, word

DEEPEST = 20  # subscripts within subscripts; ours to choose, so that Python's own limit on calls never decides


@dataclass(frozen=True)
class Shift:
    """``x += amount``."""

    amount: float


@dataclass(frozen=True)
class Scale:
    """``x *= factor``: what the variable would have been, times a number."""

    factor: float


@dataclass(frozen=True)
class Draw:
    """``x ~ N(mean, variance)``: drawn anew, independently of everything else."""

    mean: float
    variance: float


Edge = tuple[str, str]
Target = str | Edge


@dataclass(frozen=True)
class Variant(Portable):
    """``y_{x=1, m_{x=0}}``: a variable in a world of its own; without changes, the variable as it is."""

    variable: str
    changes: Mapping[Target, Change] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "changes", MappingProxyType(dict(self.changes)))
        if self.depth > DEEPEST:
            raise QueryError(f"{self.variable!r} has subscripts more than {DEEPEST} deep; write it with fewer")

    @cached_property
    def depth(self) -> int:
        """How many subscripts there are within each other."""
        return max((1 + (c.depth if isinstance(c, Variant) else 0) for c in self.changes.values()), default=0)

    def __hash__(self) -> int:
        return hash((self.variable, frozenset(self.changes.items())))

    def __str__(self) -> str:
        if not self.changes:
            return word(self.variable)
        return f"{quoted(self.variable)}_{{{changes_text(self.changes)}}}"

    @cached_property
    def held(self) -> Mapping[str, Value]:
        """The variables that are held at values in its world."""
        found: dict[str, Value] = {}
        for target, change in self.changes.items():
            if isinstance(target, str) and not isinstance(change, Shift | Scale | Draw | Variant):
                found[target] = change
        return MappingProxyType(found)

    @property
    def plain(self) -> bool:
        """True for a potential outcome: every change holds a variable at a value."""
        return len(self.held) == len(self.changes)


Change = Value | Shift | Scale | Draw | Variant
Changes = Mapping[Target, Change]


def changes_text(changes: Changes) -> str:
    """``x=1, z+=2``."""
    return ", ".join(_change_text(target, change) for target, change in changes.items())


def _change_text(target: Target, change: Change) -> str:
    name = quoted(target) if isinstance(target, str) else f"{quoted(target[0])} -> {quoted(target[1])}"
    match change:
        case None:
            return name
        case Shift(amount):
            return f"{name} += {number(amount)}"
        case Scale(factor):
            return f"{name} *= {number(factor)}"
        case Draw(mean, variance):
            return f"{name} ~ N({number(mean)}, {number(variance)})"
        case Variant():
            return str(change)
    equals = "=" if isinstance(target, str) else " = "
    return f"{name}{equals}{number(change)}"


@dataclass(frozen=True)
class Sum(Portable):
    """``y_{x=1} - 2 * z``: a weighted sum of variables."""

    parts: tuple[tuple[float, Variant], ...]

    def __str__(self) -> str:
        texts = []
        for i, (weight, v) in enumerate(self.parts):
            size = "" if abs(weight) == 1.0 else f"{number(abs(weight))} * "
            sign = ("-" if weight < 0 else "") if i == 0 else (" - " if weight < 0 else " + ")
            texts.append(f"{sign}{size}{v}")
        return "".join(texts)

    @property
    def alone(self) -> Variant | None:
        """The variable, if the sum is one variable and nothing else."""
        return self.parts[0][1] if len(self.parts) == 1 and self.parts[0][0] == 1.0 else None


def single(variable: str | Variant) -> Sum:
    """The sum that is one variable."""
    return Sum(((1.0, variable if isinstance(variable, Variant) else Variant(variable)),))


@dataclass(frozen=True)
class Event(Portable):
    """``low < sum < high``; an end that is infinite does not bind.

    ``low_in`` and ``high_in``: the end itself belongs to it, as in ``sum >= low``. This matters where a value has a
    probability of its own, in ordered columns; ``sum = low`` has both ends at one value.
    """

    of: Sum
    low: float = -inf
    high: float = inf
    low_in: bool = False
    high_in: bool = False

    def __str__(self) -> str:
        above, below = ">=" if self.low_in else ">", "<=" if self.high_in else "<"
        if self.at is not None:
            return f"{self.of} = {number(self.at)}"
        if self.high == inf:
            return f"{self.of} {above} {number(self.low)}"
        if self.low == -inf:
            return f"{self.of} {below} {number(self.high)}"
        return f"{number(self.low)} {'<=' if self.low_in else '<'} {self.of} {below} {number(self.high)}"

    @property
    def at(self) -> float | None:
        """The one value that is meant, as in ``y = 1``; None if there is room between the ends."""
        return self.low if self.low == self.high and isfinite(self.low) else None


@dataclass(frozen=True)
class Case(Portable):
    """What stands behind the bar: changes of the world by ``do``, values that were seen, events that happened."""

    do: Changes = field(default_factory=dict)
    given: Mapping[Variant, Value] = field(default_factory=dict)
    events: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "do", MappingProxyType(dict(self.do)))
        object.__setattr__(self, "given", MappingProxyType(dict(self.given)))
        object.__setattr__(self, "events", tuple(self.events))

    def __hash__(self) -> int:
        return hash((frozenset(self.do.items()), frozenset(self.given.items()), self.events))

    def __str__(self) -> str:
        parts = [f"do({changes_text(self.do)})"] if self.do else []
        parts += [str(v) if x is None else f"{v}={number(x)}" for v, x in self.given.items()]
        return ", ".join([*parts, *map(str, self.events)])

    @property
    def behind_bar(self) -> str:
        """`` | do(x=1), z=2``; nothing if there is nothing."""
        text = str(self)
        return f" | {text}" if text else ""

    def placed(self, variant: Variant) -> Variant:
        """The variable in the world that ``do`` makes, or in its own."""
        return Variant(variant.variable, self.do) if self.do else variant

    def placed_sum(self, of: Sum) -> Sum:
        """All variables of a sum in the world that ``do`` makes."""
        return Sum(tuple((weight, self.placed(v)) for weight, v in of.parts)) if self.do else of

    @property
    def in_worlds(self) -> Case:
        """The same with the changes at each variable instead of in ``do``."""
        if not self.do:
            return self
        given = {self.placed(v): x for v, x in self.given.items()}
        return Case({}, given, tuple(replace(e, of=self.placed_sum(e.of)) for e in self.events))


def variants_in(of: Variant) -> Iterator[Variant]:
    """A variable and those at whose values others are held in its world."""
    yield of
    for change in of.changes.values():
        if isinstance(change, Variant):
            yield from variants_in(change)


def names_in(of: Variant) -> Iterator[str]:
    """Every variable that is named."""
    for v in variants_in(of):
        yield v.variable
        for target in v.changes:
            yield from ((target,) if isinstance(target, str) else target)
