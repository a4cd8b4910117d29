"""Smooth lines and rounded nodes, in the units of the layout."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.reporting.plots.layout import Point

HEIGHT = 0.62  # of a node
LETTER = 0.185  # width of a letter


def curve(route: Sequence[Point]) -> Floats:
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


def _catmull_rom(p: Floats, s: Floats, t: Floats) -> Floats:
    """Barry and Goldman's pyramid for one piece, from ``p[1]`` to ``p[2]``."""

    def mix(a: Floats, b: Floats, i: int, j: int) -> Floats:
        return np.asarray(((s[j] - t) * a + (t - s[i]) * b) / (s[j] - s[i]))

    a, b, c = mix(p[0], p[1], 0, 1), mix(p[1], p[2], 1, 2), mix(p[2], p[3], 2, 3)
    return np.asarray(mix(mix(a, b, 0, 2), mix(b, c, 1, 3), 1, 2))


def visible(line: Floats, start: Point, start_width: float, end: Point, end_width: float) -> Floats:
    """The part of a line between the borders of its two nodes."""
    outside = distance(line, start, start_width) > 0.03
    clear = distance(line, end, end_width) > 0.05
    first = int(np.argmax(outside))
    last = len(line) - int(np.argmax(clear[::-1]))
    return line[first:last] if last - first >= 2 else line[[0, -1]]


def distance(points: Floats, centre: Point, width: float) -> Floats:
    """From the rounded border of a node, negative inside; one narrower than high is a dot of that width."""
    height = min(width, HEIGHT) or HEIGHT
    across = np.maximum(np.abs(points[:, 0] - centre[0]) - max(width - height, 0.0) / 2, 0.0)
    return np.asarray(np.hypot(across, points[:, 1] - centre[1]) - height / 2)


def capsule(x: float, y: float, width: float, height: float = HEIGHT) -> Floats:
    """The outline of a node: a circle, drawn out to the width of its name."""
    angle = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)
    reach = max(width - height, 0.0) / 2
    across = np.cos(angle) * height / 2 + np.where(np.cos(angle) >= 0.0, reach, -reach)
    return np.column_stack([x + across, y + np.sin(angle) * height / 2])


def box(x: float, y: float, width: float, height: float = HEIGHT) -> Floats:
    """The outline of a node in a box."""
    across, up = width / 2, height / 2
    return np.array([(x - across, y - up), (x + across, y - up), (x + across, y + up), (x - across, y + up)])


def node_width(name: str) -> float:
    """Wide enough for the name."""
    return max(HEIGHT, LETTER * len(name) + 0.28)
