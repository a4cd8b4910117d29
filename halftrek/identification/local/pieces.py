"""Composite questions as rational functions of the parameters, in any arithmetic.

In every changed world a variable is an affine function of the errors whose slopes are sums over paths. Means of the
observed variables are known and can be anything, so they, and values that were left out, are put in as numbers that
stand for any others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, Protocol
from zlib import crc32

from halftrek.errors import QueryError
from halftrek.identification.local.worlds import N, Parts
from halftrek.queries.kinds.terms import Expression, case_of, sums_of
from halftrek.queries.kinds.variants import Changes, Draw, Scale, Shift, Sum, Variant, single
from halftrek.queries.types import (
    Arithmetic,
    Composite,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)

if TYPE_CHECKING:
    from halftrek.graphs import Graph

Asked = Statistic | Probability | Quantile | Distribution


class Numbers(Protocol[N]):
    """Arithmetic with the coefficients and error covariances of a model."""

    def number(self, value: float) -> N:
        """A constant."""

    def add(self, a: N, b: N) -> N:
        """Sum."""

    def multiply(self, a: N, b: N) -> N:
        """Product."""

    def inverse(self, matrix: list[list[N]]) -> list[list[N]] | None:
        """Inverse of a square matrix, None if it is singular."""

    def weight(self, cause: str, effect: str) -> N:
        """Weight of an edge."""

    def error_covariance(self, first: str, second: str) -> N | None:
        """Covariance of two error terms, None if the graph says that it is zero."""


def stand_in(role: str) -> float:
    """A number that stands for any other: it depends on nothing but its role, and no user writes it by chance."""
    return ((crc32(role.encode()) % 2048) * 2 + 1 - 2048) / 1024.0


def mean_of(variable: str) -> float:
    """The observed mean of a variable, which can be anything."""
    return stand_in(f"mean of {variable}")


@dataclass(eq=False)
class Line(Generic[N]):
    """A sum of variables as an affine function of the errors and of fresh draws."""

    constant: N
    errors: dict[str, N] = field(default_factory=dict)
    draws: dict[Hashable, tuple[N, float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Structure(Generic[N]):
    """A graph with numbers of some kind."""

    graph: Graph
    numbers: Numbers[N]
    memory: dict[Hashable, Line[N]] = field(default_factory=dict)

    def total(self, items: list[N]) -> N:
        """Sum of several."""
        found = self.numbers.number(0.0)
        for item in items:
            found = self.numbers.add(found, item)
        return found

    def times(self, factor: float, item: N) -> N:
        """A constant multiple."""
        return item if factor == 1.0 else self.numbers.multiply(self.numbers.number(factor), item)

    def divide(self, a: N, b: N, question: object) -> N:
        """Quotient."""
        inverse = self.numbers.inverse([[b]])
        if inverse is None:
            raise QueryError(f"{question}: the divisor is zero in every model of this graph")
        return self.numbers.multiply(a, inverse[0][0])

    def line(self, of: Sum) -> Line[N]:
        """A weighted sum of variables in worlds of their own."""
        found = Line(self.numbers.number(0.0))
        for weight, v in of.parts:
            self._add(found, self.variable(v.variable, v.changes), self.numbers.number(weight))
        return found

    def variable(self, name: str, changes: Changes) -> Line[N]:
        """A variable in a changed world, by its equation."""
        world = frozenset(changes.items())
        if (name, world) not in self.memory:
            above = self.graph.ancestors(name)
            for v in self.graph.topological_order:  # causes first, so that long chains need no deep recursion
                if v in above and (v, world) not in self.memory:
                    self.memory[v, world] = self._variable(v, changes)
        return self.memory[name, world]

    def _variable(self, name: str, changes: Changes) -> Line[N]:
        n = self.numbers
        change = changes.get(name, Shift(0.0)) if name in changes else Shift(0.0)
        if isinstance(change, Variant):
            return self.variable(change.variable, change.changes)
        if isinstance(change, Draw):
            label = (name, frozenset(changes.items()))
            return Line(n.number(change.mean), {}, {label: (n.number(1.0), change.variance)})
        if not isinstance(change, Shift | Scale):
            return Line(n.number(stand_in(f"held {name}") if change is None else change))
        found = Line(n.number(0.0), {name: n.number(1.0)})
        for u in self.graph.parents(name):
            weight = n.weight(u, name)
            if (u, name) in changes:
                value = changes[u, name]
                number = value if isinstance(value, float) else stand_in(f"held {u} -> {name}")
                found.constant = n.add(found.constant, self.times(number, weight))
            else:
                self._add(found, self.variable(u, changes), weight)
        if isinstance(change, Shift):
            found.constant = n.add(found.constant, n.number(change.amount))
            return found
        scaled = Line(n.number(0.0))
        self._add(scaled, found, n.number(change.factor))
        return scaled

    def _add(self, to: Line[N], line: Line[N], weight: N) -> None:
        n = self.numbers
        to.constant = n.add(to.constant, n.multiply(weight, line.constant))
        for v, slope in line.errors.items():
            term = n.multiply(weight, slope)
            to.errors[v] = n.add(to.errors[v], term) if v in to.errors else term
        for label, (slope, variance) in line.draws.items():
            term = n.multiply(weight, slope)
            before = to.draws.get(label)
            to.draws[label] = (term if before is None else n.add(before[0], term), variance)

    def intercept(self, name: str) -> N:
        """Mean of an error term: ``mu = (I - T)' m``."""
        n = self.numbers
        terms = [self.times(-mean_of(u), n.weight(u, name)) for u in self.graph.parents(name)]
        return self.total([n.number(mean_of(name)), *terms])

    def mean(self, line: Line[N]) -> N:
        """Mean of a sum."""
        terms = [self.numbers.multiply(slope, self.intercept(v)) for v, slope in line.errors.items()]
        return self.total([line.constant, *terms])

    def covariance(self, a: Line[N], b: Line[N]) -> N:
        """Covariance of two sums."""
        n = self.numbers
        terms = []
        for u, left in a.errors.items():
            for v, right in b.errors.items():
                omega = n.error_covariance(u, v)
                if omega is not None:
                    terms.append(n.multiply(n.multiply(left, right), omega))
        for label, (left, variance) in a.draws.items():
            if label in b.draws:
                terms.append(self.times(variance, n.multiply(left, b.draws[label][0])))
        return self.total(terms)


@dataclass(frozen=True, eq=False)
class Given(Generic[N]):
    """The sums of a term given the values that were seen."""

    structure: Structure[N]
    term: Asked

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        """What is before the bar, then what the events behind it are about."""
        case = case_of(self.term)
        before = tuple(case.placed_sum(of) for of in sums_of(self.term))
        return (*before, *(e.of for e in case.in_worlds.events))

    @cached_property
    def _lines(self) -> list[Line[N]]:
        return [self.structure.line(of) for of in self.sums]

    @cached_property
    def _seen(self) -> list[tuple[Line[N], float]]:
        given = case_of(self.term).in_worlds.given
        return [(self.structure.line(single(v)), stand_in(f"seen {v}") if x is None else x) for v, x in given.items()]

    @cached_property
    def _slopes(self) -> list[list[N]]:
        s, n = self.structure, self.structure.numbers
        lines = [line for line, _ in self._seen]
        if not lines:
            return [[] for _ in self._lines]
        inverse = n.inverse([[s.covariance(a, b) for b in lines] for a in lines])
        if inverse is None:
            raise QueryError(
                f"in {self.term} a part of the condition follows from the rest; leave out what the rest determines"
            )
        found = []
        for line in self._lines:
            cross = [s.covariance(line, other) for other in lines]
            columns = range(len(lines))
            found.append(
                [s.total([n.multiply(c, row[k]) for c, row in zip(cross, inverse, strict=True)]) for k in columns]
            )
        return found

    def mean(self, i: int) -> N:
        """Conditional mean."""
        s, n = self.structure, self.structure.numbers
        terms = [s.mean(self._lines[i])]
        for slope, (line, value) in zip(self._slopes[i], self._seen, strict=True):
            terms.append(n.multiply(slope, n.add(n.number(value), s.times(-1.0, s.mean(line)))))
        return s.total(terms)

    def covariance(self, i: int, j: int) -> N:
        """Conditional covariance."""
        s, n = self.structure, self.structure.numbers
        terms = [s.covariance(self._lines[i], self._lines[j])]
        for slope, (line, _) in zip(self._slopes[i], self._seen, strict=True):
            terms.append(s.times(-1.0, n.multiply(slope, s.covariance(line, self._lines[j]))))
        return s.total(terms)


def is_rational(expression: Expression | Composite) -> bool:
    """True if the answer is a quotient of polynomials in the parameters."""
    match expression:
        case Arithmetic(_, left, right):
            return is_rational(left) and is_rational(right)
        case Statistic("E" | "Var" | "Cov", _, case):
            return not case.events
        case Statistic() | Probability() | Quantile() | Standardized() | Distribution():
            return False
    return True


def composite_parts(graph: Graph, query: Composite, numbers: Numbers[N]) -> Parts[N]:
    """The number asked for where it is rational, else numbers that determine it."""
    parts = Parts[N]([], [])
    _collect(Structure(graph, numbers), query, parts)
    return parts


def _collect(s: Structure[N], query: Expression | Composite, parts: Parts[N]) -> None:
    if isinstance(query, float):
        return
    if is_rational(query):
        parts.texts.append(str(query))
        parts.values.append(_rational(s, query))
        return
    match query:
        case Arithmetic("+" | "-"):
            summands = list(_summands(query, 1.0))
            exact = [(sign, e) for sign, e in summands if is_rational(e)]
            if any(not isinstance(e, float) for _, e in exact):
                parts.texts.append("the rest of the sum")
                parts.values.append(s.total([s.times(sign, _rational(s, e)) for sign, e in exact]))
            for _, e in summands:
                if not is_rational(e):
                    _collect(s, e, parts)
        case Arithmetic(_, left, right):
            _collect(s, left, parts)
            _collect(s, right, parts)
        case Standardized(effect):
            parts.texts.append(str(effect))
            parts.values.append(_rational(s, effect))
        case Statistic() | Probability() | Quantile() | Distribution():
            _collect_moments(s, query, parts)


def _summands(expression: Expression | Composite, sign: float) -> Iterator[tuple[float, Expression | Composite]]:
    if isinstance(expression, Arithmetic) and expression.operation in "+-":
        yield from _summands(expression.left, sign)
        yield from _summands(expression.right, sign if expression.operation == "+" else -sign)
    else:
        yield sign, expression


def _collect_moments(s: Structure[N], term: Asked, parts: Parts[N]) -> None:
    given = Given(s, term)
    count = len(given.sums)
    if isinstance(term, Probability | Quantile | Distribution) or term.case.events:
        for i in range(count):
            parts.texts.append(f"the mean of {given.sums[i]} in {term}")
            parts.values.append(given.mean(i))
    for i in range(count):
        for j in range(i + 1):
            parts.texts.append(f"the covariance of {given.sums[j]} and {given.sums[i]} in {term}")
            parts.values.append(given.covariance(i, j))


def _rational(s: Structure[N], expression: Expression | Composite) -> N:
    n = s.numbers
    match expression:
        case float():
            return n.number(expression)
        case Arithmetic(operation, left, right):
            a, b = _rational(s, left), _rational(s, right)
            if operation in "+-":
                return n.add(a, b if operation == "+" else s.times(-1.0, b))
            return n.multiply(a, b) if operation == "*" else s.divide(a, b, expression)
        case Statistic("E", _, _):
            return Given(s, expression).mean(0)
        case Statistic("Var", _, _):
            return Given(s, expression).covariance(0, 0)
        case Statistic("Cov", _, _):
            return Given(s, expression).covariance(0, 1)
        case DirectEffect(cause, effect):
            return _edges(s, (cause, effect))
        case PathEffect(path):
            return _edges(s, path)
        case TotalEffect(cause, effect):
            return _stations(s, (cause, effect))
        case ThroughEffect(stations):
            return _stations(s, stations)
        case ErrorCovariance(first, second):
            found = n.error_covariance(first, second)
            return n.number(0.0) if found is None else found
    raise AssertionError(f"{expression} is not rational")


def _edges(s: Structure[N], path: tuple[str, ...]) -> N:
    product = s.numbers.number(1.0)
    for u, v in pairwise(path):
        if u not in s.graph.parents(v):
            return s.numbers.number(0.0)
        product = s.numbers.multiply(product, s.numbers.weight(u, v))
    return product


def _stations(s: Structure[N], stations: tuple[str, ...]) -> N:
    """Effects of each station on the next: how the next moves when the errors do."""
    product = s.numbers.number(1.0)
    for u, v in pairwise(stations):
        slope = s.variable(v, {}).errors.get(u)
        if slope is None:
            return s.numbers.number(0.0)
        product = s.numbers.multiply(product, slope)
    return product
