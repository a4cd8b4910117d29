"""Polynomial equations modulo a prime, and what of their ideal can be reached by linear algebra (Macaulay matrices)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement
from math import comb

from flint import nmod_mat, nmod_mpoly, nmod_poly

from halftrek.identification.clock import Clock

Monomial = tuple[int, ...]  # the numbers of its variables, sorted, repeated for powers
Row = dict[Monomial, int]  # a polynomial as a row of a matrix; in a reduced one the leading monomial comes first
_MOST_COLUMNS = 6000
_PER_STEP = 4e-10  # seconds that elimination takes for one product of residues


def variables_of(system: Iterable[nmod_mpoly]) -> list[int]:
    """Numbers of the variables that occur."""
    return sorted({v for e in system for v, power in enumerate(e.degrees()) if power > 0})


def solve_linear(
    system: Iterable[nmod_mpoly], keep: int | None = None
) -> tuple[list[nmod_mpoly], dict[int, nmod_mpoly]]:
    """Use up linear equations, each to replace one variable other than ``keep``: what is left, and the replacements."""
    equations, values = [e for e in system if e], dict[int, nmod_mpoly]()
    while True:
        linear = (e for e in sorted(equations, key=len) if e.total_degree() == 1)
        choice = next(((e, v) for e in linear for v in variables_of([e]) if v != keep), None)
        if choice is None:
            return equations, values
        e, v = choice
        places = list(e.context().gens())
        places[v] = values[v] = places[v] - e / e.derivative(v).leading_coefficient()
        replaced = (f.compose(*places) if f.degrees()[v] else f for f in equations if f is not e)
        equations = [f for f in replaced if f]


def univariate(system: Sequence[nmod_mpoly], target: int, *, clock: Clock) -> nmod_poly | None:
    """The polynomial of least degree in the target alone that was found in the ideal.

    The degree of the products grows until one is found, and then once more to see whether a lower one turns up. None if
    the time ran out; a constant polynomial (the system has no solution) cannot happen at a covariance of the model.
    """
    equations, _ = solve_linear(system, target)
    if not equations:
        return None
    p, variables = equations[0].context().modulus(), variables_of(equations)
    space = [row_of(e) for e in equations]
    best = min((_pure(p, row) for row in space if _is_pure(row, target)), key=nmod_poly.degree, default=None)
    patience = 1
    for d in range(max(2, *(e.total_degree() for e in equations)), 12):
        if best is not None and (best.degree() == 1 or patience < 0):
            return best
        products = closed_products(p, space, variables, d, clock)
        if products is None:
            return best
        space = products
        last = sorted(monomials(variables, d), key=lambda m: not set(m) - {target})  # powers of the target come last
        lowest = echelon(p, space, last)[-1]
        found = _pure(p, lowest) if _is_pure(lowest, target) else None
        if found is not None and (best is None or found.degree() < best.degree()):
            best, patience = found, 1
        elif best is not None:
            patience -= 1
    return best


def _is_pure(row: Row, target: int) -> bool:
    return all(set(m) <= {target} for m in row)


def _pure(p: int, row: Row) -> nmod_poly:
    by_power = {len(m): c for m, c in row.items()}
    return nmod_poly([by_power.get(k, 0) for k in range(max(by_power) + 1)], p)


def row_of(polynomial: nmod_mpoly) -> Row:
    """The coefficient of each monomial."""
    terms = zip(polynomial.monoms(), polynomial.coeffs(), strict=True)
    return {tuple(v for v, power in enumerate(powers) for _ in range(power)): int(c) for powers, c in terms}


def monomials(variables: Sequence[int], d: int) -> list[Monomial]:
    """All monomials up to a degree, highest degree first."""
    return [m for k in range(d, -1, -1) for m in combinations_with_replacement(variables, k)]


def closed_products(p: int, rows: list[Row], variables: Sequence[int], d: int, clock: Clock) -> list[Row] | None:
    """A reduced basis of the products of degree up to d; equations whose degree falls are multiplied again.

    The space is closed when every member of lower degree times any variable is a member. Of a grown space only members
    with a new leading monomial have to be multiplied: the others are sums of these and of earlier ones. None if that
    would take too long.
    """
    width = comb(len(variables) + d, d)
    if width > _MOST_COLUMNS:
        return None
    columns = monomials(variables, d)
    multiplied: set[Monomial] = set()
    while True:
        if clock.over() or len(rows) * width * min(len(rows), width) * _PER_STEP > clock.left():
            return None
        basis = echelon(p, rows, columns)
        leads = [next(iter(row)) for row in basis]
        fresh = [row for row, m in zip(basis, leads, strict=True) if len(m) < d and m not in multiplied]
        if not fresh:
            return basis
        multiplied.update(m for m in leads if len(m) < d)
        rows = basis + [{tuple(sorted((*m, v))): c for m, c in row.items()} for row in fresh for v in variables]


def echelon(p: int, rows: Sequence[Row], columns: Sequence[Monomial]) -> list[Row]:
    """The reduced rows of a matrix; only columns without a leading entry are looked at, and they are few."""
    at = {m: i for i, m in enumerate(columns)}
    matrix = nmod_mat(len(rows), len(columns), p)
    for i, row in enumerate(rows):
        for m, c in row.items():
            matrix[i, at[m]] = c
    _, rank = matrix.rref(True)
    leads: list[int] = []
    for j in range(len(columns)):
        if len(leads) < rank and matrix[len(leads), j]:
            leads.append(j)
    free = sorted(set(range(len(columns))).difference(leads))
    return [
        {columns[lead]: 1} | {columns[j]: int(entry) for j in free if j > lead and (entry := matrix[i, j])}
        for i, lead in enumerate(leads)
    ]


def distinct_roots(f: nmod_poly) -> int:
    """Number of different roots over the algebraic closure: the degree of f / gcd(f, f')."""
    return f.degree() - f.gcd(f.derivative()).degree()
