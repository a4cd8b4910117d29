"""Products of forms over rows that an engine has: from fourth moments, by one pass for all questions.

Forms of complete rows are of the second degree. With the products of 1, whitened columns and their products, summed
over rows or clusters, the products of any forms follow without another look at the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import Features, are_far, summed_features
from halftrek.estimation import Fitted
from halftrek.inference.checks.edges.scores import RowForms
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.robust import added, over_units, products, rows_needed
from halftrek.inference.kept import kept

FEW = 7  # columns, whose 36 features have 666 products
SAME = 1e-8  # share of its size by which a form may differ from one of the second degree


def unit_products(fit: Fitted, forms: Sequence[RowForms]) -> tuple[Floats, float]:
    """Products of forms (all parts one after the other), summed over independent units, and how many units."""
    found = from_fourth_moments(fit, forms)
    return over_units(fit, forms, products, added) if found is None else found


def known_units(fit: Fitted) -> int | None:
    """How many independent units there are; None where rows are read here, or columns are many."""
    fourth = _fourth_moments(fit)
    return None if fourth is None else int(fourth.units)


def from_fourth_moments(fit: Fitted, forms: Sequence[RowForms]) -> tuple[Floats, float] | None:
    """The same; None where rows are read here, where columns are many, or forms not of the second degree."""
    fourth = _fourth_moments(fit)
    if fourth is None:
        return None
    coefficients = _coefficients(fit, forms, fourth.features)
    if coefficients is None:
        return None
    return coefficients.T @ fourth.total @ coefficients, fourth.units


@dataclass(frozen=True, eq=False)
class _Fourth:
    """Products of features, summed over units."""

    features: Features
    total: Floats
    units: float


@kept
def _fourth_moments(fit: Fitted) -> _Fourth | None:
    rows, like, cov = rows_needed(fit, "this"), kind_of_data(fit).like(fit), fit.moments.cov
    if like is None or fit.moments.layer is not None or not (len(cov) <= FEW and are_far(rows)):
        return None
    try:
        turn = np.linalg.inv(np.linalg.cholesky(cov))
    except np.linalg.LinAlgError:
        return None
    features = Features(fit.moments.mean, turn)
    found = summed_features(rows, turn, like)
    if found is None:
        found = over_units(fit, [_FeatureForms(features)], products, added)
    return _Fourth(features, *found)


@dataclass(frozen=True, eq=False)
class _FeatureForms:
    """The features as forms of a row."""

    features: Features

    def __len__(self) -> int:
        return len(self.features)

    @property
    def at(self) -> Ints:
        """The columns that matter: all."""
        return np.arange(len(self.features.turn))

    def values(self, centred: Floats, cov: Floats) -> Floats:  # noqa: ARG002 (they are about no covariance)
        """One column for each feature."""
        return self.features.of(centred)


def _coefficients(fit: Fitted, forms: Sequence[RowForms], features: Features) -> Floats | None:
    """What forms are made of, a column for each, from their values at a few rows; None if others give other values."""
    p = len(features.turn)
    i, j = features.pairs
    unit = np.eye(p)
    z = np.concatenate([np.zeros((1, p)), unit, np.where((i == j)[:, None], -unit[i], unit[i] + unit[j])])
    others = np.random.default_rng(0).normal(size=(3, p))
    rows = np.linalg.solve(features.turn, np.concatenate([z, others]).T).T
    values = np.concatenate([form.values(rows, fit.moments.cov) for form in forms], axis=1)
    at = features.of(rows)
    found = np.linalg.solve(at[: len(z)], values[: len(z)])
    gap = np.abs(at[len(z) :] @ found - values[len(z) :])
    size = np.abs(at[len(z) :]) @ np.abs(found)
    return None if (gap > SAME * size).any() else np.asarray(found)
