"""From a fit to the program of a question: the graph's parameters, the likelihood of its rows, the assumptions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments
from halftrek.errors import GraphError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Edge, Graph
from halftrek.graphs.hidden import settled
from halftrek.inference.information.base import kind_of_data
from halftrek.models import CGLSCM
from halftrek.partial.assumptions import Conditions
from halftrek.partial.chance.coordinates import Coordinates
from halftrek.partial.chance.deviance import Deviance
from halftrek.partial.chance.program import Program
from halftrek.queries import Query
from halftrek.queries.gradients import gradients_of


def program_of(fit: Fitted, query: Query, conditions: Conditions) -> Program:
    """The programs of a question over the models of a fit's graph (relaxed already)."""
    space = _explicit_space(fit)
    root = np.linalg.cholesky(fit.model.cov)
    means = _means_matter(fit, query)
    mean = np.array(fit.model.mean)
    coordinates = Coordinates(space, fit.graph, fit.n, mean, root, means)
    return Program(coordinates, Deviance.of(fit), query, conditions)


def vector_of(program: Program, model: CGLSCM) -> Floats:
    """The point of a model with the fitted covariance, or with its own if that is another."""
    points = program.coordinates
    fitted = points.root @ points.root.T
    cov = np.asarray(model.cov)
    same = np.abs(cov - fitted).max() <= 1e-9 * np.abs(fitted).max()
    return points.vector(np.asarray(model.T), None if same else cov, np.asarray(model.C))


def _means_matter(fit: Fitted, query: Query) -> bool:
    """True if means are parameters of the search: the answer moves with them, or the likelihood of the rest does."""
    if not (_levels_apart(fit) if fit.graph.hidden else kind_of_data(fit).by_district and not fit.options.intercepts):
        return True
    return any(part.mean.any() for part in gradients_of(query, fit.model).values)


def _levels_apart(fit: Fitted) -> bool:
    """True if means say nothing of the rest where hidden variables have causes: rows are complete, intercepts free."""
    graph = fit.graph
    held = (*settled(graph)[1], *(v for v, _ in fit.options.intercepts))
    return isinstance(data_of(fit), Moments) and not any(v in graph.intercepts or v not in graph.hidden for v in held)


def _explicit_space(fit: Fitted) -> Space:
    """The parameters with every hidden cause by itself, also one of two children, which fits take for a covariance."""
    graph = fit.graph
    if not graph.latents:
        return make_space(graph, fit.model.names, fit.options)
    without = graph.with_(latents={})
    space = make_space(without, fit.model.names, fit.options)
    entries: list[tuple[int, int, int]] = []
    fixed = np.zeros((len(graph.latents), len(space.names)))
    for k, (hidden, children) in enumerate(graph.latents.items()):
        for child in children:
            j, known = space.names.index(child), _known_loading(graph, hidden, child)
            if known is None:
                entries.append((k, j, space.size + len(entries)))
            else:
                fixed[k, j] = known
    at = np.array(entries, dtype=np.intp).reshape(-1, 3)
    latents = tuple(range(len(graph.latents)))
    return replace(space, latents=latents, size=space.size + len(at), C_at=at, C0=fixed)


def _known_loading(graph: Graph, hidden: str, child: str) -> float | None:
    value = graph.known.get(Edge(hidden, "->", child))
    if isinstance(value, str) and value in graph.restrictions.values():
        raise GraphError(
            f"the loadings with the label {value!r} are equal; sets of values are not computed under equal loadings. "
            f"Give them labels of their own, or a number"
        )
    return float(value) if isinstance(value, float | int) else None
