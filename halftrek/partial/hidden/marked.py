"""Hidden variables on the scale of their error, on that of an item: the same model, whose scale stays along edges.

Where an edge is varied, the error of a hidden variable may grow or shrink. On the scale of its error the variable then
changes its unit, and its sign is free. With a loading held at its fitted value it does not. Answers that do not name
the variable, and correlations of errors, are the same on both scales.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.estimation.given.options import Options
from halftrek.graphs import Edge, Graph
from halftrek.graphs.hidden import scaled_by, settled
from halftrek.identification.hidden.measured import measured
from halftrek.models import CGLSCM
from halftrek.queries import Query, variables_of


def by_error(graph: Graph) -> list[str]:
    """Hidden variables whose scale is that of their error, and of whose arrows no weight is known."""
    held = settled(graph)[0]
    spoken = {v for e, x in graph.known.items() if x != 0.0 for v in (e.first, e.second)}
    return [
        v
        for v in graph.hidden
        if scaled_by(graph, v) is None and isinstance(x := held.get(v), float) and x > 0.0 and v not in spoken
    ]


def marked(fit: Fitted, query: Query) -> Fitted:
    """The fit with such variables on the scale of an item, unless the question names them."""
    graph, items = fit.graph, measured(fit.graph) if fit.graph.hidden else {}
    moved = [v for v in by_error(graph) if v in items and v not in variables_of(query)] if graph.hidden else []
    if not moved:
        return fit
    names = fit.model.names
    held = {}
    for v in moved:
        item = items[v].by[0]
        held[str(Edge(v, "->", item))] = float(fit.model.T[names.index(v), names.index(item)])
    scaled = graph.with_(
        coefficients={**graph.coefficients, **held},
        variances={v: x for v, x in graph.variances.items() if v not in moved},
    )
    model = fit.model
    same = CGLSCM(names, model.T, model.C, model.mu, model.W, tuple(scaled.latents), scaled)
    options = Options(tuple((v, x) for v, x in fit.options.noise if v not in moved), fit.options.intercepts)
    return replace(fit, graph=scaled, model=same, options=options)


def unmarked(edge: Edge, values: Floats, noise: Floats, names: tuple[str, ...], graph: Graph) -> Floats:
    """Values of an edge on the scales that the graph asks for, from models on those of items.

    ``noise`` are the error variances of these models, one line each.
    """
    size, held = np.ones(len(values)), settled(graph)[0]
    for v, into in ((edge.first, edge.kind == "<->"), (edge.second, True)):
        if v in by_error(graph):
            wanted = held[v]
            assert isinstance(wanted, float)  # see by_error
            factor = np.sqrt(wanted / noise[:, names.index(v)])
            size = size * factor if into else size / factor
    return np.asarray(values * size)
