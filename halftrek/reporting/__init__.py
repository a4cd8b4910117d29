"""What people see: text, tables, pictures, records for JSON, progress."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand

if TYPE_CHECKING:
    from halftrek.bottom.progress import late_bar, progress_bar
    from halftrek.partial import Sensitivity, plot_sensitivity, sensitivity
    from halftrek.reporting.described.effects import describe_decomposition, describe_mediation
    from halftrek.reporting.described.verdicts import describe_verdict
    from halftrek.reporting.plots.bounds import plot_bounds
    from halftrek.reporting.plots.checks import plot_constraints, plot_convergence, plot_profile, plot_residuals
    from halftrek.reporting.plots.effects import plot_adjustments, plot_dose_response, plot_effects, plot_paths
    from halftrek.reporting.plots.figures import plot_densities, save
    from halftrek.reporting.plots.graph import draw_graph
    from halftrek.reporting.plots.svg import graph_svg
    from halftrek.reporting.plots.tikz import to_tikz
    from halftrek.reporting.text import describe_answer, summarize_fit
    from halftrek.results.words.listings import parameter_table

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
    "plot_adjustments",
    "plot_bounds",
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
    "reporting.plots.bounds": ("plot_bounds",),
    "reporting.plots.checks": ("plot_constraints", "plot_convergence", "plot_profile", "plot_residuals"),
    "reporting.plots.effects": ("plot_adjustments", "plot_dose_response", "plot_effects", "plot_paths"),
    "reporting.described.effects": ("describe_decomposition", "describe_mediation"),
    "reporting.plots.graph": ("draw_graph",),
    "reporting.plots.figures": ("plot_densities", "save"),
    "reporting.plots.svg": ("graph_svg",),
    "reporting.text": ("describe_answer", "summarize_fit"),
    "reporting.plots.tikz": ("to_tikz",),
    "reporting.described.verdicts": ("describe_verdict",),
    "partial": ("Sensitivity", "plot_sensitivity", "sensitivity"),
    "bottom.progress": ("late_bar", "progress_bar"),
    "results.words.listings": ("parameter_table",),
}
__getattr__ = on_demand(__name__, _HOMES)
