"""Random graphs, random parameters, simulated rows."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand

if TYPE_CHECKING:
    from halftrek.simulation.graphs import random_graph
    from halftrek.simulation.models import random_model
    from halftrek.simulation.rows import simulate

__all__ = ["random_graph", "random_model", "simulate"]

_HOMES = {  # loaded when first used
    "simulation.graphs": ("random_graph",),
    "simulation.models": ("random_model",),
    "simulation.rows": ("simulate",),
}
__getattr__ = on_demand(__name__, _HOMES)
