"""Pieces of a set of numbers: where they end, what binds there, and their union."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite

from halftrek.bottom.arrays import Floats

_TOUCH = 1e-12  # pieces that are no farther apart, in their own size, are one


@dataclass(frozen=True, eq=False)
class Reached:
    """An end of a piece: its value, where on the fibre it is attained or nearly so, and what binds there.

    ``binding`` are assumptions that hold with equality, or words; empty at an end inside, where the answer turns by
    itself. ``attained`` is False for a limit that no model has; models on the way to ``toward`` come near it.
    """

    value: float
    u: Floats | None = None
    attained: bool = True
    binding: tuple[object, ...] = ()
    toward: Floats | None = None


@dataclass(frozen=True, eq=False)
class Piece:
    """All numbers from one end to the other."""

    low: Reached
    high: Reached


@dataclass(frozen=True, eq=False)
class Found:
    """Pieces, and whether they are proved: that nothing lies outside, or that nothing is there at all."""

    pieces: list[Piece]
    proved: bool
    boxes: int = 0


def farthest(sign: float, pieces: Sequence[Piece]) -> Reached:
    """The end on one side."""
    return pieces[-1].high if sign > 0 else pieces[0].low


def narrowed(left: float, right: float, pieces: Sequence[Piece]) -> bool:
    """True if a hole between two values is not there any more, or is smaller."""
    return not any(a.high.value <= left and b.low.value >= right for a, b in pairwise(pieces))


def endless_on(sign: float, pieces: Sequence[Piece]) -> list[Piece]:
    """The same without an end on one side."""
    last = Reached(sign * inf, None, False)
    if sign < 0.0:
        return [Piece(last, pieces[0].high), *pieces[1:]]
    return [*pieces[:-1], Piece(pieces[-1].low, last)]


def united(pieces: Iterable[Piece], touch: float = _TOUCH) -> list[Piece]:
    """The union, pieces that touch joined."""
    found: list[Piece] = []
    for piece in sorted(pieces, key=lambda p: (p.low.value, p.high.value)):
        if found and piece.low.value <= found[-1].high.value + _gap(piece.low.value, found[-1].high.value, touch):
            last = found[-1]
            high = piece.high if _beyond(piece.high, last.high) else last.high
            low = last.low
            if piece.low.value == low.value and piece.low.attained and not low.attained:
                low = piece.low
            found[-1] = Piece(low, high)
        else:
            found.append(piece)
    return found


def _beyond(one: Reached, other: Reached) -> bool:
    return one.value > other.value or (one.value == other.value and one.attained and not other.attained)


def _gap(a: float, b: float, touch: float) -> float:
    return touch * max(abs(a), abs(b)) if isfinite(a) and isfinite(b) else 0.0
