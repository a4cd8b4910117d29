"""The complete decision: how many values does the answer take on the models with one random covariance?

At a random covariance of the model (modulo a prime) the coefficients solve polynomial equations: errors without a
bidirected edge and without a common hidden cause are uncorrelated. Everything but the answer is eliminated from them;
the degree of what is left, without repeated roots, counts the answers. What a recipe has already found is put in as a
number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from halftrek.graphs import edge_key
from halftrek.identification.clock import Clock, start_clock
from halftrek.identification.criteria.bench import Bench
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.jacobian import Block, block_at, random_point, touched_blocks
from halftrek.identification.local.parameters import Point
from halftrek.identification.local.pieces import composite_parts
from halftrek.identification.local.worlds import AlgebraRing, counterfactual_parts
from halftrek.identification.numbers import polynomials as poly
from halftrek.identification.numbers.algebra import Algebra, algebra
from halftrek.identification.numbers.modular import PRIMES, Ints, PrimeField
from halftrek.identification.numbers.polynomials import Polynomial
from halftrek.identification.study import Study
from halftrek.queries.types import (
    Composite,
    Counterfactual,
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
)

Covariances = dict[frozenset[str], Polynomial | None]


@dataclass(frozen=True, eq=False)
class System:
    """Unknown coefficients at a random point: their equations, and the coefficients themselves as polynomials.

    Not ``complete``: some equations were left out, so there may be fewer solutions than the equations have.
    """

    point: Point
    field: PrimeField
    blocks: dict[str, Block]
    weights: dict[tuple[str, str], Polynomial]
    equations: list[Polynomial]
    target: int
    complete: bool


@dataclass(frozen=True)
class Count:
    """Number of values of an answer; not ``exact``: at most this many."""

    values: int
    exact: bool


def count_values(study: Study, query: Query, known: frozenset[str], *, budget: float) -> Count | None:
    """How many values the answer takes at a generic covariance; None if the budget was spent first.

    ``known`` are edges (as text) that are identified. Two random points modulo two primes have to agree.
    """
    counts = []
    clock = start_clock(budget, study.progress)
    for number, prime in enumerate(PRIMES):
        system, finite = _prepared(study, query, known, prime, 31 + number, clock)
        found, truth, exact = _equation(system, finite, query, clock)
        if found is None:
            return None
        if poly.value_at(prime, found, truth):
            raise AssertionError(f"the true value of {query} does not solve its own equation")
        values = poly.distinct_roots(prime, found)
        counts.append(Count(values, exact or values == 1))
    return counts[0] if counts[0] == counts[1] else None


def _prepared(
    study: Study, query: Query, known: frozenset[str], prime: int, seed: int, clock: Clock
) -> tuple[System, Algebra | None]:
    """The equations and their algebra, which queries on the same districts of a study share."""
    field = PrimeField(prime)
    point = random_point(study.table, field, seed)
    numbers = touched_blocks(study.table, functionals(query, point))
    touched = [block_at(point, study.table.blocks[number]) for number in numbers]
    seconds = clock.left()
    key = (prime, known, *(b.members for b in touched))
    before = study.memory.get(key)
    if before is None or (before[1] is None and before[2] < seconds / 2):
        system = _system(point, field, touched, known)
        finite = algebra(field, system.equations, clock=clock.half())
        study.memory[key] = (system, finite, seconds)
    system, finite, _ = study.memory[key]
    return system, finite


def _equation(system: System, finite: Algebra | None, query: Query, clock: Clock) -> tuple[list[int] | None, int, bool]:
    """A polynomial that the answer solves, the answer at the point, and whether none of lower degree will do."""
    field = system.field
    p = field.p
    truth = [int(v) for v in functionals(query, system.point).values]
    mix = [pow(1_000_003, k + 1, p) for k in range(len(truth))]  # one number that tells several apart
    mixed = sum(v * w for v, w in zip(truth, mix, strict=True)) % p
    across = isinstance(query, Counterfactual | Composite)
    conditional = across or (isinstance(query, Interventional) and bool(query.given))
    if finite is not None and _covers(finite, system):
        if isinstance(query, Interventional) and query.given:
            parts = conditional_parts(system, finite, query)
        elif isinstance(query, Counterfactual | Composite):
            parts = _parts_across_worlds(system, finite, query)
        else:
            parts = [finite.element(a) for a in _answers(system, query)]
        if parts is not None:
            total = field.reduce(np.sum([field.mul(m, np.asarray(w)) for m, w in zip(parts, mix, strict=True)], axis=0))
            return finite.equation_of(total), mixed, system.complete
    if conditional:
        return None, mixed, False
    answer = poly.add(p, *(poly.scale(p, a, w) for a, w in zip(_answers(system, query), mix, strict=True)))
    equations = [*system.equations, poly.add(p, {(system.target,): 1}, poly.scale(p, answer, p - 1))]
    return poly.univariate(field, equations, system.target, clock=clock), mixed, False


def _covers(finite: Algebra, system: System) -> bool:
    """True if every unknown weight is one of the algebra's variables."""
    return all(v in finite.matrices for w in system.weights.values() for m in w for v in m)


def _system(point: Point, field: PrimeField, touched: list[Block], known: frozenset[str]) -> System:
    """Equations of the districts that the answer depends on."""
    table = point.parameters
    settled = {e.parameter for (u, v), e in table.direct.items() if edge_key(u, "->", v) in known}
    values: list[Polynomial] = [
        _constant(int(value)) if e.parameter is None or e.parameter in settled else {(e.parameter,): 1}
        for e, value in zip(table.entries, point.entry_values, strict=True)
    ]
    inside = {v for b in touched for v in b.members}
    weights = {  # effects may also run through districts that the answer does not depend on
        (e.source, e.target): value if e.target in inside else _constant(int(number))
        for e, value, number in zip(table.entries, values, point.entry_values, strict=True)
        if e.kind == "direct"
    }
    given, complete = _error_covariances(point, field, values)
    equations = [e for block in touched for e in _block_equations(field, block, weights, given) if e]
    homes = {v: block for block in touched for v in block.members}
    return System(point, field, homes, weights, equations, table.count, complete)


def _constant(value: int) -> Polynomial:
    return {(): value} if value else {}


def error_covariance(p: int, block: Block, weights: Mapping[tuple[str, str], Polynomial], i: str, j: str) -> Polynomial:
    """``[(I - T)' Sigma (I - T)]_ij`` in the unknown weights, at the covariance of the district's sub-model."""
    place = {v: k for k, v in enumerate(block.names)}
    members = set(block.members)

    def column(v: str) -> list[tuple[int, Polynomial]]:
        above = [(place[u], poly.scale(p, w, p - 1)) for (u, c), w in weights.items() if c == v and v in members]
        return [(place[v], {(): 1}), *above]

    total: Polynomial = {}
    for a, left in column(i):
        for b, right in column(j):
            total = poly.add(p, total, poly.scale(p, poly.multiply(p, left, right), int(block.sigma[a, b])))
    return total


def _block_equations(
    field: PrimeField, block: Block, weights: Mapping[tuple[str, str], Polynomial], given: Covariances
) -> list[Polynomial]:
    p = field.p
    outer = [v for v in block.names if v not in set(block.members)]
    equations = []
    for j, v in enumerate(block.members):
        for u in (*outer, *block.members[:j]):
            expected = given.get(frozenset((u, v)), {}) if u in block.members else {}
            if expected is not None:
                covariance = error_covariance(p, block, weights, u, v)
                equations.append(poly.add(p, covariance, poly.scale(p, expected, p - 1)))
    return equations


def _error_covariances(point: Point, field: PrimeField, values: Sequence[Polynomial]) -> tuple[Covariances, bool]:
    """What the graph says of each error covariance: a polynomial in loadings and labels, or None if it is free.

    Hidden causes whose loadings can produce any covariances of their children (three children, for instance) are left
    out; then the second answer is False: a few covariances may still be out of their reach.
    """
    p = field.p
    numbers = [e.parameter for e in point.parameters.entries]
    found: Covariances = {}
    loadings: dict[str, list[tuple[str, Polynomial]]] = {}
    for e, symbol in zip(point.parameters.entries, values, strict=True):
        if e.kind == "loading":
            loadings.setdefault(e.source, []).append((e.target, symbol))
        elif e.kind == "covariance":
            alone = e.parameter is not None and numbers.count(e.parameter) == 1
            found[frozenset((e.source, e.target))] = None if alone else symbol
    for arrows in loadings.values():
        for k, (a, first) in enumerate(arrows):
            for b, second in arrows[:k]:
                before = found.get(frozenset((a, b)), {})
                product = poly.multiply(p, first, second)
                found[frozenset((a, b))] = None if before is None else poly.add(p, before, product)
    released = _within_reach(point, field, found)
    return found | dict.fromkeys(released), not released


def _within_reach(point: Point, field: PrimeField, given: Covariances) -> list[frozenset[str]]:
    """Error covariances, district by district, that loadings of their own can give any values."""
    released: list[frozenset[str]] = []
    numbers = [e.parameter for e in point.parameters.entries]
    private = {e.parameter for e in point.parameters.entries if e.kind == "loading" and numbers.count(e.parameter) == 1}
    for members in point.parameters.blocks:
        mine = [(pair, f) for pair, f in given.items() if f and pair <= set(members)]
        unknown = sorted({v for _, f in mine for m in f for v in m})
        if not mine or not set(unknown) <= private:
            continue
        slopes = [[_slope(field.p, f, v, point.values) for v in unknown] for _, f in mine]
        if field.rank(np.array(slopes, dtype=np.int64)) == len(mine):
            released += [pair for pair, _ in mine]
    return released


def _slope(p: int, polynomial: Polynomial, variable: int, values: Ints) -> int:
    total = 0
    for m, c in polynomial.items():
        if variable in m:
            rest = list(m)
            rest.remove(variable)
            term = c * m.count(variable)
            for v in rest:
                term = term * int(values[v]) % p
            total += term
    return total % p


def _answers(system: System, query: Query) -> list[Polynomial]:
    """The numbers that make up the answer, as polynomials in the unknowns (not for conditional distributions)."""
    p = system.field.p
    match query:
        case DirectEffect(u, v):
            return [system.weights[u, v]]
        case PathEffect(path):
            return [_product(p, [system.weights[e] for e in pairwise(path)])]
        case TotalEffect(u, v):
            return [partial_effect(system, u, v, ())]
        case ThroughEffect(stations):
            return [_product(p, [partial_effect(system, u, v, ()) for u, v in pairwise(stations)])]
        case ErrorCovariance(i, j):
            return [error_covariance(p, system.blocks[i], system.weights, i, j)]
        case Interventional(outcomes, do, _):
            return [partial_effect(system, x, y, [w for w in do if w != x]) for x in do for y in outcomes]
        case _:
            raise AssertionError(f"{query} is no polynomial in the weights")


def _product(p: int, factors: list[Polynomial]) -> Polynomial:
    total: Polynomial = {(): 1}
    for f in factors:
        total = poly.multiply(p, total, f)
    return total


def partial_effect(system: System, cause: str, effect: str, held: Sequence[str]) -> Polynomial:
    """Effect of a cause while others are held, in the unknown weights."""
    p, graph = system.field.p, system.point.parameters.graph
    found: dict[str, Polynomial] = {cause: {(): 1}}
    for v in graph.topological_order:
        if v != cause and v not in held:
            terms = [poly.multiply(p, found[u], system.weights[u, v]) for u in graph.parents(v) if u in found]
            if terms:
                found[v] = poly.add(p, *terms)
    return found.get(effect, {})


def _parts_across_worlds(system: System, finite: Algebra, query: Counterfactual | Composite) -> list[Ints]:
    """The numbers of a counterfactual answer as elements of the algebra, in the order of ``functionals``."""
    bench = Bench(system.point, system.field)

    def effect(cause: str, on: str, held: Sequence[str]) -> Ints:
        return finite.element(partial_effect(system, cause, on, held))

    graph = system.point.parameters.graph
    ring = AlgebraRing(system.field, finite.size, bench.sigma, bench.place, effect, graph)
    if isinstance(query, Counterfactual):
        return counterfactual_parts(graph, query, ring).values
    return composite_parts(graph, query, ring).values


def conditional_parts(system: System, finite: Algebra, query: Interventional) -> list[Ints] | None:
    """Slopes, spread and effects of a conditional distribution after do, as elements of the algebra.

    After do the variables are ``v - Σ_x e_xv x`` plus a constant, so their covariances are those of these differences.
    The order is that of ``functionals``.
    """
    field, size = system.field, finite.size
    bench = Bench(system.point, field)
    both, m = (*query.outcomes, *query.given), len(query.outcomes)
    identity = np.eye(size, dtype=np.int64)
    effects = {
        (x, v): finite.element(partial_effect(system, x, v, [w for w in query.do if w != x]))
        for x in query.do
        for v in both
    }

    def covariance(a: str, b: str) -> Ints:
        left = [(a, identity), *((x, field.reduce(-effects[x, a])) for x in query.do)]
        right = [(b, identity), *((x, field.reduce(-effects[x, b])) for x in query.do)]
        total = np.zeros((size, size), dtype=np.int64)
        for u, e in left:
            for v, f in right:
                weight = bench.sigma[bench.place[u], bench.place[v]]
                total = field.reduce(total + field.mul(field.matmul(e, f), weight))
        return total

    spread = np.block([[covariance(a, b) for b in query.given] for a in query.given])
    inverse = field.inverse(spread)
    if inverse is None:
        return None
    slope = field.matmul(np.block([[covariance(y, z) for z in query.given] for y in query.outcomes]), inverse)
    blocks = [[slope[i * size :][:size, j * size :][:, :size] for j in range(len(query.given))] for i in range(m)]
    parts = [b for row in blocks for b in row]
    for i, y in enumerate(query.outcomes):
        for w in query.outcomes[: i + 1]:
            taken = [field.matmul(b, covariance(z, w)) for b, z in zip(blocks[i], query.given, strict=True)]
            parts.append(field.reduce(covariance(y, w) - sum(taken)))
    for x in query.do:
        for i, y in enumerate(query.outcomes):
            taken = [field.matmul(b, effects[x, z]) for b, z in zip(blocks[i], query.given, strict=True)]
            parts.append(field.reduce(effects[x, y] - sum(taken)))
    return parts
