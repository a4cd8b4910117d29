"""Variables in changed worlds as affine functions of the errors, and how these move with the coefficients.

In any world the variables solve ``x = (K * T)' x + D r + k``: K keeps, scales or drops coefficients, D the errors
``r ~ N(mu, Omega)``, k holds constants. So a weighted sum of variables of any worlds is ``c + e'r + f'z``, with z fresh
draws of standard normal numbers. Gradients come by the reverse rule: with ``l = B a`` the weights of the equations in a
sum a'x, the derivative of ``c g + e'p`` in T[i,j] is ``x_i(p, g) K_ij l_j``, where x(p, g) solves the world's equations
for errors p and constants times g.

All of it holds for one model and for many of one graph at once: their arrays have leading axes, so has what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, Protocol

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models import total_effects
from halftrek.models.gaussian import covariance_root
from halftrek.queries.derivatives import Gradient, added, mapped, outer
from halftrek.queries.kinds.variants import Changes, Draw, Scale, Shift, Sum, Variant

Fresh = dict[tuple[int, int], Floats]


class Parameters(Protocol):
    """The parameters of one model, or of many of one graph: arrays with any leading axes."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def T(self) -> Floats: ...
    @property
    def C(self) -> Floats: ...
    @property
    def W(self) -> Floats: ...
    @property
    def mu(self) -> Floats: ...
    @property
    def B(self) -> Floats: ...
    @property
    def omega(self) -> Floats: ...
    @property
    def mean(self) -> Floats: ...


@dataclass(frozen=True, eq=False)
class ChangedWorld:
    """The equations of one world; ``others`` are the worlds at whose values variables are held here."""

    model: Parameters
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
        return self.model.B if (self.kept == 1.0).all() else total_effects(self.model.T * self.kept)

    def line(self, weights: Floats) -> tuple[Floats, Floats, Fresh]:
        """Constant, slopes on the errors, and slopes on fresh draws of a weighted sum of this world's variables."""
        reach = self.B @ weights
        constant = (reach * self._constants(np.ones(()))).sum(axis=-1)
        errors = reach * self.gain
        fresh = {(self.number, j): sd * reach[..., j] for j, sd in self.draws.items()}
        for j, other, i in self.others:
            more, slopes, drawn = other.line(_unit(len(weights), i))
            constant, errors = constant + reach[..., j] * more, errors + reach[..., j, None] * slopes
            for key, value in drawn.items():
                fresh[key] = fresh.get(key, 0.0) + reach[..., j] * value
        return constant, errors, fresh

    def solution(self, errors: Floats, constant: Floats, fresh: Fresh) -> Floats:
        """The variables for some errors, with all constants multiplied."""
        right = self.gain * errors + self._constants(constant)
        for j, sd in self.draws.items():
            right[..., j] += sd * fresh.get((self.number, j), 0.0)
        for j, other, i in self.others:
            right[..., j] += other.solution(errors, constant, fresh)[..., i]
        return np.asarray((right[..., None, :] @ self.B)[..., 0, :])

    def slope(self, weights: Floats, errors: Floats, constant: Floats, fresh: Fresh) -> Floats:
        """Derivative in T of the weighted sum of ``solution``."""
        reach = self.B @ weights
        slope = outer(self.solution(errors, constant, fresh), reach) * self.kept
        for u, v, value in self.inputs:
            slope[..., u, v] += constant * value * reach[..., v] * self.gain[v]
        for j, other, i in self.others:
            slope += reach[..., j, None, None] * other.slope(_unit(len(weights), i), errors, constant, fresh)
        return slope

    def _constants(self, factor: Floats) -> Floats:
        found = factor[..., None] * self.constants
        for u, v, value in self.inputs:
            found = found + (factor * value * self.model.T[..., u, v] * self.gain[v])[..., None] * _unit(
                len(self.gain), v
            )
        return np.asarray(found)


class WorldMaker:
    """Makes each world of a model once."""

    def __init__(self, model: Parameters, question: object) -> None:
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

    def _value(self, change: Any, target: object) -> float:
        if change is None:
            name = target if isinstance(target, str) else "this edge"
            raise QueryError(f"{self.question}: {name!r} has no value; write for instance {target}=1 to get a number")
        return float(change)


@dataclass(frozen=True, eq=False)
class Joint:
    """Weighted sums of variables of several worlds, with one joint normal distribution."""

    maker: WorldMaker
    sums: tuple[Sum, ...]

    @cached_property
    def _lines(self) -> list[tuple[Floats, Floats, Fresh]]:
        found = []
        for of in self._by_world:
            (constant, errors, fresh), *rest = [world.line(weights) for world, weights in of]
            for more, slopes, drawn in rest:
                constant, errors = constant + more, errors + slopes
                for key, value in drawn.items():
                    fresh[key] = fresh.get(key, 0.0) + value
            found.append((constant, errors, fresh))
        return found

    @cached_property
    def _by_world(self) -> list[list[tuple[ChangedWorld, Floats]]]:
        """Each sum as one weighted sum over all variables of each world."""
        lines = []
        for of in self.sums:
            found: dict[int, tuple[ChangedWorld, Floats]] = {}
            for weight, v in of.parts:
                world = self.maker.world(v.changes)
                sums = found.setdefault(world.number, (world, np.zeros(len(self.maker.model.names))))[1]
                sums[self.maker.place(v.variable)] += weight
            lines.append(list(found.values()))
        return lines

    @cached_property
    def errors(self) -> Floats:
        """Slopes of each sum on each error, in columns."""
        return np.stack([line[1] for line in self._lines], axis=-1)

    @cached_property
    def _labels(self) -> list[tuple[int, int]]:
        return sorted({key for line in self._lines for key, value in line[2].items() if value.any()})

    @cached_property
    def fresh(self) -> Floats:
        """Slopes of each sum on each fresh draw, in columns."""
        found = np.zeros((*self.errors.shape[:-2], len(self._labels), len(self.sums)))
        for k, (_, _, fresh) in enumerate(self._lines):
            for i, key in enumerate(self._labels):
                found[..., i, k] = fresh.get(key, 0.0)
        return found

    @cached_property
    def mean(self) -> Floats:
        """Means of the sums."""
        constants = np.stack([line[0] for line in self._lines], axis=-1)
        return np.asarray(constants + (self.maker.model.mu[..., None, :] @ self.errors)[..., 0, :])

    @cached_property
    def root(self) -> Floats:
        """R with one column for each sum and ``R'R`` their covariance, exact also where that is singular."""
        model = self.maker.model
        inside = np.concatenate([model.C, covariance_root(model.W)], axis=-2)
        return np.asarray(np.concatenate([inside @ self.errors, self.fresh], axis=-2))

    def pull(self, by_mean: Floats, by_cov: Floats) -> Gradient:
        """The gradient in (T, Omega, means) of a number with these derivatives in means and covariances.

        Of several numbers at once where the derivatives have one axis more in front.
        """
        model = self.maker.model
        by_mean = np.broadcast_to(by_mean, np.broadcast_shapes(by_mean.shape, self.mean.shape))
        by_intercept = mapped(self.errors, by_mean)  # mu = (I - T)' m
        moved = mapped(by_cov[..., None, :, :], self.errors)  # errors by_cov: exactly nothing where sums cancel
        drawn = 2.0 * mapped(by_cov[..., None, :, :], self.fresh)
        spread, means, none = 2.0 * (model.omega @ moved), outer(model.mu, by_mean), np.zeros_like(by_mean[..., 0])
        # by way of covariances, of means and of constants, apart: what is small in one may be rounding in another
        start = -outer(model.mean, by_intercept)
        parts = [np.stack([np.zeros_like(start), start, np.zeros_like(start)])]
        for k, of in enumerate(self._by_world):
            errors = np.stack([spread[..., k], means[..., k], np.zeros_like(means[..., k])])
            constants = np.stack([none, none, by_mean[..., k]])
            fresh = {key: np.stack([drawn[..., i, k], none, none]) for i, key in enumerate(self._labels)}
            parts += [world.slope(weights, errors, constants, fresh) for world, weights in of]
        T = added(*added(*parts))
        omega = mapped(self.errors[..., None, :, :], moved)  # errors by_cov errors'
        return Gradient(T, omega, added(by_intercept, -mapped(model.T, by_intercept)))


def joint_of(model: Parameters, sums: Sequence[Sum], question: object) -> Joint:
    """The joint distribution of sums; ``question`` is named in errors."""
    return Joint(WorldMaker(model, question), tuple(sums))


def _unit(size: int, at: int) -> Floats:
    found = np.zeros(size)
    found[at] = 1.0
    return found
