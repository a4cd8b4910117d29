"""Directions that leave the covariance as it is, and effects from two sweeps, against the slow ways."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings

from halftrek.graphs import Graph
from halftrek.identification.criteria.half_trek import half_trek
from halftrek.identification.local.effects import edge_weight, path_sum
from halftrek.identification.local.functionals import valuation
from halftrek.identification.local.jacobian import block_at, probe, random_point
from halftrek.identification.local.parameters import Point, parameters_of
from halftrek.identification.numbers.fields import Reals
from halftrek.identification.numbers.modular import PRIMES, PrimeField
from halftrek.identification.study import Study
from halftrek.simulation import random_graph
from tests.identification.samples import constrained_graphs, graphs
from tests.narrow import some

QUICK = settings(deadline=None, max_examples=80, derandomize=True)


def same_space(field: PrimeField, first: np.ndarray, second: np.ndarray) -> bool:
    together = field.rank(np.hstack([first, second]))
    return together == field.rank(first) == field.rank(second) == first.shape[1] == second.shape[1]


def check_kernels(graph: Graph) -> None:
    table = parameters_of(graph)
    for number, prime in enumerate(PRIMES):
        at = probe(table, prime=prime, seed=number)
        for k, members in some(enumerate(table.blocks)):
            block = block_at(at.point, members)
            free, kernel = at.kernel(k)
            assert tuple(free) == block.free
            assert same_space(at.field, kernel, at.field.null_space(block.jacobian.T))


@QUICK
@given(graphs())
def test_directions_span_the_null_space_of_the_jacobian(graph: Graph) -> None:
    check_kernels(graph)


@QUICK
@given(constrained_graphs())
def test_directions_with_fixed_and_equal_coefficients(graph: Graph) -> None:
    check_kernels(graph)


def test_directions_in_larger_districts_with_many_bows() -> None:
    for seed in range(12):
        graph = random_graph(14, n_edges=30, n_bidirected=22, bow_free=False, random_state=seed)
        check_kernels(graph)


def test_settled_variables_settle_others_one_after_another() -> None:
    """In a chain of bows each variable is the instrument of the next bow; only the first needs one from outside."""
    names = [f"x{i}" for i in range(6)]
    pairs = list(pairwise(names))
    assert probe(parameters_of(Graph([("z", "x0"), *pairs], pairs, {}, ["z", *names]))).rank == 18
    table = parameters_of(Graph(pairs, pairs, {}, names))
    free, kernel = probe(table).kernel(0)
    moving = {table.texts[list(free)[i]] for i in np.flatnonzero(kernel.any(axis=1))}
    assert kernel.shape[1] == 1
    assert moving == {"x0 -> x1", "x0 <-> x1", "x1 <-> x1"}  # x1 <-> x2 stays: x0 has nothing to do with x2's error


@QUICK
@given(constrained_graphs())
def test_effects_by_two_sweeps_are_those_of_dual_numbers(graph: Graph) -> None:
    table = parameters_of(graph)
    field = PrimeField(PRIMES[1])
    values = np.random.default_rng(0).uniform(-1.0, 1.0, table.count)
    for point in (random_point(table, field, 3), Point(table, Reals(), values)):
        model = valuation(point, graph.observed)
        for cause in some(graph.observed):
            for effect in some(graph.observed):
                for held in ((), graph.observed[1:2], graph.observed[::2]):
                    slow = model.effects_of(cause, held).get(effect, model.zero())
                    assert np.allclose(path_sum(point, cause, effect, held), slow, rtol=1e-12, atol=1e-12)
                slow = dict(model.parents[effect]).get(cause, model.zero())
                assert (edge_weight(point, cause, effect) == slow).all()


def test_steps_of_half_treks_are_the_same_however_many_are_asked_for() -> None:
    graph = random_graph(20, n_edges=40, n_bidirected=12, bow_free=True, random_state=4)
    bench = Study(graph).bench
    for step in half_trek(bench):
        assert bench.invertible(step)
    assert {q for step in half_trek(bench) for q in step.outputs} == {f"{u} -> {v}" for u, v in graph.directed}
