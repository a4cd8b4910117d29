"""How many values has an answer where hidden variables have causes? By elimination, modulo primes, where that is small.

At a random model the unknowns are the weights of arrows and the covariances that nobody sees, of hidden variables with
all others; ``(I - T)' Sigma (I - T)`` is the covariance of errors, and what the graph says of it gives the equations.
Scales are set by arrows of known weight, so that signs are no solutions of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement

from flint import nmod_mpoly, nmod_mpoly_ctx

from halftrek.graphs.hidden import turnable
from halftrek.identification.clock import Clock
from halftrek.identification.exact.algebra import Algebra, algebra
from halftrek.identification.exact.elimination import Count, polynomial_answers
from halftrek.identification.exact.polynomials import distinct_roots, univariate, variables_of
from halftrek.identification.hidden.level import arrows_of_level, depends_on_level
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.jacobian import random_point
from halftrek.identification.local.parameters import Entry, Parameters, Point
from halftrek.identification.numbers.modular import PRIMES, PrimeField
from halftrek.identification.study import Study
from halftrek.queries.checks import variables_of as names_in
from halftrek.queries.types import (
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    is_intervention,
)

_DEGREE = 5  # of equations, up to which unknowns are put in


def count_hidden(study: Study, query: Query, asked: Sequence[str], clock: Clock) -> Count | None:
    """How many values the answer takes at a random model; None if that was not found out.

    Two random points modulo two primes have to agree.
    """
    counts = set()
    for number, prime in enumerate(PRIMES):
        key = ("hidden equations", prime)
        if key not in study.memory:
            study.memory[key] = _Unseen(random_point(study.table, PrimeField(prime), 51 + number))
        unseen: _Unseen = study.memory[key]
        counts.add(unseen.count(unseen.parts(query, asked), clock))
    return counts.pop() if len(counts) == 1 else None


@dataclass(frozen=True, eq=False)
class _Unseen:
    """The unknowns at a random point modulo a prime, and their equations."""

    point: Point

    @property
    def table(self) -> Parameters:
        return self.point.parameters

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        assert self.table.seen is not None  # only graphs with hidden variables come here
        return self.table.seen.hidden

    @cached_property
    def marked(self) -> dict[str, int]:
        """Hidden variables whose errors have a known variance and whose sign is free: each gets an arrow as its scale.

        Its number is put in for the arrow's parameter, and the variance is unknown instead.
        """
        assert self.table.seen is not None
        fixed = {e.target for e in self.table.entries if e.kind == "noise" and e.parameter is None and e.value != 0.0}
        found: dict[str, int] = {}
        for group, arrow in turnable(self.table.seen):
            number = self.table.direct[arrow].parameter
            if len(group) == 1 and arrow[0] in fixed and number is not None and number not in found.values():
                found[arrow[0]] = number
        return found

    @cached_property
    def _numbers(self) -> list[int | None]:
        return [e.parameter for e in self.table.entries]

    def _private(self, e: Entry) -> bool:
        """True if an error's variance or covariance can take any value of its own."""
        return e.target in self.marked if e.parameter is None else self._numbers.count(e.parameter) == 1

    @cached_property
    def _free(self) -> list[int]:
        """Parameters that are unknowns: of arrows and hidden roots, and error covariances that are tied to others."""
        kinds = ("direct", "loading")
        free = [
            e.parameter for e in self.table.entries
            if e.parameter is not None and (e.kind in kinds or not self._private(e))
        ]  # fmt: skip
        return [k for k in dict.fromkeys(free) if k not in self.marked.values()]

    @cached_property
    def _covered(self) -> list[frozenset[str]]:
        """Pairs of variables whose covariance nobody sees."""
        names = self.table.graph.topological_order
        pairs = combinations_with_replacement(names, 2)
        return [frozenset(pair) for pair in pairs if any(v in self.hidden for v in pair)]

    @cached_property
    def context(self) -> nmod_mpoly_ctx:
        size = len(self._free) + len(self._covered) + 1
        p = self.point.field.p  # type: ignore[attr-defined]
        return nmod_mpoly_ctx.get(("w", size), modulus=p, ordering="degrevlex")

    def _parameter(self, e: Entry, value: float) -> nmod_mpoly:
        if e.parameter is None or e.parameter not in self._free:
            return self.context.constant(int(value))
        return self.context.gen(self._free.index(e.parameter))

    @cached_property
    def weights(self) -> dict[tuple[str, str], nmod_mpoly]:
        """Weights of arrows."""
        valued = zip(self.table.entries, self.point.entry_values, strict=True)
        return {(e.source, e.target): self._parameter(e, x) for e, x in valued if e.kind == "direct"}

    @cached_property
    def covariances(self) -> dict[frozenset[str], nmod_mpoly]:
        """Covariances of all pairs: numbers where both are observed."""
        found = {pair: self.context.constant(value) for pair, value in self._truth.items()}
        first = len(self._free)
        return found | {pair: self.context.gen(first + k) for k, pair in enumerate(self._covered)}

    @cached_property
    def _truth(self) -> dict[frozenset[str], int]:
        """Covariances of all pairs at the point."""
        field, order = self.point.field, self.table.graph.topological_order  # causes first, as the field wants them
        T, C, W = self.point.matrices(order)
        sigma = field.covariance(T, field.reduce(field.matmul(C.T, C) + W) if len(C) else W)
        return {frozenset((u, v)): int(sigma[i, j]) for i, u in enumerate(order) for j, v in enumerate(order)}

    def at_the_point(self, polynomial: nmod_mpoly) -> int:
        """The value that a polynomial has there."""
        values = [int(self.point.values[k]) for k in self._free]
        return int(polynomial(*values, *(self._truth[pair] for pair in self._covered), 0))

    def error_covariance(self, i: str, j: str) -> nmod_mpoly:
        """``[(I - T)' Sigma (I - T)]_ij`` in the unknowns."""
        graph = self.table.graph

        def column(v: str) -> list[tuple[str, nmod_mpoly]]:
            return [(v, self.context.constant(1)), *((u, -self.weights[u, v]) for u in graph.parents(v))]

        total, right = self.context.constant(0), column(j)
        for a, left in column(i):
            for b, weight in right:
                total += left * weight * self.covariances[frozenset((a, b))]
        return total

    @cached_property
    def equations(self) -> list[nmod_mpoly]:
        """What the graph says of the errors' covariances."""
        graph, context = self.table.graph, self.context
        said: dict[frozenset[str], nmod_mpoly | None] = {
            frozenset(pair): context.constant(0) for pair in combinations(graph.observed, 2)
        }
        loadings: dict[str, list[tuple[str, nmod_mpoly]]] = {}
        for e, value in zip(self.table.entries, self.point.entry_values, strict=True):
            if e.kind == "loading":
                loadings.setdefault(e.source, []).append((e.target, self._parameter(e, value)))
            elif e.kind != "direct":
                said[frozenset((e.source, e.target))] = None if self._private(e) else self._parameter(e, value)
        for arrows in loadings.values():
            for (a, first), (b, second) in combinations_with_replacement(arrows, 2):
                before = said[frozenset((a, b))]
                said[frozenset((a, b))] = None if before is None else before + first * second
        order = graph.topological_order
        pairs = [frozenset(pair) for pair in combinations_with_replacement(order, 2)]
        found = [self.error_covariance(min(p), max(p)) - known for p in pairs if (known := said[p]) is not None]
        return [e for e in found if e]

    def parts(self, query: Query, asked: Sequence[str]) -> list[nmod_mpoly]:
        """What the answer is made of, as polynomials: if each has one value, so has the answer."""
        scales = [self.error_covariance(v, v) for v in asked if v in self.marked]
        plain = isinstance(query, DirectEffect | PathEffect | TotalEffect | ThroughEffect)
        if isinstance(query, ErrorCovariance):
            return [self.error_covariance(query.first, query.second), *scales]
        if plain or (isinstance(query, Distribution) and is_intervention(query) and not query.seen):
            graph = self.table.graph
            found = polynomial_answers(query, graph, self.weights, self.context)
            for v in asked:
                if depends_on_level(query, v):
                    found += [self.covariances[frozenset((v, w))] for w in names_in(query)]
            return [*found, *self._of_levels(query, asked), *scales]
        return [*self._by_parameters(query), *self._of_levels(query, asked), *scales]

    def _of_levels(self, query: Query, asked: Sequence[str]) -> list[nmod_mpoly]:
        """What the means of hidden variables are made of; all arrows, where these are to follow from observed means."""
        given, found = self.table.seen, []
        for v in asked:
            if depends_on_level(query, v) and given is not None:
                arrows = arrows_of_level(given, v)
                at = self.weights if arrows is None else [(e.cause, e.effect) for e in arrows]
                found += [self.weights[pair] for pair in at]
        return found

    def _by_parameters(self, query: Query) -> list[nmod_mpoly]:
        """Every parameter that the answer depends on, and the scales that these are on."""
        moving, found = set(functionals(query, self.point).moving), []
        touched: set[str] = set()
        for e, value in zip(self.table.entries, self.point.entry_values, strict=True):
            if e.parameter in moving:
                touched |= {e.source, e.target}
                tied = e.kind in ("direct", "loading")
                found.append(self._parameter(e, value) if tied else self.error_covariance(e.source, e.target))
        return [*found, *(self.error_covariance(v, v) for v in self.marked if v in touched)]

    @cached_property
    def reduced(self) -> tuple[list[nmod_mpoly], dict[int, nmod_mpoly]]:
        """The equations after unknowns that one of them gives were put into the others, and what these are."""
        if any(map(self.at_the_point, self.equations)):
            raise AssertionError("the true values do not solve their own equations")
        return put_in(self.equations, _DEGREE)

    @cached_property
    def _algebras(self) -> list[Algebra | None]:
        return []

    def count(self, parts: Sequence[nmod_mpoly], clock: Clock) -> Count | None:
        """How many values the parts have together; exact of a single one, where all solutions are known."""
        p, last = self.context.modulus(), self.context.nvars() - 1
        equations, given = self.reduced
        mixed = self.context.constant(0)
        for k, part in enumerate(parts):
            mixed += part * pow(1_000_003, k + 1, p)
        mixed = _composed(mixed, given)
        free = variables_of([mixed])
        if not free:
            return Count(1, True)
        if not self._algebras:
            self._algebras.append(algebra(p, equations, clock=clock.half()))
        finite = self._algebras[0]
        if finite is not None and set(free) <= finite.matrices.keys():
            values = distinct_roots(finite.element(mixed).minpoly())
            return Count(values, values == 1 or len(parts) == 1)
        found = univariate([*equations, self.context.gen(last) - mixed], last, clock=clock)
        return None if found is None else Count(distinct_roots(found), distinct_roots(found) == 1)


def put_in(system: Sequence[nmod_mpoly], degree: int) -> tuple[list[nmod_mpoly], dict[int, nmod_mpoly]]:
    """Use up equations that give an unknown as a polynomial in the others, while no degree exceeds ``degree``.

    What is put in later is put into what was found before, so that no value names an unknown that is gone.
    """
    equations, values = [e for e in system if e], dict[int, nmod_mpoly]()
    tried: set[tuple[str, int]] = set()
    while True:
        for e, v in sorted(_pivots(equations), key=lambda pair: (pair[0].total_degree(), len(pair[0]))):
            if (str(e), v) in tried:
                continue
            value = e.context().gens()[v] - e / e.derivative(v).leading_coefficient()
            others = [_composed(f, {v: value}) for f in equations if f is not e]
            if max((f.total_degree() for f in others), default=0) <= degree:
                break
            tried.add((str(e), v))
        else:
            return equations, values
        equations = [f for f in others if f]
        values = {w: _composed(x, {v: value}) for w, x in values.items()} | {v: value}


def _pivots(equations: Sequence[nmod_mpoly]) -> list[tuple[nmod_mpoly, int]]:
    """Equations with an unknown that stands in them once, times a number."""
    found = []
    for e in equations:
        for v in variables_of([e]):
            slope = e.derivative(v)
            if slope.is_constant() and e.degrees()[v] == 1:
                found.append((e, v))
    return found


def _composed(polynomial: nmod_mpoly, values: dict[int, nmod_mpoly]) -> nmod_mpoly:
    degrees = polynomial.degrees()
    if not any(degrees[v] for v in values):
        return polynomial
    places = list(polynomial.context().gens())
    for v, value in values.items():
        places[v] = value
    return polynomial.compose(*places)
