"""What would have been for many units at once: with the same variables seen and held, one affine map serves all.

The mean of an outcome in the world where H is held at h, given evidence e from the world as it is, is
``base + (e - centre)' slopes + (h - held_centre)' effects``, and its spread is the same for every unit. The gradient of
such a mean is affine in (e, h) too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.models import CGLSCM
from halftrek.queries.derivatives import Gradient
from halftrek.queries.gradients import linearize
from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.statistics import conditional_of
from halftrek.queries.kinds.variants import Change, Target, Variant
from halftrek.queries.normal.conditional import SINGULAR


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


def unit_gradients(found: UnitMap) -> list[list[Gradient]]:
    """For each outcome the gradients that ``UnitMap.weights`` mixes: at the centre, then per step of each value."""
    middle = np.concatenate([found.centre, found.held_centre])
    steps = found.steps()
    points = [middle, *(middle + step * unit for step, unit in zip(steps, np.eye(len(middle)), strict=True))]
    lines = [linearize(unit_query(found.seen, found.held, found.outcomes, x), found.model).values for x in points]
    return [[lines[0][k], *(line[k] + lines[0][k] * -1.0 for line in lines[1:])] for k in range(len(found.outcomes))]
