"""What holds an end of an interval: which assumptions bind there, and how many restrictions that puts on the data.

At an end ``slope of the answer = lambda slope of the loss - sum of mu_k slopes of limits + equations``, all mu_k >= 0.
The covariance of models that keep the equations has some dimension; that of models which also keep what binds, and the
answer where it is, has k less: these are the restrictions that the truth at this end puts on the data. With d free
weights that all matter, k is the number of assumptions that bind, less d, plus one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.partial.chance.coordinates import Coordinates
from halftrek.partial.chance.program import Point

TOUCHED = 1e-4  # a limit counts as reached, in units of the noise
PULLS = 1e-6  # share of the whole from which on a multiplier is none by rounding
RANK = 1e-7  # of singular values
FLAT = 1e-3  # deviance below which the loss counts as having no slope


@dataclass(frozen=True, eq=False)
class Binding:
    """Which limits bind at a point, how the answer moves with the data there, and the number of restrictions."""

    limits: Flags
    direction: Floats  # along the vector, zero in the weights: where the end goes to if the data move
    restrictions: int
    equal: bool  # all of them are equations
    unexplained: float  # share of the answer's slope that nothing holds: zero at an end


def binding_at(coordinates: Coordinates, point: Point, side: int) -> Binding:
    """What binds where the answer is as large (``side`` 1) or as small as it can be."""
    pulls, direction, unexplained = _multipliers(coordinates, point, side * point.answer_slope, point.loss > FLAT)
    graph = point.equation_slopes[: point.graph_equations]
    assumed, answer = point.equation_slopes[point.graph_equations :], point.answer_slope[None]
    found = _fewer(coordinates, graph, np.concatenate([assumed, point.limit_slopes[pulls], answer]))
    equal = len(assumed) > 0 and found == _fewer(coordinates, graph, np.concatenate([assumed, answer]))
    return Binding(pulls, direction, max(found, 1), equal, unexplained)


def touched_by_loss(coordinates: Coordinates, point: Point) -> tuple[Flags, Floats]:
    """Which limits keep the loss from being less, and the direction of the data that would."""
    weights = ~coordinates.data_part
    pulls, *_ = _multipliers(coordinates, replace(point, loss_slope=np.zeros_like(weights)), -point.loss_slope, True)
    return pulls, np.where(weights, 0.0, point.loss_slope)


def restrictions_at(coordinates: Coordinates, point: Point, binding: Flags) -> int:
    """How many restrictions assumptions put on the data."""
    graph = point.graph_equations
    held = np.concatenate([point.equation_slopes[graph:], point.limit_slopes[binding]])
    return _fewer(coordinates, point.equation_slopes[:graph], held)


def _fewer(coordinates: Coordinates, equations: Floats, held: Floats) -> int:
    """By how many dimensions the data of models that keep some equations shrink where more is held."""
    data = coordinates.data_part
    loose = _null(equations, coordinates.size)
    tight = _null(np.concatenate([equations, held]), coordinates.size)
    return _rank(loose[data]) - _rank(tight[data])


def _multipliers(coordinates: Coordinates, point: Point, slope: Floats, sloped: bool) -> tuple[Flags, Floats, float]:
    """Limits that pull, and what is left of a slope when limits and equations have taken their part.

    ``sloped``: the loss takes its part too. Where it has no slope, limits and equations take what stands in the
    weights, which the loss does not see.
    """
    from scipy.optimize import nnls

    touched = np.flatnonzero(point.limits <= TOUCHED)
    weights = ~coordinates.data_part
    matched = np.ones_like(weights) if sloped else weights
    equations = point.equation_slopes
    limits = -point.limit_slopes[touched]  # limits pull back: mu >= 0
    columns = np.concatenate([limits, equations, -equations, point.loss_slope[None] * float(sloped)])
    size = np.maximum(np.linalg.norm(columns, axis=1), 1e-300)
    found = np.zeros(len(columns))
    if matched.any():
        scaled = (columns / size[:, None])[:, matched].T
        found = nnls(scaled, slope[matched], maxiter=50 * (len(columns) + 10))[0] / size
    pulls = np.zeros(len(point.limits), dtype=bool)
    strength = found[: len(touched)] * size[: len(touched)]
    pulls[touched] = strength > PULLS * max(float(np.linalg.norm(slope)), 1e-300)
    left = slope - found[:-1] @ columns[:-1]
    nothing = (slope - found @ columns)[matched]
    share = float(np.linalg.norm(nothing)) / max(float(np.linalg.norm(slope)), 1e-300)
    return pulls, np.where(weights, 0.0, left), share


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
