"""What users say of columns that are not continuous, checked against the graph; what is asked for where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from halftrek.choices import ColumnKind
from halftrek.data import Moments, Patterns, RowReader
from halftrek.data.categories import Categories
from halftrek.data.layers import read_layer
from halftrek.data.ordered import in_order, ordered_columns
from halftrek.data.sources.sending import Spent
from halftrek.errors import DataError, InputError
from halftrek.graphs import Graph
from halftrek.words import did_you_mean

Kinds = Mapping[str, ColumnKind | Sequence[str]]


def read_kinds(chosen: Graph, data: object, given: Kinds | None) -> tuple[dict[str, ColumnKind], Categories]:
    """What each column is taken for, and the levels of those that are texts in an order.

    Columns that the data themselves call ordered are recognised; what a user says of a column comes first.
    """
    levels = {v: c for v, c in ordered_columns(data).items() if v in chosen.observed}
    found: dict[str, ColumnKind] = dict.fromkeys(levels, "ordered")
    for v, kind in _checked(chosen, given).items():
        if isinstance(kind, str):
            found[v] = kind
        else:
            levels[v], found[v] = in_order(v, tuple(map(str, kind))), "ordered"
    return {v: kind for v, kind in found.items() if kind != "plain"}, tuple(levels.values())


def _checked(chosen: Graph, given: Kinds | None) -> dict[str, ColumnKind | Sequence[str]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"kinds says what columns are, for instance kinds={{'y': 'ordered'}}, not {given!r}")
    for v, kind in given.items():
        if v not in chosen.observed:
            raise InputError(
                f"kinds names {v!r}, which is no variable of the graph.{did_you_mean(str(v), chosen.observed)}"
            )
        listed = isinstance(kind, list | tuple) and len(kind) > 1 and all(isinstance(x, str) for x in kind)
        if kind not in get_args(ColumnKind) and not listed:
            raise InputError(
                f"kinds: {v!r} is one of {', '.join(map(repr, get_args(ColumnKind)))}, or a list of its levels in "
                f"their order, the lowest first; not {kind!r}"
            )
    return dict(given)


def layered(
    chosen: Graph, read: Moments | Patterns, rows: RowReader | None, kinds: Mapping[str, ColumnKind]
) -> Moments:
    """The moments behind the columns; an error where a column causes something and nobody has said how."""
    if rows is None:
        raise DataError("kinds go with rows; moments and covariances do not say which categories their rows are in")
    if isinstance(rows.source, Spent):
        once = f"{rows.source.what} can be read only once"
        raise DataError(f"kinds need the rows twice, and {once}; pass a table or a file")
    found = read_layer(rows, read, kinds)
    assert found.layer is not None
    for v, margin in zip(found.layer.names, found.layer.margins, strict=True):
        if margin.kind == "ordered" and chosen.children(v):
            raise DataError(_say_what_acts(v, chosen.children(v)[0], len(margin.values)))
    return found


def _say_what_acts(cause: str, effect: str, values: int) -> str:
    count = "two values" if values == 2 else f"{values} values"
    return (
        f"{cause!r} has {count} and causes {effect!r}: say what acts. kinds={{{cause!r}: 'acts'}} if being in the "
        f"category is the cause, 'behind' if it is a cut of a continuous one."
    )


def refuse_with_kinds(**given: object) -> None:
    """Raise for options that have no meaning where variables behind columns have mean 0 and variance 1."""
    usual = {"method": "em", "noise": None, "intercepts": "free"}
    for name, value in given.items():
        if value != usual[name]:
            raise InputError(f"{name} cannot be used with kinds: leave it out")
