"""Exact arithmetic modulo a prime near 2^31: products on int64 arrays, elimination by FLINT."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flint import nmod_mat

Ints = NDArray[np.int64]
PRIMES = (2147483647, 2147483629)  # the two largest below 2^31: a product of two residues fits into 62 bits
_SPLIT = 16
_FEW = 10  # variables up to which plain Python numbers are faster than arrays
_DRAWN = 512


@dataclass(frozen=True)
class PrimeField:
    """The integers modulo ``p``; every array holds residues 0 .. p-1."""

    p: int = PRIMES[0]

    def number(self, value: float | Fraction) -> int:
        """The residue of a rational number (a float is the fraction it stands for)."""
        if value == int(value):
            return int(value) % self.p
        exact = Fraction(value)
        return exact.numerator * pow(exact.denominator, -1, self.p) % self.p

    def random(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> Ints:
        """Residues drawn uniformly from 1 .. p-1."""
        return rng.integers(1, self.p, size=shape, dtype=np.int64)

    def drawn(self, count: int, seed: int) -> Ints:
        """The first residues that a generator with this seed draws."""
        few = _first_draws(self.p, seed)
        return few[:count].copy() if count <= _DRAWN else self.random(count, np.random.default_rng(seed))

    @property
    def dtype(self) -> type[np.int64]:
        """Type of the arrays."""
        return np.int64

    def reduce(self, a: Ints) -> Ints:
        """Residues of integers of either sign."""
        return np.asarray(a % self.p, dtype=np.int64)

    def scalar(self, value: float) -> float:
        """Residue of one integer."""
        return value % self.p

    def mul(self, a: Ints, b: Ints) -> Ints:
        """Elementwise product, with broadcasting."""
        return np.asarray(a * b % self.p, dtype=np.int64)

    def matmul(self, a: Ints, b: Ints) -> Ints:
        """Matrix product: the left factor is split, so that sums of up to 2^15 products stay below 2^63."""
        if a.shape[-1] <= 2:
            return np.asarray(a @ b % self.p, dtype=np.int64)
        if a.shape[-1] > 1 << 15:
            raise ValueError("matrix too wide for exact products; split it")
        high, low = a >> _SPLIT, a & ((1 << _SPLIT) - 1)
        return np.asarray(((high @ b % self.p << _SPLIT) + low @ b % self.p) % self.p, dtype=np.int64)

    def exact(self, a: Ints) -> nmod_mat:
        """A matrix of residues as FLINT holds it."""
        from flint import nmod_mat  # here, for most programs that load this decide nothing

        rows, columns = a.shape
        return nmod_mat(rows, columns, a.ravel().tolist(), self.p)

    def array(self, a: nmod_mat) -> Ints:
        """A matrix of FLINT as an array."""
        return np.array(list(map(int, a.entries())), dtype=np.int64).reshape(a.nrows(), a.ncols())

    def rref(self, matrix: Ints) -> tuple[Ints, list[int]]:
        """Reduced row echelon form without zero rows, and its pivots."""
        form, rank = self.exact(matrix).rref()
        return self.array(form)[:rank], pivots_of(form, rank)

    def independent(self, matrix: Ints) -> list[int]:
        """The rows that are independent of those before them; the first few are tried alone."""
        for part in (matrix[: 2 * matrix.shape[1]], matrix):
            chosen = pivots_of(*self.exact(part.T).rref())
            if len(chosen) == matrix.shape[1]:
                break
        return chosen

    def rank(self, matrix: Ints) -> int:
        """Rank of a matrix."""
        return self.exact(matrix).rank()

    def null_space(self, matrix: Ints) -> Ints:
        """A basis, in columns, of the vectors that the matrix sends to zero."""
        basis, count = self.exact(matrix).nullspace()
        places = ((i, j) for i in range(matrix.shape[1]) for j in range(count))
        return np.array([int(basis[place]) for place in places], dtype=np.int64).reshape(matrix.shape[1], count)

    def solve(self, matrix: Ints, right: Ints) -> Ints | None:
        """The solution of a square system (one column per right side), None if it is singular."""
        try:
            return self.array(self.exact(matrix).solve(self.exact(right)))
        except ZeroDivisionError:
            return None

    def total_effects(self, weights: Ints) -> Ints:
        """``(I - T)^-1`` of edge weights whose causes come before their effects, variable by variable."""
        return self.carried(weights, np.eye(len(weights), dtype=np.int64)).T

    def carried(self, weights: Ints, own: Ints) -> Ints:
        """``(I - T')^-1`` times a matrix: each row becomes itself plus what the rows of its causes pass on."""
        if len(weights) <= _FEW:
            return self._few_carried(weights.tolist(), own.tolist())
        passed = own.copy()
        for v in np.flatnonzero(weights.any(axis=0)).tolist():
            causes = np.flatnonzero(weights[:, v])
            terms = passed[causes] * weights[causes, v, None] % self.p
            passed[v] = (passed[v] + terms.sum(axis=0)) % self.p
        return passed

    def _few_carried(self, weights: list[list[int]], passed: list[list[int]]) -> Ints:
        for u, row in enumerate(weights):  # when its turn comes, a cause has received all that it passes on
            for v, weight in enumerate(row):
                if weight:
                    passed[v] = [(x + weight * y) % self.p for x, y in zip(passed[v], passed[u], strict=True)]
        return np.array(passed, dtype=np.int64)

    def covariance(self, weights: Ints, omega: Ints) -> Ints:
        """``B' Omega B`` with the total effects B, which are not needed for it."""
        return self.carried(weights, self.carried(weights, omega).T)


def pivots_of(form: nmod_mat, rank: int) -> list[int]:
    """Columns of the leading entries of a row echelon form."""
    found: list[int] = []
    for j in range(form.ncols()):
        if len(found) < rank and form[len(found), j]:
            found.append(j)
    return found


@lru_cache(maxsize=16)
def _first_draws(p: int, seed: int) -> Ints:
    """Setting up a generator costs more than a small graph's point; the same few seeds are used for all graphs."""
    return PrimeField(p).random(_DRAWN, np.random.default_rng(seed))
