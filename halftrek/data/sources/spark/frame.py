"""A Spark frame as a source: its Python workers do the work on each part of the rows; no row comes to this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Never, TypeGuard, cast

from halftrek.bottom.frames import Columns, Frame
from halftrek.bottom.threads import one_thread
from halftrek.data.columns.kinds import truth
from halftrek.data.sources.guard import in_our_words
from halftrek.data.sources.memory import from_batches
from halftrek.data.sources.source import KEY, TIMES, Source, State
from halftrek.data.sources.spark.columns import with_columns
from halftrek.data.sources.spark.jobs import STATES, about_spark, as_row, fetched, larger_batches, own_place
from halftrek.data.sources.spark.merging import merged
from halftrek.data.sources.spark.naming import shortened, under
from halftrek.data.sources.spark.sums import FEW, expression, quick_sums, quoted
from halftrek.data.summing.sums import Request, Sums
from halftrek.errors import DataError, HalftrekError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

TOGETHER = 131_072  # rows that a worker takes at a time: its batches have ten thousand, which are too few to pay

_NUMBERS = ("ByteType", "ShortType", "IntegerType", "LongType", "FloatType", "DoubleType", "DecimalType", "BooleanType")
_TEXTS = ("StringType", "VarcharType", "CharType")


def is_spark(source: object) -> TypeGuard[DataFrame]:
    """Whether it is a frame of Spark: classic, or of Connect, whose frames live in a module of their own."""
    return hasattr(type(source), "mapInArrow")


def from_spark(frame: object) -> Source:
    """A Spark frame, classic or Connect."""
    if not is_spark(frame):
        raise DataError(
            f"data cannot be read from a {type(frame).__name__} of Spark; give a DataFrame of pyspark.sql (to_spark() "
            f"makes one of a frame of pandas on Spark)"
        )
    with in_our_words(about_spark):
        kinds = {field.name: field.dataType for field in frame.schema.fields}
        columns = tuple(frame.columns)
        plain, short = shortened(frame)
    texts = frozenset(v for v, kind in kinds.items() if type(kind).__name__ in _TEXTS)
    refused = {
        v: f"holds {kind.simpleString()} values, not numbers"
        for v, kind in kinds.items()
        if type(kind).__name__ not in _NUMBERS and v not in texts
    }
    truths = {v: truth(v) for v, kind in kinds.items() if type(kind).__name__ == "BooleanType"}

    def sums(request: Request) -> Sums | None:
        with in_our_words(about_spark):
            return quick_sums(plain, request.in_terms_of(short))

    def values(name: str, most: int) -> list[Hashable]:
        with in_our_words(about_spark):
            some = plain.selectExpr(f"{short[name]} as v").distinct().limit(most)
            parts = fetched(some.mapInArrow(_packed, STATES))
            found = [x for part in parts for x in cast("list[Hashable]", part)]
            return sorted(found, key=lambda x: (x is None, str(x)))

    def chosen(labels: Mapping[str, object]) -> object:
        found = plain
        for v, label in labels.items():
            found = found.filter(plain[short[v]].eqNullSafe(label))  # type: ignore[arg-type]
        return found.toDF(*columns)

    def counted(names: tuple[str, ...]) -> object:
        with in_our_words(about_spark):
            return _counted(plain, [short[v] for v in names]).toDF(*names, KEY, TIMES)

    def added(made: Callable[[Source], Columns], like: Columns) -> Frame:
        with in_our_words(about_spark):
            return with_columns(frame, made, like)

    return Source(
        columns, _no_rows, refused, labels=_no_rows, texts=texts, codings=truths, values=values, sums=sums,
        widest=FEW, parts=in_our_words(about_spark)(partial(_spread, plain, short)), where=chosen,
        counted=counted, added=added,
    )  # fmt: skip


def _counted(frame: DataFrame, own: Sequence[str]) -> DataFrame:
    """Each row once, with its key and how often it occurs; in one order, so that sums of a part end on one digit.

    A hash passes over nulls, so that what is null is told to it besides.
    """
    once = frame.selectExpr(*own).groupBy(*own).agg(expression(frame, f"count(1) as {quoted(TIMES)}"))
    marks = ", ".join(f"isnull({v}), {v}" for v in own)
    found = once.selectExpr(*own, f"xxhash64({marks}) as {quoted(KEY)}", quoted(TIMES))
    return found.sortWithinPartitions(quoted(KEY))


def _no_rows(_: object) -> Iterator[Never]:
    raise DataError(
        "this needs the rows here, and those of a Spark frame stay where they are; take a sample of them with "
        "frame.sample(0.01).toPandas()"
    )
    yield


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: the entries of a small column, as one row."""
    entries = [x for batch in batches for x in batch.column(0).to_pylist()]
    yield as_row(0, entries)


def _spread(
    frame: DataFrame,
    short: Mapping[str, str],
    columns: tuple[str, ...],
    work: Callable[[Source], State],
    merge: Callable[[State, State], State],
    together: tuple[str, ...] = (),
) -> State | None:
    """Each partition is one task; a task that fails is run again by Spark and gives the same.

    The frame's columns have short names, ``short`` by those that the work knows. Rows of the same labels in
    ``together`` are brought into one partition first, so that the states of parts do not each have them all.
    """
    chosen = frame.select(*(short[v] for v in columns))
    if together:
        chosen = chosen.repartition(*(short[v] for v in together))
    with larger_batches(frame.sparkSession, len(columns)):
        return merged(chosen.mapInArrow(partial(_on_batches, columns, work, merge), STATES), merge)


def _on_batches(
    columns: tuple[str, ...],
    work: Callable[[Source], State],
    merge: Callable[[State, State], State],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """In a worker: the state of one partition, as one row; an error of ours is sent as it is, not as Spark tells it."""
    place = own_place()
    state: State | None = None
    try:
        for some in _together(under(columns, batch) for batch in batches):
            with one_thread():  # other tasks work beside this one
                more = work(from_batches(some[0].schema, some))
            state = more if state is None else merge(state, more)
    except HalftrekError as error:
        yield as_row(place, _without_places(error))
        for _ in batches:  # Spark wants its rows to be taken
            pass
        return
    if state is not None:
        yield as_row(place, state)


def _without_places(error: HalftrekError) -> HalftrekError:
    """The error without the number of a row, which is one within a part of the rows and says nothing to users."""
    if type(error) is not DataError:
        return error
    return DataError(re.sub(r" in row \d+", " in some rows", re.sub(r" \(row \d+\)", "", str(error))))


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            held += batch.num_rows
        if held >= TOGETHER:
            yield waiting
            waiting, held = [], 0
    if waiting:
        yield waiting
