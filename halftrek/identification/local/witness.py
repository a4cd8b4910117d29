"""Two models with the same covariance and different answers: the proof that a query is not identified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.portable import Portable
from halftrek.errors import QueryError
from halftrek.identification.clock import Clock, start_clock
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.jacobian import Block, block_at
from halftrek.identification.local.parameters import Parameters, Point, parameters_of
from halftrek.identification.local.smooth import model_at
from halftrek.identification.numbers.fields import Array, Reals
from halftrek.models import CGLSCM
from halftrek.queries.types import is_composite

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.queries.types import Query

TOLERANCE = 1e-10
_STEPS = 40
_TRIALS = 12
_TALL = 11 / 6  # from here on LAPACK itself begins with the triangle


@dataclass(frozen=True, eq=False)
class Witness(Portable):
    """Two models of one graph that no data can tell apart, and what each of them answers."""

    models: tuple[CGLSCM, CGLSCM]
    quantity: str
    answers: tuple[float, float]

    def __iter__(self) -> Iterator[CGLSCM]:
        """The two models: ``first, second = verdict.witness``."""
        return iter(self.models)

    @property
    def largest_difference(self) -> float:
        """Largest difference between the two covariance matrices."""
        p = len(self.models[0].graph)  # hidden variables come after the observed ones
        return float(np.max(np.abs(self.models[0].cov[:p, :p] - self.models[1].cov[:p, :p])))

    def explain(self, *, details: bool = False) -> str:
        """The two answers in a sentence; with details how closely the models agree."""
        first, second = self.answers
        close = f" (to {max(self.largest_difference, 1e-16):.0e})" if details else ""
        return (
            f"For instance, two models with this graph have the same covariance matrix{close}, "
            f"yet {self.quantity} is {first:.4g} in one and {second:.4g} in the other."
        )

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON."""
        models = [
            {
                "names": list(m.names),
                "latents": list(m.latents),
                "T": m.T.tolist(),
                "C": m.C.tolist(),
                "W": m.W.tolist(),
            }
            for m in self.models
        ]
        return {"quantity": self.quantity, "answers": list(self.answers), "models": models}


def find_witness(
    graph: Graph, query: Query, *, random_state: int | np.random.Generator = 0, clock: Clock | None = None
) -> Witness | None:
    """Two checked models of the graph, or None if none was found after several random starts, or in the time given."""
    rng = np.random.default_rng(random_state)
    table = parameters_of(graph)
    clock = start_clock(np.inf) if clock is None else clock
    for _ in range(_TRIALS):
        if clock.over():
            break
        start = Point(table, Reals(), starting_values(table, rng))
        try:
            found = _walk(start, query, clock)
        except QueryError:  # no answer in one of the models
            continue
        if found is not None:
            return found
    return None


def starting_values(table: Parameters, rng: np.random.Generator) -> Array:
    """Moderate coefficients and small error covariances, so that there is room on both sides."""
    values: Array = rng.uniform(0.3, 0.9, table.count) * rng.choice([-1.0, 1.0], table.count)
    spouses = 1 + max((len(table.graph.spouses(v)) for v in table.graph.observed), default=0)
    for e in table.entries:
        if e.parameter is not None and e.kind == "covariance":
            values[e.parameter] = rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 0.7) / spouses
        elif e.parameter is not None and e.kind == "noise":
            values[e.parameter] = 1.0
    return values


def _walk(start: Point, query: Query, clock: Clock) -> Witness | None:
    """Follow the directions that leave Sigma as it is, uphill in one functional, correcting after every small step."""
    found = functionals(query, start)
    for members in start.parameters.blocks:
        block = block_at(start, members)
        own = np.asarray(found.gradients[:, list(block.free)], dtype=float)
        if not own.any():
            continue
        slopes = own @ _null_space(block.jacobian.T)
        if slopes.size and np.abs(slopes).max() > 1e-7:
            row = int(np.argmax(np.abs(slopes).max(axis=1)))
            witness = _follow(start, members, block, query, row, clock)
            if witness is not None:
                return witness
    return None


def _follow(
    start: Point, members: tuple[str, ...], home: Block, query: Query, row: int, clock: Clock
) -> Witness | None:
    here, best = start, None
    step = 0.1
    for _ in range(_STEPS):
        if clock.over():
            break
        block = block_at(here, members)
        kernel = _null_space(block.jacobian.T)
        gradient = functionals(query, here).gradients[row, list(block.free)]
        direction = kernel @ (kernel.T @ gradient)
        length = float(np.linalg.norm(direction))
        if length < 1e-9:
            break
        moved = _correct(_shifted(here, block, direction * (step / length)), members, home, clock)
        if moved is None or not is_model(moved):
            step /= 2.0
            if step < 1e-3:
                break
            continue
        here = moved
        witness = checked_witness(start, here, query, row)
        if witness is not None:
            best = witness
            if abs(witness.answers[0] - witness.answers[1]) > 0.5:
                break
    return best


def _correct(point: Point, members: tuple[str, ...], home: Block, clock: Clock) -> Point | None:
    """Back onto the models with the home covariance, by Gauss-Newton steps of smallest length; None if that fails."""
    for _ in range(30):
        if clock.over():
            return None
        block = block_at(point, members)
        upper = block.pairs
        gap = (home.sigma - block.sigma)[upper]
        if np.abs(gap).max() < 1e-15 * max(1.0, float(np.abs(home.sigma).max())):
            return point
        change = np.linalg.lstsq(block.jacobian.T, gap, rcond=1e-10)[0]
        point = _shifted(point, block, change)
        if not np.isfinite(point.values).all() or np.abs(change).max() > 5.0:
            return None
        if np.abs(change).max() < 1e-15:
            break
    gap = np.abs((home.sigma - block_at(point, members).sigma)[home.pairs]).max()
    return point if gap < 1e-12 * max(1.0, float(np.abs(home.sigma).max())) else None


def _shifted(point: Point, block: Block, change: Array) -> Point:
    values = point.values.copy()
    values[list(block.free)] += change
    return Point(point.parameters, point.field, values)


def is_model(point: Point) -> bool:
    """True if the errors have a positive definite covariance."""
    W = point.matrices(point.parameters.graph.observed)[2]
    return bool(np.linalg.eigvalsh(W)[0] > 1e-3)


def checked_witness(start: Point, end: Point, query: Query, row: int) -> Witness | None:
    """The two models, once their covariances agree and their answers visibly do not."""
    first = functionals(query, start)
    answers = (float(first.values[row]), float(functionals(query, end).values[row]))
    if abs(answers[0] - answers[1]) < 0.05:
        return None
    means = is_composite(query)
    models = (model_at(start, means=means), model_at(end, means=means))
    witness = Witness(models, first.texts[row], answers)
    return witness if witness.largest_difference < TOLERANCE else None


def moves_freely(graph: Graph, query: Query, *, random_state: int = 3) -> bool:
    """True if at some random point a direction leaves Sigma as it is and visibly changes the answer."""
    rng = np.random.default_rng(random_state)
    table = parameters_of(graph)
    for _ in range(_TRIALS):
        point = Point(table, Reals(), starting_values(table, rng))
        try:
            found = functionals(query, point)
        except QueryError:  # no answer in this model: what was given has probability zero there, or a divisor is
            continue
        for members in table.blocks:
            block = block_at(point, members)
            slopes = np.asarray(found.gradients[:, list(block.free)], dtype=float) @ _null_space(block.jacobian.T)
            if np.abs(slopes).max(initial=0.0) > 1e-6 * (1.0 + np.abs(found.gradients).max(initial=0.0)):
                return True
    return False


def _null_space(matrix: Array) -> Array:
    if len(matrix) > _TALL * matrix.shape[1]:  # the left vectors, thousands, are of no use
        matrix = np.asarray(np.linalg.qr(matrix, mode="r"))
    _, values, vectors = np.linalg.svd(matrix)
    scale = values[0] if len(values) else 0.0
    rank = int((values > 1e-9 * scale).sum())
    return np.asarray(vectors[rank:].T)
