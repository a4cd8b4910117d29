"""The answers of many groups in one table: the interval that suits the rows of each, and a word where one may mislead.

The judge's rule for few rows, for all complete groups at once: where a district of the model has few residual degrees
of freedom, errors grow and quantiles are Student's. Groups whose instruments are weak or whose data reject the graph
are found for all at once too; the worst of them, and groups with missing values, are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from halftrek import identification
from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.many.groups import PIECE, FittedGroups
from halftrek.estimation.plan import make_plan
from halftrek.inference import How, estimate
from halftrek.inference.checks.measures import counted
from halftrek.inference.evidence.evidence import Support, equation_sizes
from halftrek.inference.evidence.row_needs import needs_rows
from halftrek.inference.evidence.strength import as_strength, strengths
from halftrek.inference.groups.batch import BatchEstimate, batch_estimate, batch_ratios
from halftrek.notes import Note, note
from halftrek.queries import Query, evaluate
from halftrek.queries.gradients import linearize
from halftrek.trust.judge import SURE, few_rows, judge_line, rests_of
from halftrek.trust.misfit import REJECTED, misfit
from halftrek.trust.misfit import few_rows as few_rows_of
from halftrek.trust.strength import STRONG

LOOKS = 20  # groups that are looked at one by one
BUDGET = 0.5  # seconds to find the formula that names a weak instrument


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


def judged_groups(fits: FittedGroups, query: Query, outcomes: int, how: How) -> GroupAnswers:
    """The answers of all groups that could be fitted; ``outcomes`` is how many a distribution has, 0 for an effect.

    Where no interval is asked for, the one that suits the rows of each group.
    """
    found = GroupAnswers.empty(len(fits), outcomes or 1, outcomes)
    whole = np.array([i for i in fits.fitted if i not in fits.alone], dtype=np.intp)
    for start in range(0, len(whole), PIECE):
        _complete(fits, query, whole[start : start + PIECE], how, found)
    for i, fit in fits.alone.items():
        _alone(fit, query, i, how, found)
    if how.interval is None:
        _look_closer(fits, query, whole, how, found)
    return found


@dataclass(frozen=True)
class Suspect:
    """A group whose interval may mislead: ``strength`` as a first-stage F, and the chance of so bad a fit."""

    place: int
    strength: float
    chance: float

    @property
    def worst_first(self) -> float:
        """How weak, or how badly fitting, each beside the size from which on it counts."""
        return min(self.strength / SURE, self.chance / REJECTED)

    @property
    def notes(self) -> list[Note]:
        """What to say of it without a closer look."""
        weak = [note("weak divisor", F=self.strength, strong=STRONG)] if self.strength < STRONG else []
        return [*weak, *([note("misfit", p=self.chance)] if self.chance < REJECTED else [])]


def _look_closer(fits: FittedGroups, query: Query, whole: Ints, how: How, found: GroupAnswers) -> None:
    """Give suspects the interval that their own fit would give; beyond the worst ones, a word."""
    suspects = sorted([*_of_complete(fits, query, whole), *_of_incomplete(fits, query)], key=lambda s: s.worst_first)
    if not suspects:
        return
    verdict = identification.identify(fits.graph, query, budget=BUDGET, witness=False)
    closer = [s for s in suspects if s.strength < SURE or s.place not in fits.alone][:LOOKS]
    for one in closer:
        fit = fits.one(fits.keys[one.place])
        judged = judge_line(fit, query, evaluate(query, fit.model), verdict, how)
        if np.isnan(judged.estimate.intervals).any():
            found.notes[one.place].extend(one.notes)
            continue
        found.errors[one.place], found.ends[one.place] = judged.estimate.errors, judged.estimate.intervals
        wrong = [note("misfit", p=one.chance)] if one.chance < REJECTED else []
        found.notes[one.place][:] = [*(n for n in judged.notes if n.brief), *wrong]
    for one in suspects:
        if one not in closer:
            found.notes[one.place].extend(one.notes)


def _of_complete(fits: FittedGroups, query: Query, whole: Ints) -> list[Suspect]:
    """Suspects among groups without holes, in one array program."""
    found = []
    for start in range(0, len(whole), PIECE):
        rows = whole[start : start + PIECE]
        n = fits.groups.n[rows]
        F = as_strength(batch_ratios(fits.batch.take(rows), fits.options, query), n[:, None]).min(axis=1)
        chance = chances(fits, rows)
        for k in np.flatnonzero((F < SURE) | (chance < REJECTED)):
            found.append(Suspect(int(rows[k]), float(F[k]), float(chance[k])))
    return found


def _of_incomplete(fits: FittedGroups, query: Query) -> list[Suspect]:
    found = []
    for (
        i,
        fit,
    ) in fits.alone.items():  # those that only fit badly keep their interval: a saved one has no rows to ask
        F = float(strengths(fit, linearize(query, fit.model).values).min(initial=np.inf))
        overall = misfit(fit)
        one = Suspect(i, F, 1.0 if overall is None else overall.p)
        if one.worst_first < 1.0:
            found.append(one)
    return found


def chances(fits: FittedGroups, rows: Ints) -> Floats:
    """Of each group, the p-value of the overall test; 1 where there is nothing to test, or too few rows to test it."""
    chance = np.ones(len(rows))
    usable = fits.batch.converged[rows] & ~np.isnan(fits.batch.loglik[rows])
    if fits.groups.sampled or not usable.any():
        return chance
    first = fits.one(fits.keys[int(rows[usable][0])])
    _, df = counted(first)
    if df < 1 or needs_rows(first):
        return chance
    n, p = fits.groups.n[rows], len(fits.batch.names)
    best = -0.5 * n * (p * np.log(2.0 * np.pi) + np.linalg.slogdet(fits.groups.cov[rows])[1] + p)
    chi2 = 2.0 * (best - fits.batch.loglik[rows])
    for count in np.unique(n[usable]):
        few = few_rows_of(first, float(count))
        if few is not None:
            for k in np.flatnonzero(usable & (n == count) & (chi2 > df)):
                chance[k] = few.tail(float(chi2[k]), df)
    return chance


def _complete(fits: FittedGroups, query: Query, rows: Ints, how: How, found: GroupAnswers) -> None:
    """Groups without holes, in one array program."""
    n, batch = fits.groups.n, fits.batch
    usual = batch_estimate(batch.take(rows), fits.options, query, n[rows])
    errors, reach = usual.errors.copy(), how.quantile * usual.errors
    rests, level = group_support(fits, usual, n[rows]), how.level
    known = np.isfinite(errors).all(axis=1)
    few = np.flatnonzero(known & ~np.all([one.plenty(level) for one in rests], axis=0))
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


def group_support(fits: FittedGroups, found: BatchEstimate, n: Floats) -> list[Support]:
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


def _alone(fit: Fitted, query: Query, i: int, how: How, found: GroupAnswers) -> None:
    """One group with missing values."""
    rests = rests_of(fit, query)
    usual = how.interval is not None or bool(rests.plenty(how.level).all())
    answer = estimate(fit, query, evaluate(query, fit.model), replace(how, interval="delta" if usual else "t"))
    found.values[i], found.errors[i], found.variances[i] = answer.values, answer.errors, answer.variances
    found.ends[i] = answer.intervals
    if not usual:
        found.notes[i].extend(few_rows(rests, how.level))
