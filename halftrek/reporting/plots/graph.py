"""The graph as a picture: observed variables solid, hidden causes dashed, correlated errors as dashed arcs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.bottom.arrays import Floats
from halftrek.bottom.calls import public
from halftrek.reporting.plots.curves import HEIGHT, box, capsule
from halftrek.reporting.plots.drawing import Drawing, Identified, Stroke, edge_weights, make_drawing
from halftrek.reporting.plots.figures import BLUE, GREEN, GREY, INK, VERMILION, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from halftrek.graphs import Graph
    from halftrek.models import CGLSCM
    from halftrek.results.fit import Fit

__all__ = ["draw_graph", "edge_weights"]

INCH = 0.62  # inches for one unit where the size is ours to choose
_MAX_POINTS = 12.0


@public
def draw_graph(
    source: Graph | Fit,
    model: CGLSCM | None = None,
    *,
    identified: Identified = None,
    ax: Axes | None = None,
    cause: str | None = None,
    effect: str | None = None,
    digits: int = 2,
    loadings: bool = True,
    title: str | None = None,
) -> Axes:
    """Draws a graph, with a model's weights on its edges if one is given; ``cause`` and ``effect`` are coloured.

    A fit may be given in place of the graph: it brings its weights, and edges that the data do not determine are
    dotted and have a question mark for a number. ``identified`` says so by edge, ``{"x -> y": False}``, or lets the
    graph decide ("auto"). ``loadings=False`` leaves out the weights of hidden causes, which data seldom determine one
    by one.
    """
    drawing = make_drawing(source, model, identified=identified, digits=digits, loadings=loadings)
    left, right, bottom, top = drawing.box
    width, height = drawing.size
    ax = axes_or_new(ax, (max(2.5, INCH * width), max(1.6, INCH * height)))
    ax.set_xlim(left, right, auto=True)  # may grow: the aspect is what counts
    ax.set_ylim(bottom, top, auto=True)
    ax.set_aspect("equal", adjustable="datalim")
    ax.update_datalim(drawing.corners)  # once: patch by patch it takes longer than all the rest
    ax.set_axis_off()
    points = _points_per_unit(ax, width, height)
    for stroke in drawing.strokes:
        _draw_stroke(ax, stroke, points)
    _draw_labels(ax, drawing, points)
    colours = {name: colour for name, colour in ((cause, BLUE), (effect, VERMILION)) if name is not None}
    _draw_nodes(ax, drawing, points, colours)
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


def colour_of(*, dashed: bool, known: bool) -> str:
    """Of a line and its weight: grey where data do not tell, green from something hidden."""
    return GREY if not known else GREEN if dashed else INK


def _draw_nodes(ax: Axes, drawing: Drawing, points: float, colours: dict[str, str]) -> None:
    from matplotlib.patches import Polygon

    size = min(_MAX_POINTS, 0.29 * points)
    for node in drawing.nodes:
        fill = GREEN if node.hub else colours.get(node.name)
        ax.add_artist(
            Polygon(
                box(node.x, node.y, node.width)
                if node.boxed
                else capsule(node.x, node.y, node.width, node.width if node.hub else HEIGHT),
                facecolor=fill or "white",
                edgecolor=GREEN if node.hidden else fill or INK,
                linestyle=(0, (3, 2)) if node.hidden and not node.hub else "-",
                linewidth=1.4,
                zorder=3,
            )
        )
        if node.hub:
            continue
        ink = "white" if fill else GREEN if node.hidden else INK
        ax.text(
            node.x, node.y, node.name, ha="center", va="center_baseline", color=ink, fontsize=size, zorder=4,
            parse_math=False,
        )  # fmt: skip


def _draw_stroke(ax: Axes, stroke: Stroke, points: float) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Line

    line, plain = stroke.line, stroke.known and not stroke.dashed
    colour = colour_of(dashed=stroke.dashed, known=stroke.known)
    ax.add_artist(
        FancyArrowPatch(
            path=Line(line, [Line.MOVETO] + [Line.LINETO] * (len(line) - 1)),
            arrowstyle="-|>" if plain else "-",
            mutation_scale=min(14.0, 0.3 * points),
            linestyle="-" if plain else (0, (4, 2.5)) if stroke.known else (0, (1, 2)),
            linewidth=1.3,
            color=colour,
            fill=plain,
            joinstyle="miter",
            zorder=1,
        )
    )
    if not plain:  # heads of their own: a dashed head looks torn
        for end in (line,) if stroke.edge[1] == "->" else (line, line[::-1]):
            _draw_head(ax, end, points, colour)


def _draw_head(ax: Axes, line: Floats, points: float, colour: str) -> None:
    from matplotlib.patches import FancyArrowPatch

    behind = line[max(0, len(line) - 1 - max(2, len(line) // 30))]
    ax.add_artist(
        FancyArrowPatch(
            tuple(behind),
            tuple(line[-1]),
            arrowstyle="-|>",
            mutation_scale=min(14.0, 0.3 * points),
            shrinkA=0.0,
            shrinkB=0.0,
            linewidth=1.3,
            color=colour,
            zorder=1,
        )
    )


def _draw_labels(ax: Axes, drawing: Drawing, points: float) -> None:
    size = min(_MAX_POINTS - 2.0, 0.24 * points)
    for label in drawing.labels:
        ax.text(
            label.x,
            label.y,
            label.text,
            ha="center",
            va="center",
            fontsize=size,
            color=colour_of(dashed=label.dashed, known=label.known),
            zorder=2,
            bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none"},
        )


def _points_per_unit(ax: Axes, width: float, height: float) -> float:
    """How large one unit of the layout will be on the page, so that text fits into its node."""
    window = ax.get_window_extent()
    scale = min(window.width / width, window.height / height)
    return float(scale * 72.0 / ax.figure.dpi)
