"""When not to trust an interval: weak instruments, and a likelihood that is no parabola.

A formula that identifies an effect divides: by a covariance with an instrument, by a determinant. How far that is from
zero in its own standard errors is the strength of the formula. With r the correlation of one instrument and its cause,
``n Var(log determinant) = 1/r² + 1``; solved for r² and put into ``(n - 2) r² / (1 - r²)`` it is the first-stage F.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halftrek.estimation import Fit
from halftrek.identification import Verdict
from halftrek.identification.fields import Reals
from halftrek.identification.recipe import (
    Combination,
    LinearStep,
    Recipe,
    Step,
    SumStep,
    inputs_of,
    prune,
    run,
    variables_used,
)
from halftrek.inference import Estimate, How, estimate
from halftrek.inference.weak import curvature
from halftrek.model import Floats, Gaussian
from halftrek.queries import DirectEffect, PathEffect, Query, TotalEffect

STRONG = 10.0  # first-stage F from which an instrument counts as strong (Staiger and Stock 1997)
UNSURE = 100.0  # below, what enters the instruments from earlier steps is counted in too
SURE = 100.0  # from which on an interval from a standard error is right
FEW, MANY = 30, 100  # rows from which on a regression, and products of regressions, are no cause for doubt
FEW_SENTENCE = "{n:g} rows are few: intervals are made for large samples, and with so few they are too narrow"
CLEAR = 4.0  # standard errors from zero
MOST = 8  # variables of a formula that are looked at
OUTCOMES = 3  # values of an answer that are looked at


@dataclass(frozen=True)
class Strength:
    """How far a divisor is from zero, in units of a first-stage F; ``rows`` are the instruments, ``columns`` theirs."""

    F: float
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What is weak, and what to do."""
        advice = 'the interval cannot be trusted, use fit.query(..., interval="profile")'
        if len(self.rows) == 1:
            return (
                f"{self.rows[0]} is a weak instrument for {self.columns[0]} (first-stage F = {self.F:.1f}, below "
                f"{STRONG:g}): {advice}"
            )
        if self.rows:
            return (
                f"{_listed(self.rows)} are weak instruments for {_listed(self.columns)} (strength {self.F:.1f} as a "
                f"first-stage F, below {STRONG:g}): {advice}"
            )
        return (
            f"the formula of this effect divides by a number that data hardly tell from zero (strength {self.F:.1f} as "
            f"a first-stage F, below {STRONG:g}): {advice}"
        )


def doubts(
    fitted: Fit, query: Query, result: float | Gaussian, verdict: Verdict, sure: Estimate, how: How
) -> list[str]:
    """Sentences for what speaks against the interval of an answer; for a profile only few rows do."""
    few = [FEW_SENTENCE.format(n=fitted.n)] if fitted.n < FEW and not np.isnan(sure.errors).any() else []
    return few + _doubts(fitted, query, result, verdict, sure, how)


def _doubts(
    fitted: Fit, query: Query, result: float | Gaussian, verdict: Verdict, sure: Estimate, how: How
) -> list[str]:
    if how.interval == "profile" or np.isnan(sure.errors).any():
        return []
    normal = sure if how.interval == "delta" else estimate(fitted, query, result, replace(how, interval="delta"))
    weakest = weakest_step(fitted, query, verdict, float(normal.errors[0]))
    if weakest is not None and weakest.F < STRONG:
        return [weakest.sentence]
    if _plain(fitted, query, verdict, weakest, normal):
        return []
    for k, ends in enumerate(normal.intervals[:OUTCOMES]):
        found = curvature(fitted, query, k, ends, how.quantile**2)
        if found is not None and found.doubtful:
            return [found.sentence]
    return []


def _plain(fitted: Fit, query: Query, verdict: Verdict, weakest: Strength | None, normal: Estimate) -> bool:
    """True if the formula alone shows that a look at the likelihood would find nothing.

    So do strong instruments, a single regression, and products of regressions that are clearly not zero: the ratio of a
    product to its standard error is below those of its factors.
    """
    if verdict.recipe is None:  # with no formula to look at: plain if the arrows alone identify it
        return verdict.scope == "nonparametric" and fitted.n >= MANY
    if weakest is not None:
        return weakest.F >= SURE
    if len(verdict.recipe.steps) == 1:
        return fitted.n >= FEW
    effect = isinstance(query, TotalEffect | DirectEffect | PathEffect)
    return fitted.n >= MANY and (not effect or abs(float(normal.values[0])) > CLEAR * float(normal.errors[0]))


def weakest_step(fitted: Fit, query: Query, verdict: Verdict, error: float) -> Strength | None:
    """The weakest division in the formula that identifies an effect; None if it divides by no such thing.

    Where the model says more than the formula uses (further instruments), strength grows as the variance shrinks.
    """
    recipe, seen = verdict.recipe, fitted.moments
    if recipe is None or len(variables_used(recipe)) > MOST:
        return None
    if fitted.patterns is not None:
        if fitted.patterns.apart or not fitted.patterns.unrestricted.converged:
            return None
        seen = fitted.patterns.unrestricted.moments
    sigma = np.asarray(seen.cov)
    found = [s for step in recipe.steps if (s := _strength(recipe, step, sigma, seen.names, fitted.n)) is not None]
    weakest = min(found, key=lambda s: s.F, default=None)
    if weakest is None or weakest.F >= STRONG or len(recipe.outputs) != 1:
        return weakest
    if isinstance(query, TotalEffect | DirectEffect | PathEffect) and error > 0.0:
        slope = _slope(lambda S: _outputs(recipe, S, seen.names)[0], sigma, _places(recipe, seen.names))
        alone = _spread(slope, sigma) / fitted.n
        return replace(weakest, F=weakest.F * max(1.0, alone / error**2))
    return weakest


def _strength(recipe: Recipe, step: Step, sigma: Floats, names: Sequence[str], n: float) -> Strength | None:
    if isinstance(step, SumStep) and step.divisor is not None:
        before = Recipe(recipe.names, prune(recipe.steps, (step.divisor,)), (step.divisor,))
        value = _outputs(before, sigma, names)[0]
        slope = _slope(lambda S: _outputs(before, S, names)[0], sigma, _places(before, names))
        return Strength(_as_F(_spread(slope, sigma) / value**2, n, 1) if value else 0.0)
    if not isinstance(step, LinearStep) or set(step.rows) == set(step.columns):
        return None
    shared = [c for c in step.rows if c in step.columns]
    rows, columns = [c for c in step.rows if c not in shared], [c for c in step.columns if c not in shared]
    spread = _log_spread(recipe, step, shared, sigma, names)
    F = _as_F(spread, n, len(step.rows))
    if F < UNSURE and any(c.minus for c in (*step.rows, *step.columns)):
        base = _log_determinant(recipe, step, shared, sigma, names)
        if np.isfinite(base):
            slope = _slope(lambda S: _log_determinant(recipe, step, shared, S, names), sigma, _places(recipe, names))
            F = _as_F(_spread(slope, sigma), n, len(step.rows))
    return Strength(F, tuple(c.variable for c in rows), tuple(c.variable for c in columns))


def _as_F(spread: float, n: float, rows: int) -> float:
    """From the variance (times n) of the logarithm of a determinant; for one instrument ``1/r² + 1``."""
    if not np.isfinite(spread):
        return 0.0
    share = 1.0 / spread if spread > 0.0 else 1.0
    return float(max(n - 1.0 - rows, 1.0) * share / (1.0 - 2.0 * share)) if share < 0.5 else float("inf")


def _vectors(recipe: Recipe, step: LinearStep, sigma: Floats, names: Sequence[str]) -> Callable[[Combination], Floats]:
    """Combinations of variables as vectors, with the quantities that earlier steps give."""
    needed = tuple(sorted(inputs_of(step)))
    values = _outputs(Recipe(recipe.names, prune(recipe.steps, needed), needed), sigma, names) if needed else []
    known, place = dict(zip(needed, values, strict=True)), {v: i for i, v in enumerate(names)}

    def vector(c: Combination) -> Floats:
        found = np.zeros(len(names))
        found[place[c.variable]] = 1.0
        for v, q in c.minus:
            found[place[v]] -= known[q]
        return found

    return vector


def _log_spread(
    recipe: Recipe, step: LinearStep, shared: list[Combination], sigma: Floats, names: Sequence[str]
) -> float:
    """Variance, times n, of the logarithm of the step's determinant over that of what rows and columns share."""
    vector = _vectors(recipe, step, sigma, names)
    L, R = (np.array([vector(c) for c in part]) for part in (step.rows, step.columns))
    try:
        slope = R.T @ np.linalg.solve(L @ sigma @ R.T, L)
        if shared:
            S = np.array([vector(c) for c in shared])
            slope = slope - S.T @ np.linalg.solve(S @ sigma @ S.T, S)
    except np.linalg.LinAlgError:
        return float("inf")
    return _spread((slope + slope.T) / 2.0, sigma)


def _log_determinant(
    recipe: Recipe, step: LinearStep, shared: list[Combination], sigma: Floats, names: Sequence[str]
) -> float:
    vector = _vectors(recipe, step, sigma, names)
    L, R = (np.array([vector(c) for c in part]) for part in (step.rows, step.columns))
    found = np.linalg.slogdet(L @ sigma @ R.T)[1]
    if shared:
        S = np.array([vector(c) for c in shared])
        found = found - np.linalg.slogdet(S @ sigma @ S.T)[1]
    return float(found)


def _outputs(recipe: Recipe, sigma: Floats, names: Sequence[str]) -> list[float]:
    values = run(recipe, Reals(), sigma, names)
    return [float("nan") if values is None else float(values[q]) for q in recipe.outputs]


def _places(recipe: Recipe, names: Sequence[str]) -> list[int]:
    place = {v: i for i, v in enumerate(names)}
    return [place[v] for v in variables_used(recipe)]


def _slope(number: Callable[[Floats], float], sigma: Floats, places: list[int]) -> Floats:
    """The derivative in a symmetric matrix, ``dq = tr(slope dSigma)``, by central differences."""
    found = np.zeros_like(sigma)
    for k, i in enumerate(places):
        for j in places[: k + 1]:
            step = 1e-5 * np.sqrt(sigma[i, i] * sigma[j, j])
            ends = []
            for sign in (1.0, -1.0):
                moved = sigma.copy()
                moved[i, j] += sign * step
                moved[j, i] = moved[i, j]
                ends.append(number(moved))
            found[i, j] = found[j, i] = (ends[0] - ends[1]) / (2.0 * step) * (1.0 if i == j else 0.5)
    return found


def _spread(slope: Floats, sigma: Floats) -> float:
    """Variance, times n, of a number with this derivative in the covariance of normal data."""
    inside = slope @ sigma
    return float(2.0 * (inside * inside.T).sum())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
