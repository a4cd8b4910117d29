"""Multipliers of the claims that bind at an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.conditions import All, Atom, Claim, Formula
from halftrek.partial.sets.proof.beyond import Beyond, Multiplier, goal_of
from halftrek.partial.sets.search import Problem

_BINDS = 1e-6  # share of its coefficients below which a polynomial is taken for zero


def multipliers_at(
    claims: Sequence[Claim], problem: Problem, beyond: Beyond, inner: float, u: Floats
) -> tuple[Multiplier, ...]:
    """Weights for which the answer less the claims that bind is flat at an end, where it is ``inner``.

    Any weights that are not negative are allowed in a proof; these make it short.
    """
    goal = goal_of(problem.form, replace(beyond, level=beyond.sign * inner)).slopes(u)
    active = [(a, unless) for a, unless in _alternatives(claims) if _vanishes(problem, a, u)]
    if not active or not np.isfinite(goal).all():
        return ()
    slopes = np.array([problem.claims.atoms[id(a)].slopes(u) for a, _ in active]).T
    factors, _ = nnls(slopes, goal)
    return tuple(Multiplier(a, float(f), unless) for (a, unless), f in zip(active, factors, strict=True) if f > 0.0)


def _vanishes(problem: Problem, atom: Atom, u: Floats) -> bool:
    compiled = problem.claims.atoms[id(atom)]
    return abs(float(compiled.values(u))) < _BINDS * compiled.size


def _alternatives(claims: Sequence[Claim]) -> list[tuple[Atom, tuple[Formula, ...]]]:
    """All signs that claims ask for, each with what would have to fail for it to be asked for."""
    found: list[tuple[Atom, tuple[Formula, ...]]] = []
    waiting: list[tuple[Formula, tuple[Formula, ...]]] = [(claim.formula, ()) for claim in claims]
    while waiting:
        formula, unless = waiting.pop()
        if isinstance(formula, Atom):
            found.append((formula, unless))
        elif isinstance(formula, All):
            waiting += [(part, unless) for part in formula.parts]
        else:
            for part in formula.parts:
                waiting.append((part, (*unless, *(p for p in formula.parts if p is not part))))
    return found
