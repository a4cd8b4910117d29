"""Effects along directed paths with their derivatives at a point: one sweep down from the cause, one up to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from halftrek.identification.local.parameters import Point
    from halftrek.identification.numbers.fields import Array


def edge_weight(point: Point, cause: str, effect: str) -> Array:
    """Weight of an edge as a dual number, zero if there is none."""
    dual = np.zeros(1 + point.parameters.count, point.field.dtype)
    for source, at, parameter in point.parameters.arrows[effect]:
        if source == cause:
            dual[0] = point.entry_values[at]
            if parameter is not None:
                dual[1 + parameter] = 1
    return dual


def path_sum(point: Point, cause: str, effect: str, held: Iterable[str] = ()) -> Array:
    """Total effect while others are held, as a dual number.

    The derivative in a weight is the effect of the cause on its one end times the effect of its other end.
    """
    table, wrap, weights = point.parameters, point.field.scalar, point.entry_values
    dual = np.zeros(1 + table.count, point.field.dtype)
    slopes: dict[int, Any] = {}
    between = (table.graph.descendants(cause) & table.graph.ancestors(effect)) - (set(held) - {cause})
    if cause not in between or effect not in between:
        return dual
    lane = [v for v in table.graph.topological_order if v in between] if len(between) > 1 else [cause]
    down: dict[str, Any] = {cause: 1}
    for v in lane[1:]:
        passed = [down[u] * weights[at] for u, at, _ in table.arrows[v] if u in down]
        if passed:
            down[v] = wrap(sum(passed))
    dual[0] = down.get(effect, 0)
    up: dict[str, Any] = {effect: 1}
    for v in reversed(lane[1:]):
        if v not in up:
            continue
        here = up[v]
        for u, at, parameter in table.arrows[v]:
            if u in down:
                up[u] = wrap(up.get(u, 0) + weights[at] * here)
                if parameter is not None:
                    slopes[parameter] = wrap(slopes.get(parameter, 0) + down[u] * here)
    for parameter, slope in slopes.items():
        dual[1 + parameter] = slope
    return dual
