"""halftrek: causal effects in linear models with hidden confounders.

Can this effect be known at all, what is it, how sure are we, and if it can't be known, what can?

    import halftrek as ht

    g = ht.graph("smoking -> tar -> cancer; smoking <-> cancer")
    ht.identify(g, "P(cancer | do(smoking))").explain()
    ht.fit(g, "data.csv").query("P(cancer | do(smoking=1))").mean
"""

from importlib import import_module
from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand

if TYPE_CHECKING:
    from halftrek import plot
    from halftrek.comparison import Comparison, compare
    from halftrek.data import Moments
    from halftrek.errors import (
        AssumptionSyntaxError,
        ConvergenceError,
        DataError,
        GraphError,
        GraphSyntaxError,
        HalftrekError,
        HalftrekWarning,
        InputError,
        MissingExtraError,
        ModelError,
        NotIdentifiedError,
        OutputError,
        QueryError,
        QuestionSyntaxError,
    )
    from halftrek.estimation import BatchFit, Status
    from halftrek.examples import catalog, dataset
    from halftrek.graphs import Graph
    from halftrek.identification import Verdict, solve
    from halftrek.models import CGLSCM, GLSCM, Gaussian, cgl_edge
    from halftrek.partial import sensitivity
    from halftrek.partial.bounding import bounds
    from halftrek.reporting.papers.table import AnswerTable, table
    from halftrek.results.answers import Answer
    from halftrek.results.beside.measurement import measurement_invariance
    from halftrek.results.beside.together import FitsTogether, fit_together
    from halftrek.results.fit import Fit
    from halftrek.results.given.reading import from_lavaan, graph, identify, moments
    from halftrek.results.groups import GroupFits
    from halftrek.results.sets.bounds import Bounds
    from halftrek.results.workflow import fit, fit_batch, fit_groups
    from halftrek.storage import load, save
    from halftrek.syntax import format_graph, parse_question
    from halftrek.web import open_page

__version__ = "0.1.0"

__all__ = [
    "CGLSCM",
    "GLSCM",
    "Answer",
    "AnswerTable",
    "AssumptionSyntaxError",
    "BatchFit",
    "Bounds",
    "Comparison",
    "ConvergenceError",
    "DataError",
    "Fit",
    "FitsTogether",
    "Gaussian",
    "Graph",
    "GraphError",
    "GraphSyntaxError",
    "GroupFits",
    "HalftrekError",
    "HalftrekWarning",
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
    "bounds",
    "catalog",
    "cgl_edge",
    "compare",
    "dataset",
    "fit",
    "fit_batch",
    "fit_groups",
    "fit_together",
    "format_graph",
    "from_lavaan",
    "graph",
    "identify",
    "load",
    "measurement_invariance",
    "moments",
    "open_page",
    "parse_question",
    "plot",
    "save",
    "sensitivity",
    "solve",
    "table",
]

_HOMES = {  # loaded when first used, so that the command line and small scripts start at once
    "examples": ("catalog", "dataset"),
    "errors": (
        "AssumptionSyntaxError",
        "ConvergenceError",
        "DataError",
        "GraphError",
        "GraphSyntaxError",
        "HalftrekError",
        "HalftrekWarning",
        "InputError",
        "MissingExtraError",
        "ModelError",
        "NotIdentifiedError",
        "OutputError",
        "QueryError",
        "QuestionSyntaxError",
    ),
    "estimation": ("BatchFit", "Status"),
    "graphs": ("Graph",),
    "identification": ("Verdict", "solve"),
    "models": ("CGLSCM", "GLSCM", "Gaussian", "cgl_edge"),
    "data": ("Moments",),
    "partial": ("sensitivity",),
    "storage": ("load", "save"),
    "syntax": ("format_graph", "parse_question"),
    "reporting.papers.table": ("AnswerTable", "table"),
    "partial.bounding": ("bounds",),
    "results.answers": ("Answer",),
    "results.sets.bounds": ("Bounds",),
    "results.fit": ("Fit",),
    "results.groups": ("GroupFits",),
    "results.beside.measurement": ("measurement_invariance",),
    "results.beside.together": ("FitsTogether", "fit_together"),
    "results.given.reading": ("from_lavaan", "graph", "identify", "moments"),
    "results.workflow": ("fit", "fit_batch", "fit_groups"),
    "comparison": ("Comparison", "compare"),
    "web": ("open_page",),
}
_ROOMS = (
    "comparison", "data", "errors", "estimation", "examples", "graphs", "identification", "inference", "models",
    "partial", "plot", "queries", "reporting", "results", "simulation", "storage", "syntax", "web",
)  # fmt: skip
# rooms of which the reference names functions beside those above
_PUBLIC_ROOMS = (
    "data", "errors", "estimation", "identification", "inference", "partial", "reporting", "simulation", "web",
)  # fmt: skip
_named = on_demand(__name__, _HOMES)


def __getattr__(name: str) -> object:
    return import_module(f"halftrek.{name}") if name in _ROOMS else _named(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PUBLIC_ROOMS, "__version__"})
