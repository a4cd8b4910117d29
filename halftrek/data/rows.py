"""Rows that can be read again from where they came, for what moments alone do not tell: the spread of scores, draws."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from halftrek.arrays import Array, Codes, Floats
from halftrek.choices import Missing
from halftrek.data.accumulate import as_table, rows_in
from halftrek.data.categories import Categories, bare_names
from halftrek.data.clusters import Clusters, Role, cluster_array, same_length
from halftrek.data.kinds import Coding
from halftrek.data.moments import Moments
from halftrek.data.read import opened_source
from halftrek.data.sources.memory import from_columns
from halftrek.data.sources.sending import Spent, own_copy, sendable
from halftrek.data.sources.source import Source, State
from halftrek.data.sources.streams import read_once
from halftrek.data.weights import RowWeights, checked_weights, refuse_other_length
from halftrek.errors import DataError
from halftrek.portable import Portable, packed, unpacked
from halftrek.words import did_you_mean

BLOCK = 65_536  # rows in a block, whatever the source: draws from blocks must not depend on how a file was cut
SAME = 1e-9  # share of a column's size by which the mean of the same rows may move by rounding


@dataclass(frozen=True, eq=False)
class RowBlock(Portable):
    """Some rows: values in the order of the reader's names, weights, and the number of each row's cluster.

    Weights are numbers of rows; sampling weights have the mean one over the rows of the fit.
    """

    values: Floats
    weights: Floats | None = None
    cluster: Codes | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class RowPart:
    """Rows that lie together: their blocks, the number of each cluster's label (once they were read), and where."""

    blocks: Iterator[RowBlock]
    codes: Mapping[Any, int]
    place: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class RowReader(Portable):
    """A source of rows with how to read it; nothing is kept but what the user's own source holds.

    ``missing="fiml"`` keeps rows with holes (as NaN); otherwise they are left out. ``cluster`` is the name of a column
    (numbers or texts) or one entry for each row. ``columns`` are all columns that were read for the moments, where they
    are more than ``names``: a hole in any of them drops the row, with ``missing="own"`` only one in ``names``.
    ``sampling`` is None where weights count rows; where they are sampling weights it is the mean that they are divided
    by. ``categories`` are columns read as indicators.
    """

    source: Any
    names: tuple[str, ...]
    weights: str | ArrayLike | None = None
    missing: Literal["error", "drop", "fiml", "own"] = "error"
    cluster: str | ArrayLike | None = None
    columns: tuple[str, ...] = ()
    sampling: float | None = None
    categories: Categories = ()

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
        codes: dict[Hashable, int] | None = None,
        codings: dict[str, Coding] | None = None,
    ) -> Iterator[RowBlock]:
        """The rows in blocks of one size; with ``like`` the end is an error if their number or means are not these.

        ``codes`` is filled with the number of each cluster's label, ``codings`` with how texts became numbers.
        """
        self.refuse_spent()
        seen = _Tally(len(self.names))
        for block in _in_size(self._read(codes, codings), BLOCK):
            if like is not None:
                seen.add(block)
            yield block
        if like is not None:
            seen.compare(like.select(self.names))

    @property
    def is_elsewhere(self) -> bool:
        """Whether the rows stay where they lie, and work goes to them."""
        with opened_source(self.source, self.columns or self.names, self.categories) as source:
            return source.parts is not None

    def gather(
        self,
        over: Callable[[RowPart], State],
        merge: Callable[[State, State], State],
        like: Moments | None = None,
    ) -> State:
        """What ``over`` makes of all rows; of each part of them where an engine has workers, merged in their order.

        With ``like`` it is an error if the rows have another number or other means.
        """
        self.refuse_spent()
        columns = self.columns or self.names
        with opened_source(self.source, columns, self.categories) as source:
            spread, used = source.parts, self._used_columns(source) if source.parts is not None else ()
        if spread is None:
            codes: dict[Any, int] = {}
            return over(RowPart(self.blocks(like=like, codes=codes), codes))
        work = partial(_work, replace(self, source=None), over)
        found = spread(used, work, partial(_merge_counted, merge))
        if found is None:
            found = work(from_columns({v: [] for v in used}), ())
        seen, state = found
        if like is not None:
            seen.compare(like.select(self.names))
        return state

    def check(self, role: Role = "cluster") -> None:
        """Raise DataError if the cluster is not in the source, before any work is done; ``role`` is what it is for."""
        if self.cluster is not None and not isinstance(self.source, Spent):
            with opened_source(self.source, self.columns or self.names, self.categories) as source:
                if isinstance(self.cluster, str):
                    _refuse_unknown(self.cluster, source, self.categories, role)
                else:
                    same_length(cluster_array(self.cluster, role), source.rows, role)

    # -- reading ---------------------------------------------------------------------------------

    def _read(
        self, codes: dict[Hashable, int] | None = None, codings: dict[str, Coding] | None = None
    ) -> Iterator[RowBlock]:
        columns = self.columns or self.names
        with opened_source(self.source, columns, self.categories) as source:
            source.usable(columns)
            extra = [v for v in (self.weights, self._numbered_cluster(source)) if isinstance(v, str)]
            read = tuple(dict.fromkeys((*columns, *extra)))
            at = [columns.index(v) for v in self.names]
            weights = _Weights(self.weights, read, self.sampling)
            clusters = self._clusters(read, columns, {} if codes is None else codes)
            done = 0
            for block in source.blocks(read):
                rows = rows_in(block)
                table = as_table(block)
                part = RowBlock(
                    table[:, : len(columns)],
                    weights.take(table, done, rows),
                    clusters.take(block, done, rows) if clusters is not None else None,
                )
                yield _used(part, self.missing, at)
                done += rows
            weights.end(done)
            if codings is not None:
                codings.update(source.codings)
            if clusters is not None:
                clusters.end(done)

    def _used_columns(self, source: Source) -> tuple[str, ...]:
        """The source's own columns that are needed, each once."""
        columns = self.columns or self.names
        source.usable(columns)
        if isinstance(self.cluster, str):
            _refuse_unknown(self.cluster, source, self.categories)
        for given, what in ((self.weights, "weights"), (self.cluster, "cluster")):
            if given is not None and not isinstance(given, str):
                raise DataError(f"rows of an engine have no order, so {what} must be the name of one of its columns")
        extra = [v for v in (self.weights, self.cluster) if isinstance(v, str)]
        return tuple(dict.fromkeys((*(bare_names(columns, self.categories) or ()), *extra)))

    def _numbered_cluster(self, source: Source) -> str | None:
        """The column of the clusters, if it is read with the others: as numbers."""
        if not isinstance(self.cluster, str):
            return None
        _refuse_unknown(self.cluster, source, self.categories)
        own = {c.column for c in self.categories}  # in its place there are indicators
        return None if self.cluster in {*source.refused, *source.texts, *source.identifiers, *own} else self.cluster

    def _clusters(self, read: tuple[str, ...], columns: tuple[str, ...], codes: dict[Hashable, int]) -> Clusters | None:
        if self.cluster is None:
            return None
        if not isinstance(self.cluster, str):
            return Clusters("the clusters", iter([cluster_array(self.cluster)]), None, codes)
        what = f"the cluster {self.cluster!r}"
        if self.cluster in read:
            return Clusters(what, None, read.index(self.cluster), codes)
        return Clusters(what, self._labels(columns), None, codes)

    def _labels(self, columns: tuple[str, ...]) -> Iterator[Array]:
        """Texts are read before the numbers, from the source opened once more."""
        with opened_source(self.source, columns, self.categories) as source:
            if source.labels is None:  # a table of numbers refuses no column, but one may be of categories
                raise DataError(f"the column {self.cluster!r} of an array is of categories; give its labels as a list")
            yield from source.labels(str(self.cluster))


def _work(
    reader: RowReader, over: Callable[[RowPart], State], source: Source, place: tuple[int, ...]
) -> tuple[_Tally, State]:
    """What is done with one part of the rows, where it lies."""
    seen, codes = _Tally(len(reader.names)), dict[Any, int]()

    def blocks() -> Iterator[RowBlock]:
        for block in replace(reader, source=source).blocks(codes=codes):
            seen.add(block)
            yield block

    return seen, over(RowPart(blocks(), codes, place))


def _merge_counted(
    merge: Callable[[State, State], State], ours: tuple[_Tally, State], theirs: tuple[_Tally, State]
) -> tuple[_Tally, State]:
    ours[0].merge(theirs[0])
    return ours[0], merge(ours[1], theirs[1])


def row_reader(
    source: object,
    names: Sequence[str],
    *,
    weights: str | ArrayLike | None = None,
    missing: Missing = "error",
    cluster: str | ArrayLike | None = None,
    sampling: float | None = None,
    categories: Categories = (),
) -> RowReader:
    """The reader of a source's rows; of a stream only the fact that it is gone is kept."""
    kept = Spent(read_once(source)) if read_once(source) else source
    return RowReader(kept, tuple(names), weights, missing, cluster, sampling=sampling, categories=categories)


# -- pieces of rows ------------------------------------------------------------------------------


def _used(block: RowBlock, missing: str, at: list[int]) -> RowBlock:
    """Without rows of no weight and, unless holes are wanted, without rows with holes."""
    keep = np.ones(len(block), dtype=bool) if block.weights is None else block.weights != 0.0
    values = block.values if at == list(range(block.values.shape[1])) else block.values[:, at]
    if missing != "fiml":
        keep &= ~np.isnan(values if missing == "own" else block.values).any(axis=1)
    if keep.all():
        return RowBlock(values, block.weights, block.cluster)
    weights = None if block.weights is None else block.weights[keep]
    return RowBlock(values[keep], weights, None if block.cluster is None else block.cluster[keep])


def _in_size(blocks: Iterator[RowBlock], size: int) -> Iterator[RowBlock]:
    """The same rows in blocks of one size; the last may be shorter."""
    waiting: list[RowBlock] = []
    held = 0
    for block in blocks:
        start = 0
        while start < len(block):
            part = _slice(block, start, start + size - held)
            waiting.append(part)
            held += len(part)
            start += len(part)
            if held == size:
                yield _joined(waiting)
                waiting, held = [], 0
    if waiting:
        yield _joined(waiting)


def _slice(block: RowBlock, start: int, stop: int) -> RowBlock:
    part = slice(start, stop)
    weights = None if block.weights is None else block.weights[part]
    return RowBlock(block.values[part], weights, None if block.cluster is None else block.cluster[part])


def _joined(parts: list[RowBlock]) -> RowBlock:
    if len(parts) == 1:
        return parts[0]
    weights = [part.weights for part in parts if part.weights is not None]
    cluster = [part.cluster for part in parts if part.cluster is not None]
    return RowBlock(
        np.concatenate([part.values for part in parts]),
        np.concatenate(weights) if weights else None,
        np.concatenate(cluster) if cluster else None,
    )


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


def _refuse_unknown(column: str, source: Source, categories: Categories, role: Role = "cluster") -> None:
    known = (*source.columns, *(c.column for c in categories))
    if column not in known:
        raise DataError(f"the data have no column {column!r} for the {role}s.{did_you_mean(column, known)}")


class _Tally:
    """Number and sums of rows as they pass, to see whether they are the rows of the fit."""

    def __init__(self, p: int) -> None:
        self._n, self._sums, self._holes = 0.0, np.zeros(p), False

    def add(self, block: RowBlock) -> None:
        self._n += len(block) if block.weights is None else float(block.weights.sum())
        ones = np.ones(len(block)) if block.weights is None else block.weights
        self._sums += ones @ block.values

    def merge(self, other: _Tally) -> None:
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
