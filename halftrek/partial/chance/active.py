"""What holds an end of an interval: which assumptions bind there, and how many restrictions that puts on the data.

At an end ``slope of the answer = lambda slope of the loss - sum of mu_k slopes of limits + equations``, all mu_k >= 0. The
covariance of models that keep the equations has some dimension; that of models which also keep what binds, and the
answer where it is, has k less: these are the restrictions that the truth at this end puts on the data. With d free
weights that all matter, k is the number of assumptions that bind, less d, plus one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.arrays import Flags, Floats
from halftrek.partial.chance.coordinates import Coordinates
from halftrek.partial.chance.program import Point

TOUCHED = 1e-4  # a limit counts as reached, in units of the noise
PULLS = 1e-6  # share of the whole from which on a multiplier is none by rounding
RANK = 1e-7  # of singular values


@dataclass(frozen=True, eq=False)
class Binding:
    """Which limits bind at a point, how the answer moves with the data there, and the number of restrictions."""

    limits: Flags
    direction: Floats  # along the vector, zero in the weights: where the end goes to if the data move
    restrictions: int


def binding_at(coordinates: Coordinates, point: Point, side: int) -> Binding:
    """What binds where the answer is as large (``side`` 1) or as small as it can be."""
    pulls, direction = _multipliers(coordinates, point, side)
    return Binding(pulls, direction, restrictions_at(coordinates, point, pulls))


def restrictions_at(coordinates: Coordinates, point: Point, binding: Flags) -> int:
    """How many restrictions on the data it puts to hold the answer and what binds; at least one."""
    data = _data_part(coordinates)
    loose = _null(point.equation_slopes, coordinates.size)
    held = np.concatenate([point.equation_slopes, point.limit_slopes[binding], point.answer_slope[None]])
    tight = _null(held, coordinates.size)
    return max(_rank(loose[data]) - _rank(tight[data]), 1)


def _multipliers(coordinates: Coordinates, point: Point, side: int) -> tuple[Flags, Floats]:
    """Limits that pull, and what is left of the answer's slope when limits and equations have taken their part."""
    from scipy.optimize import nnls

    touched = np.flatnonzero(point.limits <= TOUCHED)
    weights = ~_data_part(coordinates)
    slope = side * point.answer_slope
    equations = point.equation_slopes
    columns = np.concatenate([-point.limit_slopes[touched], equations, -equations])  # limits pull back: mu >= 0
    size = np.maximum(np.linalg.norm(columns, axis=1), 1e-300)
    found = np.zeros(len(columns))
    if len(columns) and weights.any():
        scaled = (columns / size[:, None])[:, weights].T
        found = nnls(scaled, slope[weights], maxiter=50 * (len(columns) + 10))[0] / size
    pulls = np.zeros(len(point.limits), dtype=bool)
    strength = found[: len(touched)] * size[: len(touched)]
    pulls[touched] = strength > PULLS * max(float(np.linalg.norm(slope)), 1e-300)
    left = slope - found @ columns
    return pulls, np.where(weights, 0.0, left)


def _data_part(coordinates: Coordinates) -> Flags:
    """The places of the vector that the data see: covariance and means."""
    found = np.zeros(coordinates.size, dtype=bool)
    found[coordinates.parts[1]] = found[coordinates.parts[2]] = True
    return found


def _null(rows: Floats, size: int) -> Floats:
    """Directions that leave all of these unchanged, as columns."""
    lengths = np.linalg.norm(rows, axis=1)
    rows = rows[lengths > 0.0] / lengths[lengths > 0.0, None]
    if not len(rows):
        return np.eye(size)
    values, vectors = np.linalg.svd(rows)[1:]
    return np.asarray(vectors[int((values > RANK * values[0]).sum()) :].T)


def _rank(columns: Floats) -> int:
    if not columns.size:
        return 0
    return int((np.linalg.svd(columns, compute_uv=False) > RANK).sum())
