"""Small discrete models with errors of their own, in which every counterfactual can be counted out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from halftrek.graphs import Graph
from halftrek.identification.arrows.estimand import Formula, Probability, Product, Ratio, Sum
from halftrek.queries import Distribution
from tests.narrow import there


class DiscreteWorlds:
    """Binary variables with random response functions; given hidden causes, each function has its own chance.

    A unit is a value of every hidden cause and a response function for every variable.
    """

    def __init__(self, graph: Graph, seed: int, levels: int = 2) -> None:
        rng = np.random.default_rng(seed)
        self.graph, self.names = graph, graph.observed
        self.hidden = {**{f"arc{i}": pair for i, pair in enumerate(graph.bidirected)}, **graph.latents}
        self.above = {v: [i for i, kids in enumerate(self.hidden.values()) if v in kids] for v in self.names}
        self.types = {v: list(product((0, 1), repeat=2 ** len(graph.parents(v)))) for v in self.names}
        shapes: list[tuple[int, ...]] = [(levels,) for _ in self.hidden]
        shapes += [(*(levels for _ in self.above[v]), len(self.types[v])) for v in self.names]
        self.weights = [rng.uniform(0.2, 1.0, shape) for shape in shapes]
        self.units = np.array(
            list(product(*(range(levels) for _ in self.hidden), *(range(len(self.types[v])) for v in self.names)))
        )

    def chances(self, weights: list[np.ndarray] | None = None) -> np.ndarray:
        """Probability of every unit; the weights need not add up to one."""
        tables = [w / w.sum(axis=-1, keepdims=True) for w in (self.weights if weights is None else weights)]
        total = np.ones(len(self.units), dtype=np.result_type(*tables))
        h = len(self.hidden)
        for i in range(h):
            total *= tables[i][self.units[:, i]]
        for j, v in enumerate(self.names):
            total *= tables[h + j][(*(self.units[:, i] for i in self.above[v]), self.units[:, h + j])]
        return total

    def values(self, held: Mapping[str, float | None]) -> dict[str, np.ndarray]:
        """Every variable of every unit in the world where some are held."""
        found: dict[str, np.ndarray] = {}
        for v in self.graph.topological_order:
            if v in held:
                found[v] = np.full(len(self.units), int(there(held[v])))
                continue
            row = np.zeros(len(self.units), dtype=int)
            for p in self.graph.parents(v):
                row = 2 * row + found[p]
            responses = np.array(self.types[v])
            found[v] = responses[self.units[:, len(self.hidden) + self.names.index(v)], row]
        return found

    def observed(self, chances: np.ndarray) -> np.ndarray:
        """The observed distribution as a table."""
        seen = self.values({})
        table = np.zeros((2,) * len(self.names), dtype=chances.dtype)
        np.add.at(table, tuple(seen[v] for v in self.names), chances)
        return table

    def answer(self, query: Distribution, outcomes: tuple[int, ...], chances: np.ndarray) -> complex:
        """``P(outcomes = values | evidence)``, counted over units; nan where the evidence is impossible."""
        agree = np.ones(len(self.units), dtype=bool)
        for v, x in query.given.items():
            agree &= self.values(v.held)[v.variable] == x
        both = agree.copy()
        for v, y in zip(query.outcomes, outcomes, strict=True):
            both &= self.values(v.held)[v.variable] == y
        bottom = chances[agree].sum()
        return chances[both].sum() / bottom if bottom != 0 else complex("nan")


def value_of(
    formula: Formula, table: np.ndarray, names: tuple[str, ...], letters: dict[str, str], at: dict[str, int]
) -> Any:
    """A formula from the observed table, literally; ``letters`` says which variable a letter is a value of."""
    match formula:
        case Probability(variables, given):
            top = {letters.get(v, v): at[v] for v in (*variables, *given)}
            bottom = {letters.get(v, v): at[v] for v in given}
            return _marginal(table, names, top) / _marginal(table, names, bottom)
        case Sum(over, body):
            worlds = (dict(zip(over, w, strict=True)) for w in product((0, 1), repeat=len(over)))
            return sum(value_of(body, table, names, letters, at | w) for w in worlds)
        case Product(factors):
            return np.prod([value_of(f, table, names, letters, at) for f in factors])
        case Ratio(top, bottom):
            return value_of(top, table, names, letters, at) / value_of(bottom, table, names, letters, at)


def _marginal(table: np.ndarray, names: tuple[str, ...], values: dict[str, int]) -> Any:
    return table[tuple(values.get(v, slice(None)) for v in names)].sum()
