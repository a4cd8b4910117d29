"""Tables that an engine holds (Spark, Ibis and the databases behind it, Dask): it makes the sums, rows stay there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, cast

import numpy as np

from halftrek.bottom.arrays import Array, Flags, Floats
from halftrek.data.clusters import refuse_rounded_labels
from halftrek.data.columns.kinds import MOST, Kind, KindSearch, truth
from halftrek.data.sources.expressions import expression, in_parts, knows_nan, one_if, readable, with_features
from halftrek.data.sources.memory import PIECE, from_batches, objects
from halftrek.data.sources.source import Source
from halftrek.data.summing.accumulate import Block
from halftrek.data.summing.sums import Column, Request, Sums, about_means
from halftrek.data.weights import checked_weights
from halftrek.errors import DataError

if TYPE_CHECKING:
    import ibis
    import narwhals as nw
    import pyarrow as pa
    from narwhals.typing import IntoLazyFrame

Entry = float | Decimal | str | None  # of a column, as an engine has it

SAMPLE = 1_000  # rows that are looked at first, for a guess of the means and for columns of few values
WIDEST = 40  # columns up to which sums of products are written out: 860 of them; PostgreSQL takes 1,664 at most
LINES = 8_000_000  # numbers in the sums that an engine sends; with more patterns of holes its rows are read instead
BITS = 30  # holes in one number of a pattern's name


def from_lazy(table: object) -> Source | None:
    """A table that narwhals knows and that its engine computes when it is asked; None for anything else."""
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True)
    return _from_lazy(frame) if isinstance(frame, nw.LazyFrame) else None


def _from_lazy(frame: nw.LazyFrame[IntoLazyFrame]) -> Source:
    import narwhals as nw

    schema = frame.collect_schema()
    _refuse_capitals(frame, schema.names())
    texts = frozenset(v for v, kind in schema.items() if kind in (nw.String, nw.Categorical, nw.Enum))
    refused = {
        v: f"holds dates or times ({kind}), not numbers" if kind.is_temporal() else f"holds {kind} values, not numbers"
        for v, kind in schema.items()
        if not (kind.is_numeric() or kind == nw.Boolean) and v not in texts
    }
    truths = {v: truth(v) for v, kind in schema.items() if kind == nw.Boolean}

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        kinds, batches = batches_of(frame.select(*(readable(v, schema) for v in wanted)))
        yield from from_batches(kinds, batches).blocks(wanted)

    def labels(name: str) -> Iterator[Array]:
        for batch in batches_of(frame.select(readable(name, schema)))[1]:
            yield objects(batch.column(0).to_pylist())

    def chosen(labels: Mapping[str, object]) -> object:
        return frame.filter(*(readable(v, schema) == label for v, label in labels.items())).to_native()

    def values(name: str, most: int) -> list[Hashable]:
        return list(collected(frame.select(name).unique(name).head(most)).column(0).to_pylist())

    return Source(
        tuple(schema.names()), blocks, refused, labels=labels, texts=texts, codings=truths, values=values,
        sums=lambda request: pushed_sums(frame, request), widest=WIDEST, where=chosen,
    )  # fmt: skip


def batches_of(frame: nw.LazyFrame[IntoLazyFrame]) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Schema and batches of rows, piece by piece where the engine can."""
    native = cast("ibis.Table", frame.to_native())
    if hasattr(native, "to_pyarrow_batches"):  # it is Ibis indeed
        return native.schema().to_pyarrow(), native.to_pyarrow_batches(chunk_size=PIECE)
    table = collected(frame)
    return table.schema, table.to_batches()


def collected(frame: nw.LazyFrame[IntoLazyFrame]) -> pa.Table:
    """The rows of a small result, as an Arrow table."""
    return frame.collect("pyarrow").to_native()


def pushed_sums(frame: nw.LazyFrame[IntoLazyFrame], request: Request) -> Sums | None:
    """The sums, by one query; by a second where the guess of the means proves to be far off.

    None where there are too many patterns of holes: whoever reads the rows keeps what can be kept, and says so. None
    too where a product is too large for an engine that stops there (PostgreSQL): whoever reads the rows names it.
    """
    try:
        return _pushed_sums(frame, request)
    except Exception as error:
        if type(error).__name__ != "NumericValueOutOfRange":
            raise
        return None


def _pushed_sums(frame: nw.LazyFrame[IntoLazyFrame], request: Request) -> Sums | None:
    columns = request.columns
    schema = frame.collect_schema()
    nans = knows_nan(frame, schema)
    _refuse_texts(frame, [c.column for c in columns if schema[c.column].is_numeric()])
    if request.features is not None:  # the means are known, and nobody asks for the kinds
        summed = _queried(frame, request, request.features.origin, schema, nans=nans, about_group=False)
        return None if summed is None else summed[0]
    sample = collected(frame.select(*(readable(v, schema) for v in request.read)).head(SAMPLE))
    entries = {v: sample.column(v).to_pylist() for v in request.read}
    guess = np.array([_guess([_number(x, c) for x in entries[c.column]]) for c in columns])
    first = _queried(frame, request, guess, schema, nans=nans, about_group=False)
    if first is None:
        return None
    found, near = first
    if not near:
        total = np.maximum((found.n[:, None] * found.observed).sum(axis=0), 1e-300)
        better = guess + (found.n[:, None] * np.where(found.observed, found.mean, 0.0)).sum(axis=0) / total
        again = _queried(frame, request, better, schema, nans=nans, about_group=bool(request.by))
        if again is None:  # the table grows meanwhile
            return None
        found, _ = again
    if (given := request.weights) is not None:  # rows of weight zero do not count
        used = [x is not None and float(x) > 0.0 for x in entries[given]]
        entries = {v: [x for x, keep in zip(column, used, strict=True) if keep] for v, column in entries.items()}
        frame = frame.filter(expression(Column(given, given), schema, nans=False) > 0.0)
    return replace(found, kinds=_kinds(frame, request, entries, nans=nans))


def _is_sqlite(frame: nw.LazyFrame[IntoLazyFrame]) -> bool:
    import narwhals as nw

    native = cast("ibis.Table", frame.to_native())
    return bool(nw.dependencies.is_ibis_table(native)) and native.get_backend().name == "sqlite"


def _refuse_capitals(frame: nw.LazyFrame[IntoLazyFrame], names: Sequence[str]) -> None:
    """Raise for columns x and X of SQLite, which would give the one for the other."""
    first: dict[str, str] = {}
    for v in names if _is_sqlite(frame) else ():
        if (other := first.setdefault(v.lower(), v)) != v:
            raise DataError(f"the columns {other!r} and {v!r} are one name to SQLite; rename one of them")


def _refuse_texts(frame: nw.LazyFrame[IntoLazyFrame], numeric: Sequence[str]) -> None:
    """Raise for texts in SQLite's columns of numbers, of which it would make zeros."""
    if not (numeric and _is_sqlite(frame)):
        return
    native = cast("ibis.Table", frame.to_native())
    odd = [(native[v].typeof() == "text").ifelse(1, 0).sum().name(f"t{k}") for k, v in enumerate(numeric)]
    for v, texts in zip(numeric, native.aggregate(odd).to_pyarrow().to_pylist()[0].values(), strict=True):
        if texts:
            raise DataError(f"column {v!r} holds texts in {texts} rows, where it should hold numbers; make them null")


def _number(entry: Entry, column: Column) -> float:
    """An entry as a number, nan for a hole."""
    if column.numbers is not None:
        return float(column.numbers.get(entry, np.nan))
    return np.nan if entry is None else float(entry)


def _guess(values: list[float]) -> float:
    known = np.array(values)[np.isfinite(values)] if values else np.zeros(0)
    return float(known.mean()) if len(known) else 0.0


def _queried(
    frame: nw.LazyFrame[IntoLazyFrame],
    request: Request,
    shift: Floats,
    schema: nw.Schema,
    *,
    nans: bool,
    about_group: bool,
) -> tuple[Sums, bool] | None:
    """The sums about a shift (and about the mean of each group, if need be), and whether it was near enough.

    None where there are too many patterns; groups are as many as there are.
    """
    import narwhals as nw

    p = request.width
    centred = [expression(c, schema, nans=nans) - float(s) for c, s in zip(request.columns, shift, strict=True)]
    given = request.weights
    weight = None if given is None else expression(Column(given, given), schema, nans=False)
    made = frame.select(
        *(readable(v, schema).alias(f"k{i}") for i, v in enumerate(request.by)),
        *(x.alias(f"x{i}") for i, x in enumerate(centred)),
        *(() if weight is None else (weight.alias("w"),)),
    )
    if request.features is not None:
        shift = np.concatenate([shift, np.zeros(len(request.features))])
        made = with_features(made, request.features, len(request.columns))
    keys = [f"k{i}" for i in range(len(request.by))]
    if about_group:
        means = [nw.col(f"x{i}").mean().over(*keys).alias(f"m{i}") for i in range(p)]
        made = made.with_columns(*means).with_columns(
            *((nw.col(f"x{i}") - nw.col(f"m{i}")).alias(f"x{i}") for i in range(p))
        )
    flags = [one_if(nw.col(f"x{i}").is_null()) for i in range(p)]
    for start in range(0, p, BITS):
        name = sum((flag * (1 << i) for i, flag in enumerate(flags[start : start + BITS])), start=nw.lit(0))
        made = made.with_columns(name.alias(f"h{start // BITS}"))
        keys.append(f"h{start // BITS}")
    values = [nw.col(f"x{i}").fill_null(0.0) for i in range(p)]
    scaled = values if weight is None else [nw.col("w") * x for x in values]
    outputs = [nw.len().alias("rows")]
    if weight is not None:
        w = nw.col("w")
        part = nw.when(in_parts(w)).then(w).otherwise(nw.lit(0.0))
        made = made.with_columns(
            one_if(w > 0.0).alias("used"), w.alias("n"), (w * w).alias("squared"), w.alias("least"),
            one_if(w.is_null()).alias("lost"), part.alias("part"),
        )  # fmt: skip
        outputs += [nw.col(v).sum().alias(v) for v in ("used", "n", "squared", "lost")]
        outputs += [nw.col("least").min().alias("least"), nw.col("part").max().alias("part")]
    if about_group:
        outputs += [nw.col(f"m{i}").max().alias(f"m{i}") for i in range(p)]
    pairs = request.pairs
    made = made.with_columns(
        *(x.alias(f"s{i}") for i, x in enumerate(scaled)),
        *((scaled[i] * values[j]).alias(f"p{i}_{j}") for i, j in pairs),
    )
    outputs += [nw.col(f"s{i}").sum().alias(f"s{i}") for i in range(p)]
    outputs += [nw.col(f"p{i}_{j}").sum().alias(f"p{i}_{j}") for i, j in pairs]
    lines, most = made.group_by(*keys).agg(*outputs), LINES // len(outputs)
    table = collected(lines if request.by else lines.head(most + 1))
    if not request.by and table.num_rows > most:
        return None
    return _lines(table, request, shift, about_group=about_group)


def _lines(table: pa.Table, request: Request, shift: Floats, *, about_group: bool) -> tuple[Sums, bool]:
    p, k = request.width, table.num_rows

    def numbers(name: str) -> Floats:
        return np.asarray(table.column(name).to_numpy(), dtype=np.float64)

    rows = numbers("rows")
    if request.weights is not None and k:
        lost = [np.nan] if numbers("lost").any() else []
        extremes = np.array([*lost, numbers("least").min(), numbers("part").max(), numbers("n").max()])
        checked_weights(extremes, request.weights, sampling=request.sampling)
    used, n, squared = (rows, rows, rows) if request.weights is None else map(numbers, ("used", "n", "squared"))
    observed = _flags([table.column(f"h{i}").to_pylist() for i in range(-(-p // BITS))], p)
    first = np.stack([numbers(f"s{i}") for i in range(p)], axis=1) if k else np.zeros((0, p))
    pairs = request.pairs
    second = np.zeros((k, p, p))
    for i, j in pairs:
        second[:, i, j] = second[:, j, i] = numbers(f"p{i}_{j}")
    _refuse_infinite(request.names, first, second)
    mean, squares, near = about_means(first, second, n)
    if about_group and k:
        mean = mean + np.where(observed, np.stack([numbers(f"m{i}") for i in range(p)], axis=1), 0.0)
    for i, label in enumerate(request.by):
        found = table.column(f"k{i}").to_pylist()
        if any(x is None or x != x for x in found):
            raise DataError(f"the column {label!r} is missing in some rows; fill it, or leave such rows out")
        refuse_rounded_labels(f"the labels in {label!r}", [x for x in found if isinstance(x, float)])
    labels = list(zip(*(table.column(f"k{i}").to_pylist() for i in range(len(request.by))), strict=True)) or [()] * k
    kept = used > 0
    return Sums(
        tuple(label for label, keep in zip(labels, kept, strict=True) if keep),
        observed[kept],
        used[kept].astype(np.int64),
        n[kept],
        squared[kept],
        shift,
        mean[kept],
        squares[kept],
        int((rows - used).sum()),
    ), near


def _flags(names: list[list[int]], p: int) -> Flags:
    """Which columns are there, from the numbers that name a pattern."""
    k = len(names[0])
    observed = np.ones((k, p), dtype=bool)
    for start, part in enumerate(names):
        number = np.array(part, dtype=np.int64)
        for i in range(min(BITS, p - start * BITS)):
            observed[:, start * BITS + i] = (number >> i) & 1 == 0
    return observed


def _refuse_infinite(names: Sequence[str], first: Floats, second: Floats) -> None:
    for k, name in enumerate(names):
        if not np.isfinite(first[:, k]).all():
            raise DataError(f"column {name!r} holds an infinite value; remove or replace it before reading")
        if not np.isfinite(second[:, k, k]).all():
            raise DataError(f"the values of {name!r} are too large to be squared; divide the column by its scale")


def _kinds(
    frame: nw.LazyFrame[IntoLazyFrame], request: Request, entries: Mapping[str, Sequence[Entry]], *, nans: bool
) -> tuple[Kind, ...]:
    """What kind of numbers the columns hold: a column of many values in the sample has many in all."""
    found = []
    for column in request.columns:
        values = [_number(x, column) for x in entries[column.column]]
        search = KindSearch(1)
        search.add([np.array(values, dtype=np.float64)])
        (kind,) = search.kinds([None])
        if column.numbers is not None:
            known = sorted({v for v in column.numbers.values() if v == v})
            kind = Kind(tuple(known), True, min(known, default=None))
        elif kind.values is not None or kind.whole:
            kind = _whole_kind(frame, column, kind, nans=nans)
        found.append(kind)
    return tuple(found)


def _whole_kind(frame: nw.LazyFrame[IntoLazyFrame], column: Column, kind: Kind, *, nans: bool) -> Kind:
    """The kind of all rows of a column, of which a sample has few values or whole numbers only."""
    import narwhals as nw

    number = expression(column, frame.collect_schema(), nans=nans)
    if kind.values is not None:
        distinct = collected(frame.select(number.alias("v")).unique("v").head(MOST + 3)).column(0).to_pylist()
        values = sorted({float(x) for x in distinct if x is not None and x == x})
        if len(values) <= MOST:
            whole = all(v.is_integer() for v in values)
            return Kind(tuple(values), whole, min(values) if whole and values else None)
    if not kind.whole:
        return Kind()
    found = collected(
        frame.select(one_if(in_parts(number)).alias("part"), number.alias("least")).select(
            nw.col("part").sum(), nw.col("least").min()
        )
    )
    whole = found.column("part")[0].as_py() == 0
    return Kind(None, whole, float(found.column("least")[0].as_py()) if whole else None)
