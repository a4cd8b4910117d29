"""The best likelihood where an answer is held at a value: Newton steps along the level set of the answer.

Every accepted point has the answer at its value, so the likelihood itself is the merit. In coordinates with unit
curvature on the diagonal: Z spans what leaves the answer unchanged to first order, ``L = H - multiplier * bend`` is the
curvature of the Lagrangian, and the step is ``-Z (Z'LZ)^-1 Z'grad`` followed by a return to the level set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.inference.information.landscape import Landscape, Point

STIFF = 1e-8  # share of the largest curvature below which a direction counts as flat
SADDLE = 1e-4  # share of the largest curvature, downwards, that shows a saddle
HALVINGS = 30
ENOUGH = 1e-9  # a gain in deviance that does not matter


@dataclass(frozen=True, eq=False)
class Local:
    """The quadratic model at a point: the step along the level set, and the path that changes the answer by one."""

    slope: Floats
    weights: Floats
    multiplier: float
    step: Floats
    path: Floats
    decrement: float
    escape: Floats | None  # a direction of the level set along which the value falls to second order
    bend: Floats  # second derivatives of the answer
    fresh: bool  # true if they were taken here, not at a point before


@dataclass(frozen=True, eq=False)
class Held:
    """The best point found with the answer at ``level``.

    ``multiplier`` is how the value moves with the level.
    """

    point: Point
    level: float
    multiplier: float
    model: Local
    converged: bool

    @property
    def value(self) -> float:
        """The value of the likelihood."""
        return self.point.value


def local_model(land: Landscape, point: Point, bend: Floats | None = None) -> Local:
    """The quadratic model of a landscape on the level set through a point; ``bend`` is known from a point before."""
    grad, H, slope = land.gradient(point), land.hessian(point), land.slope(point)
    free = ~((point.theta <= land.lower + 1e-9) & (grad >= 0.0))
    curvature = np.abs(np.diag(H))
    scale = np.where(free, 1.0 / np.sqrt(np.maximum(curvature, 1e-12 * curvature.max() + 1e-300)), 0.0)
    g, q = scale * grad, scale * slope
    length = float(q @ q)
    fresh = bend is None
    bend = land.bend(point, slope) if bend is None else bend
    if length == 0.0:
        return Local(slope, scale, 0.0, np.zeros_like(g), np.zeros_like(g), float("inf"), None, bend, fresh)
    multiplier = float(g @ q) / length
    L = (H - multiplier * bend) * np.outer(scale, scale)
    values, basis = _across(L, q)
    top = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    damped = np.maximum(np.abs(values), STIFF * top)
    along = basis.T @ g
    normal = q / length
    path = normal - basis @ ((basis.T @ (L @ normal)) / damped)
    escape = None
    if len(values) and values[0] < -SADDLE * top:
        escape = scale * basis[:, 0] / np.sqrt(damped[0])
    return Local(
        slope, scale, multiplier, -scale * (basis @ (along / damped)), scale * path,
        0.5 * float((along**2 / damped).sum()), escape, bend, fresh,
    )  # fmt: skip


def _across(L: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of ``Z'LZ`` and its eigenvectors, as ``Z v``, with Z orthonormal and orthogonal to q.

    Z is the reflection ``I - 2uu'`` that takes the first axis to q, without its first column: no product of matrices.
    """
    u = q / np.linalg.norm(q)
    u[0] += np.copysign(1.0, u[0])
    u /= np.linalg.norm(u)
    half = L @ u
    half -= (u @ half) * u
    rest = 2.0 * np.outer(u, half)
    values, vectors = np.linalg.eigh((L - rest - rest.T)[1:, 1:])
    return values, np.concatenate([np.zeros((1, len(values))), vectors]) - np.outer(2.0 * u, u[1:] @ vectors)


def placed(land: Landscape, theta: Floats) -> Point:
    """The point at some parameters, within the parameter space."""
    return land.at(np.maximum(theta, land.lower))


def returned(land: Landscape, point: Point, level: float, weights: Floats, close: float) -> Point | None:
    """A point near another with the answer as close to ``level``; None if there is none in the parameter space."""
    for _ in range(12):
        if not np.isfinite(point.value):
            return None
        gap = level - land.answer(point)
        if not np.isfinite(gap):
            return None
        if abs(gap) <= close + 1e-14 * abs(level):
            return point
        slope = weights**2 * land.slope(point)
        length = float(slope @ (slope / np.where(weights > 0, weights, 1.0) ** 2))
        if length == 0.0:
            return None
        point = placed(land, point.theta + gap * slope / length)
    return None


def best_at(
    land: Landscape,
    start: Point,
    level: float,
    *,
    close: float,
    steps: int = 60,
    bend: Floats | None = None,
    rival: Point | None = None,
) -> Held:
    """Newton steps on the level set from a point that lies on it.

    ``bend``: second derivatives of the answer from a point nearby. ``rival``: stop, not converged, once so near to it
    that the steps would only lead there.
    """
    point = start
    small = max(ENOUGH / land.n, 1e-15 * (1.0 + abs(point.value)))
    model = local_model(land, point, bend)
    for _ in range(steps):
        if rival is not None and _close(land, point, rival, model):
            return Held(point, level, model.multiplier, model, converged=False)
        if model.escape is not None and not model.fresh:
            model = local_model(land, point)
        if model.decrement < small:
            if model.escape is None:
                break
            moved = _downhill(land, point, level, model, close)
        else:
            moved = line_search(land, point, level, model, close)
        if moved is None and model.fresh:
            break
        if moved is None:
            model = local_model(land, point)
            continue
        ahead = local_model(land, moved, model.bend)
        if ahead.decrement > max(0.01 * model.decrement, small) and ahead.bend.any():
            ahead = local_model(land, moved)
        stalled = model.decrement < 1e3 * small and ahead.decrement > 0.5 * model.decrement  # rounding is all there is
        point, model = moved, ahead
        if stalled:
            break
    settled = model.decrement < max(1e3 * small, 1e-13) and model.escape is None
    return Held(point, level, model.multiplier, model, settled)


def _close(land: Landscape, point: Point, rival: Point, model: Local) -> bool:
    """True if no parameter differs by more than half of its standard error."""
    apart = np.abs(point.theta - rival.theta) * np.sqrt(land.n / 2.0)
    return bool((apart <= 0.5 * model.weights).all())


def line_search(land: Landscape, point: Point, level: float, model: Local, close: float) -> Point | None:
    """The first point along the step (halved as often as needed) with a value low enough."""
    t = 1.0
    rounding = 1e-15 * (1.0 + abs(point.value))
    for _ in range(HALVINGS):
        moved = returned(land, placed(land, point.theta + t * model.step), level, model.weights, close)
        if moved is not None and moved.value <= point.value - 1e-4 * t * model.decrement + rounding:
            return moved if moved.value < point.value or t == 1.0 else None
        t /= 2.0
    return None


def _downhill(land: Landscape, point: Point, level: float, model: Local, close: float) -> Point | None:
    """Away from a saddle, to the better side."""
    assert model.escape is not None
    tried = [
        returned(land, placed(land, point.theta + t * model.escape), level, model.weights, close)
        for t in (1.0, -1.0, 0.1, -0.1, 0.01, -0.01)
    ]
    found = [p for p in tried if p is not None and p.value < point.value - 1e-12]
    return min(found, key=lambda p: p.value, default=None)


def moved_to(land: Landscape, held: Held, level: float, *, close: float) -> Iterator[Point]:
    """Points at another level to begin with: along the path of best points, and with the errors refitted."""
    theta = held.point.theta + (level - held.level) * held.model.path
    tries = [placed(land, theta), placed(land, land.refit_errors(held.point, theta))]
    for tried in sorted(tries, key=lambda point: point.value):
        point = returned(land, tried, level, held.model.weights, close)
        if point is not None:
            yield point


def peak(land: Landscape, start: Point, *, steps: int = 100) -> Point:
    """The maximum of the likelihood near a point (the minimum of the value), nothing held."""
    point = start
    for _ in range(steps):
        grad, H = land.gradient(point), land.hessian(point)
        free = ~((point.theta <= land.lower + 1e-9) & (grad >= 0.0))
        curvature = np.abs(np.diag(H))
        scale = np.where(free, 1.0 / np.sqrt(np.maximum(curvature, 1e-12 * curvature.max() + 1e-300)), 0.0)
        values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
        damped = np.maximum(np.abs(values), STIFF * max(float(np.abs(values).max()), 1e-300))
        along = vectors.T @ (scale * grad)
        decrement = 0.5 * float((along**2 / damped).sum())
        if decrement < 1e-15 * (1.0 + abs(point.value)):
            break
        step, t = -scale * (vectors @ (along / damped)), 1.0
        for _ in range(HALVINGS):
            moved = placed(land, point.theta + t * step)
            if moved.value < point.value - 1e-4 * t * decrement:
                break
            t /= 2.0
        else:
            break
        point = moved
    return point
