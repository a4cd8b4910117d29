"""Recipes by determinants: trek separation, and latent factors with many children."""

import numpy as np
import pytest

from halftrek.graphs import Graph
from halftrek.identification import identify, solve
from halftrek.identification.criteria.bench import Bench
from halftrek.identification.criteria.closure import Closure, parent_cuts
from halftrek.identification.criteria.determinants import determinant_steps
from halftrek.identification.criteria.half_trek import half_trek
from halftrek.identification.study import Study
from halftrek.queries.types import DirectEffect
from tests.identification.samples import random_model
from tests.identification.test_identify import truth
from tests.narrow import some, there

# The first is Figure 3(c) of Foygel, Draisma and Drton (2012), identified and out of reach of half-treks.
GRAPHS = {
    "fdd 3c": Graph([("0", "1"), ("0", "2"), ("0", "3"), ("3", "4")], [("0", i) for i in "1234"]),
    "one factor, chain": Graph([("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")], latents={"U": list("12345")}),
    "one factor, two causes": Graph([("2", "4"), ("3", "4")], latents={"U": list("1234")}),
    "two factors": Graph([("1", "2"), ("4", "6")], latents={"U": list("1234"), "H": list("4567")}),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_coefficient_comes_back(name: str) -> None:
    graph = GRAPHS[name]
    for seed in (1, 2):
        model = random_model(graph, np.random.default_rng(seed))
        for u, v in some(graph.directed):
            verdict = identify(graph, DirectEffect(u, v))
            assert verdict.identified
            assert solve(there(verdict.recipe), model.cov) == pytest.approx(truth(model, verdict.query), rel=1e-6)


def test_half_treks_and_the_closure_do_not_reach_them() -> None:
    bench = Study(GRAPHS["fdd 3c"]).bench
    assert isinstance(bench, Bench)
    assert half_trek(bench) == ()
    closure = Closure(bench)
    closure.grow(parent_cuts(closure))
    assert closure.known == {}
    assert determinant_steps(closure)
    assert closure.known["0 -> 1"] == bench.T[bench.place["0"], bench.place["1"]]


def test_the_method_is_named() -> None:
    verdict = identify(GRAPHS["fdd 3c"], DirectEffect("0", "1"))
    assert verdict.method == "trek separation"
    assert "(trek separation)" in verdict.explain()
