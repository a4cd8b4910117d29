"""A pass over rows: what is made of each part of them where it lies, and how what came of the parts becomes one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from halftrek.data.categories import bare_names
from halftrek.data.moments import Moments
from halftrek.data.read import opened_source
from halftrek.data.rows import RowBlock, RowReader, Tally, refuse_unknown
from halftrek.data.sources.memory import from_columns
from halftrek.data.sources.source import Source, State
from halftrek.errors import DataError


@dataclass(frozen=True, eq=False)
class RowPart:
    """Rows that lie together: their blocks, the number of each cluster's label (once they were read), and where."""

    blocks: Iterator[RowBlock]
    codes: Mapping[Hashable, int]
    place: tuple[int, ...] = ()


Over = Callable[[RowPart], State]
Merge = Callable[[State, State], State]


def are_elsewhere(rows: RowReader) -> bool:
    """Whether rows stay where they lie, and work goes to them."""
    with opened_source(rows.source, rows.columns or rows.names, rows.categories) as source:
        return source.parts is not None


def gather(rows: RowReader, over: Over[State], merge: Merge[State], like: Moments | None = None) -> State:
    """What ``over`` makes of all rows; of each part of them where an engine has workers, merged in their order.

    With ``like`` it is an error if the rows have another number or other means.
    """
    rows.refuse_spent()
    with opened_source(rows.source, rows.columns or rows.names, rows.categories) as source:
        spread, used = source.parts, () if source.parts is None else _used_columns(rows, source)
    if spread is None:
        codes: dict[Hashable, int] = {}
        return over(RowPart(rows.blocks(like=like, clusters=codes), codes))
    work = partial(_work, replace(rows, source=None), over)
    found = spread(used, work, partial(_merge_counted, merge))
    if found is None:
        found = work(from_columns({v: [] for v in used}), ())
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
    for given, what in ((rows.weights, "weights"), (rows.cluster, "cluster")):
        if given is not None and not isinstance(given, str):
            raise DataError(f"rows of an engine have no order, so {what} must be the name of one of its columns")
    extra = [v for v in (rows.weights, rows.cluster) if isinstance(v, str)]
    return tuple(dict.fromkeys((*(bare_names(columns, rows.categories) or ()), *extra)))


def _work(rows: RowReader, over: Over[State], source: Source, place: tuple[int, ...]) -> tuple[Tally, State]:
    """What is done with one part of the rows, where it lies."""
    seen, codes = Tally(len(rows.names)), dict[Hashable, int]()

    def blocks() -> Iterator[RowBlock]:
        for block in replace(rows, source=source).blocks(clusters=codes):
            seen.add(block)
            yield block

    return seen, over(RowPart(blocks(), codes, place))


def _merge_counted(merge: Merge[State], ours: tuple[Tally, State], theirs: tuple[Tally, State]) -> tuple[Tally, State]:
    ours[0].merge(theirs[0])
    return ours[0], merge(ours[1], theirs[1])
