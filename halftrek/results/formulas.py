"""Coefficients by the formulas that identify them, as one more start of districts that may have a higher maximum."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from halftrek import identification
from halftrek.bottom.arrays import Floats
from halftrek.estimation import DistrictReport, Fitted
from halftrek.graphs import Graph
from halftrek.queries import DirectEffect

FEW = 12  # members of a district for which formulas are looked for
SMALL = 100  # variables up to which they are looked for in the whole graph


def formula_values(fitted: Fitted, districts: Iterable[DistrictReport]) -> dict[tuple[str, str], float]:
    """Coefficients of troubled districts by the formulas that identify them: a start where others lead astray."""
    members = [district.members for district in districts if len(district.members) <= FEW]
    if len(fitted.graph) <= SMALL or fitted.graph.restrictions or fitted.graph.definitions:
        return _values(fitted.graph, fitted.moments.cov, [v for some in members for v in some])
    return {arrow: value for some in members for arrow, value in _values(*component(fitted, some), some).items()}


def _values(graph: Graph, cov: Floats, heads: list[str] | tuple[str, ...]) -> dict[tuple[str, str], float]:
    arrows = [(u, v) for v in heads for u in graph.parents(v)]
    asked = [DirectEffect(u, v) for u, v in arrows]
    values = {}
    for arrow, verdict in zip(arrows, identification.identify_all(graph, asked, budget=0.2), strict=True):
        if verdict.recipe is not None:
            value = identification.solve(verdict.recipe, cov, graph.observed)
            if isinstance(value, float) and np.isfinite(value):
                values[arrow] = value
    return values


def component(fitted: Fitted, members: tuple[str, ...]) -> tuple[Graph, Floats]:
    """A district and its parents, these independent and without causes, and the covariance of such variables.

    A coefficient of the district is identified in the graph if it is identified here (Tian 2005, "Identifying direct
    causal effects in linear models"), and of thousands of variables a few are left. The covariance has the district
    as the data have it: each member depends on earlier members and their parents, and on its own, by a regression.
    """
    graph, inside = fitted.graph, set(members)
    parents = {v: graph.parents(v) for v in members}
    outside = [u for u in dict.fromkeys(u for v in members for u in parents[v]) if u not in inside]
    earlier = [v for v in graph.topological_order if v in inside]
    names = (*outside, *earlier)
    at = {v: k for k, v in enumerate(fitted.moments.names)}
    S = fitted.moments.cov[np.ix_([at[v] for v in names], [at[v] for v in names])]
    place = {v: k for k, v in enumerate(names)}
    cov = np.diag(np.diag(S)).astype(float)
    known: dict[int, None] = {}
    for v in earlier:
        known |= dict.fromkeys(place[u] for u in parents[v])
        before, j = list(known), place[v]
        slopes = np.linalg.lstsq(S[np.ix_(before, before)], S[before, j], rcond=None)[0]
        done = [k for k in range(len(names)) if k < len(outside) or k < j]
        cov[done, j] = cov[j, done] = cov[np.ix_(done, before)] @ slopes
        cov[j, j] = S[j, j] - S[before, j] @ slopes + slopes @ cov[np.ix_(before, before)] @ slopes
        known[j] = None
    arrows = [(u, v) for v in earlier for u in parents[v]]
    hidden = {u: kids for u, kids in graph.latents.items() if inside.intersection(kids)}
    arcs = [(a, b) for a, b in graph.bidirected if a in inside and b in inside]
    return Graph(arrows, arcs, hidden, names), cov
