"""Polynomial equations modulo a prime, and what of their ideal can be reached by linear algebra (Macaulay matrices)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import comb

from flint import nmod_mat, nmod_mpoly, nmod_poly

from halftrek.identification.clock import Clock
from halftrek.identification.numbers.modular import pivots_of

Monomial = tuple[int, ...]  # the numbers of its variables, sorted, repeated for powers
Row = dict[Monomial, int]  # a polynomial as a row of a matrix
Space = dict[Monomial, Row]  # rows that vanish, reduced: each leading monomial and what it equals, in all other ones
_MOST_MONOMIALS = 6000
_LONG = 60  # terms from which a row is eliminated faster by FLINT
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
    p, best, patience = system[0].context().modulus(), None, 1
    for d, space in closed_spaces(equations, 12, clock):
        found = _relation(p, [space.get((target,) * k, {(target,) * k: 1}) for k in range(d + 1)])
        if found is not None and (best is None or found.degree() < best.degree()):
            best, patience = found, 1
        elif best is not None:
            patience -= 1
        if best is not None and (best.degree() == 1 or patience < 0):
            break
    return best


def _relation(p: int, powers: list[Row]) -> nmod_poly | None:
    """The polynomial of least degree that vanishes, from what each power equals."""
    places = {m: i for i, m in enumerate({m for row in powers for m in row})}
    matrix = nmod_mat(len(places), len(powers), p)
    for j, row in enumerate(powers):
        for m, c in row.items():
            matrix[places[m], j] = c
    basis, count = matrix.nullspace()
    return nmod_poly([basis[j, 0] for j in range(len(powers))], p) if count else None


def row_of(polynomial: nmod_mpoly) -> Row:
    """The coefficient of each monomial."""
    terms = zip(polynomial.monoms(), polynomial.coeffs(), strict=True)
    return {tuple(v for v, power in enumerate(powers) for _ in range(power)): int(c) for powers, c in terms}


def closed_spaces(equations: Sequence[nmod_mpoly], end: int, clock: Clock) -> Iterator[tuple[int, Space]]:
    """For each degree below ``end`` the products of the equations up to it, as long as the time suffices.

    A space is closed when every member of lower degree times any variable is a member: equations whose degree falls are
    multiplied again. Of a grown space only members with a new leading monomial have to be multiplied: the others are
    sums of these and of earlier ones.
    """
    if not equations:
        return
    p, variables = equations[0].context().modulus(), variables_of(equations)
    space: Space = {}
    multiplied: set[Monomial] = set()
    rows = [row_of(e) for e in equations]
    for d in range(max(2, *(e.total_degree() for e in equations)), end):
        if comb(len(variables) + d, d) > _MOST_MONOMIALS:
            return
        while True:
            grown = _joined(p, space, rows, clock)
            if grown is None:
                return
            space = grown
            fresh = [m for m in space if len(m) < d and m not in multiplied]
            if not fresh:
                break
            multiplied.update(fresh)
            products = ({m: p - 1} | space[m] for m in fresh)
            rows = [{tuple(sorted((*m, v))): c for m, c in row.items()} for row in products for v in variables]
        rows = []
        yield d, space


def _joined(p: int, space: Space, rows: Iterable[Row], clock: Clock) -> Space | None:
    """A space with more rows, reduced: short rows by substitution, for there are many; by FLINT what is left of them.

    None if the time ran out.
    """
    known, rest = dict(space), list[Row]()
    for row in sorted(rows, key=len):
        lead = min(row, key=_rank)
        if lead in known or len(row) > _LONG:
            rest.append(row)
        else:
            scale = pow(-row.pop(lead), -1, p)
            known[lead] = {m: c * scale % p for m, c in row.items()}
    for lead in sorted(known, key=_rank, reverse=True):  # what it equals is lower, and reduced before it
        if clock.over():
            return None
        known[lead] = _substituted(p, known[lead], known)
    left = [row for row in (_substituted(p, row, known) for row in rest) if row]
    columns = sorted({m for row in left for m in row}, key=_rank)
    if clock.over() or len(left) * len(columns) * min(len(left), len(columns)) * _PER_STEP > clock.left():
        return None
    more = _echelon(p, left, columns)
    return {lead: _substituted(p, row, more) for lead, row in known.items()} | more


def _rank(m: Monomial) -> tuple[int, Monomial]:
    """The leading monomial of a row is the first one of the highest degree."""
    return -len(m), m


def _substituted(p: int, row: Row, space: Space) -> Row:
    """The row without the leading monomials of a space."""
    if space.keys().isdisjoint(row):
        return row
    total: Row = {}
    for m, c in row.items():
        for n, factor in space[m].items() if m in space else ((m, 1),):
            total[n] = total.get(n, 0) + c * factor
    return {m: c % p for m, c in total.items() if c % p}


def _echelon(p: int, rows: Sequence[Row], columns: Sequence[Monomial]) -> Space:
    """The reduced rows; only columns without a leading entry are looked at."""
    at = {m: i for i, m in enumerate(columns)}
    matrix = nmod_mat(len(rows), len(columns), p)
    for i, row in enumerate(rows):
        for m, c in row.items():
            matrix[i, at[m]] = c
    leads = pivots_of(*matrix.rref(True))
    free = sorted(set(range(len(columns))).difference(leads))
    return {
        columns[lead]: {columns[j]: p - int(entry) for j in free if j > lead and (entry := matrix[i, j])}
        for i, lead in enumerate(leads)
    }


def distinct_roots(f: nmod_poly) -> int:
    """Number of different roots over the algebraic closure: the degree of f / gcd(f, f')."""
    return f.degree() - f.gcd(f.derivative()).degree()
