"""Hidden variables whose covariances with everything are known from what they cause, so that they count as observed.

With effects i, j, k of F whose errors go together with nothing else that is used (``i = l_i F + e_i``):

- three effects: ``l_i^2 Var F = Cov(i, j) Cov(i, k) / Cov(j, k)``;
- two, and a variable v that covaries with F: ``l_j / l_i = Cov(j, v) / Cov(i, v)``, ``l_i l_j Var F = Cov(i, j)``;
- two whose loadings are known to have some ratio;
- one whose error variance is known.

All is up to the scale of F, which the graph sets. Then ``Cov(F, v) = Cov(i, v) / l_i`` for all v that e_i does not
reach. A hidden variable that counts as observed may be the effect by which another does: factors of second order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.words import listed
from halftrek.graphs import Edge, Graph
from halftrek.graphs.hidden import scaled_by
from halftrek.identification.local.functionals import valuation
from halftrek.identification.local.jacobian import random_point
from halftrek.identification.local.parameters import Point, parameters_of
from halftrek.identification.numbers.modular import PRIMES, PrimeField


@dataclass(frozen=True)
class Measured:
    """A hidden variable that counts as observed: by which of its effects, and which others' loadings follow."""

    name: str
    by: tuple[str, ...]
    beside: str  # a variable that covaries with it, where two effects need one
    loaded: frozenset[str]

    def __str__(self) -> str:
        effects = listed(self.by)
        if len(self.by) == 1:
            return f"hidden {self.name} counts as observed: the error variance of its effect {effects} is known"
        also = f" and {self.beside}, which covaries with it" if self.beside else ""
        return (
            f"hidden {self.name} counts as observed: its effects {effects}{also} tell its covariances with all others"
        )


def measured(graph: Graph) -> dict[str, Measured]:
    """The hidden variables that count as observed, in the order in which they are found."""
    search = _Search(graph, graph.opened)
    found: dict[str, Measured] = {}
    while True:
        known = {*graph.observed, *found}
        new = {v: one for v in graph.hidden if v not in found and (one := search.rule(v, known)) is not None}
        if not new:
            return found
        found |= new


@dataclass(frozen=True, eq=False)
class _Search:
    graph: Graph
    opened: Graph

    @cached_property
    def _reached(self) -> dict[str, frozenset[str]]:
        """What the error of each variable goes together with: those that it or an error like it causes."""
        opened = self.opened
        return {v: opened.descendants((v, *opened.spouses(v))) for v in opened.observed}

    def plain_item(self, name: str) -> bool:
        """True for a variable that only hidden ones cause, by known loadings, and whose error reaches none of them."""
        causes = self.opened.parents(name)
        alone = bool(causes) and all(u in self.graph.hidden for u in causes) and not self.opened.latent_parents(name)
        known = all(isinstance(self._weight(u, name), float) for u in causes)
        return alone and known and not any(u in self._reached[name] for u in self.graph.hidden)

    def loading(self, name: str, item: str) -> float:
        """A known loading, zero where there is no arrow."""
        found = self._weight(name, item)
        return found if isinstance(found, float) and item in self.opened.children(name) else 0.0

    def reached(self, name: str) -> frozenset[str]:
        """What the error of a variable goes together with."""
        return self._reached[name]

    def apart(self, i: str, j: str) -> bool:
        """True if the errors of two variables have nothing in common, and neither reaches the other."""
        return self._apart(i, j)

    def rule(self, name: str, known: set[str]) -> Measured | None:
        if self.graph.variances.get(name) == 0.0 and not self._covary(name, name):
            return None  # a constant
        effects = [v for v in self.opened.children(name) if v in known and self._pure(name, v)]
        for by, beside in self._ways(name, effects, known):
            loaded = self._loaded(effects, by)
            if self._covers(name, loaded):
                return Measured(name, by, beside, frozenset(loaded))
        return None

    def _pure(self, name: str, effect: str) -> bool:
        alone = self.opened.parents(effect) == (name,) and not self.opened.latent_parents(effect)
        return alone and name not in self._reached[effect] and self._weight(name, effect) != 0.0

    def _weight(self, name: str, effect: str) -> float | str | None:
        return self.graph.known.get(Edge(name, "->", effect))

    def _ways(self, name: str, effects: list[str], known: set[str]) -> Iterator[tuple[tuple[str, ...], str]]:
        for three in combinations(effects, 3):
            if all(self._apart(i, j) for i, j in combinations(three, 2)):
                yield three, ""
        for i, j in combinations(effects, 2):
            if not self._apart(i, j):
                continue
            weights = self._weight(name, i), self._weight(name, j)
            equal = weights[0] == weights[1] is not None
            if equal or all(isinstance(w, float) for w in weights):
                yield (i, j), ""
            for v in sorted(known, key=self.opened.observed.index):
                if v not in self._reached[i] | self._reached[j] and self._covary(name, v):
                    yield (i, j), v
        for i in effects:
            if isinstance(self.graph.variances.get(i), float):
                yield (i,), ""

    @cached_property
    def _point(self) -> Point:
        return random_point(parameters_of(self.opened), PrimeField(PRIMES[0]), 1)

    def _covary(self, name: str, other: str) -> bool:
        """True if two variables covary in almost all models; a path whose coefficient is known to be 0 is none."""
        if name != other and self.opened.m_separated(name, other):
            return False
        above = self.opened.ancestors((name, other))
        return bool(valuation(self._point, above, derivatives=False).covariance(name, other)[0])

    def _apart(self, i: str, j: str) -> bool:
        return j not in self._reached[i] and i not in self._reached[j]

    def _loaded(self, effects: list[str], by: tuple[str, ...]) -> set[str]:
        """Effects whose loadings follow, one from the other."""
        loaded = set(by)
        while True:
            new = {k for k in effects if k not in loaded and any(self._apart(k, i) for i in loaded)}
            if not new:
                return loaded
            loaded |= new

    def _covers(self, name: str, loaded: set[str]) -> bool:
        """True if every variable is out of reach of the error of some effect whose loading is known."""
        others = [v for v in self.opened.observed if v != name]
        return all(v in loaded or any(v not in self._reached[i] for i in loaded) for v in others)


def with_known_loadings(graph: Graph) -> dict[str, Measured]:
    """Hidden variables that count as observed because loadings of items are known numbers, as in growth curves.

    Items ``t = L f + e`` with errors apart have ``Cov(t_i, v) = L_i Cov(f, v)`` for all v that e_i does not reach, and
    ``Cov(t_i, t_j) = L_i Cov(f) L_j'``: linear in what nobody sees, so that ranks decide.
    """
    search = _Search(graph, graph.opened)
    items = [v for v in graph.observed if search.plain_item(v)]
    block = [f for f in graph.hidden if any(f in graph.parents(t) for t in items)]
    items = [t for t in items if all(search.apart(t, u) for u in items if u != t)]
    L = np.array([[search.loading(f, t) for f in block] for t in items]).reshape(len(items), len(block))
    if not block or not _told(L):
        return {}
    others = [v for v in graph.opened.observed if v not in items]
    for v in others:
        free = [k for k, t in enumerate(items) if v not in search.reached(t)]
        if np.linalg.matrix_rank(L[free]) < len(block):
            return {}
    return {f: Measured(f, tuple(items), "", frozenset(items)) for f in block}


def _told(L: Floats) -> bool:
    """Do covariances of pairs of items tell all covariances of the hidden variables?"""
    i, j = np.triu_indices(L.shape[1])
    twice = np.where(i == j, 0.5, 1.0)
    lines = [twice * (a[i] * b[j] + a[j] * b[i]) for a, b in combinations(L, 2)]
    return bool(lines) and int(np.linalg.matrix_rank(np.array(lines))) == len(i)


def structural(graph: Graph, found: dict[str, Measured]) -> Graph:
    """The graph in which these count as observed, each on a scale of its own, so that nothing is fixed by a scale."""
    loose = {v for v in found if scaled_by(graph, v) not in found[v].loaded}
    known = {str(e): x for e, x in graph.known.items() if e.first not in loose and e.second not in loose}
    return graph.with_(
        observed=(*graph.observed, *found),
        hidden=[v for v in graph.hidden if v not in found],
        coefficients=known,
        variances={v: x for v, x in graph.variances.items() if v not in found},
        intercepts={v: x for v, x in graph.intercepts.items() if v not in found},
    )
