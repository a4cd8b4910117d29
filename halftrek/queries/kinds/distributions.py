"""Distributions that may be asked for, after interventions and across worlds, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from halftrek.graphs import quoted
from halftrek.queries.kinds.variants import Variant
from halftrek.queries.written.writing import Value, Written, assignment, written


@dataclass(frozen=True)
class Interventional(Written):
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
        held = ", ".join(assignment(v, x) for v, x in self.do.items())
        conditions = ([f"do({held})"] if held else []) + [assignment(v, x) for v, x in self.given.items()]
        bar = f" | {', '.join(conditions)}" if conditions else ""
        return f"P({', '.join(map(quoted, self.outcomes))}{bar})"


@dataclass(frozen=True)
class Counterfactual(Written):
    """``P(y_{x=1}, y_{x=0} | x=0, y=2)``: outcomes and evidence, each in a world of its own where others are held.

    A value of None was left out and stands for any value: ``P(y_{x}, z_{x} | x)`` holds x at one value in both worlds,
    and saw it at another.
    """

    outcomes: tuple[Variant, ...]
    given: Mapping[Variant, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", tuple(self.outcomes))
        object.__setattr__(self, "given", MappingProxyType(dict(self.given)))

    def __hash__(self) -> int:
        return hash((self.outcomes, frozenset(self.given.items())))

    def __str__(self) -> str:
        conditions = ", ".join(written(str(v), x) for v, x in self.given.items())
        bar = f" | {conditions}" if conditions else ""
        return f"P({', '.join(map(str, self.outcomes))}{bar})"
