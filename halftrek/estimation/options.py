"""What a fit may hold fixed, resolved against the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Literal

from halftrek.errors import GraphError, InputError
from halftrek.graph import Graph, did_you_mean

Noise = Literal["free", "unit"] | Mapping[str, float]
Intercepts = Literal["free", "zero"] | Mapping[str, float]


@dataclass(frozen=True)
class Options:
    """Fixed noise variances and fixed intercepts, by variable; what is not named is free."""

    noise: tuple[tuple[str, float], ...] = ()
    intercepts: tuple[tuple[str, float], ...] = ()


def resolve_options(graph: Graph, noise: Noise, intercepts: Intercepts) -> Options:
    """Turn the user's words into numbers by variable."""
    variances = _fixed(graph, noise, "noise", {"free": None, "unit": 1.0})
    for name, value in variances:
        if value <= 0.0:
            raise InputError(f"noise: the variance of {name!r} must be positive, not {value:g}")
    return Options(variances, _fixed(graph, intercepts, "intercepts", {"free": None, "zero": 0.0}))


def _fixed(graph: Graph, given: object, what: str, words: dict[str, float | None]) -> tuple[tuple[str, float], ...]:
    if isinstance(given, str):
        if given not in words:
            raise InputError(
                f"{what} must be {' or '.join(map(repr, words))} or values by variable name, not {given!r}"
            )
        value = words[given]
        return () if value is None else tuple((v, value) for v in graph.observed)
    if not isinstance(given, Mapping):
        raise InputError(f"{what} must be {' or '.join(map(repr, words))} or values by variable name, not {given!r}")
    for name, number in given.items():
        if name not in graph:
            raise GraphError(
                f"{what} names {name!r}, which the graph does not have.{did_you_mean(name, graph.observed)}"
            )
        if isinstance(number, bool) or not isinstance(number, Real) or not abs(float(number)) < 1e150:
            raise InputError(f"{what}: the value of {name!r} must be a finite number, not {number!r}")
    return tuple((name, float(number)) for name, number in given.items())
