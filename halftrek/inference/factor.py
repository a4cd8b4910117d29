"""Standard errors of many answers at once: one factor of their joint covariance, each district looked at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.errors import InputError
from halftrek.estimation import Fit
from halftrek.estimation.block import directions
from halftrek.inference.estimate import How
from halftrek.inference.incomplete import pattern_information, row_scores
from halftrek.inference.influence import influence
from halftrek.inference.information import FLAT, LEAK, DistrictInformation, Kind, district_information
from halftrek.inference.robust import cluster_correction, contributions, rows_needed
from halftrek.model import Floats
from halftrek.queries.gradients import Gradient


@dataclass(frozen=True, eq=False)
class Slopes:
    """Gradients of several answers, the first axis counting them: in T, in Omega (symmetric), in the means."""

    T: Floats
    omega: Floats
    mean: Floats

    @staticmethod
    def of(gradients: Sequence[Gradient]) -> Slopes:
        return Slopes(*(np.stack([getattr(g, part) for g in gradients]) for part in ("T", "omega", "mean")))

    @staticmethod
    def in_coefficients(T: Floats) -> Slopes:
        """Of answers that depend on the direct effects alone."""
        return Slopes(T, np.zeros((len(T), 1, 1)), np.zeros(T.shape[:2]))

    def single(self, size: int) -> Iterator[Gradient]:
        """One by one."""
        for T, omega, mean in zip(self.T, self.omega, self.mean, strict=True):
            yield Gradient(T, np.broadcast_to(omega, (size, size)), mean)


@dataclass(frozen=True, eq=False)
class Factor:
    """``told @ told.T`` is the covariance of the answers; ``open`` are their parts that no data determine."""

    told: Floats
    open: tuple[tuple[Floats, Floats], ...] = ()

    def errors(self, weights: Floats | None = None) -> Floats:
        """Standard errors of the answers, or of weighted sums of them (one row of weights each); nan if undetermined.

        Weighted sums cancel before they are squared, so that what is certain has no error.
        """
        told = self.told if weights is None else weights @ self.told
        errors = np.sqrt(np.einsum("ij,ij->i", told, told))
        for untold, whole in self.open:
            leak, size = (untold, whole) if weights is None else (weights @ untold, weights @ whole)
            errors[_leaks(leak, size)] = np.nan
        return np.asarray(errors)

    def covariance(self, weights: Floats | None = None) -> Floats:
        """Covariance of the answers, or of weighted sums of them."""
        told = self.told if weights is None else weights @ self.told
        return np.asarray(told @ told.T)

    def part(self, rows: slice) -> Factor:
        """The factor of some of the answers."""
        return Factor(self.told[rows], tuple((untold[rows], whole[rows]) for untold, whole in self.open))

    def small(self) -> Factor:
        """The same with as many columns as there are independent answers; what is only rounding is left out."""
        left, sizes, _ = np.linalg.svd(self.told, full_matrices=False)
        kept = sizes > 1e-15 * sizes.max(initial=0.0)
        return Factor(left[:, kept] * sizes[kept], self.open)


def joint_factor(fit: Fit, slopes: Slopes | Iterable[Slopes], how: How) -> Factor:
    """The factor of answers with these gradients; gradients may come in pieces, so that many need little memory."""
    pieces = [slopes] if isinstance(slopes, Slopes) else slopes
    if how.interval == "robust":
        return _from_rows(fit, pieces)
    if how.interval != "delta":
        raise InputError(
            f"interval={how.interval!r} is for single questions, see fit.query; ask for 'delta' or 'robust' here"
        )
    if fit.patterns is not None:
        return _from_patterns(fit, pieces, how.information or "observed")
    return _from_districts(fit, pieces, how.information or "expected")


def _from_districts(fit: Fit, pieces: Iterable[Slopes], information: Kind) -> Factor:
    blocks = list(district_information(fit, information))
    parts = [_pulled(fit, piece, blocks) for piece in pieces]
    means = np.concatenate([part[0] for part in parts]) @ _root(fit.model.cov)
    columns, open_parts = [means], []
    for k, block in enumerate(blocks):
        pulled = np.concatenate([part[1][k] for part in parts])
        if not pulled.any():
            continue
        told, untold, whole = _resolved(block, pulled)
        columns.append(told)
        if _leaks(untold, whole).any():
            open_parts.append((untold, whole))
    return Factor(np.concatenate(columns, axis=1) / np.sqrt(fit.n), tuple(open_parts))


def _from_patterns(fit: Fit, pieces: Iterable[Slopes], information: Kind) -> Factor:
    """With missing values districts are not separate: all parameters at once."""
    known = pattern_information(fit, information)
    pulled = np.stack([known.pull(g) for piece in pieces for g in piece.single(len(fit.model.names))])
    along, lost = pulled @ known.told, pulled @ known.flat
    values, vectors = np.linalg.eigh(known.told.T @ known.matrix @ known.told)
    if (values <= 0.0).any():  # not at a maximum
        return Factor(np.full((len(pulled), 1), np.nan))
    whole = np.concatenate([along, lost], axis=1)
    open_parts = ((lost, whole),) if _leaks(lost, whole).any() else ()
    return Factor(along @ vectors / np.sqrt(values * fit.n), open_parts)


def _from_rows(fit: Fit, pieces: Iterable[Slopes]) -> Factor:
    """The sandwich: what rows (or clusters) contribute to each answer, brought to a triangle block by block."""
    rows_needed(fit, 'interval="robust"')
    scores = influence if fit.patterns is None else row_scores
    forms = [scores(fit, tuple(piece.single(len(fit.model.names)))) for piece in pieces]
    size = sum(map(len, forms))
    triangle = np.zeros((0, size))
    lost = np.zeros(size, dtype=bool)
    for values, weights in contributions(fit, forms):
        lost |= np.isnan(values).any(axis=0)
        weighted = np.nan_to_num(values if weights is None else values * np.sqrt(weights)[:, None])
        if fit.rows is not None and fit.rows.cluster is not None:
            weighted *= np.sqrt(cluster_correction(len(values)))
        triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, weighted]), mode="r"))
    whole = np.eye(size)
    open_parts = ((np.where(lost, whole, 0.0), whole),) if lost.any() else ()
    return Factor(triangle.T / fit.n, open_parts)


def _leaks(untold: Floats, whole: Floats) -> Floats:
    """Which answers need what data do not tell."""
    size = np.abs(whole).max(axis=1, initial=0.0)
    return np.asarray(np.abs(untold).max(axis=1, initial=0.0) > LEAK * size)


def _pulled(fit: Fit, slopes: Slopes, blocks: list[DistrictInformation]) -> tuple[Floats, list[Floats]]:
    """What is left to the means, and the gradients in each district's free parameters."""
    T, mean = slopes.T, slopes.mean
    intercepts = np.zeros_like(mean)
    if fit.options.intercepts:  # means are no longer free: they move with the intercepts, and T moves them too
        intercepts = mean @ fit.model.B.T
        T = T + fit.model.mean[:, None] * intercepts[:, None, :]
        mean = np.zeros_like(mean)
    return mean, [pull_all(block, T, slopes.omega, intercepts) for block in blocks]


def pull_all(block: DistrictInformation, T: Floats, omega: Floats, intercepts: Floats) -> Floats:
    """Gradients of several answers in the free parameters of one district (see ``DistrictInformation.pull``)."""
    task, shape, m = block.task, block.task.shape, block.task.shape.slots
    own, at = block.scale[m:], shape.at
    full = np.zeros((len(T), shape.parameters))
    for a, (slot, j) in enumerate(zip(task.slots, shape.column, strict=True)):
        v = task.variables[j]
        slope = intercepts[:, v] if slot == block.constant else T[:, slot, v]
        full[:, a] = slope * own[j] / block.scale[a]
    if omega.any():
        grid = np.ix_(range(len(T)), task.variables, task.variables)
        inside = directions(block.state)[0] @ (omega[grid] * np.outer(own, own))
        full[:, m:] = 2.0 * inside[:, np.arange(shape.parameters - m), at.target[m:]]
    link = block.state.problem.link
    return full if link is None else np.asarray(full @ link[0])


def _resolved(block: DistrictInformation, pulled: Floats) -> tuple[Floats, Floats, Floats]:
    """The factor that a district adds, the parts of the gradients without information, and all parts."""
    scale = np.sqrt(np.maximum(np.diag(block.matrix), 1e-300))
    values, vectors = np.linalg.eigh(block.matrix / np.outer(scale, scale))
    along = (pulled / scale) @ vectors
    told = values > FLAT * values[-1]
    return along[:, told] / np.sqrt(values[told]), along[:, ~told], along


def _root(cov: Floats) -> Floats:
    values, vectors = np.linalg.eigh(cov)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
