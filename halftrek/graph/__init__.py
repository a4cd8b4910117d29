"""What the user believes: the graph, its order, its districts, its other forms, its independences."""

from halftrek.graph.arcs import Arcs, arcs_of
from halftrek.graph.checks import Coefficient
from halftrek.graph.edges import check_name, did_you_mean, edge_key, parse_edge_key, quoted
from halftrek.graph.graph import Graph
from halftrek.graph.indicators import with_indicators

__all__ = [
    "Arcs",
    "Coefficient",
    "Graph",
    "arcs_of",
    "check_name",
    "did_you_mean",
    "edge_key",
    "parse_edge_key",
    "quoted",
    "with_indicators",
]
