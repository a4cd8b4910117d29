"""Errors and intervals of parameters from the fits of drawn data sets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from halftrek.estimation import BatchFit, Fit
from halftrek.estimation.space import make_space
from halftrek.inference.bootstrap import replicates_of
from halftrek.model import Floats

if TYPE_CHECKING:
    from halftrek.inference.parameters import Parameter


def draws_of_parameters(
    fit: Fit,
    rows: list[Parameter],
    *,
    kind: Literal["bootstrap", "parametric"],
    level: float,
    replicates: int,
    random_state: int,
) -> list[tuple[Parameter, float]]:
    """Each row with percentile ends, and its standard error over replicates; what is fixed or undetermined stays."""
    batch = replicates_of(fit, kind, replicates, random_state).batch
    inside = _error_covariances(fit, batch)
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    found = []
    for row in rows:
        if not row.se > 0.0 or len(batch) < 2:
            found.append((row, row.se))
            continue
        values = _values(row, batch, inside)
        low, high = (float(x) for x in np.quantile(values, tails))
        found.append((replace(row, ci_low=low, ci_high=high), float(values.std(ddof=1))))
    return found


def _error_covariances(fit: Fit, batch: BatchFit) -> Floats:
    """Covariances of errors beside the hidden causes that have loadings of their own."""
    explicit = list(make_space(fit.graph, fit.model.names, fit.options).latents)
    C = batch.C[:, explicit]
    return np.asarray(batch.omega - C.transpose(0, 2, 1) @ C)


def _values(row: Parameter, batch: BatchFit, inside: Floats) -> Floats:
    at = {v: i for i, v in enumerate(batch.names)}
    match row.op:
        case "~":
            return batch.T[:, at[row.rhs], at[row.lhs]]
        case "=~":
            return batch.C[:, batch.latents.index(row.lhs), at[row.rhs]]
        case "~~":
            return inside[:, at[row.lhs], at[row.rhs]]
        case _:
            return batch.mu[:, at[row.lhs]]
