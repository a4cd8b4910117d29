"""Which missing edge do the data ask for? Score tests of every edge that could be added (modification indices).

With score s of the new parameter per row and its efficient information ``e = I_cc - I_cp I_pp^+ I_pc``:
index ``n s² / e`` (chi-square with one degree of freedom if the edge is not needed), expected change ``s / e``.
Where values are missing all of it is from the likelihood of the observed ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.errors import InputError
from halftrek.estimation import Fit
from halftrek.graph import Graph
from halftrek.inference.dimension import information_rank
from halftrek.inference.holed_checks import holed_relaxation
from halftrek.inference.information import Kind, district_information
from halftrek.inference.parameters import loose_parameters
from halftrek.inference.relaxation import AT_ONCE
from halftrek.inference.scores import UNTOLD, Edge, Edges, Flags, Scores
from halftrek.inference.tangent import Part, Tangent, error_variances, tangent
from halftrek.model import Floats
from halftrek.moments import Patterns


@dataclass(frozen=True)
class Modification:
    """One edge that is not in the graph, written as in lavaan: ``y ~ x`` for x -> y, ``x ~~ y`` for x <-> y.

    ``mi``: how much the chi-square would fall, about (where the edge frees one constraint; it may free several);
    ``epc``: the value that the edge would take, about, ``std`` the same on the scale of standard deviations (of the
    errors for ``~~``), both nan if data would not tell it; ``p``: of one test, not corrected for many.
    """

    edge: str
    lhs: str
    op: str
    rhs: str
    mi: float
    epc: float
    std: float
    p: float


def modifications(fit: Fit, kind: Kind | None = None) -> list[Modification]:
    """Every absent edge that keeps the graph acyclic and that data could tell, largest index first."""
    from scipy.special import chdtrc

    directed, mutual = edge_scores(fit, kind)
    names, model = fit.model.names, fit.model
    sd, noise = np.sqrt(np.diag(model.cov)), np.sqrt(error_variances(fit))
    blocks = district_information(replace(fit, patterns=None))
    doubtful = any(information_rank(block.matrix) < len(block.matrix) for block in blocks)
    rows = []
    for found, op in ((directed, "~"), (mutual, "~~")):
        mi, epc = found.index(fit.n), found.score / found.information
        p = chdtrc(1.0, mi)
        std = epc * np.outer(sd, 1.0 / sd) if op == "~" else epc / np.outer(noise, noise)
        for u, v in np.argwhere(np.isfinite(mi)):
            first, second = names[u], names[v]
            edge, lhs, rhs = (
                (f"{first} -> {second}", second, first) if op == "~" else (f"{first} <-> {second}", first, second)
            )
            numbers = [float(x[u, v]) for x in (mi, epc, std, p)]
            if doubtful and _loose(fit, Edge(first, op == "~", second)):
                numbers[1] = numbers[2] = float("nan")  # its value hangs on what data do not tell
            rows.append(Modification(edge, lhs, op, rhs, *numbers))
    return sorted(rows, key=lambda r: -float(f"{r.mi:.6e}"))  # edges that data cannot tell apart: arrows first


def _loose(fit: Fit, edge: Edge) -> bool:
    """True if the weight of a new edge would not be determined, or only at special values of the other parameters."""
    unknown = loose_parameters(with_edge(fit.graph, edge), fit.options)
    if edge.arrow:
        return (edge.second, "~", edge.first) in unknown
    return (edge.second, "~~", edge.first) in unknown or (edge.first, "~~", edge.second) in unknown


def with_edge(graph: Graph, edge: Edge) -> Graph:
    """The graph with one more edge."""
    new = (edge.first, edge.second)
    arrows, arcs = graph.directed, graph.bidirected
    arrows, arcs = ((*arrows, new), arcs) if edge.arrow else (arrows, (*arcs, new))
    return Graph(arrows, arcs, graph.latents, graph.observed, graph.coefficients)


def edge_scores(fit: Fit, kind: Kind | None = None) -> tuple[Scores, Scores]:
    """Of directed edges (row to column) and of bidirected ones (upper triangle)."""
    arrows, arcs = absent_edges(fit)
    if fit.patterns is not None:
        return _holed_scores(fit, fit.patterns, Edges.of(arrows, arcs), kind)
    if kind == "observed":
        raise InputError("the observed information is for modification indices with missing values; leave it out")
    base = tangent(fit)
    A = np.linalg.inv(base.B)
    mean = fit.moments.mean
    S, gap = fit.moments.cov, mean @ A - fit.model.mu
    if not base.means:
        gap = np.zeros_like(gap)
    V = (S @ A + np.outer(mean, gap)) @ base.K
    R = A.T @ S @ A + np.outer(gap, gap)
    M = base.K - base.K @ R @ base.K
    weight = base.mean if base.means else np.zeros_like(base.mean)
    diagonal_T = np.outer(np.diag(base.cov) + weight**2, np.diag(base.K))
    diagonal_W = np.outer(np.diag(base.K), np.diag(base.K)) + base.K**2
    used_T, used_W = np.zeros_like(diagonal_T), np.zeros_like(diagonal_W)
    for part in base.parts:
        _add_directed(base, part, weight, used_T)
        _add_mutual(base, part, used_W)
    return _scores(V, diagonal_T, used_T, arrows), _scores(-M, diagonal_W, used_W, arcs)


def _holed_scores(fit: Fit, patterns: Patterns, edges: Edges, kind: Kind | None) -> tuple[Scores, Scores]:
    p = len(fit.model.names)
    found = tuple(Scores(np.full((p, p), np.nan), np.full((p, p), np.nan)) for _ in range(2))
    for some in edges.pieces(AT_ONCE):
        freed = holed_relaxation(fit, patterns, some, kind=kind)
        for scores, which in zip(found, (some.arrow, ~some.arrow), strict=True):
            ends = some.first[which], some.second[which]
            scores.score[ends], scores.information[ends] = freed.score[which], freed.information[which]
    return found[0], found[1]


def _add_directed(base: Tangent, part: Part, weight: Floats, used: Floats) -> None:
    """Add ``I_cp I_pp^+ I_pc`` of the edges u -> v into this part; others do not meet its parameters."""
    vectors, values = part.directions()
    reach = part.X @ base.omega @ base.B + np.outer(part.w, weight)  # x_a' K x_u and the means, for every cause u
    for v in part.variables:
        crossed = part.sum_up(part.X[:, [v]] * base.B[part.at] + reach * base.K[part.at, v][:, None])
        used[:, v] = (((vectors / np.sqrt(values)).T @ crossed) ** 2).sum(axis=0)


def _add_mutual(base: Tangent, part: Part, used: Floats) -> None:
    """Add the share of this part's parameters in the information on i <-> j, i in the part, j anywhere."""
    vectors, values = part.directions()
    inside = np.isin(np.arange(len(base.K)), part.variables)
    for i in part.variables:
        # x = e_i, target j: (K x_a)[j] K[i, j_a] + (K x_a)[i] K[j, j_a]
        ends = part.X * base.K[part.at, i][:, None] + part.X[:, [i]] * base.K[part.at]
        share = (((vectors / np.sqrt(values)).T @ part.sum_up(ends)) ** 2).sum(axis=0)
        used[i] += share
        used[~inside, i] += share[~inside]


def _scores(score: Floats, diagonal: Floats, used: Floats, absent: Flags) -> Scores:
    left = diagonal - used
    told = absent & (left > UNTOLD * diagonal)
    return Scores(np.where(told, score, np.nan), np.where(told, left, np.nan))


def absent_edges(fit: Fit) -> tuple[Flags, Flags]:
    """Which directed edges could be added without a cycle, and which bidirected ones are not there."""
    graph, names = fit.graph, fit.model.names
    at = {v: i for i, v in enumerate(names)}
    p = len(names)
    arrows = ~np.eye(p, dtype=bool)
    for v in names:
        for below in graph.descendants(v):
            arrows[at[below], at[v]] = False  # an arrow back would close a cycle
    for u, v in graph.directed:
        arrows[at[u], at[v]] = False
    arcs = np.triu(np.ones((p, p), dtype=bool), 1)
    for u, v in graph.bidirected:
        i, j = sorted((at[u], at[v]))
        arcs[i, j] = False
    return arrows, arcs
