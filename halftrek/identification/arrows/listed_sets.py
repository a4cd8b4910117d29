"""The minimal adjustment sets of a question, listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, overload

from halftrek.identification.arrows.adjustment import adjustment_sets, single_door_sets
from halftrek.identification.composites import parts_of
from halftrek.queries.checks import terms_of
from halftrek.queries.types import DirectEffect, Distribution, TotalEffect
from halftrek.upward import Faces

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.queries.types import Query

LISTED = 1000
Variables = tuple[str, ...]


@dataclass(frozen=True)
class AdjustmentSets(Sequence[Variables], Faces):
    """Sets of variables, smallest first; adjusting for any one of them is enough, and none has a variable too many.

    ``complete`` is False where there are more than these: the ones listed were found first, and
    ``halftrek.identification.adjustment_sets`` goes on.
    """

    sets: tuple[Variables, ...]
    complete: bool = True

    @overload
    def __getitem__(self, place: int) -> Variables: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Variables, ...]: ...
    def __getitem__(self, place: int | slice) -> Variables | tuple[Variables, ...]:
        return self.sets[place]

    def __len__(self) -> int:
        return len(self.sets)

    def __str__(self) -> str:
        listed = ", ".join(f"{{{', '.join(one)}}}" for one in self.sets) or "none"
        return listed if self.complete else f"{listed} and more, which are not listed here"


def listed_sets(graph: Graph, query: Query, *, most: int = LISTED) -> AdjustmentSets | None:
    """The sets for the one effect that a question is about; None if it is about something else, or several effects."""
    effects = {_effect(part.query) for term in terms_of(query) for part in parts_of(term, graph)}
    if len(effects) != 1 or None in effects:
        return None
    (effect,) = effects
    assert effect is not None
    kind, causes, outcomes = effect
    if graph.hidden:
        if kind == "direct" or not (causes | outcomes).issubset(graph.observed):
            return None  # an arrow of the projection may be a way through a hidden variable
        graph = graph.project()
    every: Iterator[Variables]
    if kind == "direct":
        every = single_door_sets(graph, *causes, *outcomes)
    else:
        every = adjustment_sets(graph, sorted(causes), sorted(outcomes))
    found = list(islice(every, most + 1))
    shown = sorted(found[:most], key=len)
    return AdjustmentSets(tuple(shown), complete=len(found) <= most)


def _effect(part: Query) -> tuple[str, frozenset[str], frozenset[str]] | None:
    match part:
        case DirectEffect(cause, effect):
            return "direct", frozenset({cause}), frozenset({effect})
        case TotalEffect(cause, effect):
            return "total", frozenset({cause}), frozenset({effect})
        case Distribution(asks="intervention", names=outcomes, do=do) if (
            do and not part.seen and not set(do) & set(outcomes)
        ):
            return "total", frozenset(do), frozenset(outcomes)
    return None
