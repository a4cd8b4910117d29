"""Are groups alike? Likelihood ratio of one covariance structure for all, Wald tests of equal coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halftrek.errors import DataError
from halftrek.estimation import BatchFit, fit_batch
from halftrek.estimation import fit as fit_model
from halftrek.estimation.groups import GroupFits, pooled_within
from halftrek.inference.batch import BatchInformation, batch_estimate, batch_information
from halftrek.inference.calibration import Drawn, redraw, summed
from halftrek.inference.information import FLAT, LEAK, district_information
from halftrek.inference.measures import information_rank
from halftrek.model import Floats
from halftrek.queries import Query

Kind = Literal["likelihood ratio", "Wald", "Cochran's Q"]


@dataclass(frozen=True)
class Invariance:
    """A test that something is equal in all groups; ``groups`` is the number of groups that were compared.

    ``inflation`` is by how much the statistic exceeds its degrees of freedom on average when groups are alike, by
    simulation; the p-value allows for it.
    """

    hypothesis: str
    test: Kind
    statistic: float
    df: float
    inflation: float
    p: float
    groups: int


def invariance_tests(fits: GroupFits, *, calibrate: bool = True, random_state: int = 0) -> list[Invariance]:
    """Everything equal (means are each group's own), all coefficients equal, and each coefficient."""
    rows = usable_groups(fits)
    tests = [] if fits.options.intercepts else [_all_equal(fits, rows, calibrate, random_state)]
    batch, n = fits.batch.take(rows), fits.groups.n[rows]
    parts = _coefficients_of_all(fits, batch, batch.T, n)
    names = [name for part in parts for name in part.names]
    if not names:
        return tests
    found = _coefficient_tests(parts, slice(None))
    drawn: list[Drawn | None] = [None] * len(found)
    if calibrate:
        again = redraw(fits, batch.cov, batch.mean, n, random_state)
        gaps = _coefficients_of_all(fits, again.batch, again.batch.T - batch.T[again.group], again.n, names)
        drawn = [*summed(_coefficient_tests(gaps, time) for time in again.times())]
    words = ["all coefficients equal", *(f"{name} equal" for name in names)]
    single: Kind = "Cochran's Q"
    kinds: list[Kind] = ["Wald", *[single] * len(names)]
    each = [_test(w, k, *x, len(rows), d) for w, k, x, d in zip(words, kinds, found, drawn, strict=True)]
    return [*tests, *each] if len(names) > 1 else [*tests, each[0]]


def usable_groups(fits: GroupFits) -> NDArray[np.intp]:
    """Groups whose fit reached a maximum; there must be two."""
    rows = np.flatnonzero(fits.batch.converged)
    if len(rows) < 2:
        raise DataError(f"only {len(rows)} of {len(fits)} groups could be fitted; two are needed to compare")
    return rows


def equal_answers(
    fits: GroupFits, query: Query, what: list[str], *, calibrate: bool = True, random_state: int = 0
) -> list[Invariance]:
    """Cochran's Q of the answers to a question, one test for each outcome in ``what``."""
    rows = usable_groups(fits)
    batch, n = fits.batch.take(rows), fits.groups.n[rows]
    found = batch_estimate(batch, fits.options, query, n)
    drawn: list[Drawn | None] = [None] * len(what)
    if calibrate:
        again = redraw(fits, batch.cov, batch.mean, n, random_state)
        new = batch_estimate(again.batch, fits.options, query, again.n)
        gaps = new.values - found.values[again.group]
        drawn = [
            *summed(
                [cochran(gaps[time, k], new.errors[time, k])[:2] for k in range(len(what))] for time in again.times()
            )
        ]
    tests = []
    for k, (text, d) in enumerate(zip(what, drawn, strict=True)):
        statistic, df, groups = cochran(found.values[:, k], found.errors[:, k])
        tests.append(_test(f"{text} equal", "Cochran's Q", statistic, df, groups, d))
    return tests


def cochran(values: Floats, errors: Floats) -> tuple[float, float, int]:
    """Cochran's Q of estimates with standard errors, its degrees of freedom, and of how many groups."""
    told = np.isfinite(errors) & (errors > 0.0)
    if told.sum() < 2:
        raise DataError("fewer than two groups have a standard error for this, so they cannot be compared")
    weight = 1.0 / errors[told] ** 2
    middle = (weight @ values[told]) / weight.sum()
    count = int(told.sum())
    return float(weight @ (values[told] - middle) ** 2), count - 1.0, count


def equal_vectors(values: Floats, precision: Floats) -> tuple[float, float]:
    """Wald statistic and degrees of freedom of equal vectors, ``sum (t_g - t)' P_g (t_g - t)``."""
    total = precision.sum(axis=0)
    middle = np.linalg.solve(total, np.einsum("gab,gb->a", precision, values))
    gap = values - middle
    return float(np.einsum("ga,gab,gb->", gap, precision, gap)), float((len(values) - 1) * values.shape[1])


def _all_equal(fits: GroupFits, rows: NDArray[np.intp], calibrate: bool, random_state: int) -> Invariance:
    pooled = fit_model(
        fits.graph, pooled_within(fits, rows), noise=dict(fits.options.noise), starts=fits.starts,
        max_iter=fits.max_iter,
    )  # fmt: skip
    rank = sum(information_rank(block.matrix) for block in district_information(pooled))
    statistic = max(0.0, 2.0 * (float(fits.batch.loglik[rows].sum()) - pooled.loglik))
    drawn = _draw_all_equal(fits, pooled.model.cov, fits.groups.n[rows], rank, random_state) if calibrate else None
    return _test("everything equal", "likelihood ratio", statistic, (len(rows) - 1.0) * rank, len(rows), drawn)


def _draw_all_equal(fits: GroupFits, cov: Floats, n: Floats, rank: int, random_state: int) -> Drawn:
    """The likelihood ratio in data of groups that are alike."""
    same = np.broadcast_to(cov, (len(n), *cov.shape))
    again = redraw(fits, same, np.zeros(same.shape[:2]), n, random_state)
    times = list(again.times())
    total = np.array([again.n[time].sum() for time in times])
    mixed = np.stack([np.einsum("g,gij->ij", again.n[time], again.cov[time]) for time in times])
    together = fit_batch(
        fits.graph, cov=mixed / total[:, None, None], n=total, noise=dict(fits.options.noise), starts=fits.starts,
        max_iter=fits.max_iter,
    )  # fmt: skip
    size = np.array([time.stop - time.start for time in times])
    apart = np.array([again.batch.loglik[time].sum() for time in times])
    return Drawn(float(2.0 * (apart - together.loglik).sum()), float((size - 1.0).sum() * rank))


@dataclass(frozen=True, eq=False)
class _Part:
    """A district's coefficients: names, values by group, covariances by group."""

    names: list[str]
    values: Floats
    spread: Floats


def _coefficients_of_all(
    fits: GroupFits, batch: BatchFit, values: Floats, n: Floats, wanted: list[str] | None = None
) -> list[_Part]:
    """By district, the coefficients that data determine (of these the wanted ones); ``values`` stand where T does."""
    parts = []
    for block in batch_information(batch, fits.options):
        names, found, spread = _coefficients(block, fits, values, n)
        keep = [a for a, name in enumerate(names) if wanted is None or name in wanted]
        if keep:
            parts.append(_Part([names[a] for a in keep], found[:, keep], spread[:, keep][:, :, keep]))
    return parts


def _coefficient_tests(parts: list[_Part], groups: slice) -> list[tuple[float, float]]:
    """All coefficients together, then each."""
    each: list[tuple[float, float]] = []
    statistic, df = 0.0, 0.0
    for part in parts:
        values, spread = part.values[groups], part.spread[groups]
        more, k = equal_vectors(values, np.linalg.inv(spread))
        statistic, df = statistic + more, df + k
        each += [cochran(values[:, a], np.sqrt(spread[:, a, a]))[:2] for a in range(len(part.names))]
    return [(statistic, df), *each]


def _coefficients(block: BatchInformation, fits: GroupFits, T: Floats, n: Floats) -> tuple[list[str], Floats, Floats]:
    """A district's coefficients that data determine in every group, one for each label, with covariances."""
    task, shape, m = block.task, block.task.shape, block.task.shape.slots
    own, link = block.scale[:, m:], block.state.problem.link
    names, entries, probes, seen = [], [], [], set()
    for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
        if not 0 <= slot < T.shape[1]:
            continue
        tie = None if task.ties is None else task.ties[a]
        if isinstance(tie, float) or (tie is not None and tie in seen):
            continue
        seen.add(tie)
        probe = np.zeros((len(own), shape.parameters))
        probe[:, a] = own[:, j] / block.scale[:, a]
        probes.append(probe if link is None else (probe[:, None, :] @ link)[:, 0])
        v = task.variables[j]
        entries.append((slot, v))
        names.append(f"{fits.batch.names[slot]} -> {fits.batch.names[v]}")
    if not names:
        return [], np.zeros((len(T), 0)), np.zeros((len(T), 0, 0))
    values, vectors, scale = block.spectrum()
    along = np.stack(probes, axis=1) / scale[:, None, :] @ vectors
    told = (values > FLAT * values[:, -1:])[:, None, :]
    lost = np.abs(np.where(told, 0.0, along)).max(axis=2) > LEAK * np.abs(along).max(axis=2)
    keep = np.flatnonzero(~lost.any(axis=0))
    weighted = np.where(told, along / np.sqrt(np.where(told, values[:, None, :], 1.0)), 0.0)[:, keep]
    spread = weighted @ weighted.transpose(0, 2, 1) / n[:, None, None]
    chosen = (
        np.stack([T[:, entries[a][0], entries[a][1]] for a in keep], axis=1) if len(keep) else np.zeros((len(T), 0))
    )
    return [names[a] for a in keep], chosen, spread


def _test(hypothesis: str, kind: Kind, statistic: float, df: float, groups: int, drawn: Drawn | None) -> Invariance:
    from scipy.special import chdtrc

    if drawn is None:
        return Invariance(hypothesis, kind, statistic, df, 1.0, float(chdtrc(df, statistic)), groups)
    return Invariance(hypothesis, kind, statistic, df, drawn.inflation, drawn.p(statistic, df), groups)
