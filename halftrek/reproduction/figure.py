"""The study as a picture: estimates over many samples against the truth and the Cramér-Rao bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.reporting.plots.figures import BLUE, INK, ORANGE, VERMILION, drawing_is_possible
from halftrek.reproduction.results import Accuracy, Reproduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure(reproduction: Reproduction) -> Figure:
    """One panel for each quantity of the paper's tables: a row for each experiment."""
    with drawing_is_possible():
        from matplotlib.figure import Figure
    experiments = reproduction.experiments
    columns = max(sum(a.noise == "free" for a in e.accuracy) for e in experiments)
    picture = Figure(figsize=(3.1 * columns, 2.9 * len(experiments) + 0.7), layout="constrained")
    grid = picture.subplots(len(experiments), columns, squeeze=False)
    for panels, e in zip(grid, experiments, strict=True):
        free = [a for a in e.accuracy if a.noise == "free"]
        unit = [a for a in e.accuracy if a.noise == "unit"]
        for ax, a, b in zip(panels, free, unit, strict=True):
            _panel(ax, a, b)
        panels[0].set_ylabel(e.title)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    picture.suptitle(
        f"Exact fit of {reproduction.replicates:,} samples of {reproduction.rows:,} rows against the Cramér-Rao bound"
    )
    return picture


def _panel(ax: Axes, free: Accuracy, unit: Accuracy) -> None:
    values, held = (a.estimates[np.isfinite(a.estimates)] for a in (free, unit))
    reach = max(3.5 * free.bound, 1.05 * float(np.abs(np.concatenate([values, held]) - free.truth).max()))
    edges = np.linspace(free.truth - reach, free.truth + reach, 19).tolist()
    ax.hist(values, bins=edges, density=True, color=BLUE, alpha=0.45, label="estimates, noise variances free")
    ax.hist(
        held,
        bins=edges,
        density=True,
        histtype="step",
        color=ORANGE,
        linewidth=1.6,
        label="estimates, noise variances held at 1",
    )
    x = np.linspace(edges[0], edges[-1], 300)
    density = np.exp(-0.5 * ((x - free.truth) / free.bound) ** 2) / (free.bound * np.sqrt(2.0 * np.pi))
    ax.plot(x, density, color=INK, linewidth=1.6, label="normal with the bound's variance (free)")
    ax.axvline(free.truth, color=VERMILION, linestyle="--", linewidth=1.6, label="truth")
    ax.set_title(f"{free.quantity}\nefficiency {free.efficiency:.2f} ± {free.efficiency_error:.2f}", fontsize="medium")
    ax.locator_params(axis="x", nbins=4)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
