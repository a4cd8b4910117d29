"""Is a function of the parameters locally a function of the covariance? Decided exactly, modulo primes.

At a random point the derivative of Sigma with respect to the parameters has a null space: the directions in which
parameters move while Sigma stays. A function that changes along such a direction is not identified. Sigma holds
exactly the same information as the covariances of the districts' own sub-models (Tian), so each district has its own
small Jacobian.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halftrek.identification.local.directions import free_directions
from halftrek.identification.local.functionals import Functionals, functionals
from halftrek.identification.local.parameters import Entry, Parameters, Point, parameters_of, without_redundant_latents
from halftrek.identification.numbers.modular import PRIMES, PrimeField

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.numbers.fields import Array
    from halftrek.identification.numbers.modular import Ints
    from halftrek.queries.types import Query


@dataclass(frozen=True, eq=False)
class Block:
    """A district's sub-model at a point: its members' equations, their other parents independent with unit variance."""

    point: Point
    members: tuple[str, ...]
    names: tuple[str, ...]  # the other parents first
    weights: Array
    loadings: Array
    omega: Array
    sigma: Array

    @property
    def outer(self) -> int:
        """How many variables are no members."""
        return len(self.names) - len(self.members)

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """Pairs of variables whose covariances there are: all, or those of observed variables."""
        i, j = np.triu_indices(len(self.names))
        given = self.point.parameters.seen
        if given is None:
            return i, j
        seen = np.array([v in set(given.observed) for v in self.names])
        return i[seen[i] & seen[j]], j[seen[i] & seen[j]]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Entries with a free parameter of the district."""
        table, members = self.point.parameters, set(self.members)
        return tuple(
            e
            for e in map(table.entries.__getitem__, table.among(self.members))
            if e.parameter is not None and (e.kind != "covariance" or e.source in members)
        )

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Numbers of the free parameters."""
        return tuple(dict.fromkeys(e.parameter for e in self.entries if e.parameter is not None))

    @cached_property
    def jacobian(self) -> Array:
        """Derivatives of Sigma: a row for each free parameter, a column for each pair i <= j.

        Every one is ``l r' + r l'`` for two vectors: ``dSigma/dlambda_ab = Sigma_.a B_b. + B_b.' Sigma_a.``.
        """
        field = self.point.field
        total = field.total_effects(self.weights)
        factors = field.matmul(self.loadings, total)
        place = {v: i for i, v in enumerate(self.names)}
        hidden = {u: i for i, u in enumerate(self.point.parameters.graph.latents)}
        left = []
        for e in self.entries:
            if e.kind == "direct":
                left.append(self.sigma[place[e.source]])
            else:
                left.append(factors[hidden[e.source]] if e.kind == "loading" else total[place[e.source]])
        upper = self.pairs
        first, second = np.array(left), total[[place[e.target] for e in self.entries]]
        changes = field.mul(first[:, upper[0]], second[:, upper[1]])
        changes = field.reduce(changes + field.mul(first[:, upper[1]], second[:, upper[0]]))
        own = [i for i, e in enumerate(self.entries) if e.kind == "noise"]  # a covariance stands in Omega twice
        changes[own] = field.mul(changes[own], np.asarray(field.number(Fraction(1, 2)), field.dtype))
        if len(self.free) == len(self.entries):  # no two share a label
            return changes
        at = {k: i for i, k in enumerate(self.free)}
        jacobian = np.zeros((len(self.free), changes.shape[1]), field.dtype)
        np.add.at(jacobian, [at[e.parameter] for e in self.entries if e.parameter is not None], changes)
        return field.reduce(jacobian)


def block_at(point: Point, members: tuple[str, ...]) -> Block:
    """A district's sub-model and its covariance at a point."""
    field, inside = point.field, set(members)
    outer = tuple(dict.fromkeys(p for v in members for p in point.parameters.graph.parents(v) if p not in inside))
    names, m = (*outer, *members), len(outer)
    T, C, W = point.matrices(names)
    T[:, :m] = 0
    C[:, :m] = 0
    W[:m] = 0
    W[:, :m] = 0
    W[range(m), range(m)] = 1
    omega = field.reduce(field.matmul(C.T, C) + W) if len(C) else W
    return Block(point, members, names, T, C, omega, field.covariance(T, omega))


@dataclass(frozen=True, eq=False)
class Probe:
    """A graph at one random point modulo one prime: its blocks and the directions that leave Sigma as it is."""

    point: Point
    field: PrimeField

    @cached_property
    def _kernels(self) -> dict[int, tuple[dict[int, int], Ints]]:
        return {}

    def kernel(self, number: int) -> tuple[dict[int, int], Ints]:
        """The rows of the free parameters of a block, and the directions in which they move while Sigma stays."""
        if number not in self._kernels:
            block = block_at(self.point, self.point.parameters.blocks[number])
            self._kernels[number] = ({k: i for i, k in enumerate(block.free)}, _directions(self.field, block))
        return self._kernels[number]

    def locally_identified(self, found: Functionals) -> list[bool]:
        """For each functional: does it stay constant along every direction in which Sigma does?"""
        moved = np.zeros(len(found.texts), dtype=bool)
        for number in touched_blocks(self.point.parameters, found):
            places, kernel = self.kernel(number)
            if kernel.shape[1]:
                mine = [k for k in found.moving if k in places]
                slopes = self.field.matmul(found.gradients[:, mine], kernel[[places[k] for k in mine]])
                moved |= slopes.any(axis=1)
        return [not m for m in moved]

    @property
    def rank(self) -> int:
        """Rank of the derivative of Sigma: the dimension of the model."""
        found = map(self.kernel, range(len(self.point.parameters.blocks)))
        return sum(len(places) - kernel.shape[1] for places, kernel in found)


def touched_blocks(table: Parameters, found: Functionals) -> list[int]:
    """Numbers of the blocks whose parameters some functional depends on."""
    return sorted({table.block_of[k] for k in found.moving})


def _directions(field: PrimeField, block: Block) -> Ints:
    """A basis, in columns, of the movements of the free parameters that leave the covariance as it is."""
    open_ = block.point.parameters.seen is None
    if open_ and len(block.entries) == len(block.free) and not any(e.kind == "loading" for e in block.entries):
        return free_directions(field, block)
    return field.null_space(block.jacobian.T)


def random_point(table: Parameters, field: PrimeField, seed: int) -> Point:
    """The parameters at a random point modulo a prime."""
    return Point(table, field, field.drawn(table.count, seed))


def probe(table: Parameters, *, prime: int = PRIMES[0], seed: int = 1) -> Probe:
    """Evaluate a graph at a random point modulo a prime."""
    field = PrimeField(prime)
    return Probe(random_point(table, field, seed), field)


def jacobian_test(graph: Graph, query: Query) -> bool:
    """True if the answer is locally a function of the covariance: finitely many values at a generic covariance.

    False is said only after two points modulo two primes agree (a random point misses with a chance of about 1e-8).
    """
    table = parameters_of(without_redundant_latents(graph))
    for prime, seed in zip(PRIMES, (1, 2), strict=True):
        at = probe(table, prime=prime, seed=seed)
        if all(at.locally_identified(functionals(query, at.point))):
            return True
    return False


def model_dimension(graph: Graph) -> int:
    """Dimension of the set of covariances that the graph allows; p(p+1)/2 minus it counts the testable constraints."""
    table = parameters_of(without_redundant_latents(graph))
    return max(probe(table, prime=prime, seed=seed).rank for prime, seed in zip(PRIMES, (1, 2), strict=True))
