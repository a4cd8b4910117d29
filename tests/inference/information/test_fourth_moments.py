"""Products of forms from fourth moments are those of a pass over the rows; they serve all questions."""

from __future__ import annotations

import sqlite3
from typing import Any

import ibis
import numpy as np
import polars as pl
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import RowReader
from halftrek.inference.checks.edges.scores import RowForms
from halftrek.inference.checks.mixture import Squares
from halftrek.inference.information.fourth_moments import FEW, from_fourth_moments, unit_products
from halftrek.inference.information.influence import influence
from halftrek.inference.information.robust import added, over_units, products
from halftrek.queries.gradients import linearize
from halftrek.simulation import random_graph, random_model
from tests.data.sources.engine_tables import folder

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # those of engines

GIVEN: list[dict[str, Any]] = [
    {}, {"weights": "times"}, {"sampling_weights": "share"}, {"cluster": "place"},
    {"cluster": "place", "sampling_weights": "share"},
]  # fmt: skip


def rows_in_an_engine(p: int) -> tuple[ht.Graph, pl.DataFrame, Any]:
    """Rows that are not normal and lie far from zero, with weights and clusters."""
    graph = random_graph(p, n_edges=min(p + 2, p * (p - 1) // 2), n_bidirected=p // 4, random_state=p)
    rng = np.random.default_rng(p)
    rows = np.exp(0.5 * random_model(graph, random_state=p).sample(600, random_state=1)) + 1e3
    place = rng.integers(0, 40, 600)
    table = pl.DataFrame({v: rows[:, k] + 0.3 * rng.normal(size=40)[place] for k, v in enumerate(graph.observed)})
    beside = {"times": rng.integers(0, 4, 600), "share": rng.uniform(0.5, 2.0, 600), "place": place}
    table = table.with_columns(**{name: pl.Series(values) for name, values in beside.items()})
    place_of_rows = folder() / f"fourth-{p}.db"
    with sqlite3.connect(place_of_rows) as connection:
        connection.execute("drop table if exists rows")
        kinds = ", ".join(f"{v} {'integer' if v in ('times', 'place') else 'real'}" for v in table.columns)
        connection.execute(f"create table rows ({kinds})")
        connection.executemany(f"insert into rows values ({', '.join('?' * table.width)})", table.rows())
    return graph, table, ibis.sqlite.connect(place_of_rows).table("rows")


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: " ".join(given))
@pytest.mark.parametrize("p", [2, 4, FEW])
def test_as_from_the_rows(p: int, given: dict[str, Any]) -> None:
    graph, table, source = rows_in_an_engine(p)
    here, there = ht.fit(graph, table, **given), ht.fit(graph, source, **given)
    edges = [ht.parse_question(f"{u} -> {v}") for u, v in graph.directed]
    gradients = tuple(g for edge in edges for g in linearize(edge, there.model).values)
    forms: list[RowForms] = [influence(there, gradients), Squares.of(there)]
    found, units = unit_products(there, forms)
    wanted, counted = over_units(there, forms, products, added)
    assert units == pytest.approx(counted, rel=1e-12)
    size = np.sqrt(np.diag(wanted))
    assert (np.isnan(found) == np.isnan(wanted)).all()  # of what data do not determine
    assert np.nanmax(np.abs(found - wanted) / np.outer(size, size)) < 1e-10
    ours, theirs = there.params(interval="robust"), here.params(interval="robust")
    np.testing.assert_allclose(np.asarray(ours["se"]), np.asarray(theirs["se"]), rtol=1e-10)


def test_no_row_is_read_for_any_question(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _, source = rows_in_an_engine(4)
    fit = ht.fit(graph, source, cluster="place")
    passes: list[object] = []
    read: Any = RowReader._read

    def noted(self: RowReader, *given: Any) -> Any:
        passes.append(given)
        return read(self, *given)

    monkeypatch.setattr(RowReader, "_read", noted)
    (u, v), *_ = graph.directed
    assert fit.effect(u, v, interval="robust").se
    fit.query(f"E[{v} | do({u}=1)]", interval="robust")
    fit.params(interval="robust")
    fit.effects(interval="robust")
    fit.measures(robust=True)
    assert not passes


class Cubes:
    """Forms that are not of the second degree."""

    def __len__(self) -> int:
        return 1

    @property
    def at(self) -> Ints:
        return np.zeros(1, dtype=np.intp)

    def values(self, centred: Floats, cov: Floats) -> Floats:
        return np.asarray(centred[:, :1] ** 3 / cov[0, 0] ** 1.5)


def test_where_they_do_not_tell() -> None:
    graph, table, source = rows_in_an_engine(4)
    here, there = ht.fit(graph, table), ht.fit(graph, source)
    assert from_fourth_moments(here, [Squares.of(here)]) is None  # rows in memory
    assert from_fourth_moments(there, [Squares.of(there)]) is not None
    assert from_fourth_moments(there, [Cubes()]) is None
    many, _, more = rows_in_an_engine(FEW + 1)
    wide = ht.fit(many, more)
    assert from_fourth_moments(wide, [Squares.of(wide)]) is None
