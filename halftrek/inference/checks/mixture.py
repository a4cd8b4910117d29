"""The likelihood ratio of nested models where data are not normal, or rows come in clusters.

There it is a mixture of chi-squares. In coordinates of the moments in which their information is the unit matrix let P
project on the directions that the larger model has beyond the smaller one, and M be the spread of what a row adds to
the moments (of a cluster's rows together). The ratio has the mean ``tr(PM)``, and weights that are the eigenvalues of
PMP: it is compared as ``T / tr(PM)`` with an F distribution whose degrees of freedom ``v = tr(PM)² / tr(PMPM)`` and
``v (units - 1)`` match the spread of the mixture and of its estimated mean. For one degree of freedom it is Student's
t; with many units and equal weights it is the scaled test of Satorra and Bentler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import Moments
from halftrek.errors import DataError
from halftrek.estimation import Fitted
from halftrek.estimation import fit as fit_model
from halftrek.estimation.given.data_kind import patterns_behind
from halftrek.estimation.space import Space, make_space
from halftrek.inference.checks.edges.scores import RowForms
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.fourth_moments import unit_products
from halftrek.inference.information.missing.incomplete import moved_moments, saturated_information, scores_along
from halftrek.inference.information.robust import cluster_correction


@dataclass(frozen=True)
class Mixture:
    """Mean of a likelihood ratio under the smaller model, trace of the square of its weights, independent units."""

    df: int
    mean: float
    square: float
    units: float

    @property
    def scaling(self) -> float:
        """What the ratio is divided by to have the mean of a chi-square."""
        return self.mean / self.df

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the chi-square that has the shape of the mixture."""
        return float(np.clip(self.mean**2 / self.square, 1.0, self.df)) if self.square > 0.0 else 1.0

    def p(self, ratio: float) -> float:
        """The chance of a likelihood ratio as large as this."""
        from scipy.special import fdtrc

        return float(fdtrc(self.freedom, self.freedom * (self.units - 1.0), ratio / self.mean))


def mixture(fit: Fitted, larger: Fitted | None = None) -> Mixture | None:
    """The mixture for a fit inside a larger one (None: against the unrestricted model).

    None where nothing is tested, and where the rows do not determine the moments without a model.
    """
    found = kind_of_data(fit).coordinates(fit)
    if found is None:
        return None
    spread, units = _spread(fit, found.rows)
    own = _basis(found.directions(fit), kind_of_data(fit).determined(fit))
    wide: Floats | None = None
    if larger is not None:
        wide = _basis(found.directions(_moved(larger, fit)), kind_of_data(larger).determined(larger))
    df = (len(spread) if wide is None else wide.shape[1]) - own.shape[1]
    inside = _beyond(_beyond(spread, own, wide).T, own, wide)
    mean = float(np.trace(inside))
    return Mixture(df, mean, _square(inside, units), units) if df > 0 and mean > 0.0 else None


def _beyond(matrix: Floats, own: Floats, wide: Floats | None) -> Floats:
    """The part of the columns that the larger model can move to (None: anywhere) and the smaller one cannot.

    Both spans have few dimensions beside the moments, so that the projections themselves are never made.
    """
    whole = matrix if wide is None else wide @ (wide.T @ matrix)
    return np.asarray(whole - own @ (own.T @ matrix))


def _square(weights: Floats, units: float) -> float:
    """``tr(V²)`` from an estimate of V by so many units, without the bias that normal ones would give it."""
    if units < 3.0:
        return 0.0
    k = units - 1.0
    biased = float((weights * weights.T).sum()) - float(np.trace(weights)) ** 2 / k
    return biased * k**2 / ((k - 1.0) * (k + 2.0))


def _spread(fit: Fitted, rows: RowForms) -> tuple[Floats, float]:
    """Covariance, times the number of rows, of the mean of these forms over independent units."""
    total, units = unit_products(fit, [rows])
    return total * cluster_correction(int(units)) / fit.n, units


def _basis(directions: Floats, rank: int) -> Floats:
    """An orthonormal basis of the span of the columns, of which so many are independent."""
    size = np.linalg.norm(directions, axis=0)
    return np.asarray(np.linalg.svd(directions[:, size > 0.0] / size[size > 0.0], full_matrices=False)[0][:, :rank])


def _moved(larger: Fitted, fit: Fitted) -> Fitted:
    """The larger model where it has the moments of the smaller one."""
    model, held = fit.model, larger.options
    moments = Moments(model.names, fit.n, np.array(model.mean), np.array(model.cov))
    return fit_model(larger.graph, moments, noise=dict(held.noise), intercepts=dict(held.intercepts))


# -- coordinates in which the information about the moments is the unit matrix --------------------


class Coordinates(Protocol):
    """What rows add to the moments, with mean zero, and how a model's parameters move them (one a column)."""

    @property
    def rows(self) -> RowForms: ...

    def directions(self, fit: Fitted) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Squares:
    """Of complete rows: products of whitened variables and, where intercepts are held, the variables themselves.

    ``gap`` is the mean of the data less that of the model; None where means are free and do not matter.
    """

    white: Floats
    gap: Floats | None

    @staticmethod
    def of(fit: Fitted) -> Squares:
        """Where the fit's implied covariance is the unit matrix."""
        implied = fit.implied
        gap = fit.moments.mean - implied.mean if fit.options.intercepts else None
        return Squares(np.linalg.inv(np.linalg.cholesky(implied.cov)), gap)

    def __len__(self) -> int:
        p = len(self.white)
        return p * (p + 1) // 2 + (0 if self.gap is None else p)

    @property
    def rows(self) -> RowForms:
        """These coordinates of a row."""
        return self

    @property
    def at(self) -> Ints:
        """The columns that matter: all."""
        return np.arange(len(self.white))

    def values(self, centred: Floats, cov: Floats) -> Floats:
        """One column for each coordinate; rows less the mean of the data."""
        gap = np.zeros(len(self.white)) if self.gap is None else self.white @ self.gap
        y = centred @ self.white.T
        i, j, unit = self._pairs
        moved = y + gap
        products = moved[:, i] * moved[:, j] - (self.white @ cov @ self.white.T + np.outer(gap, gap))[i, j]
        return np.concatenate([products * unit, *([] if self.gap is None else [y])], axis=1)

    def directions(self, fit: Fitted) -> Floats:
        """Derivatives of the implied moments."""
        space = make_space(fit.graph, fit.model.names, fit.options)
        dmean, dcov = space.jacobian(space.vector(fit.model))
        if self.gap is None:
            mine = np.setdiff1d(np.arange(space.size), space.mu_at[:, 2])
            dmean, dcov = dmean[mine], dcov[mine]
        i, j, unit = self._pairs
        p = len(self.white)  # hidden variables come after the observed ones
        moved = (self.white @ dcov[:, :p, :p] @ self.white.T)[:, i, j] * unit
        return np.concatenate([moved, *([] if self.gap is None else [dmean[:, :p] @ self.white.T])], axis=1).T

    @property
    def _pairs(self) -> tuple[Ints, Ints, Floats]:
        i, j = np.triu_indices(len(self.white))
        return i, j, np.where(i == j, np.sqrt(0.5), 1.0)


@dataclass(frozen=True, eq=False)
class Observed:
    """Where values are missing: scores of means and covariances at the unrestricted maximum."""

    space: Space
    root: Floats
    kept: Ints
    rows: RowForms

    @staticmethod
    def of(fit: Fitted) -> Observed | None:
        """Without the covariances of pairs that no row has both of; None where the rows do not determine the others."""
        patterns = patterns_behind(fit)
        known, names = saturated_information(patterns), patterns.names
        if known is None:
            return None
        apart = {frozenset(pair) for pair in patterns.apart}
        gone = [int(a) for i, j, a in known.space.W_at if frozenset((names[i], names[j])) in apart]
        kept = np.setdiff1d(np.arange(known.space.size), np.array(gone, dtype=np.intp))
        try:
            root = np.linalg.cholesky(known.matrix[np.ix_(kept, kept)])
        except np.linalg.LinAlgError as error:
            raise DataError(
                "the rows that have values do not determine all means and covariances, so that the test by rows has "
                "nothing to compare with; leave variables out, or ask for robust=False"
            ) from error
        along = np.zeros((len(kept), known.space.size))
        along[:, kept] = np.linalg.inv(root)
        return Observed(known.space, root, kept, scores_along(fit, known.space, known.theta, along))

    def directions(self, fit: Fitted) -> Floats:
        """Derivatives of the implied moments."""
        space = make_space(fit.graph, fit.model.names, fit.options)
        return np.asarray(self.root.T @ moved_moments(self.space, space, space.vector(fit.model))[self.kept])
