"""Sampling weights: as lavaan has it, as the textbook's sandwich, and the same whatever they are multiplied by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import Interval, RobustTest
from halftrek.data import read_moments
from halftrek.errors import DataError, InputError
from halftrek.inference import robust_errors
from halftrek.inference.draws.bootstrap import acceleration
from halftrek.inference.draws.resample import draw_rows
from halftrek.inference.evidence.row_needs import left_out, needs_rows
from halftrek.inference.evidence.rows_behind import data_notes
from halftrek.queries import TotalEffect
from halftrek.results.fit import Fit
from tests.inference.information.test_robust import DATA, MODELS, QUERIES, SEEN, X, textbook
from tests.narrow import array, some

HERE = Path(__file__).parents[2] / "reference" / "sampling_weights"
LAVAAN: dict[str, Any] = json.loads((HERE / "sampling_weights.json").read_text())
ROWS = pd.read_csv(HERE / "sampling_weights.csv")
INCOMPLETE = ROWS[["xh", "zh", "mh", "yh", "w", "g"]].rename(columns={f"{v}h": v for v in "xzmy"})
GRAPH = "x -> m -> y; z -> y; x -> z"
CASES: dict[str, dict[str, Any]] = {
    "plain": {"data": ROWS},
    "cluster": {"data": ROWS, "cluster": "g"},
    "drop": {"data": INCOMPLETE, "missing": "drop"},
    "fiml": {"data": INCOMPLETE},
    "fiml_cluster": {"data": INCOMPLETE, "cluster": "g"},
}
QUESTIONS = ("x ~> y", "E[y | do(m=1)]", "Var[y | do(m=1)]")


def fitted(case: str, factor: float = 1.0) -> Fit:
    options = CASES[case]
    return ht.fit(GRAPH, sampling_weights=factor * options["data"]["w"], **options)


@pytest.mark.parametrize("case", sorted(CASES))
def test_estimates_and_errors_equal_lavaan(case: str) -> None:
    found = fitted(case)
    assert found.n == LAVAAN[case]["n"]
    rows = {(r.op, frozenset((r.lhs, r.rhs))): r for r in found.params(interval="robust").itertuples()}
    for lhs, op, rhs, estimate, error in LAVAAN[case]["parameters"]:
        assert rows[op, frozenset((lhs, rhs))].est == pytest.approx(estimate, rel=1e-5)
        assert rows[op, frozenset((lhs, rhs))].se == pytest.approx(error, rel=1e-5)
    assert found.loglik == pytest.approx(LAVAAN[case]["measures"]["logl"], abs=1e-6)


@pytest.mark.parametrize("case", sorted(CASES))
def test_scaled_tests_equal_lavaan(case: str) -> None:
    found, theirs_found = fitted(case).measures(robust=True), LAVAAN[case]["measures"]
    for ours, theirs in {
        "chi2": "chisq",
        "scaling": "chisq.scaling.factor",
        "chi2_scaled": "chisq.scaled",
        "baseline_scaling": "baseline.chisq.scaling.factor",
        "rmsea_scaled": "rmsea.scaled",
    }.items():
        assert found[ours] == pytest.approx(theirs_found[theirs], rel=1e-5), ours
    if "fiml" not in case:
        assert found["cfi_robust"] == pytest.approx(theirs_found["cfi.robust"], rel=1e-5)
        assert found["rmsea_robust"] == pytest.approx(theirs_found["rmsea.robust"], rel=1e-5)


@pytest.mark.parametrize("case", sorted(CASES))
def test_nothing_moves_when_all_weights_are_multiplied(case: str) -> None:
    one, other = fitted(case), fitted(case, 1e5)
    assert other.n == one.n
    assert other.loglik == pytest.approx(one.loglik, rel=1e-12)
    every: tuple[dict[str, Any], ...] = ({}, {"interval": "bootstrap", "replicates": 20})
    for question in QUESTIONS:
        for drawn in every:
            a, b = (f.query(question, **drawn) for f in (one, other))
            assert b.value == pytest.approx(a.value, rel=1e-9)
            assert b.se == pytest.approx(a.se, rel=1e-6)
    first, second = (f.measures(robust=True) for f in (one, other))
    assert second["chi2_scaled"] == pytest.approx(first["chi2_scaled"], rel=1e-6)
    assert second["cfi_scaled"] == pytest.approx(first["cfi_scaled"], rel=1e-6)


def test_equal_weights_are_no_weights() -> None:
    plain, even = ht.fit(GRAPH, ROWS), ht.fit(GRAPH, ROWS, sampling_weights=np.full(len(ROWS), 7.3))
    assert even.n == plain.n
    np.testing.assert_allclose(even.params()["se"], plain.params(interval="robust")["se"], rtol=1e-10)
    tests: tuple[RobustTest, ...] = ("yuan-bentler", "satorra-bentler")
    for test in tests:
        ours, theirs = (f.measures(robust=test)["scaling"] for f in (even, plain))
        assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_errors_equal_the_textbook(name: str) -> None:
    """The sandwich with ``w²`` in the middle and ``w`` in the bread, by differences of the weighted likelihood."""
    graph, options = MODELS[name]
    weights = np.random.default_rng(4).exponential(size=len(X)) + 0.1
    clusters = np.random.default_rng(3).integers(0, 30, len(X))
    plain = ht.fit(graph, DATA, sampling_weights=50.0 * weights, **options)
    grouped = ht.fit(graph, DATA, sampling_weights=weights, cluster=clusters, **options)
    even = weights / weights.mean()
    for query in some([SEEN] if name == "factor" else QUERIES[:2]):
        ours = np.concatenate(robust_errors(plain, query))
        np.testing.assert_allclose(ours, textbook(plain, query, weights=even), rtol=5e-4)
        ours = np.concatenate(robust_errors(grouped, query))
        np.testing.assert_allclose(ours, textbook(grouped, query, clusters, weights=even), rtol=5e-4)


def test_the_bootstrap_draws_rows_and_not_weights() -> None:
    """A row is drawn as often as any other, and the replicates vary as much as the sandwich says."""
    for case, replicates in (("plain", 800), ("cluster", 800), ("fiml", 120)):
        found = fitted(case)
        drawn = found.query("m ~> y", interval="bootstrap", replicates=replicates)
        assert drawn.se == pytest.approx(found.query("m ~> y").se, rel=0.2)
    weights = np.where(np.arange(400) < 2, 1000.0, 1.0)
    n = draw_rows(ht.fit("a -> b", DATA, sampling_weights=weights), 2000, np.random.default_rng(0)).n
    without_both = np.exp(-2.0)  # of two rows among 400, none is among 400 drawn
    assert (n * weights.mean() < 401.0).mean() == pytest.approx(without_both, abs=0.03)


def test_ends_corrected_for_acceleration_know_the_weights() -> None:
    found = fitted("plain")
    (found_one,) = acceleration(found, TotalEffect("m", "y"), "bootstrap")
    X1 = np.column_stack([np.ones(len(ROWS)), ROWS["m"], ROWS["z"]])
    w = ROWS["w"].to_numpy()
    slopes = np.linalg.solve((X1 * w[:, None]).T @ X1, (X1 * w[:, None]).T @ ROWS["y"])
    inner = np.linalg.inv((X1 * w[:, None]).T @ X1)[1]
    moved = w * (ROWS["y"] - X1 @ slopes) * (X1 @ inner)
    assert found_one == pytest.approx((moved**3).sum() / (6.0 * (moved**2).sum() ** 1.5), rel=1e-6)


def test_the_default_is_robust_and_others_say_what_they_leave_out() -> None:
    found = ht.fit(f"{GRAPH}; x -> y; z -> m", ROWS, sampling_weights="w")  # all edges: nothing to contradict
    answer = found.query("x ~> y")
    assert answer.estimate is not None
    assert answer.estimate.kind == "robust"
    assert not answer.warnings
    (note,) = left_out(found, answer.query)
    assert note.code == "sampling weights ignored"
    assert "240 rows are worth 178" in str(note)
    without: tuple[Interval, ...] = ("delta", "sandwich", "parametric")
    with_them: tuple[Interval, ...] = ("robust", "profile", "bootstrap")
    for interval in without:
        assert note in found.query("x ~> y", interval=interval).notes
    for interval in with_them:
        assert note not in found.query("x ~> y", interval=interval).notes
    assert found.params(interval="delta")["note"].str.contains("sampling weights ignored").all()
    assert not found.params()["note"].str.contains("sampling").any()
    assert any("sampling" in str(note) for note in data_notes(found))
    delta = found.query("x ~> y", interval="delta")
    assert any("with their weights" in w for w in delta.warnings)


def test_without_rows_the_interval_says_so(tmp_path: Path) -> None:
    moments = read_moments(ROWS, list("xzmy"), sampling_weights="w")
    for one in (ht.fit(GRAPH, moments), ht.load(fitted("plain").save(tmp_path / "fit.json"))):
        assert not needs_rows(one)
        answer = one.query("x ~> y")
        assert answer.value == pytest.approx(fitted("plain").query("x ~> y").value, rel=1e-9)
        assert any("without the rows" in w for w in answer.warnings)
    whole = ht.load(fitted("fiml").save(tmp_path / "fit.json", rows=True))
    assert whole.query("x ~> y").se == pytest.approx(fitted("fiml").query("x ~> y").se, rel=1e-9)
    drawn = whole.query("x ~> y", replicates=20, interval="bootstrap")
    assert not any(note.code.startswith("sampling weights") for note in drawn.notes)


def test_checks_count_the_weights() -> None:
    """Tests, measures, residuals, indices and comparisons come from the rows, whatever the unit of weights."""
    one, other = fitted("plain"), fitted("plain", 1e5)
    assert "rows with sampling weights" in one.measures()["test"]
    for name in ("chi2", "pvalue", "cfi", "rmsea"):
        assert other.measures()[name] == pytest.approx(one.measures()[name], rel=1e-6), name
    assert one.measures()["chi2"] < fitted("plain").measures(robust=False)["chi2"]
    for table in ("tests", "residuals", "modifications"):
        first, second = (getattr(f, table)().select_dtypes("number").fillna(0.0) for f in (one, other))
        np.testing.assert_allclose(second, first, rtol=1e-5, atol=1e-9)
    smaller = [ht.fit("x -> m -> y; x -> z", ROWS, sampling_weights=k * ROWS["w"]) for k in (1.0, 1e5)]
    tests = [ht.compare({"small": s, "large": f}).tests for s, f in zip(smaller, (one, other), strict=True)]
    assert tests[0]["p"].tolist() == pytest.approx(tests[1]["p"].tolist(), rel=1e-6)
    with pytest.warns(UserWarning, match="sampling weights and are not at hand"):
        ht.fit(GRAPH, read_moments(ROWS, list("xzmy"), sampling_weights="w")).measures()


def test_a_true_model_is_rejected_as_often_as_promised() -> None:
    """Weights that vary a lot: 150 samples of 150 rows, at 5 percent; without regard to weights it is far more."""
    rng = np.random.default_rng(2)
    rejected = {"weights counted": 0, "not": 0}
    for _ in range(150):
        x = rng.normal(size=150)
        m = x + rng.normal(size=150)
        y = m + rng.normal(size=150)
        found = ht.fit("x -> m -> y", np.column_stack([x, m, y]), sampling_weights=rng.exponential(size=150) ** 2)
        rejected["weights counted"] += found.measures()["pvalue"] < 0.05
        rejected["not"] += found.measures(robust=False)["pvalue"] < 0.05
    assert rejected["not"] > 40
    assert 1 < rejected["weights counted"] < 16


def test_groups() -> None:
    labels = np.where(ROWS["x"] + np.sin(np.arange(len(ROWS))) > 0, "high", "low")
    fits: Any = ht.fit(GRAPH, ROWS, by=labels, sampling_weights="w")
    table = fits.query("x ~> y").set_index("group")
    joint = fits.query("P(y, z | do(m=1))").set_index(["group", "outcome"])
    for key in ("high", "low"):
        own = ht.fit(GRAPH, ROWS[labels == key], sampling_weights="w")
        assert table.loc[key, "se"] == pytest.approx(own.query("x ~> y").se, rel=1e-6)
        assert table.loc[key, "n"] == (labels == key).sum()
        errors = own.query("P(y, z | do(m=1))").se
        assert [joint.loc[(key, v), "se"] for v in "yz"] == pytest.approx(list(array(errors)), rel=1e-6)
    with pytest.raises(InputError, match="tests that groups are alike"):
        fits.invariance()
    incomplete: Any = ht.fit(GRAPH, INCOMPLETE, by=labels, sampling_weights=1e3 * INCOMPLETE["w"])
    for key, row in incomplete.query("x ~> y").set_index("group").iterrows():
        single = ht.fit(GRAPH, INCOMPLETE[labels == key], sampling_weights="w").query("x ~> y")
        assert row["estimate"] == pytest.approx(single.value, rel=1e-6)
        assert row["se"] == pytest.approx(single.se, rel=1e-6)
    alone = {k: read_moments(ROWS[labels == k], list("xzmy"), sampling_weights="w") for k in ("high", "low")}
    stacked: Any = ht.fit(GRAPH, alone)
    assert stacked.query("x ~> y")["status"].str.contains("sampling weights ignored").all()


def test_weights_that_are_not_what_they_are_said_to_be() -> None:
    with pytest.raises(DataError, match=r"'w' hold .*; weights= count rows .* sampling_weights='w'"):
        ht.fit(GRAPH, ROWS, weights="w")
    with pytest.raises(DataError, match="weights go with rows"):
        ht.fit("x -> y", cov=np.eye(2), n=10, sampling_weights="w")
    survey = ROWS.assign(w=np.rint(100 * ROWS["w"]).astype(int))
    (note,) = data_notes(ht.fit(GRAPH, survey, weights="w"))
    assert note.code == "counted rows"
    assert str(note).startswith("240 rows count as ")
    assert not data_notes(ht.fit(GRAPH, ROWS, weights=np.ones(240)))
