"""One model for each group of rows: complete groups in one array program, groups with holes by full information."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from halftrek.data import RowReader
from halftrek.data.check import flat
from halftrek.data.groups import GroupMoments, rows_by_group
from halftrek.errors import DataError
from halftrek.estimation.fit import MAX_ITER, Fit, fit
from halftrek.estimation.many.batch import BatchFit, fit_batch, joined
from halftrek.estimation.options import Intercepts, Noise, Options, resolve_options, with_coefficients
from halftrek.graphs import Graph
from halftrek.portable import Portable
from halftrek.queries import TotalEffect

PIECE = 10_000  # groups that are fitted at a time, to bound memory


@dataclass(frozen=True, eq=False, repr=False)
class GroupFits(Portable):
    """Fitted models by group: ``fits["north"]`` is the fit of one, ``fits.query(...)`` a table with a row for each.

    ``holed`` are the fits of groups that have rows with holes, ``failed`` what stood against a group, by their places.
    """

    graph: Graph
    groups: GroupMoments
    batch: BatchFit
    options: Options
    starts: int | None = None
    max_iter: int = MAX_ITER
    frame: str = ""
    rows: RowReader | None = None  # all rows, with the group of each as its cluster
    holed: Mapping[int, Fit] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[Any, ...]:
        """The labels of the groups."""
        return self.groups.keys

    @cached_property
    def status(self) -> tuple[str, ...]:
        """How the fit of each group ended, and why one could not be fitted."""
        return tuple(
            f"failed: {self._why_not(i)}" if code == "failed" else str(code) for i, code in enumerate(self.batch.code)
        )

    @property
    def fitted(self) -> NDArray[np.intp]:
        """Places of the groups that could be fitted."""
        return np.flatnonzero(self.batch.code != "failed")

    @property
    def left_out(self) -> str:
        """How many rows were left out because of missing values; empty if none."""
        rows = int(self.groups.dropped.sum())
        return f"{rows:,} row{'' if rows == 1 else 's'} with missing values left out" if rows else ""

    def _why_not(self, i: int) -> str:
        return self.failed.get(i) or why_not(self.groups, i)

    @cached_property
    def _rows(self) -> dict[Any, RowReader]:
        return {} if self.rows is None else rows_by_group(self.rows, self.groups)

    @cached_property
    def _place(self) -> dict[Any, int]:
        return {key: i for i, key in enumerate(self.keys)}

    def query(self, question: Any, *, level: float = 0.95, interval: Literal["delta"] | None = None) -> Any:
        """A tidy frame, one row for each group and outcome: group outcome estimate se low high n dropped status note.

        ``n`` counts the rows that were used, ``dropped`` those that were left out (with ``missing="fiml"`` rows without
        any value). Intervals are from the information: where a group has few rows with residual degrees of freedom and
        Student's t, unless ``interval="delta"`` asks for large samples. ``note`` says what to know of a group before
        trusting its row. Raises NotIdentifiedError if the graph does not allow an answer.
        """
        from halftrek.comparison import answer_groups

        return answer_groups(self, question, level=level, interval=interval)

    def effect(
        self, cause: str, effect: str | None = None, *, level: float = 0.95, interval: Literal["delta"] | None = None
    ) -> Any:
        """The total effect of ``cause`` on ``effect`` in each group, or the effect along ``"x -> m -> y"``."""
        return self.query(cause if effect is None else TotalEffect(cause, effect), level=level, interval=interval)

    def invariance(
        self, question: Any = None, *, level: float = 0.05, calibrate: bool = True, random_state: int = 0
    ) -> Any:
        """A tidy frame of tests that groups are alike: hypothesis test statistic df inflation p ... verdict note.

        Without a question: that all coefficients and error covariances are equal (likelihood ratio), that all
        coefficients are equal whatever the errors (Wald), and the same for each coefficient (Cochran's Q). With a
        question: that its answer is equal (Cochran's Q). P-values allow for groups with few rows by data drawn from
        the fitted models, unless ``calibrate=False``: then they are from the chi-square distribution. Groups without
        a maximum or without a standard error are left out, and ``note`` names them.
        """
        from halftrek.comparison import compare_groups

        return compare_groups(self, question, level=level, calibrate=calibrate, random_state=random_state)

    def __getitem__(self, key: Any) -> Fit:
        i = self._place.get(key)
        if i is None:
            shown = ", ".join(map(repr, self.keys[:6])) + (", ..." if len(self) > 6 else "")
            raise DataError(f"there is no group {key!r}; groups are {shown}")
        if self.batch.code[i] == "failed":
            raise DataError(f"group {key!r} could not be fitted: {self._why_not(i)}")
        if i in self.holed:
            return replace(self.holed[i], frame=self.frame, rows=self._rows.get(key))
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
        return replace(found, frame=self.frame, rows=self._rows.get(key))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the fits as JSON; ``ht.load`` gives them back to the last bit."""
        from halftrek.storage import save

        return save(replace(self, rows=None), path, overwrite=overwrite)

    def __contains__(self, key: object) -> bool:
        return key in self._place

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        good, all_of_them = int(self.batch.converged.sum()), len(self)
        failed = all_of_them - len(self.fitted)
        counts = [f"{all_of_them} groups: {good} converged", f"{failed} could not be fitted"]
        if self.holed:
            counts.append(f"{len(self.holed)} with missing values")
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
) -> GroupFits:
    """Fit a graph to what every group has, in the order of ``graph.observed``; each may fail alone."""
    if coefficients:
        graph = with_coefficients(graph, coefficients)
    options = resolve_options(graph, noise, intercepts)
    unusable = np.asarray(constant_columns(groups).any(axis=1))
    unusable[[*groups.patterns, *groups.troubles]] = True  # not in one program with the others
    cov = np.where(unusable[:, None, None], 0.0, groups.cov) if unusable.any() else groups.cov
    parts = [
        fit_batch(
            graph, cov=cov[k : k + PIECE], mean=groups.mean[k : k + PIECE], n=groups.n[k : k + PIECE],
            noise=noise, intercepts=intercepts, starts=starts, max_iter=max_iter,
        )
        for k in range(0, len(groups), PIECE)
    ]  # fmt: skip
    holed: dict[int, Fit] = {}
    failed = dict(groups.troubles)
    for i, patterns in groups.patterns.items():
        try:
            holed[i] = fit(graph, patterns, noise=noise, intercepts=intercepts, starts=starts, max_iter=max_iter)
        except DataError as error:
            failed[i] = str(error)
    together = placed(joined(parts), holed)
    return GroupFits(graph, groups, together, options, starts, max_iter, frame, holed=holed, failed=failed)


def placed(batch: BatchFit, fits: Mapping[int, Fit]) -> BatchFit:
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


def constant_columns(groups: GroupMoments) -> NDArray[np.bool_]:
    """For each group and column: has it one value only, but for rounding?"""
    variance = np.diagonal(groups.cov, axis1=1, axis2=2)
    return flat(groups.mean, variance)


def why_not(groups: GroupMoments, i: int) -> str:
    """Why a group's moments cannot be fitted."""
    n, p = groups.n[i], len(groups.names)
    if n <= p:
        return f"{n:g} rows are too few for {p} variables"
    constant = constant_columns(replace(groups, mean=groups.mean[i : i + 1], cov=groups.cov[i : i + 1]))[0]
    if constant.any():
        return f"{', '.join(v for v, flat in zip(groups.names, constant, strict=True) if flat)} constant"
    return "its variables are collinear"
