"""Is a function of the parameters locally a function of the covariance? Decided exactly, modulo primes.

At a random point the derivative of Sigma with respect to the parameters has a null space: the directions in which
parameters move while Sigma stays. A function that changes along such a direction is not identified. Sigma holds
exactly the same information as the covariances of the districts' own sub-models (Tian), so each district has its own
small Jacobian.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from halftrek.identification.functionals import Functionals, functionals
from halftrek.identification.modular import PRIMES, PrimeField
from halftrek.identification.parameters import Parameters, Point, parameters_of, without_redundant_latents

if TYPE_CHECKING:
    from halftrek.graph import Graph
    from halftrek.identification.fields import Array
    from halftrek.queries.types import Query


@dataclass(frozen=True, eq=False)
class Block:
    """A district's sub-model at a point: its members' equations, their other parents independent with unit variance."""

    members: tuple[str, ...]
    names: tuple[str, ...]
    free: tuple[int, ...]
    total: Array
    omega: Array
    sigma: Array
    jacobian: Array


def block_at(point: Point, members: tuple[str, ...]) -> Block:
    """Covariance of a district's sub-model and its derivatives (a row per free parameter, a column per pair i <= j)."""
    table, field = point.parameters, point.field
    graph = table.graph
    outer = tuple(dict.fromkeys(p for v in members for p in graph.parents(v) if p not in set(members)))
    names = (*outer, *members)
    size, m = len(names), len(outer)
    T, C, W = point.matrices(names)
    T[:, :m] = 0
    C[:, :m] = 0
    W[:m] = 0
    W[:, :m] = 0
    W[range(m), range(m)] = 1
    omega = field.reduce(field.matmul(C.T, C) + W)
    identity = np.eye(size, dtype=field.dtype)
    total = field.solve(field.reduce(identity - T), identity)
    assert total is not None  # the graph is acyclic
    half = field.matmul(omega, total)
    sigma = field.matmul(total.T, half)
    free, jacobian = _jacobian(point, names, m, total, field.matmul(C, total), sigma)
    return Block(members, names, free, total, omega, sigma, jacobian)


def _jacobian(
    point: Point, names: tuple[str, ...], outer: int, total: Array, factors: Array, sigma: Array
) -> tuple[tuple[int, ...], Array]:
    """Every derivative is ``l r' + r l'`` for two vectors: ``dSigma/dlambda_ab = Sigma_.a B_b. + B_b.' Sigma_a.``."""
    field, table = point.field, point.parameters
    place = {v: i for i, v in enumerate(names)}
    hidden = {u: i for i, u in enumerate(table.graph.latents)}
    used, rows, left, right = [], [], [], []
    for e in table.entries:
        j = place.get(e.target, -1)
        if e.parameter is None or j < outer or (e.kind == "covariance" and place.get(e.source, -1) < outer):
            continue
        used.append(e)
        rows.append(e.parameter)
        right.append(total[j])
        if e.kind == "direct":
            left.append(sigma[place[e.source]])
        else:
            left.append(factors[hidden[e.source]] if e.kind == "loading" else total[place[e.source]])
    upper = np.triu_indices(len(names))
    first, second = np.array(left), np.array(right)
    changes = field.mul(first[:, upper[0]], second[:, upper[1]]) + field.mul(first[:, upper[1]], second[:, upper[0]])
    changes = field.reduce(changes)
    own = [i for i, e in enumerate(used) if e.kind == "noise"]  # a variance stands once in Omega, a covariance twice
    changes[own] = field.mul(changes[own], np.asarray(field.number(Fraction(1, 2)), field.dtype))
    free = tuple(dict.fromkeys(rows))
    at = {k: i for i, k in enumerate(free)}
    jacobian = np.zeros((len(free), changes.shape[1]), field.dtype)
    np.add.at(jacobian, [at[k] for k in rows], changes)
    return free, field.reduce(jacobian)


@dataclass(frozen=True, eq=False)
class Probe:
    """A graph at one random point modulo one prime: its blocks and the directions that leave Sigma as it is."""

    point: Point
    field: PrimeField
    blocks: tuple[Block, ...]
    kernels: tuple[Array, ...]

    def locally_identified(self, found: Functionals) -> list[bool]:
        """For each functional: does it stay constant along every direction in which Sigma does?"""
        moved = np.zeros(len(found.texts), dtype=bool)
        for block, kernel in zip(self.blocks, self.kernels, strict=True):
            if kernel.shape[1]:
                slopes = self.field.matmul(found.gradients[:, list(block.free)], kernel)
                moved |= (slopes != 0).any(axis=1)
        return [not m for m in moved]

    @property
    def rank(self) -> int:
        """Rank of the derivative of Sigma: the dimension of the model."""
        return sum(len(b.free) - k.shape[1] for b, k in zip(self.blocks, self.kernels, strict=True))


def random_point(table: Parameters, field: PrimeField, seed: int) -> Point:
    """The parameters at a random point modulo a prime."""
    return Point(table, field, field.random(table.count, np.random.default_rng(seed)))


def probe(table: Parameters, *, prime: int = PRIMES[0], seed: int = 1) -> Probe:
    """Evaluate a graph at a random point modulo a prime."""
    field = PrimeField(prime)
    point = random_point(table, field, seed)
    blocks = tuple(block_at(point, members) for members in table.blocks)
    return Probe(point, field, blocks, tuple(field.null_space(b.jacobian.T) for b in blocks))


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
