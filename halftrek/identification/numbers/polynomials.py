"""Polynomials modulo a prime, and what of an ideal can be reached by linear algebra (Macaulay matrices)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from halftrek.identification.clock import Clock
from halftrek.identification.numbers.modular import Ints, PrimeField

Monomial = tuple[int, ...]  # the numbers of its variables, sorted, repeated for powers
Polynomial = dict[Monomial, int]


def add(p: int, *polynomials: Polynomial) -> Polynomial:
    """Sum."""
    total: Polynomial = {}
    for poly in polynomials:
        for m, c in poly.items():
            total[m] = (total.get(m, 0) + c) % p
    return {m: c for m, c in total.items() if c}


def multiply(p: int, a: Polynomial, b: Polynomial) -> Polynomial:
    """Product."""
    total: Polynomial = {}
    for m, c in a.items():
        for n, d in b.items():
            key = tuple(sorted(m + n))
            total[key] = (total.get(key, 0) + c * d) % p
    return {m: c for m, c in total.items() if c}


def scale(p: int, a: Polynomial, factor: int) -> Polynomial:
    """A multiple."""
    return {m: c * factor % p for m, c in a.items() if c * factor % p}


def degree(a: Polynomial) -> int:
    """Largest number of factors in a monomial."""
    return max((len(m) for m in a), default=0)


def substitute(p: int, a: Polynomial, variable: int, value: Polynomial) -> Polynomial:
    """The polynomial with another one in the place of a variable."""
    powers: list[Polynomial] = [{(): 1}]
    total: Polynomial = {}
    for m, c in a.items():
        k = m.count(variable)
        while len(powers) <= k:
            powers.append(multiply(p, powers[-1], value))
        rest = tuple(v for v in m if v != variable)
        total = add(p, total, multiply(p, {rest: c}, powers[k]))
    return total


def solve_linear(
    p: int, system: Sequence[Polynomial], keep: int, *, record: dict[int, Polynomial] | None = None
) -> list[Polynomial]:
    """Use up linear equations, each to replace one variable other than ``keep``; ``record`` takes the replacement."""
    equations = [dict(e) for e in system if e]
    while True:
        choice = None
        for e in sorted(equations, key=len):
            if degree(e) == 1:
                free = [m[0] for m in e if len(m) == 1 and m[0] != keep]
                if free:
                    choice = (e, free[0])
                    break
        if choice is None:
            return equations
        e, v = choice
        inverse = pow(-e[v,], -1, p)
        value = {m: c * inverse % p for m, c in e.items() if m != (v,)}
        if record is not None:
            record[v] = value
        equations = [f for f in (substitute(p, g, v, value) for g in equations if g is not e) if f]


def univariate(field: PrimeField, system: Sequence[Polynomial], target: int, *, clock: Clock) -> list[int] | None:
    """Coefficients, constant first, of the polynomial of least degree in the target alone that was found in the ideal.

    The degree of the products grows until one is found, and then once more to see whether a lower one turns up. None if
    the time ran out; a constant polynomial (the system has no solution) cannot happen at a covariance of the model.
    """
    p = field.p
    equations = solve_linear(p, system, target)
    best = _direct(equations, target)
    if best is not None and len(best) == 2:
        return best
    variables = sorted({v for e in equations for m in e for v in m} | {target})
    if not equations:
        return None
    highest = max(degree(e) for e in equations)
    patience = 1
    for d in range(max(2, highest), 12):
        if comb(len(variables) + d, d) > 6000 or clock.over():
            return best
        space = closed_products(field, equations, variables, d, clock)
        if space is None:
            return best
        equations = space
        found = _eliminate(field, space, variables, target, d)
        if found is not None and (best is None or len(found) < len(best)):
            best, patience = found, 1
        elif best is not None:
            patience -= 1
        if best is not None and (len(best) == 2 or patience < 0):
            return best
    return best


def _direct(equations: Iterable[Polynomial], target: int) -> list[int] | None:
    pure = [e for e in equations if all(set(m) <= {target} for m in e)]
    if not pure:
        return None
    least = min(pure, key=degree)
    return [least.get((target,) * k, 0) for k in range(degree(least) + 1)]


def monomials(variables: Sequence[int], d: int) -> list[Monomial]:
    """All monomials up to a degree, highest degree first."""
    return [m for k in range(d, -1, -1) for m in combinations_with_replacement(variables, k)]


def closed_products(
    field: PrimeField, equations: list[Polynomial], variables: Sequence[int], d: int, clock: Clock
) -> list[Polynomial] | None:
    """A reduced basis of the products of degree up to d; equations whose degree falls are multiplied again.

    The space is closed when every member of lower degree times any variable is a member. Of a grown space only members
    with a new leading monomial have to be multiplied: the others are sums of these and of earlier ones.
    """
    columns = monomials(variables, d)
    at = {m: i for i, m in enumerate(columns)}
    rows = [_row(e, (), at) for e in equations]
    multiplied: set[Monomial] = set()
    while True:
        if clock.over() or len(rows) * len(columns) > 40_000_000:
            return None
        reduced, pivots = field.rref(_matrix(rows, len(columns)))
        basis = [{columns[j]: int(row[j]) for j in np.flatnonzero(row)} for row in reduced]
        leads = [columns[j] for j in pivots]
        fresh = [e for e, m in zip(basis, leads, strict=True) if len(m) < d and m not in multiplied]
        if not fresh:
            return basis
        multiplied |= {m for m in leads if len(m) < d}
        rows = [_row(e, (), at) for e in basis] + [_row(e, (v,), at) for e in fresh for v in variables]


def _row(equation: Polynomial, extra: Monomial, at: dict[Monomial, int]) -> dict[int, int]:
    return {at[tuple(sorted(m + extra))]: c for m, c in equation.items()}


def _matrix(rows: list[dict[int, int]], width: int) -> Ints:
    matrix = np.zeros((len(rows), width), dtype=np.int64)
    for i, row in enumerate(rows):
        matrix[i, list(row)] = list(row.values())
    return matrix


def _eliminate(
    field: PrimeField, space: list[Polynomial], variables: Sequence[int], target: int, d: int
) -> list[int] | None:
    """Reduce with powers of the target last: a row among these alone is a polynomial in the target."""
    mixed = [m for m in monomials(variables, d) if set(m) - {target}]
    columns = mixed + [(target,) * k for k in range(d, -1, -1)]
    at = {m: i for i, m in enumerate(columns)}
    reduced, pivots = field.rref(_matrix([_row(e, (), at) for e in space], len(columns)))
    pure = [row for row, pivot in zip(reduced, pivots, strict=True) if pivot >= len(mixed)]
    if not pure:
        return None
    lowest = pure[-1][len(mixed) :]
    coefficients = [int(c) for c in lowest[::-1]]
    while coefficients and not coefficients[-1]:
        coefficients.pop()
    return coefficients


def distinct_roots(p: int, coefficients: Sequence[int]) -> int:
    """Number of different roots over the algebraic closure: the degree of f / gcd(f, f')."""
    f = list(coefficients)
    slope = [k * c % p for k, c in enumerate(f)][1:]
    return (len(f) - 1) - (len(_gcd(p, f, slope)) - 1)


def value_at(p: int, coefficients: Sequence[int], x: int) -> int:
    """The polynomial in one variable at a point."""
    total = 0
    for c in reversed(coefficients):
        total = (total * x + c) % p
    return total


def _gcd(p: int, a: list[int], b: list[int]) -> list[int]:
    a, b = _trim(a, p), _trim(b, p)
    while b:
        inverse = pow(b[-1], -1, p)
        while len(a) >= len(b):
            factor = a[-1] * inverse % p
            shift = len(a) - len(b)
            for i, c in enumerate(b):
                a[shift + i] = (a[shift + i] - factor * c) % p
            a = _trim(a, p)
            if not a:
                break
        a, b = b, a
    return a


def _trim(a: Sequence[int], p: int) -> list[int]:
    found = [c % p for c in a]
    while found and not found[-1]:
        found.pop()
    return found
