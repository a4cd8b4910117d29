"""Random composite questions, and an oracle that solves every world's equations one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from halftrek.queries import (
    Arithmetic,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    Probability,
    Quantile,
    Standardized,
    Statistic,
    TotalEffect,
)
from halftrek.queries.kinds.terms import Expression, Leaf, Operation
from halftrek.queries.kinds.variants import Case, Draw, Event, Scale, Shift, Sum, Variant

Number = Arithmetic | Leaf  # a question whose answer is one number


@dataclass
class Maker:
    """Random questions about some variables; ``edges`` may be changed."""

    names: Sequence[str]
    edges: Sequence[tuple[str, str]]
    rng: np.random.Generator
    left_out: bool = False

    def number(self) -> float:
        return float(np.round(self.rng.normal(), int(self.rng.integers(0, 4)))) + 0.0

    def value(self) -> float | None:
        return None if self.left_out and self.rng.random() < 0.2 else self.number()

    def changes(self, variable: str, *, drawn: bool, depth: int = 0) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for _ in range(int(self.rng.integers(1, 3))):
            kind = self.rng.integers(0, 6 if depth == 0 else 4)
            target = str(self.rng.choice(self.names))
            if kind == 4 and self.edges:
                u, v = self.edges[int(self.rng.integers(len(self.edges)))]
                if not isinstance(found.get(v), float | Draw | Variant | type(None)) or v not in found:
                    found[u, v] = self.value()
            elif kind == 1:
                found[target] = Shift(self.number())
            elif kind == 2:
                found[target] = Scale(self.number() + 0.5)
            elif kind == 3 and drawn:
                found[target] = Draw(self.number(), abs(self.number()))
            elif target == variable:
                continue
            elif kind == 5:
                inner = self.changes(target, drawn=False, depth=1)
                if inner:
                    found[target] = Variant(target, inner)
            else:
                found[target] = self.value()
        held = {t for t, c in found.items() if isinstance(t, str) and not isinstance(c, Shift | Scale)}
        return {t: c for t, c in found.items() if isinstance(t, str) or t[1] not in held}

    def sum(self, worlds: bool, without: Sequence[str] = ()) -> Sum:
        weights = {}
        for _ in range(int(self.rng.choice([1, 1, 1, 2]))):
            free = [v for v in self.names if v not in without]
            variable = str(self.rng.choice(free))
            v = Variant(variable, self.changes(variable, drawn=False) if worlds and self.rng.random() < 0.8 else {})
            weights[v] = float(self.rng.choice([1.0, 1.0, -1.0, 2.0, 0.25]))
        return Sum(tuple((w, v) for v, w in weights.items()))

    def event(self, worlds: bool, without: Sequence[str] = ()) -> Event:
        of = self.sum(worlds, without)
        low = self.number()
        ends = [(low, np.inf), (-np.inf, low), (low, low + 1.5)][self.rng.integers(0, 3)]
        return Event(of, *ends)

    def case(self, *, events: bool) -> tuple[Case, bool, list[str]]:
        worlds = self.rng.random() < 0.6
        do = {} if worlds or self.rng.random() < 0.3 else self.changes("", drawn=True)
        held = [t for t, c in do.items() if isinstance(t, str) and not isinstance(c, Shift | Scale | Draw)]
        free = [v for v in self.names if v not in held]
        given = {}
        for v in self.rng.permutation(free)[: int(self.rng.integers(0, max(1, min(3, len(free) - 1))))]:
            given[Variant(str(v))] = self.value()
        happened = bool(free) and events and self.rng.random() < 0.3
        behind = (self.event(worlds, held),) if happened else ()
        return Case(do, given, behind), worlds, held

    def term(self) -> Number:
        kind = self.rng.choice(["E", "Var", "SD", "Cov", "Corr", "P", "P", "Q", "effect", "std"])
        if kind == "effect":
            u, v = self.rng.choice(self.names, 2, replace=False)
            return ErrorCovariance(str(u), str(v)) if self.rng.integers(0, 2) else TotalEffect(str(u), str(v))
        if kind == "std":
            u, v = self.rng.choice(self.names, 2, replace=False)
            return Standardized(DirectEffect(*self.edges[0]) if self.edges else TotalEffect(str(u), str(v)))
        case, worlds, held = self.case(events=kind != "Q")
        free = [v for v in self.names if v not in held]
        if not free:
            return self.term()
        if kind == "P":
            events = tuple(self.event(worlds, held) for _ in range(int(self.rng.integers(1, 3))))
            events = tuple(e for e in events if e.of.alone not in case.given)
            return Probability(events, case) if events else self.term()
        sums = [self.sum(worlds, held) for _ in range(2)]
        if any(of.alone in case.given for of in sums) or sums[0] == sums[1]:
            return self.term()
        if kind == "Q":
            return Quantile(float(self.rng.choice([0.1, 0.5, 0.95])), sums[0], case)
        return Statistic(kind, tuple(sums[: 2 if kind in ("Cov", "Corr") else 1]), case)

    def expression(self, depth: int = 2) -> Number:
        if depth == 0 or self.rng.random() < 0.4:
            return self.term()
        left: Expression = self.expression(depth - 1)
        right: Expression = self.expression(depth - 1)
        if self.rng.random() < 0.3:
            left = self.number()
        elif self.rng.random() < 0.2:
            right = self.number() + 0.5 or 1.0
        operations: tuple[Operation, ...] = ("+", "-", "*", "/")
        return Arithmetic(operations[self.rng.integers(0, 4)], left, right)

    def distribution(self) -> Distribution:
        case, worlds, held = self.case(events=False)
        if len(held) == len(self.names):
            return self.distribution()
        of = self.sum(worlds, held)
        return Distribution((of,), case) if of.alone not in case.given else self.distribution()


# -- the oracle ----------------------------------------------------------------------------------


def solve_world(model: CGLSCM, changes: Mapping, errors: np.ndarray, fresh: dict) -> dict[str, np.ndarray]:
    """Each variable by its own equation, causes first; ``errors`` has a row for each draw."""
    found: dict[str, np.ndarray] = {}
    place = {v: i for i, v in enumerate(model.names)}
    for v in model.graph.topological_order:
        change = changes[v] if v in changes else Shift(0.0)
        if isinstance(change, float):
            found[v] = np.full(len(errors), change)
        elif isinstance(change, Draw):
            found[v] = change.mean + np.sqrt(change.variance) * fresh[v]
        elif isinstance(change, Variant):
            found[v] = solve_world(model, change.changes, errors, fresh)[v]
        else:
            total = errors[:, place[v]].copy()
            for u in model.graph.parents(v):
                source = np.full(len(errors), changes[u, v]) if (u, v) in changes else found[u]
                total += model.T[place[u], place[v]] * source
            found[v] = total + change.amount if isinstance(change, Shift) else change.factor * total
    return found


def sum_in_worlds(model: CGLSCM, of: Sum, do: Mapping, errors: np.ndarray, fresh: dict) -> np.ndarray:
    parts = [w * solve_world(model, do or v.changes, errors, fresh)[v.variable] for w, v in of.parts]
    return np.sum(parts, axis=0)


def dense_joint(model: CGLSCM, sums: Sequence[Sum], do: Mapping) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of sums, read off from unit errors."""
    p = len(model.names)
    columns = []
    for of in sums:

        def at(errors: np.ndarray, fresh: dict[str, float], of: Sum = of) -> float:
            return float(
                sum_in_worlds(model, of, do, errors[None], {v: np.array([fresh.get(v, 0.0)]) for v in model.names})[0]
            )

        base = at(np.zeros(p), {})
        slopes = [at(row, {}) - base for row in np.eye(p)]
        drawn = [at(np.zeros(p), {v: 1.0}) - base for v in model.names]
        columns.append((base, np.array(slopes + drawn)))
    A = np.stack([c for _, c in columns], axis=1)
    omega = np.zeros((2 * p, 2 * p))
    omega[:p, :p], omega[p:, p:] = model.omega, np.eye(p)
    return np.array([b for b, _ in columns]) + model.mu @ A[:p], A.T @ omega @ A


def dense_given(mean: np.ndarray, cov: np.ndarray, count: int, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inverse = np.linalg.pinv(cov[count:, count:], rcond=1e-10, hermitian=True)
    slope = cov[:count, count:] @ inverse
    return mean[:count] + slope @ (seen - mean[count:]), cov[:count, :count] - slope @ cov[count:, :count]


def small_graph() -> Graph:
    return Graph([("a", "b"), ("b", "c"), ("a", "c")], [("b", "c")])
