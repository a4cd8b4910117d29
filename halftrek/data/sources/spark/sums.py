"""Sums of few columns by Spark's own expressions: quick and plain; whatever is not plain is left to its workers.

Plain are complete rows whose sums about zero keep their digits. The same job finds out whether the rows are so, and by
the first rows of each partition which columns hold measured numbers; of others one more job finds out all values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

import numpy as np

from halftrek.bottom.arrays import Array
from halftrek.data.columns.kinds import MOST, Kind
from halftrek.data.sources.spark.jobs import STATES, as_row, fetched, own_place
from halftrek.data.summing.sums import Request, Sums, about_means

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

FEW = 12  # columns up to which expressions are quicker than workers (benchmarks/spark.py); Java compiles each anew
SAMPLE = 1_000  # rows of each partition that are looked at for the kind of a column
SMALL = 32  # whole numbers below have a bit each in the map of a column's values; all others share as many

Table = Mapping[str, Array]


def quick_sums(frame: DataFrame, request: Request) -> Sums | None:
    """The sums by one query; None where the workers should make them."""
    p = len(request.columns)
    if p > FEW or any(c.numbers is not None for c in request.columns):
        return None
    keys = [f"k{i}" for i in range(len(request.by))]
    made, weighted = frame.selectExpr(*_columns(request)), request.weights is not None

    def table_of(outputs: Sequence[str], keys: Sequence[str]) -> Table | None:
        summed = made.groupBy(*keys).agg(*(expression(frame, text) for text in outputs))
        return _joined([cast("Table", part) for part in fetched(summed.mapInArrow(_packed, STATES))])

    outputs = _outputs(p, weighted=weighted, sampling=request.sampling)
    table = table_of([*outputs, *_kind_outputs(range(p), weighted=weighted, rows=f"at < {SAMPLE}")], keys)
    sums = None if table is None else _read(table, request)
    if table is None or sums is None:
        return None
    measured = [_kind_of(table, i) == Kind() for i in range(p)]
    rest = [i for i in range(p) if not measured[i]]
    seen = table_of(_kind_outputs(rest, weighted=weighted), ()) if rest else {}
    if seen is None:
        return None
    kinds = [Kind() if measured[i] else _kind_of(seen, i) for i in range(p)]
    known = tuple(kind for kind in kinds if kind is not None)
    return replace(sums, kinds=known) if len(known) == p else None


def quoted(name: str) -> str:
    """A column's name as SQL takes it."""
    return "`" + name.replace("`", "``") + "`"


def expression(frame: DataFrame, text: str) -> Column:
    """The expression as the frame's own side knows it: Connect has a module of its own."""
    connect = type(frame).__module__.startswith("pyspark.sql.connect")
    found: Column = import_module(f"pyspark.sql.{'connect.' if connect else ''}functions").expr(text)
    return found


def _columns(request: Request) -> list[str]:
    """Labels, numbers (null for a hole, however it is written) and weights under short names."""
    columns = [f"{quoted(v)} as k{i}" for i, v in enumerate(request.by)]
    columns += [f"nanvl(cast({quoted(c.column)} as double), null) as x{i}" for i, c in enumerate(request.columns)]
    columns += [] if request.weights is None else [f"cast({quoted(request.weights)} as double) as w"]
    return [*columns, f"monotonically_increasing_id() & {2**33 - 1} as at"]  # the place of a row in its partition


def _outputs(p: int, *, weighted: bool, sampling: bool) -> list[str]:
    used, times = ("w > 0", "w * ") if weighted else ("true", "")
    any_hole = " or ".join(f"x{i} is null" for i in range(p))
    found = ["count(*) as rows", f"count_if({used}) as used", f"count_if({used} and ({any_hole})) as holes"]
    if weighted:
        whole = "" if sampling else " or w <> rint(w)"
        found += ["sum(w) as n", "sum(w * w) as squared"]
        found += [f"count_if(w is null or isnan(w) or w < 0 or w = double('infinity'){whole}) as bad"]
    found += [f"sum({times}x{i}) as s{i}" for i in range(p)]
    found += [f"sum({times}x{i} * x{j}) as p{i}_{j}" for i in range(p) for j in range(i + 1)]
    return found


def _kind_outputs(columns: Iterable[int], *, weighted: bool, rows: str = "true") -> list[str]:
    """What tells the kinds of columns: a map of values, whether some are not whole, and the least; of some rows."""
    some, found = f"{rows} and w > 0" if weighted else rows, []
    for i in columns:
        x = f"(case when {some} then x{i} end)"
        small = f"{x} = rint({x}) and {x} between 0 and {SMALL - 1}"
        bit = f"case when {small} then cast({x} as int) else {SMALL} + pmod(hash({x}), {SMALL}) end"
        found += [f"bit_or(case when {x} is not null then shiftleft(1L, {bit}) end) as b{i}"]
        found += [f"coalesce(max({x} <> rint({x})), false) as f{i}", f"min({x}) as l{i}"]
    return found


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: a table of sums as one row; labels as Python has them, the rest as arrays."""
    import pyarrow as pa

    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    found = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        found[name] = column.to_pylist() if name.startswith("k") else np.array(column.to_pylist(), dtype=_kind(name))
    yield as_row(own_place(), found)


def _kind(name: str) -> type:
    return object if name.startswith("b") and name != "bad" else float


def _joined(parts: Sequence[Mapping[str, Array]]) -> Table | None:
    if not parts:
        return None
    return {name: np.concatenate([_listed(part[name]) for part in parts]) for name in parts[0]}


def _listed(entries: Sequence[object] | Array) -> Array:
    if isinstance(entries, np.ndarray):
        return entries
    found = np.empty(len(entries), dtype=object)
    found[:] = entries
    return found


def _read(table: Table, request: Request) -> Sums | None:
    """The sums, if all rows proved to be plain."""
    p, weighted = len(request.columns), request.weights is not None
    labels = list(zip(*(table[f"k{i}"].tolist() for i in range(len(request.by))), strict=True))
    if any(x is None or x != x for line in labels for x in line):
        return None
    if table["holes"].any() or (weighted and np.nan_to_num(table["bad"], nan=1.0).any()):
        return None
    used = table["used"]
    n, squared = (table["n"], table["squared"]) if weighted else (used, used)
    kept = used > 0
    first = np.stack([table[f"s{i}"] for i in range(p)], axis=1)[kept]
    second = np.zeros((len(first), p, p))
    for i in range(p):
        for j in range(i + 1):
            second[:, i, j] = second[:, j, i] = table[f"p{i}_{j}"][kept]
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return None
    mean, squares, near = about_means(first, second, n[kept])
    if not near:
        return None
    names = labels if request.by else [()] * len(used)
    return Sums(
        tuple(name for name, keep in zip(names, kept, strict=True) if keep), np.ones((len(first), p), dtype=bool),
        used[kept].astype(np.int64), n[kept], squared[kept], np.zeros(p), mean, squares,
        int((table["rows"] - used).sum()),
    )  # fmt: skip


def _kind_of(table: Table, i: int) -> Kind | None:
    """The kind of a column by the map of its values; None if they may be few, and the map does not tell which."""
    together = 0
    for bits in table[f"b{i}"].tolist():
        together |= 0 if bits is None else int(bits) & (2**64 - 1)
    small, others = together & (2**SMALL - 1), together >> SMALL
    parts, least = np.asarray(table[f"f{i}"], dtype=float), np.asarray(table[f"l{i}"], dtype=float)
    whole = not parts.any()
    lowest = float(np.nanmin(least)) if whole and np.isfinite(least).any() else None
    if small.bit_count() + others.bit_count() > MOST:
        return Kind(None, whole, lowest)
    if others:
        return None
    return Kind(tuple(float(k) for k in range(SMALL) if small >> k & 1), whole, lowest)
