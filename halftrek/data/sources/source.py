"""One form for everything that rows can come from: named columns, and blocks of some of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from halftrek.bottom.arrays import Array
from halftrek.bottom.frames import Columns, Frame
from halftrek.bottom.words import did_you_mean, listed
from halftrek.data.columns.kinds import Coding
from halftrek.data.summing.accumulate import Block
from halftrek.data.summing.sums import Request, Sums
from halftrek.errors import DataError

Numeric = ("int", "uint", "float", "double", "decimal", "halffloat", "bool", "null")  # openings of Arrow's type names
Textual = ("string", "large_string", "string_view", "dictionary<values=string", "dictionary<values=large_string")
KEY, TIMES = "key of the row", "times that it occurs"  # columns of a table that has each row once

State = TypeVar("State")


class Spread(Protocol):
    """Work done on parts of the rows where they lie, each part a source of its own; what comes of them is merged."""

    def __call__(
        self,
        columns: tuple[str, ...],
        work: Callable[[Source], State],
        merge: Callable[[State, State], State],
        together: tuple[str, ...] = (),
        /,
    ) -> State | None:
        """What came of all parts, None if there are none.

        Rows that have the same entries in the columns ``together`` are best in one part.
        """


@dataclass(frozen=True)
class Source:
    """Columns in their order, why some cannot be used, the number of rows if known, and how to read blocks.

    ``blocks(names)`` yields blocks with these columns in this order; it may be called once. ``labels(name)`` yields
    one column as it is, texts included, in pieces that need not be those of the blocks; None for a table of numbers.
    Columns in ``texts`` are objects in the blocks, until ``coded`` makes numbers of them; ``codings`` say how it did.
    Columns in ``identifiers`` hold whole numbers longer than a float, which blocks round; their labels are exact.
    An engine that makes sums itself does so by ``sums``, of up to ``widest`` columns (None where it would rather have
    its workers do it); ``values(name, most)`` are some of a column's distinct entries. An engine whose workers run
    Python lets them work on ``parts`` of the rows. ``where(labels)`` is a table of the rows that have these entries,
    still with the engine, ``counted(names)`` one that has each row of these columns once, with a whole number made of
    its entries (``KEY``) and how often it occurs (``TIMES``); ``added(made, like)`` is its table with more columns,
    which its workers make of some rows at a time when they are asked for (``like`` has their names and kinds).
    """

    columns: tuple[str, ...]
    blocks: Callable[[tuple[str, ...]], Iterator[Block]]
    refused: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None
    labels: Callable[[str], Iterator[Array]] | None = None
    texts: frozenset[str] = frozenset()
    codings: Mapping[str, Coding] = field(default_factory=dict)
    identifiers: frozenset[str] = frozenset()
    sums: Callable[[Request], Sums | None] | None = None
    values: Callable[[str, int], list[Hashable]] | None = None
    widest: int = 0
    parts: Spread | None = None
    where: Callable[[Mapping[str, object]], object] | None = None
    counted: Callable[[tuple[str, ...]], object] | None = None
    added: Callable[[Callable[[Source], Columns], Columns], Frame] | None = None

    def usable(self, names: Sequence[str] | None, besides: str | None = None) -> tuple[str, ...]:
        """The columns to read: the given ones, each known, unique and numeric; or all (``besides`` is not counted)."""
        if isinstance(names, str):
            raise DataError(f"names is a list of column names, not one text: write names=[{names!r}]")
        wanted = tuple(v for v in self.columns if v != besides) if names is None else tuple(names)
        if not wanted:
            raise DataError("there are no columns to read; name at least one")
        for v in wanted:
            _refuse_no_text(v)
            if v not in self.columns:
                raise DataError(f"the data have no column {v!r}.{did_you_mean(str(v), self.columns)}")
            if self.columns.count(v) > 1:
                raise DataError(f"the data have {self.columns.count(v)} columns named {v!r}; rename all but one")
            if wanted.count(v) > 1:
                raise DataError(f"the column {v!r} is asked for twice; name each column once")
        bad = [v for v in wanted if v in self.refused]
        if bad:
            fix = "convert it to numbers, or leave it out" if names is not None else "choose columns with names=[…]"
            more = f" (the same holds for {listed(bad[1:])})" if bad[1:] else ""
            raise DataError(f"column {bad[0]!r} {self.refused[bad[0]]}{more}; {fix}")
        return wanted


def chained(sources: Sequence[Source], labels: Sequence[str]) -> Source:
    """Several sources with the same columns (in any order), one after the other."""
    first = sources[0]
    for source, label in zip(sources[1:], labels[1:], strict=True):
        if set(source.columns) != set(first.columns):
            lone = sorted(set(source.columns) ^ set(first.columns))
            raise DataError(f"{labels[0]} and {label} have different columns: {listed(lone)} in one of them only")
    counts = [source.rows for source in sources]
    known = [k for k in counts if k is not None]

    def blocks(names: tuple[str, ...]) -> Iterator[Block]:
        for source in sources:
            source.usable(names)
            yield from source.blocks(names)

    def labels_of(name: str) -> Iterator[Array]:
        for source in sources:
            assert source.labels is not None
            yield from source.labels(name)

    refused = {v: why for source in reversed(sources) for v, why in source.refused.items()}
    kinds = {source.texts for source in sources}
    if len(kinds) > 1:
        lone = sorted(frozenset.union(*kinds) - frozenset.intersection(*kinds))
        raise DataError(f"column {lone[0]!r} holds texts in some files and numbers in others; write it in one way")
    return Source(
        first.columns,
        blocks,
        refused,
        sum(known) if len(known) == len(counts) else None,
        labels_of,
        first.texts,
        first.codings,
        frozenset.union(*(source.identifiers for source in sources)),
    )


def _refuse_no_text(name: object) -> None:
    """Raise for a name that is no text, or one that could be neither printed nor written (a lone surrogate)."""
    if not isinstance(name, str):
        raise DataError(f"the name of a column is a text, not {name!r}")
    if name.isascii():
        return
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError(f"the column name {name!r} is not valid text (a lone surrogate); rename the column") from None
