"""Direct, indirect and mediated effects against published numbers, enumerated paths and simulation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest

import halftrek as ht
from halftrek.data import Moments
from tests.estimation.test_reference import load, moments_of
from tests.graphs.random_graphs import random_model
from tests.inference.tables.test_effects import fit_of, paths_of, product
from tests.narrow import se_of, some, there, value_of


@pytest.fixture(scope="module")
def published() -> ht.Fit:
    """Tal-Or et al. 2010 as analysed by Hayes (2013): does an article's place change reactions by its influence?"""
    case = load("s17_mediation_simple")
    return ht.fit(case["graph"], moments_of(case))


def test_equals_lavaan_and_the_book(published: ht.Fit) -> None:
    found = published.mediation("cond", "reaction")
    assert (found.indirect.est, found.indirect.se) == pytest.approx((0.241335450464865, 0.126897487563824), rel=1e-6)
    assert (found.total.est, found.total.se) == pytest.approx((0.495689653574672, 0.275279660745246), rel=1e-6)
    assert (found.direct.est, found.direct.se) == pytest.approx((0.254354203109807, 0.252683537292077), rel=1e-6)
    assert (found.indirect.ci_low, found.indirect.ci_high) == pytest.approx((-0.0073790549, 0.4900499558), rel=1e-5)
    assert (found.indirect.p, found.total.p) == pytest.approx((0.0571954423, 0.0717538622), rel=1e-5)
    assert [round(row.est, 4) for row in (found.total, found.direct, found.indirect)] == [0.4957, 0.2544, 0.2413]
    assert found.mediators == ("pmi",)
    assert found.specific == found.through == ()


def test_proportion_by_hand(published: ht.Fit) -> None:
    """Ratio, delta method and Fieller's set from the estimates and their covariance, all written out."""
    found = published.mediation("cond", "reaction", level=0.8)
    a, b, c = 0.476525172888625, 0.5064484820433, 0.254354203109807
    va, vb, vc = 0.233767264820229**2, 0.0958574755958262**2, 0.252683537292077**2
    covbc = (0.275279660745246**2 - b * b * va - a * a * vb - vc) / (2 * a)  # Var(c + ab) gives Cov(b, c)
    part, whole = a * b, c + a * b
    V = np.array([[b * b * va + a * a * vb, 0.0], [0.0, 0.275279660745246**2]])
    V[0, 1] = V[1, 0] = V[0, 0] + a * covbc
    ratio = part / whole
    slope = np.array([1.0, -ratio]) / whole
    share = there(found.proportion)
    assert share.value == pytest.approx(ratio, rel=1e-6)
    assert share.se == pytest.approx(np.sqrt(slope @ V @ slope), rel=1e-5)
    z = 1.2815515655446004
    assert share.interval == pytest.approx((ratio - z * share.se, ratio + z * share.se))
    for end in share.fieller:
        weights = np.array([1.0, -end])
        assert abs(part - end * whole) / np.sqrt(weights @ V @ weights) == pytest.approx(z, rel=1e-5)
    assert share.fieller[0] < ratio < share.fieller[1]
    assert not found.warnings


def test_a_total_that_may_be_zero_warns(published: ht.Fit) -> None:
    found = published.mediation("cond", "reaction")
    assert there(found.proportion).fieller == (-np.inf, np.inf)
    assert "contains zero" in found.warnings[0]
    text = str(found)
    assert "no finite" in " ".join(text.split())
    assert "contains zero" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_opposite_signs_warn() -> None:
    model = ht.CGLSCM.from_parameters(names=["x", "m", "y"], T=[[0, 1.0, 2.0], [0, 0, -1.0], [0.0, 0.0, 0.0]])
    found = fit_of(model, n=2000).mediation("x", "y")
    assert there(found.proportion).value == pytest.approx(-1.0)
    assert "opposite signs" in found.warnings[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mediators", [None, ["a"], ["b", "a"], ["c"], ["a", "c"]])
def test_many_mediators_equal_sums_over_paths(seed: int, mediators: list[str] | None) -> None:
    graph = ht.graph("x -> a -> b -> y; x -> b; a -> c -> y; x -> y; c -> b; x -> c; a <-> y; z -> a")
    model = random_model(graph, seed)
    found = fit_of(model).mediation("x", "y", mediators)
    chosen = set(mediators or "abc")
    every = paths_of(graph, "x", "y")
    met = [p for p in every if set(p) & chosen]
    expected = {
        "total": sum(product(model, p) for p in every),
        "direct": sum(product(model, p) for p in every if p not in met),
        "indirect": sum(product(model, p) for p in met),
    }
    for kind, value in expected.items():
        assert getattr(found, kind).est == pytest.approx(value, abs=1e-6)
    assert there(found.proportion).value == pytest.approx(expected["indirect"] / expected["total"], abs=1e-5)
    visits = {tuple(v for v in p if v in chosen) for p in met}
    if len(visits) > 1:
        assert len(found.specific) == len(visits)
        assert sum(row.est for row in found.specific) == pytest.approx(expected["indirect"], abs=1e-6)
    if any(len(v) > 1 for v in visits):
        assert [row.route for row in found.through] == [f"x ~> {m} ~> y" for m in found.mediators]
        for m, row in zip(found.mediators, found.through, strict=True):
            assert row.est == pytest.approx(sum(product(model, p) for p in every if m in p), abs=1e-6)
    assert max(map(len, str(found).splitlines())) <= 80


def test_errors_of_specific_effects_cover_products() -> None:
    """Two parallel mediators: the delta error of each product and of their sum, written out."""
    graph = ht.graph("x -> a -> y; x -> b -> y; x -> y")
    fit = ht.fit(graph, np.asarray(random_model(graph, 0).sample(300, random_state=1)), names=graph.observed)
    found = fit.mediation("x", "y")
    edge = {e: fit.query(f"{e[0]} -> {e[1]}") for e in graph.directed}
    for row in some(found.specific):
        (first, second) = (edge[e] for e in pairwise(row.route.split(" -> ")))
        expected = np.hypot(value_of(first) * se_of(second), value_of(second) * se_of(first))
        assert row.se == pytest.approx(expected, rel=1e-6)


def test_confounded_but_identified() -> None:
    """The mediator and the outcome are confounded; an instrument of the mediator saves the day."""
    graph = ht.graph("z -> m; x -> m -> y; x -> y; m <-> y")
    model = random_model(graph, 1)
    found = fit_of(model, n=1000).mediation("x", "y")
    assert found.indirect.est == pytest.approx(product(model, ("x", "m", "y")), abs=1e-6)
    assert found.direct.est == pytest.approx(product(model, ("x", "y")), abs=1e-6)
    assert found.proportion is not None


def test_confounded_and_not_identified() -> None:
    graph = ht.graph("x -> m -> y; x -> y; m <-> y")
    found = fit_of(random_model(graph, 1)).mediation("x", "y")
    assert found.total.se > 0.0
    assert np.isnan([found.direct.est, found.indirect.est]).all()
    assert "m -> y is confounded" in found.indirect.note
    assert found.proportion is None
    assert "not known" in str(found)
    frame = found.frame()
    assert list(frame["kind"]) == ["total", "direct", "indirect", "proportion"]
    assert "confounded" in frame["note"].iloc[-1]


def test_no_direct_arrow() -> None:
    graph = ht.graph("x -> m -> y; x <-> y")
    found = fit_of(random_model(graph, 1), n=3000).mediation("x", "y")
    assert (found.direct.est, found.direct.se) == (0.0, 0.0)
    assert found.direct.note == "the graph has no such path"
    assert there(found.proportion).value == 1.0
    assert there(found.proportion).se == pytest.approx(0.0, abs=1e-12)
    assert found.indirect.se == pytest.approx(found.total.se)


def test_too_many_routes() -> None:
    names = ["x", *(f"m{i}" for i in range(7)), "y"]
    graph = ht.Graph([(u, v) for i, u in enumerate(names) for v in names[i + 1 :]])
    fit = fit_of(random_model(graph, 0))
    found = fit.mediation("x", "y")
    assert found.specific == ()
    assert len(found.through) == 7
    assert "more than 40 routes" in found.warnings[-1]


@pytest.mark.parametrize(
    ("ends", "mediators", "words"),
    [
        (("x", "y"), ["q"], "no such variable"),
        (("x", "y"), ["z"], "lies on no directed path"),
        (("x", "m"), None, "no mediator between"),
        (("x", "y"), [], "no mediator between"),
        (("y", "x"), None, "no directed path"),
    ],
)
def test_what_cannot_be_asked(ends: tuple[str, str], mediators: list[str] | None, words: str) -> None:
    fit = fit_of(random_model(ht.graph("x -> m -> y; z -> x"), 1))
    with pytest.raises(ht.QueryError, match=words):
        fit.mediation(*ends, mediators)


def test_intervals_of_the_proportion_cover() -> None:
    """Strong effects, n = 300: both intervals of the proportion hold the truth about 95 times in 100."""
    graph = ht.graph("x -> m -> y; x -> y")
    model = ht.CGLSCM.from_parameters(
        names=["x", "m", "y"], T=[[0, 0.8, 0.5], [0, 0, 0.7], [0.0, 0.0, 0.0]], graph=graph
    )
    truth = 0.56 / 1.06
    rng = np.random.default_rng(5)
    reps, hits = 250, np.zeros(2)
    for _ in range(reps):
        X = np.asarray(model.sample(300, random_state=rng))
        share = there(
            ht.fit(graph, Moments(model.names, 300, X.mean(axis=0), np.cov(X.T, ddof=0))).mediation("x", "y").proportion
        )
        hits += [low < truth < high for low, high in (share.interval, share.fieller)]
    assert np.abs(hits / reps - 0.95).max() < 3.5 * np.sqrt(0.95 * 0.05 / reps)


@pytest.mark.parametrize("interval", ["bootstrap", "parametric"])
def test_bootstrap_equals_the_models_fitted_again(interval: Literal["bootstrap", "parametric"]) -> None:
    from halftrek.inference.draws.bootstrap import replicates_of

    graph = ht.graph("x -> m -> y; x -> y; m -> w; w -> y")
    model = random_model(graph, 0)
    fit = ht.fit(graph, model.sample(150, random_state=1))
    options: dict[str, Any] = {"interval": interval, "replicates": 60, "random_state": 3, "level": 0.8}
    found = fit.mediation("x", "y", ["m"], **options)
    every = paths_of(graph, "x", "y")
    batch = replicates_of(fit, interval, 60, 3).batch
    draws = np.array([[sum(product(m, p) for p in every if keep in p) for keep in ("x", "m")] for m in batch])
    for row, column in ((found.total, draws[:, 0]), (found.indirect, draws[:, 1])):
        assert row.se == pytest.approx(column.std(ddof=1))
        assert (row.ci_low, row.ci_high) == pytest.approx(tuple(np.quantile(column, [0.1, 0.9])))
    ratios = draws[:, 1] / draws[:, 0]
    assert there(found.proportion).se == pytest.approx(ratios.std(ddof=1))
    assert there(found.proportion).interval == pytest.approx(tuple(np.quantile(ratios, [0.1, 0.9])))
    shares = fit.decompose("x", "y", most=1, **options)
    rest = draws[:, 0] - np.array([product(m, shares.rows[0].path.split(" -> ")) for m in batch])
    assert (shares.rows[1].ci_low, shares.rows[1].ci_high) == pytest.approx(tuple(np.quantile(rest, [0.1, 0.9])))
    row = fit.effects("total", **options)
    assert row["se"][[*row["effect"]].index("y")] == pytest.approx(found.total.se)
    with pytest.raises(ht.InputError, match="bca"):
        fit.mediation("x", "y", ends="bca", **options)
