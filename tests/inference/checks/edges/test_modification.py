"""Modification indices: against lavaan, against refitted models, against the information of the larger model."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.bottom.arrays import Flags
from halftrek.bottom.choices import Intercepts
from halftrek.data import Moments
from halftrek.estimation import Fitted, fit
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.inference.checks.edges import modification
from halftrek.inference.checks.edges.modification import absent_edges, modifications, with_edge
from halftrek.inference.checks.edges.scores import Edges
from halftrek.inference.checks.edges.undetermined import undetermined_edges
from halftrek.inference.tables.parameters import undetermined_parameters
from halftrek.simulation import random_graph, random_model
from tests.estimation.test_reference import load, moments_of
from tests.narrow import some

# lavaan 0.6-14, modindices(): mi, epc, sepc.all; PoliticalDemocracy (n = 75), fixed.x = FALSE, meanstructure.
BOW_FREE = {
    "y6 -> y1": (8.4623961, 0.2892696, 0.373135),
    "y5 -> y6": (8.2118144, 0.6221127, 0.482263),
    "y1 -> y6": (8.2118037, 0.3841305, 0.297793),
    "y2 <-> y6": (8.2118019, -4.0758817, -0.466636),
    "y1 <-> y6": (8.2117949, 1.4818105, 0.269868),
    "y5 -> y2": (3.4460789, 0.4298555, 0.285607),
    "y6 -> y5": (3.1954375, 0.1807222, 0.233129),
    "y2 -> y5": (3.1954361, 0.1029013, 0.154872),
    "y2 <-> y5": (3.1954350, 1.0044747, 0.168344),
    "y1 <-> y5": (3.1954293, -1.0918503, -0.291088),
}
CHAIN = {
    "y1 -> y5": (29.1706454, 0.6645333, 0.652837),
    "y2 <-> y5": (29.1706134, -7.1412934, -1.048871),
    "y1 <-> y5": (23.5567103, 3.4384597, 0.653263),
    "y5 <-> y6": (22.4772547, -6.5725266, -1.049125),
    "y2 -> y6": (22.4772294, 0.4979937, 0.601877),
    "y5 <-> x1": (22.1717652, 0.8776010, 0.553323),
    "x1 -> y5": (22.1717551, 1.6558916, 0.465706),
    "y2 <-> y6": (19.7244488, 4.6257926, 0.514752),
    "y1 <-> y2": (12.5059753, -5.6452646, -0.747698),
    "y6 <-> x1": (2.6062104, 0.3919731, 0.187243),
    "x1 -> y6": (2.6062017, 0.7395890, 0.167421),
    "y1 -> y6": (2.6061580, 0.6784284, 0.536452),
    "y2 <-> x1": (0.0359089, -0.0523990, -0.023031),
    "x1 -> y2": (0.0359060, -0.0988647, -0.018517),
}
# The same for HolzingerSwineford1939 (n = 301): f =~ x1 + ... + x5 (std.lv), x6 ~ x4 + x1.
FACTOR = {
    "x4 <-> x5": (89.7331553, 4.7319386, 13.243229),
    "x1 <-> x6": (55.0428764, -4.4504738, -5.456646),
    "x5 <-> x6": (51.7483277, 0.2803015, 0.462031),
    "x1 <-> x3": (51.5250443, 0.4966810, 0.421930),
    "x2 <-> x3": (30.2276123, 0.4076839, 0.318664),
    "x1 <-> x2": (18.6709462, 0.3111407, 0.254041),
    "x3 <-> x5": (6.2423791, -0.1525839, -0.174260),
    "x2 <-> x4": (5.2156076, -0.1471168, -0.281798),
    "x1 <-> x5": (4.6261292, -0.2199201, -0.262356),
    "x1 -> x4": (2.1238415, -0.1424638, -0.142870),
    "x4 -> x1": (2.1240685, -0.7841247, -0.781898),
    "x1 <-> x4": (2.1239193, -0.1605506, -0.334227),
    "x3 <-> x4": (2.0706258, -0.0888248, -0.177021),
    "x2 <-> x6": (1.4994704, 0.0627033, 0.070739),
    "x3 <-> x6": (0.7506577, 0.0426377, 0.050047),
    "x2 <-> x5": (0.1751151, -0.0266567, -0.029260),
}
HOLZINGER = Moments(
    tuple(f"x{k}" for k in range(1, 7)),
    301,
    np.array([4.93576965638, 6.08803986711, 2.25041528239, 3.06090808684, 4.34053156146, 2.18557190176]),
    np.array(
        [
            [1.358369845513, 0.407371330153, 0.579899322344, 0.504834996175, 0.440615537379, 0.454808130646],
            [0.407371330153, 1.381783865520, 0.451063936932, 0.208923370336, 0.211091075154, 0.247544571332],
            [0.579899322344, 0.451063936932, 1.274864860763, 0.208169612912, 0.112296290880, 0.244108981523],
            [0.504834996175, 0.208923370336, 0.208169612912, 1.350664507858, 1.097752781573, 0.895515709399],
            [0.440615537379, 0.211091075154, 0.112296290880, 1.097752781573, 1.659785763954, 1.014524042116],
            [0.454808130646, 0.247544571332, 0.244108981523, 0.895515709399, 1.014524042116, 1.196358378026],
        ]
    ),
)
CHAIN_GRAPH = Graph([("x1", "y1"), ("y1", "y2"), ("y2", "y5"), ("y5", "y6")], [("y1", "y6")])
FACTOR_GRAPH = Graph([("x4", "x6"), ("x1", "x6")], latents={"f": ("x1", "x2", "x3", "x4", "x5")})


def political(graph: Graph | None = None) -> Fitted:
    case = load("s03_admg_bowfree")
    return fit(case["graph"] if graph is None else graph, moments_of(case))


def by_edge(found: Fitted) -> dict[str, tuple[float, float, float]]:
    rows = {row.edge: (row.mi, row.epc, row.std) for row in modifications(found)}
    return rows | {" <-> ".join(reversed(e.split(" <-> "))): r for e, r in rows.items() if "<->" in e}


@pytest.mark.parametrize(
    ("found", "expected", "complete"),
    [
        (political(), BOW_FREE, True),
        (political(CHAIN_GRAPH), CHAIN, True),
        (fit(FACTOR_GRAPH, HOLZINGER), FACTOR, False),
    ],
    ids=["bow-free", "chain", "factor"],
)
def test_equals_lavaan(found: Fitted, expected: dict[str, Any], complete: bool) -> None:
    """lavaan's cyclic ones are left out here; of a factor's children lavaan does not list every arrow."""
    ours = by_edge(found)
    for edge, numbers in some(expected.items()):
        assert ours[edge] == pytest.approx(numbers, rel=1e-3, abs=1e-4), edge
    if complete:
        assert {frozenset(e.split()) for e in ours} == {frozenset(e.split()) for e in expected}


def test_largest_first_and_nothing_that_is_there_already() -> None:
    rows = modifications(political())
    assert all(a.mi >= b.mi * (1 - 1e-6) for a, b in pairwise(rows))  # ties are equal but for rounding
    assert {r.edge for r in rows}.isdisjoint({"x1 -> y1", "y1 <-> y2", "y5 -> y1", "y6 -> y2"})


def dense(found: Fitted, larger: Graph, edge: tuple[str, str, str]) -> tuple[float, float, float]:
    """The oracle: derivatives of the larger model's covariance, whole information matrix, no splitting."""
    names = found.model.names
    space = make_space(larger, names, found.options)
    T0, omega, mu = found.model.T, found.model.omega, found.model.mu
    theta = np.zeros(space.size)
    for at, source in ((space.T_at, T0), (space.W_at, omega)):
        theta[at[:, 2]] = source[at[:, 0], at[:, 1]]
    theta[space.mu_at[:, 2]] = mu[space.mu_at[:, 0]]
    dmean, dcov = space.jacobian(theta)
    S, gap = found.moments.cov, found.moments.mean - found.model.mean
    K = np.linalg.inv(found.model.cov)
    score = 0.5 * np.einsum("aij,ij->a", dcov, K @ (S + np.outer(gap, gap) - found.model.cov) @ K) + dmean @ K @ gap
    info = 0.5 * np.einsum("aij,jk,bkl,li->ab", dcov, K, dcov, K) + dmean @ K @ dmean.T
    u, kind, v = edge
    i, j = names.index(u), names.index(v)
    at = space.T_at if kind == "->" else space.W_at
    new = next(int(a) for x, y, a in at if (x, y) in ((i, j),) + (((j, i),) if kind == "<->" else ()))
    rest = [a for a in range(space.size) if a != new]
    scale = np.sqrt(np.diag(info))
    info = info / np.outer(scale, scale)
    inverse = np.linalg.pinv(info[np.ix_(rest, rest)], rcond=1e-9, hermitian=True)
    share = float(1.0 - info[new, rest] @ inverse @ info[rest, new])
    left = max(share, 1e-300) * scale[new] ** 2
    return share, found.n * float(score[new]) ** 2 / left, float(score[new]) / left


@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), held=st.booleans())
def test_equals_the_information_of_the_larger_model(seed: int, held: bool) -> None:
    graph = random_graph(5, n_edges=5, n_bidirected=2, random_state=seed)
    model = random_model(graph, random_state=seed)
    rows = np.asarray(model.sample(200, random_state=seed))
    intercepts: Intercepts = {graph.observed[-1]: 0.1} if held else "free"
    found = fit(graph, Moments(model.names, 200, rows.mean(axis=0), np.cov(rows.T, ddof=0)), intercepts=intercepts)
    assume(found.converged)
    ours = {row.edge: (row.mi, row.epc) for row in modifications(found)}
    looked: list[bool] = []
    for i, u in enumerate(graph.observed):
        for v in graph.observed:
            if v != u and (u, v) not in graph.directed and v not in graph.ancestors(u):
                larger = Graph([*graph.directed, (u, v)], graph.bidirected, observed=graph.observed)
                looked.append(check(found, larger, (u, "->", v), ours))
        for v in graph.observed[i + 1 :]:
            if v not in graph.siblings(u):
                larger = Graph(graph.directed, [*graph.bidirected, (u, v)], observed=graph.observed)
                looked.append(check(found, larger, (u, "<->", v), ours))
    assert any(looked)


def check(found: Fitted, larger: Graph, edge: tuple[str, str, str], ours: dict[str, tuple[float, float]]) -> bool:
    """Compares where the information of the larger model says which is right, and tells whether it does."""
    share, *expected = dense(found, larger, edge)
    name = " ".join(edge)
    if share > 1e-5:
        mi, epc = ours[name]
        assert mi == pytest.approx(expected[0], rel=1e-4, abs=1e-6)
        if np.isnan(epc):  # determined here, but not at a random point of the larger model
            u, kind, v = edge
            sides = {(v, "~", u)} if kind == "->" else {(u, "~~", v), (v, "~~", u)}
            assert sides & undetermined_parameters(larger, found.options)
        else:
            assert epc == pytest.approx(expected[1], rel=1e-4, abs=1e-6)
    elif share < 1e-9:  # in between the information is so small that either is right
        assert name not in ours
    return share > 1e-5 or share < 1e-9


def test_index_is_the_fall_of_chi_square_near_the_null() -> None:
    truth = Graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], [("b", "d")])
    graph = Graph([("a", "b"), ("b", "c"), ("c", "d")], [("b", "d")])
    model = random_model(truth, random_state=3)
    weak = np.array(model.T)
    weak[0, 3] = 0.02
    from halftrek.models import CGLSCM

    near = CGLSCM(model.names, weak, model.C, model.mu, model.W, graph=truth)
    rows = np.asarray(near.sample(4000, random_state=5))
    moments = Moments(model.names, 4000, rows.mean(axis=0), np.cov(rows.T, ddof=0))
    small = fit(graph, moments)
    row = next(r for r in modifications(small) if r.edge == "a -> d")
    large = fit(truth, moments)
    assert row.mi == pytest.approx(2.0 * (large.loglik - small.loglik), rel=0.03)
    assert row.epc == pytest.approx(float(large.model.T[0, 3]), rel=0.05)


def test_an_unidentified_corner_does_not_spoil_the_rest() -> None:
    """A bow that data cannot resolve: edges elsewhere keep their index, edges that add nothing are left out."""
    graph = Graph([("a", "b"), ("x", "y")], [("a", "b")])
    model = random_model(graph, random_state=1)
    rows = np.asarray(model.sample(500, random_state=2))
    found = fit(graph, Moments(model.names, 500, rows.mean(axis=0), np.cov(rows.T, ddof=0)))
    edges = {r.edge: r for r in modifications(found)}
    assert "x <-> y" not in edges
    alone = fit(Graph([("x", "y")], observed=["a", "x", "y"]), found.moments.select(["a", "x", "y"]))
    assert edges["a -> x"].mi == pytest.approx(next(r.mi for r in modifications(alone) if r.edge == "a -> x"))


def test_every_missing_edge_of_thirty_variables() -> None:
    graph = random_graph(30, n_edges=60, n_bidirected=15, random_state=4)
    model = random_model(graph, random_state=4)
    found = fit(graph, Moments(model.names, 1000, model.mean, model.cov))
    rows = modifications(found)
    assert len(rows) > 500


def test_the_change_of_an_edge_that_data_would_not_tell_is_not_given() -> None:
    graph = ht.graph("latent U; observed a, b, c, d; b -> d; b -> a; d -> a; U -> {b, c, d}")
    rows = random_model(graph, random_state=3).sample(2000, random_state=1)
    (row,) = [r for r in modifications(fit(graph, ht.moments(rows))) if r.edge == "a <-> b"]
    assert row.mi > 0.0
    assert np.isnan(row.epc)
    assert np.isnan(row.std)


def _every_absent_edge_by_its_own_random_model(found: Fitted) -> dict[str, bool]:
    """The slow way: all districts of a random model of the larger graph, for each edge."""
    verdicts = {}
    for edge in Edges.of(*absent_edges(found)).named(found.model.names):
        unknown = undetermined_parameters(with_edge(found.graph, edge), found.options)
        op = "~" if edge.kind == "->" else "~~"
        verdicts[str(edge)] = bool({(edge.second, op, edge.first), (edge.first, op, edge.second)} & unknown)
    return verdicts


@pytest.mark.parametrize("seed", range(12))
def test_edges_without_a_determined_weight_equal_those_of_a_random_model_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hidden = {"n_latents": 1, "latent_children": int(rng.integers(2, 5))} if seed % 2 else {}
    graph = random_graph(7, n_edges=8, n_bidirected=4, random_state=seed, **hidden)  # type: ignore[arg-type]
    if seed % 3 == 0:  # edges of one label join their districts
        graph = graph.with_(coefficients={f"{u} -> {v}": "a" for u, v in graph.directed[:2]})
    held: Intercepts = ("zero", "free", {"x1": 2.0, "x3": 0.5}, "free")[seed % 4]
    model = random_model(graph, random_state=seed)
    reordered = tuple(sorted(graph.observed, reverse=True))
    moments = Moments(model.names, 400, model.mean, model.cov).select(reordered)
    found = fit(graph, moments, intercepts=held)
    pairs = [set(kids) for kids in graph.latents.values() if len(kids) == 2]  # an arc beside one would say it twice
    every = Edges.of(*absent_edges(found))
    twice = [edge.kind == "<->" and {edge.first, edge.second} in pairs for edge in every.named(found.model.names)]
    edges = every.take(~np.array(twice))
    expected = _every_absent_edge_by_its_own_random_model(found)
    told = dict(zip(map(str, edges.named(found.model.names)), undetermined_edges(found, edges), strict=True))
    assert told == {edge: expected[edge] for edge in told}
    assert any(told.values())


def test_only_edges_into_a_flat_district_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = [(f"c{k}", f"c{k + 1}") for k in range(20)]
    graph = Graph([("a", "b"), *chain], [("a", "b")])
    model = random_model(graph, random_state=1)
    found = fit(graph, Moments(model.names, 500, model.mean, model.cov))
    looked: list[int] = []

    def count(of: Fitted, edges: Edges) -> Flags:
        looked.append(len(edges))
        return undetermined_edges(of, edges)

    monkeypatch.setattr(modification, "undetermined_edges", count)
    rows = modifications(found)
    assert len(rows) > 300
    assert 0 < sum(looked) < 4 * len(graph)  # of 400: two ends, an arrow in and an arc each
