"""Do items measure the same in all groups? Levels of invariance side by side, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.calls import public
from halftrek.bottom.choices import Invariant, Missing
from halftrek.bottom.frames import as_frame, library_of
from halftrek.data import Moments, Patterns
from halftrek.data.by_group.grouping import GroupLabels
from halftrek.data.missing.unrestricted import best_loglik
from halftrek.errors import DataError, InputError
from halftrek.estimation.hidden.invariance import LEVELS, fit_levels
from halftrek.graphs import Graph
from halftrek.inference.checks.measures import cfi_of, free_roots, tail
from halftrek.inference.tables.factors import needs_hidden
from halftrek.results.given.inputs import read_graph, read_grouped
from halftrek.upward import Tabled


@dataclass(frozen=True)
class InvarianceLevel:
    """One level: its fit, and the test against the level before it (None for the first)."""

    level: Invariant
    loglik: float
    parameters: int
    chi2: float
    df: int
    p: float | None
    cfi: float
    rmsea: float
    bic: float
    chi2_more: float | None
    df_more: int | None
    p_more: float | None
    converged: bool


@dataclass(frozen=True, eq=False, repr=False)
class MeasurementInvariance(Tabled):
    """Levels of measurement invariance across groups, each with the test of what it holds equal beyond the one before.

    ``frame`` is the library whose frame the data were.
    """

    groups: tuple[str, ...]
    n: float
    levels: tuple[InvarianceLevel, ...]
    frame: str = ""

    def to_frame(self) -> Any:
        """A tidy frame, a row for each level."""
        columns = {f.name: [getattr(one, f.name) for one in self.levels] for f in fields(InvarianceLevel)}
        return as_frame(columns, self.frame)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


@public
def measurement_invariance(
    graph: object,
    data: object,
    *,
    by: GroupLabels | None = None,
    levels: Sequence[Invariant] = LEVELS,
    weights: str | ArrayLike | None = None,
    missing: Missing = "fiml",
) -> MeasurementInvariance:
    """Fit a graph with hidden variables to all groups at once, with more and more of the measurement held equal.

    "configural": the same graph; "metric": equal loadings; "scalar": equal intercepts of items too; "strict": equal
    error variances of items too. ``by``, ``weights`` and ``missing`` are as in ``ht.fit_groups``.
    """
    chosen = read_graph(graph)
    needs_hidden(chosen, "measurement_invariance()")
    unknown = [level for level in levels if level not in LEVELS]
    if unknown or not levels or list(levels) != sorted(set(levels), key=LEVELS.index):
        raise InputError(f"levels must be some of {', '.join(LEVELS)}, in this order, not {list(levels)!r}")
    groups, _ = read_grouped(chosen, data, by=by, weights=weights, missing=missing)
    if len(groups) < 2:
        raise DataError("measurement invariance compares groups, and the data have one; say with by= what they are")
    for i, why in groups.troubles.items():
        raise DataError(f"the group {groups.keys[i]!r} cannot be used: {why}")
    parts = [groups[i].select(chosen.observed) for i in range(len(groups))]
    total, p = float(sum(part.n if isinstance(part, Moments) else part.total for part in parts)), len(chosen)
    means = p if groups.has_mean else 0
    best = sum(map(best_loglik, parts))
    moments = len(parts) * (p * (p + 1) // 2 + means)
    baseline = _baseline(chosen, parts, best)
    found: list[InvarianceLevel] = []
    for one in fit_levels(chosen, parts, levels):
        chi2, df = max(0.0, 2.0 * (best - one.loglik)), moments - one.parameters
        before = found[-1] if found else None
        more = (None, None) if before is None else (max(0.0, chi2 - before.chi2), df - before.df)
        found.append(
            InvarianceLevel(
                level=one.name,
                loglik=one.loglik,
                parameters=one.parameters,
                chi2=chi2,
                df=df,
                p=tail(chi2, df) if df else None,
                cfi=cfi_of(chi2, df, *baseline),
                rmsea=float(np.sqrt(len(parts) * max(0.0, chi2 - df) / (df * total))) if df else 0.0,
                bic=-2.0 * one.loglik + float(np.log(total)) * one.parameters,
                chi2_more=more[0],
                df_more=more[1],
                p_more=tail(more[0], more[1]) if more[0] is not None and more[1] else None,
                converged=one.converged,
            )
        )
    return MeasurementInvariance(tuple(map(str, groups.keys)), total, tuple(found), library_of(data))


def _baseline(graph: Graph, parts: Sequence[Moments | Patterns], best: float) -> tuple[float, int]:
    """Chi-square and degrees of freedom of the model without covariances, but those that exogenous variables have."""
    free, pairs = free_roots(graph, graph.observed)
    apart = [(v,) for v in graph.observed if v not in free] + ([tuple(free)] if free else [])
    worst = sum(best_loglik(part.select(names)) for part in parts for names in apart)
    p = len(graph)
    return max(0.0, 2.0 * (best - worst)), len(parts) * (p * (p - 1) // 2 - pairs)
