"""Every effect of a fit, and total effects path by path, against sums over enumerated paths and single questions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.bottom.choices import Interval
from halftrek.data import Moments
from halftrek.graphs import Graph
from halftrek.identification import identify
from halftrek.identification.local.jacobian import jacobian_test
from halftrek.inference import estimate, standard_errors
from halftrek.inference.how import How
from halftrek.inference.standard_errors.factor import Slopes, joint_factor
from halftrek.inference.tables.decomposition import count_paths, largest_paths
from halftrek.inference.tables.effects import Effect, check_ends, effect_rows
from halftrek.inference.tables.known import knowledge
from halftrek.inference.tables.legs import (
    PathSum,
    Weights,
    avoiding,
    direct,
    edge_leg,
    edges_of,
    indirect,
    leg,
    only_through,
    through,
    total,
)
from halftrek.queries import DirectEffect, PathEffect, Query, ThroughEffect, TotalEffect, evaluate
from halftrek.queries.gradients import linearize
from tests.estimation.strategies import models
from tests.estimation.test_reference import load, moments_of
from tests.graphs.random_graphs import graphs, random_model
from tests.narrow import some, wrong

few = settings(max_examples=20, deadline=None, derandomize=True)


def paths_of(graph: Graph, u: str, v: str) -> list[tuple[str, ...]]:
    """Every directed path, the slow way."""
    if u == v:
        return [(u,)]
    return [(u, *rest) for w in graph.children(u) for rest in paths_of(graph, w, v)]


def product(model: ht.CGLSCM, path: Sequence[str]) -> float:
    at = [model.names.index(v) for v in path]
    return float(np.prod([model.T[i, j] for i, j in pairwise(at)]))


def fit_of(model: ht.CGLSCM, n: int = 400) -> ht.Fit:
    return ht.fit(model.graph, Moments(model.names, n, model.mean, model.cov))


def rows_by_name(rows: Iterable[Effect]) -> dict[tuple[str, str, str], Effect]:
    return {(r.cause, r.effect, r.kind): r for r in rows}


@given(models(most=5))
@few
def test_effects_are_sums_over_paths(model: ht.CGLSCM) -> None:
    graph, weights = model.graph, Weights(model)
    for u, v in some(permutations(model.names, 2)):
        every = paths_of(graph, u, v)
        for size in range(3):
            passed = [m for m in model.names if m not in (u, v)][:size]
            free = [p for p in every if not set(p) & set(passed)]
            assert weights.estimate(avoiding(graph, u, v, passed)) == pytest.approx(
                sum(product(model, p) for p in free)
            )
            used = {e for p in free for e in pairwise(p)}
            assert set(edges_of(graph, leg(graph, u, v, passed))) == used
            met = [p for p in every if set(p) & set(passed)]
            expected = sum(product(model, p) for p in met)
            for form in indirect(graph, u, v, passed).forms:
                found = sum(sign * np.prod([weights.value(one) for one in legs]) for sign, legs in form)
                assert found == pytest.approx(expected, abs=1e-12)
            if every:
                order = [m for m in graph.topological_order if m in passed]
                just = [p for p in every if [m for m in p if m in passed] == order]
                alone = weights.estimate(only_through(graph, (u, *order, v), passed))
                assert alone == pytest.approx(sum(product(model, p) for p in just), abs=1e-12)


@given(models(most=5))
@few
def test_gradients_equal_finite_differences(model: ht.CGLSCM) -> None:
    graph, h = model.graph, 1e-6
    names = model.names
    asked = [indirect(graph, u, v) for u, v in permutations(names, 2)]
    asked += [avoiding(graph, u, v, names[:2]) for u, v in permutations(names[2:], 2)]
    assume(graph.directed)
    for effect in some(asked):
        slope = Weights(model).gradient(effect)
        for k, (u, v) in enumerate(graph.directed):
            i, j = names.index(u), names.index(v)
            ends = []
            for step in (h, -h):
                T = model.T.copy()
                T[i, j] += step
                moved = type(model)(names, T, model.C, model.mu, model.W, model.latents, graph)
                ends.append(Weights(moved).estimate(effect))
            assert slope[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-7)


@given(models(most=5))
@few
def test_rows_equal_single_questions(model: ht.CGLSCM) -> None:
    fit = fit_of(model)
    found = rows_by_name(effect_rows(fit, How(level=0.9)))
    sd = dict(zip(model.names, np.sqrt(np.diag(fit.model.cov)), strict=True))
    for (u, v, kind), row in found.items():
        if kind == "indirect":
            continue
        query = DirectEffect(u, v) if kind == "direct" else TotalEffect(u, v)
        sure = estimate(fit, query, evaluate(query, fit.model), How(level=0.9))
        assert (row.est, row.se) == pytest.approx((sure.values[0], sure.errors[0]), abs=1e-10)
        assert (row.ci_low, row.ci_high) == pytest.approx(sure.intervals[0], abs=1e-10)
        assert row.std == pytest.approx(sure.values[0] * sd[u] / sd[v])
        assert row.z == pytest.approx(row.est / row.se)
        assert row.note == ""
    for (u, v, kind), row in found.items():
        if kind == "indirect":
            rest = found[u, v, "direct"].est if (u, v, "direct") in found else 0.0
            assert row.est == pytest.approx(found[u, v, "total"].est - rest, abs=1e-12)
    assert {(u, v) for u, v, kind in found if kind == "direct"} == set(model.graph.directed)
    reached = {(u, v) for u, v in permutations(model.names, 2) if paths_of(model.graph, u, v)}
    assert {(u, v) for u, v, kind in found if kind == "total"} == reached
    longer = {(u, v) for u, v in reached if any(len(p) > 2 for p in paths_of(model.graph, u, v))}
    assert {(u, v) for u, v, kind in found if kind == "indirect"} == longer


@given(graphs(names="abcd", latents=1))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_what_is_said_to_be_known_is_known(graph: Graph) -> None:
    """Verdicts agree with single decisions; nothing that the Jacobian refutes has a number, and the other way round."""
    known, until = knowledge(graph), time.monotonic() + 60
    joined = [(u, v) for u, v in permutations(graph.observed, 2) if v in graph.descendants(u)]
    assume(joined)
    for u, v in joined:
        pairs: list[tuple[PathSum, Query]] = [(total(graph, u, v), TotalEffect(u, v))]
        pairs += [(direct(u, v), DirectEffect(u, v))] if v in graph.children(u) else []
        pairs += [
            (through(graph, (u, m, v)), ThroughEffect((u, m, v)))
            for m in graph.observed
            if m not in (u, v) and m in graph.descendants(u) and v in graph.descendants(m)
        ]
        for effect, query in pairs:
            assert known.settle(effect, until).status == identify(graph, query, witness=False).status
        parts = [known.settle(e, until) for e in (total(graph, u, v), direct(u, v))]
        both = known.settle(indirect(graph, u, v), until)
        if all(p.identified for p in parts):
            assert both.identified
        elif sum(p.identified for p in parts) == 1 and both.identified:
            assert v not in graph.children(u)  # else the third would follow from the two
        assert bool(both.reason) != both.identified


def test_indirect_effect_where_neither_direct_nor_total_is_known() -> None:
    graph = ht.graph("x -> m -> y; x -> y; x <-> y")
    fit = fit_of(random_model(graph, 3))
    found = rows_by_name(effect_rows(fit, How()))
    assert np.isnan([found["x", "y", "direct"].est, found["x", "y", "total"].est]).all()
    assert found["x", "y", "direct"].note == "not identified: x -> y is confounded"
    path = fit.query(PathEffect(("x", "m", "y")))
    row = found["x", "y", "indirect"]
    assert (row.est, row.se) == pytest.approx((path.value, path.se))
    assert not jacobian_test(graph, TotalEffect("x", "y"))


def test_unidentified_rows_have_no_number_anywhere() -> None:
    graph = ht.graph("x -> y; x <-> y; y -> z")
    rows = effect_rows(fit_of(random_model(graph, 1)), How())
    for row in some(rows):
        numbers = np.array([row.est, row.se, row.z, row.p, row.ci_low, row.ci_high, row.std])
        known = (row.cause, row.effect) == ("y", "z")
        assert np.isnan(numbers).all() == (not known)
        assert bool(row.note) == (not known)
        assert bool(row.method) == known


def test_values_that_fit_equally_well() -> None:
    case = load("f01_finite_to_one")
    graph = case["graph"]
    rows = effect_rows(
        ht.fit(graph, Moments(graph.observed, 500, np.zeros(len(graph)), random_model(graph, 5).cov)), How()
    )
    notes = {row.note for row in rows if np.isnan(row.est)}
    assert any("values fit equally well" in note for note in notes)


def test_frame_kinds_and_library() -> None:
    import polars as pl

    case = load("s17_mediation_simple")
    data = moments_of(case)
    fit = ht.fit(case["graph"], data)
    frame = fit.effects()
    names = ["cause", "effect", "kind", "est", "se", "z", "p", "ci_low", "ci_high", "std", "method", "note"]
    assert list(frame.columns) == names
    assert set(fit.effects("direct")["kind"]) == {"direct"}
    assert list(fit.effects(kind="through")["kind"]) == ["through pmi"]
    draws = np.random.default_rng(1).normal(size=(3, 30))
    rows = pl.DataFrame(dict(zip(case["graph"].observed, draws, strict=True)))
    assert isinstance(ht.fit(case["graph"], rows).effects(), pl.DataFrame)
    with pytest.raises(ht.InputError, match="kind must be one of"):
        fit.effects(wrong("both"))
    with pytest.raises(ht.InputError, match="delta"):
        fit.effects(interval="profile")
    empty = ht.fit(Graph(observed=["a", "b"]), np.random.default_rng(0).normal(size=(9, 2))).effects()
    assert list(empty.columns) == names
    assert len(empty) == 0


@given(models(most=4, bows=True))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_the_factor_equals_one_answer_at_a_time(model: ht.CGLSCM) -> None:
    """Also of gradients that use error covariances and means, and where data do not determine everything."""
    fit = fit_of(model)
    names = model.names
    texts = [f"P({y} | do({x}=1.5))" for x, y in permutations(names, 2)] + [f"{names[0]} <-> {names[1]}"]
    queries = [ht.parse_question(text) for text in texts]
    gradients = [linearize(q, fit.model).values[0] for q in queries]
    single = np.array([standard_errors(fit, q)[0][0] for q in queries])
    np.testing.assert_allclose(joint_factor(fit, Slopes.of(gradients), How()).errors(), single, rtol=1e-6, atol=1e-9)


@given(models(most=5))
@few
def test_paths_add_up(model: ht.CGLSCM) -> None:
    fit = fit_of(model)
    pairs = {(u, v): paths_of(model.graph, u, v) for u, v in permutations(model.names, 2)}
    assert len(pairs) >= 2
    for u, v in (pair for pair, every in pairs.items() if not every):
        with pytest.raises(ht.QueryError, match="no directed path"):
            check_ends(model.graph, u, v)
    for (u, v), every in ((pair, every) for pair, every in pairs.items() if every):
        found = fit.decompose(u, v)
        assert found.paths == len(every) == count_paths(model.graph, u, v)
        assert {row.path for row in found.rows} == {" -> ".join(p) for p in every}
        assert sum(row.est for row in found.rows) == pytest.approx(found.total.est, abs=1e-12)
        assert sum(row.share for row in found.rows) == pytest.approx(1.0)
        for row in some(found.rows):
            path = tuple(row.path.split(" -> "))
            query = PathEffect(path) if len(path) > 2 else DirectEffect(*path)
            expected = (evaluate(query, fit.model), standard_errors(fit, query)[0][0])
            assert (row.est, row.se) == pytest.approx(expected, abs=1e-10)


@given(models(most=6), st.integers(1, 4))
@few
def test_largest_paths_are_the_largest(model: ht.CGLSCM, most: int) -> None:
    size = {(u, v): abs(product(model, (u, v))) for u, v in model.graph.directed}
    for u, v in some(permutations(model.names, 2)):
        every = sorted(paths_of(model.graph, u, v), key=lambda p: -abs(product(model, p)))
        found = largest_paths(model.graph, u, v, size, most)
        expected = [abs(product(model, p)) for p in every[:most]]
        assert [abs(product(model, p)) for p in found] == pytest.approx(expected)


def test_many_paths_have_a_row_for_the_rest() -> None:
    names = [f"v{i}" for i in range(12)]
    graph = Graph([(u, v) for i, u in enumerate(names) for v in names[i + 1 :]])
    rng = np.random.default_rng(0)
    fit = ht.fit(graph, rng.normal(size=(100, 12)) @ rng.normal(size=(12, 12)), names=names)
    found = fit.decompose("v0", "v11", most=7)
    assert found.paths == 2**10
    assert len(found.rows) == 8
    assert found.rows[-1].path == "(1,017 other paths)"
    assert sum(row.est for row in found.rows) == pytest.approx(found.total.est)
    sizes = [abs(row.est) for row in found.rows[:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert found.rows[-1].se > 0.0
    assert max(map(len, str(found).splitlines())) <= 80
    with pytest.raises(ht.InputError, match="most"):
        fit.decompose("v0", "v11", most=0)


def test_paths_that_are_not_identified_are_given_together() -> None:
    graph = ht.graph("z -> x; z -> m; x -> y; m -> y; x <-> y; m <-> y; x <-> m")
    fit = fit_of(random_model(graph, 2))
    found = fit.decompose("z", "y")
    assert np.isnan([row.est for row in found.rows[:-1]]).all()
    assert found.rows[-1].path == "(2 paths without a number, together)"
    effect = fit.effect("z", "y")
    assert (found.rows[-1].est, found.rows[-1].se) == pytest.approx((effect.value, effect.se))
    assert found.total.est == pytest.approx(effect.value)
    assert "not identified" in str(found)
    assert max(map(len, str(found).splitlines())) <= 80


def test_a_total_that_is_not_identified() -> None:
    fit = fit_of(random_model(ht.graph("x -> m -> y; x -> y; x <-> y"), 2))
    found = fit.decompose("x", "y")
    known = {row.path: not np.isnan(row.est) for row in found.rows}
    assert known == {"x -> y": False, "x -> m -> y": True}
    assert np.isnan([found.total.est, *(row.share for row in found.rows)]).all()
    assert list(found.frame()["path"]) == ["x -> y", "x -> m -> y", "x ~> y"]


def test_ends_of_a_decomposition() -> None:
    fit = fit_of(random_model(ht.graph("latent U; U -> {x, y, z}; x -> y"), 1))
    for ends, words in ((("U", "y"), "hidden"), (("x", "q"), "no variable 'q'"), (("y", "x"), "leads back")):
        with pytest.raises(ht.QueryError, match=words):
            fit.decompose(*ends)


def test_twenty_variables() -> None:
    rng = np.random.default_rng(0)
    names = [f"v{i}" for i in range(20)]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    graph = Graph([e for e in pairs if rng.random() < 0.4], [e for e in pairs if rng.random() < 0.15], observed=names)
    fit = fit_of(random_model(graph, 1), n=1000)
    rows = effect_rows(fit, How())
    assert len(rows) > 250
    assert all(row.note for row in rows if np.isnan(row.est))


def test_effects_by_a_weak_instrument_say_so() -> None:
    rng = np.random.default_rng(0)
    z, u = rng.normal(size=300), rng.normal(size=300)
    for strength, weak in ((0.1, True), (1.0, False)):
        x = strength * z + u + rng.normal(size=300)
        data = {"z": z, "x": x, "y": 0.5 * x + u + rng.normal(size=300)}
        fit = ht.fit("z -> x -> y; x <-> y", data)
        chosen = (None, "interval by profile likelihood (F = ")
        asked: tuple[tuple[Interval | None, str], ...] = (chosen, ("delta", "weak instrument"))
        for interval, said in some(asked):
            rows = fit.effects("direct", interval=interval)
            notes = dict(zip(rows["effect"], rows["note"], strict=True))
            assert (said in notes["y"]) is weak
            assert not notes["x"]


@given(graphs(names="abcde", latents=2))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_edges_into_a_variable_with_an_error_of_its_own_are_what_a_verdict_says(graph: Graph) -> None:
    known = knowledge(graph)
    plain = [(u, v) for u, v in graph.directed if not graph.spouses(v)]
    assume(plain)
    for u, v in plain:
        settled = known.leg(edge_leg(u, v), time.monotonic() + 5.0)
        verdict = identify(graph, DirectEffect(u, v), scope="linear")
        assert (settled.status, settled.method) == (verdict.status, verdict.method) == ("identified", "regression")
