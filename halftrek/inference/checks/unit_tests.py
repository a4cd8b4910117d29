"""Tests that hold for data of any distribution and for rows in clusters: a mean over units against its own spread.

A tested quantity that is zero under the null is, to first order, a mean of what each row adds to it. Over independent
units (rows, or clusters) the ratio of that mean to its standard error has Student's distribution with one degree of
freedom less than there are units, exactly if what units add is normal, so that few clusters are allowed for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.inference.checks.edges.scores import RowForms
from halftrek.inference.information.robust import cluster_correction, unit_squares


@dataclass(frozen=True, eq=False)
class Centred:
    """Forms less their means over the rows."""

    forms: RowForms
    mean: Floats

    def __len__(self) -> int:
        return len(self.forms)

    @property
    def at(self) -> Ints:
        """The columns that matter."""
        return self.forms.at

    def values(self, centred: Floats, cov: Floats) -> Floats:
        """One column for each form."""
        return np.asarray(self.forms.values(centred, cov) - self.mean)


@dataclass(frozen=True, eq=False)
class UnitTests:
    """Student's t of some quantities, with its degrees of freedom."""

    t: Floats
    df: float

    @property
    def p(self) -> Floats:
        """Two-sided."""
        from scipy.special import stdtr

        return np.asarray(2.0 * stdtr(self.df, -np.abs(self.t)))


def unit_tests(fit: Fitted, values: Floats, forms: RowForms) -> UnitTests:
    """Are these numbers zero? ``forms`` are what each row adds to them, with mean zero over the rows."""
    (squares,), units = unit_squares(fit, [forms])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = values / np.sqrt(squares * cluster_correction(int(units)) / fit.n)
    return UnitTests(np.asarray(t), units - 1.0)
