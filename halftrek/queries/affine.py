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

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models import total_effects
from halftrek.models.gaussian import covariance_root
from halftrek.queries.derivatives import ROUNDING, Gradient, added, mapped, outer, product
from halftrek.queries.kinds.variants import Change, Changes, Draw, Scale, Shift, Sum, Variant

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

    @cached_property
    def fixed(self) -> Floats:
        """What stands in each equation beside causes and errors."""
        found = self.constants
        for u, v, value in self.inputs:
            found = found + value * self.model.T[..., u, v, None] * (self.gain[v] * _unit(len(self.gain), v))
        return found

    def line(self, weights: Floats) -> tuple[Floats, Floats, Fresh]:
        """Constants, slopes on the errors, and slopes on fresh draws of weighted sums of this world's variables.

        The weights, and all that is returned, have one column for each sum.
        """
        reach = self.B @ weights
        constant = (self.fixed[..., None, :] @ reach)[..., 0, :]
        errors = reach * self.gain[:, None]
        fresh = {(self.number, j): sd * reach[..., j, :] for j, sd in self.draws.items()}
        for j, other, i in self.others:
            more, slopes, drawn = other.line(self._at(i, reach[..., j, :]))
            constant, errors = constant + more, errors + slopes
            for key, value in drawn.items():
                fresh[key] = fresh.get(key, 0.0) + value
        return constant, errors, fresh

    def solution(self, errors: Floats, constant: Floats, fresh: Fresh) -> Floats:
        """The variables for some errors, with all constants multiplied; again a column for each sum."""
        right = self.gain[:, None] * errors + outer(self.fixed, constant)
        for j, sd in self.draws.items():
            right[..., j, :] += sd * fresh.get((self.number, j), 0.0)
        for j, other, i in self.others:
            right[..., j, :] += other.solution(errors, constant, fresh)[..., i, :]
        return np.asarray(self.B.swapaxes(-1, -2) @ right)

    def slope(self, weights: Floats, errors: Floats, constant: Floats, fresh: Fresh) -> tuple[Floats, Floats]:
        """Derivative in T of the weighted sums of ``solution``, all together, and the size of its parts."""
        reach, solved = self.B @ weights, self.solution(errors, constant, fresh)
        total, size = (x @ r.swapaxes(-1, -2) for x, r in ((solved, reach), (np.abs(solved), np.abs(reach))))
        total, size = total * self.kept, size * np.abs(self.kept)
        for u, v, value in self.inputs:
            moved = constant * reach[..., v, :] * (value * self.gain[v])
            total[..., u, v] += moved.sum(axis=-1)
            size[..., u, v] += np.abs(moved).sum(axis=-1)
        for j, other, i in self.others:
            more, sizes = other.slope(self._at(i, reach[..., j, :]), errors, constant, fresh)
            total, size = total + more, size + sizes
        return total, size

    def _at(self, i: int, weights: Floats) -> Floats:
        """Weights of one variable as weights of all."""
        return outer(_unit(len(self.gain), i), weights)


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
    def by_world(self) -> list[tuple[ChangedWorld, list[int], Floats]]:
        """Of each world the sums that it has a part in, and the weights of its variables there, in columns."""
        found: dict[tuple[int, int], tuple[ChangedWorld, Floats]] = {}
        for k, of in enumerate(self.sums):
            for weight, v in of.parts:
                world = self.maker.world(v.changes)
                column = found.setdefault((world.number, k), (world, np.zeros(len(self.maker.model.names))))[1]
                column[self.maker.place(v.variable)] += weight
        lines = []
        for world in {number: world for (number, _), (world, _) in found.items()}.values():
            at = [k for number, k in found if number == world.number]
            lines.append((world, at, np.stack([found[world.number, k][1] for k in at], axis=-1)))
        return lines

    @cached_property
    def _lines(self) -> tuple[Floats, Floats, Fresh]:
        """Constants, slopes on the errors and on fresh draws, in columns."""
        axes, count = self.maker.model.mu.shape[:-1], len(self.sums)
        constants, errors = np.zeros((*axes, count)), np.zeros((*self.maker.model.mu.shape, count))
        fresh: Fresh = {}
        for world, at, weights in self.by_world:
            more, slopes, drawn = world.line(weights)
            constants[..., at] += more
            errors[..., at] += slopes
            for key, value in drawn.items():
                fresh.setdefault(key, np.zeros((*axes, count)))[..., at] += value
        return constants, errors, {key: value for key, value in sorted(fresh.items()) if value.any()}

    @cached_property
    def errors(self) -> Floats:
        """Slopes of each sum on each error, in columns."""
        return self._lines[1]

    @cached_property
    def fresh(self) -> Floats:
        """Slopes of each sum on each fresh draw, in columns."""
        constants, _, fresh = self._lines
        none = np.zeros((*constants.shape[:-1], 0, len(self.sums)))
        return np.stack(list(fresh.values()), axis=-2) if fresh else none

    @cached_property
    def mean(self) -> Floats:
        """Means of the sums."""
        return np.asarray(self._lines[0] + (self.maker.model.mu[..., None, :] @ self.errors)[..., 0, :])

    @cached_property
    def root(self) -> Floats:
        """R with one column for each sum and ``R'R`` their covariance, exact also where that is singular."""
        model = self.maker.model
        used = np.flatnonzero(self.errors.any(axis=(*range(self.errors.ndim - 2), -1)))
        errors = self.errors[..., used, :]
        parts = [model.C[..., used] @ errors, covariance_root(model.W[..., used[:, None], used]) @ errors, self.fresh]
        return np.asarray(np.concatenate(parts, axis=-2))

    def pull(self, by_mean: Floats, by_cov: Floats) -> Gradient:
        """The gradient in (T, Omega, means) of a number with these derivatives in means and covariances.

        Of several numbers at once where the derivatives have one axis more in front.
        """
        model = self.maker.model
        by_mean = np.broadcast_to(by_mean, np.broadcast_shapes(by_mean.shape, self.mean.shape))
        by_intercept = mapped(self.errors, by_mean)  # mu = (I - T)' m
        moved = product(self.errors, by_cov)  # exactly nothing where sums cancel
        drawn = 2.0 * product(self.fresh, by_cov)
        spread, means = 2.0 * (model.omega @ moved), outer(model.mu, by_mean)
        # by way of covariances, of means and of constants, apart: what is small in one may be rounding in another
        start, none = -outer(model.mean, by_intercept), np.zeros_like(by_mean)
        ways = [
            (np.zeros_like(start), spread, none, drawn),
            (start, means, none, np.zeros_like(drawn)),
            (np.zeros_like(start), np.zeros_like(means), by_mean, np.zeros_like(drawn)),
        ]
        moving = [way for way in ways if any(x.any() for x in way)] or ways[:1]
        total, errors, constants, fresh = (np.stack(x) for x in zip(*moving, strict=True))
        size = np.abs(total)
        for world, at, weights in self.by_world:
            draws = {key: fresh[..., i, at] for i, key in enumerate(self._lines[2])}
            more, sizes = world.slope(weights, errors[..., at], constants[..., at], draws)
            total, size = total + more, size + sizes
        T = added(*np.where(np.abs(total) <= ROUNDING * size, 0.0, total))
        omega = product(moved, self.errors.swapaxes(-1, -2))
        return Gradient(T, omega, added(by_intercept, -mapped(model.T, by_intercept)))


def joint_of(model: Parameters, sums: Sequence[Sum], question: object) -> Joint:
    """The joint distribution of sums; ``question`` is named in errors."""
    return Joint(WorldMaker(model, question), tuple(sums))


def _unit(size: int, at: int) -> Floats:
    found = np.zeros(size)
    found[at] = 1.0
    return found
