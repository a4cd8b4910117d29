"""How an answer moves with the parameters: closed-form gradients in coefficients, error covariances and means.

Every query here is a function of (T, Omega, m): coefficients, covariance of the error terms, observational means. With
``q = a'mean + a'Sigma w`` of a world after do(), B and Sigma of that world, held variables H:

    dq/dT[i,j]   = (B a)_j (mean_i - m_i) + (B a)_j (Sigma w)_i + (Sigma a)_i (B w)_j      for j not in H
    dq/dOmega    = ((B a)(B w)' + (B w)(B a)') / 2                                          outside H
    dq/dm        = (I - T) (B a)                                                            over equations not in H

Of several worlds at once (counterfactuals) the same, with ``B a`` summed over the worlds that the answer looks at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from halftrek.arrays import Floats
from halftrek.memory import remembered
from halftrek.models import CGLSCM
from halftrek.models.gaussian import pseudo_inverse
from halftrek.queries.checks import check_query
from halftrek.queries.counterfactual import Worlds, evidence_slopes, evidence_weights, joint_worlds
from halftrek.queries.derivatives import ROUNDING, Gradient, Linearized, Scale, added, mapped
from halftrek.queries.evaluate import value_of
from halftrek.queries.gathering import gathered
from halftrek.queries.kinds.effects import ends_of
from halftrek.queries.kinds.statistics import distribution_gradients, term_gradient
from halftrek.queries.kinds.terms import Expression
from halftrek.queries.kinds.variants import single
from halftrek.queries.types import (
    Arithmetic,
    Counterfactual,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)

__all__ = ["Gradient", "Linearized", "Scale", "linearize", "scale_of"]


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
    found = _linearized(query, model)
    sd = np.sqrt(np.diag(model.cov))
    return replace(
        found,
        values=tuple(_without_rounding(g, sd) for g in found.values),
        variances=tuple(_without_rounding(g, sd) for g in found.variances),
    )


def _without_rounding(gradient: Gradient, sd: Floats) -> Gradient:
    """Zero where a derivative, in the units of the answer, is next to nothing beside the largest."""
    T = np.abs(gradient.T) * (sd / sd[:, None])  # per standard deviation: all in the units of the answer
    omega = np.abs(gradient.omega) * (sd * sd[:, None])
    mean = np.abs(gradient.mean) * sd
    least = ROUNDING * max(T.max(), omega.max(), mean.max())
    return Gradient(
        np.where(least > T, 0.0, gradient.T),
        np.where(omega < least, 0.0, gradient.omega),
        np.where(mean < least, 0.0, gradient.mean),
    )


def _linearized(query: Query, model: CGLSCM) -> Linearized:
    match query:
        case DirectEffect(cause, effect):
            return Linearized((_product(model, (cause, effect), model.T, _edge),))
        case PathEffect(path):
            return Linearized((_product(model, path, model.T, _edge),))
        case TotalEffect(cause, effect):
            return Linearized((_product(model, (cause, effect), model.B, _total),))
        case ThroughEffect(stations):
            return Linearized((_product(model, stations, model.B, _total),))
        case ErrorCovariance(first, second):
            return Linearized((_error_covariance(model, first, second),))
        case Interventional():
            return _interventional(query, model)
        case Counterfactual():
            return _counterfactual(query, model)
        case Distribution():
            means, variances = distribution_gradients(query, model)
            return Linearized(tuple(means), tuple(variances))
        case _:
            return Linearized((_expression(query, model),), scale=scale_of(query))


def _expression(expression: Expression, model: CGLSCM) -> Gradient:
    """Sum, product and quotient rule over the terms."""
    match expression:
        case Arithmetic("+" | "-") if (whole := gathered(expression, model.graph)) is not expression:
            return _expression(whole, model)
        case Arithmetic("+", left, right):
            return _expression(left, model) + _expression(right, model)
        case Arithmetic("-", left, right):
            return _expression(left, model) + _expression(right, model) * -1.0
        case Arithmetic("*", left, right):
            a, b = value_of(left, model), value_of(right, model)
            return _expression(left, model) * b + _expression(right, model) * a
        case Arithmetic("/", left, right):
            a, b = value_of(left, model), value_of(right, model)
            return _expression(left, model) * (1.0 / b) + _expression(right, model) * (-a / b / b)
        case Standardized(effect):
            cause, last = ends_of(effect)
            spread = Arithmetic("/", Statistic("SD", (single(cause),)), Statistic("SD", (single(last),)))
            return _expression(Arithmetic("*", effect, spread), model)
        case Statistic() | Probability() | Quantile():
            return term_gradient(expression, model)
        case DirectEffect() | TotalEffect() | PathEffect() | ThroughEffect() | ErrorCovariance():
            return linearize(expression, model).values[0]
        case _:
            return Gradient.zero(len(model.names))


def _edge(model: CGLSCM, i: int, j: int) -> Floats:
    slope = np.zeros_like(model.T)
    slope[i, j] = 1.0
    return slope


def _total(model: CGLSCM, i: int, j: int) -> Floats:
    return np.outer(model.B[i], model.B[:, j])


def _product(model: CGLSCM, steps: Sequence[str], factors: Floats, derivative) -> Gradient:  # type: ignore[no-untyped-def]
    """Gradient of a product of entries of a matrix that depends on T alone."""
    at = [model.names.index(v) for v in steps]
    legs = list(pairwise(at))
    slope = np.zeros_like(model.T)
    for k, (i, j) in enumerate(legs):
        others = np.prod([factors[leg] for other, leg in enumerate(legs) if other != k])
        slope += others * derivative(model, i, j)
    p = len(model.names)
    return Gradient(slope, np.zeros((p, p)), np.zeros(p))


def _error_covariance(model: CGLSCM, first: str, second: str) -> Gradient:
    p = len(model.names)
    omega = np.zeros((p, p))
    i, j = model.names.index(first), model.names.index(second)
    omega[i, j] += 0.5
    omega[j, i] += 0.5
    return Gradient(np.zeros((p, p)), omega, np.zeros(p))


def _interventional(query: Interventional, model: CGLSCM) -> Linearized:
    held: Mapping[str, float] = {v: 0.0 if x is None else float(x) for v, x in query.do.items()}
    world = model.do(held)
    p = len(model.names)
    place = {v: i for i, v in enumerate(model.names)}
    on = [place[v] for v in query.given]
    seen = np.array([0.0 if x is None else float(x) for x in query.given.values()])
    weight = np.zeros(p)
    inverse = pseudo_inverse(world.cov[np.ix_(on, on)])
    weight[on] = inverse @ (seen - world.mean[on])
    values, variances = [], []
    for outcome in query.outcomes:
        probe = np.zeros(p)
        probe[place[outcome]] = 1.0
        probe[on] -= inverse @ world.cov[on, place[outcome]]
        values.append(_bilinear(model, world, held, probe, weight, mean=True))
        variances.append(_bilinear(model, world, held, probe, probe, mean=False))
    return Linearized(tuple(values), tuple(variances))


def _bilinear(model: CGLSCM, world: CGLSCM, held: Mapping[str, float], a: Floats, w: Floats, *, mean: bool) -> Gradient:
    """Gradient of ``a'mean + a'Sigma w`` (or of ``a'Sigma w`` alone) of the world after do()."""
    free = np.array([v not in held for v in model.names], dtype=float)
    Ba, Bw = mapped(world.B, a) * free, mapped(world.B, w) * free
    Sa, Sw = mapped(world.cov, a), mapped(world.cov, w)
    T = added(np.outer(Sw, Ba), np.outer(Sa, Bw))
    omega = (np.outer(Ba, Bw) + np.outer(Bw, Ba)) / 2.0
    means = np.zeros(len(a))
    if mean:
        T = added(T, np.outer(added(world.mean, -model.mean), Ba))
        means = added(Ba, -mapped(model.T, Ba))
    return Gradient(T, omega, means)


def _counterfactual(query: Counterfactual, model: CGLSCM) -> Linearized:
    worlds, outcomes, evidence, seen = joint_worlds(query, model)
    weight = np.zeros(len(worlds.potentials))
    slopes = np.zeros((0, len(outcomes)))
    if evidence:
        slopes = evidence_slopes(worlds, outcomes, evidence)
        weight[evidence] = evidence_weights(worlds, evidence, seen - worlds.mean[evidence])
    values, variances = [], []
    for k in outcomes:
        probe = np.zeros(len(worlds.potentials))
        probe[k] = 1.0
        probe[evidence] -= slopes[:, k]
        values.append(_across_worlds(worlds, probe, weight, mean=True))
        variances.append(_across_worlds(worlds, probe, probe, mean=False))
    return Linearized(tuple(values), tuple(variances))


def _across_worlds(worlds: Worlds, a: Floats, w: Floats, *, mean: bool) -> Gradient:
    """Gradient of ``a'mean + a'Cov w`` (or of ``a'Cov w`` alone) of variables in several worlds."""
    model = worlds.model
    Ea, Ew = mapped(worlds.errors, a), mapped(worlds.errors, w)
    parts = [
        np.outer(mapped(home.after.B.T, home.free * mapped(model.omega, y)), home.reach(sums))
        for x, y in ((a, Ew), (w, Ea))
        for home, sums in worlds.probe(x)
    ]
    means = np.zeros(len(model.names))
    if mean:
        parts += [np.outer(added(home.after.mean, -model.mean), home.reach(sums)) for home, sums in worlds.probe(a)]
        means = added(Ea, -mapped(model.T, Ea))
    return Gradient(added(np.zeros_like(model.T), *parts), (np.outer(Ea, Ew) + np.outer(Ew, Ea)) / 2.0, means)
