"""Values and gradients of a query for many models of one graph at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from halftrek.arrays import Floats
from halftrek.estimation import BatchFit
from halftrek.models import Gaussian, total_effects
from halftrek.models.gaussian import pseudo_inverse
from halftrek.queries import (
    Counterfactual,
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    evaluate,
)
from halftrek.queries.derivatives import added, mapped
from halftrek.queries.gradients import linearize

BATCHED = (
    DirectEffect,
    PathEffect,
    TotalEffect,
    ThroughEffect,
    ErrorCovariance,
    Interventional,
    Counterfactual,
)  # the kinds of questions that are answered for all models at once


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of one number in T, in Omega (symmetric) and in the means, for each model."""

    T: Floats
    omega: Floats
    mean: Floats


@dataclass(frozen=True, eq=False)
class Answers:
    """Values ``(b, k)`` and variances ``(b, k)`` (none for effects) with their slopes."""

    values: Floats
    value_slopes: tuple[Slopes, ...]
    variances: Floats
    variance_slopes: tuple[Slopes, ...] = ()


def answers(batch: BatchFit, query: Query) -> Answers:
    """The answers of all models; counterfactuals one model at a time."""
    none = np.zeros((len(batch), 0))
    match query:
        case DirectEffect(cause, effect):
            return Answers(*_product(batch, (cause, effect), total=False), none)
        case PathEffect(path):
            return Answers(*_product(batch, path, total=False), none)
        case TotalEffect(cause, effect):
            return Answers(*_product(batch, (cause, effect), total=True), none)
        case ThroughEffect(stations):
            return Answers(*_product(batch, stations, total=True), none)
        case ErrorCovariance(first, second):
            i, j = batch.names.index(first), batch.names.index(second)
            slope = _no_slope(batch)
            slope.omega[:, i, j] += 0.5
            slope.omega[:, j, i] += 0.5
            return Answers(batch.omega[:, i, j][:, None], (slope,), none)
        case Interventional():
            return _interventional(batch, query)
        case Counterfactual():
            return _one_by_one(batch, query)
        case _:
            raise TypeError(f"{type(query).__name__} has no batched answer")


def _no_slope(batch: BatchFit) -> Slopes:
    return Slopes(np.zeros_like(batch.T), np.zeros_like(batch.T), np.zeros_like(batch.mu))


def _product(batch: BatchFit, steps: Sequence[str], *, total: bool) -> tuple[Floats, tuple[Slopes, ...]]:
    """A product of entries of T, or of B."""
    factors = batch.B if total else batch.T
    legs = list(pairwise(batch.names.index(v) for v in steps))
    parts = np.stack([factors[:, i, j] for i, j in legs])
    slope = _no_slope(batch)
    for k, (i, j) in enumerate(legs):
        others = np.delete(parts, k, axis=0).prod(axis=0)
        if total:
            slope.T[:] += others[:, None, None] * factors[:, i, :, None] * factors[:, None, :, j]
        else:
            slope.T[:, i, j] += others
    return parts.prod(axis=0)[:, None], (slope,)


def _interventional(batch: BatchFit, query: Interventional) -> Answers:
    """As in ``queries.gradients``, for all models at once."""
    b, p = batch.mu.shape
    place = {v: i for i, v in enumerate(batch.names)}
    held = {place[v]: 0.0 if x is None else float(x) for v, x in query.do.items()}
    on = [place[v] for v in query.given]
    seen = np.array([0.0 if x is None else float(x) for x in query.given.values()])
    world = _world(batch, held)
    inverse = pseudo_inverse(world.cov[:, np.array(on, dtype=np.intp)[:, None], on])
    weight = np.zeros((b, p))
    weight[:, on] = (inverse @ (seen - world.mean[:, on])[:, :, None])[:, :, 0]
    values, variances, value_slopes, variance_slopes = [], [], [], []
    for outcome in query.outcomes:
        y = place[outcome]
        probe = np.zeros((b, p))
        probe[:, y] = 1.0
        probe[:, on] -= (inverse @ world.cov[:, on, y][:, :, None])[:, :, 0]
        spread = (world.cov @ probe[:, :, None])[:, :, 0]
        values.append(world.mean[:, y] + (world.cov[:, on, y] * weight[:, on]).sum(axis=1))
        variances.append((spread * probe).sum(axis=1))
        value_slopes.append(_bilinear(batch, world, probe, weight, mean=True))
        variance_slopes.append(_bilinear(batch, world, probe, probe, mean=False))
    return Answers(np.stack(values, axis=1), tuple(value_slopes), np.stack(variances, axis=1), tuple(variance_slopes))


@dataclass(frozen=True, eq=False)
class _World:
    B: Floats
    cov: Floats
    mean: Floats
    free: Floats


def _world(batch: BatchFit, held: dict[int, float]) -> _World:
    """The models after do(): columns of what is held cut, its error zero."""
    T, omega, mu = batch.T.copy(), batch.omega.copy(), batch.mu.copy()
    free = np.ones(len(batch.names))
    for v, x in held.items():
        T[:, :, v] = 0.0
        omega[:, v] = omega[:, :, v] = 0.0
        mu[:, v] = x
        free[v] = 0.0
    B = total_effects(T) if held else batch.B
    return _World(B, B.transpose(0, 2, 1) @ omega @ B, (mu[:, None, :] @ B)[:, 0], free)


def _bilinear(batch: BatchFit, world: _World, a: Floats, w: Floats, *, mean: bool) -> Slopes:
    """Gradient of ``a'mean + a'Sigma w`` (or of ``a'Sigma w`` alone) of the world after do()."""
    Ba, Bw = (mapped(world.B, x) * world.free for x in (a, w))
    Sa, Sw = (mapped(world.cov, x) for x in (a, w))
    T = added(Sw[:, :, None] * Ba[:, None, :], Sa[:, :, None] * Bw[:, None, :])
    omega = Ba[:, :, None] * Bw[:, None, :]
    omega = (omega + omega.transpose(0, 2, 1)) / 2.0
    means = np.zeros_like(a)
    if mean:
        T = added(T, added(world.mean, -batch.mean)[:, :, None] * Ba[:, None, :])
        means = added(Ba, -mapped(batch.T, Ba))
    return Slopes(T, omega, means)


def _one_by_one(batch: BatchFit, query: Query) -> Answers:
    values, variances, found = [], [], []
    for model in batch:
        result = evaluate(query, model)
        values.append(result.mean if isinstance(result, Gaussian) else np.array([result]))
        variances.append(result.variance if isinstance(result, Gaussian) else np.zeros(0))
        found.append(linearize(query, model))
    stacked = [
        tuple(
            Slopes(*(np.stack([getattr(part[k], name) for part in parts]) for name in ("T", "omega", "mean")))
            for k in range(len(parts[0]))
        )
        for parts in ([f.values for f in found], [f.variances for f in found])
    ]
    return Answers(np.stack(values), stacked[0], np.stack(variances), stacked[1])
