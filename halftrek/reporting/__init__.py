"""What people see: text, tables, pictures, records for JSON, progress."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halftrek.reporting.check_plots import plot_constraints, plot_convergence, plot_profile, plot_residuals
    from halftrek.reporting.effect_plots import plot_dose_response, plot_effects, plot_paths
    from halftrek.reporting.effects import describe_decomposition, describe_mediation
    from halftrek.reporting.graph_picture import draw_graph
    from halftrek.reporting.plots import plot_densities, save
    from halftrek.reporting.progress import late_bar, progress_bar
    from halftrek.reporting.sensitivity import Sensitivity, plot_sensitivity, sensitivity
    from halftrek.reporting.svg import graph_svg
    from halftrek.reporting.text import describe_answer, parameter_table, summarize_fit
    from halftrek.reporting.tikz import to_tikz
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
    "check_plots": ("plot_constraints", "plot_convergence", "plot_profile", "plot_residuals"),
    "effect_plots": ("plot_dose_response", "plot_effects", "plot_paths"),
    "effects": ("describe_decomposition", "describe_mediation"),
    "graph_picture": ("draw_graph",),
    "plots": ("plot_densities", "save"),
    "progress": ("late_bar", "progress_bar"),
    "sensitivity": ("Sensitivity", "plot_sensitivity", "sensitivity"),
    "svg": ("graph_svg",),
    "text": ("describe_answer", "parameter_table", "summarize_fit"),
    "tikz": ("to_tikz",),
    "verdicts": ("describe_verdict",),
}


class _Room(ModuleType):
    """This room: ``sensitivity`` is the function, not the module of this name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):  # importing a module would put it in the way
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"halftrek.reporting.{home}"), name)
    raise AttributeError(f"module 'halftrek.reporting' has no attribute {name!r}")
