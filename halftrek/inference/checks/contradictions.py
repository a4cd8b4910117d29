"""Which restriction of the graph that an answer rests on do the data contradict?

Every missing edge that data could tell is a restriction: an independence, a hidden cause that is not there, an effect
that goes only through others (over-identifying instruments). Freeing it moves the answer by what the edge would take
times how the answer moves with it; a restriction that does not move the answer does not matter for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, get_args

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.bottom.choices import Multiplicity
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import refit
from halftrek.estimation.plan import make_plan
from halftrek.graphs import Edge, Graph
from halftrek.graphs.as_written import Written
from halftrek.graphs.independences.separation import Walks, minimal_separator
from halftrek.inference.checks.edges.modification import absent_edges, with_edge
from halftrek.inference.checks.edges.relaxation import relaxations
from halftrek.inference.checks.edges.scores import Edges, Relaxation
from halftrek.inference.checks.multiplicity import adjusted
from halftrek.inference.checks.unit_tests import Centred, unit_tests
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.robust import counts_units
from halftrek.inference.standard_errors.delta import standard_errors
from halftrek.notes import Note
from halftrek.queries import Query
from halftrek.queries.gradients import Gradient, linearize
from halftrek.upward import Faces

NOTHING = 1e-6  # of an answer's standard error: what freeing an edge adds to it by rounding alone
SLIGHT = 0.01  # share of a standard error that is no matter
NAMED = 3  # restrictions that a note names beside the first
SAME = 1e-6  # share by which the statistics of edges that data cannot tell apart differ
LARGE = 60  # variables from which on the independences of all pairs are worked out together

Behind = Literal["answer", "interval"]


@dataclass(frozen=True)
class Contradiction(Faces):
    """One restriction that an answer rests on, and what the data say of it.

    ``restriction`` in words; ``edge`` would relax it, and would take about the value ``epc``. ``change`` is how far
    the answer would move (of several outcomes the one that moves most), in its ``standard_errors`` too. Where it would
    not move, the restriction stands behind the interval alone, and ``widening`` is the factor by which the standard
    error would grow. ``p`` is of this test alone, ``p_adjusted`` allows for all restrictions that the answer rests on,
    or its interval. ``alike`` are restrictions that data cannot tell from this one: one of them is contradicted.
    ``robust``: counts clusters, and needs no normal data.
    """

    restriction: str
    edge: str
    epc: float
    change: float
    standard_errors: float
    statistic: float
    p: float
    p_adjusted: float
    behind: Behind = "answer"
    independence: bool = False  # the restriction is an independence, which data can be asked about by themselves
    widening: float = float("nan")
    alike: tuple[str, ...] = ()
    robust: bool = False

    @property
    def note(self) -> Note:
        """The finding, for people."""
        if self.behind == "interval":
            return Note("contradicted interval", asdict(self))
        if not self.alike:
            return Note("contradicted", asdict(self))
        others = ", or that ".join(self.alike[:NAMED])
        more = f" (or one of {len(self.alike) - NAMED} more)" if len(self.alike) > NAMED else ""
        return Note("contradicted, one of several", asdict(self) | {"others": others + more})


def contradictions(
    fit: Fitted, query: Query, *, level: float = 0.05, robust: bool | None = None
) -> list[Contradiction]:
    """Restrictions behind an answer that the data reject, those that move it most first.

    Then those that move its standard error alone, by more than a hundredth.
    """
    rejected = [row for row in restrictions_behind(fit, query, robust=robust) if row.p_adjusted < level]
    first = [row for row in rejected if row.behind == "answer"]
    others = [_widened(fit, query, row) for row in rejected if row.behind == "interval"]
    others = [row for row in others if not abs(row.widening - 1.0) < SLIGHT]
    return first + sorted(others, key=lambda row: -abs(np.log(row.widening)))


def restrictions_behind(
    fit: Fitted, query: Query, *, multiplicity: Multiplicity = "holm", robust: bool | None = None
) -> list[Contradiction]:
    """Every restriction that an answer or its interval may rest on, those whose relaxing would move it most first.

    ``robust`` left out: for rows in clusters. Where two variables are independent, one edge between them stands for
    all: an arrow from an ancestor, else an arc, else what data can tell.
    """
    gradients = linearize(query, fit.model).values
    errors = standard_errors(fit, query)[0]
    if not len(gradients) or np.isnan(errors).any() or not errors.any():
        return []
    by_units = counts_units(fit, robust, "tests()")
    words = in_words(fit.graph)
    found: dict[str, Contradiction] = {}
    for freed, matters in _relaxations(fit, gradients, errors):
        for edge, row in _rows(fit, freed, matters, errors, words, by_units):
            if row.restriction not in found or words.usual(edge):
                found[row.restriction] = row
    kinds = [[row for row in found.values() if row.behind == kind] for kind in get_args(Behind)]
    rows = [row for some in kinds for row in _adjusted(some, multiplicity)]
    return sorted(rows, key=lambda row: (-abs(float(f"{row.standard_errors:.6e}")), row.p_adjusted))


def relaxed(fit: Fitted, edge: str) -> Fitted:
    """The same data with one more edge in the graph, as ``Contradiction.edge`` writes it."""
    wider = with_edge(fit.graph, Edge.read(edge))
    return refit(fit, wider, noise=dict(fit.options.noise), intercepts=dict(fit.options.intercepts))


def _widened(fit: Fitted, query: Query, row: Contradiction) -> Contradiction:
    """With the standard error that the answer has once the restriction is relaxed, over the one that it has."""
    before, after = standard_errors(fit, query)[0], standard_errors(relaxed(fit, row.edge), query)[0]
    ratio = after / before
    return replace(row, widening=float(ratio[np.argmax(np.abs(np.log(ratio)))]))


def _relaxations(fit: Fitted, gradients: Sequence[Gradient], errors: Floats) -> Iterator[tuple[Relaxation, Flags]]:
    """Absent edges that data could tell, some at a time, and which of them move the answer.

    Others are kept if they join variables that lie before what the answer depends on: the width may rest on those.
    """
    touched, before = _places(fit, gradients)
    arrows, arcs = absent_edges(fit)
    edges = Edges.of(arrows & before, arcs & (touched | touched[:, None] | np.outer(before, before)))
    for freed in relaxations(fit, edges, gradients):
        some = freed.edges
        least = NOTHING * errors[:, None] * np.sqrt(fit.n * freed.information)
        matters = np.any((np.abs(freed.slopes) > least) & (least > 0.0), axis=0)
        kept = np.isfinite(freed.score) & (matters | (before[some.first] & before[some.second]))
        if kept.any():
            yield freed.take(kept), matters[kept]


def _places(fit: Fitted, gradients: Sequence[Gradient]) -> tuple[Flags, Flags]:
    """Variables whose equations the answers depend on, with their districts; and those with all that lies before."""
    names = fit.model.names
    touched = np.full(len(names), not kind_of_data(fit).by_district)
    for g in gradients:
        touched |= g.T.any(axis=0) | g.omega.any(axis=0)
        if fit.options.intercepts:
            touched |= fit.model.B @ g.mean != 0.0
    for task in make_plan(fit.graph, names, fit.options, raw=True).every_task:
        touched[list(task.variables)] |= touched[list(task.variables)].any()
    above = fit.graph.ancestors([v for v, here in zip(names, touched, strict=True) if here])
    return touched, np.array([v in above for v in names])


def _rows(
    fit: Fitted, freed: Relaxation, matters: Flags, errors: Floats, words: Restrictions, by_units: bool
) -> Iterator[tuple[Edge, Contradiction]]:
    from scipy.special import chdtrc

    if by_units:
        found = unit_tests(fit, freed.score, Centred(freed.rows, freed.score))
        statistic, p = found.t**2, found.p
    else:
        statistic = freed.index(fit.n)
        p = chdtrc(1.0, statistic)
    scale = np.where(errors > 0.0, errors, np.inf)[:, None]  # an answer that data do not move at all
    moved = np.where(matters, freed.slopes * freed.change, 0.0)
    most = np.argmax(np.abs(moved) / scale, axis=0)
    for k, edge in enumerate(freed.edges.named(fit.model.names)):
        here = moved[most[k], k]
        row = Contradiction(
            restriction=words.of(edge),
            edge=str(edge),
            epc=float(freed.change[k]),
            change=float(here),
            standard_errors=float(here / scale[most[k], 0]),
            statistic=float(statistic[k]),
            p=float(p[k]),
            p_adjusted=float(p[k]),
            behind="answer" if matters[k] else "interval",
            independence=words.separated(edge),
            robust=by_units,
        )
        yield edge, row


def _adjusted(rows: list[Contradiction], multiplicity: Multiplicity) -> list[Contradiction]:
    """With p-values that allow for many tests; edges that data cannot tell apart are one test."""
    place, first = _alike(np.array([row.statistic for row in rows]))
    final = adjusted(np.array([rows[k].p for k in first]), multiplicity)
    members: list[list[int]] = [[] for _ in first]
    for k, at in enumerate(place):
        members[at].append(k)
    return [
        replace(
            row,
            p_adjusted=float(final[at]),
            alike=tuple(rows[i].restriction for i in members[at] if i != k),
        )
        for k, (row, at) in enumerate(zip(rows, place, strict=True))
    ]


def _alike(statistics: Floats) -> tuple[list[int], list[int]]:
    """The number of the test that each statistic belongs to, and where each test is met first."""
    order = np.argsort(statistics, kind="stable")
    along = statistics[order]
    apart = np.diff(along, prepend=-np.inf) > SAME * (1.0 + along)
    place = np.empty(len(along), dtype=np.intp)
    place[order] = np.cumsum(apart) - 1
    return place.tolist(), np.unique(place, return_index=True)[1].tolist()


def in_words(graph: Graph) -> Restrictions:
    """What the missing edges of a graph say, in words; made once."""
    return _in_words(Written(graph))


@lru_cache(maxsize=16)
def _in_words(written: Written) -> Restrictions:
    return Restrictions(written.graph)


class Restrictions:
    """What a missing edge says, in words."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._walks = graph, Walks(graph)
        self._place = {v: k for k, v in enumerate(graph.topological_order)}
        self._above = {v: graph.ancestors(v) for v in graph.nodes}
        self._seen: dict[frozenset[str], list[str] | None] = {}

    def of(self, edge: Edge) -> str:
        """The restriction that an edge would relax."""
        graph, x, y = self._graph, edge.first, edge.second
        given = self._separator(x, y)
        if given is not None:
            pair = sorted((x, y), key=self._place.__getitem__)
            return f"{pair[0]} and {pair[1]} are independent" + (f" given {', '.join(given)}" if given else "")
        if edge.kind == "<->":
            return f"nothing {'else ' * (y in graph.spouses(x))}hidden acts on both {x} and {y}"
        between = [m for m in graph.children(x) if y in graph.descendants(m)]
        return f"{x} acts on {y} only through {', '.join(between)}" if between else f"{x} does not act on {y}"

    def separated(self, edge: Edge) -> bool:
        """True if the restriction is that two variables are independent, perhaps given others."""
        return self._separator(edge.first, edge.second) is not None

    def usual(self, edge: Edge) -> bool:
        """True for the edge that stands for all between two independent variables: from an ancestor, or an arc."""
        above = edge.first in self._above[edge.second]
        return above if edge.kind == "->" else not above and edge.second not in self._above[edge.first]

    def _separator(self, x: str, y: str) -> list[str] | None:
        pair = frozenset((x, y))
        if self._all is not None:
            return self._all.get(pair)
        if pair not in self._seen:
            self._seen[pair] = self._search(x, y)
        return self._seen[pair]

    @cached_property
    def _all(self) -> dict[frozenset[str], list[str]] | None:
        """Of every pair at once in a large graph, where one by one takes ten times as long; None in others."""
        if len(self._graph) <= LARGE:
            return None
        return {frozenset((x, y)): list(given) for x, y, given in self._graph.implied_independences()}

    def _search(self, x: str, y: str) -> list[str] | None:
        graph = self._graph
        if y in {*graph.parents(x), *graph.children(x), *graph.spouses(x)}:
            return None
        found = minimal_separator(self._walks, x, y, self._above[x] | self._above[y])
        return None if found is None else sorted(found, key=self._place.__getitem__)
