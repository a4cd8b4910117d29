"""The graph as a picture: observed variables solid, hidden causes dashed, correlated errors as dashed arcs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halftrek.reporting.layout import Edge, Layout, Point, lay_out
from halftrek.reporting.plots import BLUE, GREEN, INK, VERMILION, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from halftrek.graph import Graph
    from halftrek.model import CGLSCM

_HEIGHT = 0.62  # of a node, in units of the layout
_LETTER = 0.185  # width of a letter, likewise
_INCH = 0.62  # inches for one unit where the size is ours to choose
_MAX_POINTS = 12.0


def draw_graph(
    graph: Graph,
    model: CGLSCM | None = None,
    *,
    ax: Axes | None = None,
    cause: str | None = None,
    effect: str | None = None,
    digits: int = 2,
    loadings: bool = True,
) -> Axes:
    """Draws a graph, with a model's weights on its edges if one is given; ``cause`` and ``effect`` are coloured.

    ``loadings=False`` leaves out the weights of hidden causes, which data seldom determine one by one.
    """
    widths = {v: _width(v) for v in (*graph.observed, *graph.latents)}
    layout = lay_out(graph, {v: max(1.0, w) for v, w in widths.items()})
    box = _extent(layout, widths)
    ax = axes_or_new(ax, (max(2.5, _INCH * (box[1] - box[0])), max(1.6, _INCH * (box[3] - box[2]))))
    ax.set_xlim(box[0], box[1], auto=True)  # may grow: the aspect is what counts
    ax.set_ylim(box[2], box[3], auto=True)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()
    points = _points_per_unit(ax, box)
    _draw_edges(ax, graph, layout, widths, points)
    if model is not None:
        weights = edge_weights(graph, model)
        shown = {e: w for e, w in weights.items() if loadings or e[0] not in graph.latents}
        _draw_weights(ax, graph, shown, layout, widths, points, digits)
    colours = {name: colour for name, colour in ((cause, BLUE), (effect, VERMILION)) if name is not None}
    _draw_nodes(ax, graph, layout, widths, points, colours)
    return ax


def edge_weights(graph: Graph, model: CGLSCM) -> dict[Edge, float]:
    """The model's weight of every edge: coefficients, loadings of hidden causes, error covariances."""
    at = {v: i for i, v in enumerate(model.names)}
    hidden = {u: k for k, u in enumerate(model.latents)}
    weights: dict[Edge, float] = {}
    for u, kind, v in graph.edges():
        if kind == "<->":
            weights[u, kind, v] = float(model.W[at[u], at[v]])
        else:
            weights[u, kind, v] = float(model.C[hidden[u], at[v]] if u in hidden else model.T[at[u], at[v]])
    return weights


def _draw_nodes(
    ax: Axes, graph: Graph, layout: Layout, widths: dict[str, float], points: float, colours: dict[str, str]
) -> None:
    from matplotlib.patches import Polygon

    for v, (x, y) in layout.nodes.items():
        hidden = v in graph.latents
        ax.add_patch(
            Polygon(
                _capsule(x, y, widths[v]),
                facecolor=colours.get(v, "white"),
                edgecolor=GREEN if hidden else colours.get(v, INK),
                linestyle=(0, (3, 2)) if hidden else "-",
                linewidth=1.4,
                zorder=3,
            )
        )
        ink = "white" if v in colours else GREEN if hidden else INK
        size = min(_MAX_POINTS, 0.29 * points)
        ax.text(x, y, v, ha="center", va="center_baseline", color=ink, fontsize=size, zorder=4, parse_math=False)


def _draw_edges(ax: Axes, graph: Graph, layout: Layout, widths: dict[str, float], points: float) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Line

    for (u, kind, v), route in layout.routes.items():
        curve = _visible(_curve(route), layout.nodes[u], widths[u], layout.nodes[v], widths[v])
        hidden = u in graph.latents
        dashed = hidden or kind == "<->"
        shaft = Line(curve, [Line.MOVETO] + [Line.LINETO] * (len(curve) - 1))
        ax.add_patch(
            FancyArrowPatch(
                path=shaft,
                arrowstyle="-" if dashed else "-|>",
                mutation_scale=min(14.0, 0.3 * points),
                linestyle=(0, (4, 2.5)) if dashed else "-",
                linewidth=1.3,
                color=GREEN if dashed else INK,
                fill=not dashed,
                joinstyle="miter",
                zorder=1,
            )
        )
        if dashed:  # heads of their own: a dashed head looks torn
            for end in (curve,) if kind == "->" else (curve, curve[::-1]):
                _draw_head(ax, end, points)


def _draw_head(ax: Axes, curve: NDArray[np.float64], points: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    behind = curve[max(0, len(curve) - 1 - max(2, len(curve) // 30))]
    ax.add_patch(
        FancyArrowPatch(
            tuple(behind),
            tuple(curve[-1]),
            arrowstyle="-|>",
            mutation_scale=min(14.0, 0.3 * points),
            shrinkA=0.0,
            shrinkB=0.0,
            linewidth=1.3,
            color=GREEN,
            zorder=1,
        )
    )


def _draw_weights(
    ax: Axes,
    graph: Graph,
    weights: dict[Edge, float],
    layout: Layout,
    widths: dict[str, float],
    points: float,
    digits: int,
) -> None:
    taken: list[tuple[float, float, float]] = [(x, y, widths[v] / 2 + 0.2) for v, (x, y) in layout.nodes.items()]
    size = min(_MAX_POINTS - 2.0, 0.24 * points)
    curves = {
        (u, kind, v): _visible(_curve(route), layout.nodes[u], widths[u], layout.nodes[v], widths[v])
        for (u, kind, v), route in layout.routes.items()
    }
    for edge, curve in curves.items():
        if edge not in weights:
            continue
        text = _weight_text(weights[edge], digits)
        others = np.vstack([c for e, c in curves.items() if e != edge]) if len(curves) > 1 else np.empty((0, 2))
        x, y = _free_place(curve, taken, others)
        taken.append((x, y, 0.5))
        dashed = edge[0] in graph.latents or edge[1] == "<->"
        ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=size,
            color=GREEN if dashed else INK,
            zorder=2,
            bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none"},
        )


def _free_place(
    curve: NDArray[np.float64], taken: Sequence[tuple[float, float, float]], others: NDArray[np.float64]
) -> Point:
    """The place on the curve with the most room around it; the middle if all are equal."""

    def room(share: float) -> float:
        x, y = curve[round(share * (len(curve) - 1))]
        nodes = min((math.hypot((x - a) / (0.5 + reach), (y - b) / 0.55) for a, b, reach in taken), default=9.0)
        lines = float(np.min(np.hypot(others[:, 0] - x, others[:, 1] - y))) if len(others) else 9.0
        return min(nodes, 1.2) + min(lines, 0.3) - 0.2 * abs(share - 0.5)

    best = max((0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73), key=room)
    x, y = curve[round(best * (len(curve) - 1))]
    return float(x), float(y)


def _curve(route: Sequence[Point]) -> NDArray[np.float64]:
    """A smooth line through the points of a route: Catmull-Rom with centripetal steps, which makes no loops."""
    knots = np.array(route, dtype=float)
    if len(knots) == 2:
        return np.asarray(knots[0] + np.linspace(0.0, 1.0, 240)[:, None] * (knots[1] - knots[0]))
    padded = np.vstack([2 * knots[0] - knots[1], knots, 2 * knots[-1] - knots[-2]])
    times = np.concatenate([[0.0], np.cumsum(np.sqrt(np.linalg.norm(np.diff(padded, axis=0), axis=1)))])
    pieces = []
    for i in range(1, len(padded) - 2):
        t = np.linspace(times[i], times[i + 1], 120)[:, None]
        pieces.append(_catmull_rom(padded[i - 1 : i + 3], times[i - 1 : i + 3], t))
    return np.vstack(pieces)


def _catmull_rom(p: NDArray[np.float64], s: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Barry and Goldman's pyramid for one piece, from ``p[1]`` to ``p[2]``."""

    def mix(a: Any, b: Any, i: int, j: int) -> Any:
        return ((s[j] - t) * a + (t - s[i]) * b) / (s[j] - s[i])

    a, b, c = mix(p[0], p[1], 0, 1), mix(p[1], p[2], 1, 2), mix(p[2], p[3], 2, 3)
    return np.asarray(mix(mix(a, b, 0, 2), mix(b, c, 1, 3), 1, 2))


def _visible(
    curve: NDArray[np.float64], start: Point, start_width: float, end: Point, end_width: float
) -> NDArray[np.float64]:
    """The part of a line between the borders of its two nodes."""
    outside = _distance(curve, start, start_width) > 0.03
    clear = _distance(curve, end, end_width) > 0.05
    first = int(np.argmax(outside))
    last = len(curve) - int(np.argmax(clear[::-1]))
    return curve[first:last] if last - first >= 2 else curve[[0, -1]]


def _distance(points: NDArray[np.float64], centre: Point, width: float) -> NDArray[np.float64]:
    """From the rounded border of a node, negative inside."""
    reach = max(width - _HEIGHT, 0.0) / 2
    across = np.maximum(np.abs(points[:, 0] - centre[0]) - reach, 0.0)
    return np.asarray(np.hypot(across, points[:, 1] - centre[1]) - _HEIGHT / 2)


def _capsule(x: float, y: float, width: float) -> NDArray[np.float64]:
    """The outline of a node: a circle, drawn out to the width of its name."""
    angle = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)
    reach = max(width - _HEIGHT, 0.0) / 2
    across = np.cos(angle) * _HEIGHT / 2 + np.where(np.cos(angle) >= 0.0, reach, -reach)
    return np.column_stack([x + across, y + np.sin(angle) * _HEIGHT / 2])


def _width(name: str) -> float:
    return max(_HEIGHT, _LETTER * len(name) + 0.28)


def _extent(layout: Layout, widths: dict[str, float]) -> tuple[float, float, float, float]:
    xs = [x + side * widths[v] / 2 for v, (x, _) in layout.nodes.items() for side in (-1, 1)]
    ys = [y + side * _HEIGHT / 2 for _, y in layout.nodes.values() for side in (-1, 1)]
    curves = [_curve(route) for route in layout.routes.values()]
    xs += [float(extreme) for curve in curves for extreme in (curve[:, 0].min(), curve[:, 0].max())]
    ys += [float(extreme) for curve in curves for extreme in (curve[:, 1].min(), curve[:, 1].max())]
    return min(xs) - 0.2, max(xs) + 0.2, min(ys) - 0.2, max(ys) + 0.2


def _points_per_unit(ax: Axes, box: tuple[float, float, float, float]) -> float:
    """How large one unit of the layout will be on the page, so that text fits into its node."""
    window = ax.get_window_extent()
    scale = min(window.width / (box[1] - box[0]), window.height / (box[3] - box[2]))
    return float(scale * 72.0 / ax.figure.dpi)


def _weight_text(weight: float, digits: int) -> str:
    """A few decimals; more where they would all be zero, none where they would say nothing."""
    size = abs(weight)
    decimals = digits if size >= 10.0**-digits * 5 or size == 0.0 else digits + 2
    if size >= 100.0:
        decimals = 0
    text = f"{weight:.{decimals}f}" if size >= 5e-5 or size == 0.0 else f"{weight:.0e}"
    return text.replace("-", "−")
