"""The equations of all models that have one covariance, and how they move with weights and loadings.

With ``A = I - T`` a model has the covariance Sigma exactly if its errors have the covariance ``A' Sigma A``. With M
that matrix less ``C'C`` of the hidden causes, free error covariances take whatever M has there, and every other entry
is an equation: ``M_ij`` is zero, or what it is held at. Edges that are varied are read off: a weight ``T_uv``, a
covariance ``M_ij``, or a correlation ``M_ij / sqrt(M_ii M_jj)``.

All is in standard deviations, so Sigma is a correlation matrix here. Points have a leading axis: many at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from halftrek.bottom.arrays import Array, Flags, Floats, Ints
from halftrek.estimation.space import Space
from halftrek.graphs import Edge

Scale = Literal["weight", "covariance", "correlation"]


class Varied(NamedTuple):
    """An edge that is varied: on which scale, and the places of its ends."""

    scale: Scale
    first: int
    second: int


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries of a matrix that are unknown: row, column, which unknown, and by what it is multiplied there."""

    row: Ints
    column: Ints
    unknown: Ints
    by: Floats

    def put(self, constants: Floats, z: Array) -> Array:
        """The matrix at points; constants may have a leading axis too."""
        found = np.broadcast_to(constants, (len(z), *constants.shape[-2:])).astype(z.dtype)
        found[:, self.row, self.column] = z[:, self.unknown] * self.by
        return found


@dataclass(frozen=True, eq=False)
class Equations:
    """Unknowns are weights, loadings, and error covariances that share a label; ``pairs`` of M are equations.

    ``sd`` are the units of the variables; ``unit`` those of the unknowns; ``free`` are the entries of M that the graph
    leaves open, or holds at unknown numbers.
    """

    sigma: Floats
    sd: Floats
    T: Entries
    C: Entries
    W: Entries
    T0: Floats
    C0: Floats
    W0: Floats
    unit: Floats
    pairs: Ints
    varied: tuple[Varied, ...]
    free: Flags

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return len(self.unit)

    def on(self, *scales: Scale) -> Equations:
        """The same with the edges varied on other scales."""
        return replace(self, varied=tuple(v._replace(scale=s) for v, s in zip(self.varied, scales, strict=True)))

    def errors(self, T: Array, C: Array) -> tuple[Array, Array]:
        """M, and ``Sigma A``."""
        A = np.eye(len(self.sigma)) - T
        spread = self.sigma @ A
        return np.swapaxes(A, 1, 2) @ spread - np.swapaxes(C, 1, 2) @ C, spread

    def at(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """What is left of the equations and its derivatives, then the varied numbers and theirs."""
        T, C = self.T.put(self.T0, z), self.C.put(self.C0, z)
        M, spread = self.errors(T, C)
        i, j = self.pairs.T
        left = M[:, i, j] - self.W.put(self.W0, z)[:, i, j]
        slopes = self._slopes(self._places, spread, C)
        if len(self.W.unknown):
            _add(slopes, self._tied, self.W.unknown, -self.W.by)
        value, along = self._read_off(T, M, spread, C)
        return left, slopes, value, along

    @cached_property
    def _tied(self) -> Ints:
        """The equation of each error covariance that is an unknown."""
        line = {frozenset(pair): k for k, pair in enumerate(self.pairs.tolist())}
        places = zip(self.W.row.tolist(), self.W.column.tolist(), strict=True)
        return np.array([line[frozenset(pair)] for pair in places], dtype=np.intp)

    @cached_property
    def _places(self) -> _Places:
        return _places(self, self.pairs)

    @cached_property
    def _ends(self) -> tuple[_Places, ...]:
        """Covariance and variances of the errors at the ends of each varied edge."""
        return tuple(_places(self, np.array([(i, j), (i, i), (j, j)])) for _, i, j in self.varied)

    def _slopes(self, places: _Places, spread: Array, C: Array) -> Array:
        """Derivatives of entries of M: ``dM_ij / dT_ul = -[l = i] (Sigma a_j)_u - [l = j] (Sigma a_i)_u``."""
        found = np.zeros((len(spread), places.entries, self.size), dtype=spread.dtype)
        for (line, unknown, row, other, by), values in zip(places.parts, (spread, spread, C, C), strict=True):
            if places.shared:
                _add(found, line, unknown, -values[:, row, other] * by)
            elif len(line):  # as quick as it gets
                found[:, line, unknown] -= values[:, row, other]
        return found

    def _read_off(self, T: Array, M: Array, spread: Array, C: Array) -> tuple[Array, Array]:
        value = np.zeros((len(M), len(self.varied)), dtype=M.dtype)
        along = np.zeros((len(M), len(self.varied), self.size), dtype=M.dtype)
        for k, (scale, i, j) in enumerate(self.varied):
            if scale == "weight":
                value[:, k] = T[:, i, j]
                mine = (self.T.row == i) & (self.T.column == j)
                along[:, k, self.T.unknown[mine]] = self.T.by[mine]
                continue
            slopes = self._slopes(self._ends[k], spread, C)
            value[:, k], along[:, k] = M[:, i, j], slopes[:, 0]
            if scale == "correlation":
                size = np.sqrt(M[:, i, i] * M[:, j, j])
                share = slopes[:, 1] / M[:, i, i, None] + slopes[:, 2] / M[:, j, j, None]
                value[:, k] /= size
                along[:, k] = along[:, k] / size[:, None] - 0.5 * value[:, k, None] * share
        return value, along


class _Places(NamedTuple):
    """Where unknowns enter some entries of M: by weights at either end, by loadings at either end."""

    entries: int
    shared: bool  # one unknown stands in several entries
    parts: tuple[tuple[Ints, Ints, Ints, Ints, Floats], ...]


def _add(found: Array, line: Ints, unknown: Ints, values: Array) -> None:
    """Adds up where an unknown stands several times in one line."""
    lead = np.arange(len(found))[:, None]
    np.add.at(found, (lead, line[None, :], unknown[None, :]), np.broadcast_to(values, (len(found), len(line))))


def _places(equations: Equations, pairs: Ints) -> _Places:
    i, j = pairs.T
    parts = []
    for entries in (equations.T, equations.C):
        for one, other in ((i, j), (j, i)):
            line, at = np.nonzero(one[:, None] == entries.column[None, :])
            parts.append((line, entries.unknown[at], entries.row[at], other[line], entries.by[at]))
    unknowns = np.concatenate([equations.T.unknown, equations.C.unknown])
    return _Places(len(pairs), len(np.unique(unknowns)) < len(unknowns), tuple(parts))


def make_equations(space: Space, sigma: Floats, edges: Sequence[Edge]) -> Equations:
    """The equations of a graph's models at a covariance, with edges of the graph that are varied."""
    sd = np.sqrt(np.diag(sigma))
    at = {name: k for k, name in enumerate(space.names)}
    varied = [(e, at[e.first], at[e.second]) for e in edges]
    arcs = {frozenset((i, j)) for e, i, j in varied if e.kind == "<->"}
    often = np.bincount(np.concatenate([space.T_at[:, 2], space.C_at[:, 2], space.W_at[:, 2]]), minlength=space.size)
    free = {frozenset(pair) for *pair, a in space.W_at.tolist() if often[a] == 1} | arcs
    tied = np.array([line for line in space.W_at.tolist() if frozenset(line[:2]) not in free], dtype=np.intp)
    tied = tied.reshape(-1, 3)
    units = (np.outer(sd, 1.0 / sd), np.broadcast_to(1.0 / sd, space.C0.shape), np.outer(1.0 / sd, 1.0 / sd))
    blocks = [
        (lines, unit[lines[:, 0], lines[:, 1]])
        for lines, unit in zip((space.T_at, space.C_at, tied), units, strict=True)
    ]
    unknowns = list(dict.fromkeys(a for lines, _ in blocks for a in lines[:, 2].tolist()))
    place = {a: k for k, a in enumerate(unknowns)}
    unit = np.ones(len(unknowns))
    for lines, by in reversed(blocks):
        for (_, _, a), x in zip(lines.tolist()[::-1], by[::-1], strict=True):
            unit[place[a]] = x  # that of its first entry: there the unknown is the number itself
    weights, loadings, shared = (_entries(lines, by, place, unit) for lines, by in blocks)
    p = len(sd)
    listed = [(i, j) for i in range(p) for j in range(i, p) if frozenset((i, j)) not in free]
    pairs = np.array(listed, dtype=np.intp).reshape(-1, 2)
    return Equations(
        sigma * units[2], sd, weights, loadings, shared, space.T0 * units[0], space.C0 * units[1],
        space.W0 * units[2], unit, pairs,
        tuple(Varied("weight" if e.kind == "->" else "covariance", i, j) for e, i, j in varied),
        _free(p, pairs, shared),
    )  # fmt: skip


def _free(p: int, pairs: Ints, shared: Entries) -> Flags:
    found = np.ones((p, p), dtype=bool)
    i, j = pairs.T
    found[i, j] = found[j, i] = False
    found[shared.row, shared.column] = found[shared.column, shared.row] = True
    return found


def _entries(lines: Ints, by: Floats, place: dict[int, int], unit: Floats) -> Entries:
    unknown = np.array([place[a] for a in lines[:, 2].tolist()], dtype=np.intp)
    return Entries(lines[:, 0], lines[:, 1], unknown, by / unit[unknown])


def start_of(equations: Equations, space: Space, theta: Floats) -> Floats:
    """The unknowns of a point of the space."""
    z = np.zeros(equations.size)
    for lines, entries in ((space.T_at, equations.T), (space.C_at, equations.C)):
        z[entries.unknown] = theta[lines[:, 2]] * equations.unit[entries.unknown]
    if len(equations.W.unknown):
        kept = {frozenset((int(i), int(j))) for i, j in zip(equations.W.row, equations.W.column, strict=True)}
        lines = np.array([line for line in space.W_at.tolist() if frozenset(line[:2]) in kept], dtype=np.intp)
        z[equations.W.unknown] = theta[lines[:, 2]] * equations.unit[equations.W.unknown]
    return z
