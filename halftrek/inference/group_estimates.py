"""Answers of many fitted groups: complete ones in one array program, those with missing values from their own fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halftrek.estimation import BatchFit, Fit
from halftrek.estimation.groups import GroupFits
from halftrek.estimation.options import Options
from halftrek.estimation.plan import Task, make_plan
from halftrek.inference.batch import BatchEstimate, batch_estimate
from halftrek.inference.delta import standard_errors
from halftrek.inference.incomplete import pattern_information
from halftrek.model import Floats, Gaussian
from halftrek.queries import Query, evaluate
from halftrek.queries.gradients import linearize

Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """Fitted models of some groups, none of which failed, and their numbers of rows.

    ``holed`` are the fits of groups whose rows have holes, by their place in the batch.
    """

    batch: BatchFit
    n: Floats
    holed: Mapping[int, Fit]

    @property
    def complete(self) -> NDArray[np.intp]:
        """Places of the groups without holes."""
        return np.array([i for i in range(len(self.n)) if i not in self.holed], dtype=np.intp)


def sample_of(fits: GroupFits, rows: NDArray[np.intp]) -> Sample:
    """Some of the groups."""
    place = {int(row): i for i, row in enumerate(rows)} if fits.holed else {}
    holed = {place[i]: fit for i, fit in fits.holed.items() if i in place}
    return Sample(fits.batch.take(rows), fits.groups.n[rows], holed)


def group_estimate(sample: Sample, options: Options, query: Query) -> BatchEstimate:
    """The answers of all groups: standard errors by the expected information, where values are missing the observed."""
    if not sample.holed:
        return batch_estimate(sample.batch, options, query, sample.n)
    rows = sample.complete
    parts = [(np.array([i]), _alone(fit, query)) for i, fit in sample.holed.items()]
    if len(rows):
        parts.append((rows, batch_estimate(sample.batch.take(rows), options, query, sample.n[rows])))
    districts = tuple(dict.fromkeys(d for _, part in parts for d in part.districts))
    shares = np.zeros((len(sample.n), parts[0][1].values.shape[1], len(districts)))
    for where, part in parts:
        for k, district in enumerate(part.districts):
            shares[where, :, districts.index(district)] = part.shares[:, :, k]
    order = np.argsort(np.concatenate([where for where, _ in parts]))
    values, errors, variances, variance_errors = (
        np.concatenate([getattr(part, name) for _, part in parts])[order]
        for name in ("values", "errors", "variances", "variance_errors")
    )
    return BatchEstimate(values, errors, variances, variance_errors, districts, shares)


def _alone(fit: Fit, query: Query) -> BatchEstimate:
    """The answer of one group with holes."""
    result = evaluate(query, fit.model)
    values = result.mean if isinstance(result, Gaussian) else np.array([result])
    variances = result.variance if isinstance(result, Gaussian) else np.zeros(0)
    errors, variance_errors = standard_errors(fit, query)
    districts, shares = _shares(fit, query)
    return BatchEstimate(values[None], errors[None], variances[None], variance_errors[None], districts, shares[None])


def _shares(fit: Fit, query: Query) -> tuple[tuple[Places, ...], Floats]:
    """What each district would add to the square of a value's error if it were the only one that the answer needs.

    Where values are missing districts are not independent, and these do not add up exactly.
    """
    known = pattern_information(fit)
    pulled = [known.pull(g) for g in linearize(query, fit.model).values]
    districts, shares = [], []
    for task in make_plan(fit.graph, fit.model.names, fit.options).every_task:
        own = _parameters_of(fit, task.variables)
        parts = [np.where(own, g, 0.0) for g in pulled]
        if any(part.any() for part in parts):
            districts.append(task.variables)
            shares.append([known.spread(part) / fit.n for part in parts])
    return tuple(districts), np.array(shares).reshape(len(districts), len(pulled)).T


def _parameters_of(fit: Fit, variables: Places) -> NDArray[np.bool_]:
    """Which parameters belong to the equations of a district."""
    space = pattern_information(fit).space
    found = np.zeros(space.size, dtype=bool)
    for entries, column in ((space.T_at, 1), (space.W_at, 0), (space.C_at, 1), (space.mu_at, 0)):
        found[entries[np.isin(entries[:, column], variables), 2]] = True
    return found


# -- how many rows are behind it -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupSupport:
    """What the values of groups rest on: arrays ``(group, value, district)``, ``parameters`` with one a district.

    ``variance`` is what a district adds to the square of an error, ``rows`` how many rows inform it there, and
    ``parameters`` those of its largest equation. With ``free`` residual degrees of freedom an error for large samples
    has to grow by the root of ``rows / free``, and its quantile is that of Student's t.
    """

    variance: Floats
    rows: Floats
    parameters: Floats

    @property
    def free(self) -> Floats:
        """Residual degrees of freedom: rows less parameters."""
        return np.asarray(self.rows - self.parameters)


def group_support(sample: Sample, options: Options, found: BatchEstimate) -> GroupSupport:
    """The rows and parameters behind the values of all groups."""
    plan = make_plan(sample.batch.graph, sample.batch.names, options)
    sizes = {task.variables: _equation_size(task) for task in plan.every_task}
    parameters = np.array([sizes[d] for d in found.districts], dtype=float)
    rows = informing_rows(sample, found.districts)[:, None, :]
    return GroupSupport(found.shares, np.broadcast_to(rows, found.shares.shape), parameters)


def _equation_size(task: Task) -> int:
    """Parameters of a district's largest equation: regressors, error covariances, loadings, the intercept."""
    shape = task.shape
    count = np.zeros(shape.size, dtype=np.intp)
    for j in (*shape.column, *(v for pair in shape.pairs for v in pair), *(j for _, j in shape.loadings)):
        count[j] += 1
    return 1 + int(count.max(initial=0))


def informing_rows(sample: Sample, districts: Sequence[Places]) -> Floats:
    """How many rows of each group inform each district: those that have all variables of its equations."""
    found = np.repeat(sample.n[:, None], len(districts), axis=1)
    graph, names = sample.batch.graph, sample.batch.names
    around = [{names[j] for j in d} | {u for j in d for u in graph.parents(names[j])} for d in districts]
    for i, fit in sample.holed.items():
        assert fit.patterns is not None
        for d, variables in enumerate(around):
            at = [fit.patterns.names.index(v) for v in variables]
            found[i, d] = fit.patterns.n @ fit.patterns.observed[:, at].all(axis=1)
    return found
