"""An answer against the covariance of two errors, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halftrek.errors import InputError
from halftrek.partial.correlated_errors import Sensitivity, sensitivity
from halftrek.reporting.plots.figures import BLUE, GREY, VERMILION, axes_or_new, tidy_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from halftrek.queries import Query


def plot_sensitivity(
    graph: object,
    data: object = None,
    question: str | Query | None = None,
    *,
    arc: tuple[str, str] | None = None,
    values: Sequence[float] | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draws ``sensitivity(...)``, or one that is given as the first argument: the answer against the correlation
    of the two errors, with its interval, and the place where it reaches zero."""
    if isinstance(graph, Sensitivity):
        if any(given is not None for given in (data, question, arc, values)) or level != 0.95:
            raise InputError("plot_sensitivity: what is computed already takes no data, question, arc, values or level")
        found = graph
    elif data is None or question is None or arc is None:
        raise InputError('plot_sensitivity needs data, a question and arc=("x", "y")')
    else:
        found = sensitivity(graph, data, question, arc=arc, values=values, level=level)
    ax = axes_or_new(ax, (6.0, 3.8))
    x = found.correlation
    ax.axhline(0.0, color=GREY, linewidth=1.0, zorder=0)
    ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=0)
    ax.fill_between(x, found.intervals[:, 0], found.intervals[:, 1], color=BLUE, alpha=0.2, linewidth=0.0)
    ax.plot(x, found.estimates, color=BLUE, linewidth=2.2)
    ax.set_xlim(float(x.min()), float(x.max()))
    if found.zero_correlation is not None:
        ax.plot(found.zero_correlation, 0.0, "o", color=VERMILION, markersize=7, zorder=4)
        left = found.zero_correlation > 0.25 * x.min() + 0.75 * x.max()
        falls = found.estimates[-1] < found.estimates[0]
        ax.annotate(
            f"zero at {found.zero_correlation:.2f}".replace("-", "−"),
            (found.zero_correlation, 0.0),
            xytext=(-12 if left else 12, -22 if left == falls else 22),  # on the side that the line leaves free
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            color=VERMILION,
        )
    ax.set_xlabel(f"assumed correlation of the errors of {found.arc[0]} and {found.arc[1]}", parse_math=False)
    ax.set_ylabel(f"{found.question}, {found.level:.0%} interval", parse_math=False)
    tidy_axes(ax, title)
    return ax
