"""Answers of many fitted groups: complete ones in one array program, those with missing values from their own fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import BatchFit, Fitted
from halftrek.estimation.given.options import Options
from halftrek.estimation.many.groups import FittedGroups
from halftrek.inference.groups.batch import BatchEstimate, batch_estimate
from halftrek.inference.standard_errors.delta import standard_errors
from halftrek.models import Gaussian
from halftrek.queries import Query, evaluate


@dataclass(frozen=True, eq=False)
class Sample:
    """Fitted models of some groups, none of which failed, and their numbers of rows.

    ``incomplete`` are the fits of groups whose rows have holes, by their place in the batch.
    """

    batch: BatchFit
    n: Floats
    incomplete: Mapping[int, Fitted]

    @property
    def complete(self) -> Ints:
        """Places of the groups without holes."""
        return np.array([i for i in range(len(self.n)) if i not in self.incomplete], dtype=np.intp)


def sample_of(fits: FittedGroups, rows: Ints) -> Sample:
    """Some of the groups."""
    place = {int(row): i for i, row in enumerate(rows)} if fits.alone else {}
    incomplete = {place[i]: fit for i, fit in fits.alone.items() if i in place}
    return Sample(fits.batch.take(rows), fits.groups.n[rows], incomplete)


def group_estimate(sample: Sample, options: Options, query: Query) -> tuple[Floats, Floats]:
    """Values of all groups and their standard errors for large samples.

    These are from the expected information, where values are missing from the observed.
    """
    rows = sample.complete
    parts: list[tuple[Ints, Floats, Floats]] = []
    if len(rows):
        found: BatchEstimate = batch_estimate(sample.batch.take(rows), options, query, sample.n[rows])
        parts.append((rows, found.values, found.errors))
    for i, fit in sample.incomplete.items():
        result = evaluate(query, fit.model)
        own = result.mean if isinstance(result, Gaussian) else np.array([result])
        parts.append((np.array([i]), own[None], standard_errors(fit, query)[0][None]))
    order = np.argsort(np.concatenate([where for where, _, _ in parts]))
    values, errors = (np.concatenate([part[k] for part in parts])[order] for k in (1, 2))
    return values, errors
