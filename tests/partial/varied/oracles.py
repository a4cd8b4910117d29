"""The slow, obvious way: a fit with the edge held, for each value."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import halftrek as ht
from halftrek.graphs import Edge, Graph
from halftrek.simulation import random_model

REFERENCE = Path(__file__).parents[2] / "reference"
FRONT_DOOR = "x -> m -> y; x <-> y"


def with_held(graph: Graph, edge: Edge, value: float) -> Graph:
    """The graph with the edge in it, at a value."""
    if edge.kind == "->":
        arrows = dict.fromkeys((*graph.directed, (edge.first, edge.second)))
        return graph.with_(directed=list(arrows), coefficients={str(edge): value})
    arcs = [arc for arc in graph.bidirected if set(arc) != {edge.first, edge.second}]
    return graph.with_(bidirected=[*arcs, (edge.first, edge.second)], coefficients={str(edge): value})


def refitted(fit: ht.Fit, edge: str, value: float) -> ht.Fit:
    """The same moments, with the edge held."""
    graph = with_held(fit.graph, Edge.read(edge), value)
    return ht.fit(graph, cov=fit.moments.cov, mean=fit.moments.mean, names=fit.moments.names, n=fit.n)


def exact(text: str, seed: int, n: float = 400.0) -> ht.Fit:
    """A fit to the very covariance of a random model, so that nothing is left to chance."""
    graph = ht.graph(text)
    model = random_model(graph, random_state=seed)
    return ht.fit(graph, cov=model.cov, names=list(model.names), n=n)


@cache
def darfur() -> dict[str, Any]:
    """What sensemakr says of its data."""
    return json.loads((REFERENCE / "sensemakr" / "darfur.json").read_text())


def regression(case: str) -> ht.Fit:
    """The regression that sensemakr was asked about, as a graph; rows such that degrees of freedom are its own."""
    stored = darfur()[case]
    cause, *others, effect = stored["names"]
    lines = [f"{cause} -> {effect}", *(f"{v} -> {{{cause}, {effect}}}" for v in others)]
    lines += [f"{u} <-> {v}" for k, u in enumerate(others) for v in others[:k]]
    n = stored["statistics"]["dof"] + len(others) + 2
    return ht.fit("; ".join(lines), cov=np.array(stored["cov"]), names=stored["names"], n=n)
