"""Ordered columns against lavaan, to the digits that it prints: correlations, cuts, paths in its theta parametrisation.

The models leave nothing over, so that its weighted least squares and maximum likelihood are one and the same.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import ColumnKind, Estimator
from halftrek.inference.information.behind.dwls import dwls_scores
from halftrek.inference.information.robust import mean_squares
from halftrek.layer import layer_of
from halftrek.queries.gradients import Gradient
from tests.layer.test_factors import check_measures

FOLDER = Path(__file__).parents[1] / "reference" / "ordered"
LAVAAN: dict[str, Any] = json.loads((FOLDER / "lavaan.json").read_text())
GRAPHS = {
    "items": "q1 <-> {q2, q3, q4}; q2 <-> {q3, q4}; q3 <-> q4",
    "front_door": "x -> m -> y; x <-> y",
    "mediation": "t -> {a, b, c}; a -> {b, c}; b -> c",
}
KINDS: dict[str, dict[str, ColumnKind]] = {
    "items": dict.fromkeys(("q1", "q2", "q3", "q4"), "ordered"),
    "front_door": {"m": "behind", "y": "ordered"},
    "mediation": {"a": "behind", "c": "ordered"},
}


@pytest.mark.parametrize("case", GRAPHS)
def test_correlations_are_lavaans(case: str) -> None:
    rows = pd.read_csv(FOLDER / f"{case}.csv")
    found = layer_of(tuple(rows.columns), rows.to_numpy(float), KINDS[case])
    at = found.names.index
    for u, v, r in LAVAAN[case]["correlations"]:
        assert found.correlations[at(u), at(v)] == pytest.approx(r, abs=1e-7), (u, v)


@pytest.mark.parametrize("case", GRAPHS)
def test_paths_and_cuts_are_lavaans_in_its_units(case: str) -> None:
    """There each error of an ordered column has variance 1: what is behind it is divided by its error's deviation."""
    fit = ht.fit(GRAPHS[case], pd.read_csv(FOLDER / f"{case}.csv"), kinds=KINDS[case])
    model, at = fit.model, fit.model.names.index
    unit = {v: float(np.sqrt(model.omega[at(v), at(v)])) if v in KINDS[case] else 1.0 for v in model.names}
    shift: dict[str, float] = {}  # lavaan's variables behind columns have no intercept, ours have the mean 0
    for v in fit.graph.topological_order:
        causes = sum(shift[u] * float(model.T[at(u), at(v)]) for u in fit.graph.parents(v))
        shift[v] = float(model.mu[at(v)]) + causes if v in KINDS[case] else 0.0
    table = fit.params().set_index(["lhs", "op", "rhs"])
    compared = 0
    for lhs, op, rhs, est, se in LAVAAN[case]["parameters"]:
        if op == "~":
            ours = model.T[at(rhs), at(lhs)] * unit[rhs] / unit[lhs]
        elif op == "~~" and lhs != rhs:
            ours = model.omega[at(lhs), at(rhs)] / (unit[lhs] * unit[rhs])
        elif op == "|":
            ours = (float(table.loc[(lhs, op, rhs), "est"]) - shift[lhs]) / unit[lhs]
            if case == "items":  # cuts of variables without causes: their errors are in the same units
                assert table.loc[(lhs, op, rhs), "se"] == pytest.approx(se, rel=0.01)
        else:
            continue
        assert ours == pytest.approx(est, abs=1e-6), (lhs, op, rhs)
        compared += 1
    assert compared >= 7


@pytest.mark.parametrize(("estimator", "near"), [("dwls", 1e-6), ("ml", 0.1)])
def test_errors_of_polychoric_correlations_are_lavaans(estimator: Estimator, near: float) -> None:
    """Maximum likelihood has expectations where lavaan has means over rows; some cells of these tables have one row."""
    fit = ht.fit(GRAPHS["items"], pd.read_csv(FOLDER / "items.csv"), kinds=KINDS["items"], estimator=estimator)
    table = fit.params().set_index(["lhs", "op", "rhs"])
    pairs = [line for line in LAVAAN["items"]["parameters"] if line[1] == "~~" and line[0] != line[2]]
    assert len(pairs) == 6
    for lhs, op, rhs, _, se in pairs:
        assert table.loc[(lhs, op, rhs), "se"] == pytest.approx(se, rel=near)


def test_weighted_least_squares_are_lavaans_where_the_graph_leaves_something_over() -> None:
    """A chain that these rows contradict, so that the weights matter."""
    kinds, rows = KINDS["mediation"], pd.read_csv(FOLDER / "mediation.csv")
    fit = ht.fit("t -> a -> b -> c", rows, kinds=kinds, estimator="dwls")
    model, at = fit.model, fit.model.names.index
    unit = {v: float(np.sqrt(model.omega[at(v), at(v)])) if v in kinds else 1.0 for v in model.names}
    paths = [line for line in LAVAAN["chain"]["parameters"] if line[1] == "~"]
    assert len(paths) == 3
    for effect, _, cause, est, _ in paths:
        assert model.T[at(cause), at(effect)] * unit[cause] / unit[effect] == pytest.approx(est, abs=5e-5)
    check_measures(fit, LAVAAN["chain"]["measures"])
    np.testing.assert_allclose([model.cov[at(v), at(v)] for v in kinds], 1.0, atol=1e-6)


def test_weighted_least_squares_leave_a_full_graph_as_it_is() -> None:
    rows = pd.read_csv(FOLDER / "front_door.csv")
    ml, dwls = (ht.fit(GRAPHS["front_door"], rows, kinds=KINDS["front_door"], estimator=e) for e in ("ml", "dwls"))
    np.testing.assert_allclose(dwls.model.T, ml.model.T, atol=1e-6)
    risks = [fit.query("P(y > 0 | do(x=1))") for fit in (ml, dwls)]
    assert risks[0].value == pytest.approx(risks[1].value, abs=1e-6)
    assert risks[0].se == pytest.approx(risks[1].se, rel=0.1)  # expectations, and means over rows


@pytest.mark.parametrize("case", ["front_door", "mediation", "chain"])
def test_errors_of_paths_are_lavaans_in_its_units(case: str) -> None:
    """A path times the error's deviation of its cause, over that of its effect: the error of the product."""
    name = {"chain": "mediation"}.get(case, case)
    graph = GRAPHS.get(case, "t -> a -> b -> c")
    fit = ht.fit(graph, pd.read_csv(FOLDER / f"{name}.csv"), kinds=KINDS[name], estimator="dwls")
    model, at = fit.model, fit.model.names.index
    paths = [line for line in LAVAAN[case]["parameters"] if line[1] == "~"]
    gradients = []
    for effect, _, cause, est, _ in paths:
        u, v = at(cause), at(effect)
        unit = [float(np.sqrt(model.omega[k, k])) if model.names[k] in KINDS[name] else 1.0 for k in (u, v)]
        by_T, by_omega = np.zeros_like(model.T), np.zeros_like(model.T)
        by_T[u, v] = unit[0] / unit[1]
        value = model.T[u, v] * unit[0] / unit[1]
        assert value == pytest.approx(est, abs=1e-6)
        for k, sign in ((u, 1.0), (v, -1.0)):
            by_omega[k, k] = sign * value / (2.0 * model.omega[k, k]) if model.names[k] in KINDS[name] else 0.0
        gradients.append(Gradient(by_T, by_omega, np.zeros(len(model.names))))
    (squares,) = mean_squares(fit, [dwls_scores(fit, tuple(gradients))])
    np.testing.assert_allclose(np.sqrt(squares / fit.n), [line[4] for line in paths], rtol=1e-5)
