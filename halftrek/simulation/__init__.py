"""Random graphs, random parameters, simulated rows."""

from halftrek.simulation.graphs import random_graph
from halftrek.simulation.models import random_model
from halftrek.simulation.rows import simulate

__all__ = ["random_graph", "random_model", "simulate"]
