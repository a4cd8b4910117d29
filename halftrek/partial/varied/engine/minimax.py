"""The least largest of many smooth functions on a surface: ``min max |g(z)|`` subject to ``h(z) = 0``.

By linear programs in a box about the point (sequential linear programming; the box follows how well the last one
foresaw what happened), each corrected once for the bend of ``g`` and ``h`` (Fletcher and Sainz de la Maza 1989,
Mathematical Programming 43, 235-256). Nothing of second order is stored, so some thousand unknowns are no obstacle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats

STEPS = 60  # linear programs, corrections not counted
WEIGHT = 0.3  # of |h| beside the largest |g|, at first
OFF = 1e-4  # |h| from which one step leads onto the surface
BOX = 0.3  # half a side, at first ...
SMALLEST = 1e-9  # ... and at last
ENOUGH = 1e-6  # foreseen gain, as a share of what there is
BACK = 20  # steps onto the surface at the end

Functions = Callable[[Floats], tuple[Floats, Floats]]
Function = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, eq=False)
class _Point:
    z: Floats
    g: Floats
    g_slopes: Floats
    h: float
    h_slope: Floats

    def merit(self, weight: float) -> float:
        found = float(np.abs(self.g).max(initial=0.0)) + weight * abs(self.h)
        return found if np.isfinite(found) else np.inf


def least_largest(
    limited: Functions, surface: Function, start: Floats, advance: Callable[[int], None] = lambda _: None
) -> Floats:
    """Where the search from ``start`` ends; ``advance`` hears of every step."""

    def at(z: Floats) -> _Point:
        with np.errstate(all="ignore"):
            return _Point(z, *limited(z), *surface(z))

    here, box, weight = at(start), BOX, WEIGHT
    for k in range(STEPS):
        advance(k)
        matrix, now = _matrix(here), here.merit(weight)
        step = _stepped(matrix, here.g, here.h, box, weight)
        if step is None:
            break
        foreseen = now - _foreseen(here, step, weight)
        if foreseen <= ENOUGH * now or box < SMALLEST:
            if abs(here.h) <= OFF:
                break
            weight, box = 4.0 * weight, BOX  # it stays off the surface: that has to count for more
            continue
        tried = at(here.z + step)
        if now - tried.merit(weight) < 0.5 * foreseen and np.isfinite(tried.merit(weight)):
            bent_g, bent_h = tried.g - here.g_slopes @ step, tried.h - float(here.h_slope @ step)
            second = _stepped(matrix, bent_g, bent_h, box, weight)
            if second is not None and (corrected := at(here.z + second)).merit(weight) < tried.merit(weight):
                tried, step = corrected, second
        gained = now - tried.merit(weight)
        if gained > 0.75 * foreseen:
            box = min(2.0 * box, 1.0)
        elif gained <= 0.25 * foreseen:
            box = 0.5 * box if gained > 0.1 * foreseen else 0.25 * float(np.abs(step).max())
        if gained > 0.1 * foreseen:
            here = tried
    for _ in range(BACK):  # onto the surface, by the shortest way
        length = float(here.h_slope @ here.h_slope)
        if here.h == 0.0 or not length > 0.0:
            break
        nearer = at(here.z - here.h / length * here.h_slope)
        if not abs(nearer.h) < abs(here.h):
            break
        here = nearer
    return here.z


def _matrix(here: _Point) -> object:
    """Of the linear program in (step, largest |g|, |h|)."""
    from scipy.sparse import bmat, csr_array

    slopes, along = csr_array(here.g_slopes), csr_array(here.h_slope[None])
    ones, one = csr_array(np.ones((len(here.g), 1))), csr_array(np.ones((1, 1)))
    return bmat(
        [[slopes, -ones, None], [-slopes, -ones, None], [along, None, -one], [-along, None, -one]], format="csr"
    )


def _stepped(matrix: object, g: Floats, h: float, box: float, weight: float) -> Floats | None:
    from scipy.optimize import linprog

    if not (np.isfinite(g).all() and np.isfinite(h)):
        return None
    count = matrix.shape[1] - 2  # type: ignore[attr-defined]
    found = linprog(
        np.append(np.zeros(count), [1.0, weight]),
        A_ub=matrix,
        b_ub=np.concatenate([-g, g, [-h, h]]),
        bounds=[(-box, box)] * count + [(0.0, None)] * 2,
        method="highs",
    )
    return None if found.x is None else np.asarray(found.x[:count])


def _foreseen(here: _Point, step: Floats, weight: float) -> float:
    largest = float(np.abs(here.g + here.g_slopes @ step).max(initial=0.0))
    return largest + weight * abs(here.h + float(here.h_slope @ step))
