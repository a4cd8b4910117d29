"""Moments, or patterns of holes, from the sums that an engine has made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from halftrek.bottom.choices import Missing
from halftrek.data.check import refuse_rounded
from halftrek.data.columns.kinds import Coding, Kind
from halftrek.data.missing.gather import PatternSums
from halftrek.data.missing.patterns import Patterns, patterns_of
from halftrek.data.moments import Moments
from halftrek.data.summing.accumulate import about_few_rows, about_holes
from halftrek.data.summing.sums import Request, Sums, merged_sums
from halftrek.data.weights import Counted, Sampled, Weighting
from halftrek.errors import DataError


def data_of(request: Request, sums: Sums, missing: Missing, codings: Mapping[str, Coding]) -> Moments | Patterns:
    """What the rows say; rows with holes are kept by pattern ("fiml"), left out ("drop"), or refused."""
    whole = sums.observed.all(axis=1)
    rows, incomplete = int(sums.rows.sum()) + sums.unweighted, int(sums.rows[~whole].sum())
    if incomplete and missing == "error":
        holes = (sums.rows[:, None] * ~sums.observed).sum(axis=0)
        raise DataError(about_holes(request.names, holes, incomplete, rows))
    kinds = kinds_of(request, sums, codings)
    if incomplete and missing == "fiml":
        return _patterns(request, sums, kinds)
    n = float(sums.rows[whole].sum()) if request.sampling else float(sums.n[whole].sum())
    if n < 2:
        raise DataError(about_few_rows(request.names, n, rows, incomplete))
    one = merged_sums([_line(sums, int(k)) for k in np.flatnonzero(whole)])
    cov = one.squares[0] / one.n[0]
    weighting = weighting_of(request, float(one.rows[0]), float(one.n[0]), float(one.squared[0]))
    found = Moments(
        request.names, n, one.origin + one.mean[0], (cov + cov.T) / 2.0, incomplete, kinds=kinds, weighting=weighting
    )
    refuse_rounded(found.names, found.mean, np.diag(found.cov))
    return found


def _patterns(request: Request, sums: Sums, kinds: tuple[Kind, ...]) -> Moments | Patterns:
    gathered = PatternSums(len(request.names))
    for k, seen in enumerate(sums.observed):
        mean = np.where(seen, sums.origin + sums.mean[k], 0.0)
        gathered.merge(seen, int(sums.rows[k]), float(sums.n[k]), mean, sums.squares[k] if sums.rows[k] > 1 else None)
    some = sums.observed.any(axis=1)
    weighting = weighting_of(request, *(float(x[some].sum()) for x in (sums.rows, sums.n, sums.squared)))
    found = patterns_of(request.names, gathered, kinds=kinds, weighting=weighting)
    if isinstance(found, Patterns):
        refuse_rounded(found.names, *found.available)
    return found


def weighting_of(request: Request, lines: float, total: float, squared: float) -> Weighting | None:
    """How rows were weighted that are so many lines, with these sums of weights and of their squares."""
    if request.weights is None or not lines:
        return None
    return Sampled(total / lines, total**2 / squared) if request.sampling else Counted(lines)


def kinds_of(request: Request, sums: Sums, codings: Mapping[str, Coding]) -> tuple[Kind, ...]:
    """What kind of numbers the columns hold, and how those that were texts became numbers."""
    assert sums.kinds is not None
    return tuple(replace(kind, coding=codings.get(v)) for v, kind in zip(request.names, sums.kinds, strict=True))


def _line(sums: Sums, k: int) -> Sums:
    at = slice(k, k + 1)
    return Sums(
        ((),), sums.observed[at], sums.rows[at], sums.n[at], sums.squared[at], sums.origin, sums.mean[at],
        sums.squares[at],
    )  # fmt: skip
