"""Tests of fit where categories act: scores against likelihood ratios, regressions by hand, what is tested at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.cli import main
from halftrek.errors import InputError
from halftrek.estimation.acts.fit import fit_acting
from halftrek.estimation.acts.places import carried
from halftrek.graphs import Edge
from halftrek.inference.checks.acting.edges import candidates, freed, wider
from halftrek.inference.checks.acting.overall import acting_tests, wider_loglik
from halftrek.inference.checks.edges.modification import with_edge
from halftrek.inference.checks.linearity import line_tests

GRAPH = "z -> d -> m -> y; a -> d; d <-> y"
KINDS: Any = {"d": "acts", "y": "ordered"}


def rows(n: int, seed: int, extra: float = 0.0) -> pd.DataFrame:
    """Rows of the graph, with an effect of z on m if there is an ``extra``."""
    rng = np.random.default_rng(seed)
    z, a, hidden = rng.normal(size=(3, n))
    d = (0.8 * z + 0.5 * a + 0.6 * hidden + 0.8 * rng.normal(size=n) > 0.3).astype(float)
    m = d + extra * z + rng.normal(size=n)
    y = np.digitize(0.7 * m - 0.7 * hidden + 0.7 * rng.normal(size=n), [-0.5, 0.8]).astype(float)
    return pd.DataFrame({"z": z, "a": a, "d": d, "m": 3.0 * m, "y": y})


@pytest.fixture(scope="module")
def true() -> ht.Fit:
    return ht.fit(GRAPH, rows(600, 1), kinds=KINDS)


def test_edges_that_covariances_could_tell_are_tested_and_no_others(true: ht.Fit) -> None:
    assert {str(e) for e in candidates(true)} == {"z -> a", "z -> m", "a -> m", "z -> y", "a -> y"}
    assert len(wider(true)) == 5 == 10 - 5  # of ten covariances five are free
    bow = ht.fit("z -> d -> y; d <-> y", rows(300, 1), kinds=KINDS)
    assert wider(bow) == ()  # a probit could tell z -> y by the shape of normal errors alone
    assert bow.measures()["df"] == 0
    over = ht.fit("z -> d -> y; a -> d; d <-> y", rows(300, 1), kinds=KINDS)
    assert {str(e) for e in candidates(over)} == {"z -> a", "z -> y", "a -> y"}
    assert len(wider(over)) == 2  # with one instrument freed the other tells the effect


def test_scores_are_slopes_of_the_likelihood_along_the_maximum_of_the_others(true: ht.Fit) -> None:
    """The efficient information is minus the bend of the likelihood where all others are at their best again."""
    acting = true.acting
    assert acting is not None
    for edge in (Edge("z", "->", "m"), Edge("a", "->", "y")):
        found = freed(true, (edge,), "tests()")
        assert found is not None
        graph = with_edge(true.graph, edge)
        values = rows(600, 1)[list(graph.observed)].to_numpy()
        start = carried(acting.theta, acting.places(true.graph), acting.places(graph))
        best = fit_acting(graph, values, KINDS, start=start, like=acting)
        ratio = 2.0 * (best.loglik - true.loglik)
        assert float(found.score[0] ** 2 / found.information[0, 0]) == pytest.approx(ratio, rel=0.05, abs=0.01)
        model = best.at(graph, best.theta)[0]
        at = model.names.index
        weight = float(found.score[0] / found.information[0, 0] * found.weights[0])
        assert weight == pytest.approx(float(model.T[at(edge.first), at(edge.second)]), rel=0.05, abs=0.005)


def test_a_plain_equation_is_tested_as_a_regression_is(true: ht.Fit) -> None:
    """m depends on d alone: the score test of z -> m is n R² of what is left of m on d and z."""
    data = rows(600, 1)
    X = np.column_stack([np.ones(600), data["d"]])
    left = data["m"] - X @ np.linalg.lstsq(X, data["m"], rcond=None)[0]
    whole = np.column_stack([X, data["z"]])
    again = left - whole @ np.linalg.lstsq(whole, left, rcond=None)[0]
    expected = 600.0 * (1.0 - float(again @ again) / float(left @ left))
    (found,) = (t for t in acting_tests(true) if t.constraint == "no edge z -> m")
    assert found.statistic == pytest.approx(expected, rel=0.02)  # expected and observed information differ a little


def test_all_together_are_the_likelihood_ratio_and_singles_their_own(true: ht.Fit) -> None:
    table = true.tests()
    together = table[table["kind"] == "together"].iloc[0]
    chi2 = 2.0 * (wider_loglik(true, wider(true)) - true.loglik)
    assert together["statistic"] == pytest.approx(chi2, rel=1e-9)
    assert together["p"] == pytest.approx(stats.chi2.sf(chi2, 5), rel=1e-9)
    assert together["p_adjusted"] == together["p"]
    found = true.measures()
    assert (found["chi2"], found["df"], found["pvalue"]) == (together["statistic"], 5, together["p"])
    assert found["parameters"] == 14
    assert found["aic"] == pytest.approx(2.0 * 14 - 2.0 * true.loglik)
    assert found["bic"] == pytest.approx(np.log(600.0) * 14 - 2.0 * true.loglik)
    assert found["saturated_loglik"] == pytest.approx(true.loglik + chi2 / 2.0)
    assert "5 edges more" in found["test"]
    assert "z -> m" in found["added"]
    robust = true.tests(robust=True)
    assert robust["p"][0] == pytest.approx(together["p"], abs=0.1)
    assert set(robust["test"][:6]) == {"robust chi2", "robust t"}


def test_an_edge_that_is_left_out_is_found() -> None:
    fit = ht.fit(GRAPH, rows(600, 2, extra=0.4), kinds=KINDS)
    table = fit.tests().set_index("constraint")
    line = table.loc["no edge z -> m"]
    assert line["verdict"] == "contradicted by the data"
    assert line["estimate"] == pytest.approx(1.2, abs=0.3)  # m is in units of a third
    assert fit.measures()["pvalue"] < 1e-6
    right = ht.fit(f"{GRAPH}; z -> m", rows(600, 2, extra=0.4), kinds=KINDS)
    assert right.measures()["aic"] < fit.measures()["aic"] - 10.0
    assert "no edge z -> m" not in set(right.tests()["constraint"])


def test_clusters_of_equal_rows_are_tested_as_one_of_each() -> None:
    data = rows(200, 3)
    twice = pd.concat([data, data], ignore_index=True).assign(home=np.tile(np.arange(200), 2))
    single = ht.fit(GRAPH, data, kinds=KINDS).tests(robust=True)
    pairs = ht.fit(GRAPH, twice, kinds=KINDS, cluster="home")
    table = pairs.tests()
    np.testing.assert_allclose(table["statistic"][:6], single["statistic"][:6], rtol=0.02)
    assert "each cluster" in pairs.measures()["test"]
    counted = ht.fit(GRAPH, data.assign(w=2.0), kinds=KINDS, weights="w").tests()  # each row stands for two
    plain = ht.fit(GRAPH, twice.drop(columns="home"), kinds=KINDS).tests()
    np.testing.assert_allclose(counted["statistic"][:6], plain["statistic"][:6], rtol=1e-3)


def test_ranks_are_counted_and_have_no_criteria() -> None:
    data = rows(400, 4)
    data["z"] = np.exp(data["z"])
    fit = ht.fit(GRAPH, data, kinds={**KINDS, "z": "ranked"})
    found = fit.measures()
    assert "each row adds" in found["test"]
    assert np.isnan(found["aic"])
    assert 0.0 < found["pvalue"] < 1.0
    with pytest.raises(InputError, match="ranks of columns vary with the rows"):
        fit.tests(robust=False)


def probit_curve(x: Floats, y: Floats) -> float:
    """The score test of a square and a cube in a probit, written out: Newton's steps, residuals, and their bends."""
    f = (x - x.mean()) / x.std()
    line, curves = np.column_stack([np.ones(len(f)), f]), np.column_stack([f**2, f**3])
    sign, b = 2.0 * y - 1.0, np.zeros(2)
    for _ in range(30):
        eta = line @ b
        residual = sign * np.exp(stats.norm.logpdf(eta) - stats.norm.logcdf(sign * eta))
        bend = residual * (residual + eta)
        b = b + np.linalg.solve(line.T @ (line * bend[:, None]), line.T @ residual)
    crossed = line.T @ (curves * bend[:, None])
    left = curves.T @ (curves * bend[:, None]) - crossed.T @ np.linalg.solve(line.T @ (line * bend[:, None]), crossed)
    score = curves.T @ residual
    return float(score @ np.linalg.solve(left, score))


def test_lines_to_columns_in_categories_are_tested_by_their_regressions() -> None:
    data = rows(500, 5)
    fit = ht.fit("z -> d -> y", data.assign(y=data["m"]), kinds={"d": "acts"})
    of_d, of_y = line_tests(fit)
    assert (of_d.constraint, of_d.test, of_d.df) == ("d linear in z", "score", 2)
    assert of_d.statistic == pytest.approx(probit_curve(data["z"].to_numpy(), data["d"].to_numpy()), rel=1e-3)
    assert "two values" in of_y.note
    rng = np.random.default_rng(6)
    bent = data.assign(d=(data["z"] ** 2 + rng.normal(size=500) > 0.5).astype(float))
    table = ht.fit("z -> d -> m", bent, kinds={"d": "acts"}).tests().set_index("constraint")
    assert table.loc["d linear in z", "p"] < 1e-6
    assert table.loc["d linear in z", "verdict"].startswith("contradicted: a curve")


def test_a_category_with_three_values_that_acts_has_a_curve() -> None:
    rng = np.random.default_rng(7)
    z = rng.normal(size=400)
    d = np.digitize(z + rng.normal(size=400), [-0.5, 0.5]).astype(float)
    m = (d == 1.0) + rng.normal(size=400)
    (_, line) = line_tests(ht.fit("z -> d -> m", {"z": z, "d": d, "m": m}, kinds={"d": "acts"}))
    assert (line.constraint, line.test) == ("m linear in d", "RESET")
    assert line.p < 1e-4


def test_what_is_no_maximum_is_not_tested(true: ht.Fit) -> None:
    acting = true.acting
    assert acting is not None
    lost = replace(true, acting=replace(acting, spread=np.full_like(acting.spread, np.nan)))
    assert all(np.isnan(t.p) and "no test" in t.note for t in acting_tests(lost))
    found = lost.measures()
    assert found["pvalue"] is None
    assert np.isnan(found["aic"])
    for ask in ({"question": "d ~> m"}, {"beyond": "correlation"}):
        with pytest.raises(InputError, match="is not known where a category acts"):
            true.tests(**ask)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="robust='satorra-bentler' is not known"):
        true.measures(robust="satorra-bentler")


def test_the_command_line_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    rows(300, 8).to_csv(path, index=False)
    kinds = ["--kind", "d=acts", "--kind", "y=ordered"]
    assert main(["fit", GRAPH, str(path), *kinds, "--checks"]) == 0
    text = capsys.readouterr().out
    assert "likelihood ratio against the graph with 5 edges more" in text
    assert "no edge z -> m" in text
    assert "d linear in a, z" in text or "d linear in z, a" in text
