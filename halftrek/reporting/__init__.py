"""What people see: text, tables, pictures, records for JSON, progress."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halftrek.partial import Sensitivity, plot_sensitivity, sensitivity
    from halftrek.reporting.effects import describe_decomposition, describe_mediation
    from halftrek.reporting.plots.checks import plot_constraints, plot_convergence, plot_profile, plot_residuals
    from halftrek.reporting.plots.effects import plot_dose_response, plot_effects, plot_paths
    from halftrek.reporting.plots.figures import plot_densities, save
    from halftrek.reporting.plots.graph import draw_graph
    from halftrek.reporting.plots.svg import graph_svg
    from halftrek.reporting.plots.tikz import to_tikz
    from halftrek.reporting.progress import late_bar, progress_bar
    from halftrek.reporting.text import describe_answer, parameter_table, summarize_fit
    from halftrek.reporting.verdicts import describe_verdict

__all__ = [
    "Sensitivity",
    "describe_answer",
    "describe_decomposition",
    "describe_mediation",
    "describe_verdict",
    "draw_graph",
    "graph_svg",
    "late_bar",
    "parameter_table",
    "plot_constraints",
    "plot_convergence",
    "plot_densities",
    "plot_dose_response",
    "plot_effects",
    "plot_paths",
    "plot_profile",
    "plot_residuals",
    "plot_sensitivity",
    "progress_bar",
    "save",
    "sensitivity",
    "summarize_fit",
    "to_tikz",
]

_HOMES = {  # loaded when first used: a table needs no pictures
    "plots.checks": ("plot_constraints", "plot_convergence", "plot_profile", "plot_residuals"),
    "plots.effects": ("plot_dose_response", "plot_effects", "plot_paths"),
    "effects": ("describe_decomposition", "describe_mediation"),
    "plots.graph": ("draw_graph",),
    "plots.figures": ("plot_densities", "save"),
    "progress": ("late_bar", "progress_bar"),
    "plots.svg": ("graph_svg",),
    "text": ("describe_answer", "parameter_table", "summarize_fit"),
    "plots.tikz": ("to_tikz",),
    "verdicts": ("describe_verdict",),
}


def __getattr__(name: str) -> Any:
    if name in ("Sensitivity", "plot_sensitivity", "sensitivity"):  # where users find them since the first version
        return getattr(import_module("halftrek.partial"), name)
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"halftrek.reporting.{home}"), name)
    raise AttributeError(f"module 'halftrek.reporting' has no attribute {name!r}")
