"""Data of observed variables as rows of all variables of which nobody has the hidden ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments, Patterns


def opened_data(data: Moments | Patterns, hidden: tuple[str, ...], less: Floats | None = None) -> Patterns:
    """Patterns with a column for each hidden variable, in no row observed; ``less`` is taken off the others.

    Complete moments are one pattern, so that nothing depends on the number of rows.
    """
    q = len(hidden)
    if isinstance(data, Moments):
        p = len(data.names)
        mean, cov = np.zeros((1, p + q)), np.zeros((1, p + q, p + q))
        mean[0, :p], cov[0, :p, :p] = data.mean if less is None else data.mean - less, data.cov
        seen = np.zeros((1, p + q), dtype=bool)
        seen[0, :p] = True
        rows = np.array([max(2, round(data.n))])
        return Patterns((*data.names, *hidden), seen, rows, np.array([data.n]), mean, cov)
    k, c = len(data), len(data.cov)
    mean = np.concatenate([data.mean if less is None else data.less(less).mean, np.zeros((k, q))], axis=1)
    cov = np.zeros((c, len(data.names) + q, len(data.names) + q))
    cov[:, : len(data.names), : len(data.names)] = data.cov
    seen = np.concatenate([data.observed, np.zeros((k, q), dtype=bool)], axis=1)
    return replace(data, names=(*data.names, *hidden), observed=seen, mean=mean, cov=cov, kinds=None)
