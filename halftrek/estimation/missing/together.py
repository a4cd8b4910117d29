"""Data sets like one that is fitted, with the same holes, refitted all at once from where that fit ended.

Each has its own parameters and its own idea of the curvature: that of the fit for the first step, then what is known
of its own rows, and what steps teach (Broyden, Fletcher, Goldfarb, Shanno). What does not arrive is left for a closer
look.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data.missing.redrawn import Redrawn
from halftrek.data.missing.stack import Stack
from halftrek.estimation.given.checks import well_posed
from halftrek.estimation.missing.bends import At, Bends, bends
from halftrek.estimation.missing.fiml import FLOOR
from halftrek.estimation.plan import Plan
from halftrek.estimation.space import Space
from halftrek.models import total_effects

STEPS = 60
ENOUGH = 1e-8  # derivative per row, in units of each parameter's information
QUICK = 0.2  # share of the derivative that a step may leave where the next one need not be looked at
FEWER = 0.85  # share of data sets below which those that have arrived are left behind
SHORTEST = 1e-6  # share of a step below which none is tried
ROUGH = 3e-4  # derivative from which a step leaves so much that single precision shows it ...
FIRST = 3  # ... in so many looks at most
INFLATED = 100.0  # variance of a column over what others leave of it, above which that has too few digits
BLUR = 3e-6, 1e-13  # share of the log-likelihood that single and double precision do not show


@dataclass(frozen=True, eq=False)
class Refits:
    """Models of the data sets, one a line, their log-likelihoods, and which of them are at a maximum."""

    T: Floats
    C: Floats
    W: Floats
    mu: Floats
    loglik: Floats
    arrived: Flags


def refit_together(
    space: Space, plan: Plan, stack: Stack | Redrawn, theta0: Floats, information: Floats
) -> Refits | None:
    """The maxima next to a known point, whose information per row is given; None where that is no help."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    try:
        unit = np.linalg.inv(np.linalg.cholesky(information / np.outer(scale, scale)))
    except np.linalg.LinAlgError:
        return None
    if any(task.pair_latents for task in plan.tasks) or np.abs(unit).max(initial=0.0) > 1e4:
        return None
    b, n = len(stack), stack.total
    lower = _floors(space, stack, b)
    theta = np.repeat(theta0[None], b, axis=0)
    start, value, gradient = _evaluated(space, stack, theta0[None])
    curve = _Curve(unit.T @ unit / np.outer(scale, scale), n)
    share, live = np.ones(b), np.isfinite(value)
    before = np.zeros(b)  # what was left before the last step; none yet
    some, inside = stack, np.arange(b)  # those that are worked on; fewer when some have arrived
    roughly, blur = start is not None and _is_clear(space.moments(theta0)[1]), BLUR[1]
    for looks in range(STEPS):
        left = np.abs(gradient / scale).max(axis=1) / n
        precise = blur == BLUR[1]
        live &= (left > ENOUGH) & (share > SHORTEST) if precise else share > SHORTEST
        # what a step leaves is foretold by the one before: if that is little, nobody needs to look
        last = np.flatnonzero(live & (left < QUICK * before) & (left * left < ENOUGH * before) & precise)
        move = curve.steps(gradient, last)
        theta[last] += move
        value[last] += 0.5 * (move * gradient[last]).sum(axis=1)
        gradient[last] *= left[last, None] / before[last, None]
        live[last] = False
        if not live.any():
            break
        if live[inside].sum() < FEWER * len(inside):
            some, inside = some.take(live[inside]), inside[live[inside]]
        move = share[inside, None] * curve.steps(gradient, inside)
        trial = theta[inside] + move
        roughly = roughly and looks < FIRST and bool(np.median(left[inside]) > ROUGH)
        at, found, slope = _evaluated(space, some.rough if roughly else some, trial)
        blur, blurred = BLUR[0] if roughly else BLUR[1], blur
        rise = 1e-4 * (move * gradient[inside]).sum(axis=1) - max(blur, blurred) * np.abs(value[inside])
        good = (found - value[inside] >= rise) & (trial > lower[inside]).all(axis=1) & live[inside]
        share[inside] = np.where(good, 1.0, share[inside] / 3.0)
        taken = inside[good]
        if curve.bends is None and start is not None and at is not None and len(inside) == b:
            curve.bends, start = bends(space, start, at, information), None
        else:
            curve.learn(taken, move[good], gradient[taken] - slope[good])
        theta[taken], value[taken], gradient[taken], before[taken] = trial[good], found[good], slope[good], left[taken]
    left = np.abs(gradient / scale).max(axis=1) / n
    T, W, C, mu = _arrays(space, theta)
    arrived = np.isfinite(value) & (left < 10.0 * ENOUGH)
    B = total_effects(T)
    cov = B.transpose(0, 2, 1) @ (W + C.transpose(0, 2, 1) @ C) @ B
    arrived &= well_posed(np.where(arrived[:, None, None], cov, np.eye(cov.shape[1])), n)
    loadings = np.zeros((b, len(plan.latents), len(plan.names)))
    loadings[:, list(space.latents)] = C
    return Refits(T, loadings, W, mu, value, arrived)


class _Curve:
    """The curvature of each data set: at first that of the fit, and what steps have taught since."""

    def __init__(self, inverse: Floats, n: Floats) -> None:
        self.inverse, self.n = inverse, n
        self.bends: Bends | None = None
        self.pairs: list[tuple[Floats, Floats, Floats]] = []  # steps, changes of the gradient, 1 over their product

    def steps(self, gradient: Floats, which: Ints) -> Floats:
        """Inverse curvature times gradient, of some data sets (Nocedal 1980)."""
        q, kept = gradient[which], []
        for step, change, over in reversed(self.pairs):
            along = over[which] * (step[which] * q).sum(axis=1)
            q = q - along[:, None] * change[which]
            kept.append(along)
        r = q @ self.inverse / self.n[which, None] if self.bends is None else self.bends.steps(q, which)
        for (step, change, over), along in zip(self.pairs, reversed(kept), strict=True):
            back = over[which] * (change[which] * r).sum(axis=1)
            r = r + (along - back)[:, None] * step[which]
        return np.asarray(r)

    def learn(self, which: Ints, step: Floats, change: Floats) -> None:
        """Take in a step of some data sets and how it changed their gradients."""
        bend = (step * change).sum(axis=1)
        clear = bend > 1e-10 * np.linalg.norm(step, axis=1) * np.linalg.norm(change, axis=1)
        steps, changes = (np.zeros((len(self.n), step.shape[1])) for _ in range(2))
        over = np.zeros(len(self.n))
        steps[which[clear]], changes[which[clear]], over[which[clear]] = step[clear], change[clear], 1.0 / bend[clear]
        self.pairs.append((steps, changes, over))


def _floors(space: Space, stack: Stack | Redrawn, b: int) -> Floats:
    """Lower bounds: those of noise variances."""
    lower = np.full((b, space.size), -np.inf)
    variance = stack.variances
    for i, j, a in space.W_at:
        if i == j:
            lower[:, a] = FLOOR * variance[:, i]
    return lower


def _evaluated(space: Space, stack: Stack | Redrawn, theta: Floats) -> tuple[At | None, Floats, Floats]:
    """Where they are, log-likelihoods, minus infinity outside of the model, and gradients; at a point each, or one."""
    T, W, C, mu = _arrays(space, theta)
    outside = _outside(space, W)
    W[outside] = np.eye(W.shape[1])
    B, omega = total_effects(T), W + C.transpose(0, 2, 1) @ C if len(space.C_at) else W
    cov, mean = B.transpose(0, 2, 1) @ omega @ B, (mu[:, None] @ B)[:, 0]
    try:
        with np.errstate(all="ignore"):
            found = stack.slopes(mean, cov, _inverted(space, T, omega) if space.acyclic else None)
    except np.linalg.LinAlgError:  # some covariance is singular: all try shorter steps
        return None, np.full(len(stack), -np.inf), np.zeros((len(stack), space.size))
    shift = (B @ found.mean[:, :, None])[:, :, 0]
    inside = found.cov @ B.transpose(0, 2, 1)
    gradient = _collected(space, 2.0 * cov @ inside + mean[:, :, None] * shift[:, None], B @ inside, shift, C)
    bad = outside | ~np.isfinite(found.value) | ~np.isfinite(gradient).all(axis=1)
    gradient[bad] = 0.0
    return At(T, W, mu, B, stack.total, found), np.where(bad, -np.inf, found.value), gradient


def _is_clear(cov: Floats) -> bool:
    """Whether no column is nearly a function of others."""
    return bool((np.diag(np.linalg.inv(cov)) * np.diag(cov) < INFLATED).all())


def _outside(space: Space, W: Floats) -> Flags:
    """Which are no covariances of errors."""
    found = (~(W.diagonal(axis1=1, axis2=2) > 0.0)).any(axis=1)
    for district in space.districts:
        if len(district) > 1:
            own = W[:, district[:, None], district]
            try:
                np.linalg.cholesky(own)
            except np.linalg.LinAlgError:
                found |= ~(np.linalg.eigvalsh(own)[:, 0] > 0.0)
    return np.asarray(found)


def _inverted(space: Space, T: Floats, omega: Floats) -> tuple[Floats, Floats]:
    """Inverse covariances, ``(I - T) E (I - T)'`` with E found district by district, and their log-determinants."""
    alone = np.array([district[0] for district in space.districts if len(district) == 1], dtype=np.intp)
    E, own = np.zeros_like(omega), omega[:, alone, alone]
    E[:, alone, alone] = 1.0 / own
    logs = -np.log(own).sum(axis=1)
    for district in space.districts:
        if len(district) > 1:
            own = omega[:, district[:, None], district]
            E[:, district[:, None], district] = np.linalg.inv(own)
            logs -= np.linalg.slogdet(own)[1]
    into = np.eye(T.shape[1]) - T
    return into @ E @ into.transpose(0, 2, 1), logs


def _arrays(space: Space, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """T, W, C and mu of each data set."""
    T, W, C, mu = (np.repeat(x[None], len(theta), axis=0) for x in (space.T0, space.W0, space.C0, space.mu0))
    T[:, space.T_at[:, 0], space.T_at[:, 1]] = theta[:, space.T_at[:, 2]]
    W[:, space.W_at[:, 0], space.W_at[:, 1]] = theta[:, space.W_at[:, 2]]
    W[:, space.W_at[:, 1], space.W_at[:, 0]] = theta[:, space.W_at[:, 2]]
    C[:, space.C_at[:, 0], space.C_at[:, 1]] = theta[:, space.C_at[:, 2]]
    mu[:, space.mu_at[:, 0]] = theta[:, space.mu_at[:, 2]]
    return T, W, C, mu


def _collected(space: Space, T: Floats, omega: Floats, mu: Floats, C: Floats) -> Floats:
    """Derivatives in the entries of T, Omega and mu of each data set, summed up by parameter."""
    entries = np.concatenate([space.T_at, space.W_at, space.C_at, space.mu_at])[:, 2]
    owner = (entries[:, None] == np.arange(space.size)).astype(float)
    twice = np.where(space.W_at[:, 0] == space.W_at[:, 1], 1.0, 2.0)
    parts = [
        T[:, space.T_at[:, 0], space.T_at[:, 1]],
        twice * omega[:, space.W_at[:, 0], space.W_at[:, 1]],
        2.0 * (C @ omega)[:, space.C_at[:, 0], space.C_at[:, 1]],
        mu[:, space.mu_at[:, 0]],
    ]
    return np.asarray(np.concatenate(parts, axis=1) @ owner)
