"""Distributions that may be asked for, after interventions and across worlds, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from halftrek.graphs import quoted
from halftrek.queries.kinds.variants import Case, Sum, Variant, changes_text, single
from halftrek.queries.written.writing import Value, Written, assignment

Asks = Literal["intervention", "counterfactual", "more"]


@dataclass(frozen=True)
class Distribution(Written):
    """``P(y | do(x=1), z=2)``, ``P(y_{x=1}, y_{x=0} | x=0)``, ``P(y - z | do(x += 1))``: sums of variables together.

    A value of None was left out and stands for any value: ``P(y_{x}, z_{x} | x)`` holds x at one value in both worlds,
    and saw it at another.
    """

    of: tuple[Sum, ...]
    case: Case = field(default_factory=Case)

    @classmethod
    def after(
        cls,
        outcomes: Iterable[str],
        do: Mapping[str, Value] = MappingProxyType({}),
        given: Mapping[str, Value] = MappingProxyType({}),
    ) -> Distribution:
        """``P(outcomes | do(...), given)``."""
        seen = {Variant(v): x for v, x in given.items()}
        return cls(tuple(map(single, outcomes)), Case(dict(do.items()), seen))

    @classmethod
    def across(cls, outcomes: Iterable[Variant], given: Mapping[Variant, Value] = MappingProxyType({})) -> Distribution:
        """Outcomes and evidence, each in a world of its own."""
        return cls(tuple(map(single, outcomes)), Case({}, given))

    def __str__(self) -> str:
        if self.asks != "intervention":
            return f"P({', '.join(map(str, self.of))}{self.case.behind_bar})"
        conditions = [f"do({changes_text(self.case.do)})"] if self.case.do else []
        conditions += [assignment(v, x) for v, x in self.seen.items()]
        bar = f" | {', '.join(conditions)}" if conditions else ""
        return f"P({', '.join(map(quoted, self.names))}{bar})"  # names alone: one that looks like a number is a name

    @cached_property
    def asks(self) -> Asks:
        """What kind of question it is.

        An intervention is about variables where others are held by ``do``, a counterfactual about variables each of
        which has a world of its own where others are held. Sums, shifts, factors, draws and cut edges are more.
        """
        variants, world = (*self.outcomes, *self.case.given), Variant("", self.case.do)
        if len(self.outcomes) < len(self.of) or self.case.events or not all(v.plain for v in (world, *variants)):
            return "more"
        if not any(v.changes for v in variants):
            return "intervention"
        return "more" if self.case.do else "counterfactual"

    @cached_property
    def outcomes(self) -> tuple[Variant, ...]:
        """The variables before the bar, of those sums that are one variable."""
        return tuple(v for of in self.of if (v := of.alone) is not None)

    @property
    def given(self) -> Mapping[Variant, Value]:
        """What was seen."""
        return self.case.given

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the outcomes."""
        return tuple(v.variable for v in self.outcomes)

    @cached_property
    def do(self) -> Mapping[str, Value]:
        """The variables that ``do`` holds at values."""
        return Variant("", self.case.do).held

    @cached_property
    def seen(self) -> Mapping[str, Value]:
        """What was seen, by name."""
        return MappingProxyType({v.variable: x for v, x in self.case.given.items()})

    @property
    def labels(self) -> tuple[str, ...]:
        """What the outcomes are called in an answer."""
        return self.names if self.asks == "intervention" else tuple(map(str, self.of))
