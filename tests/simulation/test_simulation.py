"""Random graphs, models and rows are what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.bottom.choices import Noise
from halftrek.errors import GraphError, ModelError
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from halftrek.simulation import random_graph, random_model, simulate
from halftrek.simulation.rows import Errors

seeds = st.integers(0, 10_000)
quick = settings(deadline=None, max_examples=40, derandomize=True)


@quick
@given(p=st.integers(2, 9), share=st.floats(0, 1), arcs=st.floats(0, 1), latents=st.integers(0, 3), seed=seeds)
def test_graph_has_what_was_asked_for(p: int, share: float, arcs: float, latents: int, seed: int) -> None:
    pairs = p * (p - 1) // 2
    g = random_graph(
        p,
        n_edges=int(share * pairs),
        n_bidirected=int(arcs * pairs),
        n_latents=latents,
        latent_children=(2, min(p, 4)),
        random_state=seed,
    )
    assert len(g) == p
    assert len(g.directed) == int(share * pairs)
    assert len(g.bidirected) == int(arcs * pairs)
    assert len(g.latents) == latents
    assert all(2 <= len(kids) <= 4 for kids in g.latents.values())


@quick
@given(p=st.integers(2, 9), arcs=st.floats(0, 1), latents=st.integers(0, 3), seed=seeds)
def test_bow_free_means_no_bow(p: int, arcs: float, latents: int, seed: int) -> None:
    bidirected = int(arcs * p * (p - 1) / 2)
    g = random_graph(
        p, edge_probability=1.0, n_bidirected=bidirected, n_latents=latents, bow_free=True, random_state=seed
    )
    assert g.is_bow_free
    confounded = {frozenset((v, w)) for v in g.observed for w in g.spouses(v)}
    assert len(g.directed) == p * (p - 1) // 2 - len(confounded)


def test_bows_appear_when_they_may() -> None:
    assert not all(random_graph(5, n_edges=6, n_bidirected=4, random_state=s).is_bow_free for s in range(20))


def test_order_of_the_names_says_nothing_about_the_causal_order() -> None:
    backwards = 0
    for seed in range(20):
        g = random_graph(6, n_edges=10, random_state=seed)
        backwards += sum(int(u[1:]) > int(v[1:]) for u, v in g.directed)
    assert 60 < backwards < 140


def test_every_arrow_at_probability_one_and_none_at_zero() -> None:
    assert len(random_graph(6, edge_probability=1.0, random_state=0).directed) == 15
    assert random_graph(6, edge_probability=0.0, random_state=0).directed == ()


def test_about_one_arrow_per_variable_when_nothing_is_said() -> None:
    arrows = [len(random_graph(50, random_state=s).directed) for s in range(20)]
    assert 40 < np.mean(arrows) < 60


def test_same_seed_same_graph() -> None:
    one, two, other = (random_graph(8, n_edges=9, n_latents=2, random_state=s) for s in (3, 3, 4))
    assert one == two
    assert one != other


@pytest.mark.parametrize(
    "asked",
    [
        {"n_variables": 0},
        {"n_variables": 3, "n_edges": 4},
        {"n_variables": 3, "n_bidirected": 4},
        {"n_variables": 3, "n_edges": 1, "edge_probability": 0.5},
        {"n_variables": 3, "edge_probability": 1.5},
        {"n_variables": 3, "n_latents": 1, "latent_children": 4},
        {"n_variables": 3, "n_latents": -1},
        {"n_variables": 2, "n_bidirected": 1, "n_edges": 1, "bow_free": True},
    ],
)
def test_impossible_graphs_are_refused(asked: dict) -> None:
    with pytest.raises(GraphError):
        random_graph(**asked, random_state=0)


@quick
@given(p=st.integers(2, 10), seed=seeds, noise=st.sampled_from(["free", "unit"]))
def test_model_fits_its_graph_and_is_well_conditioned(p: int, seed: int, noise: Noise) -> None:
    g = random_graph(
        p, edge_probability=0.6, n_bidirected=p // 2, n_latents=2, latent_children=(1, 2), random_state=seed
    )
    m = random_model(g, noise=noise, random_state=seed)
    assert m.graph == g
    rebuilt = CGLSCM(m.names, m.T, m.C, m.mu, m.W, m.latents).graph  # edges read off the entries that are not zero
    assert rebuilt == g
    scale = 1.0 / np.sqrt(m.psi)
    assert np.linalg.eigvalsh(m.W * np.outer(scale, scale))[0] > 0.05
    assert (np.square(m.T).sum(axis=0) <= 1.0 + 1e-12).all()
    if noise == "unit":
        np.testing.assert_array_equal(m.psi, 1.0)
    few = [v for v in g.observed if len(g.parents(v)) == 1]
    for v in few:
        weight = abs(m.T[g.observed.index(g.parents(v)[0]), g.observed.index(v)])
        assert 0.3 <= weight <= 0.9


def test_signs_are_random() -> None:
    g = random_graph(30, n_edges=200, random_state=0)
    weights = random_model(g, random_state=0).T
    assert 60 < (weights > 0).sum() < 140


def test_fixed_and_equal_coefficients_are_honoured() -> None:
    g = Graph(
        directed=[("x", "y"), ("z", "y"), ("z", "w"), ("x", "w")],
        bidirected=[("x", "z"), ("y", "w")],
        latents={"U": ["x", "y"]},
        coefficients={
            "x -> y": 0.0,
            "z -> y": "a",
            "z -> w": "a",
            "U -> x": 2.0,
            "x <-> z": 7.0,
        },
    )
    for seed in range(10):
        m = random_model(g, random_state=seed)
        at = {v: i for i, v in enumerate(m.names)}
        assert m.T[at["x"], at["y"]] == 0.0
        assert m.T[at["z"], at["y"]] == m.T[at["z"], at["w"]] != 0.0
        assert m.C[0, at["x"]] == 2.0
        assert m.W[at["x"], at["z"]] == 7.0
        assert np.linalg.eigvalsh(m.W)[0] > 0.0
    with pytest.raises(ModelError, match="error covariances"):
        random_model(g, noise="unit", random_state=0)


def test_noise_by_name() -> None:
    m = random_model(Graph(directed=[("x", "y")]), noise={"y": 4.0}, random_state=0)
    assert m.psi[1] == 4.0
    assert 0.5 <= m.psi[0] <= 1.5
    with pytest.raises(ModelError, match="'yy'"):
        random_model(Graph(directed=[("x", "y")]), noise={"yy": 4.0})
    with pytest.raises(ModelError, match="'y'"):
        random_model(Graph(directed=[("x", "y")]), noise={"y": -1.0})
    with pytest.raises(ModelError, match="'free', 'unit'"):
        random_model(Graph(directed=[("x", "y")]), noise="none")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="weights"):
        random_model(Graph(directed=[("x", "y")]), weights=(0.9, 0.3))


@pytest.mark.parametrize("errors", ["normal", "t5", "skewed"])
def test_rows_have_the_moments_of_the_model(errors: Errors) -> None:
    g = Graph(directed=[("x", "m"), ("m", "y")], bidirected=[("x", "m")], latents={"U": ["x", "y"]})
    m = random_model(g, random_state=1)
    rows = simulate(m, 400_000, 2, errors=errors)
    assert rows.names == m.names
    np.testing.assert_allclose(np.asarray(rows).mean(axis=0), m.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(np.asarray(rows).T), m.cov, atol=0.04)


def test_shapes_of_the_errors() -> None:
    m = CGLSCM.from_parameters(names=["x", "y"], T=[[0, 0.5], [0.0, 0.0]], psi=[2.0, 0.5])

    def skew_and_kurtosis(errors: Errors) -> tuple[float, float]:
        x = np.asarray(simulate(m, 400_000, 3, errors=errors))[:, 0]
        z = (x - x.mean()) / x.std()
        return float((z**3).mean()), float((z**4).mean())

    skew, kurtosis = skew_and_kurtosis("normal")
    assert abs(skew) < 0.05
    assert kurtosis == pytest.approx(3.0, abs=0.1)
    skew, kurtosis = skew_and_kurtosis("t5")
    assert abs(skew) < 0.3
    assert kurtosis > 5.0
    assert skew_and_kurtosis("skewed")[0] == pytest.approx(2.0, abs=0.1)


def test_bad_requests_for_rows() -> None:
    m = CGLSCM.from_parameters(names=["x"], T=[[0.0]])
    with pytest.raises(ModelError, match="at least 1"):
        simulate(m, 0)
    with pytest.raises(ModelError, match="'t5'"):
        simulate(m, 10, errors="cauchy")  # type: ignore[arg-type]


def test_same_seed_same_rows() -> None:
    m = random_model(random_graph(4, n_edges=4, n_bidirected=2, random_state=0), random_state=0)
    for errors in ("normal", "t5", "skewed"):
        one, two = (np.asarray(simulate(m, 5, 9, errors=errors)) for _ in range(2))
        np.testing.assert_array_equal(one, two)
