"""Tables of effects and parameters where categories act: the numbers of single questions, nothing that is not known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import InputError, NotIdentifiedError, QueryError
from tests.narrow import interval_of, se_of, value_of

GRAPH = "z -> d; z -> m; d -> m; d -> y; m -> y; d <-> y; a -> b; a <-> b"


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    rng = np.random.default_rng(2)
    z, hidden, other = rng.normal(size=(3, 600))
    d = (0.9 * z + 0.6 * hidden + 0.8 * rng.normal(size=600) > 0.2).astype(float)
    m = 3.0 + 2.0 * d + 0.5 * z + 2.0 * rng.normal(size=600)
    y = np.digitize(0.6 * d + 0.2 * m - 0.6 * hidden + 0.8 * rng.normal(size=600), [0.3, 1.2]).astype(float)
    a = other + rng.normal(size=600)
    rows = pd.DataFrame({"z": z, "d": d, "m": m, "y": y, "a": a, "b": a + other + rng.normal(size=600)})
    return ht.fit(GRAPH, rows, kinds={"d": "acts", "y": "ordered"})


def test_effects_are_those_of_single_questions(fit: ht.Fit) -> None:
    known = 0
    for row in fit.effects().itertuples():
        edge = "->" if row.kind == "direct" else "~>"
        if row.kind == "indirect":
            continue
        try:
            found = fit.query(f"{row.cause} {edge} {row.effect}")
        except (QueryError, NotIdentifiedError):
            assert np.isnan([row.est, row.se, row.ci_low, row.ci_high]).all()
            assert "lies between and acts" in row.note or "not identified" in row.note
            continue
        known += 1
        assert row.est == pytest.approx(value_of(found), rel=1e-9)
        assert row.se == pytest.approx(se_of(found), rel=1e-5)
        assert (row.ci_low, row.ci_high) == pytest.approx(interval_of(found), rel=1e-4, abs=1e-6)
    assert known >= 8
    table = fit.effects().set_index(["cause", "effect", "kind"])
    direct, indirect, total = (table.loc[("d", "y", kind), "est"] for kind in ("direct", "indirect", "total"))
    assert total == pytest.approx(direct + indirect)
    assert "no single number: d lies between" in table.loc[("z", "y", "total"), "note"]
    assert "not identified: a -> b is confounded" in table.loc[("a", "b", "total"), "note"]


def test_effects_with_rows_drawn_again_and_by_kind(fit: ht.Fit) -> None:
    drawn = fit.effects("total", interval="bootstrap", replicates=8).set_index(["cause", "effect"])
    one = fit.query("d ~> y", interval="bootstrap", replicates=8)
    assert set(drawn["kind"]) == {"total"}
    assert drawn.loc[("d", "y"), "se"] == pytest.approx(se_of(one))
    assert tuple(drawn.loc[("d", "y"), ["ci_low", "ci_high"]]) == pytest.approx(interval_of(one))
    with pytest.raises(InputError, match='interval="delta" is not known where a category acts'):
        fit.effects(interval="delta")


def test_parameters_that_the_graph_leaves_open_have_no_number(fit: ht.Fit) -> None:
    table = fit.params().set_index(["lhs", "op", "rhs"])
    for key in (("b", "~", "a"), ("a", "~~", "b"), ("b", "~~", "b"), ("b", "~1", "")):
        assert np.isnan(table.loc[key, "est"])
        assert table.loc[key, "note"] == "not determined by data"
    assert table.loc[("y", "~", "d"), "est"] == pytest.approx(value_of(fit.query("d -> y")))
    again = fit.params(interval="bootstrap", replicates=8).set_index(["lhs", "op", "rhs"])
    assert again.loc[("y", "~", "d"), "se"] == pytest.approx(
        se_of(fit.query("d -> y", interval="bootstrap", replicates=8))
    )
