"""Do the formula that identifies an effect and the whole model's estimate differ by more than chance?

In a graph that is right both estimate the same number, a formula from some of the equations and the likelihood from
all. Both are functions of the sample covariance S, and so is their difference: with G the slope of the formula in S and
Q that of the estimate, by implicit differentiation of the fit, a row x adds ``x'(G - Q)x`` less its mean. The variance
is that of normal rows with the covariance S, which no model restricts, or the mean square over the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.identification.recipes.recipe import Recipe, arrow_of
from halftrek.identification.recipes.slopes import solve_with_slope
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.robust import count_clusters, is_clustered, mean_squares
from halftrek.inference.kept import kept
from halftrek.notes import Note
from halftrek.queries import DirectEffect, ErrorCovariance, PathEffect, Query, ThroughEffect, TotalEffect, evaluate
from halftrek.queries.gradients import linearize

if TYPE_CHECKING:
    from halftrek.inference.information.influence import Scores

LEVEL = 0.001  # chance of a warning of a disagreement where the graph is right
SAME = 1e-8  # share by which two numbers that are one differ by rounding
TINY = 1e-16  # the least chance that is named
LEAST = 1e-3  # of the formula's standard error: what an optimiser may leave, and what matters to nobody

Effect = TotalEffect | DirectEffect | PathEffect | ThroughEffect | ErrorCovariance


@dataclass(frozen=True)
class Difference:
    """What a formula gives for an effect and what the whole model gives, with the standard error of the difference.

    ``free`` are the degrees of freedom of that error: rows less the variables that the difference is made of, or one
    less than there are clusters, where it is from clusters.
    """

    effect: Effect
    formula: float
    model: float
    error: float
    free: float

    @property
    def p(self) -> float:
        """Chance of a difference at least as large where the graph is right; nan where it has no standard error."""
        from scipy.special import stdtr

        return float(2.0 * stdtr(self.free, -self.away))

    @property
    def away(self) -> float:
        """How many standard errors the two are apart."""
        return abs(self.formula - self.model) / self.error

    @property
    def note(self) -> Note | None:
        """The warning, if chance hardly explains the difference."""
        if erfc(self.away / sqrt(2.0)) >= LEVEL or not self.p < LEVEL:  # the normal's tails are lighter, whatever df
            return None
        facts = {"what": str(self.effect), "formula": self.formula, "model": self.model, "error": self.error}
        return Note("formula differs", {**facts, "p": max(self.p, TINY)})


def disagreement(fit: Fitted, query: Query, recipe: Recipe | None, *, robust: bool = False) -> Note | None:
    """A warning if formula and whole model are further apart than chance allows in a graph that is right."""
    found = difference(fit, query, recipe, robust=robust)
    return None if found is None else found.note


@kept
def difference(fit: Fitted, query: Query, recipe: Recipe | None, *, robust: bool = False) -> Difference | None:
    """Formula and model where they are not the same number; None where they are, or where there is no formula.

    ``robust`` takes the spread from the rows, by cluster where they have clusters.
    """
    effect, data = None if recipe is None else effect_of(query, recipe), kind_of_data(fit)
    if recipe is None or effect is None or not (data.known_pairs(fit).all() and data.has_errors(fit)):
        return None
    seen = data.unrestricted(fit)
    found = solve_with_slope(recipe, seen.cov, seen.names)
    model = evaluate(effect, fit.model)
    assert isinstance(model, float)  # an effect is a number
    if found is None or abs(found[0] - model) <= SAME * max(abs(model), abs(found[0])):
        return None
    gradients = linearize(effect, fit.model).values
    moves = _Moves(data.covariance_scores(fit, found[1][None]), data.row_scores(fit, gradients))
    spread = mean_squares(fit, [moves])[0] if robust else moves.normal_spread(seen.mean - fit.moments.mean, seen.cov)
    if robust and is_clustered(fit):
        free, widened = count_clusters(fit) - 1.0, 1.0
    else:
        free = data.rows(fit) - len(moves.at)
        widened = data.rows(fit) / max(free, 1.0)
    if free < 1.0:
        return None
    own, both = np.sqrt(np.maximum(spread, 0.0) / fit.n * widened)
    return Difference(effect, found[0], model, float(max(both, LEAST * own)), free)


def effect_of(query: Query, recipe: Recipe) -> Effect | None:
    """The effect whose value a recipe gives; None if it gives several, or one of another kind."""
    if len(recipe.outputs) != 1:
        return None
    if isinstance(query, TotalEffect | DirectEffect | PathEffect | ThroughEffect | ErrorCovariance):
        return query
    name = recipe.outputs[0]
    if " around " in name:
        return None
    if " ~> " in name:
        cause, effect = name.split(" ~> ")
        return TotalEffect(cause, effect)
    arrow = arrow_of(name)
    return None if arrow is None else DirectEffect(arrow.first, arrow.second)


@dataclass(frozen=True, eq=False)
class _Moves:
    """How one row, times n, moves the formula and the difference of formula and model.

    The formula moves with the moments that no model restricts.
    """

    formula: Scores
    model: Scores

    def __len__(self) -> int:
        return 2

    @property
    def at(self) -> Ints:
        """The columns that matter."""
        return np.union1d(self.formula.at, self.model.at)

    def values(self, centred: Floats, cov: Floats) -> Floats:
        """Two columns."""
        formula, model = self.formula.values(centred, cov), self.model.values(centred, cov)
        return np.concatenate([formula, formula - model], axis=1)

    def normal_spread(self, mean: Floats, cov: Floats) -> Floats:
        """Mean squares over normal rows with this covariance, and with this mean beside that of the fit's moments."""
        return self.formula.normal_spread(self.model, mean, cov)
