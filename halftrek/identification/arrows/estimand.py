"""Formulas in probabilities of the observed variables, as data, in text and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from halftrek.queries.written.latex import latex_name


@dataclass(frozen=True)
class Probability:
    """``P(variables | given)``."""

    variables: tuple[str, ...]
    given: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sum:
    """The sum (or integral) of ``body`` over the values of some variables."""

    over: tuple[str, ...]
    body: Formula


@dataclass(frozen=True)
class Product:
    """A product; empty, it is 1."""

    factors: tuple[Formula, ...]


@dataclass(frozen=True)
class Ratio:
    """``top / bottom``."""

    top: Formula
    bottom: Formula


Formula = Probability | Sum | Product | Ratio


def product(factors: Iterable[Formula]) -> Formula:
    """A product with nested products opened and ones left out."""
    flat: list[Formula] = []
    for f in factors:
        flat += f.factors if isinstance(f, Product) else (f,)
    return flat[0] if len(flat) == 1 else Product(tuple(flat))


def summed(over: Iterable[str], body: Formula) -> Formula:
    """The sum over some variables, where possible without a sum: ``Σ_a P(a, b | c) = P(b | c)``.

    A factor ``P(a | ...)`` goes away with the sum over ``a`` if no other factor names a.
    """
    left = list(dict.fromkeys(over))
    factors: list[Formula] = list(body.factors) if isinstance(body, Product) else [body]
    named = [free_variables(f) for f in factors]
    changed = True
    while changed:
        changed = False
        for v in list(left):
            holding = [at for at, names in enumerate(named) if v in names]
            if len(holding) != 1:
                continue
            at = factors.index(factors[holding[0]])
            old = factors[at]
            if isinstance(old, Probability) and v in old.variables:
                rest = tuple(w for w in old.variables if w != v)
                factors[at : at + 1] = [Probability(rest, old.given)] if rest else []
            elif isinstance(old, Sum):  # two sums are one
                factors[at] = summed((v, *old.over), old.body)
            else:
                continue
            named[at : at + 1] = [free_variables(f) for f in factors[at : at + 1 + len(factors) - len(named)]]
            left.remove(v)
            changed = True
    inner = product(factors)
    if not left:
        return inner
    outside = [f for f, names in zip(factors, named, strict=True) if names.isdisjoint(left)]
    inside = [f for f, names in zip(factors, named, strict=True) if not names.isdisjoint(left)]
    return product([*outside, Sum(tuple(left), product(inside))])


def free_variables(formula: Formula) -> set[str]:
    """Variables whose values the formula depends on."""
    match formula:
        case Probability(variables, given):
            return {*variables, *given}
        case Sum(over, body):
            return free_variables(body) - set(over)
        case Product(factors):
            return {v for f in factors for v in free_variables(f)}
        case Ratio(top, bottom):
            return free_variables(top) | free_variables(bottom)


def rename(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula with other letters for the values that it depends on; what is summed over keeps its letter."""
    match formula:
        case Probability(variables, given):
            return Probability(tuple(names.get(v, v) for v in variables), tuple(names.get(v, v) for v in given))
        case Sum(over, body):
            return Sum(over, rename(body, {v: w for v, w in names.items() if v not in over}))
        case Product(factors):
            return Product(tuple(rename(f, names) for f in factors))
        case Ratio(top, bottom):
            return Ratio(rename(top, names), rename(bottom, names))


def as_text(formula: Formula) -> str:
    """In one line: ``Σ_m P(m | x) Σ_x' P(y | m, x') P(x')``."""
    return _write(formula, {v: v for v in free_variables(formula)}, latex=False)


def as_latex(formula: Formula) -> str:
    """In LaTeX."""
    return _write(formula, {v: _latex_letter(v) for v in free_variables(formula)}, latex=True)


def _latex_letter(name: str) -> str:
    """A value in LaTeX: primes and numbers stay outside of the variable's name."""
    parts = re.fullmatch(r"(.+?)('*)(=[-+.\de]+)?", name, re.DOTALL)
    return latex_name(parts[1]) + parts[2] + (parts[3] or "") if parts else latex_name(name)


def _write(formula: Formula, shown: Mapping[str, str], *, latex: bool) -> str:
    bar = " \\mid " if latex else " | "
    match formula:
        case Probability(variables, given):
            condition = bar + ", ".join(shown[v] for v in given) if given else ""
            return f"P({', '.join(shown[v] for v in variables)}{condition})"
        case Sum(over, body):
            inner = dict(shown)
            for v in over:  # a value that is summed over is primed if the same letter is in use outside
                name = _latex_letter(v) if latex else v
                while name in shown.values():
                    name += "'"
                inner[v] = name
            names = ", ".join(inner[v] for v in over)
            return (
                f"\\sum_{{{names}}} " if latex else f"Σ_{names if len(over) == 1 else '{' + names + '}'} "
            ) + _write(body, inner, latex=latex)
        case Product(factors):
            ordered = sorted(factors, key=lambda f: isinstance(f, Sum))
            parts = [_write(f, shown, latex=latex) for f in ordered]
            bracketed = [isinstance(f, Sum) and i < len(ordered) - 1 for i, f in enumerate(ordered)]
            return " ".join(f"[{p}]" if open_ else p for p, open_ in zip(parts, bracketed, strict=True)) or "1"
        case Ratio(top, bottom):
            above, below = _write(top, shown, latex=latex), _write(bottom, shown, latex=latex)
            return f"\\frac{{{above}}}{{{below}}}" if latex else f"[{above}] / [{below}]"
