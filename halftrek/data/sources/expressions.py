"""What an engine is asked to make of a row: a column as numbers, holes, whole numbers, features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.data.summing.sums import Column, Features

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoLazyFrame


def expression(column: Column, schema: nw.Schema, *, nans: bool) -> nw.Expr:
    """A column as numbers; null for a hole, however it is written."""
    import narwhals as nw

    entry = nw.col(column.column)
    if column.numbers is not None:
        found = nw.lit(None, dtype=nw.Float64)
        for text, value in column.numbers.items():
            if value == value:
                found = nw.when(entry == text).then(nw.lit(float(value))).otherwise(found)
        return found
    kind = schema[column.column]
    if kind == nw.Boolean:
        known = nw.when(entry).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
        return nw.when(~entry.is_null()).then(known).otherwise(nw.lit(None, dtype=nw.Float64))
    number = entry.cast(nw.Float64)
    if not (nans and _may_be_nan(kind)):
        return number
    return nw.when(~number.is_nan()).then(number).otherwise(nw.lit(None, dtype=nw.Float64))


def readable(name: str, schema: nw.Schema) -> nw.Expr:
    """A column as it can be sent: PostgreSQL's decimals may have more digits than Arrow's, and may be no numbers."""
    import narwhals as nw

    column = nw.col(name)
    return column.cast(nw.Float64) if schema[name] == nw.Decimal else column


def with_features(frame: nw.LazyFrame[IntoLazyFrame], features: Features, p: int) -> nw.LazyFrame[IntoLazyFrame]:
    """The columns x0, x1, … (p of them), and after these the features."""
    import narwhals as nw

    turned = [
        sum((nw.col(f"x{i}") * float(share) for i, share in enumerate(line) if share), start=nw.lit(0.0))
        for line in features.turn
    ]
    frame = frame.with_columns(*(z.alias(f"z{k}") for k, z in enumerate(turned)))
    one = nw.col("z0") * 0.0 + 1.0  # the number alone would be a decimal of PostgreSQL
    root = nw.col("w").sqrt() if features.rooted else one
    z = [nw.col(f"z{k}") for k in range(len(turned))]
    found = [root, *(root * x for x in z), *(root * z[i] * z[j] for i, j in zip(*features.pairs, strict=True))]
    return frame.with_columns(*(x.alias(f"x{p + k}") for k, x in enumerate(found)))


def knows_nan(frame: nw.LazyFrame[IntoLazyFrame], schema: nw.Schema) -> bool:
    """Whether the engine can tell what is not a number; where it cannot (SQLite), such entries are null anyway."""
    import narwhals as nw

    floats = [v for v, kind in schema.items() if _may_be_nan(kind)]
    if not floats:
        return False
    if not nw.dependencies.is_ibis_table(frame.to_native()):
        return True
    try:
        frame.select(nw.col(floats[0]).cast(nw.Float64).is_nan()).head(1).collect("pyarrow")
    except Exception as error:
        if type(error).__name__ != "OperationNotDefinedError":
            raise
        return False
    return True


def _may_be_nan(kind: nw.dtypes.DType) -> bool:
    """Whether a column may hold what is not a number: floats, and decimals of PostgreSQL."""
    import narwhals as nw

    return bool(kind.is_float() or kind == nw.Decimal)


def one_if(condition: nw.Expr) -> nw.Expr:
    """1 where it holds, 0 elsewhere; PostgreSQL does not cast truth values to long integers."""
    import narwhals as nw

    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


def in_parts(number: nw.Expr) -> nw.Expr:
    """Whether a number is not whole; beyond 2^53 all are, and PostgreSQL rounds to long integers, which end there."""
    import narwhals as nw

    short = nw.when(number.abs() < 2.0**53).then(number).otherwise(nw.lit(0.0))
    return short != short.round(0)
