"""What a text defines with := has a row of its own, whatever the interval."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.errors import QueryError
from tests.narrow import number

TEXT = "m ~ a*x; y ~ b*m + c*x; m ~ i*1; ab := a*b; share := ab/(ab + c); up := i + a"


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x, u, v = rng.normal(size=(3, 300))
    m = 1.0 + 0.6 * x + u
    return pd.DataFrame({"x": x, "m": m, "y": 0.5 * m + 0.3 * x + v})


def test_products_are_effects_along_paths(rows: pd.DataFrame) -> None:
    fit = ht.fit(TEXT, rows)
    for interval in ("delta", "robust", "t"):
        table = fit.params(interval=interval).set_index("lhs")
        answer = fit.query("x -> m -> y", interval=interval)
        assert table.loc["ab", "est"] == pytest.approx(answer.value, rel=1e-9)
        assert table.loc["ab", "se"] == pytest.approx(answer.se, rel=1e-6)
        share = fit.query("(x -> m -> y) / (x ~> y)", interval=interval)
        assert table.loc["share", "est"] == pytest.approx(share.value, rel=1e-9)
        assert table.loc["share", "se"] == pytest.approx(share.se, rel=1e-6)
    table = fit.params(interval="delta")
    up, start, slope = (
        table[(table["lhs"] == v) & (table["op"] == op)] for v, op in (("up", ":="), ("m", "~1"), ("m", "~"))
    )
    assert up["est"].item() == pytest.approx(start["est"].item() + slope["est"].item(), rel=1e-9)
    simple = np.column_stack([np.ones(300), rows["x"]])
    error = rows["m"] - simple @ np.linalg.lstsq(simple, rows["m"], rcond=None)[0]
    along = np.ones(2) @ np.linalg.inv(simple.T @ simple) @ np.ones(2)
    assert up["se"].item() == pytest.approx(np.sqrt(along * (error**2).mean()), rel=1e-6)


def test_bootstraps_draw_them_too(rows: pd.DataFrame) -> None:
    fit = ht.fit(TEXT, rows)
    drawn = fit.params(interval="bootstrap", replicates=200).set_index("lhs")
    plain = fit.params(interval="delta").set_index("lhs")
    for name in ("ab", "share", "up"):
        assert drawn.loc[name, "est"] == plain.loc[name, "est"]
        assert drawn.loc[name, "se"] == pytest.approx(plain.loc[name, "se"], rel=0.25)
        assert drawn.loc[name, "ci_low"] < drawn.loc[name, "est"] < drawn.loc[name, "ci_high"]


def test_nothing_is_made_of_what_data_do_not_determine(rows: pd.DataFrame) -> None:
    fit = ht.fit("y ~ b*m; m ~~ y; m ~ a*x; y ~ c*x; sum := b + c; twice := 2*a", rows)
    table = fit.params().set_index("lhs")
    assert np.isnan(table.loc["sum", "est"])
    assert "not determined" in table.loc["sum", "note"]
    assert np.isfinite(table.loc["twice", "se"])


def test_a_root_of_a_negative_number_is_no_number(rows: pd.DataFrame) -> None:
    table = ht.fit("y ~ b*x; r := sqrt(0 - b^2); z := 1/(b - b)", rows).params().set_index("lhs")
    assert np.isnan(table.loc[["r", "z"], "est"].to_numpy(dtype=float)).all()


def test_every_front_has_them(rows: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ht.fit(TEXT, rows)
    assert "share" in fit.summary()
    path = str(tmp_path / "rows.csv")
    rows.to_csv(path, index=False)
    assert main(["fit", TEXT, path, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert "share" in json.dumps(said)


def test_a_doubt_about_a_part_is_one_about_the_whole() -> None:
    """A weak instrument makes the effect doubtful, and what is made of it."""
    rng = np.random.default_rng(8)
    z, u, e, v = rng.normal(size=(4, 200))
    x = 0.1 * z + u + e
    table = pd.DataFrame({"z": z, "x": x, "y": 0.5 * x + u + v})
    rows = ht.fit("x ~ z; y ~ b*x; x ~~ y; twice := 2*b; thrice := twice + b; a := 1 + 0*2", table).params()
    notes = dict(zip(rows["lhs"] + rows["op"], rows["note"], strict=True))
    assert "first-stage" in notes["twice:="] or "weak" in notes["twice:="]
    assert notes["twice:="] == notes["thrice:="] != notes["a:="]


def test_what_data_tell_as_a_whole_is_told_though_its_parts_are_not(rows: pd.DataFrame) -> None:
    text = "m ~ a*x; y ~ b*m + c*x; m ~~ y; tot := a*b + c; part := a*b; other := b + c; twice := 2*tot"
    fit = ht.fit(text, rows)
    table, whole = fit.params().set_index("lhs"), fit.query("x ~> y")
    assert (table.loc["tot", "est"], table.loc["tot", "se"]) == pytest.approx((whole.value, whole.se), rel=1e-9)
    assert table.loc["twice", "se"] == pytest.approx(2.0 * number(whole.se), rel=1e-9)
    slope = np.polyfit(rows["x"], rows["y"], 1)[0]  # y on x alone
    assert table.loc["tot", "est"] == pytest.approx(slope, rel=1e-6)
    drawn = fit.params(interval="bootstrap", replicates=100).set_index("lhs")
    assert drawn.loc["tot", "se"] == pytest.approx(whole.se, rel=0.3)
    for name in ("part", "other"):
        assert np.isnan(table.loc[name, "est"])
        assert table.loc[name, "note"] == "not determined by data"
    of_label = table[table["rhs"] == "m"].iloc[0]
    assert np.isnan(of_label["est"])
    assert of_label["note"] == "label b, not determined by data"


def test_a_point_where_a_sum_happens_to_stand_still_does_not_make_it_told() -> None:
    # b + c moves along b' = 1, c' = -a, which is nothing where a is 1
    cov = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 1.5], [1.0, 1.5, 3.0]])
    fit = ht.fit("m ~ a*x; y ~ b*m + c*x; m ~~ y; sum := b + c; tot := a*b + c", cov=cov, n=500, names=["x", "m", "y"])
    table = fit.params().set_index("lhs")
    assert np.isnan(table.loc["sum", "est"])
    assert table.loc["tot", "est"] == pytest.approx(1.0)


def test_the_name_of_a_definition_is_no_question_and_says_where_its_number_stands(
    rows: pd.DataFrame, tmp_path: Path
) -> None:
    fit = ht.fit(TEXT, rows)
    with pytest.raises(QueryError, match=r"'ab' is no question but made of parameters \(ab := a \* b\).*fit.params"):
        fit.report(tmp_path / "report.html", ["ab"])
    with pytest.raises(QueryError, match="'ab' is no question"):
        fit.query("ab")
