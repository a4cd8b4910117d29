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


Query = DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance | Interventional


def _assignment(variable: str, value: Value) -> str:
    if value is None:
        return quoted(variable)
    short = f"{value:g}"
    return f"{quoted(variable)}={short if float(short) == value else repr(float(value))}"
