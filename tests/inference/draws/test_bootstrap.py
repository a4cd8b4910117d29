"""Bootstrap: the draws are what they claim to be, answers of replicates are those of their models, errors agree."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import halftrek as ht
from halftrek.bottom.choices import Redraw
from halftrek.errors import InputError
from halftrek.estimation import BatchFit, fit_batch
from halftrek.inference.draws import bootstrap, resample
from halftrek.inference.draws.bootstrap import Replicates, acceleration, replicates_of
from halftrek.inference.draws.resample import draw_model, draw_rows
from halftrek.models import Gaussian
from halftrek.queries import evaluate
from halftrek.queries.evaluate import values_of
from halftrek.syntax import parse_question
from tests.narrow import interval_of, normal, se_of, some, there

NAPKIN = "a -> b -> c -> d; a <-> c; a <-> d"


def rows(n: int, seed: int, heavy: bool = False) -> pd.DataFrame:
    """Rows of a napkin model, normal or with t5 noise."""
    rng = np.random.default_rng(seed)
    e = rng.standard_t(5, size=(n, 6)) if heavy else rng.normal(size=(n, 6))
    a = 1.0 + e[:, 0] + e[:, 4] + e[:, 5]
    b = 0.7 * a + e[:, 1]
    c = 0.8 * b + e[:, 4] + e[:, 2] - 0.5
    d = 0.6 * c + e[:, 5] + e[:, 3]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


DATA = rows(500, 1)
FIT = ht.fit(NAPKIN, DATA)
HEAVY = ht.fit(NAPKIN, rows(3000, 4, heavy=True))


# -- draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wide", [False, True])
def test_moments_of_drawn_rows_are_those_of_the_rows_drawn(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if wide:  # as if there were too many variables for products of columns
        monkeypatch.setattr(resample, "MANY", 2)
    drawn = draw_rows(FIT, 5, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    rng.binomial(np.full(5, 500), 1.0)  # all draws fall into the only chunk
    for r in range(5):
        X = DATA.to_numpy()[rng.integers(0, 500, size=500, dtype=np.int32)]
        np.testing.assert_allclose(drawn.mean[r], X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(drawn.cov[r], np.cov(X.T, ddof=0), rtol=1e-10)
        assert drawn.n[r] == 500


def spread_of_means(found: Any, replicates: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    drawn = draw_rows(found, replicates, np.random.default_rng(0))
    return drawn.n, np.cov(drawn.mean.T)


def test_chunks_do_not_change_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resample, "NUMBERS", 15 * 70)
    n, spread = spread_of_means(FIT)
    assert (n == 500).all()
    np.testing.assert_allclose(spread, FIT.moments.cov / 500, rtol=0.15)


def test_weights_are_numbers_of_rows() -> None:
    weights = np.random.default_rng(0).integers(0, 4, len(DATA))
    found = ht.fit(NAPKIN, DATA, weights=weights)
    n, spread = spread_of_means(found)
    assert (n == weights.sum()).all()
    np.testing.assert_allclose(spread, found.moments.cov / weights.sum(), rtol=0.15)


def test_clusters_are_drawn_whole() -> None:
    sizes = np.arange(1, 32)
    labels = np.repeat([f"g{k}" for k in sizes], sizes)
    data = DATA[: len(labels)] + np.random.default_rng(2).normal(size=(31, 1)).repeat(sizes, axis=0)
    found = ht.fit(NAPKIN, data, cluster=labels)
    n, spread = spread_of_means(found)
    assert len(set(n)) > 100
    sums = (
        data.groupby(labels).sum().to_numpy()
        - sizes[np.argsort([f"g{k}" for k in sizes])][:, None] * data.mean().to_numpy()
    )
    np.testing.assert_allclose(spread, sums.T @ sums / len(data) ** 2, rtol=0.25)
    assert np.trace(spread) > 3 * np.trace(found.moments.cov) / len(data)


def test_data_sets_of_the_model_are_normal() -> None:
    drawn = draw_model(FIT, 4000, np.random.default_rng(0))
    n, cov = FIT.n, FIT.model.cov
    np.testing.assert_allclose(drawn.mean.mean(axis=0), FIT.model.mean, atol=0.01)
    np.testing.assert_allclose(np.cov(drawn.mean.T), cov / n, rtol=0.1)
    np.testing.assert_allclose(drawn.cov.mean(axis=0), cov * (n - 1) / n, rtol=0.01)
    expected = (cov**2 + np.outer(np.diag(cov), np.diag(cov))) / n
    np.testing.assert_allclose(drawn.cov.var(axis=0), expected, rtol=0.1)


# -- answers of replicates -----------------------------------------------------------------------

QUESTIONS = [
    "c -> d",
    "a -> b -> c",
    "a ~> d",
    "a ~> c ~> d",
    "a <-> d",
    "P(d | do(c=1))",
    "P(d, b | do(a=1, c=2))",
    "P(d | do(b=1), c=0.5, a=2)",
    "P(d, c)",
    "P(d_{c=1} | c=0, d=2)",
    "P(d_{c=1}, b_{a=0} | c=0, d=2, b_{a=2}=1)",
    "P(d_{c=1} | c=1, d=2)",
    "E[d | do(c=1)] - E[d | do(c=0)]",
    "E[d | do(b=1), c=0.5] / (c ~> d)",
    "2 * (c -> d) + (a <-> d)",
    "Var[d_{c=1} - d_{c=0} | a=1]",
    "SD[d | do(c=1)]",
    "Cov[d, b | do(a=1)]",
    "Corr[d, c]",
    "Q(0.9, d | do(c=1))",
    "P(d > 1 | do(c=1))",
    "P(0 < d < 2 | b=1)",
    "P(d < 1, b > 0 | do(c=1))",
    "P(d > 1 | c > 0)",
    "P(d | do(c += 1))",
    "E[d | do(c *= 2)]",
    "std(c ~> d)",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_of_replicates_are_those_of_their_models(question: str) -> None:
    batch = replicates_of(FIT, "parametric", 20, 0).batch
    query = parse_question(question)
    values, variances = values_of(query, batch)
    for i, model in some(enumerate(batch)):
        result = evaluate(query, model)
        if isinstance(result, Gaussian):
            np.testing.assert_allclose(values[i], result.mean, rtol=1e-9)
            np.testing.assert_allclose(variances[i], result.variance, rtol=1e-9, atol=1e-12)
        else:
            assert values[i] == pytest.approx([result], rel=1e-9)


def test_replicates_keep_what_the_fit_holds() -> None:
    held: dict[str, Any] = {"coefficients": {"a -> b": "k", "c -> d": "k", "b -> c": 0.8}, "noise": {"b": 1.0}}
    found = ht.fit(NAPKIN, DATA, intercepts={"d": 0.0}, **held)
    batch = replicates_of(found, "bootstrap", 40, 0).batch
    np.testing.assert_allclose(batch.T[:, 0, 1], batch.T[:, 2, 3], rtol=1e-9)
    np.testing.assert_allclose(batch.T[:, 1, 2], 0.8)
    np.testing.assert_allclose(batch.omega[:, 1, 1], 1.0)
    np.testing.assert_allclose(batch.mu[:, 3], 0.0)
    assert batch.T[:, 0, 1].std() > 0.0


# -- intervals -----------------------------------------------------------------------------------


def test_errors_agree_with_the_delta_method_on_normal_data() -> None:
    for question in ("c ~> d", "P(d | do(c=1))"):
        delta = there(FIT.query(question).estimate)
        for kind in ("bootstrap", "parametric"):
            drawn = there(FIT.query(question, interval=kind, replicates=2000).estimate)
            np.testing.assert_allclose(drawn.errors, delta.errors, rtol=0.12)
            np.testing.assert_allclose(drawn.variance_errors, delta.variance_errors, rtol=0.12)
            np.testing.assert_allclose(drawn.intervals, delta.intervals, atol=0.25 * delta.errors[0])
            assert drawn.kind == kind
            assert drawn.notes == ()


def test_sandwich_agrees_with_the_bootstrap_on_heavy_tails_and_the_delta_method_does_not() -> None:
    question = "P(d | do(c=1))"
    robust = there(HEAVY.query(question, interval="robust").estimate)
    drawn = there(HEAVY.query(question, interval="bootstrap", replicates=2000).estimate)
    np.testing.assert_allclose(robust.errors, drawn.errors, rtol=0.1)
    np.testing.assert_allclose(robust.variance_errors, drawn.variance_errors, rtol=0.12)
    assert robust.variance_errors[0] > 1.3 * there(HEAVY.query(question).estimate).variance_errors[0]


def test_parameters_have_the_errors_of_their_replicates() -> None:
    factor = ht.fit("latent F; F -> {a, b, c, d}", DATA)
    for found in (FIT, factor):
        batch = replicates_of(found, "bootstrap", 500, 3).batch
        plain = found.params()
        drawn = found.params(interval="bootstrap", replicates=500, random_state=3, level=0.9)
        np.testing.assert_array_equal(drawn[["lhs", "op", "rhs", "est"]], plain[["lhs", "op", "rhs", "est"]])
        np.testing.assert_allclose(drawn.se, plain.se, rtol=0.2)
        np.testing.assert_allclose(drawn.z, drawn.est / drawn.se)
        assert ((drawn.ci_low < drawn.est) & (drawn.est < drawn.ci_high)).all()
        first = drawn[drawn.op == "~1"].iloc[0]
        assert first.se == pytest.approx(batch.mu[:, 0].std(ddof=1))
        assert first.ci_low == pytest.approx(np.quantile(batch.mu[:, 0], 0.05))


def test_two_replicates_are_enough_for_a_spread() -> None:
    drawn = FIT.params(interval="bootstrap", replicates=2, random_state=3)
    first = drawn[drawn.op == "~1"].iloc[0]
    assert first.se == pytest.approx(replicates_of(FIT, "bootstrap", 2, 3).batch.mu[:, 0].std(ddof=1))


def test_ends_are_quantiles_and_bca_ends_are_those_of_the_formula() -> None:
    from scipy.stats import norm

    query = parse_question("P(d | do(c=1))")
    values, variances = values_of(query, replicates_of(HEAVY, "bootstrap", 2000, 0).batch)
    plain = there(HEAVY.query(query, interval="bootstrap", replicates=2000, level=0.9).estimate)
    np.testing.assert_allclose(plain.intervals[0], np.quantile(values[:, 0], [0.05, 0.95]))
    np.testing.assert_allclose(plain.variance_intervals[0], np.quantile(variances[:, 0], [0.05, 0.95]))
    bca = there(HEAVY.query(query, interval="bootstrap", replicates=2000, level=0.9, ends="bca").estimate)
    bias = norm.ppf((variances[:, 0] < plain.variances[0]).mean())
    speed = acceleration(HEAVY, query, "bootstrap")[1]
    ends = [bias + (bias + z) / (1 - speed * (bias + z)) for z in norm.ppf([0.05, 0.95])]
    np.testing.assert_allclose(bca.variance_intervals[0], np.quantile(variances[:, 0], norm.cdf(ends)))
    assert speed > 0.02
    assert (bca.variance_intervals > plain.variance_intervals).all()  # a variance is skewed to the right


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_bca_ends_stay_among_the_replicates_where_all_lie_on_one_side(side: float) -> None:
    query = parse_question("c -> d")
    values, _ = values_of(query, replicates_of(FIT, "bootstrap", 50, 0).batch)
    found = (np.array([side * 100.0]), np.zeros(0))
    spread, _, _ = bootstrap.bootstrap_spread(
        FIT, query, found, kind="bootstrap", level=0.9, replicates=50, ends="bca", random_state=0
    )
    ((low, high),) = spread.intervals
    outermost = values.max() if side > 0.0 else values.min()
    assert values.min() <= low <= high <= values.max()
    assert (high if side > 0.0 else low) == pytest.approx(outermost, abs=1e-3)


def test_acceleration_is_that_of_the_jackknife() -> None:
    data = rows(120, 9, heavy=True)
    found = ht.fit(NAPKIN, data)
    query = parse_question("P(d | do(c=1))")
    left_out = []
    for i in range(len(data)):
        result = normal(evaluate(query, ht.fit(NAPKIN, data.drop(index=i)).model))
        left_out.append([*result.mean, *result.variance])
    gap = np.mean(left_out, axis=0) - np.array(left_out)
    expected = (gap**3).sum(axis=0) / (6 * (gap**2).sum(axis=0) ** 1.5)
    np.testing.assert_allclose(acceleration(found, query, "bootstrap"), expected, atol=0.005)
    assert expected[1] > 0.03
    # under the normal model: that of a long normal sample
    many = rows(100_000, 2)
    long = ht.fit(NAPKIN, many)
    np.testing.assert_allclose(
        acceleration(long, query, "bootstrap"), acceleration(long, query, "parametric"), atol=2e-4
    )


def test_the_same_state_gives_the_same_bits_and_is_not_drawn_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ht.fit(NAPKIN, DATA).query("c ~> d", interval="bootstrap", replicates=50, random_state=7)
    fresh = ht.fit(NAPKIN, DATA)
    again = fresh.query("c ~> d", interval="bootstrap", replicates=50, random_state=7)
    assert again.interval == first.interval
    other = fresh.query("c ~> d", interval="bootstrap", replicates=50, random_state=8)
    assert other.interval != first.interval

    def never(*_args: Any) -> None:
        raise AssertionError("drawn again")

    monkeypatch.setattr(bootstrap, "draw_rows", never)
    assert fresh.query("c ~> d", interval="bootstrap", replicates=50, random_state=7).interval == first.interval
    assert se_of(fresh.query("a ~> d", interval="bootstrap", replicates=50, random_state=8)) > 0


def test_failed_replicates_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit_batch

    def some_fail(*args: Any, **options: Any) -> BatchFit:
        found = whole(*args, **options)
        found.code[:3] = "not converged"
        found.code[3:5] = "failed"
        found.T[3:5] = np.nan
        return found

    monkeypatch.setattr(bootstrap, "fit_batch", some_fail)
    found = ht.fit(NAPKIN, DATA)
    answer = found.query("c ~> d", interval="parametric", replicates=100)
    assert answer.warnings[-1:] == (
        "5 of 100 parametric replicates had no maximum of the likelihood and were left out",
    )
    assert np.isfinite(se_of(answer))
    few = found.query("c ~> d", interval="parametric", replicates=20)
    assert 'do not trust this interval, use fit.query(..., interval="profile")' in few.warnings[0]
    none = found.query("c ~> d", interval="parametric", replicates=5)
    assert np.isnan(se_of(none))
    assert np.isnan(interval_of(none)).all()


def test_moments_are_enough_for_the_parametric_bootstrap() -> None:
    found = ht.fit(NAPKIN, cov=FIT.moments.cov, n=500)
    assert found.query("c ~> d", interval="parametric").se == pytest.approx(FIT.query("c ~> d").se, rel=0.15)
    with pytest.raises(InputError, match='interval="bootstrap" needs the rows'):
        found.query("c ~> d", interval="bootstrap")
    literal = ht.fit("a -> b", DATA[["a", "b"]], method="cgl-go")
    with pytest.raises(InputError, match="this fit is by 'cgl-go'"):
        literal.query("a ~> b", interval="parametric")


def test_an_unidentified_corner_beside_it_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    beside = ht.fit(NAPKIN + "; e -> f; e <-> f", DATA.assign(e=rng.normal(size=500), f=rng.normal(size=500)))
    one = beside.query("c ~> d", interval="bootstrap", replicates=400)
    assert one.warnings == ()
    assert one.se == pytest.approx(FIT.query("c ~> d").se, rel=0.2)
    with pytest.raises(ht.NotIdentifiedError):
        beside.query("e ~> f", interval="bootstrap")


def test_progress_is_told() -> None:
    reports: list[tuple[int, int]] = []
    found = ht.fit(NAPKIN, DATA)
    replicates_of(found, "bootstrap", 30, 0, lambda done, total: reports.append((done, total)))
    assert reports[-1] == (30, 30)
    assert all(0 < done <= total for done, total in reports)


def test_replicates_that_tie_with_the_estimate_count_half() -> None:
    both = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0])[:, None]
    found = bootstrap._bca_shares(both, np.ones(1), np.zeros(1), np.array([0.1, 0.9]))
    normal = NormalDist()
    bias = normal.inv_cdf(0.2 + 0.4 / 2.0)
    expected = [normal.cdf(2.0 * bias + normal.inv_cdf(tail)) for tail in (0.1, 0.9)]
    np.testing.assert_allclose(found, [expected], rtol=1e-12)


def test_what_does_not_move_has_no_acceleration() -> None:
    rows = np.random.default_rng(2).normal(size=(50, 2)) @ np.array([[1.0, 0.4], [0.0, 1.0]])
    fit = ht.fit("x -> y", {"x": rows[:, 0], "y": rows[:, 1]})
    for kind in ("bootstrap", "parametric"):
        assert list(acceleration(fit, parse_question("y ~> x"), kind)) == [0.0]


@pytest.mark.parametrize("kind", ["bootstrap", "parametric"])
def test_models_that_would_fill_the_memory_are_not_kept(kind: Redraw, monkeypatch: pytest.MonkeyPatch) -> None:
    fit, again = ht.fit(NAPKIN, rows(80, 4)), ht.fit(NAPKIN, rows(80, 4))
    kept = fit.effect("c", "d", interval=kind, replicates=60)
    monkeypatch.setattr(bootstrap, "HELD_MODELS", 0)
    passing = again.effect("c", "d", interval=kind, replicates=60)
    assert interval_of(passing) == interval_of(kept)
    assert se_of(passing) == se_of(kept)
    assert bootstrap._kept.get(fit)
    assert not bootstrap._kept.get(again)


def test_ranges_of_a_jackknife_count_its_clusters() -> None:
    """Student's quantile with one less than there are, around the estimate; Efron and Tibshirani (1993), 11.5."""
    values, centre = np.random.default_rng(2).normal(size=(12, 3)), np.array([0.1, -0.2, 0.3])
    made = Replicates(BatchFit.__new__(BatchFit), 12, "jackknife")
    found = made.factor(values, centre, 0.9)
    errors = np.sqrt(11.0 / 12.0 * ((values - centre) ** 2).sum(axis=0))
    np.testing.assert_allclose(found.errors(), errors)
    np.testing.assert_allclose(found.reaches(), student.ppf(0.95, 11) * errors, rtol=1e-9)
    drawn = replace(made, kind="bootstrap").factor(values, centre, 0.9)
    np.testing.assert_allclose(drawn.errors(), values.std(axis=0, ddof=1))
