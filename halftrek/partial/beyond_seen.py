"""Bounds of the mean of a ranked column: only where no model that is left puts many units beyond the values seen.

The mean is over the values that the column has in the data. Where an intervention takes units beyond the largest or
smallest of them, the data say nothing of the values there, and a bound would be one of the sample's largest value.
"""

from __future__ import annotations

from math import inf

from halftrek.errors import QueryError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.partial.assumptions import Assumption
from halftrek.partial.sets import identified_set
from halftrek.queries import Query
from halftrek.queries.checks import terms_of
from halftrek.queries.kinds.terms import Probability, Stepped
from halftrek.queries.kinds.variants import Event

MOST = 0.05  # of the units, that may be beyond in some model


def refuse_beyond_seen(query: Query, graph: Graph, wide: Fitted, assumed: tuple[Assumption, ...]) -> None:
    """Raise QueryError for the mean of a ranked column that models put far from all values seen."""
    for term in terms_of(query):
        if not isinstance(term, Stepped):
            continue
        for side, low, high in (("largest", term.cuts[-1], inf), ("smallest", -inf, term.cuts[0])):
            share = Probability((Event(term.of[0], low, high),), term.case)
            model = wide.model
            found = identified_set(
                graph, model.cov, model.mean, share, assumed, names=model.names, model=model
            )  # fmt: skip
            if not found.empty and found.high > MOST:
                name = term.of[0].parts[0][1].variable
                raise QueryError(
                    f"the mean of {name}, which is ranked, has no bounds here: models that assumptions allow put up to "
                    f"{100 * found.high:.0f} % of the units beyond the {side} value seen, and the data do not say "
                    f"which values they would have; assume more, or ask for P({name} > value | ...)"
                )
