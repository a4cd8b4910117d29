"""What users say of columns that are not continuous, checked against the graph; what is asked for where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast, get_args

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
from halftrek.notes import Note, note

if TYPE_CHECKING:
    from halftrek.estimation.acts.fit import Acting
    from halftrek.layer import Layer

BORDER = 1e-3  # smallest eigenvalue of the correlations of errors that nearly determine each other
LITTLE = 0.03  # share of a variable that is left to its error where causes may tell its categories apart
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
    moments = _as_they_are(data)
    block = all_rows(rows)
    _refuse_separation(chosen, block.values, kinds)
    sampling, texts = rows.sampling is not None, labels_of(levels)
    found = fit_acting(chosen, block.values, kinds, block.weights, block.cluster, texts, sampling=sampling)
    _refuse_run_off(chosen, found)
    code: Code = "converged" if found.converged else "not converged"
    model, _ = found.at(chosen, found.theta)
    status = Status(code, (note("at the maximum") if found.converged else short_of_the_top(chosen.observed, model.W),))
    if isinstance(data, Patterns):
        found = replace(found, missing=data.sentence)
    return Fitted(chosen, moments, model, found.loglik, status, rows=rows, acting=found)


def _as_they_are(data: Moments | Patterns) -> Moments:
    """The moments of columns as they are, for tables, with how texts were read and what weights count."""
    if isinstance(data, Moments):
        return data
    return replace(data.unrestricted.moments, kinds=data.kinds, weighting=data.weighting)


def short_of_the_top(names: Sequence[str], errors: Floats) -> Note:
    """Why a climb ended: at errors that determine each other, or with its steps."""
    sd = np.sqrt(np.diag(errors))
    values, vectors = np.linalg.eigh(errors / np.outer(sd, sd))
    if values[0] > BORDER:
        return note("steps ran out, acting")
    far = [v for v, x in zip(names, vectors[:, 0], strict=True) if abs(x) > 0.1]
    return note("border, acting", variables=" and ".join(far))


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
                raise _separated(v, (u,))
    for v in (v for v, kind in kinds.items() if kind == "ranked"):
        for u in (u for u in chosen.parents(v) if kinds.get(u) == "acts"):
            seen = ~np.isnan(of[u]) & ~np.isnan(of[v])
            if tells_apart(of[v][seen], np.unique(of[u][seen], return_inverse=True)[1].ravel(), touching=True):
                raise DataError(
                    f"{v!r} is ranked and {u!r} acts on it, and their rows nowhere overlap: ranks do not say how far "
                    f"the categories of {u!r} are apart behind {v!r}, only that they are; say 'plain' of {v!r}, or "
                    f"merge categories"
                )


def _refuse_run_off(chosen: Graph, found: Acting) -> None:
    """The same for causes that tell categories apart together, which a fit tells whose slopes run off.

    A variable behind its column causes others as it is: how steep its equation is belongs to what it does.
    """
    causes: dict[str, dict[str, int]] = {}
    for u, kind, v, side in found.off:
        if kind == "->" and (not chosen.children(v) or found.margins[v].kind != "acts"):
            causes.setdefault(v, {})[u] = side
    for v, sides in causes.items():
        raise _separated(v, [u for u, side in sides.items() if side] or list(sides))


def _separated(v: str, causes: Sequence[str]) -> DataError:
    if len(causes) == 1:
        return DataError(
            f"{causes[0]!r} separates the categories of {v!r}: their rows nowhere overlap in it, so that the slope of "
            f"{causes[0]!r} -> {v!r} runs off and no number is the most likely; merge categories, take more rows, or "
            f"leave {causes[0]!r} out"
        )
    return DataError(
        f"{' and '.join(map(repr, causes))} together separate the categories of {v!r}: their rows nowhere overlap in a "
        f"sum of them, so that slopes run off and no numbers are the most likely; merge categories, take more rows, or "
        f"leave one of them out"
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

    rows = read_twice(rows)
    try:
        found = read_layer(rows, read, kinds, levels, spread=weighted)
    except DataError:
        _refuse_together(chosen, rows, kinds, None)
        raise
    assert found.layer is not None
    _refuse_together(chosen, rows, kinds, found.layer)
    for v, margin in zip(found.layer.names, found.layer.margins, strict=True):
        if margin.kind == "ordered" and chosen.children(v):
            raise _say_what_acts(v, chosen.children(v)[0], len(margin.values))
    return found


def _refuse_together(chosen: Graph, rows: RowReader, kinds: Mapping[str, ColumnKind], layer: Layer | None) -> None:
    """Raise where several causes together tell the categories of a column apart.

    The correlations then leave nearly nothing of it to be explained, or are none (no ``layer``).
    """
    for v in (v for v, kind in kinds.items() if kind in ("ordered", "behind")):
        causes = [u for u in chosen.parents(v) if kinds.get(u, "plain") in ("plain", "ranked") and u in rows.names]
        if len(causes) < 2 or (layer is not None and _left_over(layer, v, chosen.parents(v)) > LITTLE):
            continue
        from halftrek.data.layers import all_rows
        from halftrek.layer.margins import margin_of
        from halftrek.layer.separation import separation

        block = all_rows(rows).values[:, [rows.names.index(u) for u in (*causes, v)]]
        block = block[~np.isnan(block).any(axis=1)]
        if not len(block):
            continue
        ones = np.ones(len(block))
        X = [margin_of(x, ones, kinds.get(u, "plain")).behind(x) for u, x in zip(causes, block.T, strict=False)]
        told = separation(np.stack(X, axis=1), np.unique(block[:, -1], return_inverse=True)[1].ravel())
        if told is not None:
            sides = dict(zip(causes, told.slopes, strict=True))
            raise _separated(v, [u for u, side in sides.items() if side] or causes)


def _left_over(layer: Layer, v: str, causes: Sequence[str]) -> float:
    """The share of a variable behind its column that its causes leave unexplained."""
    at = [layer.names.index(u) for u in (v, *causes) if u in layer.names]
    R = layer.correlations[np.ix_(at, at)]
    return float(1.0 - R[0, 1:] @ np.linalg.solve(R[1:, 1:], R[0, 1:]))


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
