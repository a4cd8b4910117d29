"""Columns whose categories have an order that the data themselves say: categoricals of pandas, Enums of polars."""

from __future__ import annotations

from halftrek.data.columns.categories import PAIRS, Category


def ordered_columns(data: object) -> dict[str, Category]:
    """The ordered columns of a frame, by name; none of anything else.

    Yes and no, and their like, are 0 and 1 with or without an order, and not among them.
    """
    module = type(data).__module__.partition(".")[0]
    if module == "pandas" and hasattr(data, "dtypes") and hasattr(data, "columns"):
        types = dict(zip(map(str, data.columns), data.dtypes, strict=True))
        ordered = {v: kind.categories for v, kind in types.items() if getattr(kind, "ordered", None) is True}
    elif module == "polars" and hasattr(data, "collect_schema"):
        from polars.exceptions import PolarsError

        try:
            schema = data.collect_schema()
        except PolarsError:  # reading the rows will say what is wrong
            return {}
        ordered = {v: kind.categories for v, kind in schema.items() if type(kind).__name__ == "Enum"}
    else:
        return {}
    found = {v: tuple(_text(x) for x in levels) for v, levels in ordered.items()}
    return {v: in_order(v, levels) for v, levels in found.items() if len(levels) > 1 and not _truths(levels)}


def in_order(column: str, levels: tuple[str, ...]) -> Category:
    """A column of these levels, the lowest first."""
    return Category(column, levels[0], levels[1:], ordered=True)


def _text(level: object) -> str:
    return f"{level:.12g}" if isinstance(level, int | float) and not isinstance(level, bool) else str(level).strip()


def _truths(levels: tuple[str, ...]) -> bool:
    lower = {x.lower() for x in levels}
    return any(lower == set(pair) for pair in PAIRS)
