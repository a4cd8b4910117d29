"""The maximum that a fit ends at is the highest there is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from benchmarks.maxima import tried
from halftrek.data import Moments
from halftrek.estimation import fit, fit_batch
from halftrek.estimation.district.district import Settings
from halftrek.estimation.given.options import Options
from halftrek.estimation.plan import make_plan
from halftrek.estimation.solve import solve_plan
from halftrek.estimation.status import DistrictReport, overall, reports_of, troubles
from halftrek.graphs import Graph
from halftrek.inference.profiles.profile import higher_start
from halftrek.models import CGLSCM
from halftrek.queries import DirectEffect
from halftrek.results.fit import Fit
from halftrek.simulation import random_graph, random_model
from tests.estimation.strategies import dense_loglik
from tests.narrow import se_of, some


def model_of(
    text: str, weights: dict[str, float], C: list[list[float]], noise: list[float], arcs: dict[str, float]
) -> CGLSCM:
    graph = ht.graph(text)
    names = tuple(sorted(graph.observed))
    T, W = np.zeros((len(names), len(names))), np.diag(noise)
    for edge, weight in weights.items():
        T[names.index(edge[:2]), names.index(edge[2:])] = weight
    for arc, value in arcs.items():
        i, j = names.index(arc[:2]), names.index(arc[2:])
        W[i, j] = W[j, i] = value
    return CGLSCM(
        names, T, np.array(C).reshape(len(C), len(names)), np.zeros(len(names)), W, tuple(graph.latents), graph
    )


HIDDEN = model_of(
    "v0 -> v3; v1 -> v2; v1 -> v3; v3 -> v4; v4 -> v5; latent U0, U1; U0 -> {v0, v1, v2, v3, v4}; "
    "U1 -> {v1, v2, v3, v4, v5}; v1 <-> v3; v2 <-> v3; v2 <-> v5; v3 <-> v5",
    {"v0v3": 0.8, "v1v2": 0.35, "v1v3": -0.43, "v3v4": 0.26, "v4v5": 1.08},
    [[-0.08, 0.59, -0.29, -0.32, 0.95, 0], [0, 1, -0.96, -0.16, 0.04, -0.88]],
    [1.53, 1.5, 1, 1.08, 1.33, 0.88],
    {"v1v3": -0.35, "v2v3": -0.38, "v2v5": 0.18, "v3v5": 0.26},
)
BOWS = model_of(
    "v0 -> v2; v1 -> {v2, v3, v5}; v2 -> {v3, v4, v5}; v3 -> v4 -> v5; v0 <-> {v1, v4}; v1 <-> v5; v2 <-> {v3, v4}",
    {"v0v2": 1.02, "v1v2": 1.55, "v1v3": -1.98, "v1v5": 1.03, "v2v3": 2.31, "v2v4": -1.89, "v2v5": -0.27,
     "v3v4": -1.08, "v4v5": 0.22},
    [],
    [1.343] * 6,
    {"v0v1": 0.5, "v0v4": 0.38, "v1v5": 0.99, "v2v3": -0.946, "v2v4": 0.819},
)  # fmt: skip


def exact(model: CGLSCM, n: float) -> Moments:
    return Moments(model.names, n, model.mean, model.cov)


def samples(model: CGLSCM, n: int, count: int) -> list[Moments]:
    rng = np.random.default_rng(0)
    rows = (rng.multivariate_normal(model.mean, model.cov, size=n) for _ in range(count))
    return [Moments(model.names, n, X.mean(axis=0), np.cov(X.T, ddof=0)) for X in rows]


def from_the_truth(model: CGLSCM, data: Moments) -> float:
    """The log-likelihood of the maximum next to the true parameters."""
    start = {(u, v): float(model.T[model.names.index(u), model.names.index(v)]) for u, v in model.graph.directed}
    return fit(model.graph, data, start=start, starts=1).loglik


@pytest.mark.parametrize(("model", "effect", "value"), [(HIDDEN, ("v4", "v5"), 1.08), (BOWS, ("v1", "v5"), -0.4132688)])
@pytest.mark.parametrize("n", [1_000, 100_000])
def test_peaks_beside_the_true_one_do_not_hold_a_fit(
    model: CGLSCM, effect: tuple[str, str], value: float, n: int
) -> None:
    found = ht.fit(model.graph, exact(model, n))
    assert found.measures()["chi2"] < 1e-9 * n
    answer = found.effect(*effect)
    assert answer.value == pytest.approx(value, abs=0.01 * se_of(answer))
    assert not troubles(found.status, found.districts)


def test_samples_of_a_graph_with_bows_reach_the_maximum_and_do_not_reject_it() -> None:
    chi2 = []
    for data in samples(BOWS, 1_000, 20):
        found = ht.fit(BOWS.graph, data)
        assert found.loglik > from_the_truth(BOWS, data) - 1e-6
        chi2.append(found.measures()["chi2"])
    assert np.mean(np.array(chi2) > 3.84) <= 0.15  # of samples of a true graph with one degree of freedom


def test_samples_of_a_graph_with_hidden_causes_reach_the_covariance_that_it_does_not_restrict() -> None:
    for data in some(samples(HIDDEN, 1_000, 8)):
        assert ht.fit(HIDDEN.graph, data).measures()["chi2"] < 1e-6


def test_many_data_sets_at_once_end_where_each_ends_alone() -> None:
    sets = samples(BOWS, 1_000, 12)
    batch = fit_batch(BOWS.graph, sets)
    alone = [fit(BOWS.graph, data).loglik for data in sets]
    np.testing.assert_allclose(batch.loglik, alone, atol=1e-6)
    assert batch.converged.all()


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_models_are_found_again_from_their_covariance(first: int) -> None:
    """A piece of benchmarks/maxima.py, with small graphs: chi-square zero, and every identified effect the model's."""
    trials = [tried(seed, most=5) for seed in range(first, first + 50)]
    assert not [t for t in trials if t.silent]
    assert sum(t.failed for t in trials) <= 1
    assert sum(t.effects for t in trials) > 100


# -- what no model can exceed ------------------------------------------------------------------------


def sequential_floor(graph: Graph, data: Moments) -> float:
    """Every variable on everything before it in causal order, by least squares one after the other."""
    value = 0.0
    before: list[int] = []
    for v in graph.topological_order:
        i = data.names.index(v)
        left = data.cov[i, i]
        if before:
            cross = data.cov[before, i]
            left -= cross @ np.linalg.solve(data.cov[np.ix_(before, before)], cross)
        value += 1.0 + np.log(left)
        before.append(i)
    return -0.5 * data.n * (len(data.names) * np.log(2 * np.pi) + value)


@pytest.mark.parametrize("seed", range(12))
def test_no_fit_exceeds_the_floor_and_deviances_add_up(seed: int) -> None:
    """Districts' deviances are parts of the whole model's; the rest does not depend on what is fitted there."""
    graph = random_graph(
        7, edge_probability=0.5, n_bidirected=4, n_latents=seed % 2, latent_children=3, random_state=seed
    )
    model = random_model(graph, random_state=seed)
    data = samples(model, 300, 1)[0]
    found = fit(graph, data)
    whole = 2.0 * (sequential_floor(graph, data) - found.loglik)
    parts = sum(d.deviance or 0.0 for d in found.districts)
    assert all(d.deviance is not None and d.deviance >= 0.0 for d in found.districts)
    assert parts <= whole + 1e-6
    for _ in range(20):  # nor does any other model
        rng = np.random.default_rng(seed)
        T = np.where(model.T, model.T + 0.2 * rng.standard_normal(model.T.shape), 0.0)
        other = replace(model, T=T)
        assert dense_loglik(other, data.n, data.mean, data.cov) < sequential_floor(graph, data) + 1e-6


def test_a_graph_that_restricts_nothing_is_at_its_floor_and_certain() -> None:
    found = fit(ht.graph("z -> x -> y; x <-> y"), samples(random_model(ht.graph("z -> x -> y; x <-> y")), 200, 1)[0])
    assert found.districts[0].certain
    assert found.districts[0].df == 0
    assert Fit.of(found).measures()["chi2"] == pytest.approx(0.0, abs=1e-8)


def test_a_short_fall_that_nothing_explains_is_said() -> None:
    report = DistrictReport(("x", "y"), "converged", 5, 8, 8, deviance=21.7, df=0)
    assert report.unexplained
    assert [n.code for n in report.warnings] == ["maximum missed"]
    assert "10.8" in str(overall([report]))
    assert not replace(report, deviance=0.0).warnings
    assert not replace(report, df=5).unexplained
    assert not replace(report, deviance=None).doubtful


# -- valleys ----------------------------------------------------------------------------------------


def magic_irri() -> tuple[Graph, Moments]:
    path = Path(__file__).parents[1] / "reference" / "cases" / "magic_irri_hidden.json"
    case = json.loads(path.read_text())
    given = case["graph"]
    latents = {latent["name"]: latent["children"] for latent in given["latents"]}
    graph = Graph(given["directed"], (), latents, given["observed"])
    p = len(graph.observed)
    lower = np.zeros((p, p))
    for i, row in enumerate(case["covariance"]):
        lower[i, : i + 1] = row
    return graph, Moments(graph.observed, case["n"], np.zeros(p), lower + np.tril(lower, -1).T)


def test_a_noise_variance_at_the_end_of_a_long_valley_is_reached() -> None:
    """Four hidden genes of MAGIC-IRRI: where the noise of one child runs into zero the likelihood is almost flat."""
    graph, data = magic_irri()
    found = fit(graph, data)
    assert found.status.code == "boundary"
    assert found.loglik >= -46695.0347253  # after 200 steps of scoring it was 7e-5 lower, and not at a maximum
    em = fit(graph, data, finish=False, max_iter=400, starts=2)
    assert found.loglik >= em.loglik
    assert sorted(d.code for d in found.districts) == ["boundary", "boundary"]


# -- a likelihood seen above the maximum ---------------------------------------------------------------


def stuck(model: CGLSCM, n: float) -> tuple[Fit, Fit]:
    """A fit, and the same as if it had ended at the peak next to the regressions."""
    found = ht.fit(model.graph, exact(model, n))
    data, plan = found.moments, make_plan(model.graph, found.moments.names, Options())
    end = solve_plan(plan, data.cov[None], data.mean[None], Settings(starts=1, again=False))
    low = CGLSCM(data.names, end.T[0], end.C[0], end.mu[0], end.W[0], plan.latents, model.graph)
    loglik = dense_loglik(low, n, data.mean, data.cov)
    return found, replace(found, model=low, loglik=loglik, districts=reports_of(data.names, end))


def test_a_profile_that_finds_higher_ground_goes_on_from_there() -> None:
    """With few rows the peak beside the true one is low enough for a profile to get over the saddle between them."""
    found, low = stuck(BOWS, 150)
    assert low.loglik < found.loglik - 1.0
    curve = low.profile("v4 -> v5", points=5)
    assert curve.estimate == pytest.approx(0.22, abs=1e-4)
    assert np.nanmin(curve.deviance) >= 0.0
    assert [n.code for n in curve.notes] == ["short of the maximum"]
    start = higher_start(low, DirectEffect("v4", "v5"), 1)
    assert fit(BOWS.graph, exact(BOWS, 150), start=start, starts=1).loglik == pytest.approx(found.loglik, abs=1e-6)
    assert higher_start(found, DirectEffect("v4", "v5"), 1) is None


def test_an_answer_whose_profile_finds_higher_ground_is_from_there() -> None:
    graph = ht.graph("z -> x -> y; x <-> y")
    found = ht.fit(graph, samples(random_model(graph, random_state=1), 300, 1)[0])
    T = found.model.T.copy()
    T[1, 2] += 0.3
    A = np.eye(3) - T
    W = np.where(found.model.W, A.T @ found.moments.cov @ A, 0.0)
    moved = CGLSCM(graph.observed, T, np.zeros((0, 3)), found.model.mu, W, (), graph)
    low = replace(found, model=moved, loglik=dense_loglik(moved, 300, found.moments.mean, found.moments.cov))
    answer = low.query("x -> y", interval="profile")
    assert [n.code for n in answer.notes] == ["higher maximum"]
    assert answer.notes[0].facts["higher"] == pytest.approx(found.loglik - low.loglik, abs=1e-6)
    assert answer.value == pytest.approx(found.effect("x", "y").value, abs=1e-6)
    assert answer.interval == pytest.approx(found.query("x -> y", interval="profile").interval, abs=1e-4)
