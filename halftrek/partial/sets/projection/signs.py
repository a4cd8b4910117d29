"""Claims along a line by the signs of their irreducible factors, which many polynomials share.

The roots of the factors cut the line; on a stretch between two of them each factor has one sign, that of a polynomial
is the product of those of its factors, and a claim holds by signs alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from flint import arb, fmpq, fmpq_mpoly, fmpq_poly

from halftrek.partial.exact.conditions import All, Atom, Claim, Formula, atoms_of
from halftrek.partial.exact.curve import along, at_root, real_roots
from halftrek.partial.sets.line import Line, as_rational, number_between


class _Product(NamedTuple):
    """The sign of a constant, factors with odd powers, and all factors, by their numbers."""

    sign: int
    odd: tuple[int, ...]
    each: tuple[int, ...]

    def of(self, signs: Sequence[int]) -> int:
        """The sign where the factors have these."""
        if any(signs[k] == 0 for k in self.each):
            return 0
        found = self.sign
        for k in self.odd:
            found *= signs[k]
        return found


@dataclass(frozen=True, eq=False)
class Signs:
    """Claims, and their polynomials as products of ``factors``."""

    claims: Sequence[Claim]
    factors: Sequence[fmpq_mpoly]
    polynomials: dict[int, _Product]  # by the id of each atom
    poles: tuple[_Product, ...]
    shared: frozenset[int]  # factors in several polynomials, or squared: at their roots alone claims may hold

    @staticmethod
    def of(claims: Sequence[Claim], factors: Sequence[fmpq_mpoly]) -> Signs:
        """The claims by factors, which are all that their polynomials and poles have."""
        atoms = [atom for claim in claims for atom in atoms_of(claim.formula)]
        polynomials = {id(atom): _product(atom.polynomial, factors) for atom in atoms}
        poles = dict.fromkeys(_product(atom.pole, factors) for atom in atoms if atom.pole is not None)
        each = [own for own in dict.fromkeys(polynomials.values()) if own.each]
        count = Counter(k for own in each for k in own.each)
        squared = {k for own in each for k in own.each if k not in own.odd}
        shared = frozenset(squared.union(k for k, times in count.items() if times > 1))
        return Signs(claims, factors, polynomials, tuple(poles), shared)

    def places(self, line: Line, equation: Sequence[fmpq_mpoly], *, usual: bool = False) -> Iterator[fmpq]:
        """Places on a line where the claims hold: one in each stretch, or, if there is none, a root.

        ``equation``: factors of which one has to be zero; then only their roots come into it. ``usual``: nothing
        special happens on this line, no two factors meet. Then where one polynomial alone is zero, claims that hold
        there hold on one side too.
        """
        along_it = [along(factor, line.start, line.step) for factor in self.factors]
        roots = [real_roots(polynomial) for polynomial in along_it]
        own = [k for k, factor in enumerate(self.factors) if factor in equation]
        if not own or any(along_it[k].is_zero() for k in own):
            found = list(self._inside(along_it, [root for some in roots for root in some]))
            if found:
                yield from found
                return
            own = sorted(self.shared) if usual else list(range(len(roots)))
        for root in (root for k in own for root in roots[k]):
            if self._hold(_signs_at(along_it, root), at_root=True):
                yield as_rational(root)
                return

    def _inside(self, along_it: Sequence[fmpq_poly], roots: Sequence[arb]) -> Iterator[fmpq]:
        cuts = sorted({as_rational(root) for root in _apart(roots)})
        for left, right in pairwise([None, *cuts, None]):
            x = number_between(left, right)
            values = [polynomial(x) for polynomial in along_it]
            if self._hold([(value > 0) - (value < 0) for value in values]):
                yield x

    def _hold(self, signs: Sequence[int], *, at_root: bool = False) -> bool:
        if at_root and any(pole.of(signs) == 0 for pole in self.poles):
            return False
        return all(self._holds(claim.formula, signs) for claim in self.claims)

    def _holds(self, formula: Formula, signs: Sequence[int]) -> bool:
        if isinstance(formula, Atom):
            return self.polynomials[id(formula)].of(signs) <= 0
        each = (self._holds(part, signs) for part in formula.parts)
        return all(each) if isinstance(formula, All) else any(each)


def _product(polynomial: fmpq_mpoly, factors: Sequence[fmpq_mpoly]) -> _Product:
    if polynomial.is_zero():
        return _Product(0, (), ())
    if polynomial.is_constant():
        return _Product(1 if polynomial.leading_coefficient() > 0 else -1, (), ())
    constant, own = polynomial.factor()
    known = [(factors.index(factor), power) for factor, power in own]
    odd = tuple(k for k, power in known if power % 2)
    return _Product(1 if constant > 0 else -1, odd, tuple(k for k, _ in known))


def _apart(roots: Sequence[arb]) -> list[arb]:
    """Roots without those that are one to all digits."""
    found: list[arb] = []
    for root in sorted(roots, key=lambda one: float(one.mid())):
        if not (found and found[-1].overlaps(root)):
            found.append(root)
    return found


def _signs_at(along_it: Sequence[fmpq_poly], root: arb) -> list[int]:
    """Signs at a root, where what is nothing to many digits is taken for nothing."""
    values = [at_root(polynomial, root) for polynomial in along_it]
    return [0 if value.contains(0) else 1 if value > 0 else -1 for value in values]
