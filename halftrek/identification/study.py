"""What all queries on one graph share: its parameters, random points and Jacobians."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from halftrek.graphs.as_written import Written
from halftrek.identification.criteria.bench import Bench
from halftrek.identification.hidden.measured import Measured, measured, structural
from halftrek.identification.local.functionals import Functionals, functionals
from halftrek.identification.local.jacobian import Probe, probe, random_point, touched_blocks
from halftrek.identification.local.parameters import Parameters, parameters_of, without_redundant_latents
from halftrek.identification.numbers.modular import PRIMES, PrimeField
from halftrek.identification.recipes.recipe import Recipe, run, variables_used
from halftrek.queries.evaluate import variables_of

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.clock import Progress
    from halftrek.queries.types import Query


@dataclass(frozen=True, eq=False)
class Study:
    """A graph prepared for many queries."""

    graph: Graph
    progress: Progress | None = None  # who watches the time pass in long computations

    @cached_property
    def reduced(self) -> Graph:
        """The graph without hidden causes that say nothing more than a bidirected edge."""
        return without_redundant_latents(self.graph)

    @cached_property
    def table(self) -> Parameters:
        """Free parameters of the reduced graph."""
        return parameters_of(self.reduced)

    @cached_property
    def _probes(self) -> dict[int, Probe]:
        return {}

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """Results that queries on this graph share (see ``elimination``); they change no answer."""
        return {}

    @cached_property
    def projected(self) -> Graph:
        """The graph of the observed variables alone."""
        return self.graph.project()

    @cached_property
    def measured(self) -> dict[str, Measured]:
        """Hidden variables that count as observed."""
        return measured(self.graph)

    @cached_property
    def with_factors(self) -> Graph:
        """The graph in which they do."""
        return structural(self.graph, self.measured)

    def beside(self, graph: Graph) -> Study:
        """Another graph that questions about this one are put to."""
        key = ("beside", Written(graph))
        if key not in self.memory:
            self.memory[key] = Study(graph, self.progress)
        found: Study = self.memory[key]
        return found

    def probe(self, number: int) -> Probe:
        """The graph at the first or second random point, each modulo its own prime."""
        if number not in self._probes:
            self._probes[number] = probe(self.table, prime=PRIMES[number], seed=number + 1)
        return self._probes[number]

    @cached_property
    def _asked(self) -> dict[int, tuple[Query, Functionals]]:
        return {}

    def functionals(self, query: Query, number: int) -> Functionals:
        """The functionals of a query at the first or second point; those of the last query are remembered."""
        before = self._asked.get(number)
        if before is None or before[0] is not query:
            before = (query, functionals(query, self.probe(number).point))
            self._asked[number] = before
        return before[1]

    def locally_identified(self, query: Query) -> bool:
        """The Jacobian test; False only when two points modulo two primes agree."""
        return any(all(self.local(query, number)[1]) for number in (0, 1))

    def local(self, query: Query, number: int) -> tuple[Functionals, list[bool]]:
        """The functionals of a query at a point, and for each whether the Jacobian allows it to be identified."""
        found = self.functionals(query, number)
        return found, self.probe(number).locally_identified(found)

    def region(self, query: Query) -> tuple[str, ...]:
        """Variables that can say something about the query, as an ancestral set.

        Ancestors of the query alone are not enough: in ``z <-> x -> y, x <-> y`` the instrument z is no ancestor.
        Districts whose parameters the answer depends on, with all their ancestors, are.
        """
        blocks = touched_blocks(self.table, self.functionals(query, 0))
        touched = {v for number in blocks for v in self.table.blocks[number]}
        keep = self.reduced.ancestors(touched | set(variables_of(query)))
        return tuple(v for v in self.reduced.observed if v in keep)

    def part(self, variables: tuple[str, ...]) -> Study:
        """The same for an ancestral part of the graph."""
        if len(variables) == len(self.graph):
            return self
        key = ("part", variables)
        if key not in self.memory:
            self.memory[key] = Study(self.reduced.induced(variables), self.progress)
        found: Study = self.memory[key]
        return found

    @cached_property
    def bench(self) -> Bench:
        """All matrices at the first point."""
        at = self.probe(0)
        return Bench(at.point, at.field)

    def confirms(self, recipe: Recipe, query: Query) -> bool:
        """Carry out a recipe at two fresh random points modulo two primes and compare with the truth there."""
        used = variables_used(recipe)
        for bench in self._fresh:
            at = [bench.place[v] for v in used]
            got = run(recipe, bench.field, bench.sigma[np.ix_(at, at)], used)
            truth = functionals(query, bench.point)
            if got is None or [int(v) for v in got.values()] != [int(v) for v in truth.values]:
                return False
        return True

    @cached_property
    def _fresh(self) -> tuple[Bench, ...]:
        """The graph at two points where no recipe is searched."""
        fields = tuple(map(PrimeField, PRIMES))
        return tuple(Bench(random_point(self.table, f, 101 + number), f) for number, f in enumerate(fields))
