"""Is what the graph leaves out absent from the data, too? Score tests of edges within the likelihood of the rows.

With the score s of new parameters, those of all others zero at the maximum, and minus the second derivatives H of the
log-likelihood at a weight of zero: the efficient score of a row is ``s_new - H_no H_oo^+ s_old``, its information
``e = H_nn - H_no H_oo^+ H_on``. ``S' e^-1 S`` is chi-square if no edge is needed (Rao 1948), the weight of one about
``S / e``. Where ranks, clusters or sampling weights make rows vary otherwise, e is the spread of the sums of what each
unit adds (White 1982).

An edge is tested if covariances could tell it: where only the shape of normal errors would, a test would be one of that
shape and not of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data import RowBlock
from halftrek.data.layers import all_rows
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.acts.boxes import MOST
from halftrek.estimation.acts.fit import Acting
from halftrek.estimation.acts.holes import patterns_in, whole_bend, whole_scores
from halftrek.estimation.acts.likelihood import bend_of, own_places, scores
from halftrek.estimation.acts.places import District, Places, carried, in_units, joined_districts
from halftrek.estimation.acts.ranks import mixed_ranks, with_ranks
from halftrek.estimation.acts.settled import scores_and_bend
from halftrek.estimation.acts.spread import SINGULAR, by_ranks, summed
from halftrek.estimation.given.options import Options
from halftrek.graphs import Edge, Graph
from halftrek.inference.checks.edges.modification import with_edge
from halftrek.inference.information.dimension import POINTS, random_fit
from halftrek.inference.information.robust import cluster_correction, counts_units, rows_needed
from halftrek.inference.kept import kept
from halftrek.models import CGLSCM

LEAST_LEFT = 1e-6  # share of a new parameter's information that must be left when all others are free
SAME = 1e-7  # share of how an edge moves covariances, beyond how others do, that is rounding


@dataclass(frozen=True, eq=False)
class Freed:
    """Edges that were freed together: what each row adds to their efficient scores, these and their information.

    ``weights`` turn a parameter into the weight of an edge in the units of the columns.
    """

    each: Floats
    score: Floats
    information: Floats
    weights: Floats

    def take(self, which: Sequence[int]) -> Freed:
        """Some of the edges, without the others."""
        at = np.array(which, dtype=np.intp)
        return Freed(self.each[:, at], self.score[at], self.information[np.ix_(at, at)], self.weights[at])

    @property
    def least(self) -> float:
        """The smallest share of information that is left of these edges: about zero if data do not tell them all.

        Far from the truth a likelihood may bend the other way, and it is negative.
        """
        scale = np.sqrt(np.maximum(np.abs(np.diag(self.information)), 1e-300))
        return float(np.linalg.eigvalsh(self.information / np.outer(scale, scale))[0])

    @property
    def told(self) -> bool:
        """True if data tell all of these edges beside the others."""
        return abs(self.least) > LEAST_LEFT


def by_units(fit: Fitted, robust: bool | None, what: str) -> bool:
    """Are tests made from what each unit adds? Where ranks are parameters of a kind they have to be."""
    ranked = fit.acting is not None and any(not m.cut for m in fit.acting.margins.values())
    if ranked and robust is False:
        raise InputError(
            f"{what}: ranks of columns vary with the rows, which tests have to count where a category acts; leave "
            f"robust=False out"
        )
    return ranked or counts_units(fit, robust, what)


def rows_of(fit: Fitted, what: str) -> tuple[RowBlock, Floats]:
    """The rows, and their weights."""
    block = all_rows(rows_needed(fit, what, "fit again"))
    return block, np.ones(len(block)) if block.weights is None else block.weights


# -- which edges ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Covariances:
    """How covariances move with the parameters of a graph, at a random point of it: an orthonormal basis of that.

    With ``Sigma = A' Omega A``, ``A = (I - T)^-1``, an arrow moves them by ``Sigma dT A`` and its transpose, an arc by
    ``A' dOmega A``. New edges are looked at where they are absent: that is where they are tested.
    """

    model: CGLSCM
    basis: Floats

    @staticmethod
    def of(graph: Graph) -> _Covariances:
        model = random_fit(graph, Options(), POINTS[0]).model
        nothing = _Covariances(model, np.zeros((len(model.names) ** 2, 0)))
        arrows = [Edge(u, "->", v) for u, v in graph.directed]
        arcs = [Edge(u, "<->", v) for u, v in (*graph.bidirected, *((v, v) for v in graph.observed))]
        found = nothing
        for edge in (*arcs, *arrows):
            found = found.plus(edge) or found
        return found

    def plus(self, edge: Edge) -> _Covariances | None:
        """With one more edge; None if covariances move as they do without it."""
        at = self.model.names.index
        u, v = at(edge.first), at(edge.second)
        A = np.linalg.inv(np.eye(len(self.model.names)) - self.model.T)
        moved = np.outer(self.model.cov[:, u], A[v]) if edge.kind == "->" else np.outer(A[u], A[v])
        line = (moved + moved.T).ravel()
        line = line / np.linalg.norm(line)
        left = line - self.basis @ (self.basis.T @ line)
        left = left - self.basis @ (self.basis.T @ left)
        size = float(np.linalg.norm(left))
        return replace(self, basis=np.column_stack([self.basis, left / size])) if size > SAME else None


@kept
def candidates(fit: Fitted) -> tuple[Edge, ...]:
    """An edge for each pair that has none, if covariances could tell it: an arrow where there may be one, or an arc."""
    found, graph, base = [], fit.graph, _Covariances.of(fit.graph)
    order = graph.topological_order
    for j, y in enumerate(order):
        near = {*graph.parents(y), *graph.children(y), *graph.spouses(y)}
        for x in order[:j]:
            if x not in near:
                found += [edge for edge in _possible(fit, x, y) if base.plus(edge) is not None][:1]
    return tuple(found)


def _possible(fit: Fitted, x: str, y: str) -> Iterator[Edge]:
    """Edges between two variables whose likelihood is known, those first that leave districts as they are."""
    graph, margins = fit.graph, _acting(fit).margins
    tried = [Edge(x, "->", y), Edge(x, "<->", y)]
    if y not in graph.descendants(x):
        tried.insert(1, Edge(y, "->", x))
    cut = {v for v, m in margins.items() if m.cut}
    for edge in tried:
        cause = margins.get(edge.first)
        if edge.kind == "->" and cause is not None and cause.kind == "ordered":
            continue  # nobody has said what acts there
        districts = joined_districts(with_edge(graph, edge), margins)
        if all(len(cut & set(names)) <= MOST for names in districts):
            yield edge


@kept
def wider(fit: Fitted) -> tuple[Edge, ...]:
    """The edges by which the largest graph around this one is larger: each moves covariances as no others do.

    With an edge for every pair a graph allows all covariances, so that nothing is left to be told then.
    """
    base, found, graph = _Covariances.of(fit.graph), [], fit.graph
    margins = _acting(fit).margins
    cut = {v for v, m in margins.items() if m.cut}
    for edge in candidates(fit):
        more, larger = base.plus(edge), with_edge(graph, edge)
        small = all(len(cut & set(names)) <= MOST for names in joined_districts(larger, margins))
        if more is not None and small:
            base, graph = more, larger
            found.append(edge)
    return tuple(found)


# -- their scores --------------------------------------------------------------------------------


def freed(fit: Fitted, edges: Sequence[Edge], what: str) -> Freed | None:
    """Some edges, freed together at the fitted parameters; None where parameters make no model."""
    block, w = rows_of(fit, what)
    if not np.isnan(block.values).any():
        return freed_at(_acting(fit), fit.graph, edges, block.values, w)
    every = candidates(fit)
    found = _freed_once(fit, every)
    return None if found is None else found.take([every.index(edge) for edge in edges])


@kept
def _freed_once(fit: Fitted, edges: tuple[Edge, ...]) -> Freed | None:
    """Where values are missing, all parameters bend together, which is worked out once for all edges."""
    block, w = rows_of(fit, "tests()")
    return freed_at(_acting(fit), fit.graph, edges, block.values, w)


def freed_at(acting: Acting, graph: Graph, edges: Sequence[Edge], values: Floats, weights: Floats) -> Freed | None:
    """The same for the parameters of any graph."""
    larger = graph
    for edge in edges:
        larger = with_edge(larger, edge)
    new = acting.places(larger)
    theta = carried(acting.theta, acting.places(graph), new)
    rows = in_units(new.names, values, new.margins, new.centre, new.scale)
    place = _places_of(new, edges)
    if np.isnan(values).any():
        return _freed_whole(new, theta, (rows, weights), place, _in_columns(new, edges))
    if mixed_ranks(larger, new.margins):
        return _freed_settled(new, theta, (values, weights), place, _in_columns(new, edges))
    each, information = np.zeros((len(rows), len(edges))), np.zeros((len(edges), len(edges)))
    for district in new.districts:
        own = own_places(district)
        mine = np.flatnonzero(np.isin(place, own))
        if not len(mine):
            continue
        found = _efficient(new, district, theta, (rows, values, weights), np.isin(own, place))
        if found is None:
            return None
        rank = np.argsort(np.argsort(place[mine]))  # places of a district go upwards
        each[:, mine] = found[0][:, rank]
        information[np.ix_(mine, mine)] = found[1][np.ix_(rank, rank)]
    return Freed(each, np.asarray(each.T @ weights), information, _in_columns(new, edges))


def _freed_whole(
    places: Places, theta: Floats, data: tuple[Floats, Floats], place: Ints, weights: Floats
) -> Freed | None:
    """The same where values are missing: all parameters are those of one district.

    Efficient scores and information are beside the old parameters alone, so that some edges can be taken by themselves.
    """
    rows, w = data
    patterns = patterns_in(places, rows)
    each, bend = whole_scores(places, patterns, theta, rows), whole_bend(places, patterns, theta, rows, w)
    if each is None or bend is None:
        return None
    old = np.setdiff1d(np.arange(places.size), place)
    reply = _answered(bend[np.ix_(old, old)], bend[np.ix_(old, place)])
    left = bend[np.ix_(place, place)] - bend[np.ix_(place, old)] @ reply
    found = each[:, place] - each[:, old] @ reply
    return Freed(np.asarray(found), np.asarray(found.T @ w), np.asarray(left), weights)


def _freed_settled(
    places: Places, theta: Floats, data: tuple[Floats, Floats], place: Ints, weights: Floats
) -> Freed | None:
    """The same where parameters say where ranked columns are, which ties districts together.

    The larger graph may put these elsewhere, so that scores of its old parameters are not quite zero, and are counted.
    """
    values, w = data
    there = with_ranks(places, theta, values, w)
    known = None if there is None else scores_and_bend(there, theta, values, w)
    if known is None or not np.isfinite(known[1]).all():
        return None
    each, bend = known
    old = np.setdiff1d(np.sort(np.concatenate([own_places(d) for d in places.districts])), place)
    inside = bend[np.ix_(old, old)]
    scale = np.sqrt(np.maximum(np.abs(np.diag(inside)), 1e-300))
    inverse = np.linalg.pinv(inside / np.outer(scale, scale), rcond=SINGULAR) / np.outer(scale, scale)
    reply = bend[np.ix_(place, old)] @ inverse
    left = bend[np.ix_(place, place)] - reply @ bend[np.ix_(old, place)]
    found = each[:, place] - each[:, old] @ reply.T
    return Freed(np.asarray(found), np.asarray(found.T @ w), np.asarray((left + left.T) / 2.0), weights)


def _efficient(
    places: Places, district: District, theta: Floats, data: tuple[Floats, Floats, Floats], fresh: Flags
) -> tuple[Floats, Floats] | None:
    """The efficient scores of the new parameters of a district, row by row, and their information."""
    rows, values, w = data
    at = own_places(district)
    each = scores(places, district, theta, rows, at)
    bend = bend_of(places, district, theta, rows, w)
    if each is None or not np.isfinite(bend).all():
        return None
    each = each + by_ranks(places, district, theta, rows, values, w)
    reply = _answered(bend[np.ix_(~fresh, ~fresh)], bend[np.ix_(~fresh, fresh)])
    left = bend[np.ix_(fresh, fresh)] - bend[np.ix_(fresh, ~fresh)] @ reply
    return np.asarray(each[:, fresh] - each[:, ~fresh] @ reply), np.asarray(left)


def _answered(bend: Floats, crossed: Floats) -> Floats:
    """``bend^+ crossed``, without directions along which the likelihood is flat."""
    if not len(bend):
        return crossed
    scale = np.sqrt(np.maximum(np.abs(np.diag(bend)), 1e-300))
    steep, along = np.linalg.eigh(bend / np.outer(scale, scale))
    used = steep > SINGULAR * steep[-1]
    rest = along[:, used] / scale[:, None]
    return np.asarray((rest / steep[used]) @ (rest.T @ crossed))


def _places_of(places: Places, edges: Sequence[Edge]) -> Ints:
    at, found = {v: i for i, v in enumerate(places.names)}, list[int]()
    for edge in edges:
        u, v = at[edge.first], at[edge.second]
        first, second = (u, v) if edge.kind == "->" else (min(u, v), max(u, v))
        found.append(places.by_name[edge.kind, first, second])
    return np.array(found, dtype=np.intp)


def _in_columns(places: Places, edges: Sequence[Edge]) -> Floats:
    """What a parameter of each edge is in the units of the columns."""
    scale = dict(zip(places.names, places.scale.tolist(), strict=True))
    return np.array(
        [scale[e.second] / scale[e.first] if e.kind == "->" else scale[e.second] * scale[e.first] for e in edges]
    )


def spread_by_units(fit: Fitted, each: Floats, what: str) -> tuple[Floats, float]:
    """The covariance of the sums of what units (rows, or clusters) add, and how many units there are."""
    block, w = rows_of(fit, what)
    rows = rows_needed(fit, what, "fit again")
    sampling = rows.sampling is not None
    centred = each - (w @ each) / w.sum()
    found = summed(centred, w, block.cluster, sampling=sampling)
    if block.cluster is not None:
        return found, float(len(np.unique(block.cluster)))
    units = float(len(w)) if sampling else float(w.sum())
    return found * cluster_correction(int(units)), units


def _acting(fit: Fitted) -> Acting:
    assert fit.acting is not None
    return fit.acting
