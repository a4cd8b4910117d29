"""The parameters of a model in which categories act, one after the other, and the model that they make.

Each equation is linear in the values of its causes as they were seen; of a cause that is behind its categories, in the
variable behind. A column in categories is a cut of its own variable, whose error has variance 1; others have free
intercepts and error variances. Columns that are not in categories are worked with in standard units, ranked ones as the
normal scores of their ranks, or, where a category acts on them, as ``ranks`` puts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Graph
from halftrek.layer import Margin
from halftrek.models import CGLSCM


@dataclass(frozen=True, eq=False)
class District:
    """Places of one district's parameters: slopes, intercepts and spreads of plain members, cuts, covariances.

    Effects of a variable that is behind its column share its error, and belong to its district.
    """

    members: tuple[int, ...]
    plain: tuple[int, ...]
    cut: tuple[int, ...]
    behind: tuple[int, ...]
    slopes: tuple[tuple[int, int, int], ...]  # cause, effect, place
    intercepts: Mapping[int, int]
    spreads: Mapping[int, int]
    cuts: Mapping[int, tuple[int, int]]  # first place, and one after the last
    covariances: tuple[tuple[int, int, int], ...]
    held: frozenset[int] = frozenset()  # places of numbers that are given
    off: frozenset[int] = frozenset()  # places of numbers that have run off


Held = tuple[str, str, str, float]  # an edge, as ends and "->" or "<->", and its weight or its errors' correlation
Off = tuple[str, str, str, int]  # an edge alike, or "x", "|", "t1", and the side to which it runs off: 1, -1, 0 unknown


@dataclass(frozen=True, eq=False)
class Places:
    """All districts of a graph; ``margins`` are those of the columns in categories, and of ranked ones.

    At the place of an arc that is ``held`` stands the correlation of the two errors, not their covariance. Those that
    are ``off`` have no most likely value, and stay where they are.
    """

    graph: Graph
    margins: Mapping[str, Margin]
    centre: Floats
    scale: Floats
    held: tuple[Held, ...] = ()
    off: tuple[Off, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order of arrays."""
        return self.graph.observed

    @cached_property
    def _laid_out(self) -> tuple[tuple[District, ...], int]:
        at, found, size = {v: i for i, v in enumerate(self.names)}, [], 0
        for names in joined_districts(self.graph, self.margins):
            members = tuple(at[v] for v in names)
            cut = tuple(at[v] for v in names if v in self.margins and self.margins[v].cut)
            behind = tuple(at[v] for v in names if v in self.margins and self.margins[v].kind == "behind")
            plain = tuple(i for i in members if i not in cut)
            slopes = []
            for v in names:
                for u in self.graph.parents(v):
                    slopes.append((at[u], at[v], size))
                    size += 1
            intercepts = {i: size + k for k, i in enumerate(plain)}
            spreads = {i: size + len(plain) + k for k, i in enumerate(plain)}
            size += 2 * len(plain)
            cuts = {}
            for i in cut:
                many = len(self.margins[self.names[i]].values) - 1
                cuts[i] = (size, size + many)
                size += many
            pairs = [
                (i, at[w]) for i, v in zip(members, names, strict=True) for w in self.graph.siblings(v) if i < at[w]
            ]
            covariances = tuple((i, j, size + k) for k, (i, j) in enumerate(pairs))
            size += len(pairs)
            edges = [(self.names[u], "->", self.names[v], k) for u, v, k in slopes]
            edges += [(self.names[i], "<->", self.names[j], k) for i, j, k in covariances]
            held = frozenset(k for *edge, k in edges if self._held_at(*edge) is not None)
            edges += [(self.names[i], "|", f"t{k - a + 1}", k) for i, (a, b) in cuts.items() for k in range(a, b)]
            gone = {one[:3] for one in self.off}
            off = frozenset(k for *edge, k in edges if {tuple(edge), tuple(edge[::-1])} & gone)
            places = (tuple(slopes), intercepts, spreads, cuts, covariances)
            found.append(District(members, plain, cut, behind, *places, held, off))
        return tuple(found), size

    def _held_at(self, first: str, kind: str, second: str) -> float | None:
        """The number at which an edge is held; None if it is free."""
        for u, own, v, value in self.held:
            if own == kind and ((u, v) == (first, second) or (kind == "<->" and (v, u) == (first, second))):
                return value
        return None

    def put_held(self, theta: Floats) -> Floats:
        """Parameters with the given numbers at their places, in standard units."""
        found = theta.copy()
        for district in self.districts:
            for u, v, place in district.slopes:
                if (weight := self._held_at(self.names[u], "->", self.names[v])) is not None:
                    found[place] = weight * self.scale[u] / self.scale[v]
            for i, j, place in district.covariances:
                if (correlation := self._held_at(self.names[i], "<->", self.names[j])) is not None:
                    found[place] = correlation
        return found

    @property
    def districts(self) -> tuple[District, ...]:
        """In the order of the graph."""
        return self._laid_out[0]

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return self._laid_out[1]

    @cached_property
    def by_name(self) -> dict[tuple[str, int, int], int]:
        """The place of each parameter by what it is of: variables by their number, cuts one by one."""
        found: dict[tuple[str, int, int], int] = {}
        for district in self.districts:
            found |= {("->", u, v): place for u, v, place in district.slopes}
            found |= {("<->", i, j): place for i, j, place in district.covariances}
            found |= {("mean", i, 0): place for i, place in district.intercepts.items()}
            found |= {("sd", i, 0): place for i, place in district.spreads.items()}
            found |= {("cut", i, k): place for i, ends in district.cuts.items() for k, place in enumerate(range(*ends))}
        return found

    def errors(self, district: District, theta: Floats) -> Floats:
        """The error covariance of a district's members, in standard units."""
        own = {i: k for k, i in enumerate(district.members)}
        found = np.eye(len(own))
        for i, place in district.spreads.items():
            found[own[i], own[i]] = np.exp(2.0 * theta[place])
        sd = np.sqrt(np.diag(found))
        for i, j, place in district.covariances:
            unit = sd[own[i]] * sd[own[j]] if place in district.held else 1.0
            found[own[i], own[j]] = found[own[j], own[i]] = theta[place] * unit
        return found

    def model(self, theta: Floats) -> CGLSCM:
        """The model in the units of the columns; edges out of a category have the effect of one unit of its value."""
        p = len(self.names)
        T, W, mu = self._slopes(theta), np.zeros((p, p)), np.zeros(p)
        for district in self.districts:
            at = np.array(district.members)
            W[np.ix_(at, at)] = self.errors(district, theta) * np.outer(self.scale[at], self.scale[at])
            for i, place in district.intercepts.items():
                mu[i] = self.centre[i] + self.scale[i] * theta[place]
        mu -= self._shifts(T)
        mu[[i for district in self.districts for i in district.cut]] = 0.0  # what belongs to their cuts
        return CGLSCM(self.names, T, np.zeros((0, p)), mu, W, (), self.graph)

    def cuts(self, theta: Floats) -> dict[str, Floats]:
        """The cuts of each column in categories, for causes in the units of their columns."""
        shift = self._shifts(self._slopes(theta))
        return {
            self.names[i]: theta[a:b] + shift[i] for district in self.districts for i, (a, b) in district.cuts.items()
        }

    def _slopes(self, theta: Floats) -> Floats:
        """The effects in the units of the columns."""
        T = np.zeros((len(self.names), len(self.names)))
        for district in self.districts:
            for u, v, place in district.slopes:
                T[u, v] = theta[place] * self.scale[v] / self.scale[u]
        return T

    def _shifts(self, T: Floats) -> Floats:
        """By how much each variable is moved because its causes are not seen from their centres."""
        found, at = np.zeros(len(self.names)), {v: i for i, v in enumerate(self.names)}
        from_centre = self.centre.copy()
        for v in self.graph.topological_order:
            found[at[v]] = from_centre @ T[:, at[v]]
            if v in self.margins and self.margins[v].kind == "behind":
                from_centre[at[v]] = found[at[v]]
        return found


def joined_districts(graph: Graph, margins: Mapping[str, Margin]) -> tuple[tuple[str, ...], ...]:
    """The districts, joined where a variable that is behind its column causes others."""
    found = [list(names) for names in graph.districts]
    for v, margin in margins.items():
        if margin.kind == "behind":
            ends = {v, *graph.children(v)}
            first, *others = [k for k, names in enumerate(found) if ends & set(names)]
            for k in reversed(others):
                found[first] += found.pop(k)
    return tuple(map(tuple, found))


def carried(theta: Floats, old: Places, new: Places) -> Floats:
    """Parameters in the places of another graph of the same columns; those that only it has are zero."""
    found = np.zeros(new.size)
    at = old.by_name
    for name, place in new.by_name.items():
        found[place] = theta[at[name]] if name in at else 0.0
    return found


def standard_units(names: Sequence[str], values: Floats, margins: Mapping[str, Margin]) -> tuple[Floats, Floats]:
    """Centres and scales of columns; 0 and 1 for columns in categories and ranked ones."""
    centre, scale = (np.nanmean(values, axis=0), np.nanstd(values, axis=0)) if np.isnan(values).any() else (
        values.mean(axis=0), values.std(axis=0)
    )  # fmt: skip
    for k, v in enumerate(names):
        if v in margins:
            centre[k], scale[k] = 0.0, 1.0
    return centre, scale


def in_units(
    names: Sequence[str], values: Floats, margins: Mapping[str, Margin], centre: Floats, scale: Floats
) -> Floats:
    """Rows in the units that they are worked with in."""
    found = (values - centre) / scale
    for k, v in enumerate(names):
        if v in margins and not margins[v].cut:
            found[:, k] = margins[v].behind(values[:, k])
    return found
