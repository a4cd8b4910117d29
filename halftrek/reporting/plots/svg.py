"""The graph as SVG text for notebooks and pages, without any drawing library."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.reporting.plots.curves import HEIGHT
from halftrek.reporting.plots.drawing import Drawing, Identified, Node, Stroke, make_drawing
from halftrek.reporting.plots.figures import BLUE, GREEN, GREY, INK, VERMILION

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.models import CGLSCM
    from halftrek.results.fit import Fit

_UNIT = 46.0  # pixels for one unit of the layout
_FONT = "font-family:Helvetica,Arial,sans-serif"


def graph_svg(
    source: Graph | Fit,
    model: CGLSCM | None = None,
    *,
    identified: Identified = None,
    cause: str | None = None,
    effect: str | None = None,
    digits: int = 2,
) -> str:
    """One ``<svg>`` element, as ``draw_graph`` would draw it; it shrinks to the width of the page."""
    drawing = make_drawing(source, model, identified=identified, digits=digits)
    width, height = (_UNIT * side for side in drawing.size)
    place = _Place(drawing)
    parts = [_stroke(stroke, place) for stroke in drawing.strokes]
    for label in drawing.labels:
        x, y = place(label.x, label.y)
        colour = GREY if not label.known else GREEN if label.dashed else INK
        half = 3.1 * len(label.text) + 1.0
        parts.append(f'<rect x="{x - half:.1f}" y="{y - 8:.1f}" width="{2 * half:.1f}" height="16" fill="#fff"/>')
        parts.append(_text(label.text, x, y, colour, 11.5))
    colours = {name: colour for name, colour in ((cause, BLUE), (effect, VERMILION)) if name is not None}
    parts += [_node(node, place, colours.get(node.name)) for node in drawing.nodes]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'style="max-width:100%;height:auto;background:#fff" role="img" aria-label="causal graph">'
    )
    return "\n".join([head, *parts, "</svg>"])


class _Place:
    """From the layout, where up is positive, to pixels, where down is."""

    def __init__(self, drawing: Drawing) -> None:
        self._left, self._top = drawing.box[0], drawing.box[3]

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        return _UNIT * (x - self._left), _UNIT * (self._top - y)


def _stroke(stroke: Stroke, place: _Place) -> str:
    colour = GREY if not stroke.known else GREEN if stroke.dashed else INK
    dash = "" if stroke.known and not stroke.dashed else ' stroke-dasharray="%s"' % ("6 4" if stroke.known else "1.5 3")
    steps = np.unique(np.linspace(0, len(stroke.line) - 1, 2 if stroke.straight else 40).round().astype(int))
    points = " ".join("{:.1f},{:.1f}".format(*place(*stroke.line[i])) for i in steps)
    parts = [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>']
    for line in (stroke.line,) if stroke.edge[1] == "->" else (stroke.line, stroke.line[::-1]):
        parts.append(_head(line, place, colour))
    return "\n".join(parts)


def _head(line: Floats, place: _Place, colour: str) -> str:
    tip = np.array(place(*line[-1]))
    behind = np.array(place(*line[max(0, len(line) - 1 - max(2, len(line) // 30))]))
    way = (tip - behind) / (np.linalg.norm(tip - behind) or 1.0)
    side = np.array([-way[1], way[0]])
    corners = (tip + 2.0 * way, tip - 8.0 * way + 3.6 * side, tip - 8.0 * way - 3.6 * side)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def _node(node: Node, place: _Place, fill: str | None) -> str:
    x, y = place(node.x, node.y)
    if node.hub:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_UNIT * node.width / 2:.1f}" fill="{GREEN}"/>'
    width, height = _UNIT * node.width, _UNIT * HEIGHT
    line = GREEN if node.hidden else fill or INK
    dash = ' stroke-dasharray="5 3"' if node.hidden else ""
    corner = 2.0 if node.boxed else height / 2
    box = (
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{corner:.1f}" fill="{fill or "#fff"}" stroke="{line}" stroke-width="1.6"{dash}/>'
    )
    return box + _text(node.name, x, y, "#fff" if fill else line, 13.5)


def _text(text: str, x: float, y: float, colour: str, size: float) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" dominant-baseline="central" fill="{colour}" '
        f'style="{_FONT};font-size:{size}px">{escape(text)}</text>'
    )
