"""The ends of a set by search: many points at once, then sequential quadratic programs from the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, minimize

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.compiled import CompiledClaims, CompiledForm, Stacked
from halftrek.partial.exact.conditions import DIVISOR, Claim

SLACK = 1e-9  # by which a claim may be missed, in the size of its terms
BINDS = 1e-7  # by which a claim may hold that still counts as reached
_POINTS = 3000
_STARTS = 5
_AGAIN = 6  # programs from where the last one ended
_GAIN = 0.01  # share by which it must have come farther for the next to begin
_LEAP = 3.0  # times as far as the last answer
_DECADES = 8  # such leaps
_DESCENTS = 32  # to where the claims hold, where no point was met that obeys
_USUAL = 30.0  # coordinates from which these begin


def anywhere(_: Floats) -> bool:
    """There is a model at every point."""
    return True


@dataclass(frozen=True, eq=False)
class Problem:
    """A question, claims and the box of the coordinates; an open side of the box is infinite."""

    form: CompiledForm
    claims: CompiledClaims
    low: Floats
    high: Floats
    columns: tuple[int, ...] = ()  # of each coordinate, the column it is of
    sound: Callable[[Floats], bool] = anywhere  # is there a model at a point? At poles signs say nothing
    reach: float = np.inf  # of a coordinate, beyond which programs do not go
    digits: float = 1e-15  # by which the answer changes where programs stop

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.low)


def sampled(problem: Problem, rng: np.random.Generator, count: int = _POINTS) -> Floats:
    """Points all over the box; on open sides dense near zero, with far tails."""
    t = rng.uniform(0.0, 1.0, (count, problem.dimension))
    t[: count // 4] = np.where(rng.random(t[: count // 4].shape) < 0.5, np.round(t[: count // 4]), t[: count // 4])
    t = np.clip(t, 1e-9, 1.0 - 1e-9)
    spread = np.tan(np.pi * (t - 0.5))
    low, high = problem.low, problem.high
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(all="ignore"):
        inside = np.where(bounded, low, 0.0) + t * np.where(bounded, high - low, 0.0)
        above = np.where(np.isfinite(low), low, 0.0) + t / (1.0 - t)
        below = np.where(np.isfinite(high), high, 0.0) - t / (1.0 - t)
    return np.where(bounded, inside, np.where(np.isfinite(low), above, np.where(np.isfinite(high), below, spread)))


@np.errstate(all="ignore")  # far out numbers may be too large, and are left out
def feasible_points(problem: Problem, rng: np.random.Generator) -> Floats:
    """Points where the claims hold; where chance meets none, those that descents from the nearest reach."""
    points = sampled(problem, rng)
    excess = problem.claims.excess(points)
    inside = points[excess <= 0.0]
    if len(inside) and not problem.sound(inside[0]):
        inside = np.array([u for u in inside[:200] if problem.sound(u)]).reshape(-1, problem.dimension)
    if len(inside) >= 20:
        return inside
    near = points[np.argsort(excess)[:8]]
    if not len(inside):  # an equation, which chance never meets: descents from all over the box, not from one corner
        usual = points[np.abs(points).max(axis=1) < _USUAL]
        near = np.vstack([near, usual[:: max(1, len(usual) // _DESCENTS)][:_DESCENTS]])
    reached = [repaired(problem, u) for u in near]
    more = [u for u in reached if u is not None]
    return np.vstack([inside, *(u[None] for u in more)]) if more else inside


@np.errstate(all="ignore")  # far out numbers may be too large, and are left out
def repaired(problem: Problem, u: Floats) -> Floats | None:
    """A nearby point where the claims hold, by a program that moves as little as it must; None if it finds none."""
    found = _program(problem, u, lambda x: (0.5 * float((x - u) @ (x - u)), x - u))
    return found if bool(problem.claims.holds(found, SLACK)) and problem.sound(found) else None


@np.errstate(all="ignore")  # far out numbers may be too large, and are left out
def improved(problem: Problem, sign: float, starts: Sequence[Floats]) -> tuple[float, Floats] | None:
    """The largest ``sign * inner`` that programs from some points reach, and where."""
    best: tuple[float, Floats] | None = None
    for start in starts:
        scale = 1.0 + abs(float(problem.form.both(start)[0]))

        def objective(x: Floats, scale: float = scale) -> tuple[float, Floats]:
            value, slope = problem.form.both(x)
            return -sign * float(value) / scale, -sign * slope / scale

        for x in (_program(problem, start, objective), start):
            value = sign * float(problem.form.both(x)[0])
            if not np.isfinite(value) or (best is not None and value <= best[0]):
                continue
            if bool(problem.claims.holds(x, SLACK)) and problem.sound(x):
                best = value, x
    return best


def driven(problem: Problem, sign: float, starts: Sequence[Floats]) -> tuple[float, Floats] | None:
    """The same, again from where the last program ended, as long as the next comes farther."""
    best = improved(problem, sign, starts)
    if best is None:
        return None
    for _ in range(_AGAIN):
        before = best
        again = improved(problem, sign, [before[1]])
        best = max((b for b in (before, again) if b is not None), key=lambda b: b[0])
        if best[0] - before[0] <= _GAIN * abs(before[0]):
            break
    return best


def outwards(answered: Callable[[float, float], Problem], away: float, starts: Sequence[Floats]) -> Iterator[Floats]:
    """Points where the answer is some times as far as ``away``, and again as far, as long as programs arrive.

    ``answered``: the problem with an answer between two numbers.
    """
    for _ in range(_DECADES):
        low, high = sorted((_LEAP * away, _LEAP**3 * away))
        beyond = answered(low, high)
        reached = next((u for u in (repaired(beyond, v) for v in starts) if u is not None), None)
        if reached is None:
            return
        yield reached
        away, starts = float(beyond.form.both(reached)[0]), [reached, *starts]


def spread_starts(points: Floats, values: Floats, count: int = _STARTS) -> list[Floats]:
    """Points with the largest values, and far from each other."""
    values = np.where(np.isfinite(values), values, -np.inf)
    order = np.argsort(-values)[:200]
    chosen: list[Floats] = []
    for k in order:
        t = np.arctan(points[k])
        if all(np.abs(np.arctan(c) - t).max() > 0.15 for c in chosen):
            chosen.append(points[k])
        if len(chosen) == count:
            break
    return chosen


def binding_at(claims: Sequence[Claim], coordinates: Sequence[int], u: Floats) -> tuple[object, ...]:
    """The reasons of the claims that hold with equality at a point."""
    reasons: dict[object, None] = {}
    for claim in claims:
        if claim.reason != DIVISOR and float(CompiledClaims([claim.formula], coordinates).excess(u)) > -BINDS:
            reasons[claim.reason] = None
    return tuple(reasons)


def _program(problem: Problem, start: Floats, objective: object) -> Floats:
    atoms = [problem.claims.atoms[id(a)] for a in problem.claims.near(start)]
    atoms = [a for a in atoms if len(a.coefficients)]  # nothing, which is at most zero everywhere, is no constraint
    constraints = []
    if atoms and problem.dimension:
        stack = Stacked(atoms)
        steepest = np.abs(stack.both(start)[1]).max(axis=1, initial=0.0)
        scales = 1.0 / np.maximum(steepest, 1e-3 * np.array([a.size for a in atoms]))
        constraints = [
            {
                "type": "ineq",
                "fun": lambda x: -scales * stack.both(x)[0],
                "jac": lambda x: -scales[:, None] * stack.both(x)[1],
            }
        ]
    with np.errstate(all="ignore"):
        found = minimize(
            objective,
            start,
            jac=True,
            method="SLSQP",
            bounds=Bounds(np.maximum(problem.low, -problem.reach), np.minimum(problem.high, problem.reach)),
            constraints=constraints,
            options={"maxiter": 60, "ftol": problem.digits},
        )
    x = np.clip(np.asarray(found.x, dtype=float), problem.low, problem.high)
    return x if np.isfinite(x).all() else start
