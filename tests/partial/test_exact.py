"""Questions and claims in exact arithmetic are what the models on the fibre answer and obey."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.partial.assumptions import State, conditions_of, read_assumptions, relaxed
from halftrek.partial.exact.compiled import CompiledClaims, CompiledForm
from halftrek.partial.exact.conditions import claims_of
from halftrek.partial.exact.questions import form_of
from halftrek.partial.exact.tower import Tower, exact_covariance, exact_matrix
from halftrek.partial.fibre import Fibre, fibre_of
from halftrek.queries.evaluate import values_of
from tests.partial.graphs import random_setting

GRAPH = ht.graph("z -> x -> m -> y; z -> y; x -> y; x <-> m; x <-> y; z <-> y")
MEAN = np.array([0.3, -0.2, 0.5, 1.0])
ASKED = [
    "x -> y", "x ~> y", "x -> m -> y", "z ~> x ~> y", "x <-> y", "std(x ~> y)", "(x ~> y) / (x -> m) + 1",
    "E[y | do(x=1)]", "E[y | do(x=1), z=0.5]", "P(y | do(x=2))", "Var[y | do(x=1)]", "SD[y | do(x=1)]",
    "Cov[m, y | do(x=1)]", "Corr[m, y | do(x=1)]", "Q(0.9, y | do(x=1))", "P(y > 1 | do(x=1))", "P(y < 1 | do(x=1))",
    "E[y_{x=1} - y_{x=0} | x=0, y=2]", "E[y_{x=1, m_{x=0}}]", "E[y | do(x += 1)]", "Var[y | do(x *= 2)]",
    "Var[y | do(x ~ N(0, 2))]", "E[y_{x -> y = 1} | z=1]", "P(y_{x=1} > 0.5 | x=0)",
]  # fmt: skip


def ground(sigma: Floats) -> tuple[Fibre, Tower]:
    fibre = fibre_of(GRAPH, sigma, MEAN, ("z", "x", "m", "y"))
    return fibre, Tower(fibre.plan, exact_matrix(sigma), MEAN.tolist())


def covariance() -> Floats:
    root = np.random.default_rng(8).standard_normal((4, 4)) * 0.4 + np.eye(4)
    return np.asarray(root @ root.T)


@pytest.mark.parametrize("text", ASKED)
def test_a_question_is_what_the_models_answer(text: str) -> None:
    fibre, tower = ground(covariance())
    query = ht.parse_question(text)
    form = form_of(query, tower)
    assert form is not None
    u = np.random.default_rng(1).uniform(-1.0, 1.0, (6, fibre.dimension))
    compiled = CompiledForm.of(form, range(fibre.dimension))
    inner, slopes = compiled.both(u)
    wanted = values_of(query, fibre.at(u * tower.units))[0][:, 0]
    np.testing.assert_allclose([form.outward(float(x)) for x in inner], wanted, rtol=1e-8, atol=1e-10)
    for k in range(fibre.dimension):
        step = np.eye(fibre.dimension)[k] * 1e-6
        numeric = (compiled.both(u + step)[0] - compiled.both(u - step)[0]) / 2e-6
        np.testing.assert_allclose(slopes[:, k], numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", ["P(0 < y < 1 | do(x=1))", "P(y > 1, m > 0 | do(x=1))", "E[y_{x=1} | y > 1]"])
def test_some_questions_have_no_form_in_polynomials(text: str) -> None:
    assert form_of(ht.parse_question(text), ground(covariance())[1]) is None


@pytest.mark.parametrize(
    "text",
    [
        "abs(z -> y) <= 0.3", "corr(x <-> y) in [-0.1, 0.05]", "corr(x <-> y) in [0.02, 0.6]", "corr(z <-> y) <= -0.1",
        "x <-> y >= 0", "corr(z, error(y)) <= 0.2", "corr(z, error(y)) <= corr(x, error(y))", "share(y) <= 0.9",
        "|corr(z <-> y)| <= 2 * |corr(x <-> y)|", "confounding(x, y) <= (0.01, 0.04)", "confounding(x, y) <= 1 * z",
        "norm(z -> y, x -> y) <= 0.5", "|z -> y| + |x -> y| <= 0.6", "reliability(y) >= -0.5", "corr(x <-> y) == 0",
    ],
)  # fmt: skip
def test_signs_of_polynomials_say_what_the_smooth_functions_say(text: str) -> None:
    fibre, tower = ground(covariance())
    assumed = read_assumptions(text, GRAPH)
    claims = claims_of(assumed, GRAPH, tower)
    assert claims is not None
    u = np.random.default_rng(2).uniform(-5.0, 5.0, (400, fibre.dimension)) ** 3 / 10.0
    models = fibre.at(u * tower.units)
    held = conditions_of(assumed, GRAPH, fibre.plan.names)
    values = held.values(State(models.T, models.omega, models.sigma))
    smooth = np.where(held.equal, np.abs(values), values) <= 0.0
    by_signs = CompiledClaims([c.formula for c in claims], range(fibre.dimension)).holds(u)
    assert (by_signs == smooth.all(axis=1)).all()
    assert "==" in text or 0 < by_signs.sum() < 400


@pytest.mark.parametrize("seed", range(25))
def test_the_same_of_random_graphs(seed: int) -> None:
    setting = random_setting(seed, largest=4)
    names = setting.wide.observed
    fibre = fibre_of(setting.wide, setting.sigma)
    if fibre.plan.implied:  # the graph restricts covariances, and rounding leaves it
        model = ht.fit(setting.wide, cov=setting.sigma, names=names, n=1000).model
        sigma = exact_covariance(model)
        fibre = fibre_of(setting.wide, model.cov)
    else:
        sigma = exact_matrix(setting.sigma)
    tower = Tower(fibre.plan, sigma, [0.0] * len(names))
    query = ht.parse_question(setting.question)
    form = form_of(query, tower)
    assert form is not None
    u = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, fibre.dimension))
    inner = CompiledForm.of(form, range(fibre.dimension)).both(u)[0]
    wanted = values_of(query, fibre.at(u * tower.units))[0][:, 0]
    np.testing.assert_allclose([form.outward(float(x)) for x in inner], wanted, rtol=1e-5, atol=1e-6)


def test_an_exact_covariance_obeys_the_graph_exactly() -> None:
    graph = ht.graph("a -> b -> c -> d; b <-> d")
    T = np.zeros((4, 4))
    T[0, 1], T[1, 2], T[2, 3] = 0.3, 0.7, -0.4
    model = ht.CGLSCM.from_parameters(names=graph.observed, T=T, omega={("b", "d"): 0.2}, graph=graph)
    sigma = exact_covariance(model)
    np.testing.assert_allclose([[float(x.p) / float(x.q) for x in row] for row in sigma], model.cov)
    assert sigma[0][2] * sigma[1][1] == sigma[0][1] * sigma[1][2]  # a and c are independent given b


def test_relaxing_changes_nothing_where_the_edge_is_there() -> None:
    assumed = read_assumptions("x -> y <= 1", GRAPH)
    assert relaxed(GRAPH, assumed) is GRAPH
