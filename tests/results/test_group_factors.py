"""Fits by group of models with hidden variables that have causes: each group as on its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from tests.reference.lavaan_strings.strings import HERE

SCHOOL = pd.read_csv(HERE / "school.csv")
HOLES = pd.read_csv(HERE / "sites_holes.csv")
GRAPH = ht.from_lavaan("V =~ v1 + v2 + a*v3; M =~ m1 + m2 + m3; M ~ b*V; grade ~ M; ab := a*b")
EQUAL = ht.from_lavaan("grade ~ age; income ~ grade; grade ~~ e*grade; income ~~ e*income; grade ~ 0*1")


def lines(table: Any) -> list[Any]:
    return list(table.itertuples())


@pytest.mark.parametrize("graph", [GRAPH, EQUAL])
def test_each_group_is_as_on_its_own(graph: ht.Graph) -> None:
    fits = ht.fit(graph, SCHOOL, by="town")
    params, measures = lines(fits.params(interval="delta")), {r.group: r for r in lines(fits.measures())}
    for town in (0, 1):
        alone = ht.fit(graph, SCHOOL[SCHOOL["town"] == town])
        rows = {(r.lhs, r.op, r.rhs): r for r in lines(alone.params(interval="delta"))}
        mine = {(r.lhs, r.op, r.rhs): r for r in params if r.group == town}
        assert mine.keys() == rows.keys()  # what := makes among them
        for key, r in rows.items():
            assert (mine[key].est, mine[key].se) == pytest.approx((r.est, r.se), abs=1e-8)
        for name in ("chi2", "df", "cfi", "rmsea", "srmr", "bic"):
            assert getattr(measures[town], name) == pytest.approx(alone.measures()[name], abs=1e-8)
        assert fits[town].loglik == pytest.approx(alone.loglik, abs=1e-8)


def test_questions() -> None:
    fits = ht.fit(GRAPH, SCHOOL, by="town")
    for question in ("V ~> grade", "P(grade | do(V=1))", "std(V ~> grade)"):
        for row in lines(fits.query(question)):
            one = fits[row.group].query(question)
            assert row.estimate == pytest.approx(float(np.ravel(one.value)[0]), abs=1e-10)
            assert (row.low, row.high) == pytest.approx(tuple(np.ravel(one.interval)), abs=1e-10)
    with pytest.raises(ht.NotIdentifiedError):
        ht.fit("latent F; F -> {a, b}; F -> a [1]; variance F", _drawn(), by="g").query("F ~> b")
    with pytest.raises(ht.InputError, match="measurement_invariance"):
        fits.invariance()


def _drawn() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {**{v: rng.normal(size=200) for v in "ab"}, "g": [1, 2] * 100}


def test_missing_values_and_files(tmp_path: Path) -> None:
    graph = ht.from_lavaan("V =~ v1 + v2 + v3; grade ~ V")
    fits = ht.fit(graph, HOLES, by="site")
    assert "3 with missing values" in repr(fits)
    back = ht.load(fits.save(tmp_path / "fits.json"))
    assert lines(back.effect("V", "grade")) == lines(fits.effect("V", "grade"))
    one = ht.fit(graph, HOLES[HOLES["site"] == 2])
    assert lines(fits.effect("V", "grade"))[1].estimate == pytest.approx(one.effect("V", "grade").value, abs=1e-8)


def test_a_group_may_fail_alone() -> None:
    more = pd.concat([SCHOOL, SCHOOL.iloc[:3].assign(town=7)])
    rows = lines(ht.fit(GRAPH, more, by="town").effect("V", "grade"))
    assert rows[2].status.startswith("failed: 3 rows are too few")
    assert np.isnan(rows[2].estimate)
    assert np.isfinite([r.estimate for r in rows[:2]]).all()


def test_many_data_sets_at_once_are_refused() -> None:
    for graph in (GRAPH, EQUAL):
        with pytest.raises(ht.GraphError, match="one after the other"):
            ht.fit_batch(graph, [SCHOOL])
