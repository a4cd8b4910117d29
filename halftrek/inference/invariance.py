"""Are groups alike? Likelihood ratio of one covariance structure for all, Wald tests of equal coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halftrek.errors import DataError, InputError
from halftrek.estimation import fit as fit_model
from halftrek.estimation.groups import GroupFits, pooled_within
from halftrek.inference.batch import BatchInformation, batch_information
from halftrek.inference.information import FLAT, LEAK, district_information
from halftrek.inference.measures import information_rank
from halftrek.model import Floats


@dataclass(frozen=True)
class Invariance:
    """A test that something is equal in all groups; ``groups`` is the number of groups that were compared."""

    hypothesis: str
    test: Literal["likelihood ratio", "Wald", "Cochran's Q"]
    statistic: float
    df: float
    p: float
    groups: int


def invariance_tests(fits: GroupFits) -> list[Invariance]:
    """Everything equal (means are each group's own), all coefficients equal, and each coefficient."""
    rows = usable_groups(fits)
    batch, n = fits.batch.take(rows), fits.groups.n[rows]
    each: list[Invariance] = []
    statistic, df = 0.0, 0
    for block in batch_information(batch, fits.options):
        names, values, precision = _coefficients(block, fits, batch.T, n)
        if not names:
            continue
        more, k = equal_vectors(values, precision)
        statistic, df = statistic + more, df + k
        spread = np.linalg.inv(precision)
        for a, name in enumerate(names):
            each.append(cochran(f"{name} equal", values[:, a], np.sqrt(spread[:, a, a])))
    tests = [] if fits.options.intercepts else [_all_equal(fits, rows)]
    if df:
        tests.append(_test("all coefficients equal", "Wald", statistic, df, len(rows)))
    return [*tests, *(each if len(each) > 1 else [])]


def usable_groups(fits: GroupFits) -> NDArray[np.intp]:
    """Groups whose fit reached a maximum; there must be two."""
    rows = np.flatnonzero(fits.batch.converged)
    if len(rows) < 2:
        raise DataError(f"only {len(rows)} of {len(fits)} groups could be fitted; two are needed to compare")
    return rows


def cochran(hypothesis: str, values: Floats, errors: Floats) -> Invariance:
    """Cochran's Q of estimates with standard errors; groups without an error are left out."""
    told = np.isfinite(errors) & (errors > 0.0)
    if told.sum() < 2:
        raise InputError(f"{hypothesis}: fewer than two groups have a standard error, so they cannot be compared")
    weight = 1.0 / errors[told] ** 2
    middle = (weight @ values[told]) / weight.sum()
    q = float(weight @ (values[told] - middle) ** 2)
    return _test(hypothesis, "Cochran's Q", q, int(told.sum()) - 1, int(told.sum()))


def equal_vectors(values: Floats, precision: Floats) -> tuple[float, int]:
    """Wald statistic and degrees of freedom of equal vectors, ``sum (t_g - t)' P_g (t_g - t)``."""
    total = precision.sum(axis=0)
    middle = np.linalg.solve(total, np.einsum("gab,gb->a", precision, values))
    gap = values - middle
    return float(np.einsum("ga,gab,gb->", gap, precision, gap)), (len(values) - 1) * values.shape[1]


def _all_equal(fits: GroupFits, rows: NDArray[np.intp]) -> Invariance:
    pooled = fit_model(
        fits.graph, pooled_within(fits, rows), noise=dict(fits.options.noise), starts=fits.starts,
        max_iter=fits.max_iter,
    )  # fmt: skip
    rank = sum(information_rank(block.matrix) for block in district_information(pooled))
    statistic = max(0.0, 2.0 * (float(fits.batch.loglik[rows].sum()) - pooled.loglik))
    return _test("everything equal", "likelihood ratio", statistic, (len(rows) - 1) * rank, len(rows))


def _coefficients(block: BatchInformation, fits: GroupFits, T: Floats, n: Floats) -> tuple[list[str], Floats, Floats]:
    """A district's coefficients that data determine in every group, one for each label, with their precision."""
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
    return [names[a] for a in keep], chosen, np.linalg.inv(spread)


def _test(
    hypothesis: str, kind: Literal["likelihood ratio", "Wald", "Cochran's Q"], statistic: float, df: int, groups: int
) -> Invariance:
    from scipy.special import chdtrc

    return Invariance(hypothesis, kind, statistic, float(df), float(chdtrc(df, statistic)), groups)
