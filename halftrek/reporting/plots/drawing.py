"""What a picture of a graph shows, before it is drawn: nodes, lines and labels with their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Literal

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.errors import GraphError
from halftrek.graphs import Edge, Graph, did_you_mean
from halftrek.reporting.plots.curves import HEIGHT, curve, node_width, visible
from halftrek.reporting.plots.layout import Point, lay_out
from halftrek.reporting.plots.places import lay_out_as_drawn

if TYPE_CHECKING:
    from halftrek.models import CGLSCM
    from halftrek.results.fit import Fit

Identified = Mapping[str, bool] | Literal["auto"] | None
_CROWD = 5  # roots that all covary with each other from which on they are drawn as a star
_DOT = 0.16  # width of the middle of a star
_LETTER = 0.08  # half the width of a letter of a weight
_HALF = 0.18  # half the height of a weight
_NEAR = 0.3  # how far from other lines a weight stands free
_SEEN = 0.75  # of an edge that is left to be seen beside its weight: a head and some line on either side
_BUDGET = 0.5  # seconds for the verdict on one edge


@dataclass(frozen=True)
class Node:
    """A variable: its centre and width; ``hidden`` for a hidden cause, ``hub`` for the middle of a star, a dot.

    ``boxed``: an observed variable beside hidden ones with causes, drawn as usual for these: in a box.
    """

    name: str
    x: float
    y: float
    width: float
    hidden: bool
    hub: bool = False
    boxed: bool = False


@dataclass(frozen=True, eq=False)
class Stroke:
    """An edge between the borders of its nodes; ``dashed`` from something hidden, ``known`` unless not identified."""

    edge: Edge
    line: Floats
    straight: bool
    dashed: bool
    known: bool


@dataclass(frozen=True)
class Label:
    """The weight of an edge."""

    text: str
    x: float
    y: float
    dashed: bool
    known: bool


@dataclass(frozen=True, eq=False)
class Drawing:
    """All that is to be drawn, inside ``box`` (left, right, bottom, top)."""

    nodes: tuple[Node, ...]
    strokes: tuple[Stroke, ...]
    labels: tuple[Label, ...]
    box: tuple[float, float, float, float]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return self.box[1] - self.box[0], self.box[3] - self.box[2]

    @property
    def corners(self) -> Floats:
        """Two opposite corners of what nodes and lines take up."""
        reach = [np.array([(n.x + s * n.width / 2, n.y + s * HEIGHT / 2) for s in (-1, 1)]) for n in self.nodes]
        points = np.concatenate([*reach, *(stroke.line for stroke in self.strokes), np.zeros((int(not reach), 2))])
        return np.stack([points.min(axis=0), points.max(axis=0)])


def make_drawing(
    source: Graph | Fit,
    model: CGLSCM | None = None,
    *,
    identified: Identified = None,
    digits: int = 2,
    loadings: bool = True,
) -> Drawing:
    """A graph, or a fit: then with its weights, and what data do not determine has a question mark for a number."""
    full, model, known = _parts(source, model, identified)
    graph, hubs = _with_stars(full.opened, known)
    widths = {v: _DOT if v in hubs else node_width(v) for v in (*graph.observed, *graph.latents)}
    layout = lay_out_as_drawn(graph, widths) or lay_out(graph, {v: max(1.0, w) for v, w in widths.items()})
    whole = {edge: curve(route) for edge, route in layout.routes.items()}
    lines = {
        (u, kind, v): visible(line, layout.nodes[u], widths[u], layout.nodes[v], widths[v])
        for (u, kind, v), line in whole.items()
    }
    hidden = {*graph.latents, *full.hidden}
    strokes = tuple(
        Stroke(e, lines[e], len(layout.routes[e]) == 2, e[0] in graph.latents or e[1] == "<->", known.get(e, True))
        for e in layout.routes
    )
    boxed = set(full.observed) if full.hidden else set()
    nodes = tuple(Node(v, x, y, widths[v], v in hidden, v in hubs, v in boxed) for v, (x, y) in layout.nodes.items())
    labels: tuple[Label, ...] = ()
    if model is not None:
        weights = edge_weights(full, model)
        texts = {e: weight_text(w, digits) if known.get(e, True) else "?" for e, w in weights.items()}
        shown = {e: text for e, text in texts.items() if loadings or e[0] not in full.latents}
        labels = _labels(strokes, shown, nodes)
    return Drawing(nodes, strokes, labels, _extent(nodes, list(whole.values()), labels))


def edge_weights(graph: Graph, model: CGLSCM) -> dict[Edge, float]:
    """The model's weight of every edge: coefficients, loadings of hidden causes, error covariances."""
    at = {v: i for i, v in enumerate(model.names)}
    hidden = {u: k for k, u in enumerate(model.latents)}
    weights: dict[Edge, float] = {}
    for edge in starmap(Edge, graph.edges()):
        u, kind, v = edge
        if kind == "<->":
            weights[edge] = float(model.W[at[u], at[v]])
        else:
            weights[edge] = float(model.C[hidden[u], at[v]] if u in hidden else model.T[at[u], at[v]])
    return weights


def weight_text(weight: float, digits: int) -> str:
    """A few decimals; more where they would all be zero, none where they would say nothing."""
    size = abs(weight)
    decimals = digits if size >= 10.0**-digits * 5 or size == 0.0 else digits + 2
    if size >= 100.0:
        decimals = 0
    text = f"{weight:.{decimals}f}" if size >= 5e-5 or size == 0.0 else f"{weight:.0e}"
    return text.replace("-", "−")


# -- what is known of each edge ------------------------------------------------------------------


def _parts(
    source: Graph | Fit, model: CGLSCM | None, identified: Identified
) -> tuple[Graph, CGLSCM | None, dict[Edge, bool]]:
    if isinstance(source, Graph):
        known = _decided(source) if identified == "auto" else _given(source, identified or {})
        return source, model, known
    chosen = source.model if model is None else model
    if identified is None or identified == "auto":
        return source.graph, chosen, determined(source)
    return source.graph, chosen, _given(source.graph, identified)


def determined(fit: Fit) -> dict[Edge, bool]:
    """Which edges' weights the data of a fit determine."""
    from halftrek.inference import parameter_rows
    from halftrek.trust import judged_parameters

    found = {edge for edge, value in fit.graph.known.items() if not isinstance(value, str)}
    for row in parameter_rows(fit) if fit.acting is None else judged_parameters(fit):
        if row.op in ("~", "=~", "~~") and not np.isnan(row.est):
            found |= {row.edge, row.edge.turned} if row.op == "~~" else {row.edge}
    return {e: e in found for e in starmap(Edge, fit.graph.edges())}


def _decided(graph: Graph) -> dict[Edge, bool]:
    """Which edges' weights the graph alone identifies; of hidden causes nothing is asked."""
    from halftrek.identification import identify
    from halftrek.queries import DirectEffect, ErrorCovariance

    known: dict[Edge, bool] = {}
    for edge in starmap(Edge, graph.edges()):
        u, kind, v = edge
        if u not in graph.latents:
            query = ErrorCovariance(u, v) if kind == "<->" else DirectEffect(u, v)
            known[edge] = identify(graph, query, budget=_BUDGET, witness=False).identified
    return known


def _given(graph: Graph, identified: Mapping[str, bool]) -> dict[Edge, bool]:
    edges = dict.fromkeys(starmap(Edge, graph.edges()))
    known: dict[Edge, bool] = {}
    for text, value in identified.items():
        edge = Edge.read(text)
        drawn = edge.turned if edge.kind == "<->" and edge not in edges else edge
        if drawn not in edges:
            hint = did_you_mean(str(edge), map(str, edges))
            raise GraphError(f"identified names the edge {text!r}, which the graph does not have.{hint}")
        known[drawn] = bool(value)
    return known


# -- stars ---------------------------------------------------------------------------------------


def _with_stars(graph: Graph, known: dict[Edge, bool]) -> tuple[Graph, set[str]]:
    """The graph with each crowd of roots that all covary joined to one dot: ten arcs or a hundred say no more."""
    roots = [v for v in graph.observed if not graph.parents(v) and not graph.latent_parents(v)]
    arcs, hubs = list(graph.bidirected), dict[str, tuple[str, ...]]()
    rest = set(roots)
    for v in roots:
        crowd = [v] if v in rest else []
        for w in roots:
            if w in rest and w not in crowd and all(w in graph.siblings(u) for u in crowd):
                crowd.append(w)
        free = all(known.get(e, True) for e in _arcs_within(graph, crowd))
        if len(crowd) >= _CROWD and free:
            rest -= set(crowd)
            within = set(_arcs_within(graph, crowd))
            arcs = [(a, b) for a, b in arcs if Edge(a, "<->", b) not in within]
            hubs[f"{' '.join(crowd)} together"] = tuple(crowd)
    return graph.with_(bidirected=arcs, latents={**graph.latents, **hubs}) if hubs else graph, set(hubs)


def _arcs_within(graph: Graph, crowd: Sequence[str]) -> list[Edge]:
    inside = set(crowd)
    return [Edge(a, "<->", b) for a, b in graph.bidirected if a in inside and b in inside]


# -- places --------------------------------------------------------------------------------------


def _labels(strokes: Sequence[Stroke], texts: Mapping[Edge, str], nodes: Sequence[Node]) -> tuple[Label, ...]:
    taken = np.zeros((len(nodes) + len(strokes), 3))
    taken[: len(nodes)] = np.reshape([(node.x, node.y, node.width / 2 + 0.2) for node in nodes], (len(nodes), 3))
    points = _Points.of([stroke.line for stroke in strokes])
    labels: list[Label] = []
    for k, stroke in enumerate(strokes):
        if stroke.edge in texts:
            so_far = taken[: len(nodes) + len(labels)]
            x, y = _free_place(stroke.line, so_far, k, points)
            if uncovered(stroke.line, (x, y), texts[stroke.edge]) < _SEEN:
                x, y = _beside(stroke.line, texts[stroke.edge], so_far, points.at[points.owner != k])
            taken[len(nodes) + len(labels)] = (x, y, 0.5)
            labels.append(Label(texts[stroke.edge], x, y, stroke.dashed, stroke.known))
    return tuple(labels)


@dataclass(frozen=True, eq=False)
class _Points:
    """All points of all lines from left to right, and whose they are: few of them are near a place."""

    at: Floats
    owner: Ints

    @staticmethod
    def of(lines: Sequence[Floats]) -> _Points:
        at = np.vstack([np.empty((0, 2)), *lines])
        order = np.argsort(at[:, 0], kind="stable")
        return _Points(at[order], np.repeat(np.arange(len(lines)), [len(line) for line in lines])[order])

    def room(self, x: float, y: float, own: int) -> float:
        """How far the nearest point of another line is, at most ``_NEAR``."""
        first, last = np.searchsorted(self.at[:, 0], (x - _NEAR, x + _NEAR))
        near = self.at[first:last][self.owner[first:last] != own]
        return min(_NEAR, float(np.min(np.hypot(near[:, 0] - x, near[:, 1] - y), initial=_NEAR)))


def _free_place(line: Floats, taken: Floats, own: int, points: _Points) -> Point:
    """The place on the line with the most room around it; the middle if all are equal."""

    def room(share: float) -> float:
        x, y = line[round(share * (len(line) - 1))]
        nodes = float(np.min(np.hypot((x - taken[:, 0]) / (0.5 + taken[:, 2]), (y - taken[:, 1]) / 0.55), initial=9.0))
        return min(nodes, 1.2) + points.room(x, y, own) - 0.2 * abs(share - 0.5)

    best = max((0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73), key=room)
    x, y = line[round(best * (len(line) - 1))]
    return float(x), float(y)


def label_reach(text: str) -> Point:
    """Half the width and height of the white box behind a weight."""
    return _LETTER * len(text) + 0.03, _HALF


def uncovered(line: Floats, place: Point, text: str) -> float:
    """The length of a line that a weight at some place leaves to be seen."""
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    middles = (line[1:] + line[:-1]) / 2
    width, height = label_reach(text)
    hidden = (np.abs(middles[:, 0] - place[0]) < width) & (np.abs(middles[:, 1] - place[1]) < height)
    return float(steps[~hidden].sum())


def _beside(line: Floats, text: str, taken: Floats, others: Floats) -> Point:
    """Next to the middle of a line that is too short for a weight on it, on the side with more room."""
    centre = line[len(line) // 2]
    along = (line[-1] - line[0]) / (np.linalg.norm(line[-1] - line[0]) or 1.0)
    normal = np.array([-along[1], along[0]]) * (1.0 if along[0] >= 0.0 else -1.0)  # up first
    width, height = label_reach(text)
    off = width * abs(normal[0]) + height * abs(normal[1]) + 0.04
    places = [centre + side * off * normal for side in (1.0, -1.0)]

    def room(place: Floats) -> float:
        x, y = place
        beyond = np.maximum(np.abs(x - taken[:, 0]) - taken[:, 2] - width, np.abs(y - taken[:, 1]) - height)
        nodes = float(np.min(beyond, initial=9.0))
        lines = np.maximum(np.abs(others[:, 0] - x) - width, np.abs(others[:, 1] - y) - height)
        return min(nodes, 0.3) + min(float(lines.min()) if len(lines) else 9.0, 0.3)

    x, y = max(places, key=room)
    return float(x), float(y)


def _extent(
    nodes: Sequence[Node], lines: Sequence[Floats], labels: Sequence[Label]
) -> tuple[float, float, float, float]:
    xs = [node.x + side * node.width / 2 for node in nodes for side in (-1, 1)]
    ys = [node.y + side * HEIGHT / 2 for node in nodes for side in (-1, 1)]
    xs += [label.x + side * _LETTER * len(label.text) for label in labels for side in (-1, 1)]
    ys += [label.y + side * HEIGHT / 3 for label in labels for side in (-1, 1)]
    for line in lines:
        (left, bottom), (right, top) = line.min(axis=0), line.max(axis=0)
        xs += [float(left), float(right)]
        ys += [float(bottom), float(top)]
    return min(xs) - 0.2, max(xs) + 0.2, min(ys) - 0.2, max(ys) + 0.2
