"""Data sets drawn like one of a model with hidden variables, refitted from where that fit ended."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.choices import Redraw
from halftrek.data import Moments
from halftrek.data.missing.stack import Stack
from halftrek.estimation import BatchFit, Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.estimation.hidden.problem import Single
from halftrek.estimation.hidden.search import climb
from halftrek.estimation.many.batch import joined
from halftrek.estimation.missing.together import refit_together
from halftrek.estimation.plan import make_plan
from halftrek.estimation.space import Space
from halftrek.inference.draws.bootstrap import Replicates, drawn_moments
from halftrek.inference.draws.missing_draws import draw_stacks
from halftrek.inference.draws.resample import Progress
from halftrek.inference.information.behind.opened import opened
from halftrek.inference.information.information import Kind
from halftrek.inference.information.missing.incomplete import pattern_information
from halftrek.inference.information.robust import count_clusters

AT_ONCE = 200  # replicates that are fitted together
STEPS = 100  # of a search that is left alone


def hidden_replicates(
    fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None
) -> Replicates:
    """Replicates of the observed variables, and models of all."""
    if kind == "jackknife":
        replicates = count_clusters(fit)
    parts, done = [], 0
    for stack in _stacks(fit, kind, replicates, random_state, progress):
        parts.append(refitted(fit, stack)[0])
        done += len(stack)
        if progress is not None:
            progress(done, replicates)
    return Replicates(joined(parts), replicates, kind)


def _stacks(
    fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None
) -> Iterator[Stack]:
    """The drawn data sets, with columns for hidden variables that nobody has."""
    q = len(fit.graph.hidden)
    names, wide = fit.model.names, ((0, 0), (0, 0), (0, q))
    if not isinstance(data_of(fit), Moments):
        for stack in draw_stacks(fit, kind, replicates, random_state):
            seen = np.pad(stack.observed, ((0, 0), (0, q)))
            yield Stack(names, seen, stack.n, np.pad(stack.mean, wide), np.pad(stack.cov, (*wide, (0, q))))
        return
    for drawn in drawn_moments(fit, kind, replicates, random_state, progress):
        for first in range(0, len(drawn.n), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            yield stacked(fit, drawn.mean[some], drawn.cov[some], drawn.n[some])


def stacked(fit: Fitted, mean: Floats, cov: Floats, n: Floats) -> Stack:
    """Moments of data sets of the observed variables, with columns for hidden variables that nobody has."""
    q, p = len(fit.graph.hidden), len(fit.graph)
    seen = np.concatenate([np.ones((1, p), dtype=bool), np.zeros((1, q), dtype=bool)], axis=1)
    wide = ((0, 0), (0, 0), (0, q))
    means, covs = np.pad(mean[:, None], wide), np.pad(cov[:, None], (*wide, (0, q)))
    return Stack(fit.model.names, seen, n[:, None], means, covs)


def refitted(fit: Fitted, stack: Stack) -> tuple[BatchFit, Flags]:
    """The replicates that have a maximum, and which these are: all together, and else one by one."""
    kind: Kind = "observed"
    plan, known = make_plan(fit.graph, fit.model.names, fit.options), pattern_information(opened(fit), kind)
    found = None if known.flat.shape[1] else refit_together(known.space, plan, stack, known.theta, known.matrix)
    b, p, q = len(stack), len(plan.names), len(plan.latents)
    T, C, W, mu = np.zeros((b, p, p)), np.zeros((b, q, p)), np.zeros((b, p, p)), np.zeros((b, p))
    loglik, kept = np.zeros(b), np.zeros(b, dtype=bool)
    if found is not None:
        T, C, W, mu, loglik, kept = found.T, found.C, found.W, found.mu, found.loglik, found.arrived.copy()
    lower = _floors(known.space, fit)
    alone = np.flatnonzero(~kept)
    for at, patterns in zip(alone, stack.take(alone).patterns(), strict=True):
        ended = climb(Single(known.space, patterns), known.theta, lower, STEPS)
        if ended is None or not ended.converged:
            continue
        kept[at], loglik[at] = True, ended.point.value
        T[at], W[at], loadings, mu[at] = known.space.arrays(ended.point.theta)
        C[at][list(known.space.latents)] = loadings
    code = np.full(int(kept.sum()), "converged", dtype="<U17")
    parameters = T[kept], C[kept], W[kept], mu[kept], loglik[kept]
    return BatchFit(fit.graph, plan.names, plan.latents, *parameters, code), kept


def _floors(space: Space, fit: Fitted) -> Floats:
    lower = np.full(space.size, -np.inf)
    for i, j, a in space.W_at:
        if i == j:
            lower[a] = 1e-8 * float(fit.model.cov[i, i])
    return lower
