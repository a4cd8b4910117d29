"""The answers of many groups in one table: the interval that suits the rows of each, and a word where one may mislead.

The judge's rule for few rows, for all complete groups at once: where a district of the model has few residual degrees
of freedom, errors grow and quantiles are Student's. Groups with missing values are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation import Fit
from halftrek.estimation.groups import PIECE, GroupFits
from halftrek.estimation.plan import make_plan
from halftrek.inference import How, estimate
from halftrek.inference.batch import BatchEstimate, batch_estimate
from halftrek.inference.evidence import Support, equation_sizes
from halftrek.model import Floats
from halftrek.notes import Note
from halftrek.queries import Query, evaluate
from halftrek.trust.judge import few_rows, rests_of


@dataclass(frozen=True, eq=False)
class GroupAnswers:
    """For each group and value (an effect, or the mean of each outcome): numbers, nan for groups without, and notes.

    ``variances`` of outcomes have no column for an effect.
    """

    values: Floats
    errors: Floats
    ends: Floats
    variances: Floats
    notes: tuple[list[Note], ...]

    @staticmethod
    def empty(groups: int, values: int, variances: int) -> GroupAnswers:
        """Nothing known yet."""
        numbers, ends = np.full((groups, values), np.nan), np.full((groups, values, 2), np.nan)
        none = np.full((groups, variances), np.nan)
        return GroupAnswers(numbers, numbers.copy(), ends, none, tuple([] for _ in range(groups)))


def judged_groups(fits: GroupFits, query: Query, outcomes: int, how: How) -> GroupAnswers:
    """The answers of all groups that could be fitted; ``outcomes`` is how many a distribution has, 0 for an effect.

    Where no interval is asked for, the one that suits the rows of each group.
    """
    found = GroupAnswers.empty(len(fits), outcomes or 1, outcomes)
    whole = np.array([i for i in fits.fitted if i not in fits.holed], dtype=np.intp)
    for start in range(0, len(whole), PIECE):
        _complete(fits, query, whole[start : start + PIECE], how, found)
    for i, fit in fits.holed.items():
        _alone(fit, query, i, how, found)
    return found


def _complete(fits: GroupFits, query: Query, rows: NDArray[np.intp], how: How, found: GroupAnswers) -> None:
    """Groups without holes, in one array program."""
    n, batch = fits.groups.n, fits.batch
    usual = batch_estimate(batch.take(rows), fits.options, query, n[rows])
    errors, reach = usual.errors.copy(), how.quantile * usual.errors
    rests, level = group_support(fits, usual, n[rows]), how.level
    told = np.isfinite(errors).all(axis=1)
    few = np.flatnonzero(told & ~np.all([one.plenty(level) for one in rests], axis=0))
    if len(few) and how.interval is None:
        at = rows[few]
        moments = fits.groups.cov[at], fits.groups.mean[at]
        careful = batch_estimate(batch.take(at), fits.options, query, n[at], moments=moments)
        for k, one in enumerate(group_support(fits, careful, n[at])):
            with np.errstate(invalid="ignore"):
                grown = np.where(careful.errors[:, k] == 0.0, 0.0, careful.errors[:, k] * one.growth())
                errors[few, k] = grown
                reach[few, k] = np.where(grown == 0.0, 0.0, grown * one.quantiles(level))
        for i in few:
            found.notes[rows[i]].extend(few_rows(_joined([one.take(slice(i, i + 1)) for one in rests]), level))
    found.values[rows], found.errors[rows], found.variances[rows] = usual.values, errors, usual.variances
    found.ends[rows] = np.stack([usual.values - reach, usual.values + reach], axis=2)


def group_support(fits: GroupFits, found: BatchEstimate, n: Floats) -> list[Support]:
    """What answers of complete groups rest on: of each value, a line for each group and a column for each district."""
    sizes = equation_sizes(make_plan(fits.graph, fits.batch.names, fits.options))
    parameters = np.array([sizes[d] for d in found.districts], dtype=float)
    rows = np.broadcast_to(n[:, None], (len(n), len(parameters)))
    return [Support(found.shares[:, k], rows, parameters) for k in range(found.values.shape[1])]


def _joined(rests: Sequence[Support]) -> Support:
    """Several numbers of one group."""
    return Support(
        np.concatenate([one.variance for one in rests]), np.concatenate([one.rows for one in rests]),
        rests[0].parameters,
    )  # fmt: skip


def _alone(fit: Fit, query: Query, i: int, how: How, found: GroupAnswers) -> None:
    """One group with missing values."""
    rests = rests_of(fit, query)
    usual = how.interval is not None or bool(rests.plenty(how.level).all())
    answer = estimate(fit, query, evaluate(query, fit.model), replace(how, interval="delta" if usual else "t"))
    found.values[i], found.errors[i], found.variances[i] = answer.values, answer.errors, answer.variances
    found.ends[i] = answer.intervals
    if not usual:
        found.notes[i].extend(few_rows(rests, how.level))
