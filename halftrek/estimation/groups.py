"""One model for each group of rows, all fitted in one array program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halftrek.errors import DataError
from halftrek.estimation.batch import BatchFit, fit_batch
from halftrek.estimation.fit import MAX_ITER, Fit, fit
from halftrek.estimation.options import Intercepts, Noise, Options, resolve_options, with_coefficients
from halftrek.graph import Graph
from halftrek.moments import Moments, RowReader
from halftrek.moments.check import ROUNDING
from halftrek.moments.groups import GroupMoments, rows_by_group
from halftrek.queries import TotalEffect

PIECE = 10_000  # groups that are fitted at a time, to bound memory


@dataclass(frozen=True, eq=False, repr=False)
class GroupFits:
    """Fitted models by group: ``fits["north"]`` is the fit of one, ``fits.query(...)`` a table with a row for each."""

    graph: Graph
    groups: GroupMoments
    batch: BatchFit
    options: Options
    starts: int | None = None
    max_iter: int = MAX_ITER
    frame: str = ""
    rows: RowReader | None = None  # all rows, with the group of each as its cluster

    @property
    def keys(self) -> tuple[Any, ...]:
        """The labels of the groups."""
        return self.groups.keys

    @cached_property
    def status(self) -> tuple[str, ...]:
        """How the fit of each group ended, and why one could not be fitted."""
        return tuple(
            f"failed: {why_not(self.groups, i)}" if code == "failed" else str(code)
            for i, code in enumerate(self.batch.code)
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

    @cached_property
    def _rows(self) -> dict[Any, RowReader]:
        return {} if self.rows is None else rows_by_group(self.rows, self.groups)

    @cached_property
    def _place(self) -> dict[Any, int]:
        return {key: i for i, key in enumerate(self.keys)}

    def query(self, question: Any, *, level: float = 0.95) -> Any:
        """A tidy frame, one row for each group and outcome: group outcome estimate se low high n dropped status.

        ``dropped`` counts the rows with missing values, which were left out. Standard errors come from the expected
        information. Raises NotIdentifiedError if the graph does not allow an
        answer.
        """
        from halftrek.comparison import answer_groups

        return answer_groups(self, question, level=level)

    def effect(self, cause: str, effect: str | None = None, *, level: float = 0.95) -> Any:
        """The total effect of ``cause`` on ``effect`` in each group, or the effect along ``"x -> m -> y"``."""
        return self.query(cause if effect is None else TotalEffect(cause, effect), level=level)

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
            raise DataError(f"group {key!r} could not be fitted: {why_not(self.groups, i)}")
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

    def __contains__(self, key: object) -> bool:
        return key in self._place

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        good, all_of_them = int(self.batch.converged.sum()), len(self)
        failed = all_of_them - len(self.fitted)
        counts = f"{all_of_them} groups: {good} converged, {failed} could not be fitted"
        return f"<GroupFits of {counts}{', ' if self.left_out else ''}{self.left_out}>"


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
    """Fit a graph to the moments of every group, in the order of ``graph.observed``; each may fail alone."""
    if coefficients:
        graph = with_coefficients(graph, coefficients)
    options = resolve_options(graph, noise, intercepts)
    constant = np.asarray(constant_columns(groups).any(axis=1))
    cov = np.where(constant[:, None, None], 0.0, groups.cov) if constant.any() else groups.cov
    parts = [
        fit_batch(
            graph, cov=cov[k : k + PIECE], mean=groups.mean[k : k + PIECE], n=groups.n[k : k + PIECE],
            noise=noise, intercepts=intercepts, starts=starts, max_iter=max_iter,
        )
        for k in range(0, len(groups), PIECE)
    ]  # fmt: skip
    return GroupFits(graph, groups, _joined(parts), options, starts, max_iter, frame)


def _joined(parts: list[BatchFit]) -> BatchFit:
    if len(parts) == 1:
        return parts[0]
    whole: dict[str, Any] = {
        k: np.concatenate([getattr(p, k) for p in parts]) for k in ("T", "C", "W", "mu", "loglik", "code")
    }
    return replace(parts[0], **whole)


def constant_columns(groups: GroupMoments) -> NDArray[np.bool_]:
    """For each group and column: has it one value only, but for rounding?"""
    variance = np.diagonal(groups.cov, axis1=1, axis2=2)
    return np.asarray(variance <= (ROUNDING * groups.mean) ** 2)


def why_not(groups: GroupMoments, i: int) -> str:
    """Why a group's moments cannot be fitted."""
    n, p = groups.n[i], len(groups.names)
    if n <= p:
        return f"{n:g} rows are too few for {p} variables"
    constant = constant_columns(replace(groups, mean=groups.mean[i : i + 1], cov=groups.cov[i : i + 1]))[0]
    if constant.any():
        return f"{', '.join(v for v, flat in zip(groups.names, constant, strict=True) if flat)} constant"
    return "its variables are collinear"


def pooled_within(fits: GroupFits, rows: NDArray[np.intp]) -> Moments:
    """The covariance within groups, pooled: what is left when every group has means of its own."""
    n = fits.groups.n[rows]
    cov = np.einsum("g,gij->ij", n / n.sum(), fits.groups.cov[rows])
    return Moments(fits.groups.names, float(n.sum()), np.zeros(len(fits.groups.names)), cov)
