"""What rows say group by group, one part of them at a time; parts are put together by the labels of their groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from halftrek.bottom.arrays import Codes, Flags, Floats
from halftrek.bottom.choices import Missing
from halftrek.data.by_group.group_sums import GroupSums
from halftrek.data.columns.categories import codings_there
from halftrek.data.columns.kinds import Coding, Kind, KindSearch
from halftrek.data.missing.gather import PatternSums
from halftrek.data.read import opened_source
from halftrek.data.rows import RowBlock, RowReader
from halftrek.data.summing.passes import RowPart
from halftrek.errors import DataError

Labels = dict[tuple[Hashable, ...], int]


class GroupState:
    """Sums of every group so far, and patterns of those that have rows with holes; ``codes`` number the groups."""

    def __init__(self, names: tuple[str, ...], codes: Labels | None = None) -> None:
        self.names = names
        self.codes: Labels = {} if codes is None else codes
        self.sums = GroupSums(len(names))
        self.incomplete: dict[int, PatternSums] = {}
        self.search = KindSearch(len(names))
        self.codings: dict[str, Coding] = {}

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What kind of numbers the columns hold."""
        return self.search.kinds([self.codings.get(v) for v in self.names])

    def add(self, block: RowBlock, missing: Missing) -> None:
        """Take in some rows."""
        assert block.group is not None
        holes = _holes(block.values, self.names)
        if missing == "error" and holes.any():
            refuse_holes(self.names, np.isnan(block.values))
        with np.errstate(over="ignore", invalid="ignore"):
            self.sums.add(block.values, block.group, block.weights, holes, len(self.codes))
        self.search.add(block.values[~holes] if missing != "fiml" else block.values)
        if missing == "fiml" and holes.any():
            weights = None if block.weights is None else block.weights[holes]
            self._add_incomplete(block.values[holes], block.group[holes], weights)

    def join(self, other: GroupState) -> None:
        """Take in the groups of other rows."""
        at = np.array([self.codes.setdefault(labels, len(self.codes)) for labels in other.codes], dtype=np.int64)
        self.sums.join(other.sums, at[: len(other.sums.n)], len(self.codes))
        for code, sums in other.incomplete.items():
            self.incomplete.setdefault(int(at[code]), PatternSums(len(self.names))).join(sums)
        self.search.join(other.search)

    def _add_incomplete(self, values: Floats, code: Codes, weights: Floats | None) -> None:
        """Add rows with holes to the patterns of their groups."""
        order = np.argsort(code, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
            one = self.incomplete.setdefault(int(code[rows[0]]), PatternSums(values.shape[1]))
            one.add(values[rows], None if weights is None else weights[rows])
            one.flush()
        if weights is not None:
            squared = self.sums.squared_incomplete
            squared += np.bincount(code, weights=weights**2, minlength=len(squared))


def of_part(names: tuple[str, ...], missing: Missing, part: RowPart) -> GroupState:
    """The groups of the rows that lie together."""
    state = GroupState(names, part.groups)
    for block in part.blocks:
        state.add(block, missing)
    state.codings.update(part.codings)
    return state


def joined(ours: GroupState, theirs: GroupState) -> GroupState:
    """Both parts together."""
    ours.join(theirs)
    return ours


def codings_of(reader: RowReader, found: Mapping[str, Coding]) -> dict[str, Coding]:
    """How texts became numbers; where the workers of an engine made them, no part of the rows knows it all."""
    with opened_source(reader.source, reader.names, reader.categories) as source:
        return dict(found) if source.parts is None else codings_there(source, reader.names)


def refuse_holes(names: Sequence[str], holes: Flags) -> None:
    """Raise for the first column that has one."""
    column = names[int(np.argmax(holes.any(axis=0)))]
    raise DataError(f"column {column!r} has missing values; missing='drop' leaves such rows out")


def _holes(values: Floats, names: Sequence[str]) -> Flags:
    """Which rows have a hole; infinite values are refused."""
    whole = np.asarray(np.isfinite(values).all(axis=1))
    if whole.all():
        return ~whole
    infinite = np.isinf(values).any(axis=0)
    if infinite.any():
        culprit = names[int(np.argmax(infinite))]
        raise DataError(f"column {culprit!r} holds an infinite value; remove or replace it before reading")
    return ~whole
