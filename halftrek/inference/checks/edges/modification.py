"""Which missing edge do the data ask for? Score tests of every edge that could be added (modification indices).

With score s of the new parameter per row and its efficient information ``e = I_cc - I_cp I_pp^+ I_pc``:
index ``n s² / e`` (chi-square with one degree of freedom if the edge is not needed), expected change ``s / e``.
Where values are missing all of it is from the likelihood of the observed ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Flags
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.given.options import needs_whole
from halftrek.graphs import Edge, Graph
from halftrek.inference.checks.edges.relaxation import relaxations
from halftrek.inference.checks.edges.scores import Edges, Relaxation
from halftrek.inference.checks.edges.undetermined import undetermined_edges
from halftrek.inference.checks.unit_tests import Centred, unit_tests
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.dimension import information_rank
from halftrek.inference.information.information import Kind, district_information
from halftrek.inference.information.robust import counts_units
from halftrek.inference.information.tangent import error_variances
from halftrek.inference.tables.parameters import undetermined_parameters
from halftrek.notes import Note

Test = Literal["score", "score, observed moments", "robust score"]


@dataclass(frozen=True)
class Modification:
    """One edge that is not in the graph, written as in lavaan: ``y ~ x`` for x -> y, ``x ~~ y`` for x <-> y.

    ``f =~ x`` is an arrow from a hidden variable.

    ``mi``: how much the chi-square would fall, about (where the edge frees one constraint; it may free several);
    ``epc``: the value that the edge would take, about, ``std`` the same on the scale of standard deviations (of the
    errors for ``~~``), both nan if data would not tell it; ``p``: of one test, not corrected for many.

    ``test``: "score" is lavaan's; "score, observed moments" is for values missing at random, where lavaan's default
    (``information="expected"``) needs them missing completely at random; "robust score" needs no normal data and
    counts clusters: its index is the square of Student's t.
    """

    edge: str
    lhs: str
    op: str
    rhs: str
    mi: float
    epc: float
    std: float
    p: float
    test: Test = "score"


def modifications(fit: Fitted, kind: Kind | None = None, robust: bool | None = None) -> list[Modification]:
    """Every absent edge that keeps the graph acyclic and that data could tell, largest index first.

    ``robust``: from independent units (rows, or clusters), for data that are not normal; left out: for clusters.
    """
    if fit.method == "dwls":
        raise InputError(
            "modification indices are scores of the likelihood, which is not at its maximum here; fit without "
            'estimator="dwls" and ask again'
        )
    by_units = counts_units(fit, robust, "modifications()")
    flat = _flat_districts(fit)
    rows: list[Modification] = []
    for found in relaxations(fit, Edges.of(*absent_edges(fit)), kind=kind):
        rows += _rows(fit, found.take(np.isfinite(found.score)), kind, by_units, flat)
    place = {v: k for k, v in enumerate(fit.model.names)}
    # edges that data cannot tell apart: arrows first
    return sorted(rows, key=lambda r: (-float(f"{r.mi:.6e}"), r.op, *(place[v] for v in _ends(r))))


def modification_notes(test: Test) -> tuple[Note, ...]:
    """What to know of the indices that a table shows."""
    if test == "score, observed moments":
        return (Note("indices with holes"),)
    return (Note("robust indices"),) if test == "robust score" else ()


def _ends(row: Modification) -> tuple[str, str]:
    return (row.rhs, row.lhs) if row.op == "~" else (row.lhs, row.rhs)  # of a loading too: from cause to effect


def _rows(fit: Fitted, freed: Relaxation, kind: Kind | None, by_units: bool, flat: Flags) -> Iterator[Modification]:
    from scipy.special import chdtrc

    if not len(freed.edges):
        return
    test: Test = kind_of_data(fit).score_test if kind is None else "score"
    mi = freed.index(fit.n)
    p = chdtrc(1.0, mi)
    if by_units:
        found = unit_tests(fit, freed.score, Centred(freed.rows, freed.score))
        mi, p, test = found.t**2, found.p, "robust score"
    sd, noise = np.sqrt(np.diag(fit.model.cov)), np.sqrt(error_variances(fit))
    if flat.any():  # an error variance that data do not tell is no unit
        unknown = undetermined_parameters(fit.graph, fit.options)
        noise = np.where([(name, "~~", name) in unknown for name in fit.model.names], np.nan, noise)
    u, v = freed.edges.first, freed.edges.second
    std = freed.change * np.where(freed.edges.arrow, sd[u] / sd[v], 1.0 / (noise[u] * noise[v]))
    hangs = _undetermined(fit, freed.edges, flat)
    for k, edge in enumerate(freed.edges.named(fit.model.names)):
        lhs, op, rhs = (edge.second, "~", edge.first) if edge.kind == "->" else (edge.first, "~~", edge.second)
        if op == "~" and rhs in fit.graph.hidden and lhs not in fit.graph.hidden:
            lhs, op, rhs = rhs, "=~", lhs
        epc, scaled = float(freed.change[k]), float(std[k])
        if hangs[k]:
            epc = scaled = float("nan")  # its value hangs on what data do not tell
        yield Modification(str(edge), lhs, op, rhs, float(mi[k]), epc, scaled, float(p[k]), test)


def _flat_districts(fit: Fitted) -> Flags:
    """Variables of districts with parameters that data do not determine."""
    flat = np.zeros(len(fit.model.names), dtype=bool)
    if needs_whole(fit.graph):
        return flat
    for block in district_information(replace(fit, patterns=None)):
        if information_rank(block.matrix) < len(block.matrix):
            flat[list(block.task.variables)] = True
    return flat


def _undetermined(fit: Fitted, edges: Edges, flat: Flags) -> Flags:
    """Edges whose weight would not be determined: of those that data notice, only some that enter a flat district."""
    found = np.zeros(len(edges), dtype=bool)
    if flat.any():
        near = flat[edges.second] | (flat[edges.first] & ~edges.arrow)
        # with holes what data notice is counted in other information than what is flat
        some = np.flatnonzero(near if kind_of_data(fit).by_district else np.ones(len(edges), dtype=bool))
        found[some] = undetermined_edges(fit, edges.take(some))
    return found


def with_edge(graph: Graph, edge: Edge) -> Graph:
    """The graph with one more edge."""
    new = (edge.first, edge.second)
    if edge.kind == "->":
        return graph.with_(directed=(*graph.directed, new))
    return graph.with_(bidirected=(*graph.bidirected, new))


def absent_edges(fit: Fitted) -> tuple[Flags, Flags]:
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
