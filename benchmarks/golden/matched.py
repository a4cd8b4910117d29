"""The numbers and words of a frozen result beside those of the same places today, each with its scale."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.golden.kept import Cell
from benchmarks.golden.numbers import Block
from benchmarks.golden.tolerances import ERRORS

GONE = "gone"  # what stands for a number that is not there any more
Key = tuple[tuple[str, ...], int]  # of a row: its texts, and which of the rows with these texts it is


@dataclass(frozen=True)
class Pair:
    """A place, the same with its rows as ``[*]``, what was there and what is; the scale of numbers."""

    place: str
    pattern: str
    old: Any
    new: Any
    scale: float = 0.0


@dataclass(frozen=True)
class Matched:
    """Pairs, and how many places have come that the frozen cell had not."""

    pairs: tuple[Pair, ...]
    added: int


def matched(old: Cell, new: Cell) -> Matched:
    """What was frozen, beside what there is today."""
    pairs: list[Pair] = []
    added = len(set(new.lone) - set(old.lone)) + len(set(new.words) - set(old.words))
    for place, value in old.lone.items():
        scale = max(_size(value), _error_beside(old, place))
        pairs.append(Pair(place, _pattern(place), value, new.lone.get(place, GONE), scale))
    for place, word in old.words.items():
        pairs.append(Pair(place, _pattern(place), word, new.words.get(place, GONE)))
    for place, block in old.blocks.items():
        if place not in new.blocks:
            pairs.append(Pair(place, _pattern(place), f"{block['rows']} rows", GONE))
            continue
        found, more = _blocks(place, block, new.blocks[place], _error_beside(old, place))
        pairs += found
        added += more
    added += sum(len(new.blocks[place]["numbers"]) for place in set(new.blocks) - set(old.blocks))
    return Matched(tuple(pairs), added)


def _pattern(place: str) -> str:
    return re.sub(r"\[[^\]]*\]", "[*]", place)


def _size(value: Any) -> float:
    """How large a number is; nothing for what is no finite number."""
    return abs(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _largest(values: Sequence[Any]) -> float:
    return max(map(_size, values), default=0.0)


def _error_beside(cell: Cell, place: str) -> float:
    """The standard error among the fields beside a place, of several the largest; 0 if there is none."""
    owner = place.rpartition(".")[0]
    for name in ERRORS:
        beside = f"{owner}.{name}" if owner else name
        if beside in cell.lone:
            return _size(cell.lone[beside])
        if beside in cell.blocks:
            return max((_largest(_entries(column)) for column in cell.blocks[beside]["numbers"].values()), default=0.0)
    return 0.0


def _entries(column: Any) -> Sequence[Any]:
    """The numbers of a column, of a long one the first."""
    entries: Sequence[Any] = column["first"] if isinstance(column, dict) else column
    return entries


# Tables and arrays.


def _blocks(place: str, old: Block, new: Block, beside: float) -> tuple[list[Pair], int]:
    """Pairs of a table's cells, and how many cells have come."""
    if any(isinstance(column, dict) for block in (old, new) for column in block["numbers"].values()):
        return _long(place, old, new), len(set(new["numbers"]) - set(old["numbers"]))
    texts = [name for name in old["texts"] if name in new["texts"]]
    names, there = _keys(old, texts), _keys(new, texts)
    by_place = old["rows"] == new["rows"] and Counter(names) != Counter(there)
    row_of = {key: i for i, key in enumerate(there)}
    rows = [(i, i if by_place else row_of.get(key)) for i, key in enumerate(names)]
    pairs: list[Pair] = []
    for i, j in rows:
        row = ", ".join(part for part in names[i][0] if part) or str(i)
        where, pattern = f"{place}[{row}]", f"{_pattern(place)}[*]"
        if j is None:
            pairs.append(Pair(where, pattern, "a row", GONE))
            continue
        for name, cells in old["texts"].items():
            now = new["texts"][name][j] if name in new["texts"] else GONE
            pairs.append(Pair(_column(where, name), _column(pattern, name), cells[i], now))
        for name, cells in old["numbers"].items():
            now = new["numbers"][name][j] if name in new["numbers"] else GONE
            scale = max(_size(cells[i]), _error(old, name, i) or beside or _largest(cells))
            pairs.append(Pair(_column(where, name), _column(pattern, name), cells[i], now, scale))
    columns = len(set(new["numbers"]) - set(old["numbers"])) + len(set(new["texts"]) - set(old["texts"]))
    matched_rows = sum(j is not None for _, j in rows)
    return pairs, matched_rows * columns + (new["rows"] - matched_rows) * len(new["numbers"])


def _keys(block: Block, texts: Sequence[str]) -> list[Key]:
    met: Counter[tuple[str, ...]] = Counter()
    keys: list[Key] = []
    for i in range(block["rows"]):
        row = tuple(block["texts"][name][i] for name in texts)
        keys.append((row, met[row]))
        met[row] += 1
    return keys


def _column(row: str, name: str) -> str:
    return f"{row}.{name}" if name else row


def _error(block: Block, name: str, row: int) -> float:
    """The standard error in the same row; with several outcomes their columns begin with the outcome's name."""
    for other, cells in block["numbers"].items():
        prefix = other.removesuffix("_se")
        if other in ERRORS or (prefix != other and (name == prefix or name.startswith(f"{prefix}_"))):
            return _size(cells[row])
    return 0.0


def _long(place: str, old: Block, new: Block) -> list[Pair]:
    """Of long columns the first numbers and the sums; rows are not matched by their names."""
    pattern = _pattern(place)
    pairs = [Pair(f"{place}, rows", f"{pattern}, rows", old["rows"], new["rows"])]
    for name, column in old["numbers"].items():
        where, what = _column(place, name), _column(pattern, name)
        now = new["numbers"].get(name)
        if not isinstance(column, dict) or not isinstance(now, dict):
            pairs.append(Pair(where, what, f"{old['rows']} numbers", f"{new['rows']} numbers" if now else GONE))
            continue
        largest = _largest(column["first"])
        for i, (before, after) in enumerate(zip(column["first"], now["first"], strict=True)):
            pairs.append(Pair(f"{where}[{i}]", f"{what}[*]", before, after, largest))
        pairs.append(Pair(f"{where}, finite", f"{what}, finite", column["finite"], now["finite"]))
        for total in ("sum", "absolute", "squares", "weighted"):
            scale = column["squares" if total == "squares" else "absolute"]
            pairs.append(Pair(f"{where}, {total}", f"{what}, {total}", column[total], now[total], scale))
    return pairs
