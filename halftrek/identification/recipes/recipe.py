"""Formulas as data: small linear systems in Sigma, solved one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.errors import DataError
from halftrek.graphs import Edge
from halftrek.identification.numbers.fields import Array, Field, Reals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Combination:
    """A variable minus known multiples of others: ``variable - Σ quantity * other``."""

    variable: str
    minus: tuple[tuple[str, str], ...] = ()  # (other variable, name of the quantity that multiplies it)

    def __str__(self) -> str:
        if not self.minus:
            return self.variable
        return self.variable + "".join(f" - [{q}]·{v}" for v, q in self.minus)


def direct(cause: str, effect: str) -> str:
    """The name of an arrow's coefficient in recipes, which are printed and saved: its text."""
    return f"{cause} -> {effect}"


def arrow_of(quantity: str) -> Edge | None:
    """The arrow whose coefficient the quantity is."""
    return Edge.read(quantity) if " -> " in quantity else None


def cleaned(variable: str, causes: Iterable[str]) -> Combination:
    """The variable without what some of its direct causes add."""
    return Combination(variable, tuple((c, direct(c, variable)) for c in causes))


@dataclass(frozen=True)
class LinearStep:
    """Solve ``Cov(rows, columns) b = Cov(rows, target)``; ``outputs`` names the entries of b that are used (or None).

    Rows equal to columns is a regression; other rows are instruments.
    """

    rows: tuple[Combination, ...]
    columns: tuple[Combination, ...]
    target: Combination
    outputs: tuple[str | None, ...]


@dataclass(frozen=True)
class SumStep:
    """``output = (Σ sign * product of quantities) / divisor``."""

    output: str
    terms: tuple[tuple[int, tuple[str, ...]], ...]
    divisor: str | None = None


@dataclass(frozen=True)
class CovarianceStep:
    """``output = Cov(left, right)``."""

    output: str
    left: Combination
    right: Combination


@dataclass(frozen=True)
class ValueStep:
    """A coefficient that the graph fixes."""

    output: str
    value: float


Step = LinearStep | SumStep | CovarianceStep | ValueStep


@dataclass(frozen=True)
class Recipe:
    """Steps that turn a covariance matrix into the quantities named in ``outputs``."""

    names: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON."""
        return {"names": list(self.names), "outputs": list(self.outputs), "steps": [_step_dict(s) for s in self.steps]}


def solve(recipe: Recipe, Sigma: ArrayLike, names: Sequence[str] | None = None) -> float | dict[str, float]:
    """Carry out a recipe: the value of its output, or ``{output: value}`` if it has several.

    ``names`` gives the order of the rows of ``Sigma``; left out, it is the order of the graph's observed variables.
    """
    order = tuple(recipe.names if names is None else names)
    sigma = np.asarray(Sigma, dtype=float)
    if sigma.shape != (len(order), len(order)):
        raise DataError(f"Sigma must have the shape {(len(order),) * 2} for {len(order)} names, not {sigma.shape}")
    missing = [v for v in variables_used(recipe) if v not in order]
    if missing:
        raise DataError(f"Sigma has no row for {missing[0]!r}; the recipe needs {', '.join(variables_used(recipe))}")
    values = run(recipe, Reals(), sigma, order)
    if values is None:
        raise DataError(
            "Sigma makes a linear system of the recipe singular: the answer is not determined at this Sigma"
        )
    found = {name: float(value) for name, value in values.items()}
    return found[recipe.outputs[0]] if len(recipe.outputs) == 1 else found


def run(recipe: Recipe, field: Field, sigma: Array, names: Sequence[str]) -> dict[str, Array] | None:
    """The outputs in any arithmetic; None if some step has no unique solution."""
    place = {v: i for i, v in enumerate(names)}
    known: dict[str, Array] = {}

    def matrix(*combinations: Combination) -> Array:
        found = np.zeros((len(combinations), len(names)), field.dtype)
        for row, c in zip(found, combinations, strict=True):
            row[place[c.variable]] = 1
            for v, q in c.minus:
                row[place[v]] = field.reduce(row[place[v]] - known[q])
        return found

    for step in recipe.steps:
        match step:
            case LinearStep(rows, columns, target, outputs):
                system = field.matmul(field.matmul(matrix(*rows), sigma), matrix(*columns, target).T)
                solution = field.solve(system[:, :-1], system[:, -1:])
                if solution is None:
                    return None
                known |= {q: solution[i, 0] for i, q in enumerate(outputs) if q is not None}
            case SumStep(output, terms, divisor):
                total = np.zeros((1, 1), field.dtype)
                for sign, factors in terms:
                    product = np.full((1, 1), field.number(sign), field.dtype)
                    for q in factors:
                        product = field.mul(product, known[q])
                    total = field.reduce(total + product)
                if divisor is not None:
                    ratio = field.solve(np.full((1, 1), known[divisor], field.dtype), total)
                    if ratio is None:
                        return None
                    total = ratio
                known[output] = total[0, 0]
            case CovarianceStep(output, first, second):
                known[output] = field.matmul(field.matmul(matrix(first), sigma), matrix(second).T)[0, 0]
            case ValueStep(output, value):
                known[output] = np.asarray(field.number(value), field.dtype)
    return {q: known[q] for q in recipe.outputs}


def inputs_of(step: Step) -> set[str]:
    """Quantities that a step needs."""
    match step:
        case LinearStep(rows, columns, target, _):
            return {q for c in (*rows, *columns, target) for _, q in c.minus}
        case SumStep(_, terms, divisor):
            return {q for _, factors in terms for q in factors} | ({divisor} if divisor else set())
        case CovarianceStep(_, left, right):
            return {q for c in (left, right) for _, q in c.minus}
        case ValueStep():
            return set()


def outputs_of(step: Step) -> tuple[str, ...]:
    """Quantities that a step gives."""
    return tuple(q for q in step.outputs if q) if isinstance(step, LinearStep) else (step.output,)


def prune(steps: Sequence[Step], outputs: Sequence[str]) -> tuple[Step, ...]:
    """Only the steps that the outputs need, in their order."""
    needed = set(outputs)
    kept: list[Step] = []
    for step in reversed(steps):
        if needed & set(outputs_of(step)):
            needed |= inputs_of(step)
            kept.append(step)
    return tuple(reversed(kept))


def variables_used(recipe: Recipe) -> tuple[str, ...]:
    """Variables whose covariances the recipe reads."""
    found: dict[str, None] = {}
    for step in recipe.steps:
        combinations: tuple[Combination, ...] = ()
        if isinstance(step, LinearStep):
            combinations = (*step.rows, *step.columns, step.target)
        elif isinstance(step, CovarianceStep):
            combinations = (step.left, step.right)
        for c in combinations:
            found |= dict.fromkeys((c.variable, *(v for v, _ in c.minus)))
    return tuple(found)


def _step_dict(step: Step) -> Mapping[str, object]:
    match step:
        case LinearStep(rows, columns, target, outputs):
            texts = {"rows": [str(r) for r in rows], "columns": [str(c) for c in columns], "target": str(target)}
            return {"kind": "solve", **texts, "outputs": list(outputs)}
        case SumStep(output, terms, divisor):
            return {"kind": "sum", "output": output, "terms": [[s, list(f)] for s, f in terms], "divisor": divisor}
        case CovarianceStep(output, left, right):
            return {"kind": "covariance", "output": output, "left": str(left), "right": str(right)}
        case ValueStep(output, value):
            return {"kind": "value", "output": output, "value": value}
