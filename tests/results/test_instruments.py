"""``fit.instruments``: the numbers of a table, its faces, and its refusals."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import InputError, NotIdentifiedError, QueryError
from halftrek.reporting.records import to_json
from tests.inference.instruments.plainly import PLACE, Plain, stored_rows

ROWS = pd.DataFrame(stored_rows())
CASES = {case["name"]: case for case in json.loads((PLACE / "instruments.json").read_text())["cases"]}
OUTER = "z1 <-> z2; z1 <-> z3; z2 <-> z3; w -> {z1, z2, z3}"
ONE = f"{{z1, z2, z3, w}} -> x1; x1 -> y; w -> y; x1 <-> y; {OUTER}"
TWO = f"{{z1, z2, z3, w}} -> {{x1, x2}}; {{x1, x2, w}} -> y; x1 <-> y; x2 <-> y; x1 <-> x2; {OUTER}"


def plain(clusters: bool = False) -> Plain:
    table = {v: np.asarray(ROWS[v]) for v in ROWS}
    groups = table["group"] if clusters else None
    tools = np.column_stack([table["z1"], table["z2"], table["z3"]])
    return Plain(table["y"], table["x1"][:, None], tools, table["w"][:, None], groups)


def test_all_together_and_each_alone() -> None:
    found = ht.fit(ONE, ROWS).instruments("x1 ~> y")
    assert [one.instruments for one in found.sets] == [("z1", "z2", "z3"), ("z1",), ("z2",), ("z3",)]
    assert (found.errors, found.strength_errors) == ("classical", "robust")
    case = CASES["one cause, three instruments"]
    whole, single = found.sets[0], found.sets[1]
    assert whole.tsls.value == pytest.approx(case["tsls"][0], rel=1e-8)
    assert whole.liml.value == pytest.approx(case["liml"][0], rel=1e-5)
    assert whole.tsls.se == pytest.approx(case["se"]["classical"][0], rel=1e-8)
    assert whole.partial_r2 == pytest.approx(case["partial_r2"][0], rel=1e-8)
    assert whole.overidentification is not None
    assert whole.overidentification.statistic == pytest.approx(case["sargan"][0], rel=1e-8)
    assert whole.effective_f == pytest.approx(plain().first_stage(0, True)[1], rel=1e-8)
    assert single.overidentification is None
    assert single.tsls.value == pytest.approx(single.liml.value, rel=1e-6)


def test_regression_is_the_regression() -> None:
    found = ht.fit(ONE, ROWS).instruments("x1 ~> y").sets[0].regression
    case = plain()
    slopes, cov = case.regression(case.y, np.column_stack([case.X, case.exogenous]), robust=False)
    assert found.value == pytest.approx(slopes[0], rel=1e-9)
    assert found.se == pytest.approx(np.sqrt(cov[0, 0]), rel=1e-2)  # of a large sample: divided by n


def test_clusters_are_counted_where_the_fit_has_them() -> None:
    found = ht.fit(ONE, ROWS, cluster="group").instruments("x1 ~> y")
    assert found.errors == found.strength_errors == "clustered"
    case, whole = CASES["one cause, three instruments"], found.sets[0]
    assert whole.tsls.se == pytest.approx(case["se"]["clustered"][0], rel=1e-8)
    assert whole.first_stage.statistic == pytest.approx(case["first_stage_f"]["clustered"][0], rel=1e-8)
    assert whole.first_stage.df2 == 47
    assert whole.overidentification is not None
    assert whole.overidentification.statistic == pytest.approx(case["hansen_j"]["clustered"], rel=1e-8)
    assert whole.effective_f == pytest.approx(plain(clusters=True).first_stage(0, True)[1], rel=1e-8)
    assert "Hansen J" in found.summary()
    assert found.sets[1].liml.se == pytest.approx(found.sets[1].tsls.se, rel=2e-2)  # the same estimate, by clusters too
    (weak,) = found.warnings
    assert "z1, z2, z3 (9.9, and 19.7 is needed); of z1 (18.7, and 23.1 is needed)" in weak


def test_robust_is_as_asked() -> None:
    fit, case = ht.fit(ONE, ROWS), CASES["one cause, three instruments"]
    table = plain()
    _, cov = table.regression(table.y, np.column_stack([table.X, table.exogenous]), robust=True)
    asked = fit.instruments("x1 ~> y", robust=True).sets[0].regression
    assert asked.se == pytest.approx(np.sqrt(cov[0, 0]), rel=1e-2)
    assert fit.instruments("x1 ~> y", robust=True).sets[0].tsls.se == pytest.approx(case["se"]["robust"][0], rel=1e-8)
    plainly = fit.instruments("x1 ~> y", robust=False)
    assert plainly.strength_errors == "classical"
    assert plainly.sets[0].effective_f == pytest.approx(plainly.sets[0].first_stage.statistic)


def test_two_causes() -> None:
    case = CASES["two causes, three instruments"]
    for k, cause in enumerate(("x1", "x2")):
        (one,) = [s for s in ht.fit(TWO, ROWS).instruments(f"{cause} -> y").sets if len(s.instruments) == 3]
        assert one.beside == (("x2",), ("x1",))[k]
        assert one.tsls.value == pytest.approx(case["tsls"][k], rel=1e-8)
        assert one.liml.value == pytest.approx(case["liml"][k], rel=1e-4)
        assert one.partial_r2 == pytest.approx(case["shea_r2"][k], rel=1e-8)
        assert np.isnan(one.effective_f)
        assert one.cragg_donald < one.first_stage.statistic
        assert np.isnan(one.tsls.interval[0])
        assert np.isfinite(one.liml.interval[0])


def test_an_effect_in_two_steps_has_an_equation_for_each() -> None:
    rng = np.random.default_rng(8)
    a, b, h, k = rng.normal(size=(4, 500))
    x = a + h + rng.normal(size=500)
    m = 0.5 * x + b + h + k
    y = 0.8 * m + a + k + h
    rows = {"a": a, "b": b, "x": x, "m": m, "y": y + rng.normal(size=500)}
    graph = "a -> x -> m; x <-> m; b -> m -> y; m <-> y; x <-> y; a -> y"
    found = ht.fit(graph, rows).instruments("x ~> y")
    assert [(one.effect, one.instruments, one.controls) for one in found.sets] == [
        ("x -> m", ("a",), ("b",)),
        ("m -> y", ("b",), ("a",)),
    ]
    text = found.summary()
    assert "controls of x -> m  b" in text
    assert "m -> y: (none)" in text


def test_moments_alone_do_and_say_what_they_cannot() -> None:
    fit = ht.fit(ONE, ht.moments(ROWS[["y", "x1", "z1", "z2", "z3", "w"]]))
    found = fit.instruments("x1 ~> y")
    assert found.errors == found.strength_errors == "classical"
    assert any(n.code == "instruments without rows" for n in found.notes)
    with pytest.raises(InputError, match="needs the rows"):
        fit.instruments("x1 ~> y", robust=True)


def test_rows_with_holes_are_those_that_have_all() -> None:
    incomplete = ROWS.copy()
    incomplete.loc[:39, "z2"] = np.nan
    found = ht.fit(ONE, incomplete).instruments("x1 ~> y")
    complete = ht.fit(ONE, incomplete, missing="drop").instruments("x1 ~> y")
    assert found.sets[0].n == 200
    assert found.sets[0].effective_f == pytest.approx(complete.sets[0].effective_f, rel=1e-9)
    assert any(n.code == "rows with all" for n in found.notes)


def test_sampling_weights_make_errors_robust() -> None:
    weighted = ROWS.assign(weight=1.0 + ROWS["group"] % 4)
    found = ht.fit(ONE, weighted, sampling_weights="weight").instruments("x1 ~> y")
    assert found.errors == "robust"
    again = ht.fit(ONE, weighted.assign(weight=7 * weighted["weight"]), sampling_weights="weight")
    assert again.instruments("x1 ~> y").sets[0].tsls.se == pytest.approx(found.sets[0].tsls.se, rel=1e-9)
    w = np.asarray(weighted["weight"])
    root = np.sqrt(w)
    case = plain()
    columns, tools = (np.column_stack([part, case.exogenous]) for part in (case.X, case.Z))
    fitted = tools @ np.linalg.lstsq(tools * root[:, None], columns * root[:, None], rcond=None)[0]
    bread = np.linalg.inv((fitted * w[:, None]).T @ fitted)
    slopes = bread @ (fitted * w[:, None]).T @ case.y
    scores = fitted * (w * (case.y - columns @ slopes))[:, None]
    error = np.sqrt((bread @ (scores.T @ scores) @ bread)[0, 0] * 240 / 237)
    assert found.sets[0].tsls.value == pytest.approx(slopes[0], rel=1e-8)
    assert found.sets[0].tsls.se == pytest.approx(error, rel=1e-8)


def test_strong_instruments_get_an_interval_from_the_standard_error() -> None:
    rng = np.random.default_rng(3)
    z, hidden = rng.normal(size=(2, 900))
    x = z + 0.5 * hidden + 0.5 * rng.normal(size=900)
    y = x + hidden + rng.normal(size=900)
    (one,) = ht.fit("z -> x -> y; x <-> y", {"z": z, "x": x, "y": y}).instruments("x -> y").sets
    assert one.effective_f > 100
    assert one.tsls.kind == "standard error"
    assert np.mean(one.tsls.interval) == pytest.approx(one.tsls.value)


def test_card_is_as_published() -> None:
    """Card (1995): 0.132 (0.055), by regression 0.075; first stage as in Kang, Jiang, Zhao and Small (2021)."""
    study = ht.dataset("card")
    (one,) = ht.fit(study.graph, study.path).instruments("educ -> lwage").sets
    assert one.tsls.value == pytest.approx(0.1315, abs=5e-5)
    assert one.tsls.se == pytest.approx(0.0550, abs=5e-5)
    assert one.first_stage.statistic == pytest.approx(13.25579, abs=5e-6)
    assert (one.first_stage.df1, one.first_stage.df2) == (1, 2994)
    assert one.first_stage.p == pytest.approx(0.00027634, abs=5e-9)
    assert one.partial_r2 == pytest.approx(0.004407934, abs=5e-10)
    assert one.regression.value == pytest.approx(0.0747, abs=5e-5)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ("w -> {x, y}; x -> y", "by back-door"),
        ("x -> m -> y; x <-> y", "by front-door"),
        ("w -> {x, y}; x -> y", "fit.adjustments"),
    ],
)
def test_another_way_is_named(graph: str, words: str) -> None:
    rng = np.random.default_rng(0)
    fit = ht.fit(graph, {v: rng.normal(size=50) for v in "wxmy" if v in graph})
    with pytest.raises(QueryError, match=words):
        fit.instruments("x ~> y")


def test_what_is_not_identified_is_refused_as_such() -> None:
    rng = np.random.default_rng(0)
    fit = ht.fit("x -> y; x <-> y", {v: rng.normal(size=50) for v in "xy"})
    with pytest.raises(NotIdentifiedError, match="not identified"):
        fit.instruments("x -> y")
    with pytest.raises(NotIdentifiedError, match="not identified"):
        fit.adjustments("x -> y")


def test_four_faces() -> None:
    found = ht.fit(ONE, ROWS).instruments("x1 ~> y")
    assert repr(found) == "Instruments(x1 ~> y: 4 sets of instruments, classical errors)"
    text = found.summary()
    assert str(found) == text
    assert max(map(len, text.splitlines())) <= 80
    for words in ("First stage", "Estimates", "Tests", "Anderson-Rubin", "Sargan", "Wu-Hausman"):
        assert words in text
        assert words in found._repr_html_()
    frame = found.frame()
    assert list(frame["instruments"]) == ["z1, z2, z3", "z1", "z2", "z3"]
    assert list(frame["tsls"]) == [one.tsls.value for one in found.sets]
    record = json.loads(to_json(found.to_dict()))
    assert record["sets"][3]["tsls_low"] is None  # unbounded
    assert str(pickle.loads(pickle.dumps(found)).to_dict()) == str(found.to_dict())


def test_many_instruments_are_bounded_with_a_word() -> None:
    rng = np.random.default_rng(5)
    names = [f"z{k}" for k in range(12)]
    z = rng.normal(size=(300, 12))
    x = z.sum(axis=1) + rng.normal(size=300)
    rows = dict(zip(names, z.T, strict=True)) | {"x": x, "y": x + rng.normal(size=300)}
    found = ht.fit(f"{{{', '.join(names)}}} -> x; x -> y; x <-> y", rows).instruments("x -> y")
    assert [len(one.instruments) for one in found.sets[:2]] == [12, 1]
    assert len([one for one in found.sets if len(one.instruments) == 1]) == 10
    assert "12 instruments are valid" in found.summary()
