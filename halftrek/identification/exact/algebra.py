"""The functions on finitely many solutions of polynomial equations: a small algebra of commuting matrices modulo a
prime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, combinations_with_replacement

from flint import nmod_mat, nmod_mpoly

from halftrek.identification.clock import Clock
from halftrek.identification.exact.polynomials import (
    Monomial,
    Space,
    closed_spaces,
    row_of,
    solve_linear,
    variables_of,
)


@dataclass(frozen=True, eq=False)
class Algebra:
    """Polynomials modulo the equations: ``matrices[v]`` multiplies by the variable v, ``one`` by the constant 1.

    Its size is the number of solutions, counted with multiplicity; the minimal polynomial of the matrix of an element
    has the values of the element at the solutions as roots.
    """

    one: nmod_mat
    matrices: dict[int, nmod_mat]

    def element(self, polynomial: nmod_mpoly) -> nmod_mat:
        """The matrix that multiplies by a polynomial."""
        total = self.one * 0
        for monomial, c in row_of(polynomial).items():
            term = self.one * c
            for v in monomial:
                term *= self.matrices[v]
            total += term
        return total


def algebra(p: int, system: Sequence[nmod_mpoly], *, clock: Clock) -> Algebra | None:
    """The algebra of the solutions, if there are finitely many and the time suffices; else None."""
    equations, values = solve_linear(system)
    variables = variables_of(equations)
    if set(variables_of(system)).difference(values, variables):
        return None  # a variable without an equation: infinitely many solutions
    found = _standard(p, equations, variables, clock) if variables else Algebra(_identity(p, 1), {})
    if found is not None:
        for v, value in reversed(values.items()):  # each is written in variables that were solved for later, or not
            found.matrices[v] = found.element(value)
    return found


def _identity(p: int, size: int) -> nmod_mat:
    return nmod_mat(size, size, p) ** 0


def _standard(p: int, equations: list[nmod_mpoly], variables: Sequence[int], clock: Clock) -> Algebra | None:
    """Raise the degree until every monomial of that degree reduces to lower ones, and the matrices commute."""
    for d, space in closed_spaces(equations, 10, clock):
        layers = [[m for m in combinations_with_replacement(variables, k) if m not in space] for k in range(d + 1)]
        if not layers[0]:
            return None  # no solution at all; cannot happen at a covariance of the model
        if d > 3 and 0 < len(layers[d]) >= len(layers[d - 1]) >= len(layers[d - 2]):
            return None  # no end in sight: most likely infinitely many solutions
        if not layers[d]:
            found = _from_basis(p, list(chain(*layers)), space, variables)
            if found is not None:
                return found
    return None


def _from_basis(p: int, basis: list[Monomial], space: Space, variables: Sequence[int]) -> Algebra | None:
    """The matrices, if they commute: then the equations ask for nothing more."""
    at = {m: i for i, m in enumerate(basis)}
    matrices: dict[int, nmod_mat] = {}
    for v in variables:
        matrix = matrices[v] = nmod_mat(len(basis), len(basis), p)
        for j, b in enumerate(basis):
            image = tuple(sorted((*b, v)))
            for m, c in space.get(image, {image: 1}).items():
                matrix[at[m], j] = c
    if any(a * b != b * a for a, b in combinations(matrices.values(), 2)):
        return None
    return Algebra(_identity(p, len(basis)), matrices)
