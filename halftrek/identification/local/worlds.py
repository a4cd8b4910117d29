"""Counterfactual questions as numbers that have to be known, in any arithmetic.

In linear models ``y_x = y + Σ_i e_i (x_i - X_i)``, with e_i the effect of X_i on y while the other held variables are
held. So the distribution of any counterfactuals given any evidence is made of covariances between such differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from halftrek.errors import QueryError
from halftrek.identification.numbers import duals
from halftrek.queries.kinds.variants import Variant
from halftrek.queries.types import Distribution, Value

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.local.functionals import Valuation
    from halftrek.identification.numbers.fields import Array


def relevant(graph: Graph, potential: Variant) -> Variant:
    """The same variable with only those held that reach it by a path around the others; the rest changes nothing."""
    met: set[str] = set()
    found, stack = {potential.variable}, [potential.variable]
    while stack:
        for p in graph.parents(stack.pop()):
            if p in potential.held:
                met.add(p)
            elif p not in found:
                found.add(p)
                stack.append(p)
    return Variant(potential.variable, {v: x for v, x in potential.held.items() if v in met})


def simplified(graph: Graph, query: Distribution) -> Distribution:
    """The query with irrelevant subscripts dropped; evidence that is then the same stands once."""
    given: dict[Variant, Value] = {}
    for v, x in query.given.items():
        short = relevant(graph, v)
        before = given.setdefault(short, x)
        if before is None:
            given[short] = x
        elif x is not None and x != before:
            raise QueryError(f"in {query} the condition says two things about {short}: {before:g} and {x:g}; keep one")
    return Distribution.across(tuple(relevant(graph, v) for v in query.outcomes), given)


def effects_behind(graph: Graph, query: Distribution) -> list[Distribution]:
    """Interventions whose effects, with the observed distribution, give the answer in a linear model."""
    short = simplified(graph, query)
    together: dict[tuple[str, ...], dict[str, None]] = {}
    for v in (*short.outcomes, *short.given):
        if v.held:
            held = tuple(w for w in graph.topological_order if w in v.held)
            together.setdefault(held, {})[v.variable] = None
    return [Distribution.after(tuple(ys), dict.fromkeys(held)) for held, ys in together.items()]


N = TypeVar("N")  # a number of some arithmetic
Slot = tuple[str] | tuple[str, str | Variant]  # what a coefficient of a mean belongs to


class Ring(Protocol[N]):
    """Arithmetic with the effects and covariances of a model."""

    def number(self, value: float) -> N:
        """A constant."""

    def add(self, a: N, b: N) -> N:
        """Sum."""

    def multiply(self, a: N, b: N) -> N:
        """Product."""

    def inverse(self, matrix: list[list[N]]) -> list[list[N]] | None:
        """Inverse of a square matrix, None if it is singular."""

    def effect(self, cause: str, effect: str, held: Sequence[str]) -> N:
        """Effect of a cause while others are held."""

    def covariance(self, a: Variant, b: Variant) -> N:
        """Covariance of two variables in worlds of their own."""


@dataclass(frozen=True, eq=False)
class Parts(Generic[N]):
    """The numbers that make up an answer, with their names."""

    texts: list[str]
    values: list[N]


def counterfactual_parts(graph: Graph, query: Distribution, ring: Ring[N]) -> Parts[N]:
    """Conditional means and covariances of the outcomes.

    The mean is ``constant + Σ_k coefficient_k E[k]`` with observed means that can be anything, so constant and
    coefficients have to be known one by one; a value that was left out is anything too, and has its own coefficient.
    """
    short = simplified(graph, query)
    outcomes, evidence = short.outcomes, tuple(short.given)
    minus = ring.number(-1.0)
    slopes = _slopes(ring, query, outcomes, evidence)
    parts = Parts[N]([], [])
    for i, y in enumerate(outcomes):
        sums: dict[Slot, N] = {("constant",): ring.number(0.0)}
        _add_mean(ring, sums, y, ring.number(1.0))
        for v, slope in zip(evidence, slopes[i], strict=True):
            _add_mean(ring, sums, v, ring.multiply(minus, slope))
            _add_value(ring, sums, ("seen", v), short.given[v], slope)
        parts.texts.extend(_mean_text(query, i, key) for key in sums)
        parts.values.extend(sums.values())
    for i, y in enumerate(outcomes):
        for j, w in enumerate(outcomes[: i + 1]):
            total = ring.covariance(y, w)
            for v, slope in zip(evidence, slopes[i], strict=True):
                total = ring.add(total, ring.multiply(minus, ring.multiply(slope, ring.covariance(v, w))))
            parts.texts.append(f"covariance of {query.outcomes[j]} and {query.outcomes[i]}{_bar(query)}")
            parts.values.append(total)
    return parts


def _slopes(
    ring: Ring[N], query: Distribution, outcomes: Iterable[Variant], evidence: tuple[Variant, ...]
) -> list[list[N]]:
    if not evidence:
        return [[] for _ in outcomes]
    inverse = ring.inverse([[ring.covariance(a, b) for b in evidence] for a in evidence])
    if inverse is None:
        raise QueryError(
            f"in {query} a part of the condition follows from the rest; leave out what the rest determines"
        )
    found = []
    for y in outcomes:
        row = []
        cross = [ring.covariance(y, v) for v in evidence]
        for column in range(len(evidence)):
            total = ring.number(0.0)
            for c, line in zip(cross, inverse, strict=True):
                total = ring.add(total, ring.multiply(c, line[column]))
            row.append(total)
        found.append(row)
    return found


def _add_mean(ring: Ring[N], sums: dict[Slot, N], v: Variant, weight: N) -> None:
    """Add ``weight * E[v_x]``, where ``E[v_x] = E[v] + Σ_i e_i (x_i - E[X_i])``."""
    _add(ring, sums, ("mean", v.variable), weight)
    for x, value in v.held.items():
        term = ring.multiply(weight, ring.effect(x, v.variable, [w for w in v.held if w != x]))
        _add(ring, sums, ("mean", x), ring.multiply(ring.number(-1.0), term))
        _add_value(ring, sums, ("held", x), value, term)


def _add_value(ring: Ring[N], sums: dict[Slot, N], slot: Slot, value: Value, term: N) -> None:
    if value is None:
        _add(ring, sums, slot, term)
    else:
        _add(ring, sums, ("constant",), ring.multiply(ring.number(value), term))


def _add(ring: Ring[N], sums: dict[Slot, N], key: Slot, term: N) -> None:
    sums[key] = ring.add(sums[key], term) if key in sums else term


def _bar(query: Distribution) -> str:
    return f" given {', '.join(map(str, query.given))}" if query.given else ""


def _mean_text(query: Distribution, outcome: int, key: Slot) -> str:
    what = f"the mean of {query.outcomes[outcome]}{_bar(query)}"
    match key:
        case ("mean", variable):
            return f"the slope of {what} on the mean of {variable}"
        case ("held", variable):
            return f"the slope of {what} on the value at which {variable} is held"
        case ("seen", potential):
            return f"the slope of {what} on the value of {potential}"
    return f"{what}, where all observed means are zero,"


@dataclass(frozen=True, eq=False)
class DualRing:
    """Numbers with their derivatives in the parameters."""

    model: Valuation

    def number(self, value: float) -> Array:
        """A constant."""
        return duals.constant(self.model.field, value, self.model.width)

    def add(self, a: Array, b: Array) -> Array:
        """Sum."""
        return self.model.field.reduce(a + b)

    def multiply(self, a: Array, b: Array) -> Array:
        """Product."""
        return duals.multiply(self.model.field, a, b)

    def inverse(self, matrix: list[list[Array]]) -> list[list[Array]] | None:
        """Inverse of a square matrix, None if it is singular."""
        found = duals.inverse(self.model.field, np.array(matrix))
        return None if found is None else [list(row) for row in found]

    def effect(self, cause: str, effect: str, held: Sequence[str]) -> Array:
        """Effect of a cause while others are held."""
        return self.model.effects_of(cause, held).get(effect, self.model.zero())

    def covariance(self, a: Variant, b: Variant) -> Array:
        """Covariance of two variables in worlds of their own."""
        return self.model.covariance_between(a.variable, a.held, b.variable, b.held)

    def weight(self, cause: str, effect: str) -> Array:
        """Weight of an edge."""
        return dict(self.model.parents[effect])[cause]

    def error_covariance(self, first: str, second: str) -> Array | None:
        """Covariance of two error terms, None if the graph says that it is zero."""
        return self.model.omega.get((first, second), self.model.omega.get((second, first)))
