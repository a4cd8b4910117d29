"""Effects along arrows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from halftrek.graphs import quoted
from halftrek.queries.written.writing import Written


@dataclass(frozen=True)
class DirectEffect(Written):
    """``x -> y``: the weight of the edge."""

    cause: str
    effect: str

    def __str__(self) -> str:
        return f"{quoted(self.cause)} -> {quoted(self.effect)}"


@dataclass(frozen=True)
class TotalEffect(Written):
    """``x ~> y``: the change of y when x is raised by one, over all directed paths."""

    cause: str
    effect: str

    def __str__(self) -> str:
        return f"{quoted(self.cause)} ~> {quoted(self.effect)}"


@dataclass(frozen=True)
class PathEffect(Written):
    """``x -> m -> y``: the product of the weights along one path."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return " -> ".join(map(quoted, self.path))


@dataclass(frozen=True)
class ThroughEffect(Written):
    """``x ~> m ~> y``: the effect over all directed paths that visit the nodes in this order."""

    stations: tuple[str, ...]

    def __str__(self) -> str:
        return " ~> ".join(map(quoted, self.stations))


@dataclass(frozen=True)
class ErrorCovariance(Written):
    """``x <-> y``: the covariance of the two error terms, hidden causes included."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{quoted(self.first)} <-> {quoted(self.second)}"


Effect = DirectEffect | TotalEffect | PathEffect | ThroughEffect
EFFECTS = (DirectEffect, TotalEffect, PathEffect, ThroughEffect)


def ends_of(effect: Effect) -> tuple[str, str]:
    """Where an effect begins and where it ends."""
    match effect:
        case DirectEffect(cause, last) | TotalEffect(cause, last):
            return cause, last
        case PathEffect(steps) | ThroughEffect(steps):
            return steps[0], steps[-1]
