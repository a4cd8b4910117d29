"""Scores of hidden variables and the reliability of their items."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import InputError
from halftrek.inference.tables.factors import reliabilities, scores
from halftrek.simulation import random_model
from halftrek.syntax import parse_graph
from tests.estimation.test_hidden import HIDDEN, LAVAAN, TEXTS
from tests.inference.information.test_hidden import fitted


@pytest.mark.parametrize("case", ["schools", "democracy", "schools_unit"])
@pytest.mark.parametrize("method", ["regression", "bartlett"])
def test_scores_are_lavaans(case: str, method: str) -> None:
    fit = fitted(case)
    found = fit.scores(method=method)  # type: ignore[arg-type]
    mine = np.column_stack([found[v].to_numpy() for v in fit.graph.hidden])[:3]
    assert mine == pytest.approx(np.array(LAVAAN[case]["scores"][method]), abs=2e-3)


def test_scores_of_rows_and_of_a_part_of_their_columns() -> None:
    fit = fitted("schools")
    some = {"x1": [4.0, 5.0], "x2": [6.0, np.nan], "x4": [3.0, 3.0]}
    found = fit.scores(some)
    assert list(found) == ["visual", "textual", "speed"]
    model, names = fit.model, fit.model.names
    at, h = [names.index(v) for v in ("x1", "x2", "x4")], names.index("visual")
    gap = np.array([4.0, 6.0, 3.0]) - model.mean[at]
    wanted = model.mean[h] + model.cov[h, at] @ np.linalg.solve(model.cov[np.ix_(at, at)], gap)
    assert found["visual"][0] == pytest.approx(wanted)
    assert fit.predict(some, "visual")["visual"][1] == pytest.approx(found["visual"][1])
    holes = ht.fit(TEXTS["schools"], HIDDEN / "schools_holes.csv").scores()
    assert np.isfinite(np.asarray(holes["visual"])).all()


def test_reliabilities_are_squared_correlations() -> None:
    graph = parse_graph("latent F, G; F <-> G; F -> {a, b, c}; G -> {d, e, f}; a <-> b")
    model = random_model(graph, random_state=5)
    rng = np.random.default_rng(1)
    rows = rng.multivariate_normal(model.mean, model.cov, size=200_000)
    fit = ht.fit(graph, {v: rows[:, i] for i, v in enumerate(graph.observed)})
    found = reliabilities(fit)
    assert [row.factor for row in found] == ["F", "G"]
    for k, row in enumerate(found):
        truth = rows[:, 6 + k]
        for method, value in (("regression", row.regression), ("bartlett", row.bartlett)):
            guess = scores(fit, rows[:, :6], method)[:, k]  # type: ignore[arg-type]
            assert np.corrcoef(guess, truth)[0, 1] ** 2 == pytest.approx(value, abs=0.02)
        items = rows[:, 3 * k : 3 * k + 3]
        assert row.items == 3
        if (model.T[6 + k, 3 * k : 3 * k + 3] > 0).all():
            assert np.corrcoef(items.sum(axis=1), truth)[0, 1] ** 2 == pytest.approx(row.omega, abs=0.02)


def test_omega_and_ave_of_the_schools() -> None:
    found = {row.factor: row for row in reliabilities(fitted("schools"))}
    load, psi, theta = np.array([1.0, 0.5535, 0.7294]), 0.8093, np.array([0.5491, 1.1338, 0.8443])
    true = load.sum() ** 2 * psi
    assert found["visual"].omega == pytest.approx(true / (true + theta.sum()), abs=1e-3)
    assert found["visual"].ave == pytest.approx(np.mean(load**2 * psi / (load**2 * psi + theta)), abs=1e-3)


def test_what_has_no_scores_is_refused() -> None:
    plain = ht.fit("x -> y", {"x": [1.0, 2.0, 4.0, 3.0], "y": [0.0, 1.0, 1.0, 2.0]})
    with pytest.raises(InputError, match="the graph has none"):
        plain.scores()
    with pytest.raises(InputError, match="method must be"):
        fitted("schools").scores(method="mean")  # type: ignore[arg-type]
    with pytest.raises(ht.HalftrekError, match="do not tell the hidden ones apart"):
        fitted("second_order").scores(method="bartlett")
