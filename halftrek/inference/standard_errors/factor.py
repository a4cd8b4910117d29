"""Standard errors of many answers at once: one factor of their joint covariance, each district looked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.plan import make_plan
from halftrek.inference.evidence.evidence import PLENTY, Support, equation_sizes, student_quantile
from halftrek.inference.evidence.incomplete import seen_support
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.edge_slopes import EdgeSlopes
from halftrek.inference.information.influence import forms_covariance, whole_forms
from halftrek.inference.information.information import FLAT, LEAK, DistrictInformation, Kind, district_information
from halftrek.inference.information.missing.incomplete import pattern_information
from halftrek.inference.information.robust import cluster_correction, over_units, rows_needed
from halftrek.models.gaussian import covariance_root
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

    def single(self, size: int) -> Iterator[Gradient]:
        """One by one."""
        for T, omega, mean in zip(self.T, self.omega, self.mean, strict=True):
            yield Gradient(T, np.broadcast_to(omega, (size, size)), mean)


@dataclass(frozen=True, eq=False)
class Factor:
    """``spread @ spread.T`` is the covariance of the answers; ``open`` are their parts that no data determine.

    ``reach`` has each part of ``spread`` multiplied by the quantile that goes with it: lengths of its lines are how far
    intervals reach.
    """

    spread: Floats
    reach: Floats
    open: tuple[tuple[Floats, Floats], ...] = ()

    @staticmethod
    def with_quantile(lines: Floats, quantile: float | Floats, open_: tuple[tuple[Floats, Floats], ...] = ()) -> Factor:
        """The same quantile for everything, or one for each answer."""
        each = np.asarray(quantile)
        with np.errstate(invalid="ignore"):  # an infinite quantile of what has no spread
            reach = np.where(lines == 0.0, 0.0, lines * (each[:, None] if each.ndim else each))
        return Factor(lines, reach, open_)

    def errors(self, weights: Floats | None = None) -> Floats:
        """Standard errors of the answers, or of weighted sums of them (one row of weights each); nan if undetermined.

        Weighted sums cancel before they are squared, so that what is certain has no error.
        """
        return self._lengths(self.spread, weights)

    def reaches(self, weights: Floats | None = None) -> Floats:
        """How far intervals reach to each side."""
        return self._lengths(self.reach, weights)

    def _lengths(self, lines: Floats, weights: Floats | None) -> Floats:
        chosen = lines if weights is None else _weighted(weights, lines)
        lengths = np.sqrt(np.einsum("ij,ij->i", chosen, chosen))
        for unknown, whole in self.open:
            leak, size = (unknown, whole) if weights is None else (weights @ unknown, weights @ whole)
            lengths[leaks(leak, size)] = np.nan
        return np.asarray(lengths)

    def covariance(self, weights: Floats | None = None) -> Floats:
        """Covariance of the answers, or of weighted sums of them."""
        spread = self.spread if weights is None else weights @ self.spread
        return np.asarray(spread @ spread.T)

    def part(self, rows: slice) -> Factor:
        """The factor of some of the answers."""
        open_parts = tuple((unknown[rows], whole[rows]) for unknown, whole in self.open)
        return Factor(self.spread[rows], self.reach[rows], open_parts)

    def small(self) -> Factor:
        """The same with as many columns as there are independent answers; what is only rounding is left out."""
        return Factor(_compressed(self.spread), _compressed(self.reach), self.open)


def _compressed(lines: Floats) -> Floats:
    if not np.isfinite(lines).all():
        return lines
    left, sizes, _ = np.linalg.svd(lines, full_matrices=False)
    kept = sizes > 1e-15 * sizes.max(initial=0.0)
    return np.asarray(left[:, kept] * sizes[kept])


def _weighted(weights: Floats, lines: Floats) -> Floats:
    """``weights @ lines``; nothing of what is infinite is nothing."""
    if np.isfinite(lines).all():
        return np.asarray(weights @ lines)
    finite = weights @ np.where(np.isfinite(lines), lines, 0.0)
    endless = (weights != 0.0).astype(float) @ np.isinf(lines).astype(float) > 0.0
    return np.where(endless, np.inf, finite)


Piece = Slopes | EdgeSlopes
Pieces = Piece | Iterable[Piece]  # gradients may come in pieces, so that many need little memory


def expected_factor(fit: Fitted, slopes: Pieces, how: How) -> Factor:
    """From the information, with the normal quantile."""
    found = kind_of_data(fit).columns(fit, list(_pieces(slopes)), how.information, how.level)
    return Factor.with_quantile(found.spread, how.quantile, found.open)


def student_factor(fit: Fitted, slopes: Pieces, how: How) -> Factor:
    """From the observed information, with residual degrees of freedom and quantiles of Student's t."""
    found = kind_of_data(fit).columns(fit, list(_pieces(slopes)), "observed", how.level)
    return Factor(found.grown, _times(found.grown, found.quantile), found.open)


def suited_factor(fit: Fitted, slopes: Pieces, how: How, *, together: bool) -> Factor:
    """As the first where rows are plenty and as the second where they are few, answer by answer.

    ``together``: one and the same for all, for what is made of several answers.
    """
    pieces = list(_pieces(slopes))
    found = kind_of_data(fit).columns(fit, pieces, how.information, how.level)
    plain = Factor.with_quantile(found.spread, how.quantile, found.open)
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = [
            np.sqrt((x**2).sum(axis=1)) for x in (_times(found.grown, found.quantile), found.spread * how.quantile)
        ]
        few = np.asarray(np.where(lengths[1] > 0.0, lengths[0] / lengths[1], 1.0) >= PLENTY)
    if together:
        few[:] = few.any()
    if not few.any():
        return plain
    careful = student_factor(fit, pieces, how)
    return careful if few.all() else _chosen(few, careful, plain)


def _chosen(first: Flags, one: Factor, other: Factor) -> Factor:
    """Lines of one factor where ``first`` says so, else of the other; how they vary together is lost."""
    own = first[:, None]
    spread, reach = (
        np.concatenate([np.where(own, a, 0.0), np.where(own, 0.0, b)], axis=1)
        for a, b in ((one.spread, other.spread), (one.reach, other.reach))
    )
    open_parts = [(np.where(own, unknown, 0.0), whole) for unknown, whole in one.open]
    open_parts += [(np.where(own, 0.0, unknown), whole) for unknown, whole in other.open]
    return Factor(spread, reach, tuple(open_parts))


def joint_factor(fit: Fitted, slopes: Pieces, how: How, *, together: bool = True) -> Factor:
    """The factor of answers with these gradients, by the kind of interval asked for; none: what suits the rows."""
    from halftrek.inference.intervals import kind_of

    if how.interval is None:
        return suited_factor(fit, slopes, how, together=together)
    if not kind_of(how).in_tables:
        raise refused(how)
    return kind_of(how).factor(fit, slopes, how)


def refused(how: How) -> InputError:
    """What to say of an interval that tables cannot have."""
    return InputError(
        f"interval={how.interval!r} is for single questions, see fit.query; ask for 'delta' or 'robust' here"
    )


def _pieces(slopes: Pieces) -> Iterable[Piece]:
    return [slopes] if isinstance(slopes, Slopes | EdgeSlopes) else slopes


@dataclass(frozen=True, eq=False)
class Columns:
    """A factor for large samples, the same with residual degrees of freedom, and the quantiles of its entries."""

    spread: Floats
    grown: Floats
    quantile: Floats
    open: tuple[tuple[Floats, Floats], ...]


def district_columns(fit: Fitted, pieces: list[Piece], information: Kind, level: float) -> Columns:
    """How numbers with these gradients vary, where moments are complete: district by district."""
    blocks = list(district_information(fit, information))
    parts = [_pulled(fit, piece, blocks) for piece in pieces]
    means = np.concatenate([part[0] for part in parts])  # in the errors' means: each belongs to a district
    sizes = equation_sizes(make_plan(fit.graph, fit.model.names, fit.options))
    spread_parts, free, open_parts = [np.zeros((len(means), 0))], [np.zeros(0)], []
    for k, block in enumerate(blocks):
        pulled, own = np.concatenate([part[1][k] for part in parts]), list(block.task.variables)
        spread = means[:, own] @ covariance_root(fit.model.omega[np.ix_(own, own)]).T
        if pulled.any():
            inside, unknown, whole = resolved(block, pulled)
            spread = np.concatenate([spread, inside], axis=1)
            if leaks(unknown, whole).any():
                open_parts.append((unknown, whole))
        if spread.any():
            spread_parts.append(spread)
            free.append(np.full(spread.shape[1], fit.n - sizes[block.task.variables]))
    spread, left = np.concatenate(spread_parts, axis=1) / np.sqrt(fit.n), np.concatenate(free)
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.sqrt(np.where(left > 0.0, fit.n / left, np.inf))
    return Columns(spread, _times(spread, growth), student_quantile(level, left), tuple(open_parts))


def _times(lines: Floats, factors: Floats) -> Floats:
    """The product; nothing times infinity is nothing."""
    with np.errstate(invalid="ignore"):
        return np.where(lines == 0.0, 0.0, lines * factors)


def whole_columns(
    fit: Fitted,
    pieces: list[Piece],
    information: Kind,
    level: float,
    supported: Callable[[Fitted, Floats], Support] = seen_support,
) -> Columns:
    """With missing values districts are not separate: all parameters at once."""
    known = pattern_information(fit, information)
    pulled = np.stack([known.pull(g) for piece in pieces for g in piece.single(len(fit.model.names))])
    along, lost = pulled @ known.determined, pulled @ known.flat
    values, vectors = np.linalg.eigh(known.inner)
    if (values <= 0.0).any():  # not at a maximum
        nothing = np.full((len(pulled), 1), np.nan)
        return Columns(nothing, nothing, nothing, ())
    whole = np.concatenate([along, lost], axis=1)
    open_parts = ((lost, whole),) if leaks(lost, whole).any() else ()
    spread, rests = along @ vectors / np.sqrt(values * fit.n), supported(fit, pulled)
    return Columns(spread, _times(spread, rests.growth()[:, None]), rests.quantiles(level)[:, None], open_parts)


def row_factor(fit: Fitted, slopes: Pieces) -> tuple[Floats, tuple[tuple[Floats, Floats], ...]]:
    """The sandwich: what rows (or clusters) contribute to each answer, brought to a triangle block by block."""
    rows_needed(fit, 'interval="robust"')
    forms = [kind_of_data(fit).row_scores(fit, tuple(piece.single(len(fit.model.names)))) for piece in _pieces(slopes)]
    size = sum(map(len, forms))
    triangle, lost, units = over_units(fit, forms, _triangle, _one_triangle)
    if fit.rows is not None and fit.rows.cluster is not None:
        triangle = triangle * np.sqrt(cluster_correction(units))
    whole = np.eye(size)
    open_parts = ((np.where(lost, whole, 0.0), whole),) if lost.any() else ()
    return triangle.T / fit.n, open_parts


Triangle = tuple[Floats, Flags, int]


def _triangle(values: Floats, weights: Floats | None) -> Triangle:
    """A triangle with the products of the forms, which of them data do not determine, and how many units it has."""
    weighted = np.nan_to_num(values if weights is None else values * np.sqrt(weights)[:, None])
    return np.asarray(np.linalg.qr(weighted, mode="r")), np.asarray(np.isnan(values).any(axis=0)), len(values)


def _one_triangle(ours: Triangle, theirs: Triangle) -> Triangle:
    both = np.concatenate([ours[0], theirs[0]])
    return np.asarray(np.linalg.qr(both, mode="r")), ours[1] | theirs[1], ours[2] + theirs[2]


def moment_factor(fit: Fitted, slopes: Pieces) -> tuple[Floats, tuple[tuple[Floats, Floats], ...]]:
    """The sandwich from moments alone: normal rows whose covariance is that of the data, not the model's."""
    scores = kind_of_data(fit).row_scores
    forms = [whole_forms(scores(fit, tuple(piece.single(len(fit.model.names))))) for piece in _pieces(slopes)]
    covariance = forms_covariance(forms, fit.moments.cov)
    lost = np.isnan(np.diag(covariance))
    spread = covariance_root(np.where(lost[:, None] | lost, 0.0, covariance)).T / np.sqrt(fit.n)
    whole = np.eye(len(spread))
    return spread, ((np.where(lost, whole, 0.0), whole),) if lost.any() else ()


def leaks(unknown: Floats, whole: Floats) -> Floats:
    """Which answers need what data do not determine."""
    size = np.abs(whole).max(axis=1, initial=0.0)
    return np.asarray(np.abs(unknown).max(axis=1, initial=0.0) > LEAK * size)


def _pulled(fit: Fitted, slopes: Piece, blocks: list[DistrictInformation]) -> tuple[Floats, list[Floats]]:
    """What is left to the errors' means, and the gradients in each district's free parameters."""
    if isinstance(slopes, EdgeSlopes):
        return np.zeros((len(slopes), slopes.size)), [slopes.pulled(block) for block in blocks]
    T, errors = slopes.T, slopes.mean @ fit.model.B.T
    intercepts = np.zeros_like(errors)
    if fit.options.intercepts:  # means are no longer free: they move with the intercepts, and T moves them too
        T = T + fit.model.mean[:, None] * errors[:, None, :]
        intercepts, errors = errors, np.zeros_like(errors)
    return errors, [block.pull_all(T, slopes.omega, intercepts) for block in blocks]


def resolved(block: DistrictInformation, pulled: Floats) -> tuple[Floats, Floats, Floats]:
    """The factor that a district adds, the parts of the gradients without information, and all parts."""
    values, vectors, scale = block.spectrum
    along = (pulled / scale) @ vectors
    informative = values > FLAT * values[-1]
    return along[:, informative] / np.sqrt(values[informative]), along[:, ~informative], along
