"""The fixed table of problems: graphs with known weights, what is asked of them, and the folders that tools read."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

import halftrek as ht
from halftrek.graphs import Graph
from halftrek.simulation import random_graph, random_model


def model_of(text: str, weights: dict[str, float]) -> ht.CGLSCM:
    """The model of a graph with these weights of its edges; hidden causes and noises are standard normal."""
    graph = ht.graph(text)
    names, latents = graph.observed, tuple(graph.latents)
    T, C = np.zeros((len(names), len(names))), np.zeros((len(latents), len(names)))
    for edge, weight in weights.items():
        cause, effect = edge.split(" -> ")
        if cause in latents:
            C[latents.index(cause), names.index(effect)] = weight
        else:
            T[names.index(cause), names.index(effect)] = weight
    return ht.CGLSCM.from_parameters(names=names, T=T, C=C, latents=latents, mu=np.full(len(names), 0.5), graph=graph)


@dataclass(frozen=True)
class Question:
    """A graph with the weights of its edges (hidden causes are standard normal) and an effect that is asked for.

    ``identified`` says whether the graph determines the effect. A tool that knows no graphs is told what its user would
    have to know: which variable is the ``instrument``, and which ``controls`` there are.
    """

    name: str
    graph: str
    weights: dict[str, float]
    cause: str
    effect: str
    identified: bool = True
    holes: str = ""  # rows lose this variable, the likelier the larger the outcome is
    instrument: str = ""
    controls: tuple[str, ...] | None = None

    def model(self) -> ht.CGLSCM:
        return model_of(self.graph, self.weights)

    def truth(self) -> float:
        """The total effect in the model that the data come from."""
        return float(self.model().query(f"{self.cause} ~> {self.effect}").value)

    def attainable(self, rows: int) -> float:
        """The standard error that an efficient estimate of the effect has with so many complete rows."""
        model = self.model()
        moments = ht.Moments(names=model.names, n=rows, mean=np.asarray(model.mean), cov=np.asarray(model.cov))
        se = ht.fit(ht.graph(self.graph), moments).effect(self.cause, self.effect).se
        assert isinstance(se, float)
        return se

    def sample(self, rows: int, number: int) -> np.ndarray:
        model = self.model()
        seed = zlib.crc32(f"{self.name} {rows} {number}".encode())
        table = np.array(model.sample(rows, random_state=seed), dtype=float)
        if self.holes:
            y = table[:, model.names.index(self.effect)]
            chance = 1.0 / (1.0 + np.exp(0.5 - 1.5 * (y - y.mean()) / y.std()))
            lost = np.random.default_rng(seed + 1).random(rows) < chance
            table[lost, model.names.index(self.holes)] = np.nan
        return table


_FRONT = "latent U; U -> {x, y}; x -> m -> y"
_FRONT_WEIGHTS = {"x -> m": 0.7, "m -> y": 0.6, "U -> x": 0.8, "U -> y": 0.7}
_BOW = {"x -> y": 0.5, "U -> x": 0.8, "U -> y": 0.8}
QUESTIONS = (
    Question("front-door", _FRONT, _FRONT_WEIGHTS, "x", "y"),
    Question(
        "two mediators",
        "latent U; U -> {x, y}; x -> {m, k}; m -> y; k -> y",
        {**_FRONT_WEIGHTS, "x -> k": 0.5, "k -> y": 0.8},
        "x",
        "y",
    ),
    Question(
        "napkin",
        "latent U; latent V; w -> z -> x -> y; U -> {w, x}; V -> {w, y}",
        {"w -> z": 0.8, "z -> x": 0.7, "x -> y": 0.6, "U -> w": 0.6, "U -> x": 0.6, "V -> w": 0.6, "V -> y": 0.6},
        "x",
        "y",
        instrument="z",
        controls=("w",),
    ),
    Question("instrument", "latent U; z -> x -> y; U -> {x, y}", {"z -> x": 0.8, **_BOW}, "x", "y", instrument="z"),
    Question(
        "conditional instrument",
        "latent U; w -> {z, y}; z -> x -> y; U -> {x, y}",
        {"w -> z": 0.7, "w -> y": 0.6, "z -> x": 0.8, **_BOW},
        "x",
        "y",
        instrument="z",
        controls=("w",),
    ),
    Question("bow", "latent U; x -> y; U -> {x, y}", _BOW, "x", "y", identified=False),
    Question(
        "bow beside a front-door",
        _FRONT + "; latent V; V -> {p, q}; p -> q",
        {**_FRONT_WEIGHTS, "p -> q": 0.5, "V -> p": 0.8, "V -> q": 0.8},
        "x",
        "y",
    ),
    Question(
        "Verma",
        "latent U; a -> b -> c -> d; U -> {b, d}",
        {"a -> b": 0.7, "b -> c": 0.8, "c -> d": 0.6, "U -> b": 0.7, "U -> d": 0.7},
        "b",
        "d",
        instrument="a",
    ),
    Question(
        "M-bias",
        "latent U; latent V; x -> y; U -> {x, z}; V -> {z, y}",
        {"x -> y": 0.5, "U -> x": 0.8, "U -> z": 0.8, "V -> z": 0.8, "V -> y": 0.8},
        "x",
        "y",
        controls=(),
    ),
    Question(
        "latent factor",
        "latent F; F -> {a, b, c, y}; a -> y",
        {"F -> a": 0.8, "F -> b": 0.7, "F -> c": 0.7, "F -> y": 0.6, "a -> y": 0.4},
        "a",
        "y",
    ),
    Question("missing data", _FRONT, _FRONT_WEIGHTS, "x", "y", holes="m"),
)


@dataclass(frozen=True)
class Problem:
    """What a tool finds in its folder: ``graph.json`` and one ``data_<k>.csv`` for each table."""

    graph: Graph
    cause: str = ""
    effect: str = ""
    tables: tuple[np.ndarray, ...] = ()
    moments: ht.Moments | None = None
    hints: dict[str, object] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the folder; a hidden cause of two variables is an arc, as every tool can draw it."""
        names = list(self.graph.observed)
        pairs = [list(kids) for kids in self.graph.latents.values() if len(kids) == 2]
        factors = {u: list(kids) for u, kids in self.graph.latents.items() if len(kids) > 2}
        described = {
            "names": names,
            "directed": [list(e) for e in self.graph.directed],
            "bidirected": [list(e) for e in self.graph.bidirected] + pairs,
            "factors": factors,
            "cause": self.cause,
            "effect": self.effect,
            "paths": directed_paths(self.graph, self.cause, self.effect) if self.cause else [],
            "tables": len(self.tables),
            "rows": self.moments.n if self.moments else len(self.tables[0]) if self.tables else 0,
            "holes": any(np.isnan(t).any() for t in self.tables),
            **self.hints,
        }
        (folder / "graph.json").write_text(json.dumps(described))
        for k, table in enumerate(self.tables):
            save_csv(folder / f"data_{k}.csv", names, table)
        if self.moments is not None:
            save_csv(folder / "cov.csv", names, self.moments.cov)


def save_csv(path: Path, names: list[str], table: np.ndarray) -> None:
    """A comma-separated file with a header; missing values are empty, which every reader understands."""
    import pandas as pd

    pd.DataFrame(table, columns=names).to_csv(path, index=False, float_format="%.12g")


def directed_paths(graph: Graph, cause: str, effect: str) -> list[list[str]]:
    """All directed paths from one variable to another."""
    if cause == effect:
        return [[effect]]
    return [[cause, *rest] for child in sorted(graph.children(cause)) for rest in directed_paths(graph, child, effect)]


def question_problem(question: Question, rows: int, samples: int) -> Problem:
    """Samples of a question's model, as tools read them."""
    tables = tuple(question.sample(rows, k) for k in range(samples))
    hints: dict[str, object] = {"instrument": question.instrument, "controls": question.controls}
    return Problem(ht.graph(question.graph), question.cause, question.effect, tables, hints=hints)


def paper_problem(name: str, rows: int = 10_000) -> Problem:
    """One of the paper's graphs with its model's sample."""
    entry = ht.catalog(name)
    table = np.asarray(entry.model.sample(rows, random_state=0))
    return Problem(entry.graph, tables=(table,), moments=ht.moments(table, entry.graph.observed))


def _sampled(graph: Graph, rows: int, keep: bool) -> Problem:
    table = np.asarray(random_model(graph, random_state=2).sample(rows, random_state=3))
    return Problem(graph, tables=(table,) if keep else (), moments=ht.moments(table, graph.observed))


def random_problem(variables: int, rows: int = 5_000) -> Problem:
    """A random graph without bows, twice as many arrows as variables, one hidden cause for three variables."""
    graph = random_graph(variables, n_edges=2 * variables, n_bidirected=variables // 3, bow_free=True, random_state=1)
    return _sampled(graph, max(rows, 2 * variables), variables <= 300)


def giant_problem(variables: int, rows: int = 5_000) -> Problem:
    """One district of all variables: each shares a hidden cause with the next, arrows jump two and five places."""
    names = [f"v{i:03d}" for i in range(variables)]
    arcs = list(pairwise(names))
    arrows = [(names[i], names[i + k]) for k in (2, 5) for i in range(variables - k)]
    return _sampled(Graph(arrows, arcs, {}, names), max(rows, 20 * variables), variables <= 200)
