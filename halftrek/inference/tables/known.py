"""Which effects over paths does a graph determine? Decided leg by leg, remembered for each graph."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from halftrek.graphs import Graph, quoted
from halftrek.graphs.as_written import Written
from halftrek.graphs.reach import reach_of
from halftrek.identification.arrows.named import Finding, from_the_arrows
from halftrek.identification.decision import decide
from halftrek.identification.local.functionals import Functionals, valuation
from halftrek.identification.numbers import duals
from halftrek.identification.study import Study
from halftrek.identification.verdict import Status
from halftrek.inference.tables.legs import Leg, PathSum, around_of, edge_bits, edge_leg, leg
from halftrek.queries import DirectEffect, Distribution, Query, TotalEffect

MOST = 1.0  # seconds for the hardest step of one question
NAMED = 30  # variables up to which an effect is called by the name of its best-known method
ABSENT = "no path"
EDGES = "edge by edge"
REGRESSION = "regression"  # as identification calls it


@dataclass(frozen=True)
class Settled:
    """Whether an effect is determined, by which method, and if not, why in a few words."""

    status: Status
    method: str = ""
    reason: str = ""

    @property
    def identified(self) -> bool:
        return self.status == "identified"


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known of one graph; answers do not change, only more of them are remembered."""

    graph: Graph

    @cached_property
    def _study(self) -> Study:
        return Study(self.graph)

    @cached_property
    def _legs(self) -> dict[Leg, Settled]:
        return {}

    @cached_property
    def _sums(self) -> dict[PathSum, Settled]:
        return {}

    @cached_property
    def _known_edges(self) -> list[int]:
        """One number, whose bits are edges that are known to be identified."""
        return [0]

    def settle(self, effect: PathSum, until: float) -> Settled:
        """Is the effect determined? Hard steps end at the time ``until`` (of ``time.monotonic``)."""
        return _remembered(self._sums, effect, lambda: self._decide(effect, until))

    def _decide(self, effect: PathSum, until: float) -> Settled:
        for form in effect.forms:
            legs = list(dict.fromkeys(one for _, product in form for one in product))
            found = []
            for one in legs:
                found.append(self.leg(one, until))
                if not found[-1].identified:
                    break
            else:
                return found[0] if len(found) == 1 else Settled("identified", _joined(found))
        if len(effect.forms[0]) == 1 and len(effect.forms[0][0][1]) == 1:
            return self.leg(effect.forms[0][0][1][0], until)
        return self._refuted(effect, until) if effect.query is None else self._ask(effect.query, effect, until)

    def leg(self, one: Leg, until: float) -> Settled:
        """Is the effect over the paths of one leg determined?"""
        return _remembered(self._legs, one, lambda: self._decide_leg(one, until))

    def _decide_leg(self, one: Leg, until: float) -> Settled:
        edges = edge_bits(self.graph, one)
        ends = (one.cause, one.effect)
        if not edges:
            return Settled("identified", ABSENT)
        if edges == reach_of(self.graph).edge(*ends):
            if self._is_regression(one.effect):
                return Settled("identified", REGRESSION)
            return self._ask(DirectEffect(*ends), None, until)
        attempts = (partial(self._named, one), partial(self._edge_by_edge, edges, until))
        for attempt in attempts if len(self.graph) <= NAMED else reversed(attempts):
            method = attempt()
            if method:
                return Settled("identified", method)
        if not one.around:
            return self._ask(TotalEffect(*ends), PathSum((((1.0, (one,)),),)), until)
        return self._difference(one, until)

    def _is_regression(self, effect: str) -> bool:
        """Whether the edges into a variable are its regression on its causes: its error covaries with no other."""
        graph = self.graph
        return not (graph.hidden or graph.known or graph.spouses(effect))

    def _named(self, one: Leg) -> str:
        """The best-known method that identifies it from the arrows alone, if one does."""
        held = dict.fromkeys((one.cause, *sorted(one.around)))
        found = from_the_arrows(self.graph, Distribution.after((one.effect,), held))
        return found.method if isinstance(found, Finding) else ""

    def _edge_by_edge(self, edges: int, until: float) -> str:
        reach = reach_of(self.graph)
        for u, v in reach.edges_of(edges & ~self._known_edges[0]):
            if not self._identified(u, v, until):
                return ""
            self._known_edges[0] |= reach.edge(u, v)
        return EDGES

    def _difference(self, one: Leg, until: float) -> Settled:
        """The total effect less what enters the others, by the first of them that a path visits."""
        parts = [leg(self.graph, one.cause, one.effect)]
        for m in one.around:
            parts += [leg(self.graph, one.cause, m, one.around), leg(self.graph, m, one.effect)]
        found = [self.leg(part, until) for part in parts]
        if all(f.identified for f in found):
            return Settled("identified", _joined(found))
        return self._refuted(PathSum((((1.0, (one,)),),)), until)

    def _ask(self, query: Query, effect: PathSum | None, until: float) -> Settled:
        """The verdict on a question; ``effect`` is what it asks for, None for an edge."""
        budget = min(MOST, max(0.0, until - time.monotonic()))
        verdict = decide(self._study, query, scope="linear", budget=budget, witness=False)
        if verdict.identified:
            return Settled("identified", verdict.method)
        if verdict.status == "finite":
            return Settled("finite", verdict.method, f"{verdict.degree or 'several'} values fit equally well")
        if verdict.status == "undecided":
            return Settled("undecided", verdict.method, "undecided within the time given")
        if effect is not None:
            return Settled("not identified", verdict.method, self._why(effect, until))
        bow = isinstance(query, DirectEffect) and query.effect in self.graph.spouses(query.cause)
        reason = f": {query} is confounded" if bow else ""
        return Settled("not identified", verdict.method, f"not identified{reason}")

    def _refuted(self, effect: PathSum, until: float) -> Settled:
        """Not identified if parameters can move with the covariance in place and the effect not; else undecided."""
        if any(self._stays(effect, number) for number in (0, 1)):
            return Settled("undecided", "", "undecided: no formula was found")
        return Settled("not identified", "jacobian", self._why(effect, until))

    def _why(self, effect: PathSum, until: float) -> str:
        """Names an edge that stands in the way, one with a confounder of its two ends first."""
        used = 0
        for _, product in effect.forms[-1]:
            for one in product:
                used |= edge_bits(self.graph, one)
        unknown = [(u, v) for u, v in reach_of(self.graph).edges_of(used) if not self._identified(u, v, until)]
        bows = [(u, v) for u, v in unknown if v in self.graph.spouses(u)]
        if bows:
            return f"not identified: {quoted(bows[0][0])} -> {quoted(bows[0][1])} is confounded"
        return (
            f"not identified, nor is {quoted(unknown[0][0])} -> {quoted(unknown[0][1])}"
            if unknown
            else "not identified"
        )

    def _identified(self, u: str, v: str, until: float) -> bool:
        return self.leg(edge_leg(u, v), until).identified

    def _stays(self, effect: PathSum, number: int) -> bool:
        at = self._study.probe(number)
        ends = {v for _, product in effect.forms[0] for one in product for v in (one.cause, one.effect)}
        model = valuation(at.point, self._study.reduced.ancestors(ends))
        total = model.zero()
        for sign, product in effect.forms[0]:
            value = duals.constant(model.field, sign, model.width)
            for one in product:
                reach = model.effects_of(one.cause, around_of(self.graph, one)).get(one.effect, model.zero())
                value = duals.multiply(model.field, value, reach)
            total = model.field.reduce(total + value)
        return at.locally_identified(Functionals(("",), np.asarray(total)[None]))[0]


def knowledge(graph: Graph) -> Knowledge:
    """What is known of a graph."""
    return remembered_knowledge(Written(graph))


@lru_cache(maxsize=64)
def remembered_knowledge(written: Written) -> Knowledge:
    """What is known of a graph as it is written, made once."""
    return Knowledge(written.graph)


def _remembered(memory, key, find) -> Settled:  # type: ignore[no-untyped-def]
    """Undecided ones are tried again: there may be more time now."""
    found: Settled | None = memory.get(key)
    if found is None or found.status == "undecided":
        found = memory[key] = find()
    return found


def _joined(found: Iterable[Settled]) -> str:
    names = list(dict.fromkeys(f.method for f in found if f.method != ABSENT)) or [ABSENT]
    return " and ".join(names) if len(names) < 3 else "several"
