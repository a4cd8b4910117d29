"""The numbers that assumptions are about, with their slopes in T, Omega and Sigma."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.partial.assumptions.quantities import (
    Endogeneity,
    ErrorCorrelation,
    ErrorCovariance,
    Quantity,
    Reliability,
    Share,
    Weight,
)


@dataclass(frozen=True, eq=False)
class State:
    """Where conditions are asked for: coefficients, error covariances and the covariance of the variables.

    ``noise``: the variances of the errors without hidden causes; left out, there are none.
    """

    T: Floats
    omega: Floats
    sigma: Floats
    noise: Floats | None = None

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The leading axes."""
        return np.broadcast_shapes(self.T.shape[:-2], self.omega.shape[:-2], self.sigma.shape[:-2])


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives in T, in Omega and Sigma (symmetric, ``dq = tr(omega dOmega)``), and in the noise variances."""

    T: Floats
    omega: Floats
    sigma: Floats
    noise: Floats

    def __add__(self, other: Slopes) -> Slopes:
        return Slopes(self.T + other.T, self.omega + other.omega, self.sigma + other.sigma, self.noise + other.noise)

    def __mul__(self, factor: float | Floats) -> Slopes:
        if isinstance(factor, float):
            return Slopes(self.T * factor, self.omega * factor, self.sigma * factor, self.noise * factor)
        by = np.asarray(factor)[..., None]
        wide = by[..., None]
        return Slopes(self.T * wide, self.omega * wide, self.sigma * wide, self.noise * by)

    @staticmethod
    def zero(state: State) -> Slopes:
        """Of a constant."""
        shape = (*state.axes, *state.T.shape[-2:])
        return Slopes(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape[:-1]))

    @staticmethod
    def stacked(several: Sequence[Slopes], state: State) -> Slopes:
        """Of many numbers, one after the other along an axis before those of the matrices."""
        if not several:
            size = state.T.shape[-1]
            empty = np.zeros((*state.axes, 0, size, size))
            return Slopes(empty, empty, empty, empty[..., 0])
        return Slopes(
            np.stack([s.T for s in several], axis=-3),
            np.stack([s.omega for s in several], axis=-3),
            np.stack([s.sigma for s in several], axis=-3),
            np.stack([s.noise for s in several], axis=-2),
        )


Smooth = Callable[[State], tuple[Floats, Slopes]]


def number_of(quantity: Quantity, names: Sequence[str]) -> Smooth:
    """The function that gives a quantity and its slopes."""
    place = names.index
    match quantity:
        case Weight(cause, effect):
            return _weight(place(cause), place(effect))
        case ErrorCovariance(first, second):
            return _covariance(place(first), place(second))
        case ErrorCorrelation(first, second):
            return _correlation(place(first), place(second))
        case Endogeneity(variable, error):
            return _endogeneity(place(variable), place(error))
        case Share(variable):
            return _share(place(variable))
        case Reliability(variable):
            return _reliability(place(variable))


def _weight(i: int, j: int) -> Smooth:
    def smooth(state: State) -> tuple[Floats, Slopes]:
        slopes = Slopes.zero(state)
        slopes.T[..., i, j] = 1.0
        return np.broadcast_to(state.T[..., i, j], state.axes), slopes

    return smooth


def _covariance(i: int, j: int) -> Smooth:
    def smooth(state: State) -> tuple[Floats, Slopes]:
        slopes = Slopes.zero(state)
        slopes.omega[..., i, j] += 0.5
        slopes.omega[..., j, i] += 0.5
        return np.broadcast_to(state.omega[..., i, j], state.axes), slopes

    return smooth


def _correlation(i: int, j: int) -> Smooth:
    def smooth(state: State) -> tuple[Floats, Slopes]:
        first, second = state.omega[..., i, i], state.omega[..., j, j]
        size = np.sqrt(first * second)
        r = state.omega[..., i, j] / size
        slopes = Slopes.zero(state)
        slopes.omega[..., i, j] = slopes.omega[..., j, i] = 0.5 / size
        slopes.omega[..., i, i], slopes.omega[..., j, j] = -0.5 * r / first, -0.5 * r / second
        return np.broadcast_to(r, state.axes), slopes

    return smooth


def _endogeneity(i: int, j: int) -> Smooth:
    """``(Sigma (I - T))_ij / sqrt(Sigma_ii Omega_jj)``: the error of j is ``x_j - T_.j' x``."""

    def smooth(state: State) -> tuple[Floats, Slopes]:
        row = state.sigma[..., i, :]
        cross = row[..., j] - (row * state.T[..., :, j]).sum(axis=-1)
        first, second = state.sigma[..., i, i], state.omega[..., j, j]
        size = np.sqrt(first * second)
        r = cross / size
        slopes = Slopes.zero(state)
        slopes.T[..., :, j] = -row / size[..., None]
        slopes.omega[..., j, j] = -0.5 * r / second
        of_row = -state.T[..., :, j] / size[..., None]
        of_row = np.broadcast_to(of_row, (*state.axes, of_row.shape[-1])).copy()
        of_row[..., j] += 1.0 / size
        slopes.sigma[..., i, :] += 0.5 * of_row
        slopes.sigma[..., :, i] += 0.5 * of_row
        slopes.sigma[..., i, i] -= 0.5 * r / first
        return np.broadcast_to(r, state.axes), slopes

    return smooth


def _share(i: int) -> Smooth:
    def smooth(state: State) -> tuple[Floats, Slopes]:
        value = state.omega[..., i, i] / state.sigma[..., i, i]
        slopes = Slopes.zero(state)
        slopes.omega[..., i, i] = 1.0 / state.sigma[..., i, i]
        slopes.sigma[..., i, i] = -value / state.sigma[..., i, i]
        return np.broadcast_to(value, state.axes), slopes

    return smooth


def _reliability(i: int) -> Smooth:
    def smooth(state: State) -> tuple[Floats, Slopes]:
        whole = state.sigma[..., i, i]
        noise = state.omega[..., i, i] if state.noise is None else state.noise[..., i]
        slopes = Slopes.zero(state)
        if state.noise is None:
            slopes.omega[..., i, i] = -1.0 / whole
        else:
            slopes.noise[..., i] = -1.0 / whole
        slopes.sigma[..., i, i] = noise / whole / whole
        return np.broadcast_to(1.0 - noise / whole, state.axes), slopes

    return smooth
