"""Bounds as a picture: the set, the interval around it, and what holds each end."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING

from halftrek.errors import InputError
from halftrek.reporting.plots.figures import BLUE, GREY, VERMILION, axes_or_new, tidy_axes
from halftrek.results.sets.bounds import INDEPENDENT, Bounds, set_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from halftrek.results.answers import Answer
    from halftrek.results.sets.bounds import Ends

MARGIN = 0.35  # of what is finite, beyond the outermost finite end ...
OPEN = 4.0  # ... times this where values go on without end


def plot_bounds(found: Bounds | Answer, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draws the set as a thick bar, piece by piece, and the interval for the true value as a thin one below it.

    ``found`` is what ``fit.bounds`` gives, or an answer that is a set (``fit.query(..., errors="independent")``).
    """
    found = _set_of(found)
    ax = axes_or_new(ax, (7.0, 2.6))
    low, high = _window(found)
    ax.set_xlim(low, high)
    ax.set_ylim(-0.75, 1.6)
    if low < 0.0 < high and found.interval_pieces:
        ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=0)
    pieces = found.pieces or (() if found.empty else ((found.low, found.high),))
    for piece in pieces:
        _bar(ax, piece, 0.75, BLUE, 9.0)
    for piece in found.interval_pieces:
        _bar(ax, piece, 0.0, VERMILION, 3.0)
    if not pieces:
        ax.text(0.5, 0.75, "no value" if found.kind == INDEPENDENT else "no model obeys the assumptions",
                transform=ax.get_yaxis_transform(), ha="center",
                va="center", color=BLUE)  # fmt: skip
    if not found.interval_pieces:
        ax.text(0.5, 0.0, "the data exclude every value", transform=ax.get_yaxis_transform(), ha="center",
                va="center", color=VERMILION)  # fmt: skip
    _named(ax, found)
    left = "estimate" if found.kind == INDEPENDENT and found.low == found.high else "values left"
    ax.set_yticks([0.75, 0.0], [left, f"{100 * found.level:g}% interval"])
    asked = "the answer" if found.question is None else str(found.question)
    ax.set_xlabel(asked, parse_math=False)
    both = "" if found.pieces == found.interval_pieces else f": {set_in_words(found.interval_pieces)}"
    tidy_axes(ax, title or f"{asked}: {found.words} ({100 * found.level:g}%{both})")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, pad=12)
    if found.empty and not found.interval_pieces:
        ax.set_xticks([])
    return ax


def _set_of(found: Bounds | Answer) -> Bounds:
    inside = found if isinstance(found, Bounds) else getattr(found, "result", None)
    if not isinstance(inside, Bounds):
        raise InputError("plot_bounds draws answers that are sets of values; plot_effects draws those with one value")
    return inside


def _window(found: Bounds) -> Ends:
    """From a little below the lowest finite end to a little above the highest."""
    known = [x for piece in (*found.pieces, *found.interval_pieces, (found.low, found.high)) for x in piece]
    finite = [x for x in known if isfinite(x)]
    if not finite:
        return -1.0, 1.0
    low, high = min(finite), max(finite)
    room = MARGIN * (high - low) or MARGIN * max(abs(low), 1.0)
    open_low, open_high = (any(x == end for x in known) for end in (-inf, inf))
    return low - room * (OPEN if open_low else 1.0), high + room * (OPEN if open_high else 1.0)


def _bar(ax: Axes, piece: Ends, height: float, color: str, width: float) -> None:
    """A piece from end to end; an end without limit runs out of the picture as an arrow."""
    left, right = ax.get_xlim()
    low, high = (max(piece[0], left), min(piece[1], right)) if piece[0] == piece[0] else (left, right)
    ax.plot([low, high], [height, height], color=color, linewidth=width, solid_capstyle="butt", zorder=3)
    if low == high:
        ax.plot([low], [height], "o", color=color, markersize=width, zorder=3)
    for end, at, sign in ((piece[0], left, "<"), (piece[1], right, ">")):
        if not isfinite(end):
            ax.plot([at], [height], sign, color=color, markersize=width + 4.0, clip_on=False, zorder=4)


def _named(ax: Axes, found: Bounds) -> None:
    """Above each end of the set what holds it."""
    left, right = ax.get_xlim()
    for name, value, _ in found.ends:
        side = "left" if name == "lower" else "right"
        key = "low" if name == "lower" else "high"
        words = " and ".join(found.binding[key]) or ("inside" if found.attained[key] else "a limit")
        near = (value - left) / (right - left)
        outwards = "right" if side == "left" else "left"  # away from the other end, where there is room
        align = "left" if near < 0.4 else "right" if near > 0.6 else outwards
        height = 1.12 if side == "left" else 1.4
        ax.plot([value, value], [0.85, height - 0.06], color=GREY, linewidth=0.8, zorder=1)
        ax.text(value, height, f"{found.shown(value)}: {words}", ha=align, va="bottom", fontsize=8, parse_math=False)
