"""The graph as a TikZ picture for LaTeX, with the places that the other pictures use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.queries.written.latex_letters import latex_text
from halftrek.reporting.plots.curves import HEIGHT
from halftrek.reporting.plots.drawing import Identified, Node, Stroke, make_drawing

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.models import CGLSCM
    from halftrek.results.fit import Fit

_STYLES = (
    f"observed/.style={{draw, rounded corners={HEIGHT / 2:g}cm, minimum height={HEIGHT:g}cm, inner sep=0pt}}",
    "hidden/.style={observed, dashed, teal}",
    "cause/.style={observed, fill=blue!60!cyan, text=white}",
    "effect/.style={observed, fill=orange!85!red, text=white}",
    "hub/.style={circle, fill=teal, inner sep=1.5pt}",
    "arrow/.style={->, >=latex, semithick}",
    "shared/.style={arrow, dashed, teal}",
    "covary/.style={shared, <->}",
    "undetermined/.style={dotted, gray}",
    "weight/.style={fill=white, inner sep=1pt, font=\\footnotesize}",
)


def to_tikz(
    source: Graph | Fit,
    model: CGLSCM | None = None,
    *,
    identified: Identified = None,
    cause: str | None = None,
    effect: str | None = None,
    digits: int = 2,
) -> str:
    """A ``tikzpicture`` environment that needs no TikZ library; options as in ``draw_graph``."""
    drawing = make_drawing(source, model, identified=identified, digits=digits)
    key = {node.name: f"n{i}" for i, node in enumerate(drawing.nodes, 1)}
    roles = {name: role for name, role in ((cause, "cause"), (effect, "effect")) if name is not None}
    lines = ["\\begin{tikzpicture}[", *(f"  {style}," for style in _STYLES), "]"]
    lines += [_node(node, key[node.name], roles.get(node.name)) for node in drawing.nodes]
    lines += [_edge(stroke, key) for stroke in drawing.strokes]
    for label in drawing.labels:
        colour = ", text=gray" if not label.known else ", text=teal" if label.dashed else ""
        text = label.text.replace("−", "-")
        lines.append(f"  \\node[weight{colour}] at {_point(label.x, label.y)} {{${text}$}};")
    return "\n".join([*lines, "\\end{tikzpicture}", ""])


def _node(node: Node, key: str, role: str | None) -> str:
    if node.hub:
        return f"  \\node[hub] ({key}) at {_point(node.x, node.y)} {{}};"
    style = "hidden" if node.hidden else role or "observed"
    style += ", sharp corners" if node.boxed else ""
    name = latex_text(node.name)
    return f"  \\node[{style}, minimum width={node.width:.2f}cm] ({key}) at {_point(node.x, node.y)} {{{name}}};"


def _edge(stroke: Stroke, key: dict[str, str]) -> str:
    u, kind, v = stroke.edge
    style = ("covary" if kind == "<->" else "shared" if stroke.dashed else "arrow") + (
        "" if stroke.known else ", undetermined"
    )
    if stroke.straight:
        return f"  \\draw[{style}] ({key[u]}) -- ({key[v]});"
    steps = np.linspace(0, len(stroke.line) - 1, 9).round().astype(int)
    inner = " ".join(_point(*stroke.line[i]) for i in steps)
    return f"  \\draw[{style}] plot[smooth] coordinates {{{inner}}};"


def _point(x: float, y: float) -> str:
    return f"({x + 0.0:.2f},{y + 0.0:.2f})".replace("-0.00", "0.00")
