"""What would have been: all worlds of a model share its errors, so they have one joint normal distribution.

In the world where H is held at x, with ``B`` of that world and errors ``r ~ N(mu, Omega)`` outside H:

    y_x = Σ_{i in H} B[i, y] x_i + Σ_{i not in H} B[i, y] r_i

Evidence from any world is a statement about r; conditioning on it and reading off the outcomes is abduction, action
and prediction in one step (Pearl 2009, section 7.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries.derivatives import mapped
from halftrek.queries.types import Counterfactual, Potential, Value

SINGULAR = 1e-10  # relative size below which a direction of the evidence has no spread


@dataclass(frozen=True, eq=False)
class World:
    """A model with some variables held; it shares its errors with all other worlds."""

    model: CGLSCM
    held: Mapping[str, float]

    @cached_property
    def after(self) -> CGLSCM:
        """The model of this world."""
        return self.model.do(self.held)

    @cached_property
    def free(self) -> Floats:
        """1 for each variable that keeps its equation, else 0."""
        return np.array([v not in self.held for v in self.model.names], dtype=float)

    def reach(self, weights: Floats) -> Floats:
        """How a weighted sum of this world's variables moves with each error."""
        return np.asarray(self.free * mapped(self.after.B, weights))


@dataclass(frozen=True, eq=False)
class Worlds:
    """Variables in worlds of their own: ``z = constant + errors' r``, one column of ``errors`` for each variable."""

    model: CGLSCM
    potentials: tuple[Potential, ...]

    @cached_property
    def homes(self) -> tuple[World, ...]:
        """The world of each variable; equal worlds are the same object."""
        found: dict[frozenset[tuple[str, Value]], World] = {}
        for v in self.potentials:
            held = {w: _number(x, w, v) for w, x in v.held.items()}
            found.setdefault(frozenset(held.items()), World(self.model, held))
        return tuple(found[frozenset(v.held.items())] for v in self.potentials)

    @cached_property
    def mean(self) -> Floats:
        """Means of the variables."""
        return np.array([home.after.mean[self._place(v)] for home, v in zip(self.homes, self.potentials, strict=True)])

    @cached_property
    def errors(self) -> Floats:
        """How each variable moves with each error, in columns."""
        columns = [home.free * home.after.B[:, self._place(v)] for home, v in self.pairs]
        return np.stack(columns, axis=1)

    @property
    def pairs(self) -> list[tuple[World, Potential]]:
        """Each variable with its world."""
        return list(zip(self.homes, self.potentials, strict=True))

    @cached_property
    def root(self) -> Floats:
        """R with one column for each variable and ``R'R`` their covariance, exact also where that is singular."""
        return np.concatenate([self.model.C, covariance_root(self.model.W)]) @ self.errors

    def probe(self, weights: Floats) -> list[tuple[World, Floats]]:
        """A weighted sum of the variables, as one weighted sum over all variables of each world."""
        found: dict[int, tuple[World, Floats]] = {}
        for (home, v), weight in zip(self.pairs, weights, strict=True):
            sums = found.setdefault(id(home), (home, np.zeros(len(self.model.names))))[1]
            sums[self._place(v)] += weight
        return list(found.values())

    def _place(self, potential: Potential) -> int:
        return self.model.names.index(potential.variable)


def answer_counterfactual(query: Counterfactual, model: CGLSCM) -> Gaussian:
    """The distribution of the outcomes given the evidence."""
    worlds, outcomes, evidence, seen = joint_worlds(query, model)
    names = tuple(map(str, query.outcomes))
    if not evidence:
        spread = worlds.root[:, outcomes]
        return Gaussian(names, worlds.mean[outcomes], spread.T @ spread)
    slope = evidence_slopes(worlds, outcomes, evidence)
    gap = seen - worlds.mean[evidence]
    if (culprit := contradiction(worlds.root[:, evidence], worlds.mean[evidence], seen)) is not None:
        raise QueryError(
            f"{query}: {list(query.given)[culprit]} cannot have this value in this model, the other values determine "
            f"it. Leave it out of the condition"
        )
    whole = worlds.root[:, outcomes]
    rest = whole - worlds.root[:, evidence] @ slope
    rest[:, np.linalg.norm(rest, axis=0) < 1e-13 * np.linalg.norm(whole, axis=0)] = 0.0  # only rounding is left
    return Gaussian(names, worlds.mean[outcomes] + gap @ slope, rest.T @ rest)


def joint_worlds(query: Counterfactual, model: CGLSCM) -> tuple[Worlds, list[int], list[int], Floats]:
    """Outcomes and evidence together, the places of both, and the values of the evidence."""
    worlds = Worlds(model, (*query.outcomes, *query.given))
    count = len(query.outcomes)
    seen = np.array([_number(x, str(v), query) for v, x in query.given.items()])
    return worlds, list(range(count)), list(range(count, count + len(query.given))), seen


def evidence_slopes(worlds: Worlds, targets: Iterable[int], evidence: list[int]) -> Floats:
    """Regression slopes on the evidence, one column for each target; where the evidence is redundant, the shortest."""
    scaled, scale = unit_columns(worlds.root[:, evidence])
    return (np.linalg.pinv(scaled, rcond=SINGULAR) @ worlds.root[:, list(targets)]) / scale[:, None]


def evidence_weights(worlds: Worlds, evidence: list[int], gap: Floats) -> Floats:
    """``Cov(evidence)^+ gap``."""
    scaled, scale = unit_columns(worlds.root[:, evidence])
    inverse = np.linalg.pinv(scaled, rcond=SINGULAR)
    return np.asarray(inverse @ (inverse.T @ (gap / scale)) / scale)


def contradiction(root: Floats, mean: Floats, seen: Floats) -> int | None:
    """Which of the values seen cannot be, given the others; None if all can. What does not vary has its mean."""
    scaled, scale = unit_columns(root)
    fixed = ~root.any(axis=0)
    scale[fixed] = np.maximum(np.abs(mean), np.abs(seen))[fixed]
    standard = (seen - mean) / np.where(scale > 0.0, scale, 1.0)
    left = np.abs(standard - scaled.T @ (np.linalg.pinv(scaled, rcond=SINGULAR).T @ standard))
    return int(np.argmax(left)) if (left > 1e-8 * (1.0 + np.abs(standard))).any() else None


def unit_columns(root: Floats) -> tuple[Floats, Floats]:
    """Columns of length one, and their lengths; a column without length stays as it is."""
    scale = np.linalg.norm(root, axis=0)
    scale[scale == 0.0] = 1.0
    return root / scale, scale


def covariance_root(cov: Floats) -> Floats:
    """R with ``R'R = cov``; directions without variance get exactly none, else their noise would be square-rooted."""
    scale = np.sqrt(np.maximum(np.diag(cov), 0.0))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(cov / np.outer(scale, scale))
    values[values < 1e-13] = 0.0
    return np.asarray((vectors * np.sqrt(values)).T * scale)


def _number(value: Value, name: str, where: object) -> float:
    if value is None:
        raise QueryError(f"{where}: {name!r} has no value; write for instance {name}=1 to get a number")
    return float(value)
