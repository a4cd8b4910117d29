"""Variables in changed worlds as affine functions of the errors, and how these move with the coefficients.

In any world the variables solve ``x = (K * T)' x + D r + k``: K keeps, scales or drops coefficients, D the errors
``r ~ N(mu, Omega)``, k holds constants. So a weighted sum of variables of any worlds is ``c + e'r + f'z``, with z fresh
draws of standard normal numbers. Gradients come by the reverse rule: with ``l = B a`` the weights of the equations in a
sum a'x, the derivative of ``c g + e'p`` in T[i,j] is ``x_i(p, g) K_ij l_j``, where x(p, g) solves the world's equations
for errors p and constants times g.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models import CGLSCM, total_effects
from halftrek.queries.counterfactual import covariance_root
from halftrek.queries.derivatives import Gradient, added, mapped
from halftrek.queries.kinds.variants import Change, Changes, Draw, Scale, Shift, Sum, Variant

Fresh = dict[tuple[int, int], float]


@dataclass(frozen=True, eq=False)
class ChangedWorld:
    """The equations of one world; ``others`` are the worlds at whose values variables are held here."""

    model: CGLSCM
    number: int
    kept: Floats
    gain: Floats
    constants: Floats
    inputs: tuple[tuple[int, int, float], ...]
    draws: dict[int, float]
    others: tuple[tuple[int, ChangedWorld, int], ...]

    @cached_property
    def B(self) -> Floats:
        """Total effects in this world."""
        return total_effects(self.model.T * self.kept)

    def line(self, weights: Floats) -> tuple[float, Floats, Fresh]:
        """Constant, slopes on the errors, and slopes on fresh draws of a weighted sum of this world's variables."""
        reach = self.B @ weights
        constant = float(reach @ self._constants(1.0))
        errors = reach * self.gain
        fresh = {(self.number, j): sd * float(reach[j]) for j, sd in self.draws.items() if reach[j]}
        for j, other, i in self.others:
            if reach[j]:
                more, slopes, drawn = other.line(reach[j] * _unit(len(reach), i))
                constant, errors = constant + more, errors + slopes
                for key, value in drawn.items():
                    fresh[key] = fresh.get(key, 0.0) + value
        return constant, errors, fresh

    def solution(self, errors: Floats, constant: float, fresh: Fresh) -> Floats:
        """The variables for some errors, with all constants multiplied."""
        right = self.gain * errors + self._constants(constant)
        for j, sd in self.draws.items():
            right[j] += sd * fresh.get((self.number, j), 0.0)
        for j, other, i in self.others:
            right[j] += other.solution(errors, constant, fresh)[i]
        return np.asarray(right @ self.B)

    def slope(self, weights: Floats, errors: Floats, constant: float, fresh: Fresh) -> Floats:
        """Derivative in T of the weighted sum of ``solution``."""
        reach = self.B @ weights
        slope = np.outer(self.solution(errors, constant, fresh), reach) * self.kept
        for u, v, value in self.inputs:
            slope[u, v] += constant * value * reach[v] * self.gain[v]
        for j, other, i in self.others:
            if reach[j]:
                slope += other.slope(reach[j] * _unit(len(reach), i), errors, constant, fresh)
        return slope

    def _constants(self, factor: float) -> Floats:
        found = factor * self.constants
        for u, v, value in self.inputs:
            found[v] += factor * value * self.model.T[u, v] * self.gain[v]
        return found


class WorldMaker:
    """Makes each world of a model once."""

    def __init__(self, model: CGLSCM, question: object) -> None:
        self.model = model
        self.question = question
        self._place = {v: i for i, v in enumerate(model.names)}
        self._made: dict[frozenset[Any], ChangedWorld] = {}
        self._numbers = count()

    def place(self, variable: str) -> int:
        """Where a variable stands."""
        return self._place[variable]

    def world(self, changes: Changes) -> ChangedWorld:
        """The world with some changes; equal changes give the same world."""
        key = frozenset(changes.items())
        if key not in self._made:
            self._made[key] = self._make(changes, next(self._numbers))
        return self._made[key]

    def _make(self, changes: Changes, number: int) -> ChangedWorld:
        p = len(self.model.names)
        kept, gain, constants = np.ones((p, p)), np.ones(p), np.zeros(p)
        inputs: list[tuple[int, int, float]] = []
        draws: dict[int, float] = {}
        others: list[tuple[int, ChangedWorld, int]] = []
        for target, change in changes.items():
            if not isinstance(target, str):
                u, v = self._place[target[0]], self._place[target[1]]
                kept[u, v] = 0.0
                inputs.append((u, v, self._value(change, target)))
                continue
            j = self._place[target]
            if isinstance(change, Shift):
                constants[j] = change.amount
                continue
            factor = change.factor if isinstance(change, Scale) else 0.0
            kept[:, j] *= factor
            gain[j] = factor
            if isinstance(change, Draw):
                constants[j] = change.mean
                draws[j] = float(np.sqrt(change.variance))
            elif isinstance(change, Variant):
                others.append((j, self.world(change.changes), self._place[change.variable]))
            elif not isinstance(change, Scale):
                constants[j] = self._value(change, target)
        return ChangedWorld(self.model, number, kept, gain, constants, tuple(inputs), draws, tuple(others))

    def _value(self, change: Change, target: object) -> float:
        if change is None:
            name = target if isinstance(target, str) else "this edge"
            raise QueryError(f"{self.question}: {name!r} has no value; write for instance {target}=1 to get a number")
        assert not isinstance(change, Shift | Scale | Draw | Variant)  # these were dealt with before
        return float(change)


@dataclass(frozen=True, eq=False)
class Joint:
    """Weighted sums of variables of several worlds, with one joint normal distribution."""

    maker: WorldMaker
    sums: tuple[Sum, ...]

    @cached_property
    def _lines(self) -> list[tuple[float, Floats, Fresh]]:
        found = []
        p = len(self.maker.model.names)
        for of in self.sums:
            constant, errors, fresh = 0.0, np.zeros(p), dict[tuple[int, int], float]()
            for world, weights in self._by_world(of):
                more, slopes, drawn = world.line(weights)
                constant, errors = constant + more, errors + slopes
                for key, value in drawn.items():
                    fresh[key] = fresh.get(key, 0.0) + value
            found.append((constant, errors, fresh))
        return found

    def _by_world(self, of: Sum) -> list[tuple[ChangedWorld, Floats]]:
        found: dict[int, tuple[ChangedWorld, Floats]] = {}
        for weight, v in of.parts:
            world = self.maker.world(v.changes)
            sums = found.setdefault(world.number, (world, np.zeros(len(self.maker.model.names))))[1]
            sums[self.maker.place(v.variable)] += weight
        return list(found.values())

    @cached_property
    def errors(self) -> Floats:
        """Slopes of each sum on each error, in columns."""
        return np.stack([line[1] for line in self._lines], axis=1)

    @cached_property
    def _labels(self) -> list[tuple[int, int]]:
        return sorted({key for line in self._lines for key in line[2]})

    @cached_property
    def fresh(self) -> Floats:
        """Slopes of each sum on each fresh draw, in columns."""
        return np.array([[line[2].get(key, 0.0) for line in self._lines] for key in self._labels]).reshape(
            len(self._labels), len(self.sums)
        )

    @cached_property
    def mean(self) -> Floats:
        """Means of the sums."""
        return np.asarray(np.array([line[0] for line in self._lines]) + self.maker.model.mu @ self.errors)

    @cached_property
    def root(self) -> Floats:
        """R with one column for each sum and ``R'R`` their covariance, exact also where that is singular."""
        model = self.maker.model
        inside = np.concatenate([model.C, covariance_root(model.W)])
        return np.asarray(np.concatenate([inside @ self.errors, self.fresh]))

    def pull(self, by_mean: Floats, by_cov: Floats) -> Gradient:
        """The gradient in (T, Omega, means) of a number with these derivatives in means and covariances."""
        model = self.maker.model
        by_intercept = mapped(self.errors, by_mean)  # mu = (I - T)' m
        by_errors, by_constants = [-np.outer(model.mean, by_intercept)], [np.zeros_like(model.T)]
        reach = 2.0 * (model.omega @ self.errors @ by_cov) + np.outer(model.mu, by_mean)
        drawn = 2.0 * self.fresh @ by_cov
        none = np.zeros(len(model.names))
        for k, of in enumerate(self.sums):
            fresh = dict(zip(self._labels, drawn[:, k], strict=True))
            if not (reach[:, k].any() or by_mean[k] or drawn[:, k].any()):
                continue
            for world, weights in self._by_world(of):
                by_errors.append(world.slope(weights, reach[:, k], 0.0, fresh))
                by_constants.append(world.slope(weights, none, float(by_mean[k]), {}))
        omega = mapped(self.errors[None], mapped(by_cov[None], self.errors))  # errors by_cov errors'
        T = added(added(*by_errors), added(*by_constants))  # apart: constants may be small beside the means
        return Gradient(T, omega, added(by_intercept, -mapped(model.T, by_intercept)))


def joint_of(model: CGLSCM, sums: Sequence[Sum], question: object) -> Joint:
    """The joint distribution of sums; ``question`` is named in errors."""
    return Joint(WorldMaker(model, question), tuple(sums))


def _unit(size: int, at: int) -> Floats:
    found = np.zeros(size)
    found[at] = 1.0
    return found
