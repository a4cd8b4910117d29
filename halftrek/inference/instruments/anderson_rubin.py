"""Values of an effect that the instruments do not reject, however weak they are (Anderson and Rubin 1949).

If b is the effect, instruments say nothing of ``y - x b``: ``g(b)'Ω(b)⁻¹g(b) / K`` is an F, with g linear in b and Ω
quadratic. It is below c exactly where ``[[c, g'], [g, Ω]]`` has no negative eigenvalue, and that matrix is a polynomial
of degree two in b: the ends of the set are among the real solutions of a quadratic eigenvalue problem, all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.inference.instruments.equation import Equation
from halftrek.inference.instruments.numbers import Tested, f_test
from halftrek.inference.instruments.spread import Spread

REAL = 1e-7  # how far from real a solution may be by rounding
Ends = tuple[float, float]


def anderson_rubin_test(given: Equation, spread: Spread, value: float = 0.0) -> Tested:
    """That the effect of the only cause is ``value``; it is right whatever the strength of the instruments."""
    K = len(given.instruments)
    free = given.first_free if spread.clusters is None else spread.clusters - 1.0
    return f_test(float(_statistic(*_parts(given, spread), value)) / K, K, free)


def anderson_rubin_set(given: Equation, spread: Spread, level: float) -> tuple[Ends, ...]:
    """All values that the test keeps, as intervals from left to right; none if it rejects every value."""
    from scipy.special import fdtri

    K = len(given.instruments)
    free = given.first_free if spread.clusters is None else spread.clusters - 1.0
    bound = K * float(fdtri(K, free, level))
    scale = float(np.sqrt(given.part("y", "y")[0, 0] / given.part("x", "x")[0, 0]))
    g0, g1, A, B, C = _parts(given, spread)
    g1, B, C = scale * g1, scale * B, scale**2 * C  # in standard deviations, so that no solution is far away
    cuts = _crossings(bound, g0, g1, A, B, C)
    tries = [0.0] if not cuts else [cuts[0] - 1.0, *((a + b) / 2.0 for a, b in pairwise(cuts)), cuts[-1] + 1.0]
    inside = [bool(_statistic(g0, g1, A, B, C, b) <= bound) for b in tries]
    ends = [-np.inf, *cuts, np.inf]
    return _joined([(scale * a, scale * b) for (a, b), kept in zip(pairwise(ends), inside, strict=True) if kept])


def _parts(given: Equation, spread: Spread) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """``g = g0 - g1 b`` and ``Ω = A - B b + C b²``."""
    moments = given.n * given.part("z", "yx")
    cross = spread.first[0, 1]
    return moments[:, 0], moments[:, 1], spread.first[0, 0], cross + cross.T, spread.first[1, 1]


def _statistic(g0: Floats, g1: Floats, A: Floats, B: Floats, C: Floats, b: float) -> float:
    gap = g0 - g1 * b
    return float(gap @ np.linalg.solve(A - B * b + C * b * b, gap))


def _crossings(bound: float, g0: Floats, g1: Floats, A: Floats, B: Floats, C: Floats) -> list[float]:
    """Real b at which ``[[c, g'], [g, Ω]]`` is singular, in order."""
    from scipy.linalg import eigvals

    size = len(g0) + 1
    unit = np.sqrt(np.concatenate([[bound], np.diag(A)]))  # rows and columns of one size

    def bordered(corner: float, side: Floats, block: Floats) -> Floats:
        whole = np.block([[np.full((1, 1), corner), side[None]], [side[:, None], block]])
        return np.asarray(whole / unit[:, None] / unit)

    P0, P1 = bordered(bound, g0, A), bordered(0.0, -g1, -B)
    P2 = bordered(0.0, np.zeros(size - 1), C)
    zero, one = np.zeros((size, size)), np.eye(size)
    found = eigvals(np.block([[zero, one], [-P0, -P1]]), np.block([[one, zero], [zero, P2]]))
    found = found[np.isfinite(found)]
    real = found[np.abs(found.imag) <= REAL * (1.0 + np.abs(found))].real
    return sorted(float(b) for b in real if abs(b) < 1.0 / REAL)


def _joined(parts: Sequence[Ends]) -> tuple[Ends, ...]:
    """Intervals that touch are one."""
    found: list[Ends] = []
    for low, high in parts:
        if found and found[-1][1] == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)
