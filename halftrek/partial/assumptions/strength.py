"""How strong an observed variable is, as a limit for a hidden one (Cinelli and Hazlett, 2020, section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.partial.assumptions.numbers import Slopes, Smooth, State

_STEP = 1e-30  # of the complex step: exact to the last digit, however small


def limit_like(first: str, second: str, like: str, others: Sequence[str], times: float, names: Sequence[str]) -> Smooth:
    """The largest correlation of the errors of first and second by a hidden cause ``times`` as strong as ``like``.

    A function of Sigma alone. Its slopes come by complex steps: the formula is made of solves, products and roots.
    """
    places = [names.index(v) for v in (first, second, like, *others)]

    def smooth(state: State) -> tuple[Floats, Slopes]:
        sigma = state.sigma
        slopes = Slopes.zero(state)
        for k, i in enumerate(places):
            for j in places[: k + 1]:
                moved = sigma.astype(complex)
                moved[..., i, j] += 1j * _STEP
                if i != j:
                    moved[..., j, i] += 1j * _STEP
                slope = _limit(moved, places, times).imag / _STEP
                slopes.sigma[..., i, j] = slopes.sigma[..., j, i] = slope * (1.0 if i == j else 0.5)
        return np.broadcast_to(_limit(sigma, places, times).real, state.axes), slopes

    return smooth


def limit_at(
    sigma: Floats, first: str, second: str, like: str, others: Sequence[str], times: float, names: Sequence[str]
) -> float:
    """The same at one covariance, alone."""
    places = [names.index(v) for v in (first, second, like, *others)]
    return float(_limit(np.asarray(sigma, dtype=complex), places, times).real)


def like_shares(
    sigma: Floats, places: Sequence[int], times: float, times_second: float | None = None
) -> tuple[Floats, Floats]:
    """The two shares of a hidden cause ``times`` as strong as a covariate; places of x, y, the covariate, the others.

    With D for x, Y for y, Xj for the covariate and everything given the others: ``R2_D = k R2_DXj / (1 - R2_DXj)``,
    ``R2_Z = k R2_DXj² / ((1 - k R2_DXj) (1 - R2_DXj))``,
    ``R2_Y = (sqrt(k) + sqrt(R2_Z))² / (1 - R2_Z) * R2_YXj / (1 - R2_YXj)``, the last given D too; its k is
    ``times_second`` where that is another.
    """
    x, y, z, *others = places
    on_first = _partial_square(sigma, x, z, others)
    on_second = _partial_square(sigma, y, z, [x, *others])
    share = times * on_first / (1.0 - on_first)
    shared = times * on_first * on_first / ((1.0 - times * on_first) * (1.0 - on_first))
    with np.errstate(invalid="ignore", divide="ignore"):  # no share where it would be more than all there is
        strength = (np.sqrt(times if times_second is None else times_second) + np.sqrt(shared)) ** 2 / (1.0 - shared)
    return share, strength * on_second / (1.0 - on_second)


def _limit(sigma: Floats, places: Sequence[int], times: float) -> Floats:
    """``sqrt(R2_D R2_Y / (1 - R2_D + R2_D R2_Y))``; one, which limits nothing, where a share reaches all there is."""
    first, second = like_shares(sigma, places, times)
    possible = (first.real < 1.0) & (second.real < 1.0) & (second.real >= 0.0)
    first, second = np.where(possible, first, 0.5), np.where(possible, second, 0.5)
    if times == 0.0:
        return np.zeros_like(first)
    return np.where(possible, np.sqrt(first * second / (1.0 - first + first * second)), 1.0)


def _partial_square(sigma: Floats, a: int, b: int, others: Sequence[int]) -> Floats:
    """The squared partial correlation of two variables given others."""
    both = [a, b]
    cov = sigma[..., both, :][..., both]
    if others:
        cross = sigma[..., both, :][..., list(others)]
        inner = sigma[..., list(others), :][..., list(others)]
        cov = cov - cross @ np.linalg.solve(inner, np.swapaxes(cross, -1, -2))
    return np.asarray(cov[..., 0, 1] ** 2 / (cov[..., 0, 0] * cov[..., 1, 1]))
