"""Rows in Spark: sums by its own expressions, other work by its Python workers; no row comes to this process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Never

from halftrek.data.sources.guard import cannot_be_read, guarded, in_our_words
from halftrek.data.sources.lazy import from_engine
from halftrek.data.sources.memory import from_batches
from halftrek.data.sources.source import Source, State
from halftrek.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

TOGETHER = 131_072  # rows that a worker takes at a time: its batches have ten thousand, which are too few to pay


def from_spark(frame: DataFrame) -> Source:
    """A Spark frame, classic or Connect."""
    explain = cannot_be_read("the Spark frame", "check its query, and that its session is running")
    with in_our_words(explain):
        source = from_engine(frame)
        if source is None:
            raise DataError(f"data cannot be read from a {type(frame).__name__} of Spark; give a DataFrame")
        found = replace(source, blocks=_no_rows, labels=_no_rows, parts=partial(_spread, frame))
        return _explained(guarded(found, explain), explain)


def _explained(source: Source, explain: Callable[[Exception], DataError]) -> Source:
    """What Spark raises while it makes sums, in our words."""
    sums, values, parts = source.sums, source.values, source.parts
    assert sums is not None
    assert values is not None
    assert parts is not None

    explained = in_our_words(explain)
    return replace(source, sums=explained(sums), values=explained(values), parts=explained(parts))


def _no_rows(_: object) -> Iterator[Never]:
    raise DataError(
        "this needs the rows here, and those of a Spark frame stay where they are; take a sample of them with "
        "frame.sample(0.01).toPandas()"
    )
    yield


def _spread(
    frame: DataFrame,
    columns: tuple[str, ...],
    work: Callable[[Source, tuple[int, ...]], State],
    merge: Callable[[State, State], State],
) -> State | None:
    """Each partition is one task; a task that fails is run again by Spark and gives the same."""
    chosen = frame.select(*(frame[_quoted(v)] for v in columns))
    made = chosen.mapInArrow(partial(_on_batches, work, merge), "place long, state binary").collect()
    states = [pickle.loads(bytes(row["state"])) for row in sorted(made, key=lambda row: row["place"])]
    found: State | None = None
    for state in states:
        found = state if found is None else merge(found, state)
    return found


def _on_batches(
    work: Callable[[Source, tuple[int, ...]], State],
    merge: Callable[[State, State], State],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """In a worker: the state of one partition, as one row."""
    import pyarrow as pa
    from pyspark import TaskContext

    task = TaskContext.get()
    place = 0 if task is None else task.partitionId()
    state: State | None = None
    for k, some in enumerate(_together(batches)):
        more = work(from_batches(some[0].schema, some), (place, k))
        state = more if state is None else merge(state, more)
    if state is not None:
        yield pa.record_batch({"place": pa.array([place], pa.int64()), "state": pa.array([pickle.dumps(state)])})


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


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
