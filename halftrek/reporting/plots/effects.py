"""Effects as pictures: a forest of intervals, the paths of an effect, the response to a dose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import DataError, InputError
from halftrek.estimation.data_kind import data_of
from halftrek.queries import Interventional
from halftrek.reporting.plots.columns import Entry, columns_in, numbers, pick
from halftrek.reporting.plots.figures import BLUE, GREY, INK, VERMILION, axes_or_new, keep_in_panel, tidy_axes, wrapped
from halftrek.reporting.plots.seen import seen_line, seen_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from halftrek.results.adjustments import Adjustments
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

_ROW = 0.34  # inches for one line of a forest
_LETTERS = 34  # of a label in one line
Line = tuple[str, float, float, float]  # label, estimate, low, high


def plot_effects(effects: object, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """A forest plot: one line for each effect, its estimate and interval, and a rule at zero.

    ``effects`` is a list of answers, a dict of answers by label, or a tidy frame with ``est``, ``ci_low`` and
    ``ci_high`` (as ``fit.effects()`` and ``fit.params()`` give them). Effects without a number are left out.
    """
    lines = [line for line in _lines(effects) if np.isfinite(line[1])]
    if not lines:
        raise InputError("plot_effects: there is no effect with a number to draw")
    return _forest(lines, [BLUE] * len(lines), "effect, with its interval", ax, title)


def plot_adjustments(adjustments: Adjustments, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """A forest plot of ``fit.adjustments("x ~> y")``: crude in red, each minimal set in blue, the model in ink."""
    colours = {"crude": VERMILION, "adjusted": BLUE, "model": INK}
    lines = [(row.label, row.est, row.ci_low, row.ci_high) for row in adjustments.rows]
    words = f"effect of {adjustments.cause} on {adjustments.effect}, by what is adjusted for"
    return _forest(lines, [colours[row.kind] for row in adjustments.rows], words, ax, title)


def _forest(lines: Sequence[Line], colours: Sequence[str], words: str, ax: Axes | None, title: str | None) -> Axes:
    """One line for each estimate, hollow where its interval holds zero."""
    given, ax = ax is not None, axes_or_new(ax, (6.4, 1.0 + _ROW * len(lines)))
    places = np.arange(len(lines))[::-1]
    ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=0)
    for place, colour, (_, value, low, high) in zip(places, colours, lines, strict=True):
        clear = low > 0.0 or high < 0.0
        ax.plot([low, high], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2)
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
    doses = _doses(fit, cause, values)
    known = dict(given or {})
    answers = [fit.query(Interventional((outcome,), {cause: float(x)}, known), level=level) for x in doses]
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
    if seen:
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


def _doses(fit: Fit, cause: str, values: Sequence[float] | None) -> Floats:
    if values is not None:
        doses = np.sort(np.asarray(values, dtype=float))
        if doses.ndim != 1 or len(doses) < 2:
            raise InputError("plot_dose_response: values must be at least two numbers")
        return doses
    fit.graph.parents(cause)  # an unknown name is refused here, with a hint
    data = data_of(fit)
    two = None if data.kinds is None else data.kinds[data.names.index(cause)].values
    if two is not None and len(two) == 2:
        return np.asarray(two, dtype=float)
    at = fit.moments.names.index(cause)
    centre, reach = float(fit.moments.mean[at]), 2.0 * float(np.sqrt(fit.moments.cov[at, at]))
    return np.linspace(centre - reach, centre + reach, 33)


def _lines(effects: object) -> list[Line]:
    if isinstance(effects, Mapping) and all(hasattr(a, "estimate") for a in effects.values()):
        return [_of_answer(str(label), answer) for label, answer in effects.items()]
    if isinstance(effects, (list, tuple)):
        return [_of_answer(str(answer.query), answer) for answer in effects]
    columns = columns_in(effects, "plot_effects")
    values = numbers(pick(columns, ("est", "estimate", "value"), "plot_effects"))
    lows = numbers(pick(columns, ("ci_low", "low"), "plot_effects"))
    highs = numbers(pick(columns, ("ci_high", "high"), "plot_effects"))
    return list(zip(_labels(columns), values, lows, highs, strict=True))


def _of_answer(label: str, answer: Answer) -> Line:
    value = np.asarray(answer.value, dtype=float)
    if value.ndim:
        raise InputError(f"plot_effects: {label} has {value.size} outcomes; ask for one at a time")
    low, high = (np.nan, np.nan) if answer.interval is None else answer.interval
    return label, float(value), float(low), float(high)


def _labels(columns: Mapping[str, list[Entry]]) -> list[str]:
    """What each line is about: a column that says so, or the ends of an effect."""
    for name in ("label", "path", "query"):
        if name in columns:
            return [str(v) for v in columns[name]]
    if "cause" in columns and "effect" in columns:
        kinds = columns.get("kind", ["total"] * len(columns["cause"]))
        ends = zip(columns["cause"], columns["effect"], kinds, strict=True)
        return [
            f"{u} {'->' if k == 'direct' else '~>'} {v}" + ("" if k in ("direct", "total") else f" ({k})")
            for u, v, k in ends
        ]
    if {"lhs", "op", "rhs"} <= set(columns):
        parts = zip(columns["lhs"], columns["op"], columns["rhs"], strict=True)
        return [_parameter(str(lhs), str(op), str(rhs)) for lhs, op, rhs in parts]
    return [str(v) for v in pick(columns, ("effect",), "plot_effects")]


def _parameter(lhs: str, op: str, rhs: str) -> str:
    if op == "~":
        return f"{rhs} -> {lhs}"
    return f"{lhs} {'->' if op == '=~' else '<->' if op == '~~' else op} {rhs}".strip()


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
