"""Uncertainty with missing values: against lavaan, differences, simulation; what is not determined has no interval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.choices import Interval
from halftrek.data import Patterns, read_patterns
from halftrek.data.missing.likelihood import loglik
from halftrek.errors import InputError
from halftrek.estimation import fit
from halftrek.estimation.given.options import Options
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.inference import measures, parameter_rows, standard_errors
from halftrek.inference.checks.robust_fit import robust_measures
from halftrek.inference.information.missing.incomplete import (
    intercepts_moved,
    moment_information,
    parameter_scores,
    pattern_information,
    row_scores,
    saturated_information,
)
from halftrek.queries import DirectEffect, TotalEffect
from halftrek.queries.gradients import linearize
from halftrek.results.fit import Fit
from tests.data.missing.test_patterns import by_rows
from tests.narrow import se_of, some

CASES = Path(__file__).parents[3] / "reference" / "cases"
FRONT_DOOR = Graph([("x", "m"), ("m", "y")], [("x", "y")])
WORDS = {
    "chi2": "chisq",
    "df": "df",
    "baseline_chi2": "baseline.chisq",
    "baseline_df": "baseline.df",
    "cfi": "cfi",
    "tli": "tli",
    "loglik": "logl",
    "saturated_loglik": "unrestricted.logl",
    "aic": "aic",
    "bic": "bic",
    "rmsea": "rmsea",
    "srmr": "srmr",
    "parameters": "npar",
}


def read_case(name: str) -> tuple[dict[str, Any], Fit]:
    case = json.loads((CASES / f"{name}.json").read_text())
    graph = case.get("graph") or case["syntax"]
    return case, ht.fit(ht.graph(graph), CASES / f"{name}.csv")


def incomplete(n: int, seed: int, share: float = 0.25) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    x = u + rng.normal(size=n)
    m = 1.0 + 0.8 * x + rng.normal(size=n)
    data = {"x": x, "m": m, "y": 2.0 + 0.5 * m + u + rng.normal(size=n)}
    for column in data.values():
        column[rng.random(n) < share] = np.nan
    return data


@pytest.mark.parametrize("name", ["s21_fiml_airquality", "fiml_front_door", "fiml_factor"])
def test_measures_are_lavaans(name: str) -> None:
    case, found = read_case(name)
    ours = measures(found).to_dict()
    theirs = {k.replace("_", "."): v for k, v in case["main" if "main" in case else "observed"]["fit"].items()}
    for word, key in WORDS.items():
        assert ours[word] == pytest.approx(theirs[key], abs=1e-4), word


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("s21_fiml_airquality", "main"),
        ("s21_fiml_airquality", "mlr"),
        ("fiml_front_door", "observed"),
        ("fiml_front_door", "expected"),
        ("fiml_front_door", "mlr"),
        ("fiml_factor", "observed"),
        ("fiml_factor", "expected"),
        ("fiml_factor", "mlr"),
    ],
)
def test_parameters_and_errors_are_lavaans(name: str, kind: str) -> None:
    """Observed information by default; expected; the sandwich."""
    case, found = read_case(name)
    if kind == "mlr":
        rows = parameter_rows(found, interval="robust")
    else:
        rows = parameter_rows(found, information="expected" if kind == "expected" else None)
    ours = {(r.lhs, r.op, r.rhs): r for r in rows}
    hidden = set(found.graph.latents)
    compared = 0
    for row in case[kind]["parameters"]:
        if row["lhs"] in hidden and row["op"] != "=~":
            continue  # lavaan lists the fixed variance and mean of a factor
        one = ours.get((row["lhs"], row["op"], row["rhs"])) or ours[row["rhs"], row["op"], row["lhs"]]
        assert one.est == pytest.approx(row["est"], rel=1e-4, abs=1e-5), row
        assert one.se == pytest.approx(row["se"], rel=1e-3), row
        compared += 1
    assert compared == len(rows)


def test_effects_and_scaled_tests_are_lavaans() -> None:
    case, found = read_case("s21_fiml_airquality")
    pairs: tuple[tuple[str, Interval], ...] = (("main", "delta"), ("mlr", "robust"))
    for kind, interval in pairs:
        answer = found.effect("Solar", "Ozone", interval=interval)
        assert answer.value == pytest.approx(case[kind]["effects"][0]["est"], rel=1e-5)
        assert answer.se == pytest.approx(case[kind]["effects"][0]["se"], rel=1e-3)
    scaled, theirs = robust_measures(found), case["mlr"]["fit"]
    assert scaled.scaling == pytest.approx(theirs["chisq_scaling_factor"], rel=1e-4)
    assert scaled.chi2_scaled == pytest.approx(theirs["chisq_scaled"], abs=1e-4)
    assert scaled.cfi_scaled == pytest.approx(theirs["cfi_scaled"], abs=1e-4)
    assert scaled.rmsea_scaled == pytest.approx(theirs["rmsea_scaled"], abs=1e-4)
    for name in ("fiml_front_door", "fiml_factor"):
        case, found = read_case(name)
        assert robust_measures(found).scaling == pytest.approx(case["mlr"]["fit"]["chisq.scaling.factor"], rel=1e-4)
    with pytest.raises(InputError, match="yuan-bentler"):
        robust_measures(found, "satorra-bentler")


GRAPHS = {
    "fiml_chain": "a -> b -> c -> d -> e; b <-> d",
    "fiml_factor": "latent F; F -> {a, b, c, d, e}; d -> e",
    "fiml_front_door": "x -> m -> y; x -> z; x <-> y",
}


@pytest.mark.parametrize("name", GRAPHS)
def test_scaled_indices_are_lavaans_and_robust_ones_are_near(name: str) -> None:
    """Of the robust ones several estimates are in use that differ in the third digit; ours and lavaan's are two."""
    theirs = json.loads((CASES.parent / "checks.json").read_text())["holes"][name]
    ours = ht.fit(GRAPHS[name], CASES / f"{name}.csv").measures(robust=True)
    for key, value in some(theirs.items()):
        assert ours[key] == pytest.approx(value, abs=4e-3 if "robust" in key else 1e-4), key


def test_robust_indices_of_rows_with_holes_are_those_of_complete_rows() -> None:
    """A misfit counts for as much as it would if nothing were missing; those of the likelihood look better."""
    rng = np.random.default_rng(1)
    a, u = rng.normal(size=(2, 8000))
    b = 0.8 * a + u + rng.normal(size=8000)
    c = 0.5 * b + rng.normal(size=8000)
    d = 0.6 * c + 0.15 * a + 0.7 * u + rng.normal(size=8000)
    X = np.stack([a, b, c, d, 0.4 * d + 0.15 * b + rng.normal(size=8000)])
    complete = ht.fit(GRAPHS["fiml_chain"], dict(zip("abcde", X, strict=True))).measures()
    X[rng.random(X.shape) < 0.3] = np.nan
    incomplete = ht.fit(GRAPHS["fiml_chain"], dict(zip("abcde", X, strict=True))).measures(robust=True)
    assert incomplete["rmsea_robust"] == pytest.approx(complete["rmsea"], rel=0.08)
    assert incomplete["rmsea_scaled"] < 0.85 * complete["rmsea"]
    assert 1.0 - incomplete["cfi_robust"] == pytest.approx(1.0 - complete["cfi"], rel=0.15)


def test_scores_of_rows_are_derivatives_and_sum_to_zero() -> None:
    data = incomplete(200, 2)
    found = ht.fit(FRONT_DOOR, data)
    table = np.stack([data[v] for v in found.model.names], axis=1)
    known = pattern_information(found)
    scores = parameter_scores(found).values(table - found.moments.mean, found.moments.cov)
    assert np.abs(scores.sum(axis=0)).max() < 1e-4 * np.abs(scores).sum(axis=0).max()
    space, theta, h = known.space, known.theta, 1e-6
    for i in (0, 7, 50):
        one = table[[i]]
        slopes = [
            (by_rows(one, *space.moments(theta + s)) - by_rows(one, *space.moments(theta - s))) / (2 * h)
            for s in np.eye(space.size) * h
        ]
        np.testing.assert_allclose(scores[i], np.linalg.solve(known.matrix, slopes), rtol=1e-4, atol=1e-5)


def test_removing_a_row_moves_the_answer_as_its_score_says() -> None:
    data = incomplete(2000, 3)
    found = ht.fit(FRONT_DOOR, data)
    table = np.stack([data[v] for v in found.model.names], axis=1)
    query = TotalEffect("x", "y")
    psi = row_scores(found, linearize(query, found.model).values).values(table - found.moments.mean, found.moments.cov)[
        :, 0
    ]
    for i in some(np.argsort(-np.abs(psi))[:3]):
        rest = ht.fit(FRONT_DOOR, {v: np.delete(c, i) for v, c in data.items()})
        change = rest.model.T[0, 1] * rest.model.T[1, 2] - found.model.T[0, 1] * found.model.T[1, 2]
        assert change == pytest.approx(-psi[i] / 2000, rel=0.05)


def test_errors_are_the_spread_of_estimates() -> None:
    query, values, errors = TotalEffect("x", "y"), [], []
    for seed in range(100):
        found = ht.fit(FRONT_DOOR, incomplete(300, 1000 + seed))
        values.append(found.model.T[0, 1] * found.model.T[1, 2])
        errors.append(standard_errors(found, query)[0][0])
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.2)
    hits = np.abs(np.array(values) - 0.4) < 1.96 * np.array(errors)
    assert 0.90 <= hits.mean() <= 0.99


def test_an_unrelated_corner_without_information_spoils_nothing() -> None:
    rng = np.random.default_rng(44)
    data = incomplete(500, 4)
    u = rng.normal(size=500)
    data["a"] = u + rng.normal(size=500)
    data["b"] = data["a"] + u + rng.normal(size=500)
    data["b"][rng.random(500) < 0.2] = np.nan
    graph = ht.graph("x -> m -> y; x <-> y; a -> b; a <-> b")
    both = ht.fit(graph, data)
    alone = ht.fit(FRONT_DOOR, {v: data[v] for v in "xmy"})
    query = TotalEffect("x", "y")
    assert standard_errors(both, query)[0][0] == pytest.approx(standard_errors(alone, query)[0][0], rel=1e-5)
    assert np.isnan(standard_errors(both, DirectEffect("a", "b"))[0][0])
    row = next(r for r in parameter_rows(both) if (r.lhs, r.op, r.rhs) == ("b", "~", "a"))
    assert np.isnan(row.est)
    assert "not determined" in row.note
    assert measures(both).parameters == measures(alone).parameters + 5  # a and b: two means, three covariances


def test_what_only_the_holes_leave_open_has_no_interval() -> None:
    """x and y are never seen together: the chain is known, the error covariance of x and y is not."""
    data = incomplete(600, 5, share=0.0)
    data["x"][:300], data["y"][300:] = np.nan, np.nan
    found = ht.fit(FRONT_DOOR, data)
    errors = {(r.lhs, r.op, r.rhs): r.se for r in parameter_rows(found)}
    assert np.isnan(errors["x", "~~", "y"])
    assert np.isfinite(errors["m", "~", "x"])
    chain = ht.fit("x -> m -> y", data)
    assert np.isfinite(se_of(chain.effect("x", "y")))
    assert measures(chain).df == 0  # the one constraint is on a covariance that no row shows


def test_fixed_and_equal_parameters() -> None:
    data = incomplete(400, 6)
    graph = ht.graph("x -> m [k]; m -> y [k]; x <-> y")
    found = ht.fit(graph, data, intercepts={"m": 1.0})
    rows = {(r.lhs, r.op, r.rhs): r for r in parameter_rows(found)}
    assert rows["m", "~", "x"].se == pytest.approx(rows["y", "~", "m"].se, rel=1e-12)
    assert rows["m", "~1", ""].note == "fixed"
    assert rows["m", "~1", ""].se == 0.0
    # a known coefficient leaves less to estimate
    free, known = ht.fit(FRONT_DOOR, data), ht.fit(FRONT_DOOR, data, coefficients={"x -> m": 0.8})
    query = TotalEffect("x", "y")
    assert standard_errors(known, query)[0][0] < standard_errors(free, query)[0][0]


def test_robust_errors_by_cluster() -> None:
    """Rows that come twice in a cluster count once: errors are those of the single rows."""
    data = incomplete(300, 8)
    twice = {v: np.repeat(c, 2) for v, c in data.items()}
    single = ht.fit(FRONT_DOOR, data).effect("x", "y", interval="robust").se
    clustered = ht.fit(FRONT_DOOR, twice, cluster=np.repeat(np.arange(300), 2)).effect("x", "y", interval="robust").se
    assert clustered == pytest.approx(single * np.sqrt(300 / 299), rel=1e-6)


def test_answers_say_what_was_used() -> None:
    data = incomplete(300, 9)
    table = np.isfinite(np.stack(list(data.values()), axis=1))
    rows, whole = int(table.any(axis=1).sum()), int(table.all(axis=1).sum())
    sentence = f"{rows} rows, {rows - whole} of them incomplete: {table.sum()} of {3 * rows} values used"
    left = f"{300 - rows} more without any value were left out"
    found = ht.fit(FRONT_DOOR, data)
    answer = found.query("P(y | do(x=1))")
    assert any(sentence in w and left in w for w in answer.warnings)
    assert "full-information maximum likelihood" in " ".join(found.summary().split())
    dropped = ht.fit(FRONT_DOOR, incomplete(300, 9), missing="drop")
    assert any("left out" in w for w in dropped.query("P(y | do(x=1))").warnings)


def test_a_saturated_model_has_no_misfit() -> None:
    data = incomplete(300, 10)
    found = read_patterns(data, ["x", "m", "y"])
    assert isinstance(found, Patterns)
    good = measures(fit(FRONT_DOOR, found))
    assert np.isfinite(good.chi2)
    assert good.df == 0
    assert good.chi2 == pytest.approx(0.0, abs=1e-5)
    assert good.pvalue is None


def test_information_about_free_moments_is_that_of_differences_whichever_way_it_is_found() -> None:
    """The observed one alone where it is clear; with the expected one where a pair is in no row."""
    patterns = read_patterns(incomplete(150, 3))
    assert isinstance(patterns, Patterns)
    known = saturated_information(patterns)
    assert known is not None
    assert known.flat.shape[1] == 0

    def value(theta: np.ndarray) -> float:
        return loglik(patterns, *known.space.moments(theta))

    h = 1e-4 * np.eye(known.space.size)
    wanted = np.array(
        [
            [value(known.theta + a + b) - value(known.theta + a - b) - value(known.theta - a + b) for b in h]
            for a in h
        ]
    )  # fmt: skip
    wanted += np.array([[value(known.theta - a - b) for b in h] for a in h])
    np.testing.assert_allclose(known.matrix, -wanted / 4e-8 / patterns.total, atol=2e-4 * np.abs(known.matrix).max())
    assert np.linalg.eigvalsh(known.inner)[0] > 0.0


def test_a_pair_that_no_row_has_is_flat_among_the_free_moments() -> None:
    rows = incomplete(200, 4)
    first, second = list(rows)[:2]
    half = np.arange(200) < 100
    rows[first] = np.where(half, rows[first], np.nan)
    rows[second] = np.where(half, np.nan, rows[second])
    patterns = read_patterns(rows)
    assert isinstance(patterns, Patterns)
    start = patterns.warm
    found = moment_information(patterns, start, "observed")
    assert found.flat.shape[1] == 1
    names = list(patterns.names)
    pair = {names.index(first), names.index(second)}
    (at,) = (int(a) for i, j, a in found.space.W_at if {int(i), int(j)} == pair)
    assert np.argmax(np.abs(found.flat[:, 0])) == at


def test_directions_about_the_mean_are_those_of_intercepts_that_follow_coefficients() -> None:
    space = make_space(Graph([("a", "b"), ("b", "c"), ("a", "c")]), ("a", "b", "c"), Options())
    rng = np.random.default_rng(0)
    theta, along, mean, h = (
        rng.normal(size=space.size),
        rng.normal(size=(2, space.size)),
        np.array([3.0, -2.0, 5.0]),
        1e-6,
    )

    def back(point: np.ndarray) -> np.ndarray:
        """From intercepts of values about the mean to those of the values."""
        found, T = point.copy(), space.arrays(point)[0]
        found[space.mu_at[:, 2]] += (mean - mean @ T)[space.mu_at[:, 0]]
        return found

    wanted = [(back(theta + h * one) - back(theta - h * one)) / (2 * h) for one in along]
    np.testing.assert_allclose(intercepts_moved(space, mean, along), wanted, atol=1e-8)
    np.testing.assert_array_equal(intercepts_moved(space, 0.0 * mean, along), along)
