"""What users say of columns that are not continuous, checked against the graph; what is asked for where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind, Estimator
from halftrek.bottom.words import did_you_mean
from halftrek.data import Moments, Patterns, RowReader
from halftrek.data.columns.categories import Categories
from halftrek.data.columns.ordered import in_order, ordered_columns
from halftrek.data.sources.sending import Spent
from halftrek.errors import DataError, InputError, UnsaidKindError
from halftrek.estimation import Fitted
from halftrek.estimation.status import Code, Status
from halftrek.graphs import Graph
from halftrek.notes import note

Kinds = Mapping[str, ColumnKind | Sequence[str] | Mapping[ColumnKind, Sequence[str]]]


def read_kinds(chosen: Graph, data: object, given: Kinds | None) -> tuple[dict[str, ColumnKind], Categories]:
    """What each column is taken for, and the levels of those that are texts in an order.

    Columns that the data themselves call ordered are recognised; what a user says of a column comes first.
    """
    levels = {v: c for v, c in ordered_columns(data).items() if v in chosen.observed}
    found: dict[str, ColumnKind] = dict.fromkeys(levels, "ordered")
    for v, kind in _checked(chosen, given).items():
        found[v], order = kind
        if order:
            levels[v] = in_order(v, order)
    return {v: kind for v, kind in found.items() if kind != "plain"}, tuple(levels.values())


def _checked(chosen: Graph, given: Kinds | None) -> dict[str, tuple[ColumnKind, tuple[str, ...]]]:
    """What a user says of each column: its kind, and its levels in their order if these are said."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"kinds says what columns are, for instance kinds={{'y': 'ordered'}}, not {given!r}")
    found = {}
    for v, said in given.items():
        if v not in chosen.observed:
            raise InputError(
                f"kinds names {v!r}, which is no variable of the graph.{did_you_mean(str(v), chosen.observed)}"
            )
        kind, levels = next(iter(said.items())) if isinstance(said, Mapping) and len(said) == 1 else (said, ())
        if isinstance(kind, list | tuple):
            kind, levels = "ordered", kind
        order = tuple(map(str, levels))
        if kind not in get_args(ColumnKind) or len(order) == 1:
            raise InputError(
                f"kinds: {v!r} is one of {', '.join(map(repr, get_args(ColumnKind)))}, or a list of its levels in "
                f"their order, the lowest first, or both: {{'behind': ['low', 'high']}}; not {said!r}"
            )
        found[v] = cast("ColumnKind", kind), order
    return found


def without_given(chosen: Graph, kinds: Mapping[str, ColumnKind]) -> dict[str, ColumnKind]:
    """The kinds, without columns that act and have no cause, seen or hidden, where all others are plain.

    What such a column does to others is a plain regression: it is given, however it is distributed.
    """
    roots = {
        v: not chosen.parents(v) and not chosen.siblings(v) and not any(v in kids for kids in chosen.latents.values())
        for v in kinds
    }
    if all(kind == "acts" and roots[v] for v, kind in kinds.items()):
        return {}
    return dict(kinds)


def fit_where_acting(
    chosen: Graph,
    read: Moments | Patterns,
    rows: RowReader | None,
    kinds: Mapping[str, ColumnKind],
    levels: Categories = (),
) -> Fitted:
    """The fit of a model in which categories act."""
    from halftrek.data.layers import all_rows, labels_of
    from halftrek.estimation.acts.fit import fit_acting

    rows = read_twice(rows)
    for v, kind in kinds.items():
        if kind == "ordered" and chosen.children(v):
            raise _say_what_acts(v, chosen.children(v)[0], 0)
    data, rows = read.select(chosen.observed), rows.select(chosen.observed)
    moments = data.unrestricted.moments if isinstance(data, Patterns) else data  # of columns as they are, for tables
    block = all_rows(rows)
    _refuse_separation(chosen, block.values, kinds)
    sampling, texts = rows.sampling is not None, labels_of(levels)
    found = fit_acting(chosen, block.values, kinds, block.weights, block.cluster, texts, sampling=sampling)
    code: Code = "converged" if found.converged else "not converged"
    status = Status(code, (note("at the maximum" if found.converged else "steps ran out, acting"),))
    model, _ = found.at(chosen, found.theta)
    if isinstance(data, Patterns):
        found = replace(found, missing=data.sentence)
    return Fitted(chosen, moments, model, found.loglik, status, rows=rows, acting=found)


def _refuse_separation(chosen: Graph, values: Floats, kinds: Mapping[str, ColumnKind]) -> None:
    """Raise where one cause tells all categories of an outcome apart: the slope has no most likely value.

    A category that is a cause itself may follow a sharp rule: what it does is told by the rows on both sides.
    """
    from halftrek.layer.margins import CUT, tells_apart

    of = dict(zip(chosen.observed, values.T, strict=True))
    for v in (v for v, kind in kinds.items() if kind in CUT and not chosen.children(v)):
        for u in (u for u in chosen.parents(v) if u in of):
            seen = ~np.isnan(of[u]) & ~np.isnan(of[v])
            codes = np.unique(of[v][seen], return_inverse=True)[1].ravel()
            alone = np.bincount(codes).min(initial=2) < 2  # a category with one row is refused for that
            if not alone and tells_apart(of[u][seen], codes, touching=True):
                raise DataError(
                    f"{u!r} separates the categories of {v!r}: their rows nowhere overlap in it, so that the slope of "
                    f"{u!r} -> {v!r} runs off and no number is the most likely; merge categories, take more rows, or "
                    f"leave {u!r} out"
                )
    for v in (v for v, kind in kinds.items() if kind == "ranked"):
        for u in (u for u in chosen.parents(v) if kinds.get(u) == "acts"):
            seen = ~np.isnan(of[u]) & ~np.isnan(of[v])
            if tells_apart(of[v][seen], np.unique(of[u][seen], return_inverse=True)[1].ravel(), touching=True):
                raise DataError(
                    f"{v!r} is ranked and {u!r} acts on it, and their rows nowhere overlap: ranks do not say how far "
                    f"the categories of {u!r} are apart behind {v!r}, only that they are; say 'plain' of {v!r}, or "
                    f"merge categories"
                )


def layered(
    chosen: Graph,
    read: Moments | Patterns,
    rows: RowReader | None,
    kinds: Mapping[str, ColumnKind],
    levels: Categories = (),
    *,
    weighted: bool = False,
) -> Moments:
    """The moments behind the columns; an error where a column causes something and nobody has said how."""
    from halftrek.data.layers import read_layer

    found = read_layer(read_twice(rows), read, kinds, levels, spread=weighted)
    assert found.layer is not None
    for v, margin in zip(found.layer.names, found.layer.margins, strict=True):
        if margin.kind == "ordered" and chosen.children(v):
            raise _say_what_acts(v, chosen.children(v)[0], len(margin.values))
    return found


def read_twice(rows: RowReader | None) -> RowReader:
    """Rows that can be read a second time, which kinds need; others raise."""
    if rows is None:
        raise DataError("kinds go with rows; moments and covariances do not say which categories their rows are in")
    if isinstance(rows.source, Spent):
        once = f"{rows.source.what} can be read only once"
        raise DataError(f"kinds need the rows twice, and {once}; pass a table or a file")
    return rows


def _say_what_acts(cause: str, effect: str, values: int) -> UnsaidKindError:
    count = "two values" if values == 2 else f"{values or 'few'} values"
    return UnsaidKindError(
        f"{cause!r} has {count} and causes {effect!r}: say what acts. kinds={{{cause!r}: 'acts'}} if being in the "
        f"category is the cause, 'behind' if it is a cut of a continuous one.",
        cause,
    )


def refuse_with_kinds(**given: object) -> None:
    """Raise for options that have no meaning where variables behind columns have mean 0 and variance 1."""
    usual = {"method": "em", "intercepts": "free"}
    for name, value in given.items():
        if value != usual.get(name):
            raise InputError(f"{name} cannot be used with kinds: leave it out")


def refuse_estimator(estimator: str, kinds: Mapping[str, ColumnKind]) -> None:
    """Raise for an estimator that is not known, or not for these columns."""
    if estimator not in get_args(Estimator):
        raise InputError(f"estimator must be one of {', '.join(map(repr, get_args(Estimator)))}, not {estimator!r}")
    if estimator == "dwls" and (not kinds or "acts" in kinds.values()):
        raise InputError(
            'estimator="dwls" goes with columns that are ordered, ranked or behind, see kinds=; leave it out for others'
        )
