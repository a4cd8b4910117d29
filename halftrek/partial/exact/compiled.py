"""Polynomials and claims as numpy takes them: values and slopes at many points at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from flint import arb, fmpq_mpoly

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.partial.exact.conditions import All, Atom, Formula
from halftrek.partial.exact.questions import Form


@dataclass(frozen=True, eq=False)
class Compiled:
    """A polynomial in some of the coordinates: coefficients, and the exponents of each."""

    coefficients: Floats
    exponents: Ints  # (terms, d)

    @staticmethod
    def of(polynomial: fmpq_mpoly, coordinates: Sequence[int]) -> Compiled:
        """The polynomial in the order of some coordinates; it has no others."""
        terms = polynomial.to_dict()
        exponents = np.array([[int(e[k]) for k in coordinates] for e in terms], dtype=np.intp)
        numbers = np.array([float(arb(c).mid()) for c in terms.values()])
        return Compiled(numbers, exponents.reshape(len(numbers), len(coordinates)))

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """The highest power of each coordinate."""
        return tuple(int(n) for n in self.exponents.max(axis=0, initial=0))

    @cached_property
    def size(self) -> float:
        """The sum of the sizes of the coefficients."""
        return float(np.abs(self.coefficients).sum()) or 1.0

    def values(self, u: Floats) -> Floats:
        """At points ``(..., d)``."""
        return np.asarray(self._terms(u, self.exponents) @ self.coefficients)

    def slopes(self, u: Floats) -> Floats:
        """``(..., d)``."""
        found = np.empty(u.shape)
        for k in range(self.exponents.shape[1]):
            lowered = self.exponents.copy()
            lowered[:, k] = np.maximum(lowered[:, k] - 1, 0)
            found[..., k] = self._terms(u, lowered) @ (self.coefficients * self.exponents[:, k])
        return found

    def _terms(self, u: Floats, exponents: Ints) -> Floats:
        found = np.ones((*u.shape[:-1], len(exponents)))
        for k in range(exponents.shape[1]):
            most = int(exponents[:, k].max(initial=0))
            if most:
                powers = u[..., k, None] ** np.arange(most + 1)
                found = found * powers[..., exponents[:, k]]
        return found


class Stacked:
    """Several polynomials at one point: their powers are worked out once."""

    def __init__(self, polynomials: Sequence[Compiled]) -> None:
        every = np.concatenate([p.exponents for p in polynomials])
        self.exponents, at = np.unique(every, axis=0, return_inverse=True)
        self.numbers = np.zeros((len(polynomials), len(self.exponents)))
        rows = np.repeat(np.arange(len(polynomials)), [len(p.exponents) for p in polynomials])
        np.add.at(self.numbers, (rows, at.reshape(-1)), np.concatenate([p.coefficients for p in polynomials]))
        self.most = np.arange(int(self.exponents.max(initial=0)) + 1)

    def both(self, u: Floats) -> tuple[Floats, Floats]:
        """Values ``(k,)`` and slopes ``(k, d)`` at a point ``(d,)``."""
        powers = u[:, None] ** self.most
        lower = np.zeros_like(powers)
        lower[:, 1:] = powers[:, :-1] * self.most[1:]
        own = [powers[k][self.exponents[:, k]] for k in range(len(u))]
        slopes = np.empty((len(self.numbers), len(u)))
        for k in range(len(u)):
            term = lower[k][self.exponents[:, k]]
            for j in range(len(u)):
                if j != k:
                    term = term * own[j]
            slopes[:, k] = self.numbers @ term
        return self.numbers @ reduce(np.multiply, own), slopes


@dataclass(frozen=True, eq=False)
class CompiledForm:
    """A question as a function of points."""

    form: Form
    main: tuple[Compiled, Compiled]
    spread: tuple[Compiled, Compiled] | None

    @staticmethod
    def of(form: Form, coordinates: Sequence[int]) -> CompiledForm:
        """Of the question's polynomials."""
        main = Compiled.of(form.main.top, coordinates), Compiled.of(form.main.bottom, coordinates)
        if form.spread is None:
            return CompiledForm(form, main, None)
        spread = Compiled.of(form.spread.top, coordinates), Compiled.of(form.spread.bottom, coordinates)
        return CompiledForm(form, main, spread)

    def both(self, u: Floats) -> tuple[Floats, Floats]:
        """The inner values, and their slopes ``(..., d)``."""
        with np.errstate(all="ignore"):
            m, dm = _quotient(*self.main, u)
            if self.spread is None:
                return m, dm
            v, dv = _quotient(*self.spread, u)
            root = np.sqrt(np.maximum(v, 0.0))
            droot = 0.5 * dv / root[..., None]
            if self.form.shape == "root":
                return m + self.form.factor * root, dm + self.form.factor * droot
            value = m / root
            return value, (dm - value[..., None] * droot) / root[..., None]


def _quotient(top: Compiled, bottom: Compiled, u: Floats) -> tuple[Floats, Floats]:
    a, b = top.values(u), bottom.values(u)
    value = a / b
    return value, (top.slopes(u) - value[..., None] * bottom.slopes(u)) / b[..., None]


class CompiledClaims:
    """Formulas as functions of points: which hold, and smooth inequalities near a point."""

    def __init__(self, formulas: Sequence[Formula], coordinates: Sequence[int]) -> None:
        self.formulas = tuple(formulas)
        self.atoms: dict[int, Compiled] = {}
        for formula in formulas:
            self._compile(formula, coordinates)

    def _compile(self, formula: Formula, coordinates: Sequence[int]) -> None:
        if isinstance(formula, Atom):
            self.atoms[id(formula)] = Compiled.of(formula.polynomial, coordinates)
        else:
            for part in formula.parts:
                self._compile(part, coordinates)

    def excess(self, u: Floats) -> Floats:
        """How far the worst claim is from holding, in the size of its terms; at most zero where all hold."""
        found = np.full(u.shape[:-1], -np.inf)
        for formula in self.formulas:
            found = np.maximum(found, self._excess(formula, u))
        return found

    def _excess(self, formula: Formula, u: Floats) -> Floats:
        if isinstance(formula, Atom):
            one = self.atoms[id(formula)]
            size = Compiled(np.abs(one.coefficients), one.exponents).values(np.abs(u))
            with np.errstate(all="ignore"):
                return np.asarray(one.values(u) / np.maximum(size, 1e-300))
        parts = [self._excess(part, u) for part in formula.parts]
        if not parts:
            return np.full(u.shape[:-1], -np.inf)
        together = np.maximum if isinstance(formula, All) else np.minimum
        return np.asarray(together.reduce(parts))

    def holds(self, u: Floats, slack: float = 0.0) -> Flags:
        """Where all claims hold, or nearly so."""
        return np.asarray(self.excess(u) <= slack)

    def near(self, u: Floats) -> list[Atom]:
        """Signs that together make all claims hold, of the alternatives those that are nearest at a point."""
        found: list[Atom] = []
        waiting = list(self.formulas)
        while waiting:
            formula = waiting.pop()
            if isinstance(formula, Atom):
                found.append(formula)
            elif isinstance(formula, All):
                waiting += formula.parts
            else:
                waiting.append(min(formula.parts, key=lambda part: float(self._excess(part, u))))
        return found
