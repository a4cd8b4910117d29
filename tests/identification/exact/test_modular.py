"""Exact arithmetic modulo a prime, against Python's integers."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrek.identification.numbers.modular import PRIMES, PrimeField


@pytest.fixture(params=PRIMES)
def field(request: pytest.FixtureRequest) -> PrimeField:
    return PrimeField(request.param)


def is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))


def test_the_moduli_are_primes_just_below_two_to_the_31() -> None:
    assert all(is_prime(p) and p < 2**31 for p in PRIMES)


def test_products_of_large_residues_are_exact(field: PrimeField) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(field.p - 10, field.p, (7, 300), dtype=np.int64)
    b = rng.integers(field.p - 10, field.p, (300, 5), dtype=np.int64)
    slow = [[sum(int(x) * int(y) for x, y in zip(row, col, strict=True)) % field.p for col in b.T] for row in a]
    assert field.matmul(a, b).tolist() == slow
    assert field.mul(a, a).tolist() == [[int(x) ** 2 % field.p for x in row] for row in a]


@pytest.mark.parametrize("width", range(1, 7))
def test_short_sums_of_the_largest_residues_are_exact(field: PrimeField, width: int) -> None:
    """(p - 1)² is 1 modulo p."""
    most = np.full((2, width), field.p - 1, dtype=np.int64)
    np.testing.assert_array_equal(field.matmul(most, most.T), width)


def test_a_matrix_times_its_inverse_is_the_identity(field: PrimeField) -> None:
    matrix, identity = field.random((9, 9), np.random.default_rng(1)), np.eye(9, dtype=np.int64)
    inverse = field.solve(matrix, identity)
    assert inverse is not None
    assert (field.matmul(matrix, inverse) == identity).all()
    assert field.solve(np.zeros((2, 2), dtype=np.int64), np.eye(2, dtype=np.int64)) is None


def test_rank_and_null_space_of_a_product(field: PrimeField) -> None:
    rng = np.random.default_rng(2)
    matrix = field.matmul(field.random((8, 3), rng), field.random((3, 10), rng))
    null = field.null_space(matrix)
    assert field.rank(matrix) == 3
    assert null.shape == (10, 7)
    assert field.rank(null) == 7
    assert not field.matmul(matrix, null).any()


def test_reduced_rows_have_unit_pivots_and_span_the_same_space(field: PrimeField) -> None:
    rng = np.random.default_rng(3)
    matrix = field.random((4, 6), rng)
    matrix[2] = field.reduce(matrix[0] + matrix[1])
    reduced, pivots = field.rref(matrix)
    assert (reduced[:, pivots] == np.eye(3, dtype=np.int64)).all()
    assert field.rank(np.vstack([matrix, reduced])) == 3


def test_fractions_and_floats_have_their_residue(field: PrimeField) -> None:
    assert field.number(Fraction(1, 3)) * 3 % field.p == 1
    assert field.number(-0.5) * 2 % field.p == field.p - 1


def slow_rref(p: int, matrix: Any) -> tuple[list[list[int]], list[int]]:
    """Gaussian elimination, column by column, on Python's integers."""
    work = [[int(x) % p for x in row] for row in matrix]
    pivots: list[int] = []
    for column in range(np.shape(matrix)[1]):
        rank = len(pivots)
        found = [i for i in range(rank, len(work)) if work[i][column]]
        if found:
            work[rank], work[found[0]] = work[found[0]], work[rank]
            work[rank] = [x * pow(work[rank][column], -1, p) % p for x in work[rank]]
            for i in range(len(work)):
                if i != rank:
                    work[i] = [(x - work[i][column] * y) % p for x, y in zip(work[i], work[rank], strict=True)]
            pivots.append(column)
    return work[: len(pivots)], pivots


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**32), st.sampled_from(PRIMES))
def test_elimination_agrees_with_the_slow_one(rows: int, columns: int, seed: int, p: int) -> None:
    field, rng = PrimeField(p), np.random.default_rng(seed)
    matrix = field.random((rows, columns), rng) * rng.integers(0, 2, (rows, columns))
    if rows > 2:
        matrix[-1] = field.reduce(matrix[0] + matrix[1])
    slow, pivots = slow_rref(p, matrix)
    reduced, found = field.rref(matrix)
    assert found == pivots
    assert reduced.tolist() == slow
    assert field.rank(matrix) == len(pivots)
    assert field.independent(matrix.T) == pivots
    null = field.null_space(matrix)
    assert null.shape == (columns, columns - len(pivots))
    assert not field.matmul(matrix, null).any()
    assert len(slow_rref(p, null)[1]) == null.shape[1]
    if columns and rows == columns:
        right = field.random((rows, 2), rng)
        solved = field.solve(matrix, right)
        assert (solved is None) == (len(pivots) < rows)
        assert solved is None or (field.matmul(matrix, solved) == right).all()


@pytest.mark.parametrize("size", [1, 4, 10, 11, 25])
def test_total_effects_and_covariances_of_few_and_many_variables(field: PrimeField, size: int) -> None:
    rng = np.random.default_rng(size)
    weights = np.triu(field.random((size, size), rng) * rng.integers(0, 2, (size, size)), 1)
    omega = field.random((size, size), rng)
    omega = field.reduce(omega + omega.T)
    identity = np.eye(size, dtype=np.int64)
    total = field.solve(field.reduce(identity - weights), identity)
    assert total is not None
    assert (field.total_effects(weights) == total).all()
    assert (field.covariance(weights, omega) == field.matmul(total.T, field.matmul(omega, total))).all()


def test_draws_do_not_depend_on_how_many_are_made(field: PrimeField) -> None:
    for count in (1, 7, 511, 512, 513, 2000):
        drawn = field.drawn(count, 31)
        assert (drawn == field.random(count, np.random.default_rng(31))).all()
        drawn[:] = 0  # what is remembered stays as it is
    assert field.drawn(3, 31).all()
