"""How well the model fits in many groups at once: the same as ``checks.measures``, with a leading axis for groups."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation.given.checks import well_posed
from halftrek.estimation.many.groups import PIECE, FittedGroups
from halftrek.inference.checks.measures import Measures, free_roots, measured
from halftrek.inference.groups.batch import batch_information
from halftrek.inference.information.dimension import CLEAR, district_dimension, exact_dimension

MEASURES = tuple(f.name for f in fields(Measures))


def group_measures(fits: FittedGroups, rows: Ints) -> list[Measures]:
    """The measures of some complete groups, none of which failed, by the likelihood of normal rows."""
    return [one for k in range(0, len(rows), PIECE) for one in _measured(fits, rows[k : k + PIECE])]


def _measured(fits: FittedGroups, rows: Ints) -> list[Measures]:
    batch, n, S = fits.batch.take(rows), fits.groups.n[rows], fits.groups.cov[rows]
    p, has_mean = len(batch.names), fits.groups.has_mean
    means = p if has_mean else 0
    parameters = _determined(fits, rows) + (0 if fits.options.intercepts else means)
    df = p * (p + 1) // 2 + means - parameters
    free, pairs = free_roots(fits.graph, batch.names)
    apart = [[v] for v in batch.names if v not in free] + ([free] if free else [])
    best = _best_loglik(S, n)
    place = {v: i for i, v in enumerate(batch.names)}
    baseline = sum(_best_loglik(_block(S, [place[v] for v in names]), n) for names in apart)
    worst, worst_df = np.maximum(0.0, 2.0 * (best - baseline)), p * (p - 1) // 2 - pairs
    with_means, alone = _srmr(S, batch.cov, fits.groups.mean[rows] - batch.mean if has_mean else None)
    posed = well_posed(S, n)
    found = []
    for k in range(len(rows)):
        counts, base = (int(parameters[k]), int(df[k])), (float(worst[k]), worst_df)
        both = float(with_means[k]), float(alone[k])
        whole = measured(float(n[k]), counts, float(batch.loglik[k]), float(best[k]), base, both)
        found.append(whole if posed[k] else whole.without_unrestricted())
    return found


def _determined(fits: FittedGroups, rows: Ints) -> Ints:
    """How many parameters the moments of each group determine, free means not counted."""
    batch = fits.batch.take(rows)
    total, clear = 0, np.ones(len(rows), dtype=bool)
    for block in batch_information(batch, fits.options):
        values = block.spectrum()[0]
        total += values.shape[1]
        if values.shape[1]:
            clear &= values[:, 0] > CLEAR * values[:, -1]
    found = np.full(len(rows), total)
    if not clear.all():
        if not fits.options.noise and not fits.options.intercepts:
            found[~clear] = exact_dimension(fits.graph)
        else:
            found[~clear] = [district_dimension(fits.one(fits.keys[int(i)])) for i in rows[~clear]]
    return found


def _block(S: Floats, at: list[int]) -> Floats:
    return np.asarray(S[:, np.array(at)[:, None], at])


def _best_loglik(S: Floats, n: Floats) -> Floats:
    """The log-likelihood of the best mean and covariance that no model restricts."""
    p = S.shape[1]
    return np.asarray(-0.5 * n * (p * np.log(2.0 * np.pi) + np.linalg.slogdet(S)[1] + p))


def _srmr(S: Floats, fitted: Floats, gap: Floats | None) -> tuple[Floats, Floats]:
    """Root mean square of standardised residuals: with the means, if there are any, and without."""
    p = S.shape[1]
    scale = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
    residual = (S - fitted) / (scale[:, :, None] * scale[:, None, :])
    squares = (residual[:, *np.tril_indices(p)] ** 2).sum(axis=1)
    alone = np.sqrt(squares / (p * (p + 1) / 2))
    if gap is None:
        return alone, alone
    return np.sqrt((squares + ((gap / scale) ** 2).sum(axis=1)) / (p * (p + 1) / 2 + p)), alone
