"""Whether an answer stays on one side of a level all over a box, by signs of polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from halftrek.bottom.arrays import Flags
from halftrek.partial.exact.compiled import Compiled, CompiledForm
from halftrek.partial.exact.conditions import Atom, Formula
from halftrek.partial.sets.proof.bernstein import EPS, Boxed


class Multiplier(NamedTuple):
    """A sign that holds unless some formula does, and its weight."""

    atom: Atom
    weight: float
    unless: tuple[Formula, ...] = ()


@dataclass(frozen=True, eq=False)
class Beyond:
    """``sign * inner > level``: what is to be proved impossible, with multipliers of claims that bind there.

    ``below``: and less than this, for holes; of quotients alone.
    """

    sign: float
    level: float
    multipliers: tuple[Multiplier, ...] = ()
    below: float = inf
    side: float = 1.0  # the sign of the bottom at the end ...
    known: bool = False  # ... and everywhere, but at poles


Test = tuple[Compiled, int]  # a polynomial, and the number of the family that it is compared within


def tests_of(form: CompiledForm, beyond: Beyond) -> list[Test]:
    """The polynomials whose signs tell whether the answer is beyond."""
    top, bottom = form.main
    if form.spread is None:
        return [(top, 0), (bottom, 0), (bottom, 1)]  # the last for its sign, also far out
    first, second = _squares(form, beyond)
    if form.form.shape == "ratio":
        return [(top, 0), (bottom, 1), (first, 2), (second, 2)]
    return [(_gap(form, beyond), 0), (bottom, 1), (joined((first, scaled(second, -1.0))), 2)]


def goal_of(form: CompiledForm, beyond: Beyond) -> Compiled:
    """One polynomial that is at most zero where the answer is not beyond, as far as ``is_told`` says."""
    top, bottom = form.main
    if form.spread is None:
        return joined((scaled(top, beyond.sign * beyond.side), scaled(bottom, -beyond.level * beyond.side)))
    first, second = _squares(form, beyond)
    if form.form.shape == "ratio":
        turn = 1.0 if beyond.level >= 0.0 else -1.0
        return joined((scaled(first, turn), scaled(second, -turn * beyond.level**2)))
    turn = -1.0 if beyond.sign * form.form.factor > 0.0 else 1.0
    return joined((scaled(first, turn), scaled(second, -turn)))


def is_told(form: CompiledForm, beyond: Beyond, tests: Sequence[Boxed]) -> Flags:
    """Where the sign of the goal tells whether the answer is beyond."""
    if form.spread is None:
        return _signed(beyond, tests[-1], beyond.side)
    if form.form.shape == "ratio" and beyond.level < 0.0:
        return _negative(beyond, tests[0], tests[1])
    if form.form.shape == "root" and beyond.sign * form.form.factor > 0.0:
        return _has_room(beyond, tests[0], tests[1])
    return np.ones(len(tests[0].b), dtype=bool)


def _signed(beyond: Beyond, bottom: Boxed, side: float) -> Flags:
    """Where the bottom surely has a sign, or is zero where there are no models."""
    if beyond.known:
        return np.full(len(bottom.b), side == beyond.side)
    return np.asarray(bottom.lowest > 0.0 if side > 0.0 else bottom.highest < 0.0)


def _gap(form: CompiledForm, beyond: Beyond) -> Compiled:
    """``(level - sign m) bottom``."""
    top, bottom = form.main
    return joined((scaled(bottom, beyond.level), scaled(top, -beyond.sign)))


def _squares(form: CompiledForm, beyond: Beyond) -> tuple[Compiled, Compiled]:
    """``m²`` and ``v``, or ``(level - sign m)²`` and ``k² v``, both times ``(bottom below)²``."""
    assert form.spread is not None
    (top, bottom), (above, below) = form.main, form.spread
    second = product_of(product_of(bottom, bottom), product_of(above, below))
    if form.form.shape == "ratio":
        return product_of(product_of(top, top), product_of(below, below)), second
    gap = _gap(form, beyond)
    return product_of(product_of(gap, gap), product_of(below, below)), scaled(second, form.form.factor**2)


def ruled_out(form: CompiledForm, beyond: Beyond, tests: Sequence[Boxed]) -> Flags:
    """Where the answer is surely not beyond."""
    if form.spread is None:
        return _quotient(beyond, *tests)
    if form.form.shape == "ratio":
        return _ratio(beyond, *tests)
    return _root(beyond, beyond.sign * form.form.factor, *tests)


def _quotient(beyond: Beyond, top: Boxed, bottom: Boxed, signed: Boxed) -> Flags:
    """``sign * top / bottom <= level`` all over, or at least ``below``, where bottom keeps its sign."""
    found = np.zeros(len(top.b), dtype=bool)
    for side in (1.0, -1.0):
        positive = _signed(beyond, signed, side)
        found |= positive & (_mixed(top, beyond.sign * side, bottom, -beyond.level * side).highest <= 0.0)
        if beyond.below < inf:
            found |= positive & (_mixed(top, beyond.sign * side, bottom, -beyond.below * side).lowest >= 0.0)
    return found


def _negative(beyond: Beyond, top: Boxed, bottom: Boxed) -> Flags:
    """Where ``sign m <= 0``."""
    upper, lower = (top.highest, top.lowest) if beyond.sign > 0.0 else (-top.lowest, -top.highest)
    plus, minus = (_signed(beyond, bottom, side) for side in (1.0, -1.0))
    return np.asarray(((upper <= 0.0) & plus) | ((lower >= 0.0) & minus))


def _has_room(beyond: Beyond, gap: Boxed, bottom: Boxed) -> Flags:
    """Where ``sign m <= level``."""
    plus, minus = (_signed(beyond, bottom, side) for side in (1.0, -1.0))
    return np.asarray(((gap.lowest >= 0.0) & plus) | ((gap.highest <= 0.0) & minus))


def _ratio(beyond: Beyond, top: Boxed, bottom: Boxed, first: Boxed, second: Boxed) -> Flags:
    """``sign m <= level sqrt(v)``: by the sign of m, and by squares."""
    negative = _negative(beyond, top, bottom)
    gap = _mixed(first, 1.0, second, -(beyond.level**2))
    if beyond.level >= 0.0:
        return np.asarray(negative | (gap.highest <= 0.0))
    return np.asarray(negative & (gap.lowest >= 0.0))


def _root(beyond: Beyond, factor: float, gap: Boxed, bottom: Boxed, whole: Boxed) -> Flags:
    """``sign m + factor sqrt(v) <= level``."""
    room = _has_room(beyond, gap, bottom)
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
