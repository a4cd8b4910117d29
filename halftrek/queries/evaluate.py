"""What a model answers to a query, exactly: one model, or many of one graph at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import Protocol

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.memory import remembered
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, Gaussian, total_effects
from halftrek.queries.affine import Parameters
from halftrek.queries.checks import check_query, check_roles, variables_of
from halftrek.queries.gathering import gathered
from halftrek.queries.kinds.effects import ends_of
from halftrek.queries.kinds.statistics import conditional_of, term_value
from halftrek.queries.kinds.terms import Expression
from halftrek.queries.normal.conditional import Conditional
from halftrek.queries.numbers import checked_distribution, checked_number, combined
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

__all__ = ["check_query", "check_roles", "evaluate", "values_of", "variables_of"]


class Models(Parameters, Protocol):
    """One model, or many of one graph: a model of the user's, fits of groups, replicates."""

    @property
    def graph(self) -> Graph: ...
    @property
    def cov(self) -> Floats: ...


def evaluate(query: Query, model: CGLSCM) -> float | Gaussian:
    """A number for an effect, a distribution for ``P(...)``."""
    return remembered(model.memory, ("value", query), lambda: _evaluated(query, model))


def _evaluated(query: Query, model: CGLSCM) -> float | Gaussian:
    check_query(query, model.graph)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):  # judged by what comes out
        if isinstance(query, Distribution):
            found = _conditional(query, model)
            return checked_distribution(Gaussian(query.labels, found.mean, found.cov), query)
        return float(checked_number(value_of(query, model), query))


def values_of(query: Query, models: Models) -> tuple[Floats, Floats]:
    """Values ``(..., k)`` (a number, or means of outcomes) and variances of outcomes ``(..., k)``, none for numbers.

    The leading axes are those of the models; nan where one of many has no answer.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        if isinstance(query, Distribution):
            found = _conditional(query, models)
            return found.mean, np.square(found.root).sum(axis=-2)
        value = checked_number(value_of(query, models), query)[..., None]
    return value, np.zeros((*value.shape[:-1], 0))


def value_of(expression: Expression, models: Models) -> Floats:
    """The number that an expression is in each model."""
    match expression:
        case DirectEffect(cause, effect):
            return _weights(models, (cause, effect))
        case PathEffect(path):
            return _weights(models, path)
        case TotalEffect(cause, effect):
            return _through(models, (cause, effect))
        case ThroughEffect(stations):
            return _through(models, stations)
        case ErrorCovariance(first, second):
            i, j = models.names.index(first), models.names.index(second)
            return np.asarray((models.C[..., i] * models.C[..., j]).sum(axis=-1) + models.W[..., i, j])
        case Arithmetic("+" | "-") if (whole := gathered(expression, models.graph)) is not expression:
            return value_of(whole, models)
        case Arithmetic(operation, left, right):
            return combined(operation, value_of(left, models), value_of(right, models), expression)
        case Statistic() | Probability() | Quantile():
            return term_value(expression, _ancestral(models, variables_of(expression)))
        case Standardized(effect):
            i, j = (models.names.index(v) for v in ends_of(effect))
            ratio = models.cov[..., i, i] / models.cov[..., j, j]
            return np.asarray(value_of(effect, models) * np.sqrt(ratio))
        case _:
            return np.broadcast_to(float(expression), models.mu.shape[:-1])


def _conditional(query: Distribution, models: Models) -> Conditional:
    return conditional_of(query, _ancestral(models, variables_of(query)))


def _weights(models: Models, path: Sequence[str]) -> Floats:
    at = [models.names.index(v) for v in path]
    return reduce(np.multiply, [models.T[..., i, j] for i, j in pairwise(at)])


def _through(models: Models, stations: Sequence[str]) -> Floats:
    total, *more = [_total(models, cause, effect) for cause, effect in pairwise(stations)]
    return reduce(np.multiply, more, total)


def _total(models: Models, cause: str, effect: str) -> Floats:
    """Total effect along the variables between the two, so that large graphs cost little."""
    between = models.graph.descendants(cause) & models.graph.ancestors(effect)
    if cause not in between or effect not in between:
        return np.zeros(models.mu.shape[:-1])
    at = np.array([models.names.index(v) for v in models.graph.topological_order if v in between], dtype=np.intp)
    direct = models.T[..., at[:, None], at]
    reach = np.zeros(direct.shape[:-1])
    reach[..., 0] = 1.0  # the cause comes before all that lies between
    for j in range(1, len(at)):
        reach[..., j] = (reach[..., None, :j] @ direct[..., :j, j, None])[..., 0, 0]
    return reach[..., -1]


@dataclass(frozen=True, eq=False)
class _Part:
    """Some variables of models and all their causes: what lies downstream does not matter."""

    names: tuple[str, ...]
    T: Floats
    C: Floats
    W: Floats
    mu: Floats

    @cached_property
    def B(self) -> Floats:
        return total_effects(self.T)

    @cached_property
    def omega(self) -> Floats:
        return np.asarray(np.swapaxes(self.C, -1, -2) @ self.C + self.W)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray((self.mu[..., None, :] @ self.B)[..., 0, :])


def _ancestral(models: Models, variables: Iterable[str]) -> Parameters:
    keep = models.graph.ancestors(variables)
    if len(keep) == len(models.names):
        return models
    at = np.array([i for i, v in enumerate(models.names) if v in keep], dtype=np.intp)
    grid = (..., at[:, None], at)
    names = tuple(models.names[i] for i in at)
    return _Part(names, models.T[grid], models.C[..., at], models.W[grid], models.mu[..., at])
