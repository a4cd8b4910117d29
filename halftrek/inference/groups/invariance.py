"""Are groups alike? Likelihood ratio of one covariance structure for all, Wald tests of equal coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data import Moments, Patterns
from halftrek.errors import DataError
from halftrek.estimation import Fitted, fit_batch
from halftrek.estimation import fit as fit_model
from halftrek.estimation.many.groups import FittedGroups
from halftrek.estimation.many.pooling import pooled_fit, pooled_within
from halftrek.graphs import Edge
from halftrek.identification import identify
from halftrek.inference.groups.calibration import Drawn, redraw, summed
from halftrek.inference.groups.coefficients import Part, coefficients_of_all, has_error
from halftrek.inference.groups.estimates import Sample, group_estimate, sample_of
from halftrek.inference.information.base import kind_of_data
from halftrek.queries import DirectEffect, Query

Kind = Literal["likelihood ratio", "Wald", "Cochran's Q"]

SHOWN = 6  # groups that a note names


@dataclass(frozen=True)
class Invariance:
    """A test that something is equal in all groups; ``groups`` is the number of groups that were compared.

    ``inflation`` is by how much the statistic exceeds its degrees of freedom on average when groups are alike, by
    simulation; the p-value allows for it. ``note`` says which groups were left out, or why there is no p-value.
    """

    hypothesis: str
    test: Kind
    statistic: float
    df: float
    inflation: float
    p: float
    groups: int
    note: str = ""


def invariance_tests(fits: FittedGroups, *, calibrate: bool = True, random_state: int = 0) -> list[Invariance]:
    """Everything equal (means are each group's own), all coefficients equal, and each coefficient."""
    rows = usable_groups(fits)
    tests = [] if fits.options.intercepts else [_all_equal(fits, rows, calibrate, random_state)]
    sample = sample_of(fits, rows)
    parts = [part.only(_asked(fits, part)) for part in coefficients_of_all(fits, sample, sample.batch.T)]
    names = [str(edge) for part in parts for edge in part.edges]
    if not names:
        return tests
    found = _coefficient_tests(parts, slice(None))
    drawn: list[Drawn | None] = [None] * len(found)
    if calibrate:
        again = redraw(fits, sample, random_state)
        gaps = coefficients_of_all(fits, again.sample, again.sample.batch.T - sample.batch.T[again.group])
        alike = [new.only(old.edges).within(old.known[again.group]) for new, old in zip(gaps, parts, strict=True)]
        drawn = [*summed(_coefficient_tests(alike, time) for time in again.times())]
    words = ["all coefficients equal", *(f"{name} equal" for name in names)]
    single: Kind = "Cochran's Q"
    kinds: list[Kind] = ["Wald", *[single] * len(names)]
    known = np.concatenate([part.known for part in parts], axis=1)
    columns = [known.any(axis=1), *known.T]
    notes = [_partly_known(fits, rows, names, known), *(_unknown(fits, rows, column) for column in known.T)]
    each = [
        _test(w, k, x[0], x[1], int(c.sum()), d, note)
        for w, k, x, c, d, note in zip(words, kinds, found, columns, drawn, notes, strict=True)
    ]
    return [*tests, *each] if len(names) > 1 else [*tests, each[0]]


def usable_groups(fits: FittedGroups) -> Ints:
    """Groups whose fit reached a maximum; there must be two."""
    rows = np.flatnonzero(fits.batch.converged)
    if len(rows) < 2:
        raise DataError(f"only {len(rows)} of {len(fits)} groups could be fitted; two are needed to compare")
    return rows


def equal_answers(
    fits: FittedGroups, query: Query, what: list[str], *, calibrate: bool = True, random_state: int = 0
) -> list[Invariance]:
    """Cochran's Q of the answers to a question, one test for each outcome in ``what``."""
    rows = usable_groups(fits)
    sample = sample_of(fits, rows)
    values, errors = group_estimate(sample, fits.options, query)
    drawn: list[Drawn | None] = [None] * len(what)
    if calibrate:
        again = redraw(fits, sample, random_state)
        new_values, new_errors = group_estimate(again.sample, fits.options, query)
        gaps = np.where(np.isfinite(errors[again.group]), new_values - values[again.group], np.nan)
        drawn = [
            *summed(
                [cochran(gaps[time, k], new_errors[time, k])[:2] for k in range(len(what))] for time in again.times()
            )
        ]
    tests = []
    for k, (text, d) in enumerate(zip(what, drawn, strict=True)):
        statistic, df, groups = cochran(values[:, k], errors[:, k])
        note = _unknown(fits, rows, has_error(values[:, k], errors[:, k]))
        tests.append(_test(f"{text} equal", "Cochran's Q", statistic, df, groups, d, note))
    return tests


def equal_numbers(fits: FittedGroups, what: str, values: Floats, errors: Floats) -> Invariance:
    """Cochran's Q of a number of all groups with its standard errors, as they come; rows are not drawn again."""
    rows = usable_groups(fits)
    statistic, df, groups = cochran(values[rows], errors[rows])
    lacking = _unknown(fits, rows, has_error(values[rows], errors[rows]))
    said = _joined("by the chi-square distribution: rows with kinds are not drawn again", lacking)
    return _test(f"{what} equal", "Cochran's Q", statistic, df, groups, None, said)


def cochran(values: Floats, errors: Floats) -> tuple[float, float, int]:
    """Cochran's Q of estimates with standard errors, its degrees of freedom, and of how many groups.

    Groups without a standard error are left out; of fewer than two there is nothing to compare, and no df.
    """
    known = has_error(values, errors)
    count = int(known.sum())
    if count < 2:
        return 0.0, 0.0, count
    weight = 1.0 / errors[known] ** 2
    middle = (weight @ values[known]) / weight.sum()
    return float(weight @ (values[known] - middle) ** 2), count - 1.0, count


def equal_vectors(values: Floats, spread: Floats, known: Flags) -> tuple[float, float]:
    """Wald statistic and degrees of freedom of equal vectors, ``sum (t_g - t)' P_g (t_g - t)``.

    ``P_g`` is the precision of the entries that group tells; for others it is zero.
    """
    some = known.any(axis=0)
    values, spread, known = values[:, some], spread[:, some][:, :, some], known[:, some]
    both = known[:, :, None] & known[:, None, :]
    precision = np.where(both, np.linalg.inv(np.where(both, spread, np.eye(spread.shape[1]))), 0.0)
    values = np.where(known, values, 0.0)
    middle = np.linalg.solve(precision.sum(axis=0), np.einsum("gab,gb->a", precision, values))
    gap = values - middle
    return float(np.einsum("ga,gab,gb->", gap, precision, gap)), float(known.sum() - known.shape[1])


def _all_equal(fits: FittedGroups, rows: Ints, calibrate: bool, random_state: int) -> Invariance:
    sample = sample_of(fits, rows)
    if sample.incomplete:
        pooled = pooled_fit(fits, [fits.groups[int(i)] for i in rows])
    else:
        pooled = fit_model(
            fits.graph, pooled_within(fits, rows), noise=dict(fits.options.noise), starts=fits.starts,
            max_iter=fits.max_iter,
        )  # fmt: skip
    rank = kind_of_data(pooled).determined(pooled)
    statistic = max(0.0, 2.0 * (float(fits.batch.loglik[rows].sum()) - pooled.loglik))
    drawn = _draw_all_equal(fits, sample, pooled, rank, random_state) if calibrate else None
    return _test(
        "everything equal",
        "likelihood ratio",
        statistic,
        (len(rows) - 1.0) * rank,
        len(rows),
        drawn,
        _unfitted(fits, rows),
    )


def _draw_all_equal(fits: FittedGroups, sample: Sample, pooled: Fitted, rank: int, random_state: int) -> Drawn:
    """The likelihood ratio in data of groups that are alike."""
    again = redraw(fits, sample, random_state, alike=pooled.model)
    times = list(again.times())
    n = again.sample.n
    if not len(n):
        return Drawn(0.0, 0.0)
    if sample.incomplete:
        together = np.array([_pooled_loglik(fits, again.data(time)) for time in times])
    else:
        total = np.array([n[time].sum() for time in times])
        mixed = np.stack([np.einsum("g,gij->ij", n[time], again.cov[time]) for time in times])
        together = fit_batch(
            fits.graph, cov=mixed / total[:, None, None], n=total, noise=dict(fits.options.noise), starts=fits.starts,
            max_iter=fits.max_iter,
        ).loglik  # fmt: skip
    size = np.array([time.stop - time.start for time in times])
    apart = np.array([again.sample.batch.loglik[time].sum() for time in times])
    known = np.isfinite(together)
    return Drawn(float(2.0 * (apart - together)[known].sum()), float((size - 1.0)[known].sum() * rank))


def _pooled_loglik(fits: FittedGroups, data: list[Moments | Patterns]) -> float:
    try:
        return pooled_fit(fits, data).loglik
    except DataError:  # drawn data that no model can be fitted to
        return float("nan")


def _asked(fits: FittedGroups, part: Part) -> list[Edge]:
    """Coefficients that every group tells, and those that some do not although the graph determines them."""
    return [
        edge
        for edge, known in zip(part.edges, part.known.T, strict=True)
        if known.all() or identify(fits.graph, DirectEffect(edge.first, edge.second)).identified
    ]


def _coefficient_tests(parts: list[Part], groups: slice) -> list[tuple[float, float]]:
    """All coefficients together, then each."""
    each: list[tuple[float, float]] = []
    statistic, df = 0.0, 0.0
    for part in parts:
        values, spread, known = part.values[groups], part.spread[groups], part.known[groups]
        more, k = equal_vectors(values, spread, known)
        statistic, df = statistic + more, df + k
        errors = np.sqrt(np.where(known, np.diagonal(spread, axis1=1, axis2=2), np.nan))
        each += [cochran(values[:, a], errors[:, a])[:2] for a in range(len(part.edges))]
    return [(statistic, df), *each]


def _test(
    hypothesis: str, kind: Kind, statistic: float, df: float, groups: int, drawn: Drawn | None, note: str
) -> Invariance:
    from scipy.special import chdtrc

    nan = float("nan")
    if df <= 0.0:
        why = f"{groups or 'no'} group{'s' if groups != 1 else ''} can tell, and two are needed to compare"
        return Invariance(hypothesis, kind, nan, nan, nan, nan, groups, _joined(why, note))
    if drawn is None:
        return Invariance(hypothesis, kind, statistic, df, 1.0, float(chdtrc(df, statistic)), groups, note)
    if drawn.df <= 0.0 or not 0.0 < drawn.statistic < np.inf:
        why = "data drawn again from these models tell nothing, so there is no p-value; see calibrate=False"
        return Invariance(hypothesis, kind, statistic, df, nan, nan, groups, _joined(why, note))
    return Invariance(hypothesis, kind, statistic, df, drawn.inflation, drawn.p(statistic, df), groups, note)


# -- which groups were left out -------------------------------------------------------------------


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _unfitted(fits: FittedGroups, rows: Ints) -> str:
    out = np.setdiff1d(np.arange(len(fits)), rows)
    return f"left out, for their fits reached no maximum: {_groups(fits, out)}" if len(out) else ""


def _unknown(fits: FittedGroups, rows: Ints, known: Flags) -> str:
    out = rows[~known]
    lacking = f"left out, for their data do not determine it: {_groups(fits, out)}" if len(out) else ""
    return _joined(lacking, _unfitted(fits, rows))


def _partly_known(fits: FittedGroups, rows: Ints, names: list[str], known: Flags) -> str:
    """Of all coefficients together: which are not compared at all, and which groups count with some of theirs only."""
    count = known.sum(axis=0)
    never = [name for name, k in zip(names, count, strict=True) if k < 2]
    partly = rows[~known[:, count >= 2].all(axis=1)]
    return _joined(
        f"without {', '.join(never)}" if never else "",
        f"without coefficients that their data do not determine: {_groups(fits, partly)}" if len(partly) else "",
        _unfitted(fits, rows),
    )


def _groups(fits: FittedGroups, places: Ints) -> str:
    shown = ", ".join(str(fits.keys[i]) for i in places[:SHOWN])
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return f"{len(places)} group{'s' if len(places) > 1 else ''} ({shown}{more})"
