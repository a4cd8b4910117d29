"""Rows that can be read again from where they came, for what moments alone do not tell: the spread of scores, draws."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halftrek.bottom.arrays import Array, Codes, Flags, Floats
from halftrek.bottom.choices import Missing
from halftrek.bottom.portable import Portable, packed, unpacked
from halftrek.bottom.words import did_you_mean
from halftrek.data.clusters import Clusters, Groups, Role, cluster_array, same_length
from halftrek.data.columns.categories import Categories
from halftrek.data.columns.kinds import Coding
from halftrek.data.moments import Moments
from halftrek.data.read import opened_source
from halftrek.data.sources.sending import Spent, own_copy, sendable
from halftrek.data.sources.source import KEY, TIMES, Source
from halftrek.data.sources.streams import read_once
from halftrek.data.summing.accumulate import Block, as_table, rows_in
from halftrek.data.weights import RowWeights, checked_weights, refuse_other_length
from halftrek.errors import DataError

BLOCK = 65_536  # rows in a block, whatever the source: draws from blocks must not depend on how a file was cut
BESIDE = ("weights", "cluster", "group", "key", "times")  # what a block has besides values
SAME = 1e-9  # share of a column's size by which the mean of the same rows may move by rounding


@dataclass(frozen=True, eq=False)
class RowBlock(Portable):
    """Some rows: values in the order of the reader's names, weights, and the numbers of each row's cluster and group.

    Weights are numbers of rows; sampling weights have the mean one over the rows of the fit. Rows of a table that has
    each row once have a ``key`` made of their entries, and the number of ``times`` that they occur.
    """

    values: Floats
    weights: Floats | None = None
    cluster: Codes | None = None
    group: Codes | None = None
    key: NDArray[np.uint64] | None = None
    times: Floats | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, some: slice | Flags) -> RowBlock:
        """Some of the rows."""
        beside = {name: part[some] for name in BESIDE if (part := getattr(self, name)) is not None}
        return RowBlock(self.values[some], **beside)


@dataclass(frozen=True, eq=False)
class RowReader(Portable):
    """A source of rows with how to read it; nothing is kept but what the user's own source holds.

    ``missing="fiml"`` keeps rows with holes (as NaN); otherwise they are left out. ``cluster`` is the name of a column
    (numbers or texts) or one entry for each row. ``columns`` are all columns that were read for the moments, where they
    are more than ``names``: a hole in any of them drops the row, with ``missing="own"`` only one in ``names``.
    ``sampling`` is None where weights count rows; where they are sampling weights it is the mean that they are divided
    by. ``categories`` are columns read as indicators. ``by`` says the group of a row as ``cluster`` says its cluster:
    one column (or one entry for each row), or several, whose combinations are the groups. The rows of a ``keyed``
    source are each there once, with columns for their key and how often they occur.
    """

    source: Any
    names: tuple[str, ...]
    weights: str | ArrayLike | None = None
    missing: Literal["error", "drop", "fiml", "own"] = "error"
    cluster: str | ArrayLike | None = None
    columns: tuple[str, ...] = ()
    sampling: float | None = None
    categories: Categories = ()
    by: tuple[str | ArrayLike, ...] = ()
    keyed: bool = False

    def __getstate__(self) -> dict[str, object]:
        """What goes into another process: the rows too, unless they hang on something that stays, as a connection."""
        return {**super().__getstate__(), "source": packed(sendable(self.source))}

    def __copy__(self) -> RowReader:
        return replace(self)  # in the same process, where every source can be read

    def __deepcopy__(self, memo: dict[int, object]) -> RowReader:
        parts = {f.name: packed(getattr(self, f.name)) for f in fields(self) if f.name != "source"}
        copied: dict[str, Any] = {name: unpacked(part) for name, part in deepcopy(parts, memo).items()}
        return replace(self, source=own_copy(self.source, memo), **copied)

    def select(self, names: Sequence[str]) -> RowReader:
        """The same rows with some of the columns, in this order."""
        return replace(self, names=tuple(names), columns=self.columns or self.names)

    def having(self, names: Sequence[str]) -> RowReader:
        """The rows that have a value in all of these columns; what was dropped for another column stays out."""
        return replace(self.select(names), missing="own" if self.missing == "fiml" else self.missing)

    def refuse_spent(self) -> None:
        """Raise DataError if the rows are gone."""
        if isinstance(self.source, Spent):
            raise DataError(
                f"{self.source.what} {self.source.how}, and the rows are needed again; pass a table or a file"
            )

    def blocks(
        self,
        like: Moments | None = None,
        groups: dict[tuple[Hashable, ...], int] | None = None,
        codings: dict[str, Coding] | None = None,
        clusters: dict[Hashable, int] | None = None,
    ) -> Iterator[RowBlock]:
        """The rows in blocks of one size; with ``like`` the end is an error if their number or means are not these.

        ``groups`` is filled with the number of each group, by its labels, ``clusters`` with that of each cluster, and
        ``codings`` with how texts became numbers.
        """
        self.refuse_spent()
        seen = Tally(len(self.names))
        for block in _in_size(self._read(groups, codings, clusters), BLOCK):
            if like is not None:
                seen.add(block)
            yield block
        if like is not None:
            seen.compare(like.select(self.names))

    def known_columns(self) -> tuple[str, ...]:
        """All columns of the source."""
        with opened_source(self.source, self.columns or self.names, self.categories) as source:
            return _all_columns(source, self.categories)

    def check(self) -> None:
        """Raise DataError if the cluster or the groups are not in the source, before any work is done."""
        said: list[tuple[str | ArrayLike, Role]] = [(given, "group") for given in self.by]
        said += [] if self.cluster is None else [(self.cluster, "cluster")]
        if said and not isinstance(self.source, Spent):
            with opened_source(self.source, self.columns or self.names, self.categories) as source:
                for given, role in said:
                    if isinstance(given, str):
                        refuse_unknown(given, source, self.categories, role)
                    else:
                        same_length(cluster_array(given, role), source.rows, role)

    # -- reading ---------------------------------------------------------------------------------

    def _read(
        self,
        codes: dict[tuple[Hashable, ...], int] | None,
        codings: dict[str, Coding] | None,
        known: dict[Hashable, int] | None,
    ) -> Iterator[RowBlock]:
        columns = self.columns or self.names
        with opened_source(self.source, columns, self.categories) as source:
            source.usable(columns)
            numbered = [self._numbered(given, source, "group") for given in self.by]
            extra = [v for v in (self.weights, self._numbered(self.cluster, source), *numbered) if isinstance(v, str)]
            read = tuple(dict.fromkeys((*columns, *extra, *((KEY, TIMES) if self.keyed else ()))))
            at = [columns.index(v) for v in self.names]
            weights = _Weights(self.weights, read, self.sampling)
            clusters = None if self.cluster is None else self._clusters(self.cluster, read, columns, codes=known)
            parts = [self._clusters(given, read, columns, "group") for given in self.by]
            groups = Groups(parts, {} if codes is None else codes) if parts else None
            done = 0
            for block in source.blocks(read):
                rows = rows_in(block)
                table = as_table(block)
                part = RowBlock(
                    table[:, : len(columns)],
                    weights.take(table, done, rows),
                    clusters.take(block, done, rows) if clusters is not None else None,
                    groups.take(block, done, rows) if groups is not None else None,
                    *(_key_and_times(block, read) if self.keyed else ()),
                )
                yield _used(part, self.missing, at)
                done += rows
            weights.end(done)
            if codings is not None:
                codings.update(source.codings)
            for labels in (clusters, groups):
                if labels is not None:
                    labels.end(done)

    def _numbered(self, given: str | ArrayLike | None, source: Source, role: Role = "cluster") -> str | None:
        """The column of the clusters (or groups), if it is read with the others: as numbers."""
        if not isinstance(given, str):
            return None
        refuse_unknown(given, source, self.categories, role)
        own = {c.column for c in self.categories}  # in its place there are indicators
        return None if given in {*source.refused, *source.texts, *source.identifiers, *own} else given

    def _clusters(
        self,
        given: str | ArrayLike,
        read: tuple[str, ...],
        columns: tuple[str, ...],
        role: Role = "cluster",
        codes: dict[Hashable, int] | None = None,
    ) -> Clusters:
        known = {} if codes is None else codes
        if not isinstance(given, str):
            return Clusters(f"the {role}s", iter([cluster_array(given, role)]), None, known)
        what = f"the {role} {given!r}"
        if given in read:
            return Clusters(what, None, read.index(given), known)
        return Clusters(what, self._labels(given, columns), None, known)

    def _labels(self, column: str, columns: tuple[str, ...]) -> Iterator[Array]:
        """Texts are read before the numbers, from the source opened once more."""
        with opened_source(self.source, columns, self.categories) as source:
            if source.labels is None:  # a table of numbers refuses no column, but one may be of categories
                raise DataError(f"the column {column!r} of an array is of categories; give its labels as a list")
            yield from source.labels(column)


def row_reader(
    source: object,
    names: Sequence[str],
    *,
    weights: str | ArrayLike | None = None,
    missing: Missing = "error",
    cluster: str | ArrayLike | None = None,
    sampling: float | None = None,
    categories: Categories = (),
    by: Sequence[str | ArrayLike] = (),
) -> RowReader:
    """The reader of a source's rows; of a stream only the fact that it is gone is kept."""
    kept = Spent(read_once(source)) if read_once(source) else source
    own = tuple(by)
    return RowReader(kept, tuple(names), weights, missing, cluster, sampling=sampling, categories=categories, by=own)


# -- pieces of rows ------------------------------------------------------------------------------


def _key_and_times(block: Block, read: tuple[str, ...]) -> tuple[NDArray[np.uint64], Floats]:
    key, times = (block[:, k] if isinstance(block, np.ndarray) else block[k] for k in map(read.index, (KEY, TIMES)))
    return key.astype(np.int64).view(np.uint64), times.astype(np.float64)


def _used(block: RowBlock, missing: str, at: list[int]) -> RowBlock:
    """Without rows of no weight and, unless holes are wanted, without rows with holes."""
    keep = np.ones(len(block), dtype=bool) if block.weights is None else block.weights != 0.0
    values = block.values if at == list(range(block.values.shape[1])) else block.values[:, at]
    if missing != "fiml":
        keep &= ~np.isnan(values if missing == "own" else block.values).any(axis=1)
    used = replace(block, values=values)
    return used if keep.all() else used.take(keep)


def _in_size(blocks: Iterator[RowBlock], size: int) -> Iterator[RowBlock]:
    """The same rows in blocks of one size; the last may be shorter."""
    waiting: list[RowBlock] = []
    held = 0
    for block in blocks:
        start = 0
        while start < len(block):
            part = block.take(slice(start, start + size - held))
            waiting.append(part)
            held += len(part)
            start += len(part)
            if held == size:
                yield _joined(waiting)
                waiting, held = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[RowBlock]) -> RowBlock:
    if len(parts) == 1:
        return parts[0]
    beside = []
    for name in BESIDE:
        found = [piece for part in parts if (piece := getattr(part, name)) is not None]
        beside.append(np.concatenate(found) if found else None)
    return RowBlock(np.concatenate([part.values for part in parts]), *beside)


class _Weights:
    """Weights beside the rows: a column among those read, an array of their own, or none."""

    def __init__(self, given: str | ArrayLike | None, read: tuple[str, ...], sampling: float | None) -> None:
        self._column = given if isinstance(given, str) else None
        self._at = None if self._column is None else read.index(self._column)
        self._sampling = sampling
        self._array = RowWeights(given, sampling is not None).array()

    def take(self, table: Floats, done: int, rows: int) -> Floats | None:
        if self._array is not None:
            found = self._array[done : done + rows]
        elif self._at is not None:
            found = checked_weights(table[:, self._at], self._column, sampling=self._sampling is not None)
        else:
            return None
        return found if self._sampling is None else found / self._sampling

    def end(self, rows: int) -> None:
        if self._array is not None:
            refuse_other_length(len(self._array), rows)


def _all_columns(source: Source, categories: Categories) -> tuple[str, ...]:
    return (*source.columns, *(c.column for c in categories))


def refuse_unknown(column: str, source: Source, categories: Categories, role: Role = "cluster") -> None:
    known = _all_columns(source, categories)
    if column not in known:
        raise DataError(f"the data have no column {column!r} for the {role}s.{did_you_mean(column, known)}")


class Tally:
    """Number and sums of rows as they pass, to see whether they are the rows of the fit."""

    def __init__(self, p: int) -> None:
        self._n, self._sums, self._holes = 0.0, np.zeros(p), False

    def add(self, block: RowBlock) -> None:
        weights = np.ones(len(block)) if block.weights is None else block.weights
        weights = weights if block.times is None else weights * block.times
        self.count(float(weights.sum()), weights @ block.values)

    def count(self, n: float, sums: Floats) -> None:
        self._n += n
        self._sums += sums

    def merge(self, other: Tally) -> None:
        self._n += other._n
        self._sums += other._sums

    def compare(self, like: Moments) -> None:
        if self._n == 0.0 and like.n:
            raise DataError("the data can be read only once, and the rows are needed again; pass a table or a file")
        if abs(self._n - like.n) > SAME * like.n:
            raise DataError(
                f"the data have {self._n:g} rows now, and had {like.n:g} when the model was fitted; fit again"
            )
        size = np.sqrt(np.diag(like.cov)) + np.abs(like.mean)
        moved = np.abs(self._sums / self._n - like.mean) > SAME * size
        if moved.any():
            raise DataError(
                f"the values of {like.names[int(np.argmax(moved))]!r} are no longer those that the model was fitted "
                f"to; fit again"
            )
