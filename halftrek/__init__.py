"""halftrek: causal effects in linear models with hidden confounders.

Can this effect be known at all, what is it, how sure are we, and if it can't be known, what can?

    import halftrek as ht

    g = ht.graph("smoking -> tar -> cancer; smoking <-> cancer")
    ht.identify(g, "P(cancer | do(smoking))").explain()
    ht.fit(g, "data.csv").query("P(cancer | do(smoking=1))").mean
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from halftrek.answers import Answer
from halftrek.catalog import catalog, dataset
from halftrek.errors import (
    ConvergenceError,
    DataError,
    GraphError,
    GraphSyntaxError,
    HalftrekError,
    InputError,
    MissingExtraError,
    ModelError,
    NotIdentifiedError,
    OutputError,
    QueryError,
    QuestionSyntaxError,
)
from halftrek.estimation import BatchFit, Fit, Status
from halftrek.estimation.groups import GroupFits
from halftrek.graph import Graph
from halftrek.identification import Verdict, solve
from halftrek.model import CGLSCM, GLSCM, Gaussian, cgl_edge
from halftrek.moments import Moments
from halftrek.storage import load, save
from halftrek.syntax import format_graph, parse_question
from halftrek.workflow import fit, fit_batch, fit_groups, graph, identify, moments

if TYPE_CHECKING:
    from halftrek.comparison import Comparison, compare

__version__ = "0.1.0"

__all__ = [
    "CGLSCM",
    "GLSCM",
    "Answer",
    "BatchFit",
    "Comparison",
    "ConvergenceError",
    "DataError",
    "Fit",
    "Gaussian",
    "Graph",
    "GraphError",
    "GraphSyntaxError",
    "GroupFits",
    "HalftrekError",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "Moments",
    "NotIdentifiedError",
    "OutputError",
    "QueryError",
    "QuestionSyntaxError",
    "Status",
    "Verdict",
    "catalog",
    "cgl_edge",
    "compare",
    "dataset",
    "fit",
    "fit_batch",
    "fit_groups",
    "format_graph",
    "graph",
    "identify",
    "load",
    "moments",
    "parse_question",
    "save",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name in ("Comparison", "compare"):  # loaded when first used
        return getattr(import_module("halftrek.comparison"), name)
    raise AttributeError(f"module 'halftrek' has no attribute {name!r}")
