"""The functions on finitely many solutions of polynomial equations: a small algebra of commuting matrices modulo a
prime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from halftrek.identification.clock import Clock
from halftrek.identification.numbers.modular import Ints, PrimeField
from halftrek.identification.numbers.polynomials import Polynomial, closed_products, degree, monomials, solve_linear


@dataclass(frozen=True, eq=False)
class Algebra:
    """Polynomials modulo the equations: ``matrices[v]`` multiplies by the variable v, ``one`` is the constant 1."""

    field: PrimeField
    matrices: dict[int, Ints]
    one: Ints

    @property
    def size(self) -> int:
        """Number of solutions, counted with multiplicity."""
        return len(self.one)

    def element(self, polynomial: Polynomial) -> Ints:
        """The matrix that multiplies by a polynomial."""
        total = np.zeros((self.size, self.size), dtype=np.int64)
        for monomial, c in polynomial.items():
            term = np.eye(self.size, dtype=np.int64) * c % self.field.p
            for v in monomial:
                term = self.field.matmul(term, self.matrices[v])
            total = self.field.reduce(total + term)
        return total

    def equation_of(self, element: Ints) -> list[int]:
        """Coefficients, constant first, of the polynomial of least degree that the element satisfies."""
        powers = [self.one]
        for _ in range(self.size):
            powers.append(self.field.matmul(element, powers[-1][:, None])[:, 0])
        relations = self.field.null_space(np.array(powers).T)
        first = relations[:, 0]  # the free column of least degree comes first, so this relation has the least degree
        return [int(c) for c in first[: int(np.flatnonzero(first)[-1]) + 1]]


def algebra(field: PrimeField, system: Sequence[Polynomial], *, clock: Clock) -> Algebra | None:
    """The algebra of the solutions, if there are finitely many and the time suffices; else None."""
    every = sorted({v for e in system for m in e for v in m})
    equations, values = _presolved(field.p, system)
    variables = sorted({v for e in equations for m in e for v in m})
    if set(every) - set(values) - set(variables):
        return None  # a variable without an equation: infinitely many solutions
    if not variables:
        base = Algebra(field, {}, np.ones(1, dtype=np.int64))
    else:
        found = _standard(field, equations, variables, clock)
        if found is None:
            return None
        base = found
    matrices = dict(base.matrices)
    for v, value in reversed(values.items()):  # each is written in variables that were solved for later, or not at all
        matrices[v] = Algebra(field, matrices, base.one).element(value)
    return Algebra(field, matrices, base.one)


def _presolved(p: int, system: Sequence[Polynomial]) -> tuple[list[Polynomial], dict[int, Polynomial]]:
    values: dict[int, Polynomial] = {}
    return solve_linear(p, system, keep=-1, record=values), values


def _standard(field: PrimeField, equations: list[Polynomial], variables: Sequence[int], clock: Clock) -> Algebra | None:
    """Raise the degree until every monomial of that degree reduces to lower ones, and the matrices commute."""
    space = equations
    for d in range(max(2, *(degree(e) for e in equations)), 10):
        if comb(len(variables) + d, d) > 6000 or clock.over():
            return None
        products = closed_products(field, space, variables, d, clock)
        if products is None:
            return None
        space = products
        columns = monomials(variables, d)
        leading = {next(m for m in columns if m in row): row for row in _leading_first(products, columns)}
        basis = [m for m in columns if m not in leading]
        if not basis:
            return None  # no solution at all; cannot happen at a covariance of the model
        per_degree = [sum(len(m) == k for m in basis) for k in range(d + 1)]
        if d > 3 and per_degree[d] and per_degree[d] >= per_degree[d - 1] >= per_degree[d - 2]:
            return None  # no end in sight: most likely infinitely many solutions
        if max(map(len, basis)) < d:
            found = _from_basis(field, basis, leading, variables)
            if found is not None:
                return found
    return None


def _leading_first(products: list[Polynomial], columns: list[tuple[int, ...]]) -> list[Polynomial]:
    at = {m: i for i, m in enumerate(columns)}
    return [{m: row[m] for m in sorted(row, key=at.__getitem__)} for row in products]


def _from_basis(
    field: PrimeField,
    basis: list[tuple[int, ...]],
    leading: dict[tuple[int, ...], Polynomial],
    variables: Sequence[int],
) -> Algebra | None:
    at = {m: i for i, m in enumerate(basis)}
    matrices: dict[int, Ints] = {}
    for v in variables:
        matrix = np.zeros((len(basis), len(basis)), dtype=np.int64)
        for j, b in enumerate(basis):
            image = tuple(sorted((*b, v)))
            if image in at:
                matrix[at[image], j] = 1
            elif image in leading:
                for m, c in leading[image].items():
                    if m != image:
                        if m not in at:
                            return None
                        matrix[at[m], j] = field.p - c
            else:
                return None
        matrices[v] = matrix
    for i, u in enumerate(variables):
        for w in variables[:i]:
            left, right = matrices[u], matrices[w]
            if (field.matmul(left, right) != field.matmul(right, left)).any():
                return None
    one = np.zeros(len(basis), dtype=np.int64)
    one[at[()]] = 1
    return Algebra(field, matrices, one)
