"""What the user believes: the graph, its order, its districts, its other forms, its independences."""

from halftrek.graph.edges import did_you_mean, edge_key, parse_edge_key
from halftrek.graph.graph import Graph

__all__ = ["Graph", "did_you_mean", "edge_key", "parse_edge_key"]
