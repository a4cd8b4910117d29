"""What the data say of a linear Gaussian model: ``(names, n, mean, cov)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsFloat, cast

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Divisor
from halftrek.bottom.portable import Portable
from halftrek.bottom.words import did_you_mean, listed
from halftrek.data.check import places_of, refuse_indefinite
from halftrek.data.columns.kinds import Kind
from halftrek.data.columns.kinds import merged as merged_kinds
from halftrek.data.covariance import given_covariance
from halftrek.data.weights import Sampled, Weighting, weighting_from_dict, weighting_to_dict
from halftrek.data.weights import merged as merged_weighting
from halftrek.errors import DataError
from halftrek.layer import Layer
from halftrek.upward import Faces


@dataclass(frozen=True, eq=False)
class Moments(Portable, Faces):
    """Sufficient statistics of rows: their number, means, and covariance with divisor ``n``.

    ``n`` is the sum of the weights where weights count rows, and the number of rows where they are sampling weights
    (``weighting`` says which); ``dropped`` counts rows that were left out because of missing values; ``has_mean`` is
    False if only a covariance was given, and the means of zero are a stand-in. ``kinds`` say which columns hold few
    values or counts; None if nobody looked. With a ``layer`` the moments are those of the normal variables behind
    columns that are cuts or transforms of them. The arrays are read-only and in the order of ``names``.
    """

    names: tuple[str, ...]
    n: float
    mean: Floats
    cov: Floats
    dropped: int = 0
    has_mean: bool = True
    kinds: tuple[Kind, ...] | None = None
    weighting: Weighting | None = None
    layer: Layer | None = None

    def __post_init__(self) -> None:
        names = _unique_names(self.names)
        mean, cov = _numbers(self.mean, "mean"), _numbers(self.cov, "cov")
        p = len(names)
        if mean.shape != (p,) or cov.shape != (p, p):
            raise DataError(
                f"{p} names need a mean of shape {(p,)} and a cov of shape {(p, p)}, not {mean.shape} and {cov.shape}"
            )
        if not (np.isfinite(mean).all() and np.isfinite(cov).all()):
            bad = ~(np.isfinite(mean) & np.isfinite(cov).all(axis=1))
            raise DataError(f"the moments of {names[int(np.argmax(bad))]!r} are not finite numbers")
        variances = np.diag(cov)
        if (variances < 0).any():
            raise DataError(f"the variance of {names[int(np.argmin(variances))]!r} is negative")
        if (cov != cov.T).any():
            cov = _symmetric(cov, names)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "n", _row_number(self.n))
        object.__setattr__(self, "mean", _read_only(mean, self.mean))
        object.__setattr__(self, "cov", _read_only(cov, self.cov))
        object.__setattr__(self, "dropped", int(self.dropped))
        if self.kinds is not None and len(self.kinds) != p:
            raise DataError(f"{p} names need {p} kinds, not {len(self.kinds)}")
        if self.layer is not None and self.layer.names != names:
            raise DataError("the columns of the layer are not those of the moments")

    @classmethod
    def from_cov(
        cls,
        cov: object,
        n: float | None,
        *,
        mean: ArrayLike | Mapping[str, float] | None = None,
        names: Sequence[str] | None = None,
        divisor: Divisor = "n",
    ) -> Moments:
        """Moments from a covariance matrix that is known already, for instance from a paper.

        ``cov`` is the full matrix, its lower triangle (rows of lengths 1 … p, or flat, or a square with zeros or
        holes above the diagonal), or a frame with names. Without ``mean`` the means are zero; without names the
        variables are ``x1 … xp``. ``divisor`` says what the sums of squares were divided by.
        """
        found, matrix = given_covariance(cov, None if names is None else _unique_names(names))
        variables = _unique_names(found)
        count = _row_number(n)
        if count < 2:
            raise DataError(f"n is the number of rows behind the covariance and must be at least 2, not {n!r}")
        if divisor not in ("n", "n-1"):
            raise DataError(f'divisor must be "n" or "n-1", not {divisor!r}')
        refuse_indefinite(matrix, variables)
        if divisor == "n-1":
            matrix = matrix * ((count - 1.0) / count)
        return cls(variables, count, _given_mean(mean, variables), matrix, has_mean=mean is not None)

    def select(self, names: Sequence[str]) -> Moments:
        """The moments of some columns, in the given order."""
        wanted = _unique_names(names)
        if wanted == self.names:
            return self
        at = places_of(wanted, self.names, "the moments")
        kinds = None if self.kinds is None else tuple(self.kinds[i] for i in at)
        cov = self.cov[np.ix_(at, at)]
        layer = None if self.layer is None else self.layer.select(wanted)
        return Moments(wanted, self.n, self.mean[at], cov, self.dropped, self.has_mean, kinds, self.weighting, layer)

    def merge(self, other: Moments) -> Moments:
        """The moments of the rows of both together (Chan, Golub and LeVeque), columns in the order of this one."""
        if set(self.names) != set(other.names):
            lone = sorted(set(self.names) ^ set(other.names))
            raise DataError(
                f"only moments of the same columns can be merged; on one side only: {listed(lone)}. "
                f"Bring both to common columns with select"
            )
        if self.layer is not None or other.layer is not None:
            raise DataError("moments behind ordered or ranked columns cannot be merged; read all rows together")
        other = other.select(self.names)
        n = self.n + other.n
        weighting = merged_weighting(self.n, self.weighting, other.n, other.weighting)
        ours, theirs = _shares(self, other)
        gap = other.mean - self.mean
        mean = self.mean + gap * theirs if ours >= theirs else other.mean - gap * ours
        cov = ours * self.cov + theirs * other.cov + (ours * theirs) * np.outer(gap, gap)
        known = self.has_mean and other.has_mean
        kinds = merged_kinds(self.kinds, other.kinds)
        return Moments(self.names, n, mean, cov, self.dropped + other.dropped, known, kinds, weighting)

    def __add__(self, other: object) -> Moments:
        return self.merge(other) if isinstance(other, Moments) else NotImplemented

    @property
    def by_column(self) -> tuple[Floats, Floats, Floats]:
        """Number of rows, mean and variance of each column."""
        return np.full(len(self.names), self.n), self.mean, np.diag(self.cov)

    def to_dict(self) -> dict[str, object]:
        """Plain lists and numbers, ready for JSON."""
        return {
            "names": list(self.names),
            "n": self.n,
            "mean": self.mean.tolist(),
            "cov": self.cov.tolist(),
            "dropped": self.dropped,
            "has_mean": self.has_mean,
            "kinds": None if self.kinds is None else [kind.to_dict() for kind in self.kinds],
            "weighting": weighting_to_dict(self.weighting),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Moments:
        """The inverse of :meth:`to_dict`."""
        for key in ("names", "n", "mean", "cov"):
            if key not in fields:
                raise DataError(f"the saved moments lack {key!r}; they need names, n, mean and cov")
        dropped, has_mean = int(cast("int", fields.get("dropped", 0))), bool(fields.get("has_mean", True))
        saved = cast("Sequence[Mapping[str, object]] | None", fields.get("kinds"))
        kinds = None if saved is None else tuple(map(Kind.from_dict, saved))
        weighting = weighting_from_dict(cast("Mapping[str, object] | None", fields.get("weighting")))
        names, n = tuple(cast("Sequence[str]", fields["names"])), cast("float", fields["n"])
        mean, cov = cast("Floats", fields["mean"]), cast("Floats", fields["cov"])  # as lists; the class makes arrays
        return cls(names, n, mean, cov, dropped, has_mean, kinds, weighting)

    def __repr__(self) -> str:
        left_out = f", dropped={self.dropped}" if self.dropped else ""
        return f"Moments(n={self.n:.12g}, names=[{listed(self.names, 8)}]{left_out})"


def _shares(ours: Moments, theirs: Moments) -> tuple[float, float]:
    """Of the rows of both together: by their number, or by what their sampling weights sum to."""
    sizes = [m.n * (m.weighting.mean if isinstance(m.weighting, Sampled) else 1.0) for m in (ours, theirs)]
    return sizes[0] / sum(sizes), sizes[1] / sum(sizes)


def _unique_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise DataError(f"names is a list of column names, not one text: write names=[{names!r}]")
    given = tuple(names)
    if not given:
        raise DataError("moments need at least one column")
    for v in given:
        if not isinstance(v, str):
            raise DataError(f"column names are texts, not {v!r}; write {str(v)!r}")
    if len(set(given)) < len(given):
        twice = next(v for v in given if given.count(v) > 1)
        raise DataError(f"the column {twice!r} is named twice; name each column once")
    return tuple(str(v) for v in given)


def _row_number(n: SupportsFloat | None) -> float:
    if n is None:
        raise DataError("n is missing: say how many rows the covariance was computed from")
    try:
        count = float(n)
    except (TypeError, ValueError):
        raise DataError(f"n must be the number of rows, not {n!r}") from None
    if not (np.isfinite(count) and count > 0):
        raise DataError(f"n must be a positive number of rows, not {n!r}")
    return count


def _numbers(values: ArrayLike, what: str) -> Floats:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{what} must hold numbers only") from None


def _read_only(array: Floats, given: object) -> Floats:
    """The array itself if nobody can write to it, otherwise a copy of which that is true."""
    if not array.flags.writeable and array.base is None:
        return array
    if array is given or array.base is not None:
        array = array.copy()
    array.flags.writeable = False
    return array


def _symmetric(cov: Floats, names: tuple[str, ...]) -> Floats:
    """The matrix without the asymmetry of rounding."""
    sd = np.sqrt(np.diag(cov))
    gap = np.abs(cov - cov.T)
    if (gap > 1e-8 * np.outer(sd, sd)).any():
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(gap)), gap.shape))
        raise DataError(
            f"the covariance of {names[i]!r} and {names[j]!r} is {cov[i, j]:g} above the diagonal and {cov[j, i]:g} "
            f"below it; the matrix must be symmetric"
        )
    return np.asarray((cov + cov.T) / 2.0)


def _given_mean(mean: ArrayLike | Mapping[str, float] | None, names: tuple[str, ...]) -> Floats:
    if mean is None:
        return np.zeros(len(names))
    if hasattr(mean, "index") and hasattr(mean, "to_dict"):  # a pandas Series: its labels are the names
        mean = mean.to_dict()
    if isinstance(mean, Mapping):
        for v in names:
            if v not in mean:
                raise DataError(f"the mean of {v!r} is missing.{did_you_mean(v, mean)}")
        mean = [mean[v] for v in names]
    values = _numbers(mean, "mean")
    if values.shape != (len(names),):
        raise DataError(f"mean needs one number for each of {len(names)} variables, not the shape {values.shape}")
    return values
