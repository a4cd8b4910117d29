"""Claims by the signs of factors, and what is quicker than it was, against the plain ways."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

from halftrek.partial.exact.compiled import Compiled, Stacked
from halftrek.partial.exact.conditions import All, Atom, Claim, Some
from halftrek.partial.exact.curve import along
from halftrek.partial.exact.rational import Ring
from halftrek.partial.sets.line import Line, number_between, place_on_line, places_on_line
from halftrek.partial.sets.projection.losing import irreducible, meeting
from halftrek.partial.sets.projection.signs import Signs

RING = Ring(2)
X, Y = RING.context.gens()
SHARED = [X - Y, X * Y + 2, Y**2 - X - 1, X + Y, Y - 3, Y**2 + X**2 - 2]


def _claims(rng: np.random.Generator) -> list[Claim]:
    def atom() -> Atom:
        parts = [SHARED[k] for k in rng.choice(len(SHARED), int(rng.integers(1, 4)))]
        product = parts[0] * int(rng.choice([-1, 1]))
        for part in parts[1:]:
            product = product * part
        return Atom(product, SHARED[int(rng.integers(len(SHARED)))] if rng.random() < 0.3 else None)

    def joined() -> All | Some:
        return All((atom(), atom())) if rng.random() < 0.5 else Some((atom(), atom()))

    return [Claim(joined(), f"claim {k}") for k in range(int(rng.integers(1, 4)))]


@pytest.mark.parametrize("seed", range(40))
def test_places_on_a_line_by_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    claims = _claims(rng)
    signs = Signs.of(claims, irreducible(SHARED))
    line = Line((fmpq(int(rng.integers(-40, 40)), 16), fmpq(0)), (fmpq(0), fmpq(1)))
    plain = places_on_line(claims, line)
    found = list(signs.places(line, ()))
    if plain:
        assert list(signs.places(line, (), usual=True)) == found
        for claim in claims:
            assert all(_holds(claim, line.start[0], y) for y in found)
        assert any(_holds(claim, line.start[0], y) for claim in claims for y in plain)
    assert bool(found) == (bool(plain) or place_on_line(claims, line) is not None)


def _holds(claim: Claim, x: fmpq, y: fmpq) -> bool:
    each = [atom.polynomial(x, y) <= 0 for atom in claim.formula.parts if isinstance(atom, Atom)]  # type: ignore[union-attr]
    return all(each) if isinstance(claim.formula, All) else any(each)


def test_an_equation_leaves_its_roots() -> None:
    claims = [Claim(All((Atom(X - Y), Atom(Y - X))), "equal"), Claim(Atom(Y - 3), "at most 3")]
    signs = Signs.of(claims, irreducible([X - Y, Y - 3]))
    line = Line((fmpq(5, 2), fmpq(0)), (fmpq(0), fmpq(1)))
    assert list(signs.places(line, irreducible([X - Y]))) == [fmpq(5, 2)]
    far = Line((fmpq(7, 2), fmpq(0)), (fmpq(0), fmpq(1)))
    assert list(signs.places(far, irreducible([X - Y]))) == []


def test_where_two_products_meet() -> None:
    found = meeting([X - Y], [X + Y - 2, Y - 3], 1)
    assert sorted(str(p) for p in irreducible(found)) == sorted(str(p) for p in irreducible([X - 1, X - 3]))
    assert meeting([X - Y], [X - Y, Y - 3], 1) == []  # they share a factor
    assert irreducible(meeting([X - 1], [X + Y], 1)) == irreducible([X - 1])


@pytest.mark.parametrize("seed", range(5))
def test_along_an_axis_is_along_a_line(seed: int) -> None:
    rng = np.random.default_rng(seed)
    polynomial = sum(
        (fmpq(int(rng.integers(-9, 9)), 8) * X**a * Y**b for a in range(4) for b in range(3)), RING.context.constant(0)
    )
    at = fmpq(int(rng.integers(-50, 50)), 32)
    quick = along(polynomial, (at, fmpq(0)), (fmpq(0), fmpq(1)))
    plain = along(polynomial, (at, fmpq(0)), (fmpq(0), fmpq(2)))  # twice as fast is another way
    assert all(plain(s) == quick(2 * s) for s in (fmpq(0), fmpq(1, 3), fmpq(-5, 7)))
    assert along(X * 0, (at, fmpq(0)), (fmpq(0), fmpq(1))).is_zero()


@pytest.mark.parametrize("seed", range(5))
def test_a_number_between_is_well_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        left = fmpq(int(rng.integers(-(10**9), 10**9)), int(10 ** rng.integers(0, 18)))
        right = left + fmpq(int(rng.integers(1, 10**9)), int(10 ** rng.integers(0, 18)))
        x = number_between(left, right)
        assert 4 * (x - left) >= right - left
        assert 4 * (right - x) >= right - left
        assert number_between(None, left) < left < number_between(left, None)
    assert number_between(None, None) == 0


def test_several_polynomials_at_once() -> None:
    rng = np.random.default_rng(0)
    several = [Compiled(rng.standard_normal(n), rng.integers(0, 4, (n, 3))) for n in (1, 6, 20)]
    for u in (*rng.standard_normal((5, 3)), np.zeros(3)):
        values, slopes = Stacked(several).both(u)
        np.testing.assert_allclose(values, [p.values(u) for p in several], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(slopes, [p.slopes(u) for p in several], rtol=1e-12, atol=1e-14)
