"""Pictures of distributions, and the one way in which a picture gets into a file."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halftrek.bottom.files import MARK, whole_file
from halftrek.data import Histogram, histogram_of
from halftrek.errors import DataError, InputError, MissingExtraError, OutputError
from halftrek.models import Gaussian

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

# Okabe and Ito's palette: told apart by everyone, also in print.
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, INK = (
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#222222",
)  # fmt: skip
GREY = "#767676"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MOST_LINES = 1000  # of a picture with a line for each row
DASHES = ("-", "--", "-.", ":", (0, (6, 2)), (0, (1, 1)))


def new_figure(width: float, height: float, *, columns: int = 1, widths: tuple[float, ...] | None = None) -> Figure:
    """A figure that no window knows of, with axes side by side."""
    with drawing_is_possible():
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.subplots(1, columns, gridspec_kw={"width_ratios": widths} if widths else None)
    return figure


def refuse_crowd(count: int, name: str, what: str, ax: Axes | None) -> None:
    """Raise InputError for more lines than a picture of our own size can have: none can be higher than 65,536 dots."""
    if ax is None and count > MOST_LINES:
        raise InputError(
            f"{name}: {count:,} {what} do not fit into one picture, which has room for {MOST_LINES:,}; "
            f"give some of the rows, or axes of your own with ax="
        )


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given axes, or those of a new pyplot figure, which a notebook shows by itself."""
    if ax is not None:
        return ax
    with drawing_is_possible():
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=size, layout="constrained")[1]


@contextmanager
def drawing_is_possible() -> Iterator[None]:
    """What stands in the way of matplotlib, in our words: it is not there, or its backend is none of its own."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise InputError(_about_backend(error)) from error
        raise MissingExtraError("drawing pictures", "plot") from None
    except (ImportError, ValueError, RuntimeError) as error:
        raise InputError(_about_backend(error)) from error


def _about_backend(error: Exception) -> str:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    return (
        f"matplotlib cannot draw here: {said[:200]}; set MPLBACKEND to a backend that it has, for instance "
        f"MPLBACKEND=agg, or unset it"
    )


def plot_densities(
    densities: Mapping[str, Gaussian | Histogram | ArrayLike], *, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """One variable in several worlds, for instance in the rows and under an intervention.

    ``densities`` maps the text of the legend to a distribution, drawn as a normal curve (a variable held at a value as
    a vertical line), or to the values of rows, drawn as bars.
    """
    if not densities:
        raise InputError("plot_densities needs at least one distribution")
    worlds = {k: one if isinstance(one, Gaussian | Histogram) else _bars(k, one) for k, one in densities.items()}
    name = _variable(worlds)
    ax = axes_or_new(ax, (6.0, 3.6))
    spans = [_span(one) for one in worlds.values()]
    low, high = min(first for first, _ in spans), max(last for _, last in spans)
    if low == high:
        low, high = low - 1.0, high + 1.0
    x = np.linspace(low, high, 600)
    for i, (label, one) in enumerate(worlds.items()):
        look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)]}
        if isinstance(one, Histogram):
            edges = np.append(one.left, one.left[-1] + one.width)
            ax.stairs(one.height, edges, fill=True, color=look["color"], alpha=0.16)
            ax.stairs(one.height, edges, linewidth=1.1, label=label, **look)
            continue
        mean, sd = float(one.mean[0]), float(one.sd[0])
        if sd > 0.0:
            density = np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi))
            ax.plot(x, density, linewidth=2.0, label=label, **look)
            ax.fill_between(x, density, color=look["color"], alpha=0.10, linewidth=0.0)
        else:
            ax.axvline(mean, linewidth=2.0, label=label, **look)
    ax.set_xlim(low, high)
    ax.set_ylim(bottom=0.0, top=(1.1 + 0.07 * len(worlds)) * ax.get_ylim()[1])  # room for the legend
    ax.set_xlabel(name, parse_math=False)
    ax.set_ylabel("density")
    for text in ax.legend(frameon=False, loc="upper left", fontsize="small").get_texts():
        text.set_parse_math(False)
    tidy_axes(ax, title)
    return ax


def _bars(label: str, values: ArrayLike) -> Histogram:
    try:
        return histogram_of(values)
    except DataError as error:
        raise InputError(f"{label!r} is neither a distribution nor the values of rows: {error}") from None
    except (TypeError, ValueError):
        raise InputError(
            f"{label!r} is neither a distribution nor the values of rows; give an answer, or a list of numbers"
        ) from None


def _variable(worlds: Mapping[str, Gaussian | Histogram]) -> str:
    """The one variable that all are about; bars of bare numbers do not say theirs."""
    for label, one in worlds.items():
        if isinstance(one, Gaussian) and len(one.names) != 1:
            raise InputError(f"{label!r} is a distribution of {len(one.names)} variables; take .marginal(name) of one")
    names = {one.names[0] if isinstance(one, Gaussian) else one.name for one in worlds.values()} - {""}
    if len(names) > 1:
        raise InputError(f"the distributions are of different variables: {', '.join(sorted(names))}")
    return names.pop() if names else ""


def _span(one: Gaussian | Histogram) -> tuple[float, float]:
    if isinstance(one, Histogram):
        return one.span()
    return float(one.mean[0] - 3.6 * one.sd[0]), float(one.mean[0] + 3.6 * one.sd[0])


def tidy_axes(ax: Axes, title: str | None, *, left: bool = True) -> None:
    """Without the lines that frame nothing, and with a title of the size of the labels."""
    ax.spines[["top", "right"]].set_visible(False)
    if not left:
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    if title:
        ax.set_title(title, fontsize="medium")


def keep_in_panel(ax: Axes, labels: Callable[[int], Sequence[str]]) -> None:
    """Makes room within given axes for labels of the y-axis that would run into the panel to the left, or off the page.

    ``labels`` folds them to so many letters: long ones are folded further first. A figure that lays itself out makes
    the room by itself.
    """
    figure = ax.figure
    if figure.get_layout_engine() is not None:
        return
    box = ax.get_position()
    others = [a.get_position() for a in figure.axes if a is not ax]
    beside = [p.x1 for p in others if p.x1 <= box.x0 and p.y0 < box.y1 and box.y0 < p.y1]
    edge = max(beside, default=0.0) + 0.01
    for width in (26, 20, 14):
        if edge - _leftmost(ax) < 0.3 * box.width:
            break
        ax.set_yticks(ax.get_yticks(), labels(width), fontsize="small", parse_math=False)
    lack = min(edge - _leftmost(ax), 0.7 * box.width)
    if lack > 0.0:
        ax.set_position((box.x0 + lack, box.y0, box.width - lack, box.height))


def _leftmost(ax: Axes) -> float:
    """Where the labels of the y-axis begin, as a share of the figure's width."""
    return float(min(label.get_window_extent().x0 for label in ax.get_yticklabels()) / ax.figure.bbox.width)


def wrapped(label: str, width: int) -> str:
    """A label in as few lines as it needs, each about that wide."""
    return "\n".join(textwrap.wrap(label, width, break_long_words=False)) or label


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 150, overwrite: bool = False) -> Path:
    """Writes a figure, whole or not at all; the ending of the name is the format.

    A picture that halftrek wrote is replaced, another file only with ``overwrite=True``.
    """
    target = Path(path)
    ending = target.suffix.lower().lstrip(".")
    known = figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise OutputError(f"cannot write {str(target)!r}: end the name with one of .{', .'.join(sorted(known))}")
    with whole_file(target, overwrite=overwrite) as unfinished:
        figure.savefig(unfinished, dpi=dpi, format=ending, **_marked(ending))
    return target


def _marked(ending: str) -> dict[str, Any]:
    """Options that put our mark into a picture, so that it may be replaced; some formats have no room for it."""
    key = {"png": "Comment", "svg": "Description", "svgz": "Description", "pdf": "Keywords"}.get(ending)
    if key is not None:
        return {"metadata": {key: MARK}}
    if ending in ("ps", "eps"):
        return {"metadata": {"Creator": f"{MARK} with Matplotlib"}}
    if ending in ("jpg", "jpeg", "tif", "tiff", "webp"):
        from PIL.Image import Exif

        exif = Exif()
        exif[0x010E] = MARK  # the image's description
        return {"pil_kwargs": {"exif": exif}}
    return {}
