"""Standard errors that hold for data of any distribution, and for rows that come in clusters: the sandwich.

The variance of an answer is the mean square of what each row (or each cluster) contributes to it, over n: one more pass
over the rows. The bread is the observed information.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from halftrek.bottom.arrays import Codes, Floats
from halftrek.bottom.portable import Portable
from halftrek.data import RowBlock, RowPart, RowReader, gather
from halftrek.errors import DataError, InputError
from halftrek.estimation import Fitted
from halftrek.inference.evidence.rows_behind import has_rows, sampled
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.kept import kept
from halftrek.notes import Note
from halftrek.queries import Query
from halftrek.queries.gradients import Gradient, linearize

if TYPE_CHECKING:
    from halftrek.inference.checks.edges.scores import RowForms

NUMBERS = 4_000_000  # products of columns that are held at a time

State = TypeVar("State")


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
    from halftrek.inference.information.fourth_moments import known_units

    known = known_units(fit) if is_clustered(fit) else None
    return len(clusters_with_rows(fit)) if known is None else known


@kept
def clusters_with_rows(fit: Fitted) -> tuple[int, ...]:
    """The numbers of the clusters that have rows with values (all values, where the fit left the others out)."""
    rows = rows_needed(fit, "errors by cluster")
    if rows.cluster is None:
        raise InputError(
            "what leaves out a cluster at a time needs rows in clusters: fit with cluster=, or ask for "
            'interval="robust" or "bootstrap"'
        )
    counts = gather(rows, _counted, merged_by_label, kind_of_data(fit).like(fit)).values[:, 0]
    return tuple(np.flatnonzero(counts).tolist())


def _counted(part: RowPart) -> ByLabel:
    """How many rows with values each cluster has."""
    sums = np.zeros((0, 1))
    for block in part.blocks:
        assert block.cluster is not None
        some = np.any(~np.isnan(block.values), axis=1, keepdims=True)
        sums = sums_by(block.cluster, np.asarray(some, dtype=float), sums)
    return labelled(part, sums)


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
        uneven = sampled(fit) is not None or fit.moments.layer is not None
        return (fit.rows is not None and fit.rows.cluster is not None) or (uneven and has_rows(fit))
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


def over_units(
    fit: Fitted,
    forms: Sequence[RowForms],
    each: Callable[[Floats, Floats | None], State],
    merge: Callable[[State, State], State],
) -> State:
    """What ``each`` makes of all independent units; it is called for some of them at a time, and the results merged.

    It is given what each unit adds to each form (all forms side by side), and weights. A unit is a row, or a cluster if
    the fit has them; weights count units that are alike and are None where all are one. What a row adds is multiplied
    by its sampling weight already: it counts by the square of that.
    """
    from halftrek.inference.information.behind.layer_forms import as_read

    rows, forms = rows_needed(fit, "this"), as_read(fit, forms)
    like, wide = kind_of_data(fit).like(fit), sum(map(len, forms))
    added = partial(_added, tuple(forms), fit.moments.mean, fit.moments.cov, rows.sampling is not None)
    if rows.cluster is None:
        return gather(rows, partial(_by_row, added, each, merge, wide), merge, like)
    sums = gather(rows, partial(_by_cluster, added, wide), merged_by_label, like)
    return each(sums.values[sums.values[:, 0] > 0.0, 1:], None)  # without clusters whose rows were all left out


Added = Callable[[RowBlock], Iterator[tuple[Floats, Floats | None, slice]]]


def _added(
    forms: tuple[RowForms, ...], mean: Floats, cov: Floats, sampling: bool, block: RowBlock
) -> Iterator[tuple[Floats, Floats | None, slice]]:
    """What the rows of a block add to the forms, some rows at a time, with their weights."""
    size = max(64, NUMBERS // max([1, sum(map(len, forms)), *(len(f.at) * (len(f.at) + 1) // 2 for f in forms)]))
    for start in range(0, len(block), size):
        part = slice(start, start + size)
        centred = block.values[part] - mean
        values = np.concatenate([f.values(centred, cov) for f in forms], axis=1)
        weights = None if block.weights is None else block.weights[part]
        if sampling and weights is not None:
            values, weights = values * weights[:, None], None
        yield values, weights, part


def _by_row(
    added: Added,
    each: Callable[[Floats, Floats | None], State],
    merge: Callable[[State, State], State],
    wide: int,
    part: RowPart,
) -> State:
    found: State | None = None
    for block in part.blocks:
        for values, weights, _ in added(block):
            more = each(values, weights)
            found = more if found is None else merge(found, more)
    return each(np.zeros((0, wide)), None) if found is None else found


@dataclass(frozen=True, eq=False)
class ByLabel(Portable):
    """Sums of rows for each label of a cluster."""

    labels: tuple[Any, ...]
    values: Floats


def merged_by_label(ours: ByLabel, theirs: ByLabel) -> ByLabel:
    """The sums of both parts of the rows together."""
    place = {label: k for k, label in enumerate(ours.labels)}
    at = np.array([place.setdefault(label, len(place)) for label in theirs.labels], dtype=np.int64)
    values = np.zeros((len(place), ours.values.shape[1]))
    values[: len(ours.values)] = ours.values
    values[at] += theirs.values
    return ByLabel(tuple(place), values)


def in_order(sums: ByLabel) -> ByLabel:
    """The sums by the order of their labels: where an engine has the rows, that of their appearance is an accident."""
    order = sorted(range(len(sums.labels)), key=lambda k: (type(sums.labels[k]).__name__, str(sums.labels[k])))
    return ByLabel(tuple(sums.labels[k] for k in order), sums.values[order])


def _by_cluster(added: Added, wide: int, part: RowPart) -> ByLabel:
    sums = np.zeros((0, 1 + wide))
    for block in part.blocks:
        assert block.cluster is not None
        for values, weights, at in added(block):
            weighted = values if weights is None else values * weights[:, None]
            counted = np.concatenate([np.ones((len(values), 1)), weighted], axis=1)
            sums = sums_by(block.cluster[at], counted, sums)
    return labelled(part, sums)


def labelled(part: RowPart, sums: Floats) -> ByLabel:
    """Sums by the number of a cluster as sums by its label; clusters without rows that count have none."""
    values = np.zeros((len(part.codes), sums.shape[1]))
    values[: len(sums)] = sums
    return ByLabel(tuple(part.codes), values)


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
    from halftrek.inference.information.fourth_moments import from_fourth_moments

    known = from_fourth_moments(fit, forms)
    if known is None:
        total = over_units(fit, forms, _squares, operator.add)
    else:
        total = np.array([known[1], *known[0].diagonal()])
    return np.split(total[1:] / fit.n, np.cumsum([len(f) for f in forms])[:-1]), float(total[0])


def products(values: Floats, weights: Floats | None) -> tuple[Floats, float]:
    """Sums of products of forms, and how many units."""
    if weights is None:
        return values.T @ values, float(len(values))
    return values.T @ (values * weights[:, None]), float(weights.sum())


def added(ours: tuple[Floats, float], theirs: tuple[Floats, float]) -> tuple[Floats, float]:
    """Both sums, and both numbers of units, together."""
    return ours[0] + theirs[0], ours[1] + theirs[1]


def _squares(values: Floats, weights: Floats | None) -> Floats:
    """How many units, and the sum of squares of each form."""
    units = len(values) if weights is None else float(weights.sum())
    return np.concatenate([[units], (values**2).sum(axis=0) if weights is None else weights @ values**2])


def count_units(fit: Fitted) -> float:
    """How many independent units there are: clusters, or rows (the sum of their weights)."""
    from halftrek.inference.information.influence import Forms

    nothing = Forms(np.zeros(1, dtype=np.intp), np.zeros((1, 1)), np.zeros((1, 1, 1)))
    return unit_squares(fit, [nothing])[1]


def cluster_correction(clusters: int) -> float:
    """``G / (G - 1)``; one cluster says nothing about the spread between clusters."""
    if clusters < 2:
        raise DataError("all rows are in one cluster; errors by cluster need at least two, and better fifty")
    return clusters / (clusters - 1.0)
