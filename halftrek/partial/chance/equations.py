"""What a graph says of the errors: equations for those that it keeps apart, fixes or makes equal.

With hidden causes of three and more children ``Omega = W + C'C``: the equations hold for W, whose diagonal must not be
negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.partial.chance.coordinates import Coordinates, Lines, Place


@dataclass(frozen=True, eq=False)
class Equations:
    """Lines ``tr(E W) - constant``: zero where the graph is kept, or (``noise``) not negative.

    Each is in the unit of its noise, so that all are of one size.
    """

    forms: Floats
    constants: Floats
    noise: Floats
    means: Ints
    coordinates: Coordinates

    @staticmethod
    def of(coordinates: Coordinates) -> Equations:
        """The equations of the graph behind the coordinates."""
        space, spread, unit = coordinates.space, coordinates.spread, np.sqrt(coordinates.n)
        p = len(spread)
        size = np.outer(spread, spread) / unit
        forms, constants = [], []
        for entry, other, constant in _entries(coordinates):
            forms.append(_form(p, entry, 1.0) + (0.0 if other is None else _form(p, other, -1.0)))
            forms[-1] /= size[entry]
            constants.append(constant / size[entry])
        loaded = np.unique(space.C_at[:, 1])
        noise = [_form(p, (j, j), 1.0) / size[j, j] for j in loaded]
        free = set(space.mu_at[:, 0].tolist())
        fixed = [j for j in range(p) if j not in free] if coordinates.with_means else []
        return Equations(
            np.array(forms).reshape(-1, p, p),
            np.array(constants),
            np.array(noise).reshape(-1, p, p),
            np.array(fixed, dtype=np.intp),
            coordinates,
        )

    def __len__(self) -> int:
        return len(self.forms) + len(self.means)

    @cached_property
    def _mean_units(self) -> Floats:
        return np.asarray(self.coordinates.spread[self.means] / np.sqrt(self.coordinates.n))

    def values(self, place: Place) -> tuple[Floats, Floats]:
        """The equations, and the noise variances."""
        own = place.W - place.loadings.T @ place.loadings if len(place.loadings) else place.W
        found = np.tensordot(self.forms, own) - self.constants
        noise = np.tensordot(self.noise, own)
        if not len(self.means):
            return found, noise
        held = (place.mu[self.means] - self.coordinates.space.mu0[self.means]) / self._mean_units
        return np.concatenate([found, held]), noise

    def write(self, lines: Lines, first: int, place: Place) -> None:
        """Write the derivatives of the equations into some lines, from ``first`` on."""
        after = first + len(self.forms)
        lines.own[first:after] = self.forms
        for k, j in enumerate(self.means):
            lines.T[after + k, :, j] = -place.mean / self._mean_units[k]
            lines.mean[after + k] = place.A[:, j] / self._mean_units[k]


def _entries(coordinates: Coordinates) -> list[tuple[tuple[int, int], tuple[int, int] | None, float]]:
    """Entries of W that are not free: a number, or equal to another entry."""
    space = coordinates.space
    p = len(space.names)
    owner = np.full((p, p), -1)
    for i, j, a in space.W_at:
        owner[i, j] = owner[j, i] = a
    first: dict[int, tuple[int, int]] = {}
    found: list[tuple[tuple[int, int], tuple[int, int] | None, float]] = []
    for i in range(p):
        for j in range(i + 1):
            a = int(owner[i, j])
            if a < 0:
                found.append(((i, j), None, float(space.W0[i, j])))
            elif a in first:
                found.append(((i, j), first[a], 0.0))
            else:
                first[a] = (i, j)
    return found


def _form(p: int, entry: tuple[int, int], factor: float) -> Floats:
    """The symmetric E of ``tr(E W)`` for an entry of W."""
    found = np.zeros((p, p))
    found[entry] += 0.5 * factor
    found[entry[::-1]] += 0.5 * factor
    return found
