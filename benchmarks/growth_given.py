"""What the operations of ``benchmarks.growth`` are given at a size: graphs, tables, fits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import halftrek as ht
from benchmarks.problems import giant_problem
from halftrek.bottom.choices import ColumnKind
from halftrek.graphs import Graph
from halftrek.simulation import random_model

Table = dict[str, np.ndarray]
SMALL = "z -> x -> m -> y; w -> y; x <-> y"


def graph_of(size: int, *, children: int = 20) -> Graph:
    """One or two parents among those shortly before, and arcs between any two."""
    rng = np.random.default_rng(size)
    names = [f"v{i}" for i in range(size)]
    arrows = []
    for i in range(1, size):
        first = max(0, i - children)
        count = min(i - first, 1 + int(rng.random() < 0.5))
        arrows += [(names[j], names[i]) for j in first + rng.choice(i - first, size=count, replace=False)]
    arcs = {tuple(sorted(rng.choice(size, 2, replace=False).tolist())) for _ in range(int(0.3 * size))}
    return Graph(arrows, [(names[i], names[j]) for i, j in sorted(arcs)], observed=names)


def table_of(graph: Graph, rows: int = 1000) -> Table:
    """Rows of a random model of the graph."""
    model = random_model(graph, random_state=1)
    rng = np.random.default_rng(2)
    errors = rng.standard_normal((rows, len(model.names))) @ np.linalg.cholesky(model.omega).T
    return dict(zip(model.names, (errors @ model.B).T, strict=True))


def graph_and_table(size: int) -> tuple[Graph, Table]:
    """A graph and 1,000 rows of it."""
    graph = graph_of(size)
    return graph, table_of(graph)


def fitted(size: int) -> ht.Fit:
    """The fit of a graph with so many variables."""
    return ht.fit(*graph_and_table(size))


def far(graph: Graph) -> tuple[str, str]:
    """The first variable and the last one that it causes."""
    below = graph.descendants("v0")
    return "v0", [v for v in graph.topological_order if v in below][-1]


def dense(size: int) -> Graph:
    """Two parents a variable, and as many arcs as variables."""
    rng = np.random.default_rng(size)
    names = [f"v{i}" for i in range(size)]
    arrows = [(names[j], names[i]) for i in range(1, size) for j in rng.choice(i, size=min(i, 2), replace=False)]
    arcs = {tuple(sorted(rng.choice(size, 2, replace=False).tolist())) for _ in range(size)}
    return Graph(arrows, [(names[i], names[j]) for i, j in sorted(arcs)], observed=names)


def one_district(size: int) -> tuple[Graph, ht.Moments]:
    """All variables in one district: arcs between neighbours, arrows over two and five places."""
    found = giant_problem(size)
    assert found.moments is not None
    return found.graph, found.moments


def small_table(rows: int) -> Table:
    """Rows of five variables with a front door."""
    rng = np.random.default_rng(3)
    z, w, u = rng.standard_normal((3, rows))
    x = 0.8 * z + u + rng.standard_normal(rows)
    m = 0.6 * x + rng.standard_normal(rows)
    return {"z": z, "w": w, "x": x, "m": m, "y": 0.5 * m + 0.3 * w + u + rng.standard_normal(rows)}


def by_rows(rows: int) -> ht.Fit:
    """The fit of five variables to so many rows."""
    return ht.fit(SMALL, small_table(rows))


def grouped(count: int) -> Table:
    """Ten rows for each of so many groups."""
    return {**small_table(10 * count), "group": np.repeat(np.arange(count), 10)}


def many_groups(count: int) -> ht.GroupFits:
    """Fits of so many groups of a hundred rows, five variables."""
    table = {**small_table(100 * count), "group": np.repeat(np.arange(count), 100)}
    return ht.fit(SMALL, table, by="group")


def two_groups(size: int) -> ht.GroupFits:
    """Fits of two groups of 500 rows, so many variables."""
    graph, table = graph_and_table(size)
    return ht.fit(graph, {**table, "group": np.repeat(["one", "two"], 500)}, by="group")


def children(size: int) -> tuple[Graph, Table]:
    """One hidden cause of so many variables."""
    rng = np.random.default_rng(size)
    names = [f"x{i}" for i in range(size)]
    rows = rng.standard_normal((1000, 1)) * rng.uniform(0.3, 0.9, size) + rng.standard_normal((1000, size))
    return Graph(latents={"u": names}), dict(zip(names, rows.T, strict=True))


def with_holes(rows: int) -> tuple[Graph, Table]:
    """Twenty variables, of whose values a fifth is missing."""
    graph = graph_of(20)
    rng = np.random.default_rng(4)
    return graph, {v: np.where(rng.random(rows) < 0.2, np.nan, x) for v, x in table_of(graph, rows).items()}


def confounded(size: int) -> Graph:
    """A graph with a confounded effect in front of all else, of which no question has an answer."""
    graph = graph_of(size)
    return graph.with_(directed=[*graph.directed, ("v0", "v1")], bidirected=[*graph.bidirected, ("v0", "v1")])


def confounded_fit(size: int) -> ht.Fit:
    """Its fit."""
    graph = confounded(size)
    return ht.fit(graph, table_of(graph))


def with_instrument(size: int) -> ht.Fit:
    """A graph with an instrument beside it."""
    graph = graph_of(size)
    more = [("z", "x"), ("x", "y"), ("v1", "x"), ("v2", "y")]
    whole = graph.with_(
        directed=[*graph.directed, *more], bidirected=[*graph.bidirected, ("x", "y")],
        observed=[*graph.observed, "z", "x", "y"],
    )  # fmt: skip
    return ht.fit(whole, table_of(whole))


def with_regression(size: int) -> ht.Fit:
    """A graph with an effect that five observed causes confound."""
    graph = graph_of(size)
    more = [(f"v{i}", end) for i in range(5) for end in "xy"]
    whole = graph.with_(directed=[*graph.directed, *more, ("x", "y")], observed=[*graph.observed, "x", "y"])
    return ht.fit(whole, table_of(whole))


def items(size: int) -> tuple[str, Table]:
    """A text of lavaan with a factor for every five items, and 1,000 rows in two groups."""
    rng = np.random.default_rng(size)
    factors = size // 5
    lines = [f"f{k} =~ " + " + ".join(f"v{5 * k + j}" for j in range(5)) for k in range(factors)]
    values = rng.standard_normal((1000, factors)) + rng.standard_normal((1000, 1))
    table = {f"v{i}": 0.7 * values[:, i // 5] + rng.standard_normal(1000) for i in range(5 * factors)}
    return "\n".join(lines), {**table, "group": np.repeat(["one", "two"], 500)}


def factors(size: int) -> ht.Fit:
    """The fit of such a text."""
    text, table = items(size)
    return ht.fit(ht.from_lavaan(text, "cfa"), table)


def ordered(size: int) -> tuple[Graph, Table, dict[str, ColumnKind]]:
    """Columns of four levels, which say what lies behind them; 5,000 rows, since pairs are looked at one by one."""
    graph = graph_of(size)
    table = table_of(graph, 5000)
    cut = {v: np.digitize(x, np.quantile(x, [0.25, 0.5, 0.75])) for v, x in table.items()}
    return graph, cut, {v: "behind" if graph.children(v) else "ordered" for v in graph.observed}


def ordered_rows(rows: int) -> tuple[str, Table, dict[str, ColumnKind]]:
    """An outcome of four levels in so many rows."""
    table = small_table(rows)
    return SMALL, {**table, "y": np.digitize(table["y"], [-1.0, 0.0, 1.0])}, {"y": "ordered"}


def acting_rows(rows: int) -> tuple[str, Table, dict[str, ColumnKind]]:
    """A cause of three levels that acts, in so many rows."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 3, rows)
    m = 0.5 * x + rng.standard_normal(rows)
    return "x -> m -> y", {"x": x, "m": m, "y": 0.5 * m + rng.standard_normal(rows)}, {"x": "acts"}


def not_normal(size: int) -> ht.Fit:
    """The confounded graph, with errors that are not normal."""
    graph = confounded(size)
    model = random_model(graph, random_state=1)
    errors = np.random.default_rng(6).exponential(size=(1000, len(model.names))) - 1.0
    rows = errors @ np.linalg.cholesky(model.omega).T @ model.B
    return ht.fit(graph, dict(zip(model.names, rows.T, strict=True)))


def text_of(syntax: str) -> Callable[[int], str]:
    """The text of a graph in some notation."""
    return lambda size: ht.format_graph(graph_of(size), syntax)  # type: ignore[arg-type]
