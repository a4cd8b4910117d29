"""Full-information maximum likelihood against the density of each row, lavaan, and what theory says of holes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.data import Patterns, read_patterns
from halftrek.data.missing.likelihood import loglik, slices
from halftrek.errors import DataError, InputError
from halftrek.estimation import Fitted, fit
from halftrek.estimation.district.district import Settings
from halftrek.estimation.given.options import Options
from halftrek.estimation.missing import fiml
from halftrek.estimation.missing.fiml import fit_incomplete
from halftrek.estimation.missing.incomplete import _by_entries, _by_moments, _directions, evaluate, information
from halftrek.estimation.plan import make_plan
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from tests.data.missing.test_patterns import by_rows
from tests.estimation.strategies import models
from tests.narrow import wrong

CASES = Path(__file__).parents[2] / "reference" / "cases"
SETTINGS = settings(max_examples=15, deadline=None, derandomize=True)
FRONT_DOOR = Graph([("x", "m"), ("m", "y")], [("x", "y")])


def rows_of(model: ht.CGLSCM, n: int, seed: int, share: float = 0.25) -> np.ndarray:
    rng = np.random.default_rng(seed)
    table = rng.multivariate_normal(model.mean, model.cov, size=n, method="cholesky")
    table[rng.random(table.shape) < share] = np.nan
    return table


def patterns_of(table: np.ndarray, graph: Graph) -> Patterns:
    found = read_patterns(table, graph.observed)
    assert isinstance(found, Patterns)
    return found


def gradient_left(found: Fitted) -> float:
    """Largest derivative per row, in units of each parameter's information."""
    space = make_space(found.graph, found.model.names, found.options)
    assert found.patterns is not None
    point = evaluate(space, found.patterns, space.vector(found.model))
    assert point is not None
    scale = np.sqrt(np.abs(np.diag(information(space, found.patterns, point))))
    return float(np.abs(point.gradient / scale).max() / np.sqrt(found.n))


TIED = Graph(
    directed=[("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")],
    bidirected=[("a", "d")],
    latents={"U": ["b", "c", "d"]},
    coefficients={"a -> b": "k", "b -> c": "k", "c -> d": 0.5},
)


def test_derivatives_are_differences() -> None:
    """Through labels, fixed values, loadings and a fixed intercept at once, away from the maximum."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 1.0
    table[rng.random(table.shape) < 0.3] = np.nan
    patterns = patterns_of(table, TIED)
    space = make_space(TIED, TIED.observed, Options(intercepts=(("c", 0.3),)))
    theta = np.full(space.size, 0.3) + 0.1 * rng.normal(size=space.size)
    theta[space.W_at[space.W_at[:, 0] == space.W_at[:, 1], 2]] += 2.0
    point = evaluate(space, patterns, theta)
    assert point is not None
    assert point.value == pytest.approx(by_rows(table, *space.moments(theta)), rel=1e-12)
    h, steps = 1e-5, np.eye(space.size) * 1e-5
    slopes = [
        (by_rows(table, *space.moments(theta + s)) - by_rows(table, *space.moments(theta - s))) / (2 * h) for s in steps
    ]
    np.testing.assert_allclose(point.gradient, slopes, rtol=1e-6, atol=1e-6)
    bends = []
    for s in steps:
        ahead, behind = evaluate(space, patterns, theta + s), evaluate(space, patterns, theta - s)
        assert ahead is not None
        assert behind is not None
        bends.append((behind.gradient - ahead.gradient) / (2 * h))
    np.testing.assert_allclose(information(space, patterns, point), bends, rtol=1e-5, atol=1e-4)


def test_few_and_many_variables_give_the_same_information() -> None:
    """A chain of ten has fewer entries than pairs of covariances, so that it takes the other way; both are exact."""
    rng = np.random.default_rng(13)
    graph = ht.graph(" -> ".join(f"v{i}" for i in range(10)))
    table = rng.normal(size=(100, 10)).cumsum(axis=1)
    table[rng.random(table.shape) < 0.3] = np.nan
    patterns, space = patterns_of(table, graph), make_space(graph, graph.observed, Options())
    theta = np.full(space.size, 0.7)
    point = evaluate(space, patterns, theta)
    assert point is not None
    bends = []
    for s in np.eye(space.size) * 1e-5:
        ahead, behind = evaluate(space, patterns, theta + s), evaluate(space, patterns, theta - s)
        assert ahead is not None
        assert behind is not None
        bends.append((behind.gradient - ahead.gradient) / 2e-5)
    np.testing.assert_allclose(information(space, patterns, point), bends, rtol=1e-5, atol=1e-3)
    along = _directions(space, theta)[0]
    for part in slices(patterns, *space.moments(theta)):
        for H, pull in ((part.K @ part.spread @ part.K, part.gap), (part.K, None)):
            few, many = _by_moments(along, part, H, pull), _by_entries(along, part, H, pull)
            np.testing.assert_allclose(few, many, rtol=1e-8, atol=1e-10)


def test_expected_information_is_that_of_each_pattern() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4))
    table[rng.random(table.shape) < 0.3] = np.nan
    patterns = patterns_of(table, TIED)
    space = make_space(TIED, TIED.observed, Options())
    theta = np.full(space.size, 0.3)
    theta[space.W_at[space.W_at[:, 0] == space.W_at[:, 1], 2]] += 2.0
    point = evaluate(space, patterns, theta)
    assert point is not None
    dmean, dcov = space.jacobian(theta)
    cov, total = space.moments(theta)[1], np.zeros((space.size, space.size))
    for k, n in enumerate(patterns.n):
        seen = np.flatnonzero(patterns.observed[k])
        K = np.linalg.inv(cov[np.ix_(seen, seen)])
        D, m = dcov[:, seen[:, None], seen], dmean[:, seen]
        total += n * (0.5 * np.einsum("aij,jk,bkl,li->ab", D, K, D, K) + m @ K @ m.T)
    np.testing.assert_allclose(information(space, patterns, point, "expected"), total, rtol=1e-9, atol=1e-9)


@given(model=models(), seed=st.integers(0, 1000))
@SETTINGS
def test_no_neighbour_has_a_higher_likelihood(model: ht.CGLSCM, seed: int) -> None:
    """The fit is at a maximum of the density of the rows: no random step from it rises."""
    table = rows_of(model, 150, seed)
    assume(np.isnan(table).any())
    found = fit(model.graph, patterns_of(table, model.graph))
    assert found.loglik == pytest.approx(by_rows(table, found.model.mean, found.model.cov), rel=1e-10)
    if found.status.code in ("converged", "flat"):
        assert gradient_left(found) < 1e-8
        space = make_space(found.graph, found.model.names, found.options)
        theta, rng = space.vector(found.model), np.random.default_rng(seed)
        for _ in range(10):
            near = theta + 0.01 * rng.normal(size=space.size)
            assert by_rows(table, *space.moments(near)) <= found.loglik + 1e-9


@given(model=models(bows=True, most=4), seed=st.integers(0, 1000))
@settings(max_examples=6, deadline=None, derandomize=True)
def test_the_likelihood_never_falls_on_the_way(model: ht.CGLSCM, seed: int) -> None:
    table = rows_of(model, 80, seed, share=0.4)
    assume(np.isnan(table).any() and (np.isfinite(table).sum(axis=0) > 10).all())
    graph, options = model.graph, Options()
    plan, patterns = make_plan(graph, graph.observed, options), read_patterns(table, graph.observed)
    assert isinstance(patterns, Patterns)
    for finish in (True, False):
        found = fit_incomplete(graph, plan, patterns, options, Settings(finish=finish, max_iter=30))
        assert (np.diff(found.path) > -1e-9 * abs(found.loglik)).all()
        assert found.loglik == pytest.approx(loglik(patterns, found.model.mean, found.model.cov), rel=1e-12)


def test_without_hessians_the_maximum_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large problems take quasi-Newton steps instead."""
    rng = np.random.default_rng(14)
    table = rng.normal(size=(300, 4)) @ np.triu(rng.normal(size=(4, 4)) + np.eye(4))
    table[rng.random(table.shape) < 0.3] = np.nan
    graph = ht.graph("a -> b -> c -> d; b <-> d")
    patterns = patterns_of(table, graph)
    exact = fit(graph, patterns)
    monkeypatch.setattr(fiml, "HEAVY", 0.0)
    other = fit(graph, patterns)
    assert other.converged
    assert other.loglik == pytest.approx(exact.loglik, abs=1e-8)
    np.testing.assert_allclose(other.model.T, exact.model.T, atol=1e-5)
    assert gradient_left(other) < 1e-6


def test_em_alone_arrives_at_the_same_maximum() -> None:
    table = rows_of(fit(FRONT_DOOR, ht.moments(_front_door(400, 1))).model, 400, 2)
    patterns = patterns_of(table, FRONT_DOOR)
    fast, slow = fit(FRONT_DOOR, patterns), fit(FRONT_DOOR, patterns, finish=False, max_iter=2000)
    assert slow.loglik == pytest.approx(fast.loglik, abs=1e-6)
    np.testing.assert_allclose(slow.model.T, fast.model.T, atol=1e-4)


def _front_door(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    x = u + rng.normal(size=n)
    m = 1.0 + 0.8 * x + rng.normal(size=n)
    return {"x": x, "m": m, "y": 2.0 + 0.5 * m + u + rng.normal(size=n)}


def test_complete_data_take_the_usual_way() -> None:
    data = _front_door(300, 3)
    usual, default = fit(FRONT_DOOR, ht.moments(data)), ht.fit(FRONT_DOOR, data)
    assert default.patterns is None
    np.testing.assert_array_equal(default.model.T, usual.model.T)
    assert default.loglik == usual.loglik


@pytest.mark.parametrize(
    "options", [{}, {"intercepts": "zero"}, {"noise": {"m": 1.0}}, {"coefficients": {"x -> m": 0.8}}]
)
def test_one_hole_in_many_rows_moves_little(options: dict) -> None:
    """All options work with holes, and near complete data the fit is near that of complete data."""
    data = _front_door(2000, 4)
    usual = ht.fit(FRONT_DOOR, data, **options)
    data["m"][5] = np.nan
    found = ht.fit(FRONT_DOOR, data, **options)
    assert found.patterns is not None
    assert found.converged
    np.testing.assert_allclose(found.model.T, usual.model.T, atol=5e-3)
    np.testing.assert_allclose(found.model.omega, usual.model.omega, atol=5e-2)
    if "intercepts" in options:
        assert (found.model.mu == 0.0).all()
    if "noise" in options:
        assert found.model.psi[1] == 1.0
    if "coefficients" in options:
        assert found.model.T[0, 1] == 0.8
    assert gradient_left(found) < 1e-8


def test_equal_coefficients_latents_and_fixed_intercepts() -> None:
    rng = np.random.default_rng(5)
    factor = rng.normal(size=1500)
    a = rng.normal(size=1500)
    b = 0.4 * a + 0.8 * factor + rng.normal(size=1500)
    c = 0.3 + 0.4 * b + 0.2 * a + 0.6 * factor + rng.normal(size=1500)
    d = 0.5 * c + 0.7 * factor + rng.normal(size=1500) + 0.3 * a
    table = np.stack([a, b, c, d], axis=1)
    table[rng.random(table.shape) < 0.2] = np.nan
    found = fit(TIED, patterns_of(table, TIED), intercepts={"c": 0.3})
    assert found.converged, found.status
    assert found.model.T[0, 1] == pytest.approx(found.model.T[1, 2], rel=1e-12)
    assert found.model.T[2, 3] == 0.5
    assert found.model.mu[2] == 0.3
    assert gradient_left(found) < 1e-8


def test_lavaan_airquality() -> None:
    case = json.loads((CASES / "s21_fiml_airquality.json").read_text())
    found = ht.fit(ht.graph(case["syntax"]), CASES / "s21_fiml_airquality.csv")
    assert found.loglik == pytest.approx(case["main"]["fit"]["logl"], abs=1e-6)
    place = {v: i for i, v in enumerate(found.model.names)}
    for row in case["main"]["parameters"]:
        i, j = place[row["lhs"]], place.get(row["rhs"], 0)
        value = {"~": found.model.T[j, i], "~~": found.model.omega[i, j], "~1": found.model.mu[i]}[row["op"]]
        assert value == pytest.approx(row["est"], rel=1e-5), row


def test_holes_at_random_lose_rows_but_not_the_effect() -> None:
    """Missing completely at random: the estimate is near the truth, with less error than from complete rows alone."""
    errors: dict[Literal["fiml", "drop"], list[float]] = {"fiml": [], "drop": []}
    for seed in range(40):
        data = _front_door(400, 100 + seed)
        rng = np.random.default_rng(seed)
        for column in data.values():
            column[rng.random(400) < 0.25] = np.nan
        for missing, found in errors.items():
            found.append(ht.fit(FRONT_DOOR, data, missing=missing).model.T[1, 2] - 0.5)
    spread = {k: float(np.sqrt(np.mean(np.square(v)))) for k, v in errors.items()}
    assert abs(np.mean(errors["fiml"])) < 3 * spread["fiml"] / np.sqrt(40)
    assert spread["fiml"] < 0.9 * spread["drop"]


def test_holes_that_depend_on_what_is_seen_do_no_harm_but_dropping_does() -> None:
    """Missing at random: y is lost where x is large; dropping such rows shifts its mean, full information does not."""
    data = _front_door(4000, 7)
    truth = 2.0 + 0.5 * 1.0
    data["y"][data["x"] > 0.0] = np.nan
    kept, dropped = ht.fit(FRONT_DOOR, data), ht.fit(FRONT_DOOR, data, missing="drop")
    mean = dict(zip(kept.model.names, kept.model.mean, strict=True))
    shifted = dict(zip(dropped.model.names, dropped.model.mean, strict=True))
    assert mean["y"] == pytest.approx(truth, abs=0.15)
    assert shifted["y"] < truth - 0.5


def test_many_patterns_are_quick() -> None:
    rng = np.random.default_rng(8)
    graph = ht.graph("a->b->c->d->e->f->g->h; a->d; b<->e; c<->f; a->h")
    table = rng.normal(size=(1000, 8)) @ np.triu(rng.normal(size=(8, 8)))
    table[rng.random(table.shape) < 0.4] = np.nan
    begin = time.process_time()  # a busy machine must not matter
    found = ht.fit(graph, table, names=list("abcdefgh"))
    assert time.process_time() - begin < 1.5  # about 0.2 s
    assert found.patterns is not None
    assert len(found.patterns) > 200
    assert found.converged
    assert gradient_left(found) < 1e-8


def test_pairs_never_seen_together_are_named_and_what_follows_from_the_model_is_known() -> None:
    """In a chain x and y need not be seen together; with an edge between them they must."""
    data = _front_door(600, 9)
    data["x"][:300], data["y"][300:] = np.nan, np.nan
    chain = ht.fit("x -> m -> y", data)
    assert chain.converged
    assert chain.status.code == "converged"
    assert "No row has both x and y" in chain.status.message
    confounded = ht.fit(FRONT_DOOR, data)
    assert confounded.status.code == "flat"
    assert "cannot be determined" in confounded.status.message


def test_a_hidden_cause_at_its_boundary() -> None:
    """A noise variance that wants to be negative ends at zero, and the status says so."""
    rng = np.random.default_rng(10)
    cov = np.array([[1.0, 0.7, 0.7], [0.7, 1.0, 0.3], [0.7, 0.3, 1.0]])
    table = rng.multivariate_normal(np.zeros(3), cov, size=300)
    table[rng.random(table.shape) < 0.2] = np.nan
    graph = ht.graph("latent U; U -> {a, b, c}")
    found = fit(graph, patterns_of(table, graph))
    assert found.status.code == "boundary", found.status
    assert found.model.psi[0] < 1e-6
    best = found.loglik
    for a in np.linspace(0.8, 1.1, 7):  # no other loading of a, with all else the same, is better
        C = found.model.C.copy()
        C[0, 0] *= a
        cov = C.T @ C + np.diag(found.model.psi)
        assert by_rows(table, found.model.mean, cov) <= best + 1e-6


def test_infeasible_covariances_of_hidden_pairs() -> None:
    """Three pairwise hidden causes cannot give three correlations of 0.9: EM ends at their boundary."""
    rng = np.random.default_rng(11)
    cov = np.full((3, 3), 0.85) + 0.15 * np.eye(3)
    table = rng.multivariate_normal(np.zeros(3), cov, size=200)
    table[rng.random(table.shape) < 0.1] = np.nan
    graph = ht.graph("latent U, V, W; U -> {a, b}; V -> {b, c}; W -> {a, c}")
    found = fit(graph, patterns_of(table, graph))
    assert found.status.code == "boundary", found.status
    free = fit(ht.graph("a <-> b; b <-> c; a <-> c"), patterns_of(table, graph))
    assert found.loglik < free.loglik - 1.0
    assert (found.model.psi >= 0.0).all()


def test_bad_input_is_explained() -> None:
    data = _front_door(50, 12)
    data["y"][0] = np.nan
    with pytest.raises(DataError, match="missing values, in y"):
        ht.fit(FRONT_DOOR, data, missing="error")
    with pytest.raises(DataError, match='missing must be "fiml", "drop" or "error"'):
        ht.fit(FRONT_DOOR, data, missing=wrong("impute"))
    with pytest.raises(InputError, match="needs complete rows"):
        ht.fit(FRONT_DOOR, data, method="cgl-go")
    data["copy"] = 2.0 * data["m"]
    data["copy"][3] = np.nan
    with pytest.raises(DataError, match=r"'m' and 'copy' are perfectly correlated"):
        ht.fit("x -> m -> y; m -> copy; copy -> y", data)
    data["copy"] = data["m"] + data["x"]
    with pytest.raises(DataError, match="collinear"):
        ht.fit("x -> m -> y; m -> copy; x -> copy; copy -> y", data)
    data["x"] = np.full(50, 3.0)
    with pytest.raises(DataError, match="constant"):
        ht.fit(FRONT_DOOR, data)


def test_the_floor_of_a_noise_variance_is_in_the_units_of_its_variable() -> None:
    rows = np.random.default_rng(6).normal(size=(60, 2)) * [1e3, 1e-3]
    rows[:5, 0] = np.nan
    graph = Graph([("x", "y")])
    patterns = read_patterns({"x": rows[:, 0], "y": rows[:, 1]}, graph.observed)
    assert isinstance(patterns, Patterns)
    plan = make_plan(graph, graph.observed, Options())
    space = make_space(graph, graph.observed, Options())
    floors = fiml._Search(graph, plan, patterns, space, Settings())._floors()
    known = {i: floors[a] for i, j, a in space.W_at if i == j}
    for i, column in enumerate(rows.T):
        assert known[i] == pytest.approx(fiml.FLOOR * np.nanvar(column), rel=1e-9)
    assert np.isneginf(floors[[a for a in range(space.size) if a not in {a for i, j, a in space.W_at if i == j}]]).all()
