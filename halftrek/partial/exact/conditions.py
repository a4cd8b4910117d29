"""Assumptions on the fibre as signs of polynomials, joined by "and" and "or"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from math import isfinite

from flint import fmpq, fmpq_mpoly

from halftrek.graphs import Graph
from halftrek.partial.assumptions.checks import correlation_limit, covariates
from halftrek.partial.assumptions.kinds import AbsoluteSum, Assumption, Compared, Confounded, Norm, Within
from halftrek.partial.assumptions.quantities import (
    Correlation,
    Endogeneity,
    ErrorCorrelation,
    ErrorCovariance,
    Quantity,
    Reliability,
    Share,
    Weight,
)
from halftrek.partial.assumptions.strength import limit_at
from halftrek.partial.exact.rational import Rational, coordinates_in, exact, total
from halftrek.partial.exact.tower import Tower

DIVISOR = "a divisor is zero"  # where a question has no answer
_ROUNDING = fmpq(1, 10**12)  # share of two numbers by which rounding tells them apart
_LARGEST_BLOCK = 3  # of errors with arcs among hidden causes whose minors are written out


@dataclass(frozen=True, eq=False)
class Atom:
    """``polynomial <= 0``, where ``pole``, if there is one, is not zero: there it says nothing."""

    polynomial: fmpq_mpoly
    pole: fmpq_mpoly | None = None


@dataclass(frozen=True, eq=False)
class All:
    """Every part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class Some:
    """At least one part holds."""

    parts: tuple[Formula, ...]


Formula = Atom | All | Some


@dataclass(frozen=True, eq=False)
class Claim:
    """What has to hold on the fibre, and why: an assumption, or that no variance is negative."""

    formula: Formula
    reason: Assumption | str

    @property
    def coordinates(self) -> frozenset[int]:
        """The coordinates that it is about."""
        if self.reason == DIVISOR:
            return frozenset(k for a in atoms_of(self.formula) if a.pole is not None for k in coordinates_in(a.pole))
        return frozenset(k for atom in atoms_of(self.formula) for k in coordinates_in(atom.polynomial))


def atoms_of(formula: Formula) -> Iterator[Atom]:
    """All signs in a formula."""
    if isinstance(formula, Atom):
        yield formula
    else:
        for part in formula.parts:
            yield from atoms_of(part)


def claims_of(assumptions: Sequence[Assumption], graph: Graph, tower: Tower) -> list[Claim] | None:
    """All that has to hold; None if something cannot be written as signs of polynomials.

    ``graph`` is the one before it is relaxed.
    """
    found = [Claim(_formula(a, graph, tower), a) for a in assumptions]
    noise = _noise_claims(tower)
    return None if noise is None else [*found, *noise]


def _at_most(value: Rational) -> Formula:
    """``value <= 0``; of a square, that it is nothing: an equation."""
    polynomial, pole = value.sign, None if value.bottom.is_constant() else value.bottom
    if not polynomial.is_constant():
        constant, factors = polynomial.factor_squarefree()
        if constant > 0 and all(power % 2 == 0 for _, power in factors):
            root = reduce(lambda a, b: a * b, (factor for factor, _ in factors))
            return All((Atom(root, pole), Atom(-root, pole)))
    return Atom(polynomial, pole)


def _below(less: Rational, more: Rational, size: Rational | None = None) -> Formula:
    """``less <= more``; where neither moves, numbers that differ by rounding alone are equal.

    Data and limits are floats: an answer that is known to be 0.6 obeys "at most 0.6", whatever the last bit says.
    ``size``: of what the two were computed from, if that is more than they are.
    """
    gap = less - more
    if not gap.coordinates and _constant(gap) > 0:
        known = [abs(_constant(part)) for part in (less, more, size) if part is not None and not part.coordinates]
        if known and _constant(gap) <= max(known) * _ROUNDING:
            return _at_most(less.ring.zero)
    return _at_most(gap)


def _constant(value: Rational) -> fmpq:
    return fmpq(0) if value.is_zero else value.top.leading_coefficient() / value.bottom.leading_coefficient()


def _formula(assumption: Assumption, graph: Graph, tower: Tower) -> Formula:
    match assumption:
        case Within(quantity, low, high):
            if isinstance(quantity, ErrorCorrelation | Endogeneity):
                return _correlation_within(quantity, low, high, tower)
            value = _value(quantity, tower)
            parts = []
            if isfinite(high):
                parts.append(_below(value, tower.ring.number(high)))
            if isfinite(low):
                parts.append(_below(tower.ring.number(low), value))
            return All(tuple(parts))
        case Compared(left, right, factor, absolute):
            return _compared(left, right, factor, absolute, tower)
        case Norm(weights, limit) | AbsoluteSum(weights, limit) if limit == 0.0:  # sizes add up to nothing: each is
            values = [_value(w, tower) for w in weights]
            return All(tuple(_at_most(v) for value in values for v in (value, -value)))
        case Norm(weights, limit):
            squares = [_value(w, tower) * _value(w, tower) for w in weights]
            return _below(total(squares, tower.ring), tower.ring.number(exact(limit) * exact(limit)))
        case AbsoluteSum(weights, limit):
            values = [_value(w, tower) for w in weights]
            allowed = tower.ring.number(limit)
            signs = product((1, -1), repeat=len(values))
            sums = ([v.times(s) for s, v in zip(sign, values, strict=True)] for sign in signs)
            return All(tuple(_below(total(some, tower.ring), allowed) for some in sums))
        case Confounded(pair):
            most = confounding_limit(assumption, graph, tower)
            return _correlation_within(ErrorCorrelation(pair.first, pair.second), -most, most, tower)


def confounding_limit(assumption: Confounded, graph: Graph, tower: Tower) -> float:
    """The largest correlation of two errors that an assumption about their hidden cause leaves; 1 excludes nothing."""
    if assumption.shares is not None:
        return correlation_limit(*assumption.shares)
    first, second, like = assumption.pair.first, assumption.pair.second, assumption.like or ""
    others = [v for v in covariates(graph, first, second) if v != like]
    sigma = tower.plan.form[: tower.p, : tower.p]
    return limit_at(sigma, first, second, like, others, assumption.times, tower.plan.names)


def _value(quantity: Quantity, tower: Tower) -> Rational:
    place = tower.place
    match quantity:
        case Weight(cause, effect):
            return tower.weight(place[cause], place[effect])
        case ErrorCovariance(first, second):
            return tower.omega(place[first], place[second])
        case Share(variable):
            i = place[variable]
            return tower.omega(i, i) / tower.ring.number(tower.sigma[i][i])
        case Reliability(variable):
            i = place[variable]
            return tower.ring.one - tower.noise(i, i) / tower.ring.number(tower.sigma[i][i])
    raise TypeError(f"{quantity} is a correlation")


def _parts(quantity: Correlation, tower: Tower) -> tuple[Rational, Rational]:
    """A correlation is ``top / sqrt(bottom)``."""
    place = tower.place
    match quantity:
        case ErrorCorrelation(first, second):
            i, j = place[first], place[second]
            return tower.omega(i, j), tower.omega(i, i) * tower.omega(j, j)
        case Endogeneity(variable, error):
            i, j = place[variable], place[error]
            cross = total(
                [entry.times(tower.sigma[i][k]) for k, entry in tower.column(j).items() if k < tower.p], tower.ring
            )
            return cross, tower.omega(j, j).times(tower.sigma[i][i])


def _correlation_within(quantity: Correlation, low: float, high: float, tower: Tower) -> Formula:
    """``low <= top / sqrt(bottom) <= high``, by squares; by cases only where the limits lie around zero unevenly."""
    top, bottom = _parts(quantity, tower)

    square, zero = top * top, tower.ring.zero

    def inside(limit: float) -> Formula:
        return _below(square, bottom.times(exact(limit) * exact(limit)), bottom)

    def outside(limit: float) -> Formula:
        return _below(bottom.times(exact(limit) * exact(limit)), square, bottom)

    def signed_by(sign: int) -> Formula:
        """The correlation is not of this sign; one that does not move and is next to nothing has none."""
        nothing = not square.coordinates and not bottom.coordinates
        if nothing and _constant(square) <= _constant(bottom) * _ROUNDING * _ROUNDING:
            return _at_most(zero)
        return _at_most(top if sign > 0 else -top)

    if low == high == 0.0:
        return All((signed_by(1), signed_by(-1)))
    if low == -high:
        return inside(high)
    if low > high:
        raise ValueError("the limits of a correlation are in the wrong order")
    if low >= 0.0 or high <= 0.0:
        near, far, sign = (low, high, -1) if low >= 0.0 else (-high, -low, 1)
        parts = [signed_by(sign)]
        if near > 0.0:
            parts.append(outside(near))
        if far < 1.0:
            parts.append(inside(far))
        return All(tuple(parts))
    found: list[Formula] = []
    if high < 1.0:
        found.append(Some((signed_by(1), inside(high))))
    if low > -1.0:
        found.append(Some((signed_by(-1), inside(low))))
    return All(tuple(found))


def _compared(left: Correlation, right: Correlation, factor: float, absolute: bool, tower: Tower) -> Formula:
    """``a / sqrt(A) <= f b / sqrt(B)``: by signs, or by squares where signs agree."""
    (a, below_a), (b, below_b) = _parts(left, tower), _parts(right, tower)
    ratio = below_a / below_b  # both are positive; what they share is no part of the comparison
    below_a, below_b = Rational(tower.ring, ratio.top), Rational(tower.ring, ratio.bottom)
    first, second = a * a * below_b, (b * b * below_a).times(exact(factor) * exact(factor))
    if absolute:
        return _below(first, second)
    apart = All((_at_most(a), _at_most(-b)))
    above = All((_at_most(-b), _below(first, second)))
    below = All((_at_most(a), _below(second, first)))
    return Some((apart, above, below))


def _noise_claims(tower: Tower) -> list[Claim] | None:
    """No noise variance is negative, and error covariances beside hidden causes are those of errors.

    Without hidden causes this holds by itself: ``Omega = A' Sigma A``.
    """
    graph, names = tower.plan.graph, tower.plan.names
    if not graph.latents:
        return []
    hidden = {v for kids in graph.latents.values() for v in kids}
    found = []
    for block in graph.with_(latents={}).districts:
        if not hidden.intersection(block):
            continue
        if len(block) > _LARGEST_BLOCK:
            return None
        places = [names.index(v) for v in block]
        for size in range(1, len(places) + 1):
            for some in combinations(places, size):
                words = (
                    f"the noise of {names[some[0]]} has no variance left"
                    if size == 1
                    else (f"the errors of {', '.join(names[i] for i in some)} determine each other")
                )
                scale = reduce(lambda a, b: a * b, (tower.ring.number(tower.sigma[i][i]) for i in some))
                found.append(Claim(_below(tower.ring.zero, _minor(tower, some), scale), words))
    return found


def _minor(tower: Tower, places: tuple[int, ...]) -> Rational:
    if len(places) == 1:
        return tower.noise(places[0], places[0])
    i, j = places[0], places[1]
    if len(places) == 2:
        return tower.noise(i, i) * tower.noise(j, j) - tower.noise(i, j) * tower.noise(i, j)
    k = places[2]
    a, b, c = tower.noise(i, j), tower.noise(i, k), tower.noise(j, k)
    first = tower.noise(i, i) * (tower.noise(j, j) * tower.noise(k, k) - c * c)
    second = a * (a * tower.noise(k, k) - c * b)
    third = b * (a * c - tower.noise(j, j) * b)
    return first - second + third
