"""How far the information about effects is from none: a first-stage F for every answer, whatever identifies it.

An effect that hidden causes confound is known by what sets it apart from them. With ``V`` the variance of an answer
when the error covariances are estimated beside the coefficients, and ``V0`` when they are known, ``n / (V/V0 - 1)`` is
the first-stage F of an instrument times ``1 - rho²``, with rho the correlation of the two errors: small where the
answer hangs on a thread, infinite in a regression.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.edge_slopes import EdgeSlopes
from halftrek.inference.information.information import DistrictInformation, district_information
from halftrek.inference.information.missing.incomplete import pattern_information
from halftrek.inference.standard_errors.delta import with_intercepts
from halftrek.models.gaussian import pseudo_inverse
from halftrek.queries.gradients import Gradient

SHARE = 0.01  # of an answer's variance that a district has to have to count


def strengths(fit: Fitted, gradients: Sequence[Gradient]) -> Floats:
    """For each number with these gradients the strength of the weakest district that it rests on."""
    return kind_of_data(fit).strengths(fit, gradients) if len(gradients) else np.zeros(0)


def district_strengths(fit: Fitted, gradients: Sequence[Gradient]) -> Floats:
    """The same where moments are complete."""
    touched = np.zeros(len(fit.model.names), dtype=bool)
    if isinstance(gradients, EdgeSlopes):
        touched = gradients.touched
    else:
        for g in gradients:
            touched |= g.T.any(axis=0)
    parts = [
        _of_block(fit, block, gradients)
        for block in district_information(fit, touching=touched)
        if block.task.shape.pairs or block.task.shape.loadings
    ]
    if not parts:
        return np.full(len(gradients), np.inf)
    variance, ratio = (np.array([part[k] for part in parts]) for k in (0, 1))
    counts = variance > SHARE * variance.sum(axis=0)
    return as_strength(np.where(counts, ratio, 1.0).max(axis=0), fit.n)


def _of_block(fit: Fitted, block: DistrictInformation, gradients: Sequence[Gradient]) -> tuple[Floats, Floats]:
    """What a district adds to each variance, and by how much estimating its error covariances makes it larger."""
    if isinstance(gradients, EdgeSlopes):
        pulled = gradients.pulled(block)
    else:
        pulled = np.array([block.pull(*with_intercepts(fit, g)) for g in gradients])
    link = block.state.problem.link
    slots = block.task.shape.slots
    tied = None if link is None else np.abs(link[0][:slots]).any(axis=0)
    coefficients = np.arange(pulled.shape[1]) < slots if tied is None else tied
    pulled = np.where(coefficients, pulled, 0.0)
    full = block.spreads(pulled)
    alone = _variances(block.matrix[np.ix_(coefficients, coefficients)], pulled[:, coefficients])
    return np.nan_to_num(full), ratios(full, alone)


def whole_strengths(fit: Fitted, gradients: Sequence[Gradient]) -> Floats:
    """The same where values are missing, over all parameters at once."""
    known = pattern_information(fit, "expected")
    space = known.space
    coefficients = np.zeros(space.size, dtype=bool)
    coefficients[space.T_at[:, 2]] = True
    pulled = np.array([np.where(coefficients, known.pull(g), 0.0) for g in gradients])
    full = known.spreads(pulled)
    beside = coefficients.copy()
    beside[space.mu_at[:, 2]] = True  # intercepts are estimated too, or the zeros of variables would matter
    alone = _variances(known.precise.matrix[np.ix_(beside, beside)], pulled[:, beside])
    return as_strength(ratios(full, alone), fit.n)


def _variances(matrix: Floats, pulled: Floats) -> Floats:
    if not pulled.any():
        return np.zeros(len(pulled))
    return np.asarray((pulled @ pseudo_inverse(matrix) * pulled).sum(axis=1))


def ratios(full: Floats, alone: Floats) -> Floats:
    """Of variances with error covariances estimated and known; 1 where there is nothing to compare."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((alone > 0.0) & np.isfinite(full), full / alone, 1.0))


def as_strength(ratio: Floats, n: float | Floats) -> Floats:
    """As a first-stage F."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(ratio > 1.0 + 1e-9, n / np.maximum(ratio - 1.0, 1e-300), np.inf))
