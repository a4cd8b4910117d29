"""Moments that no model can be fitted to, and which variables are to blame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.words import did_you_mean, listed
from halftrek.errors import DataError

if TYPE_CHECKING:
    from halftrek.data.moments import Moments


SINGULAR = 1e-12  # share of a variance that others must leave unexplained
ROUNDING = 8 * np.finfo(float).eps  # a standard deviation below this share of the mean is rounding


def check(moments: Moments) -> None:
    """Raise :class:`DataError` for constant or dependent columns, or fewer rows than a covariance needs."""
    names, variances = moments.names, np.diag(moments.cov)
    constant = flat(moments.mean, variances)
    if constant.any():
        culprits = [v for v, flat in zip(names, constant, strict=True) if flat]
        what = "columns have" if len(culprits) > 1 else "column has"
        raise DataError(f"the {what} the same value in every row: {listed(culprits)}; leave it out")
    _refuse_copies(moments.cov, names)
    if moments.n <= len(names):
        raise DataError(
            f"{moments.n:g} rows are too few for {len(names)} columns: more rows than columns are needed. "
            f"Use fewer columns or more rows"
        )
    refuse_indefinite(moments.cov, names)


def flat(mean: Floats, variance: Floats) -> Flags:
    """Where a column varies no more than rounding does; a mean near the largest float is not squared for it."""
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)) <= ROUNDING * np.abs(mean))


def places_of(wanted: Sequence[str], names: Sequence[str], what: str) -> list[int]:
    """Where the columns stand among the names; raises for one that is not there."""
    where = {v: i for i, v in enumerate(names)}
    for v in wanted:
        if v not in where:
            raise DataError(f"{what} have no column {v!r}.{did_you_mean(v, names)}")
    return [where[v] for v in wanted]


def refuse_rounded(names: Sequence[str], mean: Floats, variance: Floats) -> None:
    """Raise for whole numbers so long that what tells them apart is lost to rounding: time stamps in nanoseconds.

    A float has 53 bits. Where the standard deviation is more than eight units of the last one, rounding adds less than
    0.2 % to a variance and is let pass; below, the moments would be those of the rounding.
    """
    lost = (np.abs(mean) >= 2.0**53) & (variance > 0.0) & flat(mean, variance)
    if lost.any():
        culprits = [names[int(k)] for k in np.flatnonzero(np.atleast_2d(lost).any(axis=0))]
        raise DataError(
            f"the values of {listed(culprits)} have more than 15 digits and differ only in the last ones, which a "
            f"float does not keep; subtract a constant before reading, for instance their minimum"
        )


def refuse_indefinite(cov: Floats, names: Sequence[str]) -> None:
    """Raise :class:`DataError` unless the matrix is a covariance of full rank; names the variables in the way."""
    variances = np.diag(cov)
    if not np.isfinite(cov).all():
        bad = int(np.argmax(~np.isfinite(cov).all(axis=1)))
        raise DataError(f"the covariances of {names[bad]!r} hold a value that is not a finite number; fill it in")
    if (variances <= 0).any():
        v = int(np.argmin(variances))
        what = "zero: the variable is constant; leave it out" if variances[v] == 0 else "negative; check the matrix"
        raise DataError(f"the variance of {names[v]!r} is {what}")
    scale = np.sqrt(variances)
    correlation = cov / scale / scale[:, None]
    pivot = _first_bad_pivot(correlation)
    if pivot is None:
        return
    weights = np.linalg.lstsq(correlation[:pivot, :pivot], correlation[:pivot, pivot], rcond=None)[0]
    left = 1.0 - float(weights @ correlation[:pivot, pivot])
    involved = [names[i] for i in range(pivot) if abs(weights[i]) > 1e-6 * np.abs(weights).max()]
    if left < -1e-9:
        raise DataError(
            f"the covariance matrix is not positive definite: {listed(involved)} would explain more than all of the "
            f"variance of {names[pivot]!r}. Check the entries of these variables"
        )
    raise DataError(
        f"the covariance matrix is singular: {names[pivot]!r} is a linear combination of {listed(involved)}. "
        f"Leave one of these out"
    )


def _first_bad_pivot(correlation: Floats) -> int | None:
    """First variable that the ones before it explain completely (or more than that), or None."""
    try:
        left = np.diag(np.linalg.cholesky(correlation)) ** 2
        return int(np.argmax(left < SINGULAR)) if (left < SINGULAR).any() else None
    except np.linalg.LinAlgError:
        from scipy.linalg.lapack import dpotrf

        factor, info = dpotrf(correlation, lower=1)
        stop = int(info) - 1
        left = np.diag(factor)[:stop] ** 2
        return int(np.argmax(left < SINGULAR)) if (left < SINGULAR).any() else stop


def _refuse_copies(cov: Floats, names: Sequence[str]) -> None:
    sd = np.sqrt(np.diag(cov))
    correlation = np.abs(cov / sd / sd[:, None])
    np.fill_diagonal(correlation, 0.0)
    i, j = (int(k) for k in np.unravel_index(int(np.argmax(correlation)), correlation.shape))
    if correlation[i, j] >= 1.0 - SINGULAR:
        i, j = min(i, j), max(i, j)
        raise DataError(
            f"the columns {names[i]!r} and {names[j]!r} are the same up to a shift and a factor; leave one of them out"
        )
