"""Intervals of sets from rows: weights, clusters, missing values, few rows; what is refused, and by which name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import halftrek as ht
from halftrek.errors import InputError, QueryError
from halftrek.trust import leeway

GRAPH = "z -> x -> y; x <-> y"
LEAK = ["abs(z -> y) <= 0.1"]


def _columns(n: int = 400) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    z, u = rng.normal(size=(2, n))
    x = 0.7 * z + u + rng.normal(size=n)
    return {"z": z, "x": x, "y": 0.5 * x + 0.05 * z + u + rng.normal(size=n)}


def _bounds(data: dict[str, Any], question: str = "x -> y", **options: Any) -> ht.Bounds:
    return ht.bounds(GRAPH, data, question, assume=LEAK, **options)


def _codes(found: ht.Bounds) -> set[str]:
    return {n.code for n in found.notes}


def test_weights_that_count_rows_are_rows() -> None:
    columns = _columns()
    twice = {v: np.repeat(x, 2) for v, x in columns.items()}
    weighted = _bounds(columns, weights=np.full(400, 2.0))
    assert weighted.interval == pytest.approx(_bounds(twice).interval, abs=1e-7)


def test_rows_that_are_copies_count_once_where_copies_are_a_cluster() -> None:
    columns = _columns(4000)
    copies = {v: np.repeat(x, 5) for v, x in columns.items()}
    plain, clustered = _bounds(columns), _bounds(copies, cluster=np.repeat(np.arange(4000), 5))
    assert "set by units" in _codes(clustered)
    assert plain.interval is not None
    assert clustered.interval is not None
    for ours, theirs, end in zip(clustered.interval, plain.interval, (plain.low, plain.high), strict=True):
        assert ours - end == pytest.approx(theirs - end, rel=0.05)  # the rows are normal in a sample, about


def test_independent_normal_rows_are_scaled_by_about_one() -> None:
    fitted = ht.fit(GRAPH + "; z -> y", _columns(20_000), cluster=np.arange(20_000))
    given = leeway(fitted, ht.parse_question("x -> y"), 0.95)
    rng = np.random.default_rng(5)
    for _ in range(5):
        G = rng.normal(size=(3, 3))
        assert given.factor(rng.normal(size=3), G + G.T) == pytest.approx(1.0, abs=0.06)


def test_few_clusters_take_students_t() -> None:
    found = _bounds(_columns(), cluster=np.repeat(np.arange(10), 40))
    assert {"set for few clusters", "set by units"} <= _codes(found)
    fitted = ht.fit(GRAPH, _columns(), cluster=np.repeat(np.arange(10), 40))
    for level in (0.9, 0.95):
        given = leeway(fitted, ht.parse_question("x -> y"), level)
        tail = 0.5 + level / 2.0
        assert given.stretch == pytest.approx(stats.t.ppf(tail, 9) / stats.norm.ppf(tail), rel=1e-9)
        assert [n.facts["free"] for n in given.notes if n.code == "set for few clusters"] == [9.0]


def test_few_rows_are_said_and_widen() -> None:
    few = {v: x[:14] for v, x in _columns().items()}
    assert "few rows" in _codes(_bounds(few))
    assert "few rows" not in _codes(_bounds(_columns()))


def test_missing_values_use_every_value() -> None:
    """All of z and x, of which some rows lack y: the deviance is that of the observed values."""
    columns = _columns(600)
    holes = {**columns, "y": np.where(np.arange(600) % 3 == 0, np.nan, columns["y"])}
    whole, seen, dropped = _bounds(columns), _bounds(holes), _bounds(holes, missing="drop")
    widths = [b.interval[1] - b.interval[0] for b in (whole, seen, dropped) if b.interval is not None]
    assert widths[0] < widths[1] < widths[2] * 1.02
    assert "missing values" in _codes(seen)


def test_patterns_of_complete_rows_have_the_interval_of_their_moments() -> None:
    """One value of a variable that nobody asks about is missing: hardly anything changes."""
    columns = _columns(400)
    one = {**columns, "z": np.where(np.arange(400) == 7, np.nan, columns["z"])}
    assert _bounds(one).interval == pytest.approx(_bounds(columns).interval, abs=0.02)


@pytest.mark.parametrize("question", ["E[y | do(x=1)]", "P(y > 1 | do(x=1))", "Var[y | do(x=1)]"])
def test_questions_beside_effects(question: str) -> None:
    found = _bounds(_columns(), question)
    assert found.interval is not None
    assert found.interval[0] < found.low < found.high < found.interval[1]


def test_a_graph_that_the_data_contradict_is_said_beside_the_interval() -> None:
    columns = _columns()
    columns["w"] = columns["x"] + np.random.default_rng(1).normal(size=400)
    found = ht.bounds(GRAPH + "; w", columns, "x -> y", assume=LEAK)
    assert "misfit" in _codes(found)


def test_what_is_not_computed_is_refused_by_name() -> None:
    columns = _columns()
    with pytest.raises(InputError, match="a table of all groups"):
        ht.bounds(GRAPH, columns, "x -> y", assume=LEAK, by="z")  # type: ignore[call-arg]
    with pytest.raises(InputError, match="noise variances are fixed, as that of 'x'"):
        _bounds(columns, noise={"x": 1.0})
    with pytest.raises(QueryError, match="several outcomes"):
        _bounds(columns, "P(y, x | do(z=1))")
    holes = {**columns, "y": np.where(np.arange(400) % 3 == 0, np.nan, columns["y"])}
    with pytest.raises(InputError, match="moves with means"):
        _bounds(holes, "E[y | do(x=1)]", cluster=np.repeat(np.arange(80), 5))
    fitted = ht.fit(GRAPH, columns)
    with pytest.raises(InputError, match="replicates= has no meaning"):
        fitted.query("x -> y", assume=LEAK, replicates=50)
    with pytest.raises(InputError, match="one and the same"):
        fitted.bounds("x -> y", assume=LEAK, constraints=LEAK)


def test_an_answer_holds_bounds() -> None:
    fitted = ht.fit("x -> y; x <-> y", _columns())
    free, held = fitted.query("x -> y", bounds=True), fitted.query("x -> y", assume=["x <-> y >= 0"])
    assert free.form == held.form == "bounds"
    assert isinstance(free.result, ht.Bounds)
    assert free.result.words == "any value"
    assert isinstance(held.result, ht.Bounds)
    assert "at most" in str(held)
    assert held.result == fitted.bounds("x -> y", assume=["x <-> y >= 0"])
