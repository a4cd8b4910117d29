"""Pictures, by short names: ``ht.plot.graph(fit)``, ``ht.plot.effects(fit, ...)``; ``dir(ht.plot)`` lists them.

The same functions as in ``halftrek.reporting``, where they have long names (``draw_graph``, ``plot_effects``). Each
returns the axes that it drew on. matplotlib is imported when one of them draws.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halftrek.partial import plot_sensitivity as sensitivity
    from halftrek.reporting.plots.bounds import plot_bounds as bounds
    from halftrek.reporting.plots.checks import plot_constraints as constraints
    from halftrek.reporting.plots.checks import plot_convergence as convergence
    from halftrek.reporting.plots.checks import plot_profile as profile
    from halftrek.reporting.plots.checks import plot_residuals as residuals
    from halftrek.reporting.plots.effects import plot_adjustments as adjustments
    from halftrek.reporting.plots.effects import plot_dose_response as dose_response
    from halftrek.reporting.plots.effects import plot_effects as effects
    from halftrek.reporting.plots.effects import plot_paths as paths
    from halftrek.reporting.plots.figures import plot_densities as densities
    from halftrek.reporting.plots.figures import save
    from halftrek.reporting.plots.graph import draw_graph as graph

__all__ = [
    "adjustments",
    "bounds",
    "constraints",
    "convergence",
    "densities",
    "dose_response",
    "effects",
    "graph",
    "paths",
    "profile",
    "residuals",
    "save",
    "sensitivity",
]

_LONG = {"graph": "draw_graph", "save": "save"}  # the others are plot_...


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'halftrek.plot' has no attribute {name!r}; there are {', '.join(__all__)}")
    found = getattr(import_module("halftrek.reporting"), _LONG.get(name, f"plot_{name}"))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)
