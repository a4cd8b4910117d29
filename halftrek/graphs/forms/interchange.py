"""Graphs to and from networkx."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import starmap
from typing import TYPE_CHECKING

from halftrek.errors import GraphError
from halftrek.graphs.edges import Edge, written

if TYPE_CHECKING:
    import networkx

    from halftrek.graphs.checks import Coefficient
    from halftrek.graphs.graph import Graph

_NO = ("no", "false", "0")
_YES = ("yes", "true", "1")


def to_networkx(graph: Graph) -> networkx.MultiDiGraph:
    """Nodes carry ``hidden`` and, where known, ``variance`` and ``intercept``.

    Edges carry ``kind`` (also their key) and, where known, ``coefficient``.

    A bidirected edge is one edge of ``kind="bidirected"``, its direction has no meaning.
    """
    import networkx

    drawn = networkx.MultiDiGraph()
    drawn.add_nodes_from(graph.observed, hidden=False)
    drawn.add_nodes_from((*graph.latents, *graph.hidden), hidden=True)
    for word, part in (("variance", graph.variances), ("intercept", graph.intercepts)):
        for v, value in part.items():
            drawn.nodes[v][word] = value
    for edge in starmap(Edge, graph.edges()):
        kind = "directed" if edge.kind == "->" else "bidirected"
        known = {"coefficient": graph.known[edge]} if edge in graph.known else {}
        drawn.add_edge(edge.first, edge.second, key=kind, kind=kind, **known)
    return drawn


def from_networkx(source: object) -> Graph:
    """From a ``DiGraph`` or ``MultiDiGraph``; an edge without ``kind`` is directed.

    A node is hidden if it has ``hidden=True``, ``latent=True`` or ``observed="no"`` (or False). Names that are not text
    become text.
    """
    import networkx

    from halftrek.graphs.graph import Graph

    if not isinstance(source, networkx.Graph):
        raise GraphError(f"a networkx DiGraph or MultiDiGraph is needed, not {type(source).__name__}")
    if not source.is_directed():
        raise GraphError(
            "an undirected networkx graph does not say what causes what; give a DiGraph, with kind='bidirected' on "
            "the edges between correlated errors"
        )
    names = _text_names(source)
    hidden: dict[str, list[str]] = {names[v]: [] for v, marks in source.nodes(data=True) if _is_hidden(v, marks)}
    directed: list[tuple[str, str]] = []
    bidirected: list[tuple[str, str]] = []
    known: dict[Edge, Coefficient] = {}
    for a, b, marks in source.edges(data=True):
        u, v = names[a], names[b]
        kind = marks.get("kind", "directed")
        if kind not in ("directed", "bidirected"):
            raise GraphError(f"the edge from {u!r} to {v!r} has kind={kind!r}; it must be 'directed' or 'bidirected'")
        (directed if kind == "directed" else bidirected).append((u, v))
        value = marks.get("coefficient")
        if value is not None:
            _remember(known, Edge(u, "->" if kind == "directed" else "<->", v), value)
    variances, intercepts = (
        {names[v]: marks[word] for v, marks in source.nodes(data=True) if word in marks}
        for word in ("variance", "intercept")
    )
    return Graph(
        directed, bidirected, hidden, [n for n in names.values() if n not in hidden], written(known),
        variances=variances, intercepts=intercepts,
    )  # fmt: skip


def _text_names(source: networkx.Graph) -> dict[Hashable, str]:
    names: dict[Hashable, str] = {}
    owners: dict[str, Hashable] = {}
    for v in source.nodes:
        text = str(v)
        if text in owners:
            raise GraphError(f"the nodes {owners[text]!r} and {v!r} would both be called {text!r}; rename one")
        owners[text] = v
        names[v] = text
    return names


def _remember(known: dict[Edge, Coefficient], edge: Edge, value: Coefficient) -> None:
    key = edge.turned if edge.kind == "<->" and edge.turned in known else edge
    if known.setdefault(key, value) != value:
        raise GraphError(f"'{edge}' has two coefficients, {known[key]!r} and {value!r}; keep one")


def _is_hidden(node: Hashable, marks: Mapping[str, object]) -> bool:
    says = [_truth(node, word, marks[word]) for word in ("hidden", "latent") if word in marks]
    says += [not _truth(node, "observed", marks["observed"])] if "observed" in marks else []
    if True in says and False in says:
        raise GraphError(f"the node {node!r} is marked both hidden and observed; keep one of the two")
    return True in says


def _truth(node: Hashable, word: str, value: object) -> bool:
    text = str(value).strip().lower()
    if text not in _YES + _NO:
        raise GraphError(f"the node {node!r} has {word}={value!r}; it must be True or False")
    return text in _YES
