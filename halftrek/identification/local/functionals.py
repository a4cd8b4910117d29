"""Every question as functions of the parameters, evaluated with their derivatives at a point."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halftrek.errors import QueryError
from halftrek.identification.local.effects import edge_weight, path_sum
from halftrek.identification.local.pieces import composite_parts, is_rational
from halftrek.identification.local.smooth import smooth_dual
from halftrek.identification.local.worlds import DualRing, counterfactual_parts
from halftrek.identification.numbers import duals
from halftrek.identification.numbers.fields import Reals
from halftrek.queries.evaluate import variables_of
from halftrek.queries.types import (
    Composite,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
)

if TYPE_CHECKING:
    from halftrek.identification.local.parameters import Point
    from halftrek.identification.numbers.fields import Array, Field


@dataclass(frozen=True, eq=False)
class Functionals:
    """The numbers that make up the answer to a query: row ``i`` belongs to ``texts[i]``; value, then derivatives."""

    texts: tuple[str, ...]
    duals: Array

    @property
    def values(self) -> Array:
        """The numbers."""
        return self.duals[:, 0]

    @property
    def gradients(self) -> Array:
        """Their derivatives, one column per parameter."""
        return self.duals[:, 1:]

    @cached_property
    def moving(self) -> list[int]:
        """Parameters that some of them depend on."""
        found: list[int] = np.flatnonzero(self.gradients.any(axis=0)).tolist()
        return found


@dataclass(frozen=True, eq=False)
class Valuation:
    """T and Omega among an ancestral set of variables, as dual numbers."""

    field: Field
    width: int
    order: tuple[str, ...]
    parents: dict[str, list[tuple[str, Array]]]
    omega: dict[tuple[str, str], Array]

    def zero(self) -> Array:
        """The number 0."""
        return duals.constant(self.field, 0.0, self.width)

    def one(self) -> Array:
        """The number 1."""
        return duals.constant(self.field, 1.0, self.width)

    def effects_of(self, cause: str, held: Iterable[str] = ()) -> dict[str, Array]:
        """Total effect of ``cause`` on every variable, while others are held."""
        fixed = set(held) - {cause}
        found = {cause: self.one()}
        for v in self.order:
            if v == cause or v in fixed:
                continue
            terms = [duals.multiply(self.field, found[u], t) for u, t in self.parents[v] if u in found]
            if terms:
                found[v] = self.field.reduce(np.sum(terms, axis=0))
        return found

    def effects_on(self, effect: str, held: Iterable[str] = ()) -> dict[str, Array]:
        """Total effect of the error of every variable on ``effect``, while others are held."""
        fixed = set(held)
        found = {effect: self.one()}
        for v in reversed(self.order):
            if v in found and v not in fixed:
                for u, t in self.parents[v]:
                    if u not in fixed:
                        term = duals.multiply(self.field, t, found[v])
                        found[u] = self.field.reduce(found[u] + term) if u in found else term
        return found

    def covariance(self, first: str, second: str, held: Iterable[str] = ()) -> Array:
        """Covariance of two variables while others are held."""
        fixed = tuple(held)
        return self.covariance_between(first, fixed, second, fixed)

    def covariance_between(self, first: str, held: Iterable[str], second: str, held_there: Iterable[str]) -> Array:
        """Covariance of a variable in one world and a variable in another, which share their errors."""
        left, right = self.effects_on(first, held), self.effects_on(second, held_there)
        total = self.zero()
        for (u, v), value in self.omega.items():
            for a, b in {(u, v), (v, u)}:
                if a in left and b in right:
                    term = duals.multiply(self.field, duals.multiply(self.field, left[a], value), right[b])
                    total = self.field.reduce(total + term)
        return total


def valuation(point: Point, variables: Iterable[str], *, derivatives: bool = True) -> Valuation:
    """The parts of the model that concern some variables (an ancestral set), as dual numbers."""
    table, field = point.parameters, point.field
    width, keep = 1 + table.count * derivatives, set(variables)
    parents: dict[str, list[tuple[str, Array]]] = {v: [] for v in keep}
    omega: dict[tuple[str, str], Array] = {}
    loadings: dict[str, list[tuple[str, Array]]] = {}
    for at in table.among(keep):
        entry, value = table.entries[at], point.entry_values[at]
        dual = np.zeros(width, field.dtype)
        dual[0] = value
        if derivatives and entry.parameter is not None:
            dual[1 + entry.parameter] = 1
        if entry.kind == "loading":
            loadings.setdefault(entry.source, []).append((entry.target, dual))
        elif entry.source in keep:
            if entry.kind == "direct":
                parents[entry.target].append((entry.source, dual))
            else:
                omega[entry.source, entry.target] = dual
    for arrows in loadings.values():
        for i, (a, first) in enumerate(arrows):
            for b, second in arrows[i:]:
                key = (b, a) if (b, a) in omega else (a, b)
                product = duals.multiply(field, first, second)
                omega[key] = field.reduce(omega[key] + product) if key in omega else product
    order = tuple(v for v in table.graph.topological_order if v in keep)
    return Valuation(field, width, order, parents, omega)


def functionals(query: Query, point: Point) -> Functionals:
    """The numbers that have to be known to answer the query, with their derivatives at a point."""
    match query:
        case DirectEffect(cause, effect):
            return Functionals((str(query),), edge_weight(point, cause, effect)[None])
        case PathEffect(path):
            return Functionals((str(query),), _product(point, edge_weight, path)[None])
        case TotalEffect(cause, effect):
            return Functionals((str(query),), path_sum(point, cause, effect)[None])
        case ThroughEffect(stations):
            return Functionals((str(query),), _product(point, path_sum, stations)[None])
        case ErrorCovariance(first, second):
            model = valuation(point, (first, second))
            either = model.omega.get((first, second), model.omega.get((second, first), model.zero()))
            return Functionals((str(query),), either[None])
        case Distribution(asks="intervention") if not query.seen:
            return _joint(point, query)
    graph = point.parameters.graph
    model = valuation(point, graph.ancestors(variables_of(query)))
    match query:
        case Distribution(asks="intervention"):
            return _conditional(model, query)
        case Distribution(asks="counterfactual"):
            parts = counterfactual_parts(graph, query, DualRing(model))
            return Functionals(tuple(parts.texts), np.array(parts.values))
        case _:
            if isinstance(point.field, Reals) and not (is_rational(query) or isinstance(query, Distribution)):
                return Functionals((str(query),), smooth_dual(query, point)[None])
            parts = composite_parts(graph, query, DualRing(model))
            return Functionals(tuple(parts.texts), np.array(parts.values).reshape(len(parts.values), model.width))


def composite_values(query: Composite, point: Point) -> Array:
    """The numbers alone: with 300 causes that covary each would carry 45,000 derivatives."""
    if isinstance(point.field, Reals) and not (is_rational(query) or isinstance(query, Distribution)):
        return functionals(query, point).values
    graph = point.parameters.graph
    model = valuation(point, graph.ancestors(variables_of(query)), derivatives=False)
    return np.array(composite_parts(graph, query, DualRing(model)).values).reshape(-1)


def _product(point: Point, leg: Callable[[Point, str, str], Array], stations: tuple[str, ...]) -> Array:
    product = duals.constant(point.field, 1.0, 1 + point.parameters.count)
    for u, v in itertools.pairwise(stations):
        product = duals.multiply(point.field, product, leg(point, u, v))
    return product


def _joint(point: Point, query: Distribution) -> Functionals:
    """The effects of each held variable while the others are held: with them and Sigma the distribution is known."""
    texts, rows = [], []
    for x in query.do:
        others = [w for w in query.do if w != x]
        for y in query.names:
            texts.append(f"{x} ~> {y}" + (f" with {', '.join(others)} held" if others else ""))
            rows.append(path_sum(point, x, y, others))
    return Functionals(tuple(texts), np.array(rows).reshape(len(rows), 1 + point.parameters.count))


def _conditional(model: Valuation, query: Distribution) -> Functionals:
    """Slopes on the condition and on the held variables, and the conditional covariance, all after do."""
    field, given = model.field, tuple(query.seen)
    both = (*query.names, *given)
    m = len(query.names)
    cov = np.zeros((len(both), len(both), model.width), field.dtype)
    for i, a in enumerate(both):
        for j, b in enumerate(both[: i + 1]):
            cov[i, j] = cov[j, i] = model.covariance(a, b, query.do)
    spread = duals.inverse(field, cov[m:, m:])
    if spread is None:
        raise QueryError(f"in {query} the condition has no spread after do(); leave out what the others determine")
    slope = duals.matmul(field, cov[:m, m:], spread)
    rest = field.reduce(cov[:m, :m] - duals.matmul(field, slope, cov[m:, :m]))
    texts = [f"slope of {y} on {z} after do" for y in query.names for z in given]
    rows = list(slope.reshape(-1, model.width))
    for i, a in enumerate(query.names):
        for j, b in enumerate(query.names[: i + 1]):
            texts.append(f"covariance of {b} and {a} after do, given {', '.join(given)}")
            rows.append(rest[i, j])
    for x in query.do:
        effects = model.effects_of(x, [w for w in query.do if w != x])
        on = np.array([effects.get(v, model.zero()) for v in both])
        lessened = field.reduce(on[:m] - duals.matmul(field, slope, on[m:, None])[:, 0])
        texts += [f"effect of {x} on {y} given {', '.join(given)}" for y in query.names]
        rows += list(lessened)
    return Functionals(tuple(texts), np.array(rows))
