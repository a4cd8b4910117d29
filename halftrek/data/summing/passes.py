"""A pass over rows: what is made of each part of them where it lies, and how what came of the parts becomes one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from halftrek.data.columns.categories import bare_names
from halftrek.data.columns.kinds import Coding
from halftrek.data.moments import Moments
from halftrek.data.read import opened_source
from halftrek.data.rows import RowBlock, RowReader, Tally, refuse_unknown
from halftrek.data.sources.memory import from_columns
from halftrek.data.sources.source import KEY, TIMES, Source, State
from halftrek.errors import DataError


@dataclass(frozen=True, eq=False)
class RowPart:
    """Rows that lie together, by their blocks.

    Once the blocks were read, ``codes`` and ``groups`` have the number of each cluster's label and of each group, and
    ``codings`` say how texts became numbers.
    """

    blocks: Iterator[RowBlock]
    codes: Mapping[Hashable, int]
    groups: dict[tuple[Hashable, ...], int] = field(default_factory=dict)
    codings: Mapping[str, Coding] = field(default_factory=dict)


Over = Callable[[RowPart], State]
Merge = Callable[[State, State], State]


def are_elsewhere(rows: RowReader) -> bool:
    """Whether rows stay where they lie, and work goes to them."""
    with opened_source(rows.source, rows.columns or rows.names, rows.categories) as source:
        return source.parts is not None


def keyed(rows: RowReader) -> RowReader:
    """The same rows, each once, with a key made of its entries and how often it occurs; they stay where they lie."""
    with opened_source(rows.source, rows.columns or rows.names, rows.categories) as source:
        assert source.counted is not None
        return replace(rows, source=source.counted(_used_columns(rows, source)), keyed=True)


def gather(
    rows: RowReader,
    over: Over[State],
    merge: Merge[State],
    like: Moments | None = None,
    together: tuple[str, ...] = (),
) -> State:
    """What ``over`` makes of all rows; of each part of them where an engine has workers, merged in their order.

    With ``like`` it is an error if the rows have another number or other means. Rows with the same labels in the
    columns ``together`` are best in one part.
    """
    rows.refuse_spent()
    with opened_source(rows.source, rows.columns or rows.names, rows.categories) as source:
        spread, used = source.parts, () if source.parts is None else _used_columns(rows, source)
    if spread is None:
        return over(_part(rows, lambda blocks: blocks, like))
    work = partial(_work, replace(rows, source=None), over)
    found = spread(used, work, partial(_merge_counted, merge), together)
    if found is None:
        found = work(from_columns({v: [] for v in used}))
    seen, state = found
    if like is not None:
        seen.compare(like.select(rows.names))
    return state


def _used_columns(rows: RowReader, source: Source) -> tuple[str, ...]:
    """The source's own columns that are needed, each once."""
    columns = rows.columns or rows.names
    source.usable(columns)
    if isinstance(rows.cluster, str):
        refuse_unknown(rows.cluster, source, rows.categories)
    said = [(rows.weights, "weights"), (rows.cluster, "cluster"), *((label, "by") for label in rows.by)]
    for given, what in said:
        if given is not None and not isinstance(given, str):
            raise DataError(f"rows of an engine have no order, so {what} must be the name of one of its columns")
    for label in rows.by:
        refuse_unknown(str(label), source, rows.categories, "group")
    extra = [v for v, _ in said if isinstance(v, str)] + ([KEY, TIMES] if rows.keyed else [])
    return tuple(dict.fromkeys((*(bare_names(columns, rows.categories) or ()), *extra)))


def _work(rows: RowReader, over: Over[State], source: Source) -> tuple[Tally, State]:
    """What is done with one part of the rows, where it lies."""
    seen = Tally(len(rows.names))

    def counted(blocks: Iterator[RowBlock]) -> Iterator[RowBlock]:
        for block in blocks:
            seen.add(block)
            yield block

    return seen, over(_part(replace(rows, source=source), counted))


def _part(
    rows: RowReader,
    passing: Callable[[Iterator[RowBlock]], Iterator[RowBlock]],
    like: Moments | None = None,
) -> RowPart:
    """The rows with what is found out about their labels while they pass."""
    clusters, groups, codings = dict[Hashable, int](), dict[tuple[Hashable, ...], int](), dict[str, Coding]()
    blocks = rows.blocks(like=like, clusters=clusters, groups=groups, codings=codings)
    return RowPart(passing(blocks), clusters, groups, codings)


def _merge_counted(merge: Merge[State], ours: tuple[Tally, State], theirs: tuple[Tally, State]) -> tuple[Tally, State]:
    ours[0].merge(theirs[0])
    return ours[0], merge(ours[1], theirs[1])
