"""Checks as pictures: convergence, residual correlations, implied constraints, the likelihood along an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.calls import public
from halftrek.errors import InputError
from halftrek.inference.checks.residuals import correlations
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.profiles.profile import Profile
from halftrek.reporting.plots.columns import columns_in, numbers, pick
from halftrek.reporting.plots.figures import (
    BLUE,
    COLOURS,
    DASHES,
    INK,
    VERMILION,
    axes_or_new,
    refuse_crowd,
    tidy_axes,
    wrapped,
)
from halftrek.results.fit import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SETTLED = 1e-9  # of the log-likelihood: closer to the maximum is rounding
_MANY = 15  # variables beyond which a heat map has no numbers in its cells


def plot_convergence(
    traces: Fit | Mapping[str, Sequence[float]] | Sequence[float],
    *,
    best: float | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """How far EM alone is below the maximum after each step, on the scale of logarithms; a straight line is its rate.

    ``traces`` is a fit, or log-likelihoods by step, of one algorithm or of several by name; ``best`` is the maximum.
    """
    if isinstance(traces, Fit):
        from halftrek.estimation.district.trace import likelihood_trace

        if best is not None:
            raise InputError("plot_convergence: a fit knows its maximum; leave best out")
        best, traces = traces.loglik, {"EM alone": likelihood_trace(traces)}
    several = traces if isinstance(traces, Mapping) else {"log-likelihood": traces}
    series = {label: np.asarray(values, dtype=float) for label, values in several.items()}
    if not series or any(v.ndim != 1 or not len(v) for v in series.values()):
        raise InputError("plot_convergence: each trace must be a list of log-likelihoods by step")
    top = max(float(np.nanmax(v)) for v in series.values())
    top = top if best is None else max(top, best)
    ax = axes_or_new(ax, (6.0, 3.6))
    for i, (label, values) in enumerate(series.items()):
        gap = np.maximum(top - values, _SETTLED)
        gap = gap[: int(np.argmax(gap <= _SETTLED)) + 1] if (gap <= _SETTLED).any() else gap
        colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
        steps = np.arange(1, len(gap) + 1)
        ax.plot(steps, gap, color=colour, linestyle=dash, linewidth=2.0, marker="o", markersize=3.5, label=label)
    ax.set_yscale("log")
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("step")
    ax.set_ylabel("log-likelihood below its maximum")
    ax.legend(frameon=False, fontsize="small")
    tidy_axes(ax, title)
    return ax


@public
def plot_residuals(fit: Fit, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Observed less implied correlation of every pair: where the model misses what the data say."""
    names = fit.moments.names
    model = fit.model.reorder(names)
    data = kind_of_data(fit)
    gap = correlations(data.unrestricted(fit).select(names).cov) - correlations(model.cov)
    gap[~data.known_pairs(fit)] = np.nan
    if np.isnan(gap).all():
        raise InputError("plot_residuals: the rows do not determine the correlations without the model")
    p = len(names)
    size = min(11.0, 2.2 + 0.42 * p)
    ax = axes_or_new(ax, (size + 0.8, size))
    reach = max(0.1, float(np.nanmax(np.abs(gap))))
    shown = np.where(np.tri(p, k=-1, dtype=bool), gap, np.nan)[1:, :-1] if p > 1 else np.zeros((1, 1))
    image = ax.imshow(shown, cmap="PuOr_r", vmin=-reach, vmax=reach)
    crowded = p > _MANY
    turn = {"rotation": 90} if crowded else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    letters = "x-small" if crowded else "medium"
    ax.set_xticks(range(p - 1), names[:-1], fontsize=letters, parse_math=False, **turn)
    ax.set_yticks(range(p - 1), names[1:], fontsize=letters, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if not crowded:
        for (i, j), value in np.ndenumerate(shown):
            if np.isfinite(value):
                ink = "white" if abs(value) > 0.6 * reach else INK
                text = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
                ax.text(j, i, text, ha="center", va="center", fontsize="small", color=ink)
    ax.figure.colorbar(image, ax=ax, shrink=0.7, label="observed − implied correlation")
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


@public
def plot_constraints(tests: object, *, level: float = 0.05, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Tests of what the graph implies: a dot for the p-value of each constraint, and the level as a rule.

    ``tests`` is ``fit.tests()``, or a tidy frame with ``constraint`` and ``p`` or ``p_adjusted``, and ``estimate``
    (zero where the constraint holds), which is shown beside the name. What the data contradict at ``level`` is filled.
    """
    columns = columns_in(tests, "plot_constraints")
    labels = [str(v) for v in pick(columns, ("constraint",), "plot_constraints")]
    p = np.array(numbers(pick(columns, ("p_adjusted", "p", "pvalue"), "plot_constraints")))
    found = numbers(columns.get("estimate", [None] * len(labels)))
    keep = np.flatnonzero(np.isfinite(p))
    if not len(keep):
        raise InputError("plot_constraints: the graph implies nothing that these data could contradict")
    refuse_crowd(len(keep), "plot_constraints", "constraints", ax)
    ax = axes_or_new(ax, (6.8, 1.1 + 0.34 * len(keep)))
    places = np.arange(len(keep))[::-1]
    floor = 1e-6
    ax.axvspan(floor / 2, level, color=VERMILION, alpha=0.08, linewidth=0.0)
    ax.axvline(level, color=VERMILION, linestyle="--", linewidth=1.2)
    for place, i in zip(places, keep, strict=True):
        bad = p[i] < level
        colour = VERMILION if bad else BLUE
        at = max(p[i], floor)
        ax.plot(at, place, "<" if p[i] < floor else "o", color=colour, markerfacecolor=colour if bad else "white")
    ax.set_xscale("log")
    ax.set_xlim(floor / 2, 1.6)
    ax.set_yticks(places, [_constraint(labels[i], found[i]) for i in keep], fontsize="small", parse_math=False)
    ax.set_ylim(-0.6, len(keep) - 0.4)
    adjusted = "adjusted " if "p_adjusted" in columns else ""
    ax.set_xlabel(f"{adjusted}p-value, level {level:g}")
    tidy_axes(ax, title, left=False)
    return ax


def plot_profile(
    values: Sequence[float] | Floats | Profile,
    deviance: Sequence[float] | Floats | None = None,
    *,
    cut: float | None = None,
    estimate: float | None = None,
    name: str = "value of the answer",
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """The deviance along an answer, with the cut that makes the interval.

    ``values`` and ``deviance`` are numbers, or ``values`` is a profile that has both, with ``cut`` and ``estimate``.
    """
    if deviance is None:
        if cut is not None or estimate is not None:
            raise InputError("plot_profile: a profile has its cut and estimate; leave them out")
        if not isinstance(values, Profile):
            raise InputError("plot_profile: values need their deviance beside them, or give a profile, which has both")
        profile, values = values, values.values
        deviance, cut, estimate = profile.deviance, profile.cut, profile.estimate
    x, y = np.asarray(values, dtype=float), np.asarray(deviance, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError("plot_profile: values and deviance must be lists of one length")
    ax = axes_or_new(ax, (6.0, 3.6))
    ax.plot(x, y, color=BLUE, linewidth=2.2)
    if cut is not None:
        ax.axhline(cut, color=VERMILION, linestyle="--", linewidth=1.4)
        ax.text(0.995, cut, f"{cut:.2f} ", color=VERMILION, ha="right", va="bottom", transform=ax.get_yaxis_transform())
        inside = y <= cut
        ax.fill_between(x, y, cut, where=list(inside), interpolate=True, color=BLUE, alpha=0.15, linewidth=0.0)
        ax.set_ylim(0.0, min(float(np.nanmax(y)) * 1.05, 4.0 * cut) if np.nanmax(y) > cut else 1.3 * cut)
    else:
        ax.set_ylim(bottom=0.0)
    if estimate is not None:
        ax.plot(estimate, 0.0, "o", color=INK, clip_on=False, zorder=5)
    ax.set_xlim(float(x.min()), float(x.max()))
    ax.set_xlabel(name, parse_math=False)
    ax.set_ylabel("deviance")
    tidy_axes(ax, title)
    return ax


def _constraint(label: str, found: float) -> str:
    text = wrapped(label, 44)
    return text if np.isnan(found) else f"{text}  ({found:+.2f})".replace("-", "−")
