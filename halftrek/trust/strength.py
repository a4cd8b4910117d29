"""How strong a formula is: how far what it divides by is from zero.

A formula that identifies an effect divides: by a covariance with an instrument, by a determinant. How far that is from
zero in its own standard errors is the strength of the formula. With r the correlation of one instrument and its cause,
``n Var(log determinant) = 1/r² + 1``; solved for r² and put into ``(n - 2) r² / (1 - r²)`` it is the first-stage F.
Rows in clusters count as clusters, and rows that lack a variable of the step do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from halftrek import identification
from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.identification import Verdict
from halftrek.identification.recipes.recipe import Combination, LinearStep, Recipe, Step, SumStep
from halftrek.identification.recipes.recipe_slopes import Sloped, quantities_in, slopes_of
from halftrek.identification.recipes.slopes import solve_with_slope
from halftrek.inference.evidence.rows_behind import has_rows, sampled
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.robust import is_clustered, mean_squares
from halftrek.inference.kept import kept
from halftrek.notes import Note, note
from halftrek.queries import DirectEffect, PathEffect, Query, TotalEffect

if TYPE_CHECKING:
    from halftrek.identification.study import Study

STRONG = 10.0  # first-stage F from which an instrument counts as strong (Staiger and Stock 1997)
BUDGET = 0.2  # seconds to find the formula that names what is weak


@dataclass(frozen=True)
class Strength:
    """How far a divisor is from zero, in units of a first-stage F; ``rows`` are the instruments, ``columns`` theirs."""

    F: float
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def note(self) -> Note:
        """What is weak, and what to do."""
        code = "weak instrument" if len(self.rows) == 1 else "weak instruments" if self.rows else "weak divisor"
        return note(code, F=self.F, strong=STRONG, rows=", ".join(self.rows), columns=", ".join(self.columns))


def quick_verdict(fit: Fitted, query: Query) -> Verdict:
    """The verdict with the formula that names what is weak, if it is found soon."""
    if not fit.graph.hidden:
        return identification.identify(fit.graph, query, budget=BUDGET, witness=False)
    from halftrek.identification.decision import decide

    return decide(_study(fit), query, scope="linear", budget=BUDGET, witness=False)


@kept
def _study(fit: Fitted) -> Study:
    """One for all questions: searches for a second solution, which hidden variables need, are about the graph."""
    from halftrek.identification.study import Study

    return Study(fit.graph)


def weakest_step(fit: Fitted, query: Query, verdict: Verdict, error: float) -> Strength | None:
    """The weakest division in the formula that identifies an effect; None if it divides by no such thing.

    Where the model says more than the formula uses (further instruments), strength grows as the variance shrinks.
    """
    recipe, data = verdict.recipe, kind_of_data(fit)
    if recipe is None or not data.known_pairs(fit).all():
        return None
    seen = data.unrestricted(fit)
    cov = np.asarray(seen.cov)
    sloped = slopes_of(recipe, cov, seen.names, _divided_by(recipe))
    if sloped is None:
        return Strength(0.0)
    found = [s for step in recipe.steps if (s := _strength(fit, sloped, step)) is not None]
    weakest = min(found, key=lambda s: s.F, default=None)
    if weakest is None or weakest.F >= STRONG or len(recipe.outputs) != 1:
        return weakest
    if isinstance(query, TotalEffect | DirectEffect | PathEffect) and error > 0.0:
        answer = solve_with_slope(recipe, cov, seen.names)
        if answer is None:
            return Strength(0.0)
        alone = _normal_spread(answer[1], cov) / _rows_of(fit, recipe)
        return replace(weakest, F=weakest.F * max(1.0, alone / error**2))
    return weakest


def _divided_by(recipe: Recipe) -> set[str]:
    """The quantities that divisors are made of."""
    found: set[str] = set()
    for step in recipe.steps:
        if isinstance(step, SumStep) and step.divisor is not None:
            found.add(step.divisor)
        elif isinstance(step, LinearStep) and set(step.rows) != set(step.columns):
            found |= quantities_in((*step.rows, *step.columns))
    return found


def _strength(fit: Fitted, sloped: Sloped, step: Step) -> Strength | None:
    if isinstance(step, SumStep) and step.divisor is not None:
        value, slope = sloped.values[step.divisor], sloped.slopes[step.divisor]
        return Strength(_as_F(_spread(fit, slope, sloped.sigma) / value**2, fit.n, 1) if value else 0.0)
    if not isinstance(step, LinearStep) or set(step.rows) == set(step.columns):
        return None
    shared = [c for c in step.rows if c in step.columns]
    rows, columns = [c for c in step.rows if c not in shared], [c for c in step.columns if c not in shared]
    value, slope = sloped.log_determinant(step.rows, step.columns)
    n = kind_of_data(fit).rows_having(fit, _named((*step.rows, *step.columns)))
    if np.isfinite(value) and _looks_at_rows(fit):
        F = _first_stage(fit, slope - sloped.log_determinant(step.rows, step.rows)[1], n, len(step.rows))
    else:
        if shared:
            slope = slope - sloped.log_determinant(shared, shared)[1]
        F = _as_F(_normal_spread(slope, sloped.sigma) if np.isfinite(value) else np.inf, n, len(step.rows))
    return Strength(F, tuple(c.variable for c in rows), tuple(c.variable for c in columns))


def _as_F(spread: float, n: float, rows: int) -> float:
    """From the variance (times n) of the logarithm of a determinant; for one instrument ``1/r² + 1``."""
    if not np.isfinite(spread):
        return 0.0
    share = 1.0 / spread if spread > 0.0 else 1.0
    return float(max(n - 1.0 - rows, 1.0) * share / (1.0 - 2.0 * share)) if share < 0.5 else float("inf")


def _spread(fit: Fitted, slope: Floats, sigma: Floats) -> float:
    """Variance, times n, of a number with this slope in the covariance: of normal rows, or of rows as they are.

    These are looked at where they are in clusters or have sampling weights.
    """
    return _row_spread(fit, slope) if _looks_at_rows(fit) else _normal_spread(slope, sigma)


def _looks_at_rows(fit: Fitted) -> bool:
    """Are rows in clusters or weighted, and complete? Those with holes have no products of their own."""
    if fit.acting is not None and fit.acting.missing:
        return False
    return kind_of_data(fit).moments_suffice and has_rows(fit) and (is_clustered(fit) or sampled(fit) is not None)


def _row_spread(fit: Fitted, slope: Floats) -> float:
    return float(mean_squares(fit, [kind_of_data(fit).covariance_scores(fit, slope[None])])[0][0])


def _first_stage(fit: Fitted, slope: Floats, n: float, rows: int) -> float:
    """F of the slopes of the causes on the instruments, by rows as they are.

    The covariance of instrument and cause varies with the instrument's own variance too. That is no weakness, and with
    rows in clusters or of unequal weight it is no fixed part of the whole that could be taken off: the slope is free of
    it, and ``n Var(log slope) = n / F``.
    """
    spread = _row_spread(fit, slope)
    return max(n - 1.0 - rows, 1.0) / spread if spread > 0.0 else float("inf")


def _normal_spread(slope: Floats, sigma: Floats) -> float:
    inside = slope @ sigma
    return float(2.0 * (inside * inside.T).sum())


def _named(combinations: Sequence[Combination]) -> set[str]:
    return {v for c in combinations for v in (c.variable, *(w for w, _ in c.minus))}


def _rows_of(fit: Fitted, recipe: Recipe) -> float:
    """The fewest rows that a linear step of the recipe has."""
    steps = [s for s in recipe.steps if isinstance(s, LinearStep)]
    sets = [_named((*s.rows, *s.columns, s.target)) for s in steps]
    return min((kind_of_data(fit).rows_having(fit, variables) for variables in sets), default=fit.n)
