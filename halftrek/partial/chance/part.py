"""The part of a fit that a question and its assumptions are about, where the whole is large.

The likelihood is a product over districts, and each factor is about the variables of a district given their parents. So
what chance leaves of a number that some districts determine does not depend on the others. Parents outside that the
districts do not cause may have any covariance. One that they cause may follow in any way from all that is before it,
whatever is between: an equation with arrows from all of these says nothing of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from halftrek.bottom.arrays import Ints
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.inference.information.base import kind_of_data
from halftrek.models import CGLSCM
from halftrek.partial.assumptions import Assumption, Weight, Within
from halftrek.partial.assumptions.kinds import names_of
from halftrek.partial.assumptions.quantities import ErrorCorrelation, ErrorCovariance
from halftrek.queries import Query
from halftrek.queries.checks import variables_of
from halftrek.queries.types import DirectEffect, TotalEffect

LARGE = 15  # variables, from which on it pays
MOST = 0.8  # share of them that a part may have


@dataclass(frozen=True, eq=False)
class Part:
    """Variables whose equations count (``own``), and with their parents all that are left (``names``).

    ``caused`` are the parents outside that the own variables cause, with all that are before them.
    """

    own: frozenset[str]
    names: tuple[str, ...]
    caused: Mapping[str, tuple[str, ...]]

    def graph(self, whole: Graph) -> Graph:
        """The graph of the part, in which parents that do not count say nothing of the data."""
        beside = [v for v in self.names if v not in self.own and v not in self.caused]
        arcs = [(u, v) for u, v in whole.bidirected if u in self.own and v in self.own]
        arrows = [(u, v) for u, v in whole.directed if v in self.own]
        return whole.with_(
            directed=[*arrows, *((u, v) for v, before in self.caused.items() for u in before)],
            bidirected=[*arcs, *combinations(beside, 2)],
            latents={h: kids for h, kids in whole.latents.items() if set(kids) <= self.own},
            observed=self.names,
        )

    def model(self, whole: CGLSCM, graph: Graph, fit: Fitted) -> CGLSCM:
        """The model of the part; parents that do not count have the mean and the covariance of the data.

        Those that are caused have the data's regression on all before them.
        """
        at = self._places(whole.names)
        own = np.array([v in self.own for v in self.names])
        T = np.where(own, np.asarray(whole.T)[np.ix_(at, at)], 0.0)
        seen = np.asarray(fit.moments.select(self.names).cov)
        W = np.where(np.outer(own, own), np.asarray(whole.W)[np.ix_(at, at)], np.where(np.outer(~own, ~own), seen, 0.0))
        for v, before in self.caused.items():
            j, causes = self.names.index(v), [self.names.index(u) for u in before]
            T[causes, j] = np.linalg.solve(seen[np.ix_(causes, causes)], seen[causes, j])
            W[j], W[:, j] = 0.0, 0.0
            W[j, j] = seen[j, j] - seen[j, causes] @ T[causes, j]
        kept = [whole.latents.index(h) for h in graph.latents]
        C, mean = np.asarray(whole.C)[kept][:, at], np.asarray(whole.mean)[at]
        return CGLSCM(self.names, T, C, mean - mean @ T, W, tuple(graph.latents), graph)

    def fit(self, whole: Fitted) -> Fitted:
        """The fit of the part: that of the whole is the likeliest there too."""
        graph = self.graph(whole.graph)
        return replace(
            whole, graph=graph, moments=whole.moments.select(self.names), model=self.model(whole.model, graph, whole),
            districts=(), rows=None,
        )  # fmt: skip

    def whole(self, part: CGLSCM, whole: CGLSCM) -> CGLSCM:
        """A model of the part in the place of what the whole has there; means stay."""
        at, own = self._places(whole.names), np.array([v in self.own for v in self.names])
        T, W, C = (np.array(x) for x in (whole.T, whole.W, whole.C))
        into = at[own]
        T[:, into] = 0.0
        T[np.ix_(at, into)] = np.asarray(part.T)[:, own]
        W[np.ix_(into, into)] = np.asarray(part.W)[np.ix_(own, own)]
        for row, h in enumerate(part.latents):
            C[whole.latents.index(h), at] = np.asarray(part.C)[row]
        mean = np.asarray(whole.mean)
        return CGLSCM(whole.names, T, C, mean - mean @ T, W, whole.latents, whole.graph)

    def _places(self, names: Sequence[str]) -> Ints:
        at = {v: i for i, v in enumerate(names)}
        return np.array([at[v] for v in self.names], dtype=np.intp)


def part_of(fit: Fitted, query: Query, assumed: Sequence[Assumption]) -> Part | None:
    """The part that an effect and limits of single edges are about; None if it is nearly the whole, or not known."""
    graph = fit.graph
    if len(graph) < LARGE or not _plain(fit) or not isinstance(query, DirectEffect | TotalEffect):
        return None
    if not all(_about_an_edge(a) for a in assumed):
        return None
    named = {*variables_of(query), *(v for a in assumed for v in names_of(a))}
    between = graph.ancestors(named) & graph.descendants(named)
    own = frozenset(w for v in between for w in graph.district(v))
    names = own.union(*(graph.parents(v) for v in own))
    if len(names) > MOST * len(graph) or len(names) >= fit.n:
        return None
    # What is named comes late: an arrow from it to a parent that it does not cause would make a way that is not there.
    below, late = graph.descendants(own), graph.descendants(named)
    order = sorted((v for v in graph.topological_order if v in names), key=lambda v: (v in late, v in below))
    caused = {v: tuple(order[:k]) for k, v in enumerate(order) if v in below and v not in own}
    return Part(own, tuple(v for v in fit.model.names if v in names), caused)


def _plain(fit: Fitted) -> bool:
    """True for complete rows of numbers, without labels that join equations."""
    labels = any(isinstance(x, str) for x in fit.graph.known.values())
    moments, options = fit.moments, fit.options
    return (
        kind_of_data(fit).by_district and moments.layer is None and fit.patterns is None and fit.acting is None
        and not (fit.graph.hidden or labels or options.intercepts or options.noise or fit.graph.intercepts)
    )  # fmt: skip


def _about_an_edge(assumption: Assumption) -> bool:
    return isinstance(assumption, Within) and isinstance(
        assumption.quantity, Weight | ErrorCorrelation | ErrorCovariance
    )
