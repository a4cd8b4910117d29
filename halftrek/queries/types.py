"""What may be asked, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from halftrek.graph import quoted

Value = float | None


@dataclass(frozen=True)
class DirectEffect:
    """``x -> y``: the weight of the edge."""

    cause: str
    effect: str

    def __str__(self) -> str:
        return f"{quoted(self.cause)} -> {quoted(self.effect)}"


@dataclass(frozen=True)
class TotalEffect:
    """``x ~> y``: the change of y when x is raised by one, over all directed paths."""

    cause: str
    effect: str

    def __str__(self) -> str:
        return f"{quoted(self.cause)} ~> {quoted(self.effect)}"


@dataclass(frozen=True)
class PathEffect:
    """``x -> m -> y``: the product of the weights along one path."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return " -> ".join(map(quoted, self.path))


@dataclass(frozen=True)
class ThroughEffect:
    """``x ~> m ~> y``: the effect over all directed paths that visit the nodes in this order."""

    stations: tuple[str, ...]

    def __str__(self) -> str:
        return " ~> ".join(map(quoted, self.stations))


@dataclass(frozen=True)
class ErrorCovariance:
    """``x <-> y``: the covariance of the two error terms, hidden causes included."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{quoted(self.first)} <-> {quoted(self.second)}"


@dataclass(frozen=True)
class Interventional:
    """``P(outcomes | do(...), given)``; a value of None was left out (only identification is asked)."""

    outcomes: tuple[str, ...]
    do: Mapping[str, Value] = field(default_factory=dict)
    given: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "do", MappingProxyType(dict(self.do)))
        object.__setattr__(self, "given", MappingProxyType(dict(self.given)))

    def __hash__(self) -> int:
        return hash((self.outcomes, tuple(self.do.items()), tuple(self.given.items())))

    def __str__(self) -> str:
        held = ", ".join(_assignment(v, x) for v, x in self.do.items())
        conditions = ([f"do({held})"] if held else []) + [_assignment(v, x) for v, x in self.given.items()]
        bar = f" | {', '.join(conditions)}" if conditions else ""
        return f"P({', '.join(map(quoted, self.outcomes))}{bar})"


@dataclass(frozen=True)
class Potential:
    """``y_{x=1}``: a variable in the world where others are held; with nothing held, the variable as it is."""

    variable: str
    held: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "held", MappingProxyType(dict(self.held)))

    def __hash__(self) -> int:
        return hash((self.variable, frozenset(self.held.items())))

    def __str__(self) -> str:
        held = ", ".join(_assignment(v, x) for v, x in self.held.items())
        return quoted(self.variable) + (f"_{{{held}}}" if held else "")


@dataclass(frozen=True)
class Counterfactual:
    """``P(y_{x=1}, y_{x=0} | x=0, y=2)``: outcomes and evidence, each in a world of its own.

    A value of None was left out and stands for any value: ``P(y_{x}, z_{x} | x)`` holds x at one value in both worlds,
    and saw it at another.
    """

    outcomes: tuple[Potential, ...]
    given: Mapping[Potential, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", tuple(self.outcomes))
        object.__setattr__(self, "given", MappingProxyType(dict(self.given)))

    def __hash__(self) -> int:
        return hash((self.outcomes, frozenset(self.given.items())))

    def __str__(self) -> str:
        conditions = ", ".join(_written(str(v), x) for v, x in self.given.items())
        bar = f" | {conditions}" if conditions else ""
        return f"P({', '.join(map(str, self.outcomes))}{bar})"


Query = DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance | Interventional | Counterfactual


def _assignment(variable: str, value: Value) -> str:
    return _written(quoted(variable), value)


def _written(name: str, value: Value) -> str:
    if value is None:
        return name
    short = f"{value:g}"
    return f"{name}={short if float(short) == value else repr(float(value))}"
