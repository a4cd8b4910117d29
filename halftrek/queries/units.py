"""What would have been for many units at once: with the same variables seen and held, one affine map serves all.

The mean of an outcome in the world where H is held at h, given evidence e from the world as it is, is
``base + (e - centre)' slopes + (h - held_centre)' effects``, and its spread is the same for every unit. The gradient of
such a mean is affine in (e, h) too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models import CGLSCM
from halftrek.queries.affine import ChangedWorld
from halftrek.queries.derivatives import ROUNDING, Gradient, outer, product
from halftrek.queries.gradients import linearize, without_rounding
from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.statistics import conditional_of
from halftrek.queries.kinds.variants import Change, Target, Variant
from halftrek.queries.normal.conditional import SINGULAR, Conditional


@dataclass(frozen=True, eq=False)
class UnitMap:
    """How evidence and held values make the means of the outcomes; arrays have one column for each outcome.

    ``noise`` is the standard deviation of each outcome that evidence leaves open. ``redundant`` is None, or the
    projection that the evidence (in standard deviations) must satisfy where some of it determines the rest.
    """

    model: CGLSCM
    seen: tuple[str, ...]
    held: tuple[str, ...]
    outcomes: tuple[str, ...]
    centre: Floats
    held_centre: Floats
    base: Floats
    slopes: Floats
    effects: Floats
    noise: Floats
    redundant: Floats | None = None

    def means(self, evidence: Floats, held: Floats) -> Floats:
        """Means of the outcomes, one row for each unit."""
        found = evidence @ self.slopes
        found += held @ self.effects
        found += self.base - self.centre @ self.slopes - self.held_centre @ self.effects
        return np.asarray(found)

    def weights(self, evidence: Floats, held: Floats) -> Floats:
        """What each unit takes of the gradients of ``unit_gradients``."""
        scale = self.steps()
        count = len(self.seen)
        ones = np.ones((len(evidence), 1))
        return np.concatenate(
            [ones, (evidence - self.centre) / scale[:count], (held - self.held_centre) / scale[count:]], axis=1
        )

    def steps(self) -> Floats:
        """A standard deviation of each variable seen and held (one where it has none)."""
        sd = dict(zip(self.model.names, np.sqrt(np.maximum(np.diag(self.model.cov), 0.0)), strict=True))
        return np.array([sd[v] or 1.0 for v in (*self.seen, *self.held)])

    def first_impossible(self, evidence: Floats) -> int | None:
        """The first unit whose evidence contradicts itself, in models where some variables determine others."""
        if self.redundant is None:
            return None
        standard = (evidence - self.centre) / self.steps()[: len(self.seen)]
        bad = np.abs(standard - standard @ self.redundant).max(axis=1) > 1e-8 * (1.0 + np.abs(standard).max(axis=1))
        return int(np.argmax(bad)) if bad.any() else None


def unit_query(
    seen: Sequence[str], held: Sequence[str], outcomes: Sequence[str], values: Floats | None = None
) -> Distribution:
    """The question about one unit; without values (first of the evidence, then of the held) for identification."""
    given = [None] * (len(seen) + len(held)) if values is None else [float(x) for x in values]
    world: dict[Target, Change] = dict(zip(held, given[len(seen) :], strict=True))
    evidence = dict(zip(map(Variant, seen), given[: len(seen)], strict=True))
    return Distribution.across(tuple(Variant(v, world) for v in outcomes), evidence)


def unit_map(model: CGLSCM, seen: Sequence[str], held: Sequence[str], outcomes: Sequence[str]) -> UnitMap:
    """The map for units of which ``seen`` was observed, in the world where ``held`` is set."""
    for v in outcomes:
        if v in held:
            raise QueryError(f"{v!r} is held by do, so there is nothing to ask about it; name another outcome")
    place = {v: i for i, v in enumerate(model.names)}
    centre, held_centre = (np.array([model.mean[place[v]] for v in names], dtype=float) for names in (seen, held))
    query = unit_query(seen, held, outcomes, np.concatenate([centre, held_centre]))
    found = conditional_of(query, model)
    slopes, redundant = np.zeros((0, len(outcomes))), None
    if seen:
        columns, inverse, _ = found.evidence
        slopes = found.slope
        if np.linalg.matrix_rank(columns, tol=SINGULAR) < len(seen):
            redundant = inverse @ columns
    after = found.joint.maker.world(dict(zip(held, held_centre.tolist(), strict=True))).B
    effects = np.array([[after[place[h], place[y]] for y in outcomes] for h in held]).reshape(len(held), len(outcomes))
    noise = np.sqrt(np.diag(found.cov))
    return UnitMap(
        model, tuple(seen), tuple(held), tuple(outcomes), centre, held_centre, found.mean, slopes, effects, noise,
        redundant,
    )  # fmt: skip


def unit_numbers(found: UnitMap, model: CGLSCM) -> Floats:
    """What another model has for the numbers that ``UnitMap.weights`` mixes, one after the other for each outcome."""
    other = unit_map(model, found.seen, found.held, found.outcomes)
    steps, count = found.steps(), len(found.seen)
    middle = other.means(found.centre[None, :], found.held_centre[None, :])
    slopes, effects = steps[:count, None] * other.slopes, steps[count:, None] * other.effects
    return np.asarray(np.concatenate([middle, slopes, effects]).T.ravel())


def unit_gradients(found: UnitMap) -> list[Gradient]:
    """For each outcome the gradients that ``UnitMap.weights`` mixes, along a first axis: at the centre, then per step.

    A mean given evidence e is ``m + s' (e - c)``, with s its slopes: per step of one value seen, as that slope moves.
    """
    middle = np.concatenate([found.centre, found.held_centre])
    steps, seen = found.steps(), len(found.seen)
    ends = [
        middle,
        *(middle + step * unit for step, unit in zip(steps[seen:], np.eye(len(middle))[seen:], strict=True)),
    ]
    lines = [linearize(unit_query(found.seen, found.held, found.outcomes, x), found.model).values for x in ends]
    here = conditional_of(unit_query(found.seen, found.held, found.outcomes, middle), found.model)
    gradients = []
    for k in range(len(found.outcomes)):
        all_of_it = Gradient(
            *(np.zeros((1 + len(middle), *x.shape)) for x in (lines[0][k].T,) * 2 + (lines[0][k].mean,))
        )
        _put(all_of_it, 0, lines[0][k])
        for i, one in enumerate(_slope_gradients(here, k, steps[:seen], found.model), 1):
            _put(all_of_it, i, one)
        for i, line in enumerate(lines[1:], 1 + seen):
            _put(all_of_it, i, line[k] + lines[0][k] * -1.0)
        gradients.append(all_of_it)
    return gradients


def _put(into: Gradient, at: int, one: Gradient) -> None:
    into.T[at], into.omega[at], into.mean[at] = one.T, one.omega, one.mean


def _slope_gradients(here: Conditional, outcome: int, steps: Floats, model: CGLSCM) -> Iterator[Gradient]:
    """How the slopes of an outcome on what was seen, times the steps, move with the parameters; one for each.

    With a = (the outcome) - (its slopes) and ``w = Cov^+ e`` for a value e of the evidence, the slope on e moves with
    the covariance of all sums as ``a' Cov w``, so its gradient is of rank two: of all slopes it costs as much as one
    product of matrices, where ``Conditional.pull`` takes one for each.
    """
    if not len(steps):
        return
    joint, count = here.joint, here.count
    _, inverse, scale = here.evidence
    a = np.concatenate([np.eye(count)[outcome], -here.slope[:, outcome]])
    inner = (inverse @ inverse.T) / scale[:, None] / scale * steps  # the steps' columns of Cov^+
    w = np.concatenate([np.zeros((count, len(steps))), inner])
    by_a, by_w = product(joint.errors, a[:, None]), product(joint.errors, w)
    ways = [_of_world(world, weights, a[at], w[at], model.omega @ by_a, model.omega @ by_w)
            for world, at, weights in joint.by_world]  # fmt: skip
    sd = np.sqrt(np.diag(model.cov))
    for k in range(len(steps)):
        total, size = (sum(parts) for parts in zip(*(way(k) for way in ways), strict=True))
        T = np.where(np.abs(total) <= ROUNDING * size, 0.0, total)
        half = outer(by_a[:, 0], by_w[:, k]) / 2.0
        yield without_rounding(Gradient(T, half + half.T, np.zeros(len(sd))), sd)


def _of_world(
    world: ChangedWorld, weights: Floats, a: Floats, w: Floats, by_a: Floats, by_w: Floats
) -> Callable[[int], tuple[Floats, Floats]]:
    """What a world in which variables are held adds to the derivative in T, and the size of its parts."""
    reach = world.B @ weights
    of_a, of_w = (world.B.T @ (world.gain[:, None] * x) for x in (by_a, by_w))
    to_a, to_w = reach @ a, reach @ w
    size_a, size_w = np.abs(reach) @ np.abs(a), np.abs(reach) @ np.abs(w)

    def slope(k: int) -> tuple[Floats, Floats]:
        total = outer(of_a[:, 0], to_w[:, k]) + outer(of_w[:, k], to_a)
        size = outer(np.abs(of_a[:, 0]), size_w[:, k]) + outer(np.abs(of_w[:, k]), size_a)
        return total * world.kept, size * np.abs(world.kept)

    return slope
