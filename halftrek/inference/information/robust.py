"""Standard errors that hold for data of any distribution, and for rows that come in clusters: the sandwich.

The variance of an answer is the mean square of what each row (or each cluster) contributes to it, over n: one more pass
over the rows. The bread is the observed information.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from halftrek.arrays import Codes, Floats
from halftrek.data import RowReader
from halftrek.errors import DataError, InputError
from halftrek.estimation import Fitted
from halftrek.inference.checks.scores import RowForms
from halftrek.inference.evidence.rows_behind import has_rows, sampled
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.influence import Forms
from halftrek.inference.kept import kept
from halftrek.notes import Note
from halftrek.queries import Query
from halftrek.queries.gradients import Gradient, linearize

NUMBERS = 4_000_000  # products of columns that are held at a time


def robust_errors(fit: Fitted, query: Query) -> tuple[Floats, Floats]:
    """Sandwich standard errors of an answer's values and of its variances; nan where data do not determine them."""
    found = linearize(query, fit.model)
    errors = gradient_errors(fit, (*found.values, *found.variances))
    return errors[: len(found.values)], errors[len(found.values) :]


def gradient_errors(fit: Fitted, gradients: Sequence[Gradient]) -> Floats:
    """Sandwich standard errors of numbers with these gradients."""
    rows_needed(fit, 'interval="robust"')
    (spread,) = mean_squares(fit, [kind_of_data(fit).row_scores(fit, tuple(gradients))])
    return np.sqrt(spread / fit.n)


def is_clustered(fit: Fitted) -> bool:
    """True if the rows are in clusters."""
    return fit.clusters_left_out or (fit.rows is not None and fit.rows.cluster is not None)


def count_clusters(fit: Fitted) -> int:
    """Number of clusters that have rows with values."""
    return len(clusters_with_rows(fit))


@kept
def clusters_with_rows(fit: Fitted) -> tuple[int, ...]:
    """The numbers of the clusters that have rows with values (all values, where the fit left the others out)."""
    clusters: set[int] = set()
    for block in kind_of_data(fit).blocks(fit, rows_needed(fit, "errors by cluster")):
        assert block.cluster is not None
        clusters.update(np.unique(block.cluster[~np.isnan(block.values).all(axis=1)]).tolist())
    return tuple(sorted(clusters))


def counts_units(fit: Fitted, robust: bool | None, what: str) -> bool:
    """Are tests made from independent units (rows, or clusters)? Left out: if rows are in clusters, or have weights.

    Weights are sampling weights here. Asked for, they need the rows, for which an error says why. A fit whose clusters
    or weighted rows were left out when it was saved is warned of.
    """
    if robust is None:
        if fit.clusters_left_out and fit.rows is None:
            warnings.warn(str(Note("clusters not saved", {"what": what})), stacklevel=2)
        elif sampled(fit) is not None and not has_rows(fit):
            warnings.warn(str(Note("weights not counted", {"what": what})), stacklevel=2)
        return (fit.rows is not None and fit.rows.cluster is not None) or (sampled(fit) is not None and has_rows(fit))
    if robust:
        rows_needed(fit, f"robust=True in {what}", "leave it out")
    return robust


def rows_needed(
    fit: Fitted, what: str, otherwise: str = 'ask for interval="delta" or interval="parametric"'
) -> RowReader:
    """The fit's rows, or an error that says why they are needed, and what does ``otherwise``."""
    if fit.rows is None:
        why = "this fit was made from moments: fit a table or a file"
        if fit.rows_left_out:
            why = "they were not saved with this fit: fit again and save with save(path, rows=True)"
        raise InputError(f"{what} needs the rows, and {why}, or {otherwise}")
    fit.rows.refuse_spent()
    return fit.rows


def contributions(fit: Fitted, forms: Sequence[RowForms]) -> Iterator[tuple[Floats, Floats | None]]:
    """What each independent unit adds to each form (all forms side by side), block by block, with weights.

    A unit is a row, or a cluster if the fit has them; weights count units that are alike and are None where all are
    one. What a row adds is multiplied by its sampling weight already: it counts by the square of that.
    """
    rows = rows_needed(fit, "this")
    mean, cov = fit.moments.mean, fit.moments.cov
    size = max(64, NUMBERS // max([1, sum(map(len, forms)), *(len(f.at) * (len(f.at) + 1) // 2 for f in forms)]))
    sums = np.zeros((0, 1 + sum(map(len, forms))))
    for block in kind_of_data(fit).blocks(fit, rows):
        for start in range(0, len(block), size):
            part = slice(start, start + size)
            centred = block.values[part] - mean
            values = np.concatenate([f.values(centred, cov) for f in forms], axis=1)
            weights = None if block.weights is None else block.weights[part]
            if rows.sampling is not None and weights is not None:
                values, weights = values * weights[:, None], None
            if block.cluster is None:
                yield values, weights
            else:
                weighted = values if weights is None else values * weights[:, None]
                counted = np.concatenate([np.ones((len(values), 1)), weighted], axis=1)
                sums = sums_by(block.cluster[part], counted, sums)
    if rows.cluster is not None:
        yield sums[sums[:, 0] > 0.0, 1:], None  # without clusters whose rows were all left out


def sums_by(codes: Codes, values: Floats, into: Floats) -> Floats:
    """Sums of rows by the number of their cluster, added to what there is; grows with the clusters."""
    short = int(codes.max(initial=-1)) + 1 - len(into)
    if short > 0:
        into = np.concatenate([into, np.zeros((short, into.shape[1]))])
    for k in range(values.shape[1]):
        into[:, k] += np.bincount(codes, weights=values[:, k], minlength=len(into))
    return into


def mean_squares(fit: Fitted, forms: Sequence[RowForms]) -> list[Floats]:
    """For each set of forms the sum of squares over units, divided by the number of rows.

    Of G clusters the sum is multiplied by G/(G-1), as is usual.
    """
    squares, units = unit_squares(fit, forms)
    if fit.rows is not None and fit.rows.cluster is not None:
        return [part * cluster_correction(int(units)) for part in squares]
    return squares


def unit_squares(fit: Fitted, forms: Sequence[RowForms]) -> tuple[list[Floats], float]:
    """For each set of forms the sum of squares over units, divided by the number of rows; and how many units."""
    total, units = np.zeros(sum(map(len, forms))), 0.0
    for values, weights in contributions(fit, forms):
        total += (values**2).sum(axis=0) if weights is None else weights @ values**2
        units += len(values) if weights is None else float(weights.sum())
    return np.split(total / fit.n, np.cumsum([len(f) for f in forms])[:-1]), units


def count_units(fit: Fitted) -> float:
    """How many independent units there are: clusters, or rows (the sum of their weights)."""
    nothing = Forms(np.zeros(1, dtype=np.intp), np.zeros((1, 1)), np.zeros((1, 1, 1)))
    return unit_squares(fit, [nothing])[1]


def cluster_correction(clusters: int) -> float:
    """``G / (G - 1)``; one cluster says nothing about the spread between clusters."""
    if clusters < 2:
        raise DataError("all rows are in one cluster; errors by cluster need at least two, and better fifty")
    return clusters / (clusters - 1.0)
