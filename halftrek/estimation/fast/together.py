"""Plain districts of different shapes, one data set: the Newton of ``alone`` for all of them in the same calls.

In a wide graph with many small districts the calls cost more than the arithmetic, and few districts have one shape.
Here each has index arrays of its own, padded to those of the largest: a slot too many has no regressor, a member too
many is standard normal noise, a parameter too many moves nothing. Whatever does not go well is left to ``district``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation.district.steps import FAR, NEAR, RIDGE, SOLID, STEPS, has_fallen, is_last
from halftrek.estimation.fast.alone import fits_alone, residuals, shrunk
from halftrek.estimation.plan import PAD, Task
from halftrek.models.kernels import choleskys, shares_left

LARGEST = 128  # parameters; beyond, arithmetic costs more than calls
CALLS = 600.0  # microseconds of the calls that a bunch costs, whatever is in it
MOST = 2_000_000  # numbers in an index array


@dataclass(frozen=True, eq=False)
class Bunch:
    """Tasks that are solved together; every index array but ``where`` points into a flattened stack of matrices.

    Parameters of W move ``s (e_f e_j' + e_j e_f')``: pairs with ``s = 1``, variances with ``s = 1/2`` and ``f = j``.
    """

    tasks: tuple[Task, ...]
    slots: int
    members: int
    where: Ints  # source columns of slots and members, PAD where there is none
    ones: Floats  # A of ``alone`` without coefficients ...
    t_at: Ints  # ... and where they stand in it
    v_at: Ints  # each slot with its own member
    w_at: Ints  # parameters in W, upper triangle; those too many behind the end ...
    w_flip: Ints  # ... and lower
    same: Floats  # slots of the same member
    pairs: Floats  # 1 where W has a free covariance
    saturated: Flags
    extra: Floats  # 1 for a parameter too many
    s: Floats
    fj: Ints
    jj: Ints
    ff: Ints
    cc: Ints  # members of two slots
    cj: Ints  # member of a slot, ends of a parameter of W ...
    cf: Ints
    vj: Ints  # ... and the slot itself with them
    vf: Ints
    spare: Floats  # number of members too many
    slot: Ints  # the slots in use, in the flattened (tasks x slots) ...
    column: Ints  # ... their members, in the flattened (tasks x members) ...
    regressor: Ints  # ... and the place of their coefficients
    target: Ints
    parameter: Ints  # the same for parameters of W
    first: Ints
    second: Ints
    row: Ints
    other: Ints
    causal: Ints  # sources of each task in causal order (see ``Task.causal``) ...
    own: Flags  # ... and which of them are members
    unexplained: Ints  # numbers that each leaves unexplained
    before: Floats  # 1 for a slot whose regressor no member of the task causes

    @staticmethod
    def of(tasks: Sequence[Task]) -> Bunch:
        b, D = len(tasks), max(task.shape.size for task in tasks)
        M = max(task.shape.slots for task in tasks)
        Q = max(task.shape.parameters - task.shape.slots for task in tasks)
        where, variables = np.full((b, M + D), PAD), np.full((b, D), PAD)
        column, f, j = np.zeros((b, M), np.intp), np.zeros((b, Q), np.intp), np.zeros((b, Q), np.intp)
        s, pairs = np.zeros((b, Q)), np.zeros((b, D, D))
        used, known = np.zeros((b, M), dtype=bool), np.zeros((b, Q), dtype=bool)
        for i, task in enumerate(tasks):
            m, d, n, ends = task.shape.slots, task.shape.size, len(task.shape.pairs), np.array(task.shape.pairs)
            where[i, :m], where[i, M : M + d], variables[i, :d] = task.slots, task.members, task.variables
            column[i, :m], used[i, :m], known[i, : n + d] = task.shape.column, True, True
            if n:
                f[i, :n], j[i, :n] = ends.T
            f[i, n : n + d] = j[i, n : n + d] = task.shape.noisy
            s[i, :n], s[i, n : n + d] = 1.0, 0.5
        longest = max(len(task.causal[0]) for task in tasks)
        causal, own, before = np.full((b, longest), PAD), np.zeros((b, longest), dtype=bool), np.zeros((b, M))
        for i, task in enumerate(tasks):
            at, members = task.causal
            before[i, : task.shape.slots] = [slot in task.before for slot in task.slots]
            causal[i, : len(at)] = task.where[at]
            own[i, members] = True
        which, at = np.nonzero(s == 1.0)
        pairs[which, f[which, at], j[which, at]] = pairs[which, j[which, at], f[which, at]] = 1.0
        sizes = np.array([task.shape.size for task in tasks])
        square, tall = D * D * np.arange(b)[:, None, None], M * D * np.arange(b)[:, None, None]
        slot = np.arange(M)[None, :, None]
        end, flat, member = b * D * D, square[:, :, 0], D * np.arange(b)[:, None]
        return Bunch(
            tasks=tuple(tasks),
            slots=M,
            members=D,
            where=where,
            ones=np.repeat(np.eye(M + D, D, -M)[None], b, axis=0),
            t_at=((M + D) * D * np.arange(b)[:, None, None] + slot * D)[:, :, 0] + column,
            v_at=(tall + slot * D)[:, :, 0] + column,
            w_at=np.where(known, flat + f * D + j, end),
            w_flip=np.where(known, flat + j * D + f, end),
            same=(column[:, :, None] == column[:, None, :]).astype(float),
            pairs=pairs,
            saturated=np.array(
                [len(task.shape.pairs) == d * (d - 1) // 2 for task, d in zip(tasks, sizes, strict=True)]
            ),
            extra=(~known).astype(float),
            s=s,
            fj=square + f[:, :, None] * D + j[:, None, :],
            jj=square + j[:, :, None] * D + j[:, None, :],
            ff=square + f[:, :, None] * D + f[:, None, :],
            cc=square + column[:, :, None] * D + column[:, None, :],
            cj=square + column[:, :, None] * D + j[:, None, :],
            cf=square + column[:, :, None] * D + f[:, None, :],
            vj=tall + slot * D + j[:, None, :],
            vf=tall + slot * D + f[:, None, :],
            spare=(D - sizes).astype(float),
            slot=np.flatnonzero(used),
            column=(member + column)[used],
            regressor=where[:, :M][used],
            target=np.take_along_axis(variables, column, 1)[used],
            parameter=np.flatnonzero(known),
            first=(member + f)[known],
            second=(member + j)[known],
            row=np.take_along_axis(variables, f, 1)[known],
            other=np.take_along_axis(variables, j, 1)[known],
            causal=causal,
            own=own,
            unexplained=np.array([task.spare for task in tasks], dtype=np.intp),
            before=before,
        )


@dataclass(frozen=True, eq=False)
class Ends:
    """Where the tasks of a bunch ended; those without ``found`` have to be done again."""

    found: Flags
    t: Floats
    w: Floats
    W: Floats
    value: Floats
    iterations: Ints
    boundary: Flags


def bunches_of(tasks: Sequence[Task]) -> tuple[tuple[Bunch, ...], tuple[Task, ...], tuple[Task, ...]]:
    """Plain tasks to be solved together, plain tasks to be solved alone, and the others.

    Joining saves calls and costs arithmetic with the padding.
    """
    by_size: dict[int, list[Task]] = {}
    alone, others = [], []
    for task in tasks:
        if not task.plain or not fits_alone(task.shape) or task.several_starts or task.about_origin:
            others.append(task)
        elif task.shape.parameters > LARGEST:
            alone.append(task)
        else:
            by_size.setdefault(task.shape.parameters, []).append(task)
    sizes = sorted(by_size)
    count = np.cumsum([0, *(len(by_size[size]) for size in sizes)])
    least, cut = [0.0], [0]  # least cost of the first so many sizes, and where their last bunch begins
    for stop, size in enumerate(sizes, start=1):
        costs = np.array(least) + (count[stop] - count[:stop]) * (20.0 + 0.1 * size**2)
        cut.append(int(costs.argmin()))
        least.append(float(costs.min()) + CALLS)
    bunches, stop = [], len(sizes)
    while stop:
        start = cut[stop]
        together = [task for size in sizes[start:stop] for task in by_size[size]]
        most = max(2, MOST // sizes[stop - 1] ** 2)
        for i in range(0, len(together), most):
            part = together[i : i + most]
            if len(part) > 1:
                bunches.append(Bunch.of(part))
            else:
                alone += part
        stop = start
    return tuple(bunches), tuple(alone), tuple(others)


def solve_bunch(bunch: Bunch, G: Floats) -> Ends | None:
    """The maximum of each task from the regressions' start, if Newton steps lead straight to it; None if all fail."""
    try:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return _descend(bunch, G)
    except np.linalg.LinAlgError:
        return None


def _descend(bunch: Bunch, G: Floats) -> Ends:
    M, b = bunch.slots, len(G)
    Gzz = G[:, :M, :M].copy()
    t, W = _start(bunch, G, Gzz)
    w = _entries(bunch, W)
    end = Ends(
        np.zeros(b, dtype=bool),
        t.copy(),
        w.copy(),
        W.copy(),
        np.zeros(b),
        np.zeros(b, np.intp),
        np.zeros(b, dtype=bool),
    )
    value, K, V, R = _evaluate(bunch, G, t, W)
    alive = np.isfinite(value)
    for taken in range(1, STEPS + 1):
        slope, H = _derivatives(bunch, Gzz, K, V, R)
        step = slice(None, None, H.shape[1] + 1)
        H.reshape(b, -1)[:, step] *= 1.0 + RIDGE
        move = np.linalg.solve(H, slope[:, :, None])[:, :, 0]
        gain = 0.5 * (slope * move).sum(axis=1)
        alive &= (gain >= 0.0) & (gain < FAR)
        closing = alive & is_last(gain, 1.0)
        doubtful = np.flatnonzero(closing | (alive & (gain > NEAR)))
        done = np.zeros(b, dtype=bool)
        if len(doubtful):
            firm = np.full(b, np.inf)
            firm[doubtful] = shares_left(H[doubtful])
            alive &= (firm > 0.0) & ~(closing & ~(firm > SOLID))
            done = alive & closing & is_last(gain, firm)
        move[~alive] = 0.0  # those that are through or have failed stay where they are
        t, w = t - move[:, :M], w - move[:, M:]
        W = _errors(bunch, w)
        if done.any():
            _record(bunch, end, done, G, (t, w, W), value - gain, taken)
            alive &= ~done
        if not alive.any():
            break
        before = value
        value, K_new, V_new, R_new = _evaluate(bunch, G, t, W)
        fallen = has_fallen(value, before, gain)
        failed = alive & ~fallen
        if failed.any():  # back to where the numbers are finite
            alive &= fallen
            stay = failed[:, None, None]
            t, w = t + move[:, :M] * failed[:, None], w + move[:, M:] * failed[:, None]
            value = np.where(failed, before, value)
            K_new, V_new, R_new = np.where(stay, K, K_new), np.where(stay, V, V_new), np.where(stay, R, R_new)
        K, V, R = K_new, V_new, R_new
    return end


def _record(
    bunch: Bunch,
    end: Ends,
    done: Flags,
    G: Floats,
    at: tuple[Floats, Floats, Floats],
    value: Floats,
    taken: int,
) -> None:
    """After the last step, which is so short that the quadratic tells F to the last digit."""
    t, w, W = at
    if (bunch.saturated & done).any():
        W = np.where(bunch.saturated[:, None, None], _residuals(bunch, G, t)[1], W)
        w = _entries(bunch, W)
    rows = np.flatnonzero(done)
    share = shares_left(W[rows])
    end.found[rows] = share > 0.0
    end.boundary[rows] = ~(share > SOLID)
    end.t[rows], end.w[rows], end.W[rows] = t[rows], w[rows], W[rows]
    end.value[rows], end.iterations[rows] = (value - bunch.spare)[rows], taken


def _start(bunch: Bunch, G: Floats, Gzz: Floats) -> tuple[Floats, Floats]:
    """As ``starts.regression_start``: least squares, the residuals' covariances as far as they fit, once more."""
    M, D = bunch.slots, bunch.members
    Gzy, steady = G[:, :M, M:], 1e-12 * np.eye(M)
    t = np.linalg.solve(Gzz * bunch.same + steady, Gzy.ravel()[bunch.v_at][:, :, None])[:, :, 0]
    W = shrunk(_residuals(bunch, G, t)[1], bunch.pairs)
    if not M:
        return t, W
    flat = np.linalg.inv(W).ravel()
    column = bunch.cc[:, :, 0] // D * D  # the row of K that belongs to the slot's member
    rows = flat[column[:, :, None] + np.arange(D)]
    return np.linalg.solve(Gzz * flat[bunch.cc] + steady, (Gzy * rows).sum(axis=2)[:, :, None])[:, :, 0], W


def _residuals(bunch: Bunch, G: Floats, t: Floats) -> tuple[Floats, Floats]:
    GA, R = residuals(bunch.ones, bunch.t_at, G, t)
    return GA[:, : bunch.slots], (R + R.transpose(0, 2, 1)) * 0.5


def _entries(bunch: Bunch, W: Floats) -> Floats:
    return np.append(W.ravel(), 0.0)[bunch.w_at]


def _errors(bunch: Bunch, w: Floats) -> Floats:
    b, D = len(w), bunch.members
    flat = np.zeros(b * D * D + 1)
    W = flat[:-1].reshape(b, D, D)
    for j in np.flatnonzero(np.arange(D) >= D - bunch.spare.max()):  # members too many
        W[:, j, j] = 1.0
    flat[bunch.w_at] = w
    flat[bunch.w_flip] = w
    return W


def _evaluate(bunch: Bunch, G: Floats, t: Floats, W: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """F, the inverse K of W, the residuals' moments with the slots times K, and their own."""
    GA, R = _residuals(bunch, G, t)
    if bunch.saturated.any():
        W = np.where(bunch.saturated[:, None, None], R, W)
    root = np.diagonal(choleskys(W), axis1=1, axis2=2)
    value = 2.0 * np.log(root).sum(axis=1)
    if not np.isfinite(value).all():
        W = np.where(np.isfinite(value)[:, None, None], W, np.eye(bunch.members))
    K = np.linalg.inv(W)
    return value + (K * R).sum(axis=(1, 2)), K, GA @ K, R


def _derivatives(bunch: Bunch, Gzz: Floats, K: Floats, V: Floats, R: Floats) -> tuple[Floats, Floats]:
    """Gradient and Hessian of F (docs/mathematics.md, section 4)."""
    M, s = bunch.slots, bunch.s
    size = M + s.shape[1]
    KRK = K @ R @ K
    pull = K - KRK
    slope, H = np.empty((len(K), size)), np.empty((len(K), size, size))
    k, n, v = K.ravel(), (KRK - pull).ravel(), V.ravel()
    slope[:, :M] = -2.0 * v[bunch.v_at]
    slope[:, M:] = 2.0 * s * _entries(bunch, pull)
    half = k[bunch.fj].transpose(0, 2, 1) * n[bunch.fj]
    bend = half + half.transpose(0, 2, 1)
    bend += k[bunch.jj] * n[bunch.ff]
    bend += n[bunch.jj] * k[bunch.ff]
    bend *= s[:, :, None]
    bend *= s[:, None, :]
    bend.reshape(len(K), -1)[:, :: s.shape[1] + 1] += bunch.extra
    H[:, M:, M:] = bend
    H[:, :M, :M] = 2.0 * Gzz * k[bunch.cc]
    mixed = v[bunch.vf] * k[bunch.cj]
    mixed += v[bunch.vj] * k[bunch.cf]
    mixed *= 2.0 * s[:, None, :]
    H[:, :M, M:] = mixed
    H[:, M:, :M] = mixed.transpose(0, 2, 1)
    return slope, H
