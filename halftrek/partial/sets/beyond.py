"""Whether an answer stays on one side of a level all over a box, by signs of polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from halftrek.arrays import Flags
from halftrek.partial.exact.compiled import Compiled, CompiledForm
from halftrek.partial.exact.conditions import Atom
from halftrek.partial.sets.bernstein import EPS, Boxed


@dataclass(frozen=True, eq=False)
class Beyond:
    """``sign * inner > level``: what is to be proved impossible, with multipliers of claims that bind there.

    ``below``: and less than this, for holes; of quotients alone.
    """

    sign: float
    level: float
    multipliers: tuple[tuple[Atom, float], ...] = ()
    below: float = inf


Test = tuple[Compiled, int]  # a polynomial, and the number of the family that it is compared within


def tests_of(form: CompiledForm, beyond: Beyond) -> list[Test]:
    """The polynomials whose signs tell whether the answer is beyond."""
    top, bottom = form.main
    if form.spread is None:
        return [(top, 0), (bottom, 0)]
    above, below = form.spread
    if form.form.shape == "ratio":  # m² against level² v, both times (bottom below)²
        first = product_of(product_of(top, top), product_of(below, below))
        second = product_of(product_of(bottom, bottom), product_of(above, below))
        return [(top, 0), (bottom, 1), (first, 2), (second, 2)]
    gap = joined((scaled(bottom, beyond.level), scaled(top, -beyond.sign)))  # (level - sign m) bottom
    first = product_of(product_of(gap, gap), product_of(below, below))
    second = product_of(product_of(bottom, bottom), product_of(above, below))
    whole = joined((first, scaled(second, -(form.form.factor**2))))  # ((level - sign m)² - k² v) (bottom below)²
    return [(gap, 0), (bottom, 1), (whole, 2)]


def ruled_out(form: CompiledForm, beyond: Beyond, tests: Sequence[Boxed]) -> Flags:
    """Where the answer is surely not beyond."""
    if form.spread is None:
        return _quotient(beyond, *tests)
    if form.form.shape == "ratio":
        return _ratio(beyond, *tests)
    return _root(beyond.sign * form.form.factor, *tests)


def _quotient(beyond: Beyond, top: Boxed, bottom: Boxed) -> Flags:
    """``sign * top / bottom <= level`` all over, or at least ``below``, where bottom keeps its sign."""
    found = np.zeros(len(top.b), dtype=bool)
    for side in (1.0, -1.0):
        positive = (side * bottom.b).reshape(len(bottom.b), -1).min(axis=1) > bottom.pad
        found |= positive & (_mixed(top, beyond.sign * side, bottom, -beyond.level * side).highest <= 0.0)
        if beyond.below < inf:
            found |= positive & (_mixed(top, beyond.sign * side, bottom, -beyond.below * side).lowest >= 0.0)
    return found


def _ratio(beyond: Beyond, top: Boxed, bottom: Boxed, first: Boxed, second: Boxed) -> Flags:
    """``sign m <= level sqrt(v)``: by the sign of m, and by squares."""
    upper, lower = (top.highest, top.lowest) if beyond.sign > 0.0 else (-top.lowest, -top.highest)
    negative = ((upper <= 0.0) & (bottom.lowest > 0.0)) | ((lower >= 0.0) & (bottom.highest < 0.0))
    gap = _mixed(first, 1.0, second, -(beyond.level**2))
    if beyond.level >= 0.0:
        return np.asarray(negative | (gap.highest <= 0.0))
    return np.asarray(negative & (gap.lowest >= 0.0))


def _root(factor: float, gap: Boxed, bottom: Boxed, whole: Boxed) -> Flags:
    """``sign m + factor sqrt(v) <= level``."""
    room = ((gap.lowest >= 0.0) & (bottom.lowest > 0.0)) | ((gap.highest <= 0.0) & (bottom.highest < 0.0))
    return np.asarray(room & (whole.lowest >= 0.0)) if factor > 0.0 else np.asarray(room | (whole.highest <= 0.0))


def _mixed(one: Boxed, a: float, other: Boxed, b: float) -> Boxed:
    """``a one + b other``, of the same degrees."""
    found = a * one.b + b * other.b
    return Boxed(found, abs(a) * one.pad + abs(b) * other.pad + 2.0 * EPS * float(np.abs(found).max(initial=0.0)))


def scaled(polynomial: Compiled, factor: float) -> Compiled:
    """Times a number."""
    return Compiled(polynomial.coefficients * factor, polynomial.exponents)


def product_of(one: Compiled, other: Compiled) -> Compiled:
    """The product of two polynomials."""
    coefficients = np.multiply.outer(one.coefficients, other.coefficients).reshape(-1)
    exponents = (one.exponents[:, None, :] + other.exponents[None, :, :]).reshape(-1, one.exponents.shape[1])
    return joined((Compiled(coefficients, exponents),))


def joined(parts: Sequence[Compiled]) -> Compiled:
    """The sum of polynomials, each power once."""
    exponents = np.concatenate([p.exponents for p in parts])
    coefficients = np.concatenate([p.coefficients for p in parts])
    distinct, at = np.unique(exponents, axis=0, return_inverse=True)
    total = np.zeros(len(distinct))
    np.add.at(total, at.reshape(-1), coefficients)
    return Compiled(total, distinct)

