"""What was frozen, under the names of today: the table in ``renamed.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.golden.kept import Cell, Frozen, Name
from benchmarks.golden.numbers import Block

TABLE = Path(__file__).with_name("renamed.toml")

Names = Mapping[str, str]  # old: new


@dataclass(frozen=True)
class Renamed:
    """``fields`` are those of all operations, ``fields_of`` those of operations that a regular expression matches."""

    operations: Names = field(default_factory=dict)
    columns: Names = field(default_factory=dict)
    words: Names = field(default_factory=dict)
    fields: Names = field(default_factory=dict)
    fields_of: Mapping[str, Names] = field(default_factory=dict)

    @staticmethod
    def read(path: Path = TABLE) -> Renamed:
        """The table in a file."""
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        fields = table.pop("fields", {})
        plain = {old: new for old, new in fields.items() if isinstance(new, str)}
        return Renamed(**table, fields=plain, fields_of={k: v for k, v in fields.items() if k not in plain})

    def of(self, frozen: Frozen) -> Frozen:
        """The frozen cells as they are called today."""
        cells = {new: self.cell(new[1], cell) for name, cell in frozen.cells.items() for new in [self.name(name)]}
        slow = [list(self.name(name)) for name in sorted(frozen.slow)]
        return replace(frozen, head=frozen.head | {"slow": slow}, cells=cells)

    def name(self, name: Name) -> Name:
        """A cell's name of today."""
        column, operation = name
        return self.columns.get(column, column), self.operations.get(operation, operation)

    def cell(self, operation: str, cell: Cell) -> Cell:
        """A cell's places and words of today; what is gone on purpose is left out."""
        names = dict(self.fields)
        for pattern, more in self.fields_of.items():
            if re.fullmatch(pattern, operation):
                names |= more
        if not names and not self.words:
            return cell
        return Cell(
            _moved(cell.lone, names),
            {place: self._word(word) for place, word in _moved(cell.words, names).items()},
            {place: self._block(block, names) for place, block in _moved(cell.blocks, names).items()},
        )

    def _word(self, word: str | list[str]) -> str | list[str]:
        if isinstance(word, str):
            return self.words.get(word, word)
        renamed = [self.words.get(one, one) for one in word]
        return sorted(renamed) if word == sorted(word) else renamed  # codes of notes are sorted

    def _block(self, block: Block, names: Names) -> Block:
        texts = _moved(block["texts"], names)
        return {
            "rows": block["rows"],
            "texts": {name: [self.words.get(one, one) for one in cells] for name, cells in texts.items()},
            "numbers": _moved(block["numbers"], names),
        }


def _moved(entries: Mapping[str, Any], names: Names) -> dict[str, Any]:
    moved: dict[str, Any] = {}
    for place, entry in entries.items():
        new = _place(place, names)
        if new is not None:
            moved[new] = entry
    return moved


def _place(place: str, names: Names) -> str | None:
    """A place with its fields renamed; None if one of them is gone on purpose."""
    for old, new in names.items():
        step = re.compile(rf"(?:(?<=\.)|^){re.escape(old)}(?=$|[.\[])")
        if step.search(place):
            if not new:
                return None
            place = step.sub(new, place)
    return place
