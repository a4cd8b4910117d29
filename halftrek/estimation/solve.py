"""Solve the plan of a graph for one or many moment sets at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation.district.district import Settings, solve_district, split_latents
from halftrek.estimation.district.doubt import Yardstick, floors_of_bunch, yardstick_of
from halftrek.estimation.district.piece import Piece, bunch_piece, single_piece
from halftrek.estimation.fast.together import Bunch, solve_bunch
from halftrek.estimation.plan import PAD, Plan, Regressions, Task


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters with a leading batch axis; ``value`` is Σ F over the districts.

    ``pieces`` tells how each task went: the task, and the rows of the piece that belong to it.
    """

    T: Floats
    W: Floats
    C: Floats
    mu: Floats
    value: Floats
    pieces: tuple[tuple[Task, slice, Piece], ...]

    def frozen(self) -> Solution:
        """The same, read-only, so that a model need not copy it."""
        for array in (self.T, self.W, self.C, self.mu):
            array.flags.writeable = False
        return self


def solve_plan(plan: Plan, cov: Floats, mean: Floats, settings: Settings) -> Solution:
    """Maximum likelihood for each moment set ``(cov[i], mean[i])``."""
    b, p = mean.shape
    centred, about_origin = sources_of(plan, cov, mean)
    T, W = np.zeros((b, p, p)), np.zeros((b, p, p))
    if plan.fixed_T.size:
        T += plan.fixed_T
    C = np.zeros((b, len(plan.latents), p))
    value = np.zeros(b)
    for regressions in plan.regressions:
        value += _regress(regressions, about_origin if regressions.about_origin else centred, T, W)
    estimated_mu: dict[int, Floats] = {}
    pieces: list[tuple[Task, slice, Piece]] = []
    groups = plan.groups if b > 1 or not settings.usual else plan.bunches[1]
    if b == 1 and settings.usual:
        for bunch in plan.bunches[0]:
            gained, done, left = _solve_bunch(bunch, centred, settings, len(plan.tasks), (T, W, C))
            value += gained
            pieces += done
            groups += left
    for tasks in groups:
        S = about_origin if tasks[0].about_origin else centred
        G, scale = gather(tasks, S)
        piece = solve_district(tasks[0], G, scale, settings, yardstick_of(tasks, G, settings.rows, len(plan.tasks)))
        value += (piece.value + 2.0 * np.log(scale[:, tasks[0].shape.slots :]).sum(axis=1)).reshape(b, -1).sum(axis=1)
        for t, task in enumerate(tasks):
            rows_of_task = slice(t, None, len(tasks))
            _store(task, piece, rows_of_task, scale[rows_of_task], (T, W, C), estimated_mu, plan.constant)
            pieces.append((task, rows_of_task, piece))
    _turn(C, plan.turnable)
    for v, held in plan.fixed_noise.items():
        W[:, v, v] = held  # to the last digit
    mu = mean - (mean[:, None, :] @ T)[:, 0]
    for v, fixed in plan.fixed_mu.items():
        mu[:, v] = fixed
    for v, estimate in estimated_mu.items():
        mu[:, v] = estimate
    return Solution(T, W, C, mu, value, tuple(pieces))


def _solve_bunch(
    bunch: Bunch, S: Floats, settings: Settings, beside: int, into: tuple[Floats, Floats, Floats]
) -> tuple[float, list[tuple[Task, slice, Piece]], tuple[tuple[Task], ...]]:
    """Solve the tasks of a bunch into T, W and C: the sum of F, how they went, and the tasks that are still to do."""
    G, scale = moments_of(bunch.where, S)
    ends = solve_bunch(bunch, G)
    if ends is None:
        return 0.0, [], tuple((task,) for task in bunch.tasks)
    T, W, _ = into
    b, own = len(G), scale[:, bunch.slots :]
    n = np.full(b, np.nan) if settings.rows is None else np.repeat(settings.rows, b)
    measure = Yardstick(
        floors_of_bunch(bunch, moments_of(bunch.causal, S)[0]), n, bunch.unexplained, bunch.before, beside
    )
    ends = replace(ends, found=ends.found & ~measure.doubtful(ends.value))
    flat = own.ravel()
    slots = scale[:, : bunch.slots].ravel()[bunch.slot]
    T[0, bunch.regressor, bunch.target] = ends.t.ravel()[bunch.slot] * flat[bunch.column] / slots
    errors = ends.w.ravel()[bunch.parameter] * flat[bunch.first] * flat[bunch.second]
    W[0, bunch.row, bunch.other] = W[0, bunch.other, bunch.row] = errors
    piece = bunch_piece(ends, measure.deviance(ends.value), np.maximum(measure.spare, 0))
    done = []
    for i, task in enumerate(bunch.tasks):
        if not ends.found[i]:
            continue
        done.append((task, slice(i, None, b), piece))
        if task.pair_latents:
            m, d = task.shape.slots, task.shape.size
            at = np.r_[0:m, bunch.slots : bunch.slots + d]
            local = (G[i : i + 1, at[:, None], at], scale[i : i + 1, at])
            mine = split_latents(task, single_piece(task, piece, i), *local, settings, measure.take(np.array([i])))
            done[-1] = (task, slice(0, None), mine)
            _store(task, mine, slice(0, None), local[1], into, {}, PAD)
    value = np.where(ends.found, ends.value + 2.0 * np.log(own).sum(axis=1), 0.0)
    return float(value.sum()), done, tuple((bunch.tasks[i],) for i in np.flatnonzero(~ends.found))


def _turn(C: Floats, turnable: tuple[tuple[int, int], ...]) -> None:
    """The sign of a hidden cause is free, unless a loading is known: turn it so that its first loading is positive."""
    for k, first in turnable:
        wrong = C[:, k, first] < 0.0
        if wrong.any():
            C[wrong, k] *= -1.0


def sources_of(plan: Plan, cov: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Second moments of the plan's sources, about the mean and about zero."""
    if plan.mixing is None:
        return cov, cov
    b, p = mean.shape
    padded = np.zeros((b, p + 1, p + 1))
    padded[:, :p, :p] = cov
    full = np.concatenate([mean, np.ones((b, 1))], axis=1)
    raw = padded + full[:, :, None] * full[:, None, :]
    return plan.mixing.T @ padded @ plan.mixing, plan.mixing.T @ raw @ plan.mixing


def _regress(these: Regressions, S: Floats, T: Floats, W: Floats) -> Floats:
    """Ordinary least squares, all with the same number of slots at once."""
    target, source, z = these.target, these.source, these.slots
    left = S[:, source, source]
    if z.shape[1]:
        scale = np.sqrt(S[:, z, z])
        slope = cross = S[:, z, source[:, None]] / scale
        if z.shape[1] > 1:
            gram = S[:, z[:, :, None], z[:, None, :]] / (scale[..., None] * scale[..., None, :])
            slope = np.linalg.solve(gram, cross[..., None])[..., 0]
        left = left - (slope * cross).sum(axis=2)
        T[:, z, target[:, None]] = slope / scale
    noise = np.maximum(left, 1e-300)
    if these.held is not None:
        noise = np.where(np.isnan(these.held), noise, these.held)
    W[:, target, target] = noise
    return np.asarray((np.log(noise) + left / noise).sum(axis=1))


def gather(tasks: tuple[Task, ...], S: Floats) -> tuple[Floats, Floats]:
    """Second moments of (slots, members) as correlations, and the scales; batch-major, tasks next to each other."""
    return moments_of(tasks[0].where[None] if len(tasks) == 1 else np.stack([task.where for task in tasks]), S)


def moments_of(where: Ints, S: Floats) -> tuple[Floats, Floats]:
    """As ``gather``, from the source columns of each task."""
    G = S[:, where[:, :, None], where[:, None, :]].reshape(-1, where.shape[1], where.shape[1])
    if where.min(initial=0) == PAD:  # a slot without a regressor: of unit variance, unrelated to everything
        empty = np.tile(where == PAD, (len(S), 1))
        G = np.where(empty[:, :, None] | empty[:, None, :], np.eye(where.shape[1]), G)
    scale = np.sqrt(G.diagonal(axis1=1, axis2=2))
    return G / (scale[:, :, None] * scale[:, None, :]), scale


def _store(
    task: Task,
    piece: Piece,
    rows: slice,
    scale: Floats,
    into: tuple[Floats, Floats, Floats],
    estimated_mu: dict[int, Floats],
    constant: int,
) -> None:
    """Write a task's solution, in the units of the data, into the parameters of the whole model."""
    T, W, C = into
    shape, m = task.shape, task.shape.slots
    own = scale[:, m:]
    which, regressor, member = task.places
    if len(which):
        t = (piece.t[rows] * own[:, shape.at.column] / scale[:, :m])[:, which]
        if task.about_origin:
            for a in np.flatnonzero(regressor == constant):
                estimated_mu[int(member[a])] = t[:, a]
            plain = regressor != constant
            t, regressor, member = t[:, plain], regressor[plain], member[plain]
        T[:, regressor, member] = t
    variables = np.array(task.variables)
    W[:, variables[:, None], variables] = piece.W[rows] * own[:, :, None] * own[:, None, :]
    for k, latent in enumerate((*task.latents, *(u for u, _ in task.pair_latents))):
        C[:, latent, variables] = piece.C[rows, k] * own
