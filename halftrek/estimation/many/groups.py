"""One model for each group of rows: complete groups in one array program, groups with holes by full information.

Groups in whose columns normal variables are behind categories, or categories act, are fitted one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypedDict, Unpack

import numpy as np

from halftrek.bottom.arrays import Flags, Ints
from halftrek.bottom.choices import Intercepts, Noise
from halftrek.bottom.portable import Portable
from halftrek.bottom.progress import late_bar
from halftrek.data import RowReader
from halftrek.data.by_group.groups import GroupMoments, rows_by_group
from halftrek.data.check import flat
from halftrek.errors import DataError, UnsaidKindError
from halftrek.estimation.fit import FEW_ROWS, MAX_ITER, Fitted, fit
from halftrek.estimation.given.options import Options, needs_whole, resolve_options, with_coefficients
from halftrek.estimation.many.batch import BatchFit, fit_batch, joined
from halftrek.graphs import Graph
from halftrek.layer import Margin
from halftrek.upward import Faces

PIECE = 10_000  # groups that are fitted at a time, to bound memory; more ...
NUMBERS = 1_000_000  # ... as long as their moments are not more numbers than this


class Fitting(TypedDict):
    """What the fits of all groups are told."""

    noise: Noise
    intercepts: Intercepts
    starts: int | None
    max_iter: int


@dataclass(frozen=True, eq=False, repr=False)
class FittedGroups(Portable, Faces):
    """Fitted models by group as a value; ``halftrek.results.GroupFits`` is the same with all that can be asked of it.

    ``alone`` are the fits of groups that have their own: for missing values, for kinds of columns, or because hidden
    variables have causes, or variances or intercepts are equal. ``failed`` is what stood against a group. Both by
    places.
    """

    graph: Graph
    groups: GroupMoments
    batch: BatchFit
    options: Options
    starts: int | None = None
    max_iter: int = MAX_ITER
    frame: str = ""
    rows: RowReader | None = None  # all rows, with the group of each
    alone: Mapping[int, Fitted] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)
    clusters_left_out: bool = False  # by saving: rows were in clusters, and the file has none

    @property
    def clustered(self) -> bool:
        """Whether rows are in clusters."""
        return self.clusters_left_out or (self.rows is not None and self.rows.cluster is not None)

    @property
    def with_kinds(self) -> bool:
        """Whether columns are in categories or ranked, so that each group is asked by its own fit."""
        return any(one.moments.layer is not None or one.acting is not None for one in self.alone.values())

    @property
    def keys(self) -> tuple[Any, ...]:
        """The labels of the groups: tuples where several columns say the group."""
        return self.groups.keys

    @cached_property
    def status(self) -> tuple[str, ...]:
        """How the fit of each group ended, and why one could not be fitted."""
        return tuple(
            f"failed: {self.why_not(i)}" if code == "failed" else str(code) for i, code in enumerate(self.batch.code)
        )

    @property
    def fitted(self) -> Ints:
        """Places of the groups that could be fitted."""
        return np.flatnonzero(self.batch.code != "failed")

    @property
    def left_out(self) -> str:
        """How many rows were left out because of missing values; empty if none."""
        rows = int(self.groups.dropped.sum())
        return f"{rows:,} row{'' if rows == 1 else 's'} with missing values left out" if rows else ""

    def why_not(self, i: int) -> str:
        """What stood against a group."""
        return self.failed.get(i) or _why_not(self.groups, i)

    @cached_property
    def place(self) -> dict[object, int]:
        """Where each group stands."""
        return {key: i for i, key in enumerate(self.keys)}

    @cached_property
    def _rows(self) -> Mapping[Hashable, RowReader]:
        return {} if self.rows is None else rows_by_group(self.rows, self.groups)

    @cached_property
    def lacking(self) -> dict[int, list[tuple[str, float]]]:
        """The categories that a group has no row of and others have, by its place: column and value."""
        own = {i: {v: set(m.values.tolist()) for v, m in _in_categories(one)} for i, one in self.alone.items()}
        every: dict[str, set[float]] = {}
        for by_column in own.values():
            for v, values in by_column.items():
                every.setdefault(v, set()).update(values)
        found = {i: [(v, x) for v in every for x in sorted(every[v] - by[v])] for i, by in own.items()}
        return {i: missing for i, missing in found.items() if missing}

    def one(self, key: object) -> Fitted:
        """The fit of one group."""
        i = self.place.get(key, self.place.get((key,)) if len(self.groups.by) == 1 else None)
        if i is None:
            shown = ", ".join(map(repr, self.keys[:6])) + (", ..." if len(self) > 6 else "")
            raise DataError(f"there is no group {key!r}; groups are {shown}")
        if self.batch.code[i] == "failed":
            raise DataError(f"group {key!r} could not be fitted: {self.why_not(i)}")
        if i in self.alone:
            return self._with_rows(self.alone[i], i)
        names = self.batch.names
        start = {(u, v): float(self.batch.T[i, names.index(u), names.index(v)]) for u, v in self.graph.directed}
        found = fit(
            self.graph,
            self.groups[i],
            noise=dict(self.options.noise),
            intercepts=dict(self.options.intercepts),
            starts=self.starts,
            max_iter=self.max_iter,
            start=start,
        )
        return self._with_rows(found, i)

    def _with_rows(self, found: Fitted, i: int) -> Fitted:
        lost = self.clusters_left_out
        rows = self._rows.get(self.keys[i])
        return replace(found, frame=self.frame, rows=rows, rows_left_out=lost, clusters_left_out=lost)

    def __contains__(self, key: object) -> bool:
        return key in self.place

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        good, all_of_them = int(self.batch.converged.sum()), len(self)
        failed = all_of_them - len(self.fitted)
        counts = [f"{all_of_them} groups: {good} converged", f"{failed} could not be fitted"]
        incomplete = len(set(self.alone) & set(self.groups.patterns))
        if incomplete:
            counts.append(f"{incomplete} with missing values")
        return f"<GroupFits of {', '.join([*counts, *([self.left_out] if self.left_out else [])])}>"


def fit_groups(
    graph: Graph,
    groups: GroupMoments,
    *,
    noise: Noise = "free",
    intercepts: Intercepts = "free",
    coefficients: Mapping[str, float | str] | None = None,
    starts: int | None = None,
    max_iter: int = MAX_ITER,
    frame: str = "",
    each: Callable[[int], Fitted] | None = None,
) -> FittedGroups:
    """Fitted a graph to what every group has, in the order of ``graph.observed``; each may fail alone.

    ``each`` fits the group at a place on its own, where moments do not say all of its rows.
    """
    if coefficients:
        graph = with_coefficients(graph, coefficients)
    options = resolve_options(graph.opened, noise, intercepts)
    whole = needs_whole(graph)  # such graphs are not fitted in one program
    own = groups.patterns if each is None and not whole else range(len(groups))
    each = each or partial(_alone, graph, groups, noise=noise, intercepts=intercepts, starts=starts, max_iter=max_iter)
    alone: dict[int, Fitted] = {}
    failed = dict(groups.troubles)
    if whole:
        batch = _empty(graph, len(groups))
    else:
        batch = _together(graph, groups, own, noise=noise, intercepts=intercepts, starts=starts, max_iter=max_iter)
    with late_bar("groups") as advance:
        for done, i in enumerate(own, 1):
            if i not in groups.troubles:
                try:
                    alone[i] = each(i)
                except UnsaidKindError:
                    raise  # of all groups
                except DataError as error:
                    failed[i] = str(error)
            advance(done, len(own))
    return FittedGroups(
        graph, groups, placed(batch, alone), options, starts, max_iter, frame, alone=alone, failed=failed
    )


def _together(graph: Graph, groups: GroupMoments, own: Collection[int], **options: Unpack[Fitting]) -> BatchFit:
    """All groups in one program, but for those that are fitted on their own."""
    unusable = np.asarray(constant_columns(groups).any(axis=1))
    unusable[[*own, *groups.troubles]] = True
    cov = np.where(unusable[:, None, None], 0.0, groups.cov) if unusable.any() else groups.cov
    size = max(PIECE, NUMBERS // len(graph) ** 2)  # the slowest group of a piece takes as long however many there are
    parts: list[BatchFit] = []
    few = groups.n < FEW_ROWS  # these are fitted from several starts, as each would be alone
    order = np.argsort(~few, kind="stable")
    cuts = [*range(0, int(few.sum()), size), *range(int(few.sum()), len(groups), size), len(groups)]
    with late_bar("groups") as advance:
        for first, last in pairwise(cuts):
            some = order[first:last]
            found = fit_batch(
                graph, cov=cov[some], mean=groups.mean[some], n=groups.n[some], few_rows=bool(few[some].all()),
                **options,
            )  # fmt: skip
            parts.append(found)
            advance(last, len(groups))
    return joined(parts).take(np.argsort(order))


def _alone(graph: Graph, groups: GroupMoments, i: int, **options: Unpack[Fitting]) -> Fitted:
    """A group by itself."""
    return fit(graph, groups[i], **options)


def _empty(graph: Graph, count: int) -> BatchFit:
    """A batch of fits none of which has been made."""
    p, q = len(graph.nodes), len(graph.latents)
    shapes = {"T": (p, p), "C": (q, p), "W": (p, p), "mu": (p,), "loglik": ()}
    numbers = {name: np.full((count, *shape), np.nan) for name, shape in shapes.items()}
    return BatchFit(graph, graph.nodes, tuple(graph.latents), **numbers, code=np.full(count, "failed", dtype="<U17"))


def _in_categories(one: Fitted) -> Iterator[tuple[str, Margin]]:
    if one.acting is not None:
        yield from one.acting.margins.items()
    elif one.moments.layer is not None:
        yield from ((v, m) for v, m in zip(one.moments.layer.names, one.moments.layer.margins, strict=True) if m.cut)


def placed(batch: BatchFit, fits: Mapping[int, Fitted]) -> BatchFit:
    """The batch with some models from fits of their own."""
    if not fits:
        return batch
    at = list(fits)
    whole = {name: getattr(batch, name).copy() for name in ("T", "C", "W", "mu", "loglik", "code")}
    for name in ("T", "C", "W", "mu"):
        whole[name][at] = np.stack([getattr(one.model, name) for one in fits.values()])
    whole["loglik"][at] = [one.loglik for one in fits.values()]
    whole["code"][at] = [one.status.code for one in fits.values()]
    return replace(batch, **whole)


def constant_columns(groups: GroupMoments) -> Flags:
    """For each group and column: has it one value only, but for rounding?"""
    variance = np.diagonal(groups.cov, axis1=1, axis2=2)
    return flat(groups.mean, variance)


def _why_not(groups: GroupMoments, i: int) -> str:
    """Why a group's moments cannot be fitted."""
    n, p = groups.n[i], len(groups.names)
    if n <= p:
        return f"{n:g} rows are too few for {p} variables"
    constant = constant_columns(replace(groups, mean=groups.mean[i : i + 1], cov=groups.cov[i : i + 1]))[0]
    if constant.any():
        return f"{', '.join(v for v, flat in zip(groups.names, constant, strict=True) if flat)} constant"
    return "its variables are collinear"
