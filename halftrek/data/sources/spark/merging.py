"""States of many parts of the rows become one: here if they are small, else by Spark's workers, some in each round.

A state of sums is small; one of a bootstrap's replicates, or of many patterns of missing values, may be tens of
megabytes, and hundreds of them are too much for one process. States wait with Spark meanwhile (``persist``), so that
nothing is worked out twice. Merges are always of neighbours, in the order of the parts, so that the last digits depend
on the cut of the rows alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, cast

from halftrek.data.sources.source import State
from halftrek.data.sources.spark.jobs import STATES, as_row, by_place

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

SMALL = 65_536  # bytes of a state that is sent here at once: the sums of 80 variables
AT_ONCE = 8  # states that a worker merges, and that come here at last


def merged(states: DataFrame, merge: Callable[[State, State], State]) -> State | None:
    """What comes of all states; None if there are none."""
    kept = states.persist()
    try:
        small = f"case when length(state) <= {SMALL} then state end as state"
        found = by_place(kept.selectExpr("place", small))  # raises what a worker has sent as an error
        if any(state is None for state in found.values()):
            found = by_place(_in_rounds(kept, max(found) + 1, merge))
    finally:
        kept.unpersist()
    return reduce(merge, (cast("State", state) for state in found.values())) if found else None


def _in_rounds(states: DataFrame, places: int, merge: Callable[[State, State], State]) -> DataFrame:
    """The states of neighbours together, round by round, until few are left."""
    while places > AT_ONCE:
        places = -(-places // AT_ONCE)
        near = states.selectExpr(f"place div {AT_ONCE} as place", f"place % {AT_ONCE} as rank", "state")
        states = near.repartition(places, "place").mapInArrow(partial(_merged_here, merge), STATES)
    return states


def _merged_here(merge: Callable[[State, State], State], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: one row for each place, of its states in their order."""
    waiting: dict[int, dict[int, bytes]] = {}
    for batch in batches:
        for place, rank, state in zip(*(batch.column(k).to_pylist() for k in range(3)), strict=True):
            waiting.setdefault(place, {})[rank] = state
    for place in sorted(waiting):
        states = waiting.pop(place)
        yield as_row(place, reduce(merge, (cast("State", pickle.loads(states.pop(rank))) for rank in sorted(states))))
