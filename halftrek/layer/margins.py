"""One column beside the normal variable behind it: its values, their shares, and the cuts between them.

A cut ``tau = Phi^-1(p)``, where p is the share of rows up to a value, moves with a row by ``(1{y <= value} - p) /
phi(tau)``. A ranked column has as many cuts as values; a plain one is its own variable and has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Codes, Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.bottom.portable import Portable
from halftrek.layer.bivariate import phi

CUT = ("ordered", "behind", "acts")  # kinds whose column is a cut of the variable behind it


@dataclass(frozen=True, eq=False)
class Margin(Portable):
    """What a column is taken for, and its distribution: values in order with their shares of the rows.

    ``mean`` and ``sd`` are those of a plain column, and of a ranked one those of its normal scores before they are
    brought to 0 and 1 (ties move them). ``labels`` are all levels of a column of texts, in
    their order; some may have no row.
    """

    kind: ColumnKind
    values: Floats
    shares: Floats
    mean: float = 0.0
    sd: float = 1.0
    labels: tuple[str, ...] = ()
    given_cuts: Floats | None = None  # of a model that has others than its margin ...
    given_scores: Floats | None = None  # ... and of a ranked column where it is behind each value, brought to 0 and 1

    @property
    def cut(self) -> bool:
        """True if categories of a variable behind the column were seen, and not the variable."""
        return self.kind in CUT

    @cached_property
    def below(self) -> Floats:
        """Shares of the rows up to each value but the last."""
        return np.cumsum(self.shares)[:-1]

    @cached_property
    def cuts(self) -> Floats:
        """Where the variable behind goes over from each value to the next."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self.below)) if self.given_cuts is None else self.given_cuts

    @cached_property
    def steepness(self) -> Floats:
        """The density at each cut."""
        return phi(self.cuts)

    @cached_property
    def scores(self) -> Floats:
        """The variable behind a ranked column, by value: normal scores of mid-ranks, brought to 0 and 1."""
        from scipy.special import ndtri

        if self.given_scores is not None:
            return self.given_scores
        return np.asarray((ndtri(self.middle) - self.mean) / self.sd)

    @cached_property
    def middle(self) -> Floats:
        """Mid-ranks of the values, as shares: those below and half of the ties."""
        return np.concatenate([[0.0], self.below]) + 0.5 * self.shares

    def codes(self, column: Floats) -> Codes:
        """The number of each entry's value, from 0; -1 for a hole."""
        at = np.clip(np.searchsorted(self.values, column), 0, len(self.values) - 1)
        return np.where(np.isnan(column), -1, at).astype(np.int64)

    def behind(self, column: Floats) -> Floats:
        """The standard variable behind a plain or ranked column; nan for a hole."""
        if self.kind == "ranked":
            return np.interp(column, self.values, self.scores)
        return np.asarray((column - self.mean) / self.sd)

    def cut_influence(self, column: Floats, weights: Floats) -> Floats:
        """How a row, times n, moves the cuts, summed with these weights (one for each cut); 0 for a hole."""
        steps = np.where(weights == 0.0, 0.0, weights / np.where(weights == 0.0, 1.0, self.steepness))
        above = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])  # all cuts from a value on have the row below
        at = self.codes(column)
        return np.where(at < 0, 0.0, above[at] - steps @ self.below)


def margin_of(column: Floats, weights: Floats, kind: ColumnKind, labels: tuple[str, ...] = ()) -> Margin:
    """The margin of a column without holes; weights are numbers of rows."""
    total = float(weights.sum())
    if kind == "plain":
        mean = float(weights @ column) / total
        sd = float(np.sqrt(weights @ (column - mean) ** 2 / total))
        return Margin(kind, np.zeros(0), np.zeros(0), mean, sd)
    values, at = np.unique(column, return_inverse=True)
    shares = np.bincount(at.ravel(), weights=weights, minlength=len(values)) / total
    if kind != "ranked":
        return Margin(kind, values, shares, labels=labels)
    raw = Margin(kind, values, shares).scores
    mean = float(shares @ raw)
    return Margin(kind, values, shares, mean, float(np.sqrt(shares @ (raw - mean) ** 2)), labels)


def tells_apart(column: Floats, codes: Codes, *, touching: bool = False) -> bool:
    """Whether a column alone tells all categories apart, in their order or the reverse (perfect separation).

    ``touching``: categories next to each other may have their last and first value in common (quasi-separation).
    """
    found = np.unique(codes)
    if len(found) < 2 or column.min() == column.max():
        return False
    low, high = (np.array([of(column[codes == c]) for c in found.tolist()]) for of in (np.min, np.max))
    before = np.less_equal if touching else np.less
    return bool(before(high[:-1], low[1:]).all() or before(high[1:], low[:-1]).all())
