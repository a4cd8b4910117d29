"""What the user believes: the graph, its order, its districts, its other forms, its independences."""

from halftrek.bottom.words import did_you_mean
from halftrek.graphs.arcs import Arcs, arcs_of
from halftrek.graphs.checks import Coefficient
from halftrek.graphs.edges import Edge, check_name, quoted, written
from halftrek.graphs.forms.indicators import with_indicators
from halftrek.graphs.graph import Graph

__all__ = [
    "Arcs",
    "Coefficient",
    "Edge",
    "Graph",
    "arcs_of",
    "check_name",
    "did_you_mean",
    "quoted",
    "with_indicators",
    "written",
]
