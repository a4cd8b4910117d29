"""Effects as pictures: a forest of intervals, the paths of an effect, the response to a dose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.calls import public
from halftrek.errors import DataError, InputError
from halftrek.estimation.given.data_kind import data_of
from halftrek.queries import Distribution, Statistic
from halftrek.reporting.plots.columns import columns_in, numbers, pick
from halftrek.reporting.plots.figures import (
    BLUE,
    GREY,
    INK,
    VERMILION,
    axes_or_new,
    keep_in_panel,
    refuse_crowd,
    tidy_axes,
    wrapped,
)
from halftrek.reporting.plots.forest import Line, lines_of
from halftrek.reporting.plots.seen import seen_line, seen_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from halftrek.results.beside.adjustments import Adjustments
    from halftrek.results.fit import Fit

_ROW = 0.34  # inches for one line of a forest
_LETTERS = 34  # of a label in one line


@public
def plot_effects(effects: object, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """A forest plot: one line for each effect, its estimate and interval, and a rule at zero.

    ``effects`` is a list of answers, a dict of answers by label, a table of answers, what ``fit.mediation``,
    ``fit.decompose``, ``fit.adjustments`` and ``fit.instruments`` give, or a tidy frame with ``est``, ``ci_low`` and
    ``ci_high`` (as ``fit.effects()`` and ``fit.params()`` give them). Effects without a number are left out; an
    interval without an end has an arrow there.
    """
    lines = [line for line in lines_of(effects) if np.isfinite(line[1])]
    if not lines:
        raise InputError("plot_effects: there is no effect with a number to draw")
    refuse_crowd(len(lines), "plot_effects", "effects", ax)
    return _forest(lines, [BLUE] * len(lines), "effect, with its interval", ax, title)


def plot_adjustments(adjustments: Adjustments, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """A forest plot of ``fit.adjustments("x ~> y")``: crude in red, each minimal set in blue, the model in ink."""
    colours = {"crude": VERMILION, "adjusted": BLUE, "model": INK}
    lines = [(row.label, row.est, row.ci_low, row.ci_high) for row in adjustments.rows]
    words = f"effect of {adjustments.cause} on {adjustments.effect}, by what is adjusted for"
    return _forest(lines, [colours[row.kind] for row in adjustments.rows], words, ax, title)


def _forest(lines: Sequence[Line], colours: Sequence[str], words: str, ax: Axes | None, title: str | None) -> Axes:
    """One line for each estimate, hollow where its interval holds zero, with an arrow where that has no end."""
    given, ax = ax is not None, axes_or_new(ax, (6.4, 1.0 + _ROW * len(lines)))
    places = np.arange(len(lines))[::-1]
    finite = [x for _, *three in lines for x in (0.0, *three) if np.isfinite(x)]
    beyond = 0.1 * (max(finite) - min(finite))
    bottom, top = min(finite) - beyond, max(finite) + beyond
    ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=0)
    for place, colour, (_, value, low, high) in zip(places, colours, lines, strict=True):
        clear = low > 0.0 or high < 0.0
        ends = [bottom if low == -np.inf else low, top if high == np.inf else high]
        ax.plot(ends, [place, place], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2)
        for end, edge, marker in ((low, bottom, "<"), (high, top, ">")):
            if np.isinf(end):
                ax.plot(edge, place, marker, color=colour, markersize=6.5, zorder=2)
        ax.plot(value, place, "o", color=colour, markerfacecolor=colour if clear else "white", markersize=6.5, zorder=3)

    def labels(width: int) -> list[str]:
        return [wrapped(label, width) for label, *_ in lines]

    ax.set_yticks(places, labels(_LETTERS), parse_math=False)
    ax.set_ylim(-0.6, len(lines) - 0.4)
    ax.set_xlabel(words, parse_math=False)
    tidy_axes(ax, title, left=False)
    if given:
        keep_in_panel(ax, labels)
    return ax


def plot_paths(paths: object, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """The paths of a total effect as bars that add up to it.

    ``paths`` is what ``fit.decompose("x", "y")`` gives, or a tidy frame with the columns ``path`` and ``est``, and
    ``ci_low`` and ``ci_high`` for whiskers. Each bar begins where the one above ends.
    """
    rows, total = _shares(paths)
    if not rows:
        raise InputError("plot_paths: there is no path with a number to draw")
    given, ax = ax is not None, axes_or_new(ax, (6.4, 1.2 + 0.42 * (len(rows) + 1)))
    ends = np.concatenate([[0.0], np.cumsum([value for _, value, _, _ in rows])])
    whole = float(ends[-1]) if total is None else total[1]
    places = np.arange(len(rows) + 1)[::-1]
    for place, start, (_, value, low, high) in zip(places, ends, rows, strict=False):
        ax.barh(place, value, left=start, height=0.6, color=BLUE if value >= 0 else VERMILION, zorder=2)
        if np.isfinite(low) and np.isfinite(high):
            ax.plot([start + low, start + high], [place, place], color=INK, linewidth=1.0, zorder=3)
    for i in range(1, len(rows) + 1):
        ax.plot([ends[i]] * 2, [places[i] - 0.3, places[i - 1] + 0.3], color=GREY, linewidth=0.8, zorder=1)
    ax.barh(places[-1], whole, height=0.6, color=INK, zorder=2)
    ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=0)
    names = [*(label for label, *_ in rows), "total" if total is None else total[0]]
    values = [*(value for _, value, _, _ in rows), whole]

    def labels(width: int) -> list[str]:
        return [f"{wrapped(name, width)}\n{_part(value, whole)}" for name, value in zip(names, values, strict=True)]

    ax.set_yticks(places, labels(_LETTERS), fontsize="small", parse_math=False)
    ax.set_xlabel("effect, path after path")
    tidy_axes(ax, title, left=False)
    if given:
        keep_in_panel(ax, labels)
    return ax


def plot_dose_response(
    fit: Fit,
    cause: str,
    outcome: str,
    *,
    values: Sequence[float] | None = None,
    given: Mapping[str, float] | None = None,
    level: float = 0.95,
    seen: bool = True,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """The mean of ``outcome`` when ``cause`` is set to a range of values, with its pointwise interval.

    ``values`` defaults to two standard deviations around the mean of the cause, or, where it has only two values, to
    these: then there are two points, and no line between or beyond them. ``given`` holds values of other variables that
    were seen. ``seen`` draws what the rows say without the graph: dashed their regression of the outcome on the cause
    (and on what is given), and, where the rows are at hand and nothing is given, means of groups of them.
    """
    doses = doses_of(fit, cause, values)
    known = dict(given or {})
    layer = fit.moments.layer
    behind = layer is not None and any(layer.margin(v) is not None for v in (cause, outcome))
    asked = [Distribution.after((outcome,), {cause: float(x)}, known) for x in doses]
    questions = [Statistic("E", q.of, q.case) for q in asked] if behind else asked
    answers = [fit.query(question, level=level) for question in questions]
    means = np.array([float(a.mean) for a in answers])
    bands = np.array([(np.nan, np.nan) if a.interval is None else a.interval for a in answers], dtype=float)
    ax = axes_or_new(ax, (6.0, 3.8))
    apart = values is None and len(doses) == 2
    if apart:
        _draw_points(ax, doses, means, bands, cause, level)
    else:
        ax.fill_between(
            doses, bands[:, 0], bands[:, 1], color=BLUE, alpha=0.2, linewidth=0.0, label=f"{level:.0%} interval"
        )
        ax.plot(doses, means, color=BLUE, linewidth=2.2, label=f"{cause} set by intervention")
        ax.set_xlim(float(doses[0]), float(doses[-1]))
    if seen and not behind:  # a regression of categories or ranks would be another thing
        _draw_seen(ax, fit, cause, outcome, doses, known, line=not apart)
    ax.set_xlabel(cause, parse_math=False)
    condition = "".join(f", {v} = {x:g}" for v, x in known.items())
    ax.set_ylabel(f"mean of {outcome}{condition}", parse_math=False)
    legend = ax.legend(frameon=False, fontsize="small")
    for text in legend.get_texts():
        text.set_parse_math(False)
    tidy_axes(ax, title)
    return ax


def _draw_points(ax: Axes, doses: Floats, means: Floats, bands: Floats, cause: str, level: float) -> None:
    """The two values that a cause has, each with its mean and interval; there is nothing between or beyond them."""
    for x, (low, high) in zip(doses, bands, strict=True):
        whisker = ax.plot([x, x], [low, high], color=BLUE, alpha=0.4, linewidth=5.0, solid_capstyle="butt")[0]
        whisker.set_label(f"{level:.0%} interval" if x == doses[0] else "_")
    ax.plot(doses, means, "o", color=BLUE, markersize=8.0, label=f"{cause} set by intervention")
    ax.set_xticks(doses, [f"{x:g}" for x in doses])
    margin = 0.5 * float(doses[1] - doses[0])
    ax.set_xlim(float(doses[0]) - margin, float(doses[1]) + margin)


def _draw_seen(
    ax: Axes, fit: Fit, cause: str, outcome: str, doses: Floats, given: Mapping[str, float], *, line: bool
) -> None:
    """The regression in the rows, and means of groups of rows; nothing where no row has all that it takes.

    Without a ``line`` the regression has its values at the doses alone, which are the means where nothing is given.
    """
    try:
        start, slope = seen_line(fit, cause, outcome, given)
    except DataError:
        return
    look: dict[str, Any] = {
        "color": VERMILION,
        "zorder": 3,
    }  # above the answer, so that both are seen where they are one
    if not line:
        ax.plot(doses, start + slope * doses, "o", markersize=4.0, label=f"as seen: rows by {cause}", **look)
        return
    ax.plot(
        doses, start + slope * doses, linestyle="--", linewidth=1.8, label="as seen: regression of the rows", **look
    )
    means = None if given else seen_means(fit, cause, outcome)
    if means is not None:
        inside = (means.cause >= doses[0]) & (means.cause <= doses[-1])
        ax.plot(
            means.cause[inside],
            means.outcome[inside],
            "o",
            markersize=4.0,
            label="as seen: means of groups of rows",
            **look,
        )


def doses_of(fit: Fit, cause: str, values: Sequence[float] | None) -> Floats:
    """The values at which a response is shown: those given, or the two of a cause that has two, or a range."""
    if values is not None:
        doses = np.sort(np.asarray(values, dtype=float))
        if doses.ndim != 1 or len(doses) < 2:
            raise InputError("plot_dose_response: values must be at least two numbers")
        return doses
    fit.graph.parents(cause)  # an unknown name is refused here, with a hint
    data = data_of(fit)
    layer = fit.moments.layer
    margin = None if layer is None else layer.margin(cause)
    if margin is not None and margin.kind == "ranked":
        low, high = np.interp([0.05, 0.95], np.cumsum(margin.shares), margin.values).tolist()
        return np.linspace(low, high, 33)
    two = None if data.kinds is None else data.kinds[data.names.index(cause)].values
    if two is not None and len(two) == 2:
        return np.asarray(two, dtype=float)
    at = fit.moments.names.index(cause)
    centre, reach = float(fit.moments.mean[at]), 2.0 * float(np.sqrt(fit.moments.cov[at, at]))
    return np.linspace(centre - reach, centre + reach, 33)


def _shares(paths: object) -> tuple[list[Line], Line | None]:
    """The paths with numbers, and the total if it is among them."""
    total = None
    if hasattr(paths, "rows") and hasattr(paths, "total"):
        whole = paths.total
        total = (str(whole.path), float(whole.est), float(whole.ci_low), float(whole.ci_high))
        rows = [(str(r.path), float(r.est), float(r.ci_low), float(r.ci_high)) for r in paths.rows]
    else:
        columns = columns_in(paths, "plot_paths")
        values = numbers(pick(columns, ("est", "estimate", "value"), "plot_paths"))
        gaps = [float("nan")] * len(values)
        lows, highs = (numbers(columns.get(name, gaps)) for name in ("ci_low", "ci_high"))
        rows = list(zip(map(str, pick(columns, ("path",), "plot_paths")), values, lows, highs, strict=True))
        if rows and "~>" in rows[-1][0]:
            total = rows.pop()
    return [row for row in rows if np.isfinite(row[1])], total


def _part(value: float, whole: float) -> str:
    share = f" ({value / whole:.0%})" if whole and value != whole else ""
    return f"{value:.3g}{share}".replace("-", "−")
