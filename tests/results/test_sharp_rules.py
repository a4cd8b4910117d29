"""Causes that tell the categories of a column apart: what is said of a sharp rule, and what is known all the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import ColumnKind
from halftrek.errors import DataError, QueryError

N = 1000
ACTS: dict[str, ColumnKind] = {"x": "acts"}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    z, w, u = np.random.default_rng(1).normal(size=(3, N))
    x = (z > 0.0) * 1
    return pd.DataFrame({"z": z, "w": w, "x": x, "y": 0.7 * x + u, "both": (z - w > 0.2) * 1})


def line(fit: ht.Fit, lhs: str, op: str, rhs: str) -> pd.Series:
    table = fit.params()
    return table[(table["lhs"] == lhs) & (table["op"] == op) & (table["rhs"] == rhs)].iloc[0]


def regression(y: np.ndarray, *causes: np.ndarray) -> tuple[float, float]:
    """The slope of the first cause, and its standard error (divisor n; robust)."""
    X = np.column_stack([*causes, np.ones(len(y))])
    b = np.linalg.lstsq(X, y, rcond=None)[0]
    inverse = np.linalg.inv(X.T @ X)
    scores = X * (y - X @ b)[:, None]
    return float(b[0]), float(np.sqrt((inverse @ scores.T @ scores @ inverse)[0, 0]))


def test_a_slope_that_runs_off_is_no_number(rows: pd.DataFrame) -> None:
    fit = ht.fit("z -> x -> y; x <-> y", rows, kinds=ACTS)
    assert fit.converged
    slope, cut, arc = line(fit, "x", "~", "z"), line(fit, "x", "|", "t1"), line(fit, "x", "~~", "y")
    for one in (slope, cut, arc):
        assert one[["est", "se", "ci_low", "ci_high"]].isna().all()
    assert slope["note"] == "separated by z: only its sign is known, positive"
    assert cut["note"] == "separated by z: no most likely value"
    assert arc["note"] == "nothing is seen of the error of x"
    effects = fit.effects().set_index(["cause", "effect", "kind"])
    assert np.isnan(effects.loc[("z", "x", "total"), "est"])
    assert "only its sign is known, positive" in effects.loc[("z", "x", "direct"), "note"]
    with pytest.raises(QueryError, match=r"z -> x: the rows are separated by z.*only its sign.*positive; ask"):
        fit.query("z -> x")
    with pytest.raises(QueryError, match="nothing is seen of its error"):
        fit.query("x <-> y")
    text = fit.summary()
    assert "z tells the categories of x apart" in " ".join(text.split())
    assert "x | t1" in text
    assert "separated by z: no most likely value" in " ".join(text[text.index("x | t1") :].split())
    tests = fit.tests().set_index("constraint")["verdict"]
    assert tests["x linear in z"] == "not testable: the causes tell the categories of x apart"


def test_what_the_category_does_is_known_all_the_same(rows: pd.DataFrame) -> None:
    """A rule without exceptions leaves nothing of the error of x that could be confounded: a plain regression."""
    fit = ht.fit("z -> x -> y; x <-> y", rows, kinds=ACTS)
    found = fit.query("x ~> y")
    b, error = regression(rows["y"].to_numpy(), rows["x"].to_numpy())
    assert found.value == pytest.approx(b, rel=1e-4)
    assert found.se == pytest.approx(error, rel=1e-3)
    assert "separated" not in [note.code for note in found.notes]


def test_bounds_of_a_category_that_follows_a_rule_are_one_number(rows: pd.DataFrame) -> None:
    """Whatever its error has in common with the outcome: nothing of it is seen."""
    fit = ht.fit("z -> {x, y}; x -> y; x <-> y", rows, kinds=ACTS)
    assert fit.converged
    found = fit.bounds("x ~> y", assume="|corr(x <-> y)| <= 0.3")
    b, _ = regression(rows["y"].to_numpy(), rows["x"].to_numpy(), rows["z"].to_numpy())
    assert (found.low, found.high) == pytest.approx((b, b), rel=1e-4)


def test_answers_that_rest_on_the_rule_say_so(rows: pd.DataFrame) -> None:
    fit = ht.fit("z -> {x, y}; x -> y", rows, kinds=ACTS)
    sure = fit.query("P(x=1 | do(z=1))")
    assert sure.value == pytest.approx(1.0)
    assert np.isnan(np.asarray(sure.se, dtype=float))  # no interval from 1 to 1
    assert "intervals allow for no exceptions" in str(sure)
    assert "separated" in [note.code for note in fit.query("E[y | do(z=1)]").notes]
    assert "separated" in [note.code for note in fit.query("P(x=1)").notes]
    assert "separated" not in [note.code for note in fit.query("E[y | do(x=1)] - E[y | do(x=0)]").notes]


def test_a_file_keeps_it(rows: pd.DataFrame, tmp_path: Path) -> None:
    fit = ht.fit("z -> {x, y}; x -> y", rows, kinds=ACTS)
    fit.save(tmp_path / "fit.json")
    again = ht.load(tmp_path / "fit.json")
    pd.testing.assert_frame_equal(again.params(), fit.params())


def test_causes_that_tell_categories_apart_together_are_named(rows: pd.DataFrame) -> None:
    y = rows["both"] + np.random.default_rng(2).normal(size=N)
    fit = ht.fit("z -> {both, y}; w -> both; both -> y", rows.assign(y=y), kinds={"both": "acts"})
    assert line(fit, "both", "~", "z")["note"] == "separated by z and w: only its sign is known, positive"
    assert line(fit, "both", "~", "w")["note"] == "separated by z and w: only its sign is known, negative"
    b, error = regression(y.to_numpy(), rows["both"].to_numpy(), rows["z"].to_numpy())
    assert line(fit, "y", "~", "both")["est"] == pytest.approx(b, rel=1e-4)
    assert line(fit, "y", "~", "both")["se"] == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize("kinds", [{"both": "ordered"}, {"both": "ordered", "b": "acts"}])
def test_an_outcome_that_causes_tell_apart_together_is_refused(
    rows: pd.DataFrame, kinds: dict[str, ColumnKind]
) -> None:
    b = np.random.default_rng(3).integers(0, 2, N)
    also = "; b -> both" if "b" in kinds else ""
    with pytest.raises(DataError, match="'z' and 'w' together separate the categories of 'both'"):
        ht.fit(f"z -> both; w -> both{also}", rows.assign(b=b), kinds=kinds)


def test_what_is_separated_in_part_leaves_the_others_their_numbers(rows: pd.DataFrame) -> None:
    """Nobody of one group is treated: its slope runs off, and the others are those of the rows without the group."""
    random = np.random.default_rng(5)
    group = (random.random(N) < 0.2) * 1
    x = (rows["z"] + random.normal(size=N) > 0.3) * (1 - group)
    data = rows.assign(group=group, x=x, y=0.7 * x + random.normal(size=N))
    fit = ht.fit("z -> x; group -> x; x -> y", data, kinds={"x": "acts", "group": "acts"})
    lost = line(fit, "x", "~", "group")
    assert np.isnan(lost["est"])
    assert lost["note"] == "separated by group: only its sign is known, negative"
    left = ht.fit("z -> x; x -> y", data[data["group"] == 0], kinds=ACTS)
    for op, rhs in (("~", "z"), ("|", "t1")):
        one, other = line(fit, "x", op, rhs), line(left, "x", op, rhs)
        assert one["est"] == pytest.approx(other["est"], rel=1e-4)
        assert one["se"] == pytest.approx(other["se"], rel=1e-3)


def test_holes_do_not_hide_a_rule(rows: pd.DataFrame) -> None:
    holes = rows.copy()
    holes.loc[::7, "y"] = np.nan
    fit = ht.fit("z -> {x, y}; x -> y", holes, kinds=ACTS)
    assert line(fit, "x", "~", "z")["note"] == "separated by z: only its sign is known, positive"
    b, _ = regression(*(holes.dropna()[v].to_numpy() for v in ("y", "x", "z")))
    assert fit.query("x ~> y").value == pytest.approx(b, rel=1e-3)


def test_ordinary_fits_pay_nothing(rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("halftrek.layer.separation.separation", lambda *given: asked.append(given))
    x = (rows["z"] + np.random.default_rng(4).normal(size=N) > 0) * 1
    ht.fit("z -> x -> y; x <-> y", rows.assign(x=x), kinds=ACTS)
    ht.fit("z -> x; w -> x", rows.assign(x=x), kinds={"x": "ordered"})
    assert not asked
    ht.fit("z -> x -> y; x <-> y", rows, kinds=ACTS)
    assert asked
