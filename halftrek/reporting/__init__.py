"""What people see: text, tables, pictures, records for JSON, progress."""

from halftrek.reporting.effects import describe_decomposition, describe_mediation
from halftrek.reporting.graph_picture import draw_graph
from halftrek.reporting.plots import plot_densities, save
from halftrek.reporting.progress import progress_bar
from halftrek.reporting.text import describe_answer, describe_verdict, parameter_frame, summarize_fit

__all__ = [
    "describe_answer",
    "describe_decomposition",
    "describe_mediation",
    "describe_verdict",
    "draw_graph",
    "parameter_frame",
    "plot_densities",
    "progress_bar",
    "save",
    "summarize_fit",
]
