"""One model for each group of rows: complete groups in one array program, groups with holes by full information."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from halftrek.bottom.arrays import Flags, Ints
from halftrek.bottom.choices import Intercepts, Noise
from halftrek.bottom.portable import Portable
from halftrek.bottom.progress import late_bar
from halftrek.data import RowReader
from halftrek.data.by_group.groups import GroupMoments, rows_by_group
from halftrek.data.check import flat
from halftrek.errors import DataError
from halftrek.estimation.fit import MAX_ITER, Fitted, fit
from halftrek.estimation.given.options import Options, resolve_options, with_coefficients
from halftrek.estimation.many.batch import BatchFit, fit_batch, joined
from halftrek.graphs import Graph
from halftrek.upward import Faces

PIECE = 10_000  # groups that are fitted at a time, to bound memory; more ...
NUMBERS = 1_000_000  # ... as long as their moments are not more numbers than this


@dataclass(frozen=True, eq=False, repr=False)
class FittedGroups(Portable, Faces):
    """Fitted models by group as a value; ``halftrek.results.GroupFits`` is the same with all that can be asked of it.

    ``incomplete`` are the fits of groups with missing values, ``failed`` what stood against a group, by their places.
    """

    graph: Graph
    groups: GroupMoments
    batch: BatchFit
    options: Options
    starts: int | None = None
    max_iter: int = MAX_ITER
    frame: str = ""
    rows: RowReader | None = None  # all rows, with the group of each
    incomplete: Mapping[int, Fitted] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)
    clusters_left_out: bool = False  # by saving: rows were in clusters, and the file has none

    @property
    def clustered(self) -> bool:
        """Whether rows are in clusters."""
        return self.clusters_left_out or (self.rows is not None and self.rows.cluster is not None)

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
    def _rows(self) -> dict[object, RowReader]:
        return {} if self.rows is None else rows_by_group(self.rows, self.groups)

    def one(self, key: object) -> Fitted:
        """The fit of one group."""
        i = self.place.get(key, self.place.get((key,)) if len(self.groups.by) == 1 else None)
        if i is None:
            shown = ", ".join(map(repr, self.keys[:6])) + (", ..." if len(self) > 6 else "")
            raise DataError(f"there is no group {key!r}; groups are {shown}")
        if self.batch.code[i] == "failed":
            raise DataError(f"group {key!r} could not be fitted: {self.why_not(i)}")
        if i in self.incomplete:
            return self._with_rows(self.incomplete[i], i)
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
        if self.incomplete:
            counts.append(f"{len(self.incomplete)} with missing values")
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
) -> FittedGroups:
    """Fitted a graph to what every group has, in the order of ``graph.observed``; each may fail alone."""
    if coefficients:
        graph = with_coefficients(graph, coefficients)
    options = resolve_options(graph, noise, intercepts)
    unusable = np.asarray(constant_columns(groups).any(axis=1))
    unusable[[*groups.patterns, *groups.troubles]] = True  # not in one program with the others
    cov = np.where(unusable[:, None, None], 0.0, groups.cov) if unusable.any() else groups.cov
    size = max(PIECE, NUMBERS // len(graph) ** 2)  # the slowest group of a piece takes as long however many there are
    parts: list[BatchFit] = []
    with late_bar("groups") as advance:
        for k in range(0, len(groups), size):
            some = slice(k, k + size)
            found = fit_batch(
                graph, cov=cov[some], mean=groups.mean[some], n=groups.n[some],
                noise=noise, intercepts=intercepts, starts=starts, max_iter=max_iter,
            )  # fmt: skip
            parts.append(found)
            advance(min(k + size, len(groups)), len(groups))
    incomplete: dict[int, Fitted] = {}
    failed = dict(groups.troubles)
    for i, patterns in groups.patterns.items():
        try:
            incomplete[i] = fit(graph, patterns, noise=noise, intercepts=intercepts, starts=starts, max_iter=max_iter)
        except DataError as error:
            failed[i] = str(error)
    together = placed(joined(parts), incomplete)
    return FittedGroups(graph, groups, together, options, starts, max_iter, frame, incomplete=incomplete, failed=failed)


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
