"""What many fitted models of one graph answer: values alone, for all of them at once where there is a formula."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import QueryError
from halftrek.estimation import BatchFit
from halftrek.inference.draws.replicate_worlds import (
    ancestral,
    counterfactual_moments,
    distribution_moments,
    term_values,
)
from halftrek.models import Gaussian, total_effects
from halftrek.queries import (
    Counterfactual,
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Potential,
    Query,
    ThroughEffect,
    TotalEffect,
    evaluate,
)
from halftrek.queries.gathering import gathered
from halftrek.queries.kinds.terms import Arithmetic, Distribution, Expression, Probability, Quantile, Statistic


def values_of(batch: BatchFit, query: Query) -> tuple[Floats, Floats]:
    """Values ``(b, k)`` and variances of outcomes ``(b, k)`` (none for numbers); nan where a model has no answer."""
    none = np.zeros((len(batch), 0))
    match query:
        case DirectEffect() | PathEffect() | TotalEffect() | ThroughEffect() | ErrorCovariance() | Arithmetic():
            return _number(batch, query)[:, None], none
        case Statistic() | Probability() | Quantile():
            found = term_values(batch, query)
            return (found[:, None], none) if found is not None else _one_by_one(batch, query)
        case Interventional() | Counterfactual() | Distribution():
            moments = _moments(batch, query)
            if moments is None:
                return _one_by_one(batch, query)
            return moments[0], np.diagonal(moments[1], axis1=1, axis2=2)
        case _:
            return _one_by_one(batch, query)


def _moments(batch: BatchFit, query: Interventional | Counterfactual | Distribution) -> tuple[Floats, Floats] | None:
    match query:
        case Interventional(outcomes, do, given):
            placed = {Potential(v, do): x for v, x in given.items()}
            return counterfactual_moments(batch, Counterfactual(tuple(Potential(v, do) for v in outcomes), placed))
        case Counterfactual():
            return counterfactual_moments(batch, query)
        case Distribution():
            return distribution_moments(batch, query)


def _number(batch: BatchFit, expression: Expression) -> Floats:
    match expression:
        case DirectEffect(cause, effect):
            return _along(batch.T, batch.names, (cause, effect))
        case PathEffect(path):
            return _along(batch.T, batch.names, path)
        case TotalEffect(cause, effect):
            return _total(batch, (cause, effect))
        case ThroughEffect(stations):
            return _total(batch, stations)
        case ErrorCovariance(first, second):
            i, j = batch.names.index(first), batch.names.index(second)
            return np.asarray((batch.C[:, :, i] * batch.C[:, :, j]).sum(axis=1) + batch.W[:, i, j])
        case Arithmetic("+" | "-") if (whole := gathered(expression, batch.graph)) is not expression:
            return _number(batch, whole)
        case Arithmetic(operation, left, right):
            a, b = _number(batch, left), _number(batch, right)
            with np.errstate(divide="ignore", invalid="ignore"):
                found = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[operation](a, b)
            return np.where(np.isfinite(found), found, np.nan)
        case float() | int():
            return np.full(len(batch), float(expression))
        case _:
            return values_of(batch, expression)[0][:, 0]


def _along(matrices: Floats, names: Sequence[str], steps: Sequence[str]) -> Floats:
    at = [names.index(v) for v in steps]
    return np.asarray(np.prod([matrices[:, i, j] for i, j in pairwise(at)], axis=0))


def _total(batch: BatchFit, stations: Sequence[str]) -> Floats:
    names, T, _, _ = ancestral(batch, stations)
    return _along(total_effects(T), names, stations)


def _one_by_one(batch: BatchFit, query: Query) -> tuple[Floats, Floats]:
    values: list[Floats | None] = []
    variances: list[Floats] = []
    for model in batch:
        try:
            result = evaluate(query, model)
        except QueryError:  # for instance a divisor of zero
            values.append(None)
            continue
        values.append(result.mean if isinstance(result, Gaussian) else np.array([result]))
        variances.append(result.variance if isinstance(result, Gaussian) else np.zeros(0))
    first = next((v for v in values if v is not None), np.full(1, np.nan))
    none = np.full(len(first), np.nan)
    found = iter(variances)
    width = len(variances[0]) if variances else 0
    spread = [np.full(width, np.nan) if v is None else next(found) for v in values]
    return np.stack([none if v is None else v for v in values]), np.stack(spread)
