"""Which numbers are not what they were: beyond their tolerances; cells that are lost, and cells that are new."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.golden.kept import Cell, Name
from benchmarks.golden.matched import GONE, Pair, matched
from benchmarks.golden.tolerances import rule_of


@dataclass(frozen=True)
class Difference:
    """A number or a word that is not what it was, and how far it is in tolerances."""

    name: Name
    pair: Pair
    units: float


@dataclass(frozen=True)
class Judged:
    """What came of a comparison: differences, cells that no longer work and why, cells that did not work before."""

    cells: int
    numbers: int
    differences: tuple[Difference, ...]
    lost: Mapping[Name, str]
    new: tuple[Name, ...]
    added: int  # places that frozen cells had not


def judged(old: Mapping[Name, Cell], new: Mapping[Name, Cell], failed: Mapping[Name, str]) -> Judged:
    """Frozen cells beside those of today; ``failed`` is what the cells said that do not work."""
    differences: list[Difference] = []
    lost: dict[Name, str] = {}
    numbers = added = 0
    for name, cell in old.items():
        if name not in new:
            lost[name] = failed.get(name, "the grid has no such cell")
            continue
        found = matched(cell, new[name])
        numbers += len(found.pairs)
        added += found.added
        for pair in found.pairs:
            far = units(name, pair)
            if far > 1.0:
                differences.append(Difference(name, pair, far))
    come = tuple(name for name in new if name not in old)
    return Judged(len(old), numbers, tuple(differences), lost, come, added)


def units(name: Name, pair: Pair) -> float:
    """How far a number is from the frozen one, in tolerances; words, NaN and the infinite have to be equal."""
    old, new = pair.old, pair.new
    if old == new or (_is_nan(old) and _is_nan(new)):
        return 0.0
    rule = rule_of(name[1], name[0], pair.pattern)
    if math.isinf(rule.relative):
        return 0.0
    if new is GONE or not (_is_finite(old) and _is_finite(new)):
        return math.inf
    tolerance = rule.relative * max(pair.scale, rule.floor)
    return abs(new - old) / tolerance if tolerance else math.inf


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
