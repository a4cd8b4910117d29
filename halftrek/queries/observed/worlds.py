"""The worlds of a question in which some columns act: every way in which their categories may come out.

Where an acting column is in category a, its children take its value to be a: ``x -> y = a`` for each child. The
column's own variable does not feel it, so that with all such values in place the model is linear and normal, and
``P(event) = sum over a of P(event in the world of a, and x* between the cuts of a)``. A world that changes what comes
before an acting column has a category of its own; the others share that of the world as it is. Values that were seen
weigh each way by their density in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import inf

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.layer import Margin
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries.evaluate import evaluate, value_of
from halftrek.queries.kinds.statistics import conditional_of
from halftrek.queries.kinds.variants import Case, Change, Event, Sum, Target, Variant, single
from halftrek.queries.normal.events import box_gradient, box_probability
from halftrek.queries.observed.given import chances_below
from halftrek.queries.types import Distribution, Probability, Statistic
from halftrek.queries.written.writing import Value

STEP = 1e-4
RARE = 1e-12  # probability below which a way adds nothing
Key = frozenset[tuple[Target, Change]]
Slot = tuple[str, Key]  # an acting column, and the changes of its world
NOW: Key = frozenset()


@dataclass(frozen=True, eq=False)
class _Way:
    """The category of each slot: what variables are in its worlds, and between which cuts acting ones lie."""

    values: Mapping[Slot, float]
    bands: tuple[Event, ...]


@dataclass(frozen=True, eq=False)
class Worlds:
    """All worlds of the variables ``asked``, given values of some; each has its changes at itself, none nested."""

    model: CGLSCM
    margins: Mapping[str, Margin]
    asked: tuple[Variant, ...]
    given: Mapping[Variant, Value]

    def __post_init__(self) -> None:
        for variant in (*self.asked, *self.given):
            nested = [c for c in variant.changes.values() if isinstance(c, Variant)]
            if nested and self._acting:
                raise QueryError(
                    f"{variant}: a value that another variable would have had is not known where a category acts; hold "
                    f"it at a number"
                )

    @property
    def single(self) -> bool:
        """True if no category that acts has to do with what is asked."""
        return not self._slots

    def chance(self, events: Sequence[Event]) -> float:
        """The probability that all events happen, given the values that were seen, times one number of these."""
        if not events and not self._weigh:
            return 1.0
        return sum(weight * self._share(way, events) for way, weight in self._weighted)

    def mean(self, variant: Variant, known: Sequence[Event]) -> float:
        """The mean of a plain variable, given events.

        Over a box B of normal variables x_j, ``E[w 1_B] = E[w] P(B) + sum_j Cov(w, x_j) dP(B)/dE[x_j]`` (Tallis 1961),
        the last a slope: what the probability makes of ends that move by the covariances.
        """
        total, whole = 0.0, 0.0
        for way, weight in self._weighted:
            share = self._share(way, known)
            if share <= RARE:
                continue
            of, case = single(self._in(way, variant)), Case({}, self._seen(way))
            mean = float(value_of(Statistic("E", (of,), case), self.model))
            events = self._events(way, known)
            if events:
                sides = []
                for step in (STEP, -STEP):
                    moved = [self._moved(of, e, case, step) for e in events]
                    sides.append(float(value_of(Probability(tuple(moved), case), self.model)))
                mean += (sides[0] - sides[1]) / (2.0 * STEP) / share
            total, whole = total + weight * share * mean, whole + weight * share
        if whole <= 0.0:
            raise QueryError(f"{variant}: what was seen next to never occurs in this model")
        return total / whole

    def moments(self, of: Sum, known: Sequence[Event]) -> tuple[float, float]:
        """Mean and mean square of a sum of plain variables, given events.

        With c its covariances with the variables of a box, g and H the slope and the bend of the probability P in their
        means: ``E[w 1_B] = E[w] P + c'g`` and ``E[w² 1_B] = E[w²] P + 2 E[w] c'g + c'Hc``. H is twice the slope in the
        covariances.
        """
        total, square, whole = 0.0, 0.0, 0.0
        for way, weight in self._weighted:
            inside = Sum(tuple((w, self._in(way, v)) for w, v in of.parts))
            events = self._events(way, known)
            if any(e.low >= e.high for e in events):
                continue
            sums = (inside, *(e.of for e in events))
            found = conditional_of(Distribution(sums, Case({}, self._seen(way))), self.model)
            mean, root = found.mean[: len(sums)], found.root[:, : len(sums)]
            m, c = float(mean[0]), root[:, 0] @ root
            share, slope, bend = 1.0, 0.0, 0.0
            if events:
                ends = (np.array([e.low for e in events]), np.array([e.high for e in events]))
                share = box_probability(mean[1:], root[:, 1:], *ends)
                if share <= RARE:
                    continue
                by_mean, by_cov = box_gradient(mean[1:], root[:, 1:], *ends)
                slope, bend = float(c[1:] @ by_mean), 2.0 * float(c[1:] @ by_cov @ c[1:])
            total += weight * (m * share + slope)
            square += weight * ((m**2 + float(c[0])) * share + 2.0 * m * slope + bend)
            whole += weight * share
        if whole <= 0.0:
            raise QueryError(f"{of}: what was seen next to never occurs in this model")
        return total / whole, square / whole

    def below(self, variant: Variant, cuts: Floats, known: Sequence[Event]) -> tuple[Floats, Floats]:
        """The probabilities that a variable lies below rising cuts, given events, and the densities there."""
        below, density, whole = np.zeros(len(cuts)), np.zeros(len(cuts)), 0.0
        for way, weight in self._weighted:
            share, events = weight * self._share(way, known), self._events(way, known)
            if share > RARE:
                sums = (single(self._in(way, variant)), *(e.of for e in events))
                found = conditional_of(Distribution(sums, Case({}, self._seen(way))), self.model)
                low, high = (np.array([getattr(e, side) for e in events]) for side in ("low", "high"))
                chances, slopes = chances_below(str(variant), found, low, high, cuts)
                below, density, whole = below + share * chances, density + share * slopes, whole + share
        if whole <= 0.0:
            raise QueryError(f"{variant}: what was seen next to never occurs in this model")
        return below / whole, density / whole

    def _moved(self, of: Sum, event: Event, case: Case, step: float) -> Event:
        """An event with ends moved against its covariance with a variable, which is moving its mean by that."""
        move = step * float(value_of(Statistic("Cov", (of, event.of), case), self.model))
        return replace(event, low=event.low - move, high=event.high - move)

    def _share(self, way: _Way, events: Sequence[Event]) -> float:
        found = self._events(way, events)
        if any(e.low >= e.high for e in found):
            return 0.0
        if not found:
            return 1.0
        return float(value_of(Probability(found, Case({}, self._seen(way))), self.model))

    def _events(self, way: _Way, events: Sequence[Event]) -> tuple[Event, ...]:
        """Events and bands in the worlds of a way; several of one variable are what they have in common."""
        found: dict[Sum, Event] = {}
        for event in (*events, *way.bands):
            of = Sum(tuple((weight, self._in(way, v)) for weight, v in event.of.parts))
            old = found.get(of, Event(of))
            found[of] = Event(of, max(old.low, event.low), min(old.high, event.high))
        return tuple(found.values())

    def _seen(self, way: _Way) -> dict[Variant, Value]:
        return {self._in(way, v): x for v, x in self.given.items()}

    # -- the ways ---------------------------------------------------------------------------------

    @cached_property
    def _acting(self) -> tuple[str, ...]:
        return tuple(v for v in self.model.graph.observed if v in self.margins and self.margins[v].kind == "acts")

    @cached_property
    def _changes(self) -> dict[Key, Mapping[Target, Change]]:
        return {_key(v): v.changes for v in (*self.asked, *self.given)}

    @cached_property
    def _acts_in(self) -> dict[Key, tuple[str, ...]]:
        """The acting columns of each world that are not held and matter for what is asked."""
        graph, found = self.model.graph, {}
        for key, changes in self._changes.items():
            named = {v.variable for v in (*self.asked, *self.given) if _key(v) == key}
            before = graph.ancestors(named & set(graph.observed))
            found[key] = tuple(v for v in self._acting if v not in changes and set(graph.children(v)) & before)
        return found

    @cached_property
    def _slots(self) -> tuple[Slot, ...]:
        return tuple(dict.fromkeys(self._slot(v, key) for key, names in self._acts_in.items() for v in names))

    def _slot(self, name: str, key: Key) -> Slot:
        before = self.model.graph.ancestors(name)
        changed = {target if isinstance(target, str) else target[1] for target, _ in key}
        return (name, key if changed & before else NOW)

    def _in(self, way: _Way, variant: Variant) -> Variant:
        """A variable where children of acting columns take these to be in the categories of the way."""
        key = _key(variant)
        if not way.values:
            return variant
        graph, changes = self.model.graph, dict(variant.changes)
        for name in self._acting:
            value = way.values.get(self._slot(name, key))
            if value is not None and name not in changes:
                changes |= {(name, child): value for child in graph.children(name) if (name, child) not in changes}
        return Variant(variant.variable, changes)

    @cached_property
    def _ways(self) -> list[_Way]:
        found = []
        for values in product(*(self.margins[name].values.tolist() for name, _ in self._slots)):
            bands = []
            for (name, key), value in zip(self._slots, values, strict=True):
                margin = self.margins[name]
                ends = np.concatenate([[-inf], margin.cuts, [inf]])
                k = int(np.searchsorted(margin.values, value))
                of = single(Variant(name, dict(key)))
                bands.append(Event(of, float(ends[k]), float(ends[k + 1])))
            found.append(_Way(dict(zip(self._slots, values, strict=True)), tuple(bands)))
        return found

    @property
    def _weigh(self) -> bool:
        """True if acting columns have effects on values that were seen."""
        graph = self.model.graph
        return any(v.variable in graph.descendants(name) for v in self.given for name, _ in self._slots)

    @cached_property
    def _weighted(self) -> list[tuple[_Way, float]]:
        """Each way with the density of the values that were seen, as a part of the largest."""
        if not self._weigh:
            return [(way, 1.0) for way in self._ways]
        logs = np.array([_log_density(self.model, self._seen(way)) for way in self._ways])
        return list(zip(self._ways, np.exp(logs - logs.max()).tolist(), strict=True))


def worlds_of(asked: tuple[Variant, ...], case: Case, model: CGLSCM, margins: Mapping[str, Margin]) -> Worlds:
    """The worlds of variables, and of what stands behind the bar."""
    seen = case.in_worlds
    others = tuple(v for e in seen.events for _, v in e.of.parts)
    return Worlds(model, margins, (*asked, *others), seen.given)


def _key(variant: Variant) -> Key:
    return frozenset(variant.changes.items())


def _log_density(model: CGLSCM, seen: Mapping[Variant, Value]) -> float:
    found = evaluate(Distribution(tuple(single(v) for v in seen), Case()), model)
    assert isinstance(found, Gaussian)
    values = [x for x in seen.values() if x is not None]
    if len(values) < len(seen):
        raise QueryError("where a category acts, say which values were seen, as in E[y | x=1]")
    gap: Floats = np.array(values) - found.mean
    _, size = np.linalg.slogdet(found.cov)
    return float(-0.5 * (gap @ np.linalg.solve(found.cov, gap) + size))
