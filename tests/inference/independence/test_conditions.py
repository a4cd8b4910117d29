"""Conditions of independent errors, against sums that are written out row by row."""

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import InputError
from halftrek.graphs import Graph
from halftrek.inference.evidence.held_rows import HeldRows, held_rows
from halftrek.inference.independence.conditions import Conditions
from halftrek.inference.independence.least import least, least_at
from tests.inference.independence.samples import door_fit, skewed

GRAPH = Graph([("a", "b"), ("b", "c"), ("a", "c")], [("a", "c")], {}, ["a", "b", "c"], {"a -> c": 0.5})


def by_hand(rows: Floats, weights: Floats, clusters: Floats | None, theta: Floats, *, sampling: bool) -> float:
    """J for the pair (b, c) of the graph: everything in the units of the data, one row after the other."""
    a, b, c = rows.T
    errors = [b - theta[0] * a, c - theta[1] * b - 0.5 * a]
    features = []
    for e in errors:
        e = e - np.average(e, weights=weights)
        e = e / np.sqrt(np.average(e**2, weights=weights))
        parts = [np.tanh(e), np.exp(-0.5 * e * e), e]
        features.append([f - np.average(f, weights=weights) for f in parts])
    added: dict[float, Floats] = {}
    spread = np.zeros((9, 9))
    total = np.zeros(9)
    for i in range(len(rows)):
        g = np.array([f[i] * h[i] for f in features[0] for h in features[1]])
        total += weights[i] * g
        if clusters is not None:
            added[clusters[i]] = added.get(clusters[i], np.zeros(9)) + weights[i] * g
        else:
            spread += (weights[i] ** 2 if sampling else weights[i]) * np.outer(g, g)
    for g in added.values():
        spread += np.outer(g, g)
    return float(total @ np.linalg.solve(spread, total))


@pytest.mark.parametrize("kind", ["plain", "counts", "sampling", "clusters", "sampling clusters"])
def test_the_statistic_is_what_rows_add_up_to(kind: str) -> None:
    rng = np.random.default_rng(2)
    values = skewed(rng, (120, 3)) @ np.array([[1.0, 0.4, 0.3], [0.0, 1.0, 0.6], [0.0, 0.0, 1.0]])
    weights = rng.integers(1, 4, 120).astype(float) if kind == "counts" else np.ones(120)
    if "sampling" in kind:
        weights = rng.uniform(0.5, 2.0, 120)
    clusters = rng.integers(0, 30, 120) if "clusters" in kind else None
    data = {"a": values[:, 0], "b": values[:, 1], "c": values[:, 2]}
    fit = ht.fit(
        GRAPH,
        data,
        weights=weights if kind == "counts" else None,
        sampling_weights=weights if "sampling" in kind else None,
        cluster=clusters,
    )
    rows = held_rows(fit, ("a", "b", "c"), "this test")
    given = Conditions(rows, GRAPH, ("b", "c"), (("b", "c"),))
    theta = np.array([0.3, 0.7])
    assert given.arrows == (("a", "b"), ("b", "c"))
    expected = by_hand(values, weights, clusters, theta, sampling="sampling" in kind)
    assert np.isclose(given.statistic(given.from_raw(theta)), expected, rtol=1e-6)
    assert np.allclose(given.to_raw(given.from_raw(theta)), theta)
    assert rows.units == (len(set(clusters)) if clusters is not None else weights.sum() if kind == "counts" else 120)


def test_units_of_the_data_do_not_matter() -> None:
    fit = door_fit("skewed")
    values = held_rows(fit, ("x", "m", "y"), "this test").values
    one = HeldRows(("x", "m", "y"), values, np.ones(3))
    other = HeldRows(("x", "m", "y"), values, np.array([10.0, 0.1, 3.0]))
    systems = [Conditions(rows, fit.graph, ("m", "y"), (("m", "y"),)) for rows in (one, other)]
    free = np.array([0.4, 0.8])
    assert systems[0].statistic(free) == systems[1].statistic(free)
    assert np.allclose(systems[0].to_raw(free) * [0.1 / 10.0, 3.0 / 0.1], systems[1].to_raw(free))


def test_weights_with_one_label_are_one_unknown() -> None:
    graph = Graph([("a", "b"), ("b", "c")], [], {}, ["a", "b", "c"], {"a -> b": "w", "b -> c": "w"})
    rows = HeldRows(("a", "b", "c"), skewed(np.random.default_rng(0), (200, 3)), np.array([1.0, 2.0, 5.0]))
    given = Conditions(rows, graph, ("a", "b", "c"), (("a", "b"), ("b", "c")))
    assert given.unknowns == 1
    assert given.count == 18
    first, second = given.to_raw(np.array([0.3]))
    assert first == second


def test_the_least_is_no_larger_than_on_a_grid() -> None:
    fit = door_fit("skewed")
    rows = held_rows(fit, ("x", "m", "y"), "this test")
    given = Conditions(rows, fit.graph, ("m", "y"), (("m", "y"),))
    found = least(given, given.starts(np.zeros(2)))
    angles = np.linspace(-1.5, 1.5, 25)
    grid = [given.statistic(np.tan([s, t])) for s in angles for t in angles]
    assert found.statistic <= min(grid) + 1e-6
    assert np.isclose(given.statistic(found.free), found.statistic)
    held = least_at(given, lambda free: float(free[1]), 0.5, 1, given.starts(np.zeros(2)))
    line = [given.statistic(np.array([np.tan(s), 0.5])) for s in np.linspace(-1.55, 1.55, 200)]
    assert held.free[1] == 0.5
    assert held.statistic <= min(line) + 1e-6


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = door_fit("skewed", 60)
    monkeypatch.setattr("halftrek.inference.evidence.held_rows.MOST", 100)
    with pytest.raises(InputError, match="60 rows of 3 columns are too many: fit a random part"):
        held_rows(fit, ("x", "m", "y"), "this test")


def test_rows_that_do_not_do_are_refused() -> None:
    fit = door_fit("skewed", 60)
    with pytest.raises(InputError, match="needs the rows"):
        held_rows(ht.fit(fit.graph, fit.moments), ("x",), "this test")
    holes = np.array(held_rows(fit, ("x", "m", "y"), "this test").values)
    holes[3, 1] = np.nan
    with pytest.raises(InputError, match="this test needs rows without missing values, and m have such"):
        held_rows(ht.fit(fit.graph, holes), ("x", "m", "y"), "this test")
    dropped = ht.fit(fit.graph, holes, missing="drop")
    assert len(held_rows(dropped, ("x", "m", "y"), "this test").values) == 59


def test_what_was_computed_before_and_other_columns_do_not_matter() -> None:
    """Memory is written to again and again, and columns that no error is made of are left out."""
    rng = np.random.default_rng(6)
    values = skewed(rng, (80, 5))
    wide = HeldRows(("z", "a", "b", "y", "c"), values, np.ones(5))
    narrow = HeldRows(("a", "b", "c"), np.ascontiguousarray(values[:, [1, 2, 4]]), np.ones(3))
    used = Conditions(wide, GRAPH, ("b", "c"), (("b", "c"),))
    points = rng.standard_normal((4, 2))
    fresh = [Conditions(narrow, GRAPH, ("b", "c"), (("b", "c"),)).residuals(point) for point in points]
    for point, expected in zip((*points, points[0]), (*fresh, fresh[0]), strict=True):
        assert used.residuals(point) == pytest.approx(expected, rel=1e-9)
