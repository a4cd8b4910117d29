"""What came of a comparison, for people: differences by operation and place, by column, and one line."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from benchmarks.golden.judged import Difference, Judged
from benchmarks.golden.kept import Name

PLACES = 100  # groups of differences that are printed
SAID = 300  # characters of what a lost cell says
NAMES = 20  # cells that are named of those that are new or slow


def report(found: Judged, slow: Sequence[Name], head: Mapping[str, Any]) -> str:
    """The page; its last line is the figure."""
    lines = [f"frozen by commit {head['commit'][:12]}, numpy {head['numpy']}, scipy {head['scipy']}"]
    lines += _differing(found.differences)
    lines += [f"lost: {operation} of {column}: {said[:SAID]}" for (column, operation), said in found.lost.items()]
    lines += _named("new, not frozen", found.new)
    lines += _named("slow, never frozen, left out", slow)
    by_column = Counter(one.name[0] for one in found.differences) + Counter(column for column, _ in found.lost)
    lines += [f"{count:7} in {column}" for column, count in by_column.most_common()]
    if found.added:
        lines.append(f"{found.added} places of frozen cells are new, and were not compared")
    cells = len({one.name for one in found.differences})
    lines.append(
        f"{found.cells} cells, {found.numbers} numbers: {len(found.differences)} differ beyond tolerance in {cells} "
        f"cells, {len(found.lost)} lost, {len(found.new)} new"
    )
    return "\n".join(lines)


def _differing(differences: Sequence[Difference]) -> Iterator[str]:
    """A line for each family of operations and place: how many numbers of how many cells, the largest as an example."""
    groups = []
    for (family, place), same in groupby(sorted(differences, key=_group), _group):
        found = list(same)
        groups.append((family, place, found, max(found, key=lambda one: one.units)))
    groups.sort(key=lambda group: (-group[3].units, group[0], group[1]))
    for family, place, found, worst in groups[:PLACES]:
        cells = len({one.name for one in found})
        far = "not the same" if math.isinf(worst.units) else f"up to {worst.units:.3g} tolerances"
        (column, operation), pair = worst.name, worst.pair
        yield (
            f"{family}: {place or 'the result'}: {len(found)} of {cells} cells, {far}; "
            f"{operation} of {column}: {pair.place}: {_shown(pair.old)} -> {_shown(pair.new)}"
        )
    if len(groups) > PLACES:
        yield f"and {len(groups) - PLACES} places more"


def _group(one: Difference) -> tuple[str, str]:
    """The operation without its options or the question, and the place without its row."""
    return re.split(r"[,:(]", one.name[1])[0].strip(), one.pair.pattern


def _shown(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)[:80]


def _named(what: str, names: Sequence[Name]) -> Iterator[str]:
    for column, operation in names[:NAMES]:
        yield f"{what}: {operation} of {column}"
    if len(names) > NAMES:
        yield f"{what}: and {len(names) - NAMES} more"
