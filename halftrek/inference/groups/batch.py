"""Answers of many fitted models of one graph at once, with standard errors by the delta method.

The same mathematics as for one fit (``delta``, ``information``), with a leading axis for the models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation import BatchFit
from halftrek.estimation.district.block import State, directions, evaluate, fisher, hessian
from halftrek.estimation.district.district import make_problem
from halftrek.estimation.district.em import parameters_of
from halftrek.estimation.given.options import Options
from halftrek.estimation.plan import PAD, Plan, Task, make_plan
from halftrek.estimation.solve import gather, sources_of
from halftrek.inference.evidence.strength import SHARE, ratios
from halftrek.inference.information.information import FLAT, LEAK
from halftrek.queries import Query
from halftrek.queries.derivatives import Gradient, mapped, outer
from halftrek.queries.evaluate import values_of
from halftrek.queries.gradients import gradients_of


@dataclass(frozen=True, eq=False)
class BatchEstimate:
    """One line for each model: values (an effect, or the mean of each outcome), variances of outcomes, their errors.

    ``shares`` ``(model, value, district)`` is what each district of ``districts`` (places of its variables) adds to the
    square of a value's error.
    """

    values: Floats
    errors: Floats
    variances: Floats
    variance_errors: Floats
    districts: tuple[tuple[int, ...], ...]
    shares: Floats


def batch_estimate(
    batch: BatchFit, options: Options, query: Query, n: Floats, *, moments: tuple[Floats, Floats] | None = None
) -> BatchEstimate:
    """The answers of all models, none of which may have failed, by the expected information.

    With ``moments``, the covariances and means that the models were fitted to, by the observed one.
    """
    (values, variances), gradients = values_of(query, batch), gradients_of(query, batch)
    slopes = (*gradients.values, *gradients.variances)
    by_intercept = [mapped(batch.B, s.mean) for s in slopes]  # means are those of the errors, m = B'(mu + e)
    used = np.zeros(len(batch.names), dtype=bool)
    for s, h in zip(slopes, by_intercept, strict=True):
        used |= s.T.any(axis=(0, 1)) | s.omega.any(axis=(0, 1)) | h.any(axis=0)
    districts, spread = [], [np.zeros((0, len(slopes), len(batch)))]
    for block in batch_information(batch, options, touching=used, moments=moments):
        districts.append(block.task.variables)
        spread.append(
            np.array([_added(batch, options, block, s, h) for s, h in zip(slopes, by_intercept, strict=True)])[None]
        )
    shares = np.concatenate(spread).T / n[:, None, None]
    errors = np.sqrt(shares.sum(axis=2))
    k = values.shape[1]
    return BatchEstimate(values, errors[:, :k], variances, errors[:, k:], tuple(districts), shares[:, :k])


def batch_ratios(batch: BatchFit, options: Options, query: Query) -> Floats:
    """For each model and value, by how much estimating error covariances makes its variance larger (see ``strength``).

    1 where no error covariance has a say.
    """
    slopes = gradients_of(query, batch).values
    used = np.any([s.T.any(axis=(0, 1)) for s in slopes], axis=0)
    ratio = np.ones((len(slopes), len(batch)))
    variance: list[Floats] = []
    ratios: list[Floats] = []
    for block in batch_information(batch, options, touching=used):
        if not (block.task.shape.pairs or block.task.shape.loadings):
            continue
        found = np.array([block.ratio(s) for s in slopes])
        variance.append(found[:, 0])
        ratios.append(found[:, 1])
    if variance:
        counts = np.array(variance) > SHARE * np.sum(variance, axis=0)
        ratio = np.where(counts, ratios, 1.0).max(axis=0)
    return np.asarray(ratio.T)


def _added(batch: BatchFit, options: Options, block: BatchInformation, slope: Gradient, by_intercept: Floats) -> Floats:
    """What a district adds to the variance, times n, of a number with this gradient.

    Free means add their own variance; with held intercepts they move with the parameters (see ``delta``).
    """
    if options.intercepts:
        shift = outer(batch.mean, by_intercept)
        return block.spread(block.pull(Gradient(slope.T + shift, slope.omega, slope.mean), by_intercept))
    at = np.array(block.task.variables, dtype=np.intp)
    own = by_intercept[:, at]
    means = (own * (batch.omega[:, at[:, None], at] @ own[:, :, None])[:, :, 0]).sum(axis=1)
    return np.asarray(means + block.spread(block.pull(slope, np.zeros_like(by_intercept))))


@dataclass(frozen=True, eq=False)
class BatchInformation:
    """Information per row about one district's free parameters, on the scale of correlations."""

    task: Task
    state: State
    scale: Floats
    matrix: Floats
    constant: int

    def pull(self, slope: Gradient, intercepts: Floats) -> Floats:
        """Gradients in this district's free parameters."""
        task, shape, m = self.task, self.task.shape, self.task.shape.slots
        own, at = self.scale[:, m:], shape.at
        full = np.zeros((len(own), shape.parameters))
        for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
            v = task.variables[j]
            if slot != PAD:
                moved = intercepts[:, v] if slot == self.constant else slope.T[:, slot, v]
                full[:, a] = moved * own[:, j] / self.scale[:, a]
        grid = np.ix_(task.variables, task.variables)
        omega = slope.omega[:, grid[0], grid[1]] * own[:, :, None] * own[:, None, :]
        full[:, m:] = 2.0 * (directions(self.state) @ omega)[:, np.arange(shape.parameters - m), at.target[m:]]
        link = self.state.problem.link
        return full if link is None else np.asarray((full[:, None, :] @ link)[:, 0])

    def spread(self, pulled: Floats) -> Floats:
        """Asymptotic variance (times n) that this district adds; nan where data do not tell what the gradient needs."""
        if not pulled.any():
            return np.zeros(len(pulled))
        values, vectors, scale = self.spectrum()
        along = ((pulled / scale)[:, None, :] @ vectors)[:, 0]
        known = values > FLAT * values[:, -1:]
        lost = np.abs(np.where(known, 0.0, along)).max(axis=1) > LEAK * np.abs(along).max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.where(known, along**2 / values, 0.0).sum(axis=1)
        return np.where(lost, np.nan, total)

    def spreads(self, probes: Floats) -> Floats:
        """The same for several gradients ``(model, gradient, parameter)``, of which one may do for all models."""
        values, vectors, scale = self.spectrum()
        along = probes / scale[:, None, :] @ vectors
        known = (values > FLAT * values[:, -1:])[:, None, :]
        size = np.abs(along)
        lost = np.where(known, 0.0, size).max(axis=2, initial=0.0) > LEAK * size.max(axis=2, initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.where(known, along**2 / values[:, None, :], 0.0).sum(axis=2)
        return np.where(lost, np.nan, total)

    def ratio(self, slope: Gradient) -> tuple[Floats, Floats]:
        """The variance by way of the coefficients, and its ratio to that with error covariances known."""
        pulled = self.pull(slope, np.zeros_like(slope.mean))
        slots, link = self.task.shape.slots, self.state.problem.link
        own = np.arange(pulled.shape[1]) < slots if link is None else np.abs(link[0][:slots]).any(axis=0)
        pulled = np.where(own, pulled, 0.0)
        full = np.nan_to_num(self.spread(pulled))
        inside = pulled[:, own]
        alone = inside * (np.linalg.pinv(self.matrix[:, own][:, :, own], hermitian=True) @ inside[:, :, None])[..., 0]
        return full, ratios(full, alone.sum(axis=1))

    def spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Eigenvalues and vectors of the information as a correlation matrix, and its scale."""
        scale = np.sqrt(np.maximum(np.diagonal(self.matrix, axis1=1, axis2=2), 1e-300))
        values, vectors = np.linalg.eigh(self.matrix / (scale[:, :, None] * scale[:, None, :]))
        return values, vectors, scale


def batch_information(
    batch: BatchFit,
    options: Options,
    *,
    touching: Flags | None = None,
    moments: tuple[Floats, Floats] | None = None,
) -> Iterator[BatchInformation]:
    """The information of every district (or of those with a variable in ``touching``) for each model.

    Expected, or with the ``moments`` that the models were fitted to observed.
    """
    plan = make_plan(batch.graph, batch.names, options, raw=bool(options.intercepts))
    centred, about_origin = sources_of(plan, *((batch.cov, batch.mean) if moments is None else moments))
    for task in plan.every_task:
        if touching is not None and not touching[list(task.variables)].any():
            continue
        G, scale = gather((task,), about_origin if task.about_origin else centred)
        problem = make_problem(task, G, scale)
        full = _fitted(plan, task, batch, scale)
        free = full if problem.link is None else full[:, [_first(c) for c in problem.link[0].T]]
        state = evaluate(problem, free)
        matrix = fisher(state) if moments is None else hessian(state)
        yield BatchInformation(task, state, scale, 0.5 * matrix, plan.constant)


def _fitted(plan: Plan, task: Task, batch: BatchFit, scale: Floats) -> Floats:
    shape, m = task.shape, task.shape.slots
    own, variables = scale[:, m:], np.array(task.variables, dtype=np.intp)
    C = batch.C[:, np.array(task.latents, dtype=np.intp)[:, None], variables]
    inside = batch.omega[:, variables[:, None], variables] - C.transpose(0, 2, 1) @ C
    T = np.zeros((len(own), m, shape.size))
    for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
        v = task.variables[j]
        if slot != PAD:
            weight = batch.mu[:, v] if slot == plan.constant and task.about_origin else batch.T[:, slot, v]
            T[:, a, j] = weight * scale[:, a] / own[:, j]
    return parameters_of(shape, T, inside / (own[:, :, None] * own[:, None, :]), C / own[:, None, :])


def _first(column: Floats) -> int:
    return int(np.flatnonzero(np.abs(column - 1.0) < 1e-9)[0])
