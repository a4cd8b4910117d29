"""Weights of rows, by the user's word: counts of rows that are alike, or sampling weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Array, Floats
from halftrek.errors import DataError

FRACTION = 1e-9  # distance from a whole number that is rounding


@dataclass(frozen=True)
class Counted:
    """Weights count rows: so many lines of data stand for ``n`` rows."""

    lines: float

    def merge(self, ours: float, other: Counted | Sampled | None, theirs: float) -> Counted:  # noqa: ARG002 (as below)
        """Of two tables together, where the other may have no weights."""
        if isinstance(other, Sampled):
            raise DataError("rows with counts and rows with sampling weights cannot be merged; weight both in one way")
        return Counted(self.lines + (theirs if other is None else other.lines))


@dataclass(frozen=True)
class Sampled:
    """Weights say which share of a population a row stands for; only their ratios count.

    They are divided by their ``mean``, so that they sum to the number of rows. ``worth`` is the number of rows of equal
    weight that tell as much of a mean (Kish): ``(sum of weights)^2 / sum of squared weights``.
    """

    mean: float
    worth: float

    def merge(self, ours: float, other: Counted | Sampled | None, theirs: float) -> Sampled:
        """Of two tables of so many rows together."""
        if not isinstance(other, Sampled):
            raise DataError("rows with and without sampling weights cannot be merged; give weights for both")
        sums = self.mean * ours, other.mean * theirs
        squares = sums[0] ** 2 / self.worth + sums[1] ** 2 / other.worth
        return Sampled(sum(sums) / (ours + theirs), sum(sums) ** 2 / squares)


Weighting = Counted | Sampled


def merged(ours: float, a: Weighting | None, theirs: float, b: Weighting | None) -> Weighting | None:
    """The weighting of two tables of so many rows together."""
    if a is None:
        return None if b is None else b.merge(theirs, a, ours)
    return a.merge(ours, b, theirs)


def weighting_to_dict(weighting: Weighting | None) -> dict[str, object] | None:
    """Plain numbers, ready for JSON."""
    if weighting is None:
        return None
    return {"kind": "counts" if isinstance(weighting, Counted) else "sampling", **vars(weighting)}


def weighting_from_dict(fields: Mapping[str, object] | None) -> Weighting | None:
    """The inverse of :func:`weighting_to_dict`."""
    if fields is None:
        return None
    numbers = {key: cast("float", value) for key, value in fields.items() if key != "kind"}
    return Counted(numbers["lines"]) if fields["kind"] == "counts" else Sampled(numbers["mean"], numbers["worth"])


@dataclass(frozen=True, eq=False)
class RowWeights:
    """What a user gave: a column's name or one number for each row, and what these numbers say."""

    given: str | ArrayLike | None = None
    sampling: bool = False

    @property
    def column(self) -> str | None:
        """The name of the column, if the weights are one."""
        return self.given if isinstance(self.given, str) else None

    def array(self) -> Floats | None:
        """The numbers, if they were given as such."""
        if self.given is None or isinstance(self.given, str):
            return None
        return weight_array(self.given, sampling=self.sampling)


def one_kind(weights: str | ArrayLike | None, sampling_weights: str | ArrayLike | None) -> RowWeights:
    """Counts or sampling weights, whichever was given."""
    if weights is not None and sampling_weights is not None:
        raise DataError(
            "give either weights (numbers of rows that are alike) or sampling_weights (shares of a population)"
        )
    return RowWeights(weights) if sampling_weights is None else RowWeights(sampling_weights, sampling=True)


def weight_array(weights: ArrayLike, *, sampling: bool = False) -> Floats:
    """One number for each row, checked."""
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("weights must be numbers, or the name of a column") from None
    if given.ndim != 1:
        raise DataError(f"weights must be one number for each row, not an array of shape {given.shape}")
    return checked_weights(given, None, sampling=sampling)


def checked_weights(weights: Array, column: str | None, *, sampling: bool = False) -> Floats:
    """The weights, if they can be what they are said to be: finite, not negative, and whole where they count."""
    values = np.asarray(weights, dtype=np.float64)
    what = "the weights" if column is None else f"the weights in {column!r}"
    good = np.isfinite(values) & (values >= 0)
    if not good.all():
        bad = values[int(np.argmin(good))]
        rule = "finite and not negative" if sampling else "a number of rows: finite and not negative"
        raise DataError(f"{what} hold {bad:g}; a weight is {rule}")
    if sampling:
        return values
    whole = np.abs(values - np.rint(values)) <= FRACTION * np.maximum(values, 1.0)
    if not whole.all():
        name = "..." if column is None else repr(column)
        raise DataError(
            f"{what} hold {values[int(np.argmin(whole))]:g}; weights= count rows that are alike, in whole numbers. For "
            f"weights of a survey, which say how large a share of a population a row stands for, give "
            f"sampling_weights={name}"
        )
    return values


def refuse_other_length(weights: int, rows: int) -> None:
    """Raise unless there is one weight for each row."""
    if weights != rows:
        raise DataError(f"there are {weights} weights for {rows} rows; give one for each row")
