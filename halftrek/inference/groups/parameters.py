"""Every parameter of many fitted groups at once: the same as ``tables.parameters``, with a leading axis for groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation import BatchFit
from halftrek.estimation.many.groups import FittedGroups
from halftrek.estimation.plan import make_plan
from halftrek.graphs import Edge, Graph
from halftrek.inference.evidence.evidence import Support, equation_sizes, two_sided
from halftrek.inference.evidence.strength import as_strength
from halftrek.inference.groups.batch import BatchInformation, batch_information
from halftrek.inference.how import How
from halftrek.inference.information.information import FLAT
from halftrek.inference.intervals.base import ends_on
from halftrek.inference.tables.parameter import NO_MEANS, UNDETERMINED
from halftrek.inference.tables.parameters import undetermined_parameters
from halftrek.queries.derivatives import Gradient

Sides = tuple[str, str, str]
NUMBERS = ("est", "se", "z", "p", "ci_low", "ci_high", "std")
_ORDER = {"~": 0, "=~": 1, "~~": 2, "~1": 4}


@dataclass(frozen=True, eq=False)
class GroupParameters:
    """For each group (a line) and parameter (a column): numbers by their names in tables, and notes.

    ``sides`` say which parameter a column is: left side, operator, right side, as in lavaan.
    """

    sides: tuple[Sides, ...]
    numbers: dict[str, Floats]
    notes: list[list[str]]

    @staticmethod
    def empty(sides: tuple[Sides, ...], groups: int) -> GroupParameters:
        """Nothing known yet."""
        numbers = {name: np.full((groups, len(sides)), np.nan) for name in NUMBERS}
        return GroupParameters(sides, numbers, [[""] * len(sides) for _ in range(groups)])


class _Column(NamedTuple):
    """One parameter in all groups; ``error`` is for large samples, ``reach`` and ``lift`` are as in ``Reach``."""

    sides: Sides
    value: Floats
    error: Floats
    std: Floats
    reach: Floats
    lift: Floats
    note: str = ""


def group_parameters(fits: FittedGroups, rows: Ints, how: How) -> GroupParameters:
    """The parameters of some complete groups, none of which failed; ``how`` has no interval, or the one by delta."""
    batch, n = fits.batch.take(rows), fits.groups.n[rows]
    blocks = [_Block(fits, block, n, how) for block in batch_information(batch, fits.options)]
    few = np.flatnonzero(np.any([block.few for block in blocks], axis=0))
    if len(few):
        moments = fits.groups.cov[rows[few]], fits.groups.mean[rows[few]]
        for block, careful in zip(
            blocks, batch_information(batch.take(few), fits.options, moments=moments), strict=True
        ):
            block.look_again(careful, few)
    columns = [column for block in blocks for column in block.columns(batch)]
    home = {v: block for block in blocks for v in block.information.task.variables}
    columns += [home[j].intercept(batch, j) for j in range(len(batch.names))]
    unknown = undetermined_parameters(fits.graph, fits.options) if any(b.flat.any() for b in blocks) else frozenset()
    lost = np.any([block.flat for block in blocks], axis=0)
    columns = [_labelled(fits.graph, column) for column in columns] + _fixed(fits.graph, batch)
    columns.sort(key=lambda c: 3 if c.sides[1] == "~~" and c.sides[0] == c.sides[2] else _ORDER[c.sides[1]])
    found = GroupParameters.empty(tuple(column.sides for column in columns), len(rows))
    for k, column in enumerate(columns):
        _fill(found, k, column, lost if column.sides in unknown else np.zeros(len(rows), dtype=bool), how)
    return found


def edge_strengths(fits: FittedGroups, rows: Ints) -> dict[tuple[str, str], Floats]:
    """Of each edge that error covariances have a say in, how strongly each group identifies it: a first-stage F."""
    batch, n, names = fits.batch.take(rows), fits.groups.n[rows], fits.batch.names
    nothing = np.zeros_like(batch.T)
    none = np.zeros_like(batch.mu)
    found = {}
    for block in batch_information(batch, fits.options):
        if not (block.task.shape.pairs or block.task.shape.loadings):
            continue
        for slot, j in zip(block.task.slots, block.task.shape.column, strict=True):
            if 0 <= slot < len(names):
                v = block.task.variables[j]
                slope = np.zeros_like(batch.T)
                slope[:, slot, v] = 1.0
                ratio = block.ratio(Gradient(slope, nothing, none))[1]
                found[names[slot], names[v]] = as_strength(ratio, n)
    return found


class _Block:
    """A district of all groups: standard errors of its parameters, and how far intervals reach."""

    def __init__(self, fits: FittedGroups, information: BatchInformation, n: Floats, how: How) -> None:
        self.information, self._fits, self._n = information, fits, n
        sizes = equation_sizes(make_plan(fits.graph, fits.batch.names, fits.options))
        rests = Support(np.ones((len(n), 1)), n[:, None], np.array([float(sizes[information.task.variables])]))
        self.few: Flags = np.asarray((how.interval is None) & ~rests.plenty(how.level))
        self.reach = np.where(self.few, rests.quantiles(how.level), how.quantile)
        self.lift = np.where(self.few, rests.growth() ** 2, 1.0)
        self.errors, self.scale = self._errors(information, n), information.scale.copy()
        values = information.spectrum()[0]
        most = np.maximum(values[:, -1:], 1e-300) if values.shape[1] else values
        self.flat = np.asarray((values <= FLAT * most).any(axis=1))
        self._careful: list[tuple[BatchInformation, Ints]] = []

    def look_again(self, careful: BatchInformation, at: Ints) -> None:
        """Take the observed information in groups with few rows; ``at`` are the groups that it was found for."""
        mine = self.few[at]
        self.errors[at[mine]], self.scale[at[mine]] = self._errors(careful, self._n[at])[mine], careful.scale[mine]
        self._careful.append((careful, at))
        values = careful.spectrum()[0][mine]
        if values.shape[1]:
            self.flat[at[mine]] = (values <= FLAT * np.maximum(values[:, -1:], 1e-300)).any(axis=1)

    def columns(self, batch: BatchFit) -> Iterator[_Column]:
        """The district's coefficients, loadings, error covariances and variances."""
        block, errors = self.information, self.errors * np.sqrt(self.lift)[:, None]
        task, shape, at, names, m = (
            block.task,
            block.task.shape,
            block.task.shape.at,
            batch.names,
            block.task.shape.slots,
        )
        own, variables = self.scale[:, m:], np.array(task.variables, dtype=np.intp)
        sd = np.sqrt(np.diagonal(batch.cov, axis1=1, axis2=2))
        C = batch.C[:, np.array(task.latents, dtype=np.intp)[:, None], variables]
        inside = batch.omega[:, variables[:, None], variables] - C.transpose(0, 2, 1) @ C
        for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
            if 0 <= slot < len(names):
                v = task.variables[j]
                value = batch.T[:, slot, v]
                error = errors[:, a] * own[:, j] / self.scale[:, a]
                yield self._column((names[v], "~", names[slot]), value, error, value * sd[:, slot] / sd[:, v])
        for a, (k, j) in enumerate(shape.loadings, at.c.start):
            value = C[:, k, j]
            sides = (batch.latents[task.latents[k]], "=~", names[task.variables[j]])
            yield self._column(sides, value, errors[:, a] * own[:, j], value / sd[:, task.variables[j]], "up to sign")
        for a, (i, j) in enumerate(shape.pairs, at.w.start):
            value = inside[:, i, j]
            sides = (names[task.variables[i]], "~~", names[task.variables[j]])
            std = value / np.sqrt(inside[:, i, i] * inside[:, j, j])
            yield self._column(sides, value, errors[:, a] * own[:, i] * own[:, j], std)
        for a, j in enumerate(shape.noisy, at.v.start):
            v, value = task.variables[j], inside[:, j, j]
            error = errors[:, a] * (value if shape.loadings else own[:, j] ** 2)
            yield self._column((names[v], "~~", names[v]), value, error, value / sd[:, v] ** 2)

    def intercept(self, batch: BatchFit, j: int) -> _Column:
        """The intercept of one of the district's variables."""
        name, value = batch.names[j], batch.mu[:, j]
        std = value / np.sqrt(batch.cov[:, j, j])
        sides = (name, "~1", "")
        if name in dict(self._fits.options.intercepts):
            return self._column(sides, value, np.zeros(len(value)), std, "fixed")
        if not self._fits.groups.has_mean:
            return self._column(sides, value, np.full(len(value), np.nan), std, NO_MEANS)
        spread = self._intercept_spread(self.information, batch, j)
        for careful, at in self._careful:
            mine = self.few[at]
            spread[at[mine]] = self._intercept_spread(careful, batch.take(at), j)[mine]
        return self._column(sides, value, np.sqrt(spread / self._n * self.lift), std)

    def _intercept_spread(self, block: BatchInformation, batch: BatchFit, j: int) -> Floats:
        """Variance, times n, of ``m_j - sum of T_uj m_u``; only its own equation counts."""
        task, shape, held = block.task, block.task.shape, bool(self._fits.options.intercepts)
        member = task.variables.index(j)
        pulled = np.zeros((len(batch), shape.parameters))
        for a, (slot, column) in enumerate(zip(task.slots, shape.column, strict=True)):
            if column == member:
                slope = np.full(len(batch), float(slot == block.constant)) if held else -batch.mean[:, slot]
                pulled[:, a] = slope * block.scale[:, shape.slots + member] / block.scale[:, a]
        link = block.state.problem.link
        found = block.spread(pulled if link is None else np.asarray((pulled[:, None, :] @ link)[:, 0]))
        return found if held else found + batch.omega[:, j, j]  # what is left of the mean has the error's variance

    def _column(self, sides: Sides, value: Floats, error: Floats, std: Floats, note: str = "") -> _Column:
        return _Column(sides, value, error, std, self.reach, self.lift, note)

    @staticmethod
    def _errors(block: BatchInformation, n: Floats) -> Floats:
        """Of each parameter, on the scale of correlations."""
        link = block.state.problem.link
        probes = np.eye(block.task.shape.parameters)[None] if link is None else link
        return np.sqrt(block.spreads(probes) / n[:, None])


def _fill(found: GroupParameters, k: int, column: _Column, unknown: Flags, how: How) -> None:
    """Numbers and notes of one parameter; nan in groups whose data do not determine it."""
    error = np.where(unknown, np.nan, column.error)
    lost = np.isnan(error)
    value = np.where(lost, np.nan, column.value)
    own = column.sides[1] == "~~" and column.sides[0] == column.sides[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(error == 0.0, 0.0, column.reach * error)
        z = np.where(error > 0.0, value / error, np.nan)
    ends = ends_on("log" if own else "plain", value, far, column.lift)
    p = np.where(lost, np.nan, two_sided(z, column.reach, how.level))
    std = np.where(lost, np.nan, column.std)
    for name, numbers in zip(NUMBERS, (value, error, z, p, ends[:, 0], ends[:, 1], std), strict=True):
        found.numbers[name][:, k] = numbers
    for i, gone in enumerate(lost.tolist()):
        labelled = f"{column.note}, {UNDETERMINED}" if column.note.startswith("label ") else ""
        said = labelled or ("" if unknown[i] else column.note) or UNDETERMINED
        found.notes[i][k] = said if gone else column.note


def _labelled(graph: Graph, column: _Column) -> _Column:
    lhs, op, rhs = column.sides
    first, second = (lhs, rhs) if op in ("~~", "=~") else (rhs, lhs)
    edge = Edge(first, "<->" if op == "~~" else "->", second)
    label = graph.known.get(edge, graph.known.get(edge.turned) if op == "~~" else None)
    return column._replace(note=f"label {label}") if isinstance(label, str) else column


def _fixed(graph: Graph, batch: BatchFit) -> list[_Column]:
    """Coefficients and error covariances that were held at a value."""
    one, at = np.ones(len(batch)), {v: i for i, v in enumerate(batch.names)}
    found = []
    for (u, kind, v), value in graph.known.items():
        if isinstance(value, float) and u not in graph.latents:
            sides = (v, "~", u) if kind == "->" else (u, "~~", v)
            spread = batch.cov if kind == "->" else batch.omega
            low, high = spread[:, at[u], at[u]], spread[:, at[v], at[v]]
            std = value * np.sqrt(low / high) if kind == "->" else value / np.sqrt(low * high)
            found.append(_Column(sides, value * one, 0.0 * one, std, one, one, "fixed"))
    return found
