"""Errors and intervals of parameters from the fits of drawn data sets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import BatchFit, Fitted
from halftrek.estimation.space import make_space
from halftrek.inference.draws.bootstrap import Replicates
from halftrek.inference.evidence.evidence import two_sided
from halftrek.inference.how import How

if TYPE_CHECKING:
    from halftrek.inference.tables.definitions import Sides
    from halftrek.inference.tables.parameter import Parameter


def draws_of_parameters(rows: list[Parameter], drawn: Replicates, fit: Fitted, how: How) -> list[Parameter]:
    """Each row with its error and interval over replicates; what is fixed or undetermined stays as it is."""
    batch = drawn.batch
    inside = _error_covariances(fit, batch)
    tails = [(1.0 - how.level) / 2.0, (1.0 + how.level) / 2.0]
    found = []
    for row in rows:
        if not row.se > 0.0 or len(batch) < 2:
            found.append(row)
            continue
        values = _values(row, batch, inside, fit)
        factor = drawn.factor(values[:, None], np.array([row.est]), how.level)
        error, reach = float(factor.errors()[0]), float(factor.reaches()[0])
        low, high = row.est - reach, row.est + reach
        if drawn.percentile:
            low, high = (float(x) for x in np.quantile(values, tails))
        z = row.est / error if error else float("nan")
        p = float(two_sided(np.array(z), reach / error if error else how.quantile, how.level))
        found.append(replace(row, se=error, z=z, p=p, ci_low=low, ci_high=high))
    return found


def _error_covariances(fit: Fitted, batch: BatchFit) -> Floats:
    """Covariances of errors beside the hidden causes that have loadings of their own."""
    explicit = list(make_space(fit.graph, fit.model.names, fit.options).latents)
    C = batch.C[:, explicit]
    return np.asarray(batch.omega - C.transpose(0, 2, 1) @ C)


def _values(row: Parameter, batch: BatchFit, inside: Floats, fit: Fitted) -> Floats:
    if row.op == ":=":
        from halftrek.inference.tables.definitions import defined_values

        return defined_values(fit.graph, lambda sides: _at(sides, batch, inside), row.lhs)
    return _at((row.lhs, row.op, row.rhs), batch, inside)


def _at(sides: Sides, batch: BatchFit, inside: Floats) -> Floats:
    at = {v: i for i, v in enumerate(batch.names)}
    left, operator, right = sides
    match operator:
        case "~":
            return batch.T[:, at[right], at[left]]
        case "=~" if left in at:
            return batch.T[:, at[left], at[right]]
        case "=~":
            return batch.C[:, batch.latents.index(left), at[right]]
        case "~~":
            return inside[:, at[left], at[right]]
        case _:
            return batch.mu[:, at[left]]
