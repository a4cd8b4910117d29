"""The coefficients of many fitted groups with their covariances, for tests that groups are alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation import Fitted
from halftrek.estimation.many.groups import FittedGroups
from halftrek.graphs import Edge
from halftrek.inference.groups.batch import BatchInformation, batch_information
from halftrek.inference.groups.estimates import Sample
from halftrek.inference.information.information import FLAT, LEAK
from halftrek.inference.information.missing.incomplete import pattern_information
from halftrek.queries import DirectEffect
from halftrek.queries.gradients import linearize


@dataclass(frozen=True, eq=False)
class Part:
    """A district's coefficients: edges, values by group, covariances by group, and which ones each group tells."""

    edges: list[Edge]
    values: Floats
    spread: Floats
    known: Flags

    def only(self, edges: list[Edge]) -> Part:
        """Some of the coefficients."""
        keep = [self.edges.index(edge) for edge in edges]
        return Part(edges, self.values[:, keep], self.spread[:, keep][:, :, keep], self.known[:, keep])

    def within(self, known: Flags) -> Part:
        """Where another sample tells them too."""
        return replace(self, known=self.known & known)


def coefficients_of_all(fits: FittedGroups, sample: Sample, values: Floats) -> list[Part]:
    """The coefficients of each district, or of all where values are missing; ``values`` stand where T does."""
    parts = [_coefficients(block, fits, values, sample.n) for block in batch_information(sample.batch, fits.options)]
    return [_with_holes(parts, sample.incomplete)] if sample.incomplete else parts


def _with_holes(parts: list[Part], incomplete: Mapping[int, Fitted]) -> Part:
    """All coefficients together: where values are missing those of different districts vary together."""
    edges = [edge for part in parts for edge in part.edges]
    values, known = (np.concatenate([getattr(part, x) for part in parts], axis=1) for x in ("values", "known"))
    spread, begin = np.zeros((len(values), len(edges), len(edges))), 0
    for part in parts:
        own = slice(begin, begin + len(part.edges))
        spread[:, own, own] = part.spread
        begin = own.stop
    for i, fit in incomplete.items():
        information = pattern_information(fit)
        pulled = [information.pull(linearize(DirectEffect(u, v), fit.model).values[0]) for u, _, v in edges]
        along = np.array([information.direction(g) for g in pulled])
        spread[i] = np.array(pulled) @ along.T / fit.n
        known[i] = has_error(values[i], np.diag(spread[i]))
    return Part(edges, values, np.where(known[:, :, None] & known[:, None, :], spread, 0.0), known)


def _coefficients(block: BatchInformation, fits: FittedGroups, T: Floats, n: Floats) -> Part:
    """A district's coefficients, one for each label, with covariances."""
    task, shape, m = block.task, block.task.shape, block.task.shape.slots
    own, link = block.scale[:, m:], block.state.problem.link
    edges, entries, probes, seen = [], [], [], set()
    for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
        if not 0 <= slot < T.shape[1]:
            continue
        tie = None if task.ties is None else task.ties[a]
        if isinstance(tie, float) or (tie is not None and tie in seen):
            continue
        seen.add(tie)
        probe = np.zeros((len(own), shape.parameters))
        probe[:, a] = own[:, j] / block.scale[:, a]
        probes.append(probe if link is None else (probe[:, None, :] @ link)[:, 0])
        v = task.variables[j]
        entries.append((slot, v))
        edges.append(Edge(fits.batch.names[slot], "->", fits.batch.names[v]))
    if not edges:
        return Part([], np.zeros((len(T), 0)), np.zeros((len(T), 0, 0)), np.zeros((len(T), 0), dtype=bool))
    values, vectors, scale = block.spectrum()
    along = np.stack(probes, axis=1) / scale[:, None, :] @ vectors
    strong = (values > FLAT * values[:, -1:])[:, None, :]
    lost = np.abs(np.where(strong, 0.0, along)).max(axis=2) > LEAK * np.abs(along).max(axis=2)
    weighted = np.where(strong, along / np.sqrt(np.where(strong, values[:, None, :], 1.0)), 0.0)
    spread = weighted @ weighted.transpose(0, 2, 1) / n[:, None, None]
    chosen = np.stack([T[:, slot, v] for slot, v in entries], axis=1)
    return Part(edges, chosen, spread, ~lost & has_error(chosen, np.diagonal(spread, axis1=1, axis2=2)))


def has_error(values: Floats, errors: Floats) -> Flags:
    """Where there is an estimate with a standard error."""
    return np.asarray(np.isfinite(values) & np.isfinite(errors) & (errors > 0.0))
