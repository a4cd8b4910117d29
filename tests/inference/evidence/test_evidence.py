"""What informs a number: textbook intervals of regressions, sums of them, rows with missing values, clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import halftrek as ht
from halftrek.inference import How, estimate
from halftrek.inference.evidence.evidence import (
    PLENTY,
    Support,
    largest_quantile,
    one_equation,
    student_quantile,
    support,
    two_sided,
)
from halftrek.inference.standard_errors.factor import Factor, Slopes, student_factor, suited_factor
from halftrek.queries import DirectEffect, Query, TotalEffect, evaluate
from halftrek.queries.gradients import linearize
from tests.narrow import interval_of, there


def regression(rows: int, causes: int, seed: int) -> tuple[ht.Fit, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, causes)) + 3.0
    y = X @ np.linspace(-1.0, 1.0, causes) + rng.normal(size=rows)
    names = [f"x{i}" for i in range(causes)]
    fit = ht.fit("; ".join(f"{v} -> y" for v in names), np.column_stack([X, y]), names=[*names, "y"])
    return fit, X, y


def textbook(X: np.ndarray, y: np.ndarray, k: int, level: float = 0.95) -> tuple[float, float, float, float]:
    """Ordinary least squares: standard error, p-value and interval of the k-th slope, by definition."""
    Z = np.column_stack([np.ones(len(y)), X])
    b, *_ = np.linalg.lstsq(Z, y, rcond=None)
    free = len(y) - Z.shape[1]
    s2 = ((y - Z @ b) ** 2).sum() / free
    se = np.sqrt(s2 * np.linalg.inv(Z.T @ Z)[k + 1, k + 1])
    reach = stats.t.ppf(0.5 + level / 2, free) * se
    return se, 2 * stats.t.sf(abs(b[k + 1] / se), free), b[k + 1] - reach, b[k + 1] + reach


@pytest.mark.parametrize(("rows", "causes"), [(6, 2), (12, 1), (33, 30), (40, 5)])
def test_few_rows_have_the_textbook_interval_of_a_regression(rows: int, causes: int) -> None:
    fit, X, y = regression(rows, causes, rows)
    se, p, low, high = textbook(X, y, 0)
    found = fit.query("x0 -> y")
    assert there(found.estimate).kind == "t"
    assert found.se == pytest.approx(se, rel=1e-8)
    assert found.interval == pytest.approx((low, high), rel=1e-8)
    assert not found.warnings
    row = next(r for r in fit.params(as_frame=False) if (r.lhs, r.op, r.rhs) == ("y", "~", "x0"))
    assert (row.se, row.p, row.ci_low, row.ci_high) == pytest.approx((se, p, low, high), rel=1e-7)
    effects = fit.effects("direct")
    line = {name: next(iter(effects[name])) for name in ("cause", "se", "p", "ci_low", "ci_high")}
    assert line["cause"] == "x0"
    assert [line[c] for c in ("se", "p", "ci_low", "ci_high")] == pytest.approx([se, p, low, high], rel=1e-7)


def test_the_mean_under_an_intervention_is_the_regression_line() -> None:
    fit, X, y = regression(9, 1, 3)
    Z = np.column_stack([np.ones(9), X])
    b, *_ = np.linalg.lstsq(Z, y, rcond=None)
    at = np.array([1.0, 5.0])
    s2 = ((y - Z @ b) ** 2).sum() / 7
    reach = stats.t.ppf(0.975, 7) * np.sqrt(s2 * at @ np.linalg.inv(Z.T @ Z) @ at)
    found = fit.query("E[y | do(x0=5)]")
    assert found.interval == pytest.approx((at @ b - reach, at @ b + reach), rel=1e-8)


def test_where_rows_are_plenty_nothing_moves() -> None:
    fit, *_ = regression(2000, 3, 1)
    usual, delta = fit.query("x0 -> y"), fit.query("x0 -> y", interval="delta")
    assert there(usual.estimate).kind == "delta"
    assert usual.interval == delta.interval
    assert not usual.notes
    assert fit.params(as_frame=False) == fit.params(as_frame=False, interval="delta")


def test_the_interval_of_large_samples_warns_where_rows_are_few() -> None:
    fit, *_ = regression(12, 5, 1)
    (warning,) = fit.query("x0 -> y", interval="delta").notes
    assert (warning.code, warning.level) == ("too few rows", "doubt")
    assert (warning.facts["rows"], warning.facts["parameters"]) == (12.0, 6.0)


def test_a_sum_of_independent_estimates_takes_each_quantile() -> None:
    """Banerjee's interval: squares of quantiles weighted by variances; between the two, and exact for one."""
    alone = one_equation(10, 2)
    both = Support(np.array([[1.0, 3.0]]), np.array([[10.0, 500.0]]), np.array([2.0, 4.0]))
    grown = np.array([1.0 * 10 / 8, 3.0 * 500 / 496])
    t = np.array([stats.t.ppf(0.975, 8), stats.t.ppf(0.975, 496)])
    assert alone.quantiles(0.95)[0] == pytest.approx(t[0])
    assert alone.growth()[0] == pytest.approx(np.sqrt(10 / 8))
    assert both.quantiles(0.95)[0] == pytest.approx(np.sqrt((t**2 @ grown) / grown.sum()))
    assert t[1] < both.quantiles(0.95)[0] < t[0]
    assert np.isinf(one_equation(3, 3).quantiles(0.95)[0])


def test_a_district_that_adds_nothing_may_be_without_rows_to_spare() -> None:
    beside = Support(np.array([[0.0, 1.0]]), np.array([[5.0, 50.0]]), np.array([5.0, 3.0]))
    assert beside.quantiles(0.95)[0] == pytest.approx(stats.t.ppf(0.975, 47))
    assert beside.growth()[0] == pytest.approx(np.sqrt(50 / 47))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.9999])
def test_students_quantiles_have_all_their_digits(level: float) -> None:
    odds = 1.0 - level**2
    four = np.cos(np.arccos(np.sqrt(odds)) / 3.0) / np.sqrt(odds)
    closed = [np.tan(np.pi * level / 2.0), level * np.sqrt(2.0 / odds), 2.0 * np.sqrt(four - 1.0)]
    np.testing.assert_allclose(student_quantile(level, np.array([1.0, 2.0, 4.0])), closed, rtol=1e-11)
    free = np.array([0.3, 1.7, 39.0, 599.0, 1e6])
    np.testing.assert_allclose(stats.t.sf(student_quantile(level, free), free), 0.5 - level / 2.0, rtol=1e-11)


def test_quantiles_without_freedom_and_with_all_of_it() -> None:
    found = student_quantile(0.95, np.array([-1.0, 0.0, 1e-4, np.inf]))
    np.testing.assert_array_equal(found[:2], np.inf)
    assert found[2] > 1e90
    assert found[3] == pytest.approx(1.959963984540054, rel=1e-15)


def test_p_values_go_with_intervals() -> None:
    for free in (1.0, 4.0, 30.0):
        quantile = student_quantile(0.9, np.array(free))
        z = np.array([0.3, -2.0, 5.0])
        np.testing.assert_allclose(two_sided(z, quantile, 0.9), 2 * stats.t.sf(np.abs(z), free), rtol=1e-6)
    np.testing.assert_allclose(two_sided(np.array([1.0]), 1.959963984540054, 0.95), 2 * stats.norm.sf(1.0))


def test_a_table_has_the_intervals_of_single_questions() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=25)
    m = x + rng.normal(size=25)
    y = m + rng.normal(size=25)
    fit = ht.fit("x -> m -> y; x -> y", {"x": x, "m": m, "y": y})
    queries: list[Query] = [DirectEffect("x", "m"), TotalEffect("x", "y"), DirectEffect("m", "y")]
    slopes = Slopes.of([linearize(q, fit.model).values[0] for q in queries])
    for factor in (student_factor(fit, slopes, How()), suited_factor(fit, slopes, How(interval=None), together=False)):
        for k, query in enumerate(queries):
            single = estimate(fit, query, evaluate(query, fit.model), How(interval="t"))
            assert factor.errors()[k] == pytest.approx(single.errors[0], rel=1e-8)
            half = (single.intervals[0, 1] - single.intervals[0, 0]) / 2
            assert factor.reaches()[k] == pytest.approx(half, rel=1e-8)


def test_rows_that_lack_the_outcome_do_not_count() -> None:
    """y is seen in 6 of 100 rows: the regression of those 6 is all there is, and its degrees of freedom are 4."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=100)
    y = 0.5 * x + rng.normal(size=100)
    y[6:] = np.nan
    fit = ht.fit("x -> y", {"x": x, "y": y})
    se, _, low, high = textbook(x[:6, None], y[:6], 0)
    found = fit.query("x ~> y")
    assert support(fit, linearize(found.query, fit.model).values).free.min() == pytest.approx(4.0)
    assert found.se == pytest.approx(se, rel=1e-4)
    assert found.interval == pytest.approx((low, high), rel=1e-4)
    row = next(r for r in fit.params(as_frame=False) if (r.lhs, r.op) == ("y", "~"))
    assert (row.ci_low, row.ci_high) == pytest.approx((low, high), rel=1e-4)


def test_two_samples_that_share_no_row_have_rows_all_the_same() -> None:
    """z and x in one sample, z and y in the other: no row has both x and y, and the effect is known."""
    rng = np.random.default_rng(3)
    z, u = rng.normal(size=800), rng.normal(size=800)
    x = z + u + rng.normal(size=800)
    y = 0.5 * x + u + rng.normal(size=800)
    x[:400], y[400:] = np.nan, np.nan
    fit = ht.fit("z -> x -> y; x <-> y", {"z": z, "x": x, "y": y})
    rests = support(fit, linearize(TotalEffect("x", "y"), fit.model).values)
    assert rests.free.min() > 50.0


# -- clusters --------------------------------------------------------------------------------------


def clustered(count: int, size: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(count), size)
    x = rng.normal(size=count)[g] + rng.normal(size=len(g))
    y = 0.5 * x + rng.normal(size=count)[g] + rng.normal(size=len(g))
    return {"x": x, "y": y, "g": g}


def test_few_clusters_are_left_out_one_at_a_time() -> None:
    """The jackknife by its definition, and Student's t with one degree of freedom a cluster less one."""
    data = clustered(6, 15, 1)
    fit = ht.fit("x -> y", data, cluster="g")
    found = fit.query("x ~> y")
    slopes = []
    for k in range(6):
        x, y = (data[v][data["g"] != k] for v in "xy")
        slopes.append(np.polyfit(x, y, 1)[0])
    centre = np.polyfit(data["x"], data["y"], 1)[0]
    se = np.sqrt(5 / 6 * ((np.array(slopes) - centre) ** 2).sum())
    reach = stats.t.ppf(0.975, 5) * se
    assert there(found.estimate).kind == "jackknife"
    assert found.se == pytest.approx(se, rel=1e-8)
    assert found.interval == pytest.approx((centre - reach, centre + reach), rel=1e-8)
    row = next(r for r in fit.params(as_frame=False) if (r.lhs, r.op) == ("y", "~"))
    assert (row.ci_low, row.ci_high) == pytest.approx((centre - reach, centre + reach), rel=1e-8)
    table = fit.effects("total")
    assert list(table["ci_low"]) == pytest.approx([centre - reach], rel=1e-8)


def test_many_clusters_take_the_sandwich_and_few_warn_if_it_is_asked_for() -> None:
    assert there(ht.fit("x -> y", clustered(60, 5, 3), cluster="g").query("x ~> y").estimate).kind == "robust"
    few = ht.fit("x -> y", clustered(8, 20, 4), cluster="g").query("x ~> y", interval="robust")
    assert [n.code for n in few.notes] == ["too few clusters"]
    half = (interval_of(few)[1] - interval_of(few)[0]) / 2
    assert half == pytest.approx(stats.t.ppf(0.975, 7) * few.se)


def test_an_infinite_quantile_of_what_has_no_spread_is_no_number_lost() -> None:
    found = Factor.with_quantile(np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([np.inf, 2.0]))
    assert found.reach.tolist() == [[np.inf, 0.0], [4.0, 2.0]]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_the_quick_bound_of_a_quantile_is_one_and_is_close(level: float) -> None:
    free = np.concatenate([np.linspace(0.51, 5.0, 200), np.geomspace(5.0, 1e7, 400)])
    exact, bound = stats.t.ppf(0.5 + level / 2.0, free), largest_quantile(level, free)
    assert (bound >= exact * (1.0 - 1e-9)).all()
    assert (bound[free > 100] < exact[free > 100] * 1.001).all()
    assert np.isinf(largest_quantile(level, np.array([-1.0, 0.0, 0.5]))).all()


VARIANCES = st.just(0.0) | st.floats(1e-290, 10.0)  # of smaller ones no digits are left where they are multiplied


@given(
    st.lists(st.tuples(VARIANCES, st.floats(2.0, 500.0), st.integers(1, 20)), min_size=1, max_size=4),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_rows_are_plenty_by_the_bound_where_they_are_by_the_quantile(
    parts: list[tuple[float, float, int]], level: float
) -> None:
    variance, rows, parameters = (np.array(column, dtype=float) for column in zip(*parts, strict=True))
    rests = Support(variance[None], rows[None], parameters)
    assert (rests.plenty(level) == (rests.stretch(level) < PLENTY)).all()
