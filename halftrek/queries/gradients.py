"""How an answer moves with the parameters: closed-form gradients in coefficients, error covariances and means.

Every query here is a function of (T, Omega, m): coefficients, covariance of the error terms, observational means. Of
many models at once, all arrays have leading axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.memory import remembered
from halftrek.models import CGLSCM
from halftrek.queries.checks import check_query
from halftrek.queries.derivatives import ROUNDING, Gradient, Linearized, Scale, outer
from halftrek.queries.evaluate import Models, value_of
from halftrek.queries.gathering import gathered
from halftrek.queries.kinds.effects import ends_of
from halftrek.queries.kinds.statistics import distribution_gradients, term_gradient
from halftrek.queries.kinds.terms import Expression
from halftrek.queries.kinds.variants import single
from halftrek.queries.numbers import checked_number, combined
from halftrek.queries.types import (
    Arithmetic,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)

__all__ = ["Gradient", "Linearized", "Scale", "both_of", "gradients_of", "linearize", "scale_of"]


def scale_of(query: Query) -> Scale:
    """Where an answer is closer to normal, so that intervals keep to the values it can have."""
    match query:
        case Statistic("Var" | "SD", _, _):
            return "log"
        case Statistic("Corr", _, _):
            return "atanh"
        case Probability():
            return "logit"
    return "plain"


def linearize(query: Query, model: CGLSCM) -> Linearized:
    """The gradients of a query's answer at a model."""
    return remembered(model.memory, ("gradients", query), lambda: _checked_gradients(query, model))


def _checked_gradients(query: Query, model: CGLSCM) -> Linearized:
    check_query(query, model.graph)
    return gradients_of(query, model)


def gradients_of(query: Query, models: Models, *, far: bool = False) -> Linearized:
    """The gradients of a query's answer at models; their arrays have the leading axes that the models have.

    ``far``: models may be far from usual, with weights so large that what is next to nothing elsewhere is not.
    """
    if far and not isinstance(query, Distribution):
        return Linearized((_expression(query, models),), scale=scale_of(query))
    sd = np.sqrt(np.diagonal(models.cov, axis1=-2, axis2=-1))
    if isinstance(query, Distribution):
        parts = distribution_gradients(query, models)
        found = [one for part in parts for one in without_rounding(part, sd).split()]
        return Linearized(tuple(found[: len(found) // 2]), tuple(found[len(found) // 2 :]))
    return Linearized((without_rounding(_expression(query, models), sd),), scale=scale_of(query))


def both_of(query: Expression, models: Models) -> tuple[Floats, Gradient]:
    """A number in each model, and its gradient (``far``): terms that an expression has twice are looked at once."""
    value, gradient = _both(query, models, {})
    return checked_number(value, query), gradient


def _both(
    expression: Expression, models: Models, known: dict[Expression, tuple[Floats, Gradient]]
) -> tuple[Floats, Gradient]:
    if expression in known:
        return known[expression]
    match expression:
        case Arithmetic("+" | "-") if (whole := gathered(expression, models.graph)) is not expression:
            found = _both(whole, models, known)
        case Arithmetic(operation, left, right):
            (a, of_a), (b, of_b) = _both(left, models, known), _both(right, models, known)
            slopes = {
                "+": lambda: of_a + of_b,
                "-": lambda: of_a + of_b * -1.0,
                "*": lambda: of_a * b + of_b * a,
                "/": lambda: of_a * (1.0 / b) + of_b * (-a / b / b),
            }
            found = combined(operation, a, b, expression), slopes[operation]()
        case _:
            found = value_of(expression, models), _expression(expression, models)
    known[expression] = found
    return found


def without_rounding(gradient: Gradient, sd: Floats) -> Gradient:
    """Zero where a derivative, in the units of the answer, is next to nothing beside the largest."""
    T = np.abs(gradient.T) * outer(1.0 / sd, sd)  # per standard deviation: all in the units of the answer
    omega = np.abs(gradient.omega) * outer(sd, sd)
    mean = np.abs(gradient.mean) * sd
    least = ROUNDING * np.maximum(np.maximum(T, omega).max(axis=(-2, -1)), mean.max(axis=-1))[..., None]
    return Gradient(
        np.where(least[..., None] > T, 0.0, gradient.T),
        np.where(omega < least[..., None], 0.0, gradient.omega),
        np.where(mean < least, 0.0, gradient.mean),
    )


def _expression(expression: Expression, models: Models) -> Gradient:
    """Sum, product and quotient rule over the terms."""
    match expression:
        case Arithmetic("+" | "-") if (whole := gathered(expression, models.graph)) is not expression:
            return _expression(whole, models)
        case Arithmetic("+", left, right):
            return _expression(left, models) + _expression(right, models)
        case Arithmetic("-", left, right):
            return _expression(left, models) + _expression(right, models) * -1.0
        case Arithmetic("*", left, right):
            a, b = value_of(left, models), value_of(right, models)
            return _expression(left, models) * b + _expression(right, models) * a
        case Arithmetic("/", left, right):
            a, b = value_of(left, models), value_of(right, models)
            return _expression(left, models) * (1.0 / b) + _expression(right, models) * (-a / b / b)
        case Standardized(effect):
            cause, last = ends_of(effect)
            spread = Arithmetic("/", Statistic("SD", (single(cause),)), Statistic("SD", (single(last),)))
            return _expression(Arithmetic("*", effect, spread), models)
        case Statistic() | Probability() | Quantile():
            return term_gradient(expression, models)
        case DirectEffect(cause, effect):
            return _product(models, (cause, effect), total=False)
        case PathEffect(path):
            return _product(models, path, total=False)
        case TotalEffect(cause, effect):
            return _product(models, (cause, effect), total=True)
        case ThroughEffect(stations):
            return _product(models, stations, total=True)
        case ErrorCovariance(first, second):
            return _error_covariance(models, first, second)
        case _:
            return Gradient.zero(models.T)


def _product(models: Models, steps: Sequence[str], *, total: bool) -> Gradient:
    """Gradient of a product of entries of T, or of B, which moves with T by ``dB[i,j] = B[i] dT B[:, j]``."""
    factors = models.B if total else models.T
    legs = list(pairwise(models.names.index(v) for v in steps))
    parts = [factors[..., i, j] for i, j in legs]
    found = Gradient.zero(models.T)
    for k, (i, j) in enumerate(legs):
        others = np.asarray(np.prod([*parts[:k], *parts[k + 1 :]], axis=0))
        if total:
            found.T[:] += others[..., None, None] * outer(factors[..., i, :], factors[..., :, j])
        else:
            found.T[..., i, j] += others
    return found


def _error_covariance(models: Models, first: str, second: str) -> Gradient:
    found = Gradient.zero(models.T)
    i, j = models.names.index(first), models.names.index(second)
    found.omega[..., i, j] += 0.5
    found.omega[..., j, i] += 0.5
    return found
