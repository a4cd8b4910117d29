"""R², residuals and tests of what a graph implies: against lavaan, against simulation, against the definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import halftrek as ht
from halftrek.data import Moments
from halftrek.errors import InputError
from halftrek.estimation import fit, fit_batch
from halftrek.graphs import Graph
from halftrek.inference.checks.constraints import ancestral, constraint_tests, independence, independences
from halftrek.inference.checks.measures import measures
from halftrek.inference.checks.missing_checks import partial_residuals
from halftrek.inference.checks.multiplicity import benjamini_hochberg, holm
from halftrek.inference.checks.residuals import explained, residuals
from halftrek.inference.checks.tetrads import Tetrad, beyond_independences, tetrad_slope
from halftrek.inference.information.base import kind_of_data
from halftrek.models import CGLSCM
from halftrek.results.fit import Fit
from halftrek.simulation import random_graph, random_model
from halftrek.syntax import parse_graph
from tests.inference.checks.edges.test_modification import CHAIN_GRAPH, FACTOR_GRAPH, HOLZINGER, political
from tests.narrow import wrong

# lavaan 0.6-14: inspect(fit, "r2"); residuals(fit, type = "cor"), type = "standardized"; data as in test_modification.
R2 = {
    "bow-free": {"y1": 0.145970412, "y2": 0.045858486, "y5": 0.642306219, "y6": 0.539377745},
    "chain": {"y1": 0.097397567, "y2": 0.353541388, "y5": 0.291620668, "y6": 0.200516047},
    "factor": dict(
        zip(
            HOLZINGER.names,
            (0.170376289, 0.036689139, 0.035481067, 0.848401820, 0.624339542, 0.507135103),
            strict=True,
        )
    ),
}
RESIDUALS = {
    "bow-free": {
        ("y1", "y5"): (-0.0033359583, -2.7178954),
        ("y1", "y6"): (0.1713459500, 2.7179052),
        ("y2", "y5"): (0.1004685113, 1.7488610),
        ("y2", "y6"): (-0.0024413749, -1.7488532),
        ("y5", "y6"): (0.1738174159, 3.1694980),
    },
    "chain": {
        ("y1", "y2"): (0.0092784186, 1.65655056),
        ("y1", "y5"): (0.417926535, 4.6453591),
        ("y1", "y6"): (0.157729200, 4.1525677),
        ("y2", "y5"): (0.003320985, 1.6566206),
        ("y2", "y6"): (0.293376410, 4.0344095),
        ("y5", "y6"): (0.100502770, 3.4875279),
        ("x1", "y1"): (0.069974801, 1.6565740),
        ("x1", "y2"): (0.028581690, 0.30347891),
        ("x1", "y5"): (0.464672225, 4.4874957),
        ("x1", "y6"): (0.310764290, 2.8113417),
    },
    "factor": {
        ("x1", "x2"): (0.218282503, 4.1660500),
        ("x1", "x3"): (0.362917550, 6.5175544),
        ("x1", "x4"): (-0.0074878344, -1.5927767),
        ("x2", "x4"): (-0.023498642, -2.5595468),
        ("x4", "x5"): (0.0053715654, 6.8451894),
        ("x5", "x6"): (0.20151195083, 6.7503952),
    },
}
FITS = {"bow-free": political(), "chain": political(CHAIN_GRAPH), "factor": fit(FACTOR_GRAPH, HOLZINGER)}
VERMA = Graph([("a", "b"), ("b", "c"), ("c", "d")], [("b", "d")])
FACTOR_OF_FIVE = Graph(latents={"f": tuple("abcde")}, observed=tuple("abcde"))


def moments_of(model: CGLSCM, n: int, seed: int) -> Moments:
    rows = np.asarray(model.sample(n, random_state=seed))
    return Moments(model.names, n, rows.mean(axis=0), np.cov(rows.T, ddof=0))


# -- R² and residuals ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", R2)
def test_r2_equals_lavaan(name: str) -> None:
    found = {row.variable: row.r2 for row in explained(FITS[name])}
    assert found == pytest.approx(R2[name], abs=2e-6)


@pytest.mark.parametrize("name", RESIDUALS)
def test_residuals_equal_lavaan(name: str) -> None:
    found = {(r.lhs, r.rhs): (r.residual, r.z) for r in residuals(FITS[name])}
    found |= {(b, a): numbers for (a, b), numbers in found.items()}
    for pair, (residual, z) in RESIDUALS[name].items():
        assert found[pair][0] == pytest.approx(residual, abs=1e-5), pair
        assert found[pair][1] == pytest.approx(z, rel=1e-3), pair


def test_residuals_that_are_zero_by_construction_have_no_z() -> None:
    rows = {frozenset((r.lhs, r.rhs)): r for r in residuals(FITS["bow-free"])}
    assert np.isnan(rows[frozenset(("x1", "y1"))].z)
    assert np.isnan(rows[frozenset(("x1", "y1"))].p)


def test_r2_of_an_unidentified_equation_is_not_printed() -> None:
    """In a bow the share of the cause cannot be told; the variable after it has its R²."""
    graph = Graph([("a", "b"), ("b", "c")], [("a", "b")])
    found = {r.variable: r for r in explained(fit(graph, moments_of(random_model(graph, random_state=1), 500, 2)))}
    assert np.isnan(found["b"].r2)
    assert "not determined" in found["b"].note
    assert 0.0 < found["c"].r2 < 1.0


def test_standardised_residuals_are_standard_normal_under_the_model() -> None:
    model = random_model(VERMA, random_state=3)
    z = []
    for seed in range(100):
        rows = {(r.lhs, r.rhs): r.z for r in residuals(fit(VERMA, moments_of(model, 400, seed)))}
        z.append((rows["a", "c"], rows["a", "d"]))
    spread = np.array(z).std(axis=0)
    assert spread == pytest.approx(1.0, abs=4 / np.sqrt(2 * 100))


# -- what the graph implies -----------------------------------------------------------------------


def uniform(p: np.ndarray) -> bool:
    """Not refuted by Kolmogorov's test at 1 %, and the share below 0.05 within four standard errors."""
    n = len(p)
    gap = np.abs(np.sort(p) - (np.arange(n) + 0.5) / n).max()
    return bool(gap < 1.63 / np.sqrt(n) and abs((p < 0.05).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n))


def test_p_values_of_independences_are_uniform_with_twenty_rows() -> None:
    model = random_model(VERMA, random_state=3)
    p = np.array([independence(moments_of(model, 20, seed), "a", "c", ("b",)).p for seed in range(1500)])
    assert uniform(p)


@pytest.mark.parametrize(("graph", "n", "df"), [(VERMA, 300, 1), (FACTOR_OF_FIVE, 1000, 5)], ids=["verma", "factor"])
def test_p_values_of_other_constraints_are_uniform(graph: Graph, n: int, df: int) -> None:
    """Many data sets in one program; for some of them the test itself, which must say the same."""
    from scipy.special import chdtrc

    model = random_model(graph, random_state=3)
    samples = [moments_of(model, n, 1000 + seed) for seed in range(400)]
    basis = graph.implied_independences()
    wider = fit_batch(ancestral(graph, basis), samples).loglik
    statistic = 2.0 * (wider - fit_batch(graph, samples).loglik)
    assert uniform(chdtrc(df, np.maximum(statistic, 0.0)))
    for k in range(5):
        row = next(r for r in constraint_tests(fit(graph, samples[k])) if r.kind == "other constraints")
        assert row.df == df
        assert row.statistic == pytest.approx(statistic[k], abs=1e-5)


def test_p_values_of_tetrads_are_uniform() -> None:
    model = CGLSCM.from_parameters(names=list("abcde"), T=np.zeros((5, 5)), C=[[0.9, 0.8, 0.7, 0.8, 0.9]])
    tetrad = Tetrad(("a", "b"), ("c", "d"))
    z = []
    for seed in range(1000):
        found = fit(Graph([], observed=model.names), moments_of(model, 1000, seed))
        value, slope = tetrad_slope(found.moments, tetrad)
        z.append(value / kind_of_data(found).covariance_error(found, slope))
    assert uniform(2.0 * np.array([NormalDist().cdf(-abs(x)) for x in z]))


def test_partial_correlation_is_that_of_residuals_with_the_t_of_the_regression() -> None:
    model = random_model(VERMA, random_state=3)
    rows = np.asarray(model.sample(80, random_state=1))
    moments = Moments(model.names, 80, rows.mean(axis=0), np.cov(rows.T, ddof=0))
    X = np.column_stack([np.ones(80), rows[:, [model.names.index(v) for v in ("a", "b")]]])
    y = rows[:, model.names.index("c")]
    beta, rss = np.linalg.lstsq(X, y, rcond=None)[:2]
    t = beta[1] / np.sqrt(rss[0] / 77 * np.linalg.inv(X.T @ X)[1, 1])
    found = independence(moments, "a", "c", ("b",))
    assert found.statistic == pytest.approx(t)
    assert found.df == 77


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_the_ancestral_graph_has_the_same_independences_and_as_many_constraints(seed: int) -> None:
    graph = random_graph(5, n_edges=5, n_bidirected=2, random_state=seed)
    basis = graph.implied_independences()
    wider = ancestral(graph, basis)
    assert {frozenset(r[:2]) for r in wider.implied_independences()} == {frozenset(r[:2]) for r in basis}
    for x, y, given_set in basis:
        assert wider.m_separated(x, y, given_set)
    model = random_model(graph, random_state=seed)
    exact = Moments(model.names, 1000, model.mean, model.cov)
    found = measures(fit(wider, exact))
    assert found.df == len(basis)
    assert found.chi2 == pytest.approx(0.0, abs=1e-4)  # the graph's covariances are among those of the wider model


def test_verma_constraint_is_tested_and_named() -> None:
    rows = constraint_tests(fit(VERMA, moments_of(random_model(VERMA, random_state=3), 500, 1)))
    assert [r.kind for r in rows] == ["independence", "other constraints"]
    assert rows[0].constraint == "a independent of c given b"
    assert "a -> d" in rows[1].constraint
    assert rows[1].df == 1


def test_a_false_constraint_is_found() -> None:
    """Data of a graph with the edge a -> d: the independence stays, Verma's constraint falls."""
    truth = Graph([*VERMA.directed, ("a", "d")], VERMA.bidirected)
    model = CGLSCM.from_parameters(
        names=list("abcd"),
        T=[[0, 0.8, 0, 0.5], [0, 0, 0.8, 0], [0, 0, 0, 0.8], [0.0, 0.0, 0.0, 0.0]],
        omega={("b", "d"): 0.4},
        graph=truth,
    )
    rows = {r.kind: r for r in constraint_tests(fit(VERMA, moments_of(model, 1000, 1)))}
    assert rows["independence"].p > 0.01
    assert rows["other constraints"].p < 1e-6


def test_two_instruments_imply_a_tetrad() -> None:
    graph = Graph([("z", "x"), ("w", "x"), ("x", "y")], [("x", "y")])
    rows = constraint_tests(fit(graph, moments_of(random_model(graph, random_state=1), 500, 1)))
    last = rows[-1].constraint
    assert last.count("cov(") == 4
    assert measures(fit(graph, moments_of(random_model(graph, random_state=1), 500, 1))).df == len(rows)


def test_as_many_tetrads_as_constraints_for_a_factor() -> None:
    model = random_model(FACTOR_OF_FIVE, random_state=2)
    rows = constraint_tests(fit(FACTOR_OF_FIVE, moments_of(model, 500, 1)))
    assert [r.kind for r in rows] == ["other constraints", *["tetrad"] * 5]
    assert rows[0].df == 5


@pytest.mark.parametrize(
    "text", ["a -> b -> c -> d", "a -> b; a -> c; a -> d; b -> e", "a -> c; b -> c; c -> d; c -> e"]
)
def test_tetrads_that_follow_from_independences_are_left_out(text: str) -> None:
    """In a graph without hidden causes all constraints are independences."""
    graph = parse_graph(text)
    complete = Graph(list(combinations(graph.observed, 2)))
    model = random_model(graph, random_state=1)
    assert beyond_independences(graph, complete, model, [])
    assert beyond_independences(graph, complete, model, list(graph.implied_independences())) == []


def test_saturated_graph_has_nothing_to_test() -> None:
    graph = Graph([("x", "m"), ("m", "y")], [("x", "y")])
    assert constraint_tests(fit(graph, moments_of(random_model(graph, random_state=1), 100, 1))) == []


def test_too_few_rows_say_so() -> None:
    moments = Moments(("x", "y", "z"), 3, np.zeros(3), np.eye(3) + 0.1)
    found = independence(moments, "x", "y", ("z",))
    assert np.isnan(found.p)
    assert "too few rows" in found.note


# -- many tests -----------------------------------------------------------------------------------


def test_adjusted_p_values_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, np.nan, 0.2])
    assert holm(p) == pytest.approx([0.04, 0.09, 0.09, np.nan, 0.2], nan_ok=True)
    assert benjamini_hochberg(p) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, np.nan, 0.2], nan_ok=True)
    assert holm(np.zeros(0)).shape == (0,)


def test_frames_of_a_fit() -> None:
    found = Fit.of(FITS["chain"])
    assert list(found.r2().columns) == ["variable", "r2", "error_variance", "variance", "note"]
    assert list(found.residuals().columns) == ["lhs", "rhs", "observed", "implied", "residual", "z", "p", "test"]
    assert list(found.modifications().columns) == ["edge", "lhs", "op", "rhs", "mi", "epc", "std", "p", "test"]
    tests, plain, bh = (claims(found.tests(multiplicity=how)) for how in ("holm", "none", "bh"))
    assert (tests["p_adjusted"] == tests["p_holm"]).all()
    assert (tests["p_holm"] >= tests["p_bh"]).all()
    assert set(tests["verdict"]) == {"contradicted by the data", "not contradicted"}
    assert (plain["p_adjusted"] == tests["p"]).all()
    assert (bh["p_adjusted"] == tests["p_bh"]).all()
    with pytest.raises(InputError, match="multiplicity"):
        found.tests(multiplicity=wrong("bonferroni"))


def claims(tests: pd.DataFrame) -> pd.DataFrame:
    """Without what is said of straight lines."""
    return tests[tests["kind"] != "linearity"]


def test_one_hole_hardly_changes_the_checks() -> None:
    rows = np.array(random_model(VERMA, random_state=1).sample(2000, random_state=1))
    whole = ht.fit(VERMA, pd.DataFrame(rows, columns=list("abcd"))).tests()
    rows[3, 1] = np.nan
    found = ht.fit(VERMA, pd.DataFrame(rows, columns=list("abcd")))
    assert list(found.tests()["constraint"]) == list(whole["constraint"])
    np.testing.assert_allclose(claims(found.tests())["p"], claims(whole)["p"], atol=0.03)
    lines = found.tests()["verdict"][found.tests()["kind"] == "linearity"]
    assert list(lines) == [
        "not testable: values of b are missing",
        "not testable: values of b are missing",
        "not testable: hidden causes relate c to the error of d",
    ]
    assert len(found.r2()) == 3


def test_equal_weights_of_three_variables_are_tested_together() -> None:
    """Too few variables for a tetrad: the likelihood ratio of the graph with weights of their own."""
    x, e, f = np.random.default_rng(0).normal(size=(3, 200))
    y = 0.5 * x + e
    rows = {"x": x, "y": y, "z": 0.4 * y + f}
    tied, free = (ht.fit(text, rows) for text in ("y ~ a*x\nz ~ a*y", "y ~ x\nz ~ y"))
    table = tied.tests()
    (line,) = [k for k, kind in enumerate(table["kind"]) if kind == "other constraints"]
    assert table["statistic"][line] == pytest.approx(2.0 * (free.loglik - tied.loglik), rel=1e-6)


def test_many_independences_at_once_are_those_one_by_one() -> None:
    """Also where the others are dependent, and where rows are fewer than they."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6)) * [1.0, 1e-4, 1e3, 1.0, 1.0, 1.0]
    rows = np.column_stack([rows, rows[:, 2] - 3.0 * rows[:, 3]])
    names = tuple("abcdefg")
    moments = Moments(names, 40.0, rows.mean(axis=0), np.cov(rows.T, bias=True))
    asked = [
        (x, y, given)
        for x, y in combinations("abe", 2)
        for size in range(4)
        for given in combinations([v for v in names if v not in (x, y)], size)
    ]
    found = independences(moments, asked)
    for one, (x, y, others) in zip(found, asked, strict=True):
        r, *_ = partial_residuals(moments, [names.index(v) for v in (x, y, *others)])
        assert one.estimate == pytest.approx(r, rel=1e-6, abs=1e-7)
        df = 40.0 - 2.0 - len(others)
        t = r * np.sqrt(df / (1.0 - r * r))
        assert one.df == df
        assert one.statistic == pytest.approx(t, rel=1e-6, abs=1e-6)
        assert one.p == pytest.approx(2.0 * stats.t.sf(abs(t), df), rel=1e-5)
        assert one.constraint == f"{x} independent of {y}" + (f" given {', '.join(others)}" if others else "")
    few = independences(replace(moments, n=4.0), [("a", "b", ("c", "d")), ("a", "b", ("c",))])
    assert [bool(one.note) for one in few] == [True, False]
    assert np.isnan(few[0].p)
