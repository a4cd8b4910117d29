"""The whole walk, as users call it: text and data of every kind in, answers and clear errors out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import halftrek as ht
from tests.narrow import array, interval_of, number, se_of, there, value_of

FRONT_DOOR = "x1 -> x2 -> x3; x1 <-> x3"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    u, e = rng.normal(size=400), rng.normal(size=(400, 3))
    x1 = u + e[:, 0]
    x2 = 0.5 * x1 + e[:, 1]
    x3 = 0.9 * x2 - u + e[:, 2]
    return pd.DataFrame({"x1": x1, "x2": x2, "x3": x3})


def test_graph_from_text_path_networkx_and_itself(tmp_path: Path) -> None:
    g = ht.graph(FRONT_DOOR)
    path = tmp_path / "graph.txt"
    path.write_text(FRONT_DOOR)
    assert ht.graph(path) == ht.graph(str(path)) == ht.graph(g.to_networkx()) == ht.graph(g) == g
    with pytest.raises(ht.InputError, match=r"nowhere\.txt"):
        ht.graph(tmp_path / "nowhere.txt")
    with pytest.raises(ht.InputError, match="list"):
        ht.graph(["x", "y"])


def test_every_kind_of_data_gives_the_same_fit(frame: pd.DataFrame, tmp_path: Path) -> None:
    import duckdb
    import pyarrow

    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet")
    sources = [
        frame,
        frame[["x3", "x1", "x2"]],
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        frame.to_numpy(),
        frame.to_dict("list"),
        pyarrow.Table.from_pandas(frame),
        duckdb.from_df(frame),
        str(tmp_path / "d.csv"),
        tmp_path / "d.parquet",
        ht.moments(frame),
    ]
    expected = ht.fit(FRONT_DOOR, frame)
    for source in sources:
        found = ht.fit(FRONT_DOOR, source)
        assert found.loglik == pytest.approx(expected.loglik, rel=1e-12)
        assert found.effect("x1", "x3").value == pytest.approx(expected.effect("x1", "x3").value, rel=1e-9)


def test_covariance_with_names_triangle_and_divisor(frame: pd.DataFrame) -> None:
    expected = ht.fit(FRONT_DOOR, frame)
    n = len(frame)
    cov, mean = frame.cov(ddof=0), frame.mean()
    assert ht.fit(FRONT_DOOR, cov=cov, n=n, mean=mean).loglik == pytest.approx(expected.loglik)
    lower = [list(cov.to_numpy()[i, : i + 1]) for i in range(3)]
    assert ht.fit(FRONT_DOOR, cov=lower, n=n).loglik == pytest.approx(expected.loglik)
    sample = ht.fit(FRONT_DOOR, cov=frame.cov(), n=n, divisor="n-1")
    assert sample.loglik == pytest.approx(expected.loglik)
    assert any("deviations" in w for w in sample.query("P(x3 | do(x1=1))").warnings)
    assert not sample.query("x1 ~> x3").warnings
    turned = ht.fit(FRONT_DOOR, cov=cov.to_numpy()[::-1, ::-1], n=n, names=["x3", "x2", "x1"])
    assert turned.effect("x1", "x3").value == pytest.approx(expected.effect("x1", "x3").value)


def test_rows_with_names_are_never_taken_in_the_wrong_order() -> None:
    """A sample knows its columns, whatever order the graph's text puts the variables in."""
    model = ht.catalog("front-door").model
    rows = model.sample(2000, random_state=0)
    straight = ht.fit("latent U; X1 -> X2 -> X3; U -> {X1, X3}", rows)
    turned = ht.fit("latent U; X2 -> X3; X1 -> X2; U -> {X3, X1}", rows)
    assert turned.graph.observed != straight.graph.observed
    assert turned.effect("X1", "X3").value == pytest.approx(straight.effect("X1", "X3").value)


def test_answers_hold_mean_variance_and_verdict(frame: pd.DataFrame) -> None:
    fit = ht.fit(FRONT_DOOR, frame)
    one = fit.query("P(x3 | do(x1=1))")
    assert isinstance(one.mean, float)
    assert isinstance(one.variance, float)
    assert one.identified
    assert one.method == "front-door"
    assert there(one.distribution).names == ("x3",)
    assert "x3" in str(one)
    several = fit.query("P(x3, x2 | do(x1=1))")
    assert array(several.mean).shape == array(several.variance).shape == (2,)
    assert there(several.cov).shape == (2, 2)
    slope = fit.query("P(x3 | do(x1=2))").mean - one.mean
    assert slope == pytest.approx(fit.effect("x1", "x3").value)
    assert fit.effect("x1 -> x2 -> x3").value == pytest.approx(slope)
    assert fit.query("x1 ~> x3").variance is None
    assert fit.query("x1 <-> x3").value == pytest.approx(fit.model.omega[0, 2])


def test_answers_come_with_errors_and_intervals(frame: pd.DataFrame) -> None:
    fit = ht.fit(FRONT_DOOR, frame)
    one = fit.query("P(x3 | do(x1=1))")
    low, high = interval_of(one)
    assert low < one.mean < high
    assert high - low == pytest.approx(2 * 1.959964 * se_of(one), rel=1e-6)
    ends = one.variance_interval
    assert isinstance(ends, tuple)
    assert 0 < ends[0] < number(one.variance) < ends[1]
    wider = fit.query("P(x3 | do(x1=1))", level=0.99)
    assert interval_of(wider)[0] < low
    assert high < interval_of(wider)[1]
    assert "95% interval" in str(one)
    effect = fit.effect("x1", "x3")
    assert se_of(effect) > 0
    assert effect.variance_interval is None
    several = fit.query("P(x3, x2 | do(x1=1))")
    assert array(several.se).shape == (2,)
    assert array(several.interval).shape == array(several.variance_interval).shape == (2, 2)
    observed = fit.query("x1 ~> x3", information="observed")
    assert observed.se == pytest.approx(effect.se, rel=0.2)
    with pytest.raises(ht.InputError, match="level"):
        fit.query("x1 ~> x3", level=95)
    assert fit.model.query("x1 ~> x3").se is None


def test_the_adjusted_effect_is_right_and_the_naive_one_is_not(frame: pd.DataFrame) -> None:
    fit = ht.fit(FRONT_DOOR, frame)
    naive = np.polyfit(frame.x1, frame.x3, 1)[0]
    assert fit.effect("x1", "x3").value == pytest.approx(0.45, abs=0.15)
    assert abs(naive - 0.45) > 0.3


def test_unidentified_is_refused_with_a_witness_and_does_not_spoil_the_rest(frame: pd.DataFrame) -> None:
    wide = frame.assign(a=frame.x1 * 0.3 + np.arange(400) % 7, b=np.arange(400) % 11 + frame.x2)
    fit = ht.fit(f"{FRONT_DOOR}; a -> b; a <-> b", wide)
    assert fit.converged
    alone = ht.fit(FRONT_DOOR, frame)
    assert fit.effect("x1", "x3").value == pytest.approx(alone.effect("x1", "x3").value, abs=1e-8)
    with pytest.raises(ht.NotIdentifiedError) as caught:
        fit.effect("a", "b")
    assert caught.value.verdict.status == "not identified"
    first, second = caught.value.verdict.witness
    np.testing.assert_allclose(first.cov, second.cov, atol=1e-10)
    assert abs(first.total_effect("a", "b") - second.total_effect("a", "b")) > 1e-3


def test_several_values_are_refused_too() -> None:
    case = ht.catalog("f01")
    question = next(q for q, known in case.verdicts.items() if known["linear"] == "finite")
    fit = ht.fit(case.graph, cov=case.model.cov, n=500)
    with pytest.raises(ht.NotIdentifiedError) as caught:
        fit.query(question)
    assert caught.value.verdict.status == "finite"
    assert caught.value.verdict.degree == 2


def test_given_models_answer_exactly() -> None:
    scm = ht.CGLSCM.from_parameters(names=["x", "y"], T=[[0, 2], [0, 0]], mu=[0, 1], omega={("x", "y"): 0.5})
    assert scm.query("P(y | do(x=3))").mean == 7.0
    assert scm.query("x -> y").value == 2.0
    assert scm.query("P(y | do(x=3))").method == "given model"
    assert ht.catalog("napkin").model.query("P(X4 | do(X3=1))").variance == pytest.approx(1.16)


def test_a_likelihood_with_a_ridge_is_climbed_from_the_formula_and_warned_of() -> None:
    """From regressions the fit runs off along a ridge; the formula that identifies V1 -> V2 leads to the peak."""
    import json
    from pathlib import Path

    from halftrek.estimation import fit as fit_moments

    case = json.loads((Path(__file__).parent / "reference" / "cases" / "r004_linid.json").read_text())
    g = ht.Graph(case["graph"]["directed"], case["graph"]["bidirected"], observed=case["graph"]["observed"])
    data = ht.Moments(g.observed, case["sample"]["n"], case["sample"]["mean"], case["sample"]["covariance"])
    ridge = fit_moments(g, data)
    assert ridge.status.code == "no finite maximum"
    peak = ht.fit(g, data)
    assert peak.converged
    assert peak.loglik > ridge.loglik + 0.5
    answer = peak.effect("V3", "V6")
    assert any("a better one may be missing" in w for w in answer.warnings)
    assert value_of(answer) == pytest.approx(case["total_effect"], abs=3 * se_of(answer))


def test_weak_instruments_reach_the_ratio_that_is_their_maximum() -> None:
    for c, cy, r in ((0.1, 0.5, 0.9), (0.015, 0.5, 0.0), (0.003, -0.3, 0.0), (0.00316, 0.00632, -0.9)):
        fit = ht.fit("z -> x -> y; x <-> y", cov=[[1, c, cy], [c, 1, r], [cy, r, 1]], n=500, names=["z", "x", "y"])
        assert fit.model.T[1, 2] == pytest.approx(cy / c, rel=1e-4)


def bad_frames(frame: pd.DataFrame) -> dict[str, tuple[object, str]]:
    hole, infinite, text = frame.copy(), frame.copy(), frame.astype({"x2": object})
    hole.loc[3, "x2"] = np.nan
    infinite.loc[3, "x2"] = np.inf
    text.loc[3, "x2"] = "abc"
    doubled = frame.copy()
    doubled.columns = ["x1", "x2", "x2"]
    return {
        "unknown column": (frame.rename(columns={"x2": "X2"}), "no column 'x2'"),
        "constant": (frame.assign(x2=1.0), "'x2' is constant"),
        "duplicate column": (frame.assign(x2=frame.x1), "'x1' and 'x2' are perfectly correlated"),
        "collinear parents": (frame.assign(x2=frame.x1 + frame.x3), "collinear"),
        "same name twice": (doubled, "2 columns named 'x2'"),
        "no value": (hole.assign(x2=np.nan), "column 'x2' has no value"),
        "infinite": (infinite, "'x2' holds an infinite value"),
        "text": (text, "'x2'"),
        "too few rows": (frame.iloc[:2], "too few"),
        "no rows": (frame.iloc[:0], "no rows"),
        "too few columns": (frame.to_numpy()[:, :2], "2 columns and the graph 3 variables"),
        "one dimension": (frame.to_numpy()[:, 0], "2 dimensions"),
        "no such file": ("nowhere.csv", r"nowhere\.csv"),
        "number": (12, "int"),
    }


@pytest.mark.parametrize("name", list(bad_frames(pd.DataFrame({"x1": [1.0] * 9, "x2": [2.0] * 9, "x3": [3.0] * 9}))))
def test_bad_data_name_the_variable_and_the_fix(frame: pd.DataFrame, name: str) -> None:
    data, message = bad_frames(frame)[name]
    with pytest.raises(ht.DataError, match=message):
        ht.fit(FRONT_DOOR, data)


def test_missing_rows_can_be_left_out(frame: pd.DataFrame) -> None:
    incomplete = frame.copy()
    incomplete.loc[[3, 7], "x2"] = np.nan
    with pytest.raises(ht.DataError, match="missing values, in x2"):
        ht.fit(FRONT_DOOR, incomplete, missing="error")
    assert ht.fit(FRONT_DOOR, incomplete).n == 400
    fit = ht.fit(FRONT_DOOR, incomplete, missing="drop")
    assert fit.n == 398
    assert fit.loglik == pytest.approx(ht.fit(FRONT_DOOR, frame.drop([3, 7])).loglik)


@pytest.mark.parametrize("content", ["", "x1,x2,x3\n", "x1,x2,x3\n1,2\n", "x1,x2,x3\n1,a,3\n2,b,4\n3,c,5\n4,d,6\n"])
def test_bad_files_are_data_errors(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(ht.DataError):
        ht.fit(FRONT_DOOR, path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either data or cov"),
        ({"cov": np.eye(3)}, "n is missing"),
        ({"cov": np.eye(2), "n": 10}, "3 names"),
        ({"cov": [[1, 0.9, 0.9], [0.9, 1, -0.9], [0.9, -0.9, 1]], "n": 99}, "positive definite"),
        ({"cov": [[1, 0.5, 0], [0.4, 1, 0], [0, 0, 1]], "n": 99}, "symmetric"),
        ({"cov": [[1, 0, 0], [0, -1, 0], [0, 0, 1]], "n": 99}, "x2"),
        ({"cov": np.eye(3), "n": 10, "data": np.eye(3)}, "either data or cov"),
        ({"data": np.random.default_rng(0).normal(size=(9, 3)), "n": 9}, "n and mean go with cov"),
    ],
)
def test_bad_covariances_are_explained(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ht.DataError, match=message):
        ht.fit(FRONT_DOOR, **options)


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        ("P(x3 | do(x9=1))", ht.QueryError, "no variable 'x9'"),
        ("P(x3 | do(x1))", ht.QueryError, "'x1' has no value"),
        ("P(x3 do x1)", ht.QuestionSyntaxError, "do"),
        ("x1 -> x3", ht.QueryError, "no edge"),
        ("", ht.QuestionSyntaxError, "empty"),
        (12, ht.QueryError, "int"),
    ],
)
def test_bad_questions_are_explained(frame: pd.DataFrame, question: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ht.fit(FRONT_DOOR, frame).query(question)


def test_literal_algorithm_through_the_front_door() -> None:
    model = ht.catalog("front-door")
    rows = model.model.sample(5000, random_state=2)
    literal = ht.fit(model.graph, rows, method="cgl-go")
    exact = ht.fit(model.graph, rows, noise="unit")
    assert literal.converged
    assert literal.loglik == pytest.approx(exact.loglik, abs=1e-2)
    assert literal.effect("X1", "X3").value == pytest.approx(exact.effect("X1", "X3").value, abs=2e-3)


def test_unit_and_free_noise_through_the_front_door() -> None:
    model = ht.catalog("napkin")
    rows = model.model.sample(5000, random_state=2)
    free, unit = ht.fit(model.graph, rows), ht.fit(model.graph, rows, noise="unit")
    assert unit.loglik <= free.loglik
    assert (unit.model.psi == 1).all()


def test_batch_through_the_front_door() -> None:
    entry = ht.catalog("napkin")
    sets = [ht.moments(entry.model.sample(1000, random_state=i)) for i in range(5)]
    many = ht.fit_batch(entry.graph, sets)
    assert len(many) == 5
    assert many.converged.all()
    assert many.total_effect("X3", "X4")[2] == pytest.approx(ht.fit(entry.graph, sets[2]).effect("X3", "X4").value)


def test_a_remark_on_an_edge_is_no_constraint(frame: pd.DataFrame) -> None:
    plain = ht.fit("digraph { x1 -> x2; x2 -> x3 }", frame).effect("x1", "x3").value
    remarked = ht.fit('digraph { x1 -> x2 [label=positive]; x2 -> x3 [label="positive"] }', frame)
    assert remarked.effect("x1", "x3").value == plain


def test_data_that_contradict_the_graph_are_pointed_out(frame: pd.DataFrame) -> None:
    broken = frame.assign(x3=frame.x2 - 2 * frame.x1)
    broken.x3 += np.random.default_rng(1).normal(size=len(frame))
    answer = ht.fit("x1 -> x2 -> x3", broken).effect("x1", "x3")
    assert any("contradict" in w for w in answer.warnings)
    assert not ht.fit(FRONT_DOOR, frame).effect("x1", "x3").warnings


def test_a_covariance_given_as_rows_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(ht.DataError, match="cov=matrix"):
        ht.fit(FRONT_DOOR, frame.cov())


def test_a_column_may_be_called_read(frame: pd.DataFrame) -> None:
    assert ht.fit("read -> x2", frame.rename(columns={"x1": "read"})).converged


def test_a_missing_graph_file_is_no_variable() -> None:
    with pytest.raises(ht.InputError, match=r"no file 'graph\.txt'"):
        ht.graph("graph.txt")


def test_one_column_is_refused(frame: pd.DataFrame) -> None:
    for column in (frame.x1, pl.from_pandas(frame)["x1"]):
        with pytest.raises(ht.DataError, match="one column"):
            ht.fit(FRONT_DOOR, column)


def test_a_batch_takes_frames_too(frame: pd.DataFrame) -> None:
    many = ht.fit_batch(FRONT_DOOR, [frame, frame.iloc[:300]])
    assert many.total_effect("x1", "x3")[0] == pytest.approx(ht.fit(FRONT_DOOR, frame).effect("x1", "x3").value)


def test_the_first_loading_of_a_hidden_cause_is_positive() -> None:
    model = ht.CGLSCM.from_parameters(names=list("abcd"), T=np.zeros((4, 4)), C=[[-1, -0.8, 0.7, -0.9]])
    fit = ht.fit(model.graph, model.sample(500, random_state=0))
    assert fit.model.C[0, 0] > 0 > fit.model.C[0, 2]


def test_rows_left_out_are_counted_aloud(frame: pd.DataFrame) -> None:
    incomplete = frame.copy()
    incomplete.loc[[3, 7], "x2"] = np.nan
    fit = ht.fit(FRONT_DOOR, incomplete, missing="drop")
    assert "2 more left out" in fit.summary()
    assert any("2 rows" in w for w in fit.effect("x1", "x3").warnings)


def clustered_rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    shared = np.repeat(rng.normal(size=40), 10)
    x = shared + 0.5 * rng.normal(size=400)
    y = 0.5 * x + np.repeat(rng.normal(size=40), 10) + 0.5 * rng.normal(size=400)
    return pd.DataFrame({"x": x, "y": y, "clinic": np.repeat(np.arange(40), 10)})


def test_rows_in_clusters_get_intervals_that_count_them() -> None:
    found = ht.fit("x -> y", clustered_rows(), cluster="clinic")
    usual, naive = found.effect("x", "y"), found.effect("x", "y", interval="delta")
    assert there(usual.estimate).kind == "jackknife"
    assert usual.se == pytest.approx(found.effect("x", "y", interval="robust").se, rel=0.15)
    assert se_of(usual) > 1.5 * se_of(naive)
    assert "clusters of rows are independent" in usual.explain()
    assert any("clusters" in w for w in naive.warnings)
    assert not any("clusters" in w for w in usual.warnings)
    table = found.params()
    assert float(table.se[(table.lhs == "y") & (table.op == "~")].iloc[0]) == pytest.approx(usual.se)


def test_few_rows_are_said_to_be_few() -> None:
    rows = clustered_rows()[["x", "y"]]
    few = ht.fit("x -> y", rows[:12])
    assert "Student's t with 10 degrees of freedom" in str(few.effect("x", "y"))
    assert not few.effect("x", "y").warnings
    assert any("12 rows inform this answer" in w for w in few.effect("x", "y", interval="delta").warnings)
    assert not ht.fit("x -> y", rows).effect("x", "y").notes


def test_no_test_of_fit_where_rows_are_no_more_than_variables() -> None:
    found = ht.fit("x -> m -> y", {"x": [1.0, 2, 3], "m": [1.0, 2, 2], "y": [0.0, 1, 5]}).measures()
    assert np.isnan(found["chi2"])
    assert found["pvalue"] is None
