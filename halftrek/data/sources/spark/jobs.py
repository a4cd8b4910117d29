"""Spark's jobs: what comes of them, a progress line meanwhile, Ctrl-C, and what goes wrong in our words."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, cast
from uuid import uuid4

from halftrek.bottom.progress import Advance, late_bar
from halftrek.data.sources.guard import first_line, interruptible
from halftrek.errors import DataError, HalftrekError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import StatusTracker
    from pyspark.sql import DataFrame, Row, SparkSession

STATES = "place long, state binary"  # what workers send: where a state is from, and what it is, pickled
BATCH, PLAIN_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch", "10000"
NUMBERS_TOGETHER = 1_000_000  # in one batch for the workers
TICK = 0.3  # seconds between two looks at how far a job is

_LOST = ("stopped", "closed", "connection refused", "session_not_found", "session not found", "invalid_handle",
         "unavailable", "py4jnetworkerror", "gateway", "no active spark", "failed to connect",
         "session_or_context_not_exists", "should be created first")  # fmt: skip


class _Stage(Protocol):
    """How far a stage is, as Connect tells it."""

    num_tasks: int
    num_completed_tasks: int


def own_place() -> int:
    """In a worker: the number of its part of the rows."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return 0 if task is None else task.partitionId()


def as_row(place: int, state: object) -> pa.RecordBatch:
    """In a worker: a state as one row."""
    import pyarrow as pa

    columns = [pa.array([place], pa.int64()), pa.array([pickle.dumps(state)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["place", "state"])


def fetched(frame: DataFrame) -> list[object]:
    """What workers have sent, one state for each row of the frame, in the order of their places."""
    return list(by_place(frame).values())


def by_place(frame: DataFrame) -> dict[int, object]:
    """What workers have sent, by place and in the order of places; None for a null.

    All rows have arrived before the first state is read, so that a connection that is lost leaves nothing half done.
    """
    with late_bar("Spark") as advance:
        rows = sorted(_run(frame, advance), key=lambda row: row["place"])
    found = {row["place"]: None if row["state"] is None else pickle.loads(row["state"]) for row in rows}
    for state in found.values():
        if isinstance(state, HalftrekError):
            raise state
    return found


def _run(frame: DataFrame, advance: Advance) -> list[Row]:
    """The rows of a small frame; progress is told while it is made, and Ctrl-C stops the job."""
    session = frame.sparkSession
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        with _connect_progress(session, advance):
            return interruptible(frame.collect, session.interruptAll)
    context, group = session.sparkContext, f"halftrek-{uuid4()}"
    tracker = context.statusTracker()

    def call() -> list[Row]:
        context.setJobGroup(group, "halftrek", interruptOnCancel=True)
        try:
            return list(frame.collect())
        finally:
            for name in ("spark.jobGroup.id", "spark.job.description"):
                context.setLocalProperty(name, cast("str", None))  # takes it away

    def tick() -> None:
        stages = [tracker.getStageInfo(s) for job in tracker.getJobIdsForGroup(group) for s in _stages(tracker, job)]
        known = [stage for stage in stages if stage is not None]
        if known:
            advance(sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known))

    from pyspark import inheritable_thread_target  # another thread works, with the user's pool and properties

    return interruptible(inheritable_thread_target(call), lambda: context.cancelJobGroup(group), tick, TICK)


def _stages(tracker: StatusTracker, job: int) -> list[int]:
    info = tracker.getJobInfo(job)
    return [] if info is None else list(info.stageIds)


@contextmanager
def larger_batches(session: SparkSession, columns: int) -> Iterator[None]:
    """Batches for the workers of about eight megabytes, which cost Java a tenth less than those of ten thousand rows.

    Whoever has set a size of batches keeps it.
    """
    own = session.conf.get(BATCH)
    rows = NUMBERS_TOGETHER // max(columns, 1)
    if own != PLAIN_BATCH or rows <= int(PLAIN_BATCH):
        yield
        return
    session.conf.set(BATCH, str(rows))
    try:
        yield
    finally:
        session.conf.set(BATCH, own)


@contextmanager
def _connect_progress(session: object, advance: Advance) -> Iterator[None]:
    """Connect tells of its tasks from Spark 4 on."""
    register, remove = (getattr(session, f"{what}ProgressHandler", None) for what in ("register", "remove"))
    if register is None or remove is None:
        yield
        return

    def told(stages: Iterable[_Stage], inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: ARG001
        advance(sum(s.num_completed_tasks for s in stages), sum(s.num_tasks for s in stages))

    register(told)
    try:
        yield
    finally:
        remove(told)


def about_spark(error: Exception) -> DataError:
    """A sentence for what Spark raises: what is missing, lost, or wrong in the query."""
    words = str(error)
    low = words.lower()
    if "No module named 'halftrek'" in words or "No module named 'pyarrow'" in words:
        what = "halftrek" if "'halftrek'" in words else "pyarrow"
        return DataError(
            f"Spark's workers have no {what}: install it in their Python, and set PYSPARK_PYTHON to that Python before "
            f"the session is started"
        )
    if "PYTHON_VERSION_MISMATCH" in words or "PythonVersionMismatch" in words or "different minor version" in low:
        return DataError(
            "Spark's workers run another Python than this one: set PYSPARK_PYTHON to a Python of the same version that "
            "has halftrek, before the session is started"
        )
    if isinstance(error, ConnectionError) or any(word in low for word in _LOST) or _is_none(error):
        return DataError(
            f"the Spark session is gone ({_plain(error)}); start one and give a frame of it. Nothing was kept of what "
            f"it had done"
        )
    return DataError(
        f"the Spark frame cannot be read: {_plain(error)}; check its query, and that its session is running"
    )


def _is_none(error: Exception) -> bool:
    """Of a context that was stopped, its parts are None."""
    return isinstance(error, AttributeError | AssertionError) and ("NoneType" in str(error) or not str(error))


def _plain(error: Exception) -> str:
    """What went wrong, without the stacks of Java and of the worker around it."""
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    if lines and lines[0].startswith("An error occurred while calling") and len(lines) > 1:  # of Java
        return first_line(Exception(lines[1].strip().rpartition("): ")[2].removeprefix(": ")))
    for k, line in enumerate(lines):
        if line.endswith("Traceback (most recent call last):"):
            said = [
                after for after in lines[k + 1 :] if not after.startswith((" ", "\t"))
            ]  # files and code are indented
            return first_line(Exception(said[0])) if said else first_line(error)
    return first_line(error)
