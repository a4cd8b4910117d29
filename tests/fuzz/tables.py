"""Odd tables at random: whatever a column may hold, in every container. They give a result or an error of ours."""

from __future__ import annotations

import datetime
import decimal
import fractions
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import halftrek as ht
from halftrek.errors import HalftrekError

Column = list[Any]
Random = np.random.Generator

ROWS = (0, 1, 2, 3, 12, 40)
NAMES = ("b", "B", " b", "b\n", "", "β", "b\0", "b\ud800", "b=1", "read", "shape", "columns", 'q"b', "b;c", "x" * 300)
NUMBERS = (0.0, -0.0, 1.0, 1e-320, 1e308, -1e308, np.inf, -np.inf, np.nan, 2.0**53, 1e16, 0.1)
WORDS = (
    "yes",
    "no",
    "",
    "NA",
    "1",
    "1,5",
    "1_000",
    "0x1f",
    "é",
    "north",
    "true",
    " 2 ",
    "nan",
    "inf",
    "1e999",
    "\ud800",
)
WHOLE = (0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400)
ODD: tuple[Any, ...] = (
    None,
    True,
    1j,
    b"yes",
    (),
    [],
    [1.0],
    {},
    {1},
    object,
    decimal.Decimal("1.5"),
    fractions.Fraction(1, 3),
)
DATES = (datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1), np.datetime64("nat"))


def plain(rng: Random, n: int) -> Column:
    return list(rng.standard_normal(n))


def chosen(values: tuple[Any, ...]) -> Callable[[Random, int], Column]:
    return lambda rng, n: [values[k] for k in rng.integers(0, len(values), n)]


def sprinkled(values: tuple[Any, ...]) -> Callable[[Random, int], Column]:
    """Numbers with one odd entry."""

    def column(rng: Random, n: int) -> Column:
        found = plain(rng, n)
        if n:
            found[int(rng.integers(n))] = values[int(rng.integers(len(values)))]
        return found

    return column


FILLINGS: dict[str, Callable[[Random, int], Column]] = {
    "plain": plain,
    "constant": lambda _, n: [3.0] * n,
    "nearly constant": lambda rng, n: list(1.7e18 + rng.integers(0, 900, n)),
    "stamps": lambda rng, n: [1_700_000_000_000_000_000 + int(k) for k in rng.integers(0, 900, n)],
    "huge": lambda rng, n: list(1e300 * rng.standard_normal(n)),
    "tiny": lambda rng, n: list(1e-300 * rng.standard_normal(n)),
    "truths": chosen((True, False)),
    "truths with holes": chosen((True, False, None)),
    "numbers": chosen(NUMBERS),
    "holes": chosen((1.0, 2.5, None)),
    "no value": chosen((None,)),
    "nan": chosen((np.nan,)),
    "whole": chosen(WHOLE[:5]),
    "long": chosen(WHOLE[:8]),
    "longest": chosen(WHOLE),
    "words": chosen(WORDS),
    "two words": chosen(("yes", "no")),
    "words and numbers": chosen((*WORDS, 1.0, 2)),
    "odd": chosen(ODD),
    "dates": chosen(DATES),
    "lists": chosen(([1.0], [2.0, 3.0], [])),
    "equal lists": chosen(([1.0, 2.0], [3.0, 4.0])),
    "records": chosen(({"u": 1}, {"u": 2.0})),
    "one number": sprinkled(NUMBERS),
    "one word": sprinkled(WORDS),
    "one whole": sprinkled(WHOLE),
    "one odd": sprinkled(ODD),
    "one date": sprinkled(DATES),
}


# -- containers ------------------------------------------------------------------------------------


def as_array(columns: dict[str, Column], _: Random) -> Any:
    return np.array([list(row) for row in zip(*columns.values(), strict=True)])


def as_objects(columns: dict[str, Column], _: Random) -> Any:
    found = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for k, column in enumerate(columns.values()):
        for i, x in enumerate(column):
            found[i, k] = x
    return found


def as_strided(columns: dict[str, Column], rng: Random) -> Any:
    return np.repeat(as_array(columns, rng), 2, axis=0)[::-2].astype(float)


def as_masked(columns: dict[str, Column], rng: Random) -> Any:
    values = as_array(columns, rng).astype(float)
    return np.ma.array(values, mask=rng.random(values.shape) < 0.2)


def as_masked_columns(columns: dict[str, Column], rng: Random) -> Any:
    return {v: np.ma.array(np.array(x), mask=rng.random(len(x)) < 0.2) for v, x in columns.items()}


def as_fields(columns: dict[str, Column], _: Random) -> Any:
    arrays = {v: np.array(x) for v, x in columns.items()}
    found = np.empty(len(next(iter(arrays.values()))), dtype=[(v, x.dtype, x.shape[1:]) for v, x in arrays.items()])
    for v, x in arrays.items():
        found[v] = x
    return found


def as_pandas(columns: dict[str, Column], rng: Random) -> Any:
    import pandas as pd

    frame = pd.DataFrame(columns)
    kind = int(rng.integers(6))
    if kind == 1:
        return frame.convert_dtypes()
    if kind == 2:
        return frame.convert_dtypes(dtype_backend="pyarrow")
    if kind == 3:
        return frame.astype("category")
    if kind == 4:
        frame.columns = [*frame.columns[:-1], frame.columns[0]]  # a name twice
    if kind == 5:
        frame.index = rng.integers(0, 3, len(frame))
    return frame


def as_polars(columns: dict[str, Column], rng: Random) -> Any:
    import polars as pl

    frame = pl.DataFrame(columns, strict=bool(rng.integers(2)))
    return frame.lazy() if rng.integers(2) else frame


def as_failing_query(columns: dict[str, Column], rng: Random) -> Any:
    import polars as pl

    frame = pl.LazyFrame(columns, strict=False)
    kinds = (pl.Int8, pl.Date, pl.Categorical, pl.Float32)
    return frame.with_columns(pl.all().cast(kinds[int(rng.integers(len(kinds)))]))


def as_arrow(columns: dict[str, Column], rng: Random) -> Any:
    import pyarrow as pa

    arrays = {v: pa.array(x) for v, x in columns.items()}
    if rng.integers(3) == 0:
        arrays = {v: x.dictionary_encode() for v, x in arrays.items()}
    table = pa.table(arrays)
    return (table, table.to_reader(), table.slice(1), pa.concat_tables([table, table]))[int(rng.integers(4))]


def as_relation(columns: dict[str, Column], _: Random) -> Any:
    import duckdb
    import pyarrow as pa

    return duckdb.connect().from_arrow(pa.table(columns))


def as_csv(columns: dict[str, Column], rng: Random) -> Any:
    sign = str(rng.choice([",", ";", "\t", "|"]))
    end = str(rng.choice(["\n", "\r\n", "\r"]))
    quoted = bool(rng.integers(2))

    def cell(x: Any) -> str:
        text = "" if x is None else str(x)
        return '"' + text.replace('"', '""') + '"' if quoted else text

    lines = [sign.join(map(cell, columns))]
    lines += [sign.join(map(cell, row)) for row in zip(*columns.values(), strict=True)]
    text = end.join(lines) + (end if rng.integers(2) else "")
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"], p=[0.7, 0.1, 0.1, 0.1]))
    return io.BytesIO(text.encode(encoding, "surrogatepass" if "utf" in encoding else "replace"))


CONTAINERS: dict[str, Callable[[dict[str, Column], Random], Any]] = {
    "dict": lambda columns, _: columns,
    "dict of arrays": lambda columns, _: {v: np.array(x) for v, x in columns.items()},
    "rows": lambda columns, _: [list(row) for row in zip(*columns.values(), strict=True)],
    "array": as_array,
    "array of objects": as_objects,
    "strided": as_strided,
    "masked": as_masked,
    "masked columns": as_masked_columns,
    "fields": as_fields,
    "pandas": as_pandas,
    "polars": as_polars,
    "polars query": as_failing_query,
    "arrow": as_arrow,
    "duckdb": as_relation,
    "csv": as_csv,
}


# -- the property ----------------------------------------------------------------------------------


def odd_tables(rng: Random, count: int) -> tuple[int, list[str]]:
    """Odd tables of every library are read and fitted, or refused in words."""
    kinds = [(container, filling) for container in CONTAINERS for filling in FILLINGS]
    tried, failures = 0, []
    while tried < count:
        for k in rng.permutation(len(kinds))[: count - tried]:
            seed = int(rng.integers(2**31))
            container, filling = kinds[k]
            for reader in ("moments", "fit", "groups"):
                wrong = failure(container, filling, seed, reader)
                if wrong:
                    failures.append(f"failure({container!r}, {filling!r}, {seed}, {reader!r}): {wrong}")
            tried += 1
    return tried, failures


def made(container: str, filling: str, seed: int) -> tuple[Any, list[str]] | None:
    """The table and its names; None where its own library refuses to make it."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice(ROWS))
    name = "b" if rng.random() < 0.7 else str(NAMES[int(rng.integers(len(NAMES)))])
    columns = {"a": plain(rng, n), name: FILLINGS[filling](rng, n), "g": [int(k) for k in rng.integers(0, 2, n)]}
    try:
        return CONTAINERS[container](columns, rng), list(columns)
    except Exception:  # not halftrek's
        return None


def failure(container: str, filling: str, seed: int, reader: str) -> str:
    """What is wrong with how one table is read; nothing if it gives a result or an error of ours."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = made(container, filling, seed)
        if table is None:
            return ""
        said.clear()
        try:
            wrong = READERS[reader](*table)
        except HalftrekError as error:
            wrong = "" if str(error).strip() else f"{type(error).__name__} without a word"
        except Exception as error:
            wrong = f"{type(error).__name__}: {str(error)[:200]}"
    foreign = [w for w in said if not issubclass(w.category, UserWarning)]
    return wrong or (f"{foreign[0].category.__name__}: {foreign[0].message}" if foreign else "")


def _moments(data: Any, names: list[str]) -> str:
    unnamed = isinstance(data, list) or (isinstance(data, np.ndarray) and data.dtype.names is None)
    found = ht.moments(data, names if unnamed else names[:2], missing="drop")
    return "" if np.isfinite(found.mean).all() and np.isfinite(found.cov).all() else "moments that are no numbers"


def _fit(data: Any, names: list[str]) -> str:
    answer = ht.fit(ht.Graph([(names[0], names[1])], observed=names), data).effect(names[0], names[1])
    silent = not np.isfinite(answer.value) and not answer.notes and not answer.warnings
    return f"{answer.value} without a word" if silent else ""


def _groups(data: Any, names: list[str]) -> str:
    unnamed = isinstance(data, list) or (isinstance(data, np.ndarray) and data.dtype.names is None)
    by: Any = [k % 2 for k in range(len(data))] if unnamed else "g"
    ht.fit(ht.Graph([(names[0], names[1])], observed=names if unnamed else names[:2]), data, by=by)
    return ""


READERS: dict[str, Callable[[Any, list[str]], str]] = {"moments": _moments, "fit": _fit, "groups": _groups}
