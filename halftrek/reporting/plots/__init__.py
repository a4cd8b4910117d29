"""Pictures: graphs, effects, checks, distributions; each drawn by matplotlib or as SVG and TikZ text."""

from halftrek.reporting.plots.figures import new_figure, save

__all__ = ["new_figure", "save"]
