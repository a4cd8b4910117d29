"""The complete decision: how many values does the answer take on the models with one random covariance?

At a random covariance of the model (modulo a prime) the coefficients solve polynomial equations: errors without a
bidirected edge and without a common hidden cause are uncorrelated. Everything but the answer is eliminated from them;
the degree of what is left, without repeated roots, counts the answers. What a recipe has already found is put in as a
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod

from flint import nmod_mat, nmod_mpoly, nmod_mpoly_ctx, nmod_poly

from halftrek.graphs import Graph
from halftrek.identification.clock import Clock, start_clock
from halftrek.identification.criteria.bench import Bench
from halftrek.identification.exact.algebra import Algebra, algebra
from halftrek.identification.exact.polynomials import distinct_roots, univariate, variables_of
from halftrek.identification.exact.ring import AlgebraRing, conditional_parts
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.jacobian import Block, block_at, random_point, touched_blocks
from halftrek.identification.local.parameters import Point
from halftrek.identification.local.pieces import composite_parts
from halftrek.identification.local.worlds import counterfactual_parts
from halftrek.identification.numbers.modular import PRIMES, PrimeField
from halftrek.identification.recipes.recipe import direct
from halftrek.identification.study import Study
from halftrek.queries.types import (
    Composite,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    is_composite,
    is_intervention,
)

Weights = dict[tuple[str, str], nmod_mpoly]
Covariances = dict[frozenset[str], nmod_mpoly | None]


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Parameters at a random point that are not known: each is a variable of polynomials, the answer is the last."""

    point: Point
    field: PrimeField
    context: nmod_mpoly_ctx
    places: dict[int, int]  # the variable of each parameter

    @property
    def target(self) -> nmod_mpoly:
        """The answer."""
        return self.context.gen(len(self.places))

    def polynomial(self, parameter: int | None, value: int) -> nmod_mpoly:
        """The variable of an unknown parameter, else the number."""
        at = None if parameter is None else self.places.get(parameter)
        return self.context.constant(value) if at is None else self.context.gen(at)

    def slope(self, polynomial: nmod_mpoly, parameter: int) -> int:
        """The derivative at the point."""
        values = [int(self.point.values[k]) for k in self.places]
        return int(polynomial.derivative(self.places[parameter])(*values, 0))


@dataclass(frozen=True, eq=False)
class System:
    """The equations of the unknowns, and the coefficients themselves as polynomials.

    Not ``complete``: some equations were left out, so there may be fewer solutions than the equations have.
    """

    unknowns: Unknowns
    blocks: dict[str, Block]
    weights: Weights
    equations: list[nmod_mpoly]
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
        if int(found(truth)):
            raise AssertionError(f"the true value of {query} does not solve its own equation")
        values = distinct_roots(found)
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
        finite = algebra(prime, system.equations, clock=clock.half())
        study.memory[key] = (system, finite, seconds)
    system, finite, _ = study.memory[key]
    return system, finite


def _equation(system: System, finite: Algebra | None, query: Query, clock: Clock) -> tuple[nmod_poly | None, int, bool]:
    """A polynomial that the answer solves, the answer at the point, and whether none of lower degree will do."""
    unknowns = system.unknowns
    p = unknowns.field.p
    truth = [int(v) for v in functionals(query, unknowns.point).values]
    mix = [pow(1_000_003, k + 1, p) for k in range(len(truth))]  # one number that tells several apart
    mixed = sum(v * w for v, w in zip(truth, mix, strict=True)) % p
    polynomial = not isinstance(query, Composite) or (is_intervention(query) and not query.seen)
    if finite is not None and set(variables_of(system.weights.values())) <= finite.matrices.keys():
        parts = _parts(system, finite, query)
        if parts is not None:
            total = sum((m * w for m, w in zip(parts, mix, strict=True)), start=finite.one * 0)
            return total.minpoly(), mixed, system.complete
    if not polynomial:
        return None, mixed, False
    answer = sum((a * w for a, w in zip(_answers(system, query), mix, strict=True)), start=unknowns.context.constant(0))
    equations = [*system.equations, unknowns.target - answer]
    return univariate(equations, len(unknowns.places), clock=clock), mixed, False


def _system(point: Point, field: PrimeField, touched: list[Block], known: frozenset[str]) -> System:
    """Equations of the districts that the answer depends on."""
    table = point.parameters
    settled = {e.parameter for (u, v), e in table.direct.items() if direct(u, v) in known}
    free = dict.fromkeys(
        e.parameter
        for e in table.entries
        if e.parameter is not None and e.parameter not in settled and e.kind != "noise"
    )
    context = nmod_mpoly_ctx.get(("w", len(free) + 1), modulus=field.p, ordering="degrevlex")
    unknowns = Unknowns(point, field, context, {k: i for i, k in enumerate(free)})
    inside = {v for b in touched for v in b.members}
    entries = list(zip(table.entries, map(int, point.entry_values), strict=True))
    weights = {  # effects may also run through districts that the answer does not depend on
        (e.source, e.target): unknowns.polynomial(e.parameter if e.target in inside else None, value)
        for e, value in entries
        if e.kind == "direct"
    }
    given, complete = _error_covariances(unknowns)
    equations = [e for block in touched for e in _block_equations(context, block, weights, given) if e]
    homes = {v: block for block in touched for v in block.members}
    return System(unknowns, homes, weights, equations, complete)


def error_covariance(context: nmod_mpoly_ctx, block: Block, weights: Weights, i: str, j: str) -> nmod_mpoly:
    """``[(I - T)' Sigma (I - T)]_ij`` in the unknown weights, at the covariance of the district's sub-model."""
    place = {v: k for k, v in enumerate(block.names)}
    members = set(block.members)

    def column(v: str) -> list[tuple[int, nmod_mpoly]]:
        above = [(place[u], -w) for (u, c), w in weights.items() if c == v and v in members]
        return [(place[v], context.constant(1)), *above]

    right = column(j)
    total = context.constant(0)
    for a, left in column(i):
        total += left * sum((w * int(block.sigma[a, b]) for b, w in right), start=context.constant(0))
    return total


def _block_equations(context: nmod_mpoly_ctx, block: Block, weights: Weights, given: Covariances) -> list[nmod_mpoly]:
    outer = [v for v in block.names if v not in set(block.members)]
    equations = []
    for j, v in enumerate(block.members):
        for u in (*outer, *block.members[:j]):
            expected = given.get(frozenset((u, v)), context.constant(0)) if u in block.members else context.constant(0)
            if expected is not None:
                equations.append(error_covariance(context, block, weights, u, v) - expected)
    return equations


def _error_covariances(unknowns: Unknowns) -> tuple[Covariances, bool]:
    """What the graph says of each error covariance: a polynomial in loadings and labels, or None if it is free.

    Hidden causes whose loadings can produce any covariances of their children (three children, for instance) are left
    out; then the second answer is False: a few covariances may still be out of their reach.
    """
    point = unknowns.point
    numbers = [e.parameter for e in point.parameters.entries]
    found: Covariances = {}
    loadings: dict[str, list[tuple[str, nmod_mpoly]]] = {}
    for e, value in zip(point.parameters.entries, point.entry_values, strict=True):
        if e.kind == "loading":
            loadings.setdefault(e.source, []).append((e.target, unknowns.polynomial(e.parameter, int(value))))
        elif e.kind == "covariance":
            alone = e.parameter is not None and numbers.count(e.parameter) == 1
            found[frozenset((e.source, e.target))] = None if alone else unknowns.polynomial(e.parameter, int(value))
    for arrows in loadings.values():
        for (a, first), (b, second) in combinations(arrows, 2):
            before = found.get(frozenset((a, b)), unknowns.context.constant(0))
            found[frozenset((a, b))] = None if before is None else before + first * second
    released = _within_reach(unknowns, found)
    return found | dict.fromkeys(released), not released


def _within_reach(unknowns: Unknowns, given: Covariances) -> list[frozenset[str]]:
    """Error covariances, district by district, that loadings of their own can give any values."""
    released: list[frozenset[str]] = []
    table = unknowns.point.parameters
    numbers = [e.parameter for e in table.entries]
    private = {
        unknowns.places[e.parameter]: e.parameter
        for e in table.entries
        if e.kind == "loading" and e.parameter is not None and numbers.count(e.parameter) == 1
    }
    for members in table.blocks:
        mine = {pair: f for pair, f in given.items() if f and pair <= set(members)}
        variables = variables_of(mine.values())
        if not mine or not set(variables) <= private.keys():
            continue
        slopes = [[unknowns.slope(f, private[v]) for v in variables] for f in mine.values()]
        if nmod_mat(slopes, unknowns.field.p).rank() == len(mine):
            released += mine
    return released


def _answers(system: System, query: Query) -> list[nmod_mpoly]:
    """The numbers that make up the answer, as polynomials in the unknowns (not for conditional distributions)."""
    context = system.unknowns.context
    if isinstance(query, ErrorCovariance):
        return [error_covariance(context, system.blocks[query.first], system.weights, query.first, query.second)]
    return polynomial_answers(query, system.unknowns.point.parameters.graph, system.weights, context)


def polynomial_answers(query: Query, graph: Graph, weights: Weights, context: nmod_mpoly_ctx) -> list[nmod_mpoly]:
    """The numbers that make up an answer which is a polynomial in the weights of arrows."""
    one = context.constant(1)

    def effect(cause: str, on: str, held: Sequence[str] = ()) -> nmod_mpoly:
        return partial_effect(graph, weights, context, cause, on, held)

    match query:
        case DirectEffect(u, v):
            return [weights[u, v]]
        case PathEffect(path):
            return [prod((weights[e] for e in pairwise(path)), start=one)]
        case TotalEffect(u, v):
            return [effect(u, v)]
        case ThroughEffect(stations):
            return [prod((effect(u, v) for u, v in pairwise(stations)), start=one)]
        case Distribution(names=outcomes, do=do):
            return [effect(x, y, [w for w in do if w != x]) for x in do for y in outcomes]
        case _:
            raise AssertionError(f"{query} is no polynomial in the weights")


def partial_effect(
    graph: Graph, weights: Weights, context: nmod_mpoly_ctx, cause: str, effect: str, held: Sequence[str]
) -> nmod_mpoly:
    """Effect of a cause while others are held, in the unknown weights."""
    found = {cause: context.constant(1)}
    for v in graph.topological_order:
        if v != cause and v not in held:
            terms = [found[u] * weights[u, v] for u in graph.parents(v) if u in found]
            if terms:
                found[v] = sum(terms, start=context.constant(0))
    return found.get(effect, context.constant(0))


def _parts(system: System, finite: Algebra, query: Query) -> list[nmod_mat] | None:
    """The numbers that make up the answer as elements of the algebra, in the order of ``functionals``."""
    unknowns = system.unknowns

    def effect(cause: str, on: str, held: Sequence[str]) -> nmod_mat:
        return finite.element(partial_effect(graph, system.weights, unknowns.context, cause, on, held))

    graph = unknowns.point.parameters.graph
    ring = AlgebraRing(finite.one, Bench(unknowns.point, unknowns.field), effect)
    if isinstance(query, Distribution) and query.asks == "counterfactual":
        return counterfactual_parts(graph, query, ring).values
    if is_composite(query):
        return composite_parts(graph, query, ring).values
    if isinstance(query, Distribution) and query.seen:
        return conditional_parts(query, ring)
    return [finite.element(a) for a in _answers(system, query)]
