"""Slow, obvious ways to the numbers of intervals of sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.data import Moments
from halftrek.estimation import Fitted, fit
from halftrek.partial.assumptions import conditions_of, read_assumptions, relaxed
from halftrek.partial.chance.program import Program
from halftrek.partial.chance.setting import program_of


def leaky_sigma(first: float, leak: float = 0.05) -> Floats:
    """z -> x (``first``), x -> y (0.5), z -> y (``leak``), errors of x and y correlated by a half."""
    T = np.zeros((3, 3))
    T[0, 1], T[1, 2], T[0, 2] = first, 0.5, leak
    omega = np.eye(3)
    omega[1, 2] = omega[2, 1] = 0.5
    B = np.linalg.inv(np.eye(3) - T)
    return np.asarray(B.T @ omega @ B)


def anderson_rubin_union(S: Floats, n: float, tau: float, cut: float) -> list[tuple[float, float]]:
    """All b for which some leak g of size at most tau is kept by the test that z says nothing of ``y - x b - z g``.

    The deviance is ``-n log(1 - R²)`` of the regression on z. For a given b the best g is the slope itself, cut to what
    is allowed; crossings are refined by bisection.
    """

    def excess(b: float) -> float:
        cross, spread = S[0, 2] - b * S[0, 1], S[2, 2] - 2.0 * b * S[1, 2] + b * b * S[1, 1]
        g = float(np.clip(cross / S[0, 0], -tau, tau))
        left = cross - g * S[0, 0]
        variance = spread - 2.0 * g * cross + g * g * S[0, 0]
        return float(-n * np.log1p(-left * left / S[0, 0] / variance) - cut)

    far = np.geomspace(1e-3, 1e7, 20_000)
    at = np.concatenate([-far[::-1], far])
    inside = np.array([excess(float(b)) <= 0.0 for b in at])
    ends = []
    for k in np.flatnonzero(inside[1:] != inside[:-1]):
        a, b = float(at[k]), float(at[k + 1])
        for _ in range(80):
            middle = (a + b) / 2.0
            a, b = (middle, b) if (excess(middle) <= 0.0) == inside[k] else (a, middle)
        ends.append(a)
    borders = [-inf, *ends, inf]
    kept = [bool(inside[0])]
    for _ in ends:
        kept.append(not kept[-1])
    return [piece for piece, ok in zip(pairwise(borders), kept, strict=True) if ok]


@dataclass(frozen=True)
class Set:
    """A program with the fit behind it."""

    program: Program
    fit: Fitted


def set_of(graph: str, names: Sequence[str], sigma: Floats, n: float, question: str, assume: Sequence[str]) -> Set:
    """The program of a question at some moments."""
    drawn = ht.graph(graph).with_(observed=names)
    assumed = read_assumptions(assume, drawn)
    fitted = fit(relaxed(drawn, assumed), Moments(tuple(names), n, np.zeros(len(names)), np.asarray(sigma)))
    conditions = conditions_of(assumed, drawn, fitted.model.names)
    return Set(program_of(fitted, ht.parse_question(question), conditions), fitted)
