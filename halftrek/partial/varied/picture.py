"""An answer against one edge, or over two, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.calls import public
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.graphs import Edge
from halftrek.partial.varied.asking import Values, sensitivity, varied
from halftrek.partial.varied.contours import Contours
from halftrek.partial.varied.curve import Sensitivity
from halftrek.partial.varied.engine.edges import EdgeLike
from halftrek.reporting.plots.figures import BLUE, GREY, INK, PURPLE, VERMILION, axes_or_new, tidy_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from halftrek.queries import Query

ROOM = 3.0  # values to each side that words in a hatched region need
MARKS = 3  # observed variables that are drawn, the strongest
FARTHEST = 2.5  # times the usual size of the answers: beyond, a curve that runs off leaves the picture


@public
def plot_sensitivity(
    graph: object,
    data: object = None,
    question: str | Query | None = None,
    *,
    arc: tuple[str, str] | None = None,
    edge: EdgeLike | Sequence[EdgeLike] | None = None,
    values: Values | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draws a sensitivity that is given as the first argument, or makes it from a fit and a question (the second
    argument), or from a graph, data and a question: the answer against the correlation of two errors, or against the
    weight of an arrow, with its interval, and the place where it reaches zero; of two edges, contours."""
    if isinstance(graph, Sensitivity | Contours):
        if any(given is not None for given in (data, question, arc, edge, values)) or level != 0.95:
            raise InputError("plot_sensitivity: what is computed already takes no data, question, arc, values or level")
        found: Sensitivity | Contours = graph
    elif isinstance(graph, Fitted):
        if question is not None or edge is None or not isinstance(data, str):
            raise InputError('plot_sensitivity takes a fit, a question and edge="x <-> y"')
        found = varied(graph, data, edge, values=values, level=level)
    elif data is None or question is None or (arc is None and edge is None):
        raise InputError('plot_sensitivity needs data, a question and arc=("x", "y") or edge="x <-> y"')
    elif arc is not None:
        found = sensitivity(graph, data, question, arc=arc, values=values, level=level)  # type: ignore[arg-type]
    else:
        assert edge is not None  # refused above
        found = sensitivity(graph, data, question, edge=edge, values=values, level=level)
    if isinstance(found, Contours):
        return _contours(found, axes_or_new(ax, (5.6, 4.6)), title)
    return _curve(found, axes_or_new(ax, (6.0, 3.8)), title)


def _curve(found: Sensitivity, ax: Axes, title: str | None) -> Axes:
    x = found.correlation if found.is_arc else found.values
    low, high = _window(found)
    ax.axhline(found.target, color=GREY, linewidth=1.0, zorder=0)
    ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=0)
    band = np.clip(np.where(np.isnan(found.intervals), np.nan, found.intervals), low - 1e3, high + 1e3)
    ax.fill_between(x, band[:, 0], band[:, 1], color=BLUE, alpha=0.2, linewidth=0.0)
    ax.plot(x, found.estimates, color=BLUE, linewidth=2.2)
    ax.set_xlim(float(np.nanmin(x)), float(np.nanmax(x)))
    ax.set_ylim(low, high)
    _draw_gaps(found, ax, x)
    _draw_marks(found, ax)
    at = found.zero_correlation if found.is_arc else found.zero
    if at is not None:
        _draw_zero(found, ax, x, at)
    ax.set_xlabel(_axis(found.edge), parse_math=False)
    ax.set_ylabel(f"{found.question}, {found.level:.0%} interval", parse_math=False)
    tidy_axes(ax, title)
    return ax


def _axis(edge: str) -> str:
    first, kind, second = Edge.read(edge)
    if kind == "->":
        return f"assumed weight of {first} -> {second}"
    return f"assumed correlation of the errors of {first} and {second}"


def _window(found: Sensitivity) -> tuple[float, float]:
    """What is shown of the answers: all, unless some run off."""
    numbers = np.concatenate([found.estimates, found.intervals.ravel(), [found.target]])
    numbers = numbers[np.isfinite(numbers)]
    low, high = float(numbers.min()), float(numbers.max())
    middle = np.nanmedian(found.estimates)
    usual = float(np.nanpercentile(np.abs(found.estimates - middle), 50)) + abs(float(middle) - found.target)
    low, high = max(low, float(middle) - FARTHEST * usual), min(high, float(middle) + FARTHEST * usual)
    room = 0.05 * (high - low or 1.0)
    return min(low, found.target) - room, max(high, found.target) + room


def _draw_gaps(found: Sensitivity, ax: Axes, x: Floats) -> None:
    for pole in found.poles:
        at = float(x[np.argmin(np.abs(found.values - pole))])
        ax.axvline(at, color=PURPLE, linewidth=1.0, linestyle=":", zorder=1)
        ax.annotate("no bound here", (at, 0.02), xycoords=ax.get_xaxis_transform(), xytext=(3, 2), rotation=90,
                    textcoords="offset points", color=PURPLE, fontsize="small", va="bottom", ha="left")  # fmt: skip


def _draw_marks(found: Sensitivity, ax: Axes) -> None:
    """Observed variables, on the axis, each where leaving it out would be."""
    left, right = ax.get_xlim()
    shown = [mark for mark in found.marks if left < mark.correlation < right][:MARKS]
    for k, mark in enumerate(shown):
        ax.plot(mark.correlation, 0.0, "^", color=INK, markersize=7, transform=ax.get_xaxis_transform(), clip_on=False)
        ax.annotate(f"like {mark.variable}", (mark.correlation, 0.0), xycoords=ax.get_xaxis_transform(),
                    xytext=(0, 9 + 12 * k), textcoords="offset points", ha="center", fontsize="small",
                    color=INK, parse_math=False)  # fmt: skip


def _draw_zero(found: Sensitivity, ax: Axes, x: Floats, at: float) -> None:
    ax.plot(at, found.target, "o", color=VERMILION, markersize=7, zorder=4)
    left = at > 0.25 * float(np.nanmin(x)) + 0.75 * float(np.nanmax(x))
    beside = np.argsort(np.abs(x - at))[:2]
    falls = float(np.diff(found.estimates[np.sort(beside)])[0]) < 0.0
    what = "zero" if found.target == 0.0 else f"{found.target:g}"
    ax.annotate(
        f"{what} at {at:.2f}".replace("-", "−"),
        (at, found.target),
        xytext=(-12 if left else 12, -22 if left == falls else 22),  # on the side that the line leaves free
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
        color=VERMILION,
    )


def _contours(found: Contours, ax: Axes, title: str | None) -> Axes:
    arcs = [Edge.read(edge).kind == "<->" for edge in found.edges]
    x, y = (found.correlations[..., k] if arcs[k] else found.values[..., k] for k in range(2))
    hidden = found.beyond | ~np.isfinite(found.estimates)
    usual = np.percentile(np.abs(found.estimates[~hidden] - found.target), 90)
    shown = np.ma.masked_where(hidden, found.estimates)
    if hidden.any():
        _draw_hidden(ax, x, y, hidden)
    levels = _levels(found.target, float(usual))
    lines = ax.contour(x, y, shown, levels=levels, colors=GREY, linewidths=1.0)
    ax.clabel(lines, fontsize="small", fmt="%g")
    reached = ax.contour(x, y, shown, levels=[found.target], colors=VERMILION, linewidths=2.2)
    ax.clabel(reached, fontsize="small", fmt="%g")
    if np.isfinite(found.intervals).any():
        held = np.maximum(found.intervals[..., 0] - found.target, found.target - found.intervals[..., 1])
        ax.contour(x, y, np.ma.masked_invalid(held), levels=[0.0], colors=VERMILION, linewidths=1.2, linestyles="--")
    ax.plot(0.0, 0.0, "o", color=BLUE, markersize=7, zorder=4)
    ax.annotate("the graph as it is", (0.0, 0.0), xytext=(8, 8), textcoords="offset points", color=BLUE,
                fontsize="small")  # fmt: skip
    ax.set_xlabel(_axis(found.edges[0]), parse_math=False)
    ax.set_ylabel(_axis(found.edges[1]), parse_math=False)
    tidy_axes(ax, title if title is not None else found.question)
    return ax


def _draw_hidden(ax: Axes, x: Floats, y: Floats, hidden: Flags) -> None:
    """Hatched, with words where there is most room for them."""
    from scipy.ndimage import distance_transform_edt

    area = ax.contourf(x, y, hidden, levels=[0.5, 1.5], colors="none", hatches=["///"])
    area.set_edgecolor("#cccccc")
    room = distance_transform_edt(hidden)
    if room.max() < ROOM:
        return
    at = np.unravel_index(int(np.argmax(room)), hidden.shape)
    ax.annotate("no such model,\nor beyond a pole", (float(x[at]), float(y[at])), ha="center", va="center",
                color=PURPLE, fontsize="small",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip


def _levels(target: float, usual: float) -> list[float]:
    """Round numbers around the target, without it."""
    step = 10.0 ** np.floor(np.log10(max(usual, 1e-300)))
    step *= 0.2 if usual / step < 2.0 else 0.5 if usual / step < 5.0 else 1.0
    reach = round(usual / step) + 1
    return [round(target + k * step, 12) for k in range(-int(reach), int(reach) + 1) if k]
