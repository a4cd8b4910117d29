"""What rows with holes say of a linear Gaussian model: moments of the observed part, by pattern of missingness."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Codes, Flags, Floats
from halftrek.bottom.portable import Portable
from halftrek.data.check import places_of
from halftrek.data.columns.kinds import Kind
from halftrek.data.missing.gather import Bundle, PatternSums
from halftrek.data.missing.holes import Group, Sums, make_groups
from halftrek.data.moments import Moments
from halftrek.data.weights import Counted, Sampled, Weighting
from halftrek.errors import DataError

if TYPE_CHECKING:
    from halftrek.data.missing.curvature import Curvature
    from halftrek.data.missing.unrestricted import Unrestricted


@dataclass(frozen=True, eq=False)
class Patterns(Portable):
    """Sufficient statistics of rows with holes.

    Rows that lack the same columns are one pattern: ``observed[k]`` says which columns pattern ``k`` has, ``rows[k]``
    and ``n[k]`` count its rows (``n`` is the sum of their weights; sampling weights are scaled to sum to the number of
    all rows), ``mean[k]`` and ``cov[k]`` (divisor ``n[k]``) are the moments of what was observed, zero elsewhere.
    Patterns of many rows come first; those of a single row have no covariance, so ``cov`` stops before them. ``empty``
    counts rows without any value, which are left out; ``left_out`` values of rare patterns, where there were too many
    patterns to keep. ``kinds`` and ``weighting`` are as in ``Moments``.
    """

    names: tuple[str, ...]
    observed: Flags
    rows: Codes
    n: Floats
    mean: Floats
    cov: Floats
    empty: int = 0
    kinds: tuple[Kind, ...] | None = None
    weighting: Weighting | None = None
    left_out: int = 0

    def __post_init__(self) -> None:
        for array in (self.observed, self.rows, self.n, self.mean, self.cov):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.n)

    @property
    def total(self) -> float:
        """Number of rows with any value (sum of their weights where these count rows)."""
        return float(self.rows.sum() if isinstance(self.weighting, Sampled) else self.n.sum())

    @property
    def by_column(self) -> tuple[Floats, Floats, Floats]:
        """Number of rows (sum of their weights), mean and variance of each column over the rows that have it."""
        return np.asarray(self.n @ self.observed), *self.available

    @property
    def used(self) -> int:
        """Number of observed values."""
        return int(self.rows @ self.observed.sum(axis=1))

    @property
    def incomplete(self) -> int:
        """Number of rows with some values but not all."""
        return int(self.rows[~self.observed.all(axis=1)].sum())

    @property
    def sentence(self) -> str:
        """How much of the data is used, and under which assumption."""
        rows, values = int(self.rows.sum()), int(self.rows.sum()) * len(self.names)
        left_out = f"; {self.empty:,} more without any value were left out" if self.empty else ""
        too_many = ""
        if self.left_out:
            too_many = (
                f"; too many patterns of missing values to keep them all: {self.left_out:,} values of rows with rare "
                f"ones were left out (assumes that which values are missing does not depend on these)"
            )
        return (
            f"{rows:,} rows, {self.incomplete:,} of them incomplete: {self.used:,} of {values:,} values used, by "
            f"full-information maximum likelihood (assumes missing at random){left_out}{too_many}"
        )

    @cached_property
    def apart(self) -> tuple[tuple[str, str], ...]:
        """Pairs of columns that no row has both of."""
        seen = self.observed.astype(float)
        never = np.triu(seen.T @ seen == 0.0, 1)
        return tuple((self.names[i], self.names[j]) for i, j in np.argwhere(never))

    @cached_property
    def available(self) -> tuple[Floats, Floats]:
        """Mean and variance of each column over the rows that have it."""
        weight = self.n[:, None] * self.observed
        n = weight.sum(axis=0)
        mean = (weight * self.mean).sum(axis=0) / n
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused by its variance
            spread = (weight * (self.mean - mean) ** 2).sum(axis=0)
        within = np.diagonal(self.cov, axis1=1, axis2=2)
        return mean, (spread + (weight[: len(self.cov)] * within).sum(axis=0)) / n

    @cached_property
    def pairwise(self) -> Floats:
        """Correlation of each pair over the rows that have both; zero for pairs that fewer than three rows have."""
        mean, variance = self.available
        scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
        seen = self.observed.astype(float)
        z = seen * (self.mean - mean) / scale
        weight = self.n[:, None] * seen
        n = weight.T @ seen
        first = (self.n[:, None] * z).T @ seen / np.maximum(n, 1e-300)  # mean of i where j is seen too
        within = self.cov / np.outer(scale, scale)
        squares = z**2
        squares[: len(within)] += np.diagonal(within, axis1=1, axis2=2)
        second = (self.n[:, None] * squares).T @ seen / np.maximum(n, 1e-300)
        product = ((self.n[:, None] * z).T @ z + (self.n[: len(within), None, None] * within).sum(axis=0)) / np.maximum(
            n, 1e-300
        )
        spread = np.maximum(second - first**2, 0.0)
        room = np.sqrt(spread * spread.T)
        enough = ((self.rows[:, None] * seen).T @ seen >= 3) & (room > 0.0)
        return np.where(enough, (product - first * first.T) / np.where(enough, room, 1.0), 0.0)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The patterns by how many columns they lack, for work on many of them at once."""
        return make_groups(self.observed, self.n, self.cov)

    @cached_property
    def visited(self) -> dict[Hashable, Sums]:
        """Sums for the likelihood and its slope at the last points where they were asked for."""
        return {}

    @cached_property
    def bends(self) -> dict[Hashable, Curvature]:
        """Second derivatives of the likelihood at the last points where they were asked for."""
        return {}

    @cached_property
    def spread_of_few_holes(self) -> Floats:
        """Summed covariances about the means of patterns, of those that lack no more columns than they have."""
        few = 2 * self.observed[: len(self.cov)].sum(axis=1) >= len(self.names)
        return np.asarray(np.einsum("k,kij->ij", np.where(few, self.n[: len(self.cov)], 0.0), self.cov))

    @cached_property
    def warm(self) -> Moments:
        """A few steps towards the best mean and covariance: where every search begins."""
        from halftrek.data.missing.unrestricted import start_moments

        return start_moments(self)

    @cached_property
    def unrestricted(self) -> Unrestricted:
        """The best mean and covariance that no model restricts."""
        from halftrek.data.missing.unrestricted import unrestricted

        return unrestricted(self)

    def little(self) -> tuple[float, int, float]:
        """Little's test that values are missing completely at random: chi-square, degrees of freedom, p-value."""
        from halftrek.data.missing.unrestricted import little_test

        return little_test(self)

    def select(self, names: Sequence[str]) -> Moments | Patterns:
        """The same rows with some columns only, in the given order; moments if these are complete."""
        if tuple(names) == self.names:
            return self
        at = places_of(names, self.names, "the data")
        sums = PatternSums(len(at))
        weighting = self.weighting
        self.merge_into(sums, at, unit=weighting.mean if isinstance(weighting, Sampled) else 1.0)
        if isinstance(weighting, Sampled):  # what is left is worth its share of rows
            left = float(self.rows @ self.observed[:, at].any(axis=1)) / float(self.rows.sum())
            weighting = replace(weighting, worth=weighting.worth * left)
        kinds = None if self.kinds is None else tuple(self.kinds[i] for i in at)
        sums.left_out = self.left_out
        return patterns_of(tuple(names), sums, self.empty, kinds, weighting)

    def less(self, constant: Floats) -> Patterns:
        """The same rows with a constant less in each column."""
        if not constant.any():
            return self
        return replace(self, mean=np.where(self.observed, self.mean - constant, 0.0), kinds=None)

    def merge_into(
        self, sums: PatternSums, at: Sequence[int], less: Floats | float = 0.0, *, unit: float = 1.0
    ) -> None:
        """Add the rows, with some columns less a constant each, to others; ``unit`` is what one row weighs there."""
        where = np.asarray(at, dtype=np.intp)
        observed, weight = self.observed[:, where], unit * self.n
        squares = weight[: len(self.cov), None, None] * self.cov[:, where[:, None], where]
        sums.merge_all(Bundle(observed, self.rows, weight, self.mean[:, where] - less, squares))

    def __repr__(self) -> str:
        return f"Patterns(rows={int(self.rows.sum())}, incomplete={self.incomplete}, patterns={len(self)})"


def patterns_of(
    names: tuple[str, ...],
    sums: PatternSums,
    empty: int = 0,
    kinds: tuple[Kind, ...] | None = None,
    weighting: Weighting | None = None,
) -> Moments | Patterns:
    """The gathered rows as patterns; as moments if no row that has any value has a hole."""
    parts = sums.parts
    empty += sums.empty
    if not len(parts):
        raise DataError("the data have no values at all; at least 2 rows are needed for a variance")
    order = np.lexsort((*(~parts.observed).T[::-1], -parts.rows))  # those of many rows first
    parts = parts.take(order)
    observed, rows = parts.observed, parts.rows
    n, weighting = _in_rows(parts.n, float(rows.sum()), weighting)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused below
        cov = parts.squares / (2.0 * parts.n[: len(parts.squares), None, None])
        cov = cov + cov.transpose(0, 2, 1)
    if observed.all() and rows[0] > 1:
        return Moments(names, n[0], parts.mean[0], cov[0], empty, kinds=kinds, weighting=weighting)
    _refuse_thin(names, observed, rows)
    too_large = ~np.isfinite(cov).all(axis=(0, 1))
    if too_large.any():
        culprit = names[int(np.argmax(too_large))]
        raise DataError(f"the values of {culprit!r} are too large to be squared; divide the column by its scale")
    found = Patterns(names, observed, rows, n, parts.mean, cov, empty, kinds, weighting, sums.left_out)
    if not np.isfinite(found.available[1]).all():
        culprit = names[int(np.argmax(~np.isfinite(found.available[1])))]
        raise DataError(f"the values of {culprit!r} are too large to be squared; divide the column by its scale")
    return found


def _in_rows(n: Floats, lines: float, weighting: Weighting | None) -> tuple[Floats, Weighting | None]:
    """Sums of weights of each pattern in numbers of rows: sampling weights are scaled to the rows that are there."""
    if isinstance(weighting, Counted):
        return n, Counted(lines)
    if not isinstance(weighting, Sampled):
        return n, None
    unit = float(n.sum()) / lines
    return n / unit, Sampled(unit, weighting.worth)


def put_together(parts: Sequence[Moments | Patterns], means: Floats) -> Moments | Patterns:
    """The rows of several groups as one, each less the mean of its group (one line of ``means``)."""
    names = parts[0].names
    sums = PatternSums(len(names))
    for part, mean in zip(parts, means, strict=True):
        if isinstance(part, Patterns):
            part.merge_into(sums, range(len(names)), mean)
        else:
            rows = max(2, round(part.n))  # how many there are matters only where there is one
            sums.merge(np.ones(len(names), dtype=bool), rows, part.n, part.mean - mean, part.n * part.cov)
    return patterns_of(names, sums)


def _refuse_thin(names: tuple[str, ...], observed: Flags, rows: Codes) -> None:
    """Raise for columns without values; one value is as little as none, since it has no variance."""
    for v, count in zip(names, rows @ observed, strict=True):
        if count < 2:
            values = "no value" if count == 0 else "a value in one row only"
            raise DataError(
                f"column {v!r} has {values}; take it out of the graph, declare it latent, or check how missing values "
                f"are marked"
            )
