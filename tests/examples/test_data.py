"""The bundled data sets: what they hold, where they are from, and that they give the published numbers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.examples.data import folder
from tests.narrow import interval_of, value_of

NAMES = ("card", "mroz", "tal_or", "airquality", "ecoli70", "front_door")
ROWS = {"card": 3010, "mroz": 428, "tal_or": 123, "airquality": 153, "ecoli70": 1000, "front_door": 2000}


def test_names_and_hints() -> None:
    assert ht.dataset() == NAMES
    with pytest.raises(ht.InputError, match="Did you mean 'airquality'"):
        ht.dataset("airqualty")
    assert repr(ht.dataset("tal_or")).endswith("123 rows)")


@pytest.mark.parametrize("name", NAMES)
def test_each_fits_its_graph_and_answers_its_question(name: str) -> None:
    study = ht.dataset(name)
    assert study.n == ROWS[name] == len(study.data)
    assert set(study.columns) == set(study.graph.observed)
    assert min(map(len, (study.source, study.licence, study.description))) > 8
    assert study.source in str(study)
    fit = ht.fit(study.graph, study.data, missing="drop")
    assert fit.converged
    assert fit.query(study.question).identified


@pytest.mark.parametrize(
    ("name", "published", "within"),
    [("card", 0.131503837287604, 1e-6), ("mroz", 0.0591734730170753, 1e-6), ("tal_or", 0.241, 5e-4)],
)
def test_the_published_numbers(name: str, published: float, within: float) -> None:
    study = ht.dataset(name)
    assert ht.fit(study.graph, study.data).query(study.question).value == pytest.approx(published, abs=within)


def test_missing_values_are_kept_as_such() -> None:
    columns = ht.dataset("airquality").columns
    assert {v: sum(x is None for x in column) for v, column in columns.items() if None in column} == {
        "Ozone": 37,
        "Solar": 7,
    }
    frame = ht.dataset("airquality").data
    assert int(frame.isna().to_numpy().sum()) == 44
    assert ht.fit(ht.dataset("airquality").graph, frame, missing="drop").n == 111


def test_the_network_is_the_published_one() -> None:
    study = ht.dataset("ecoli70")
    assert study.model is not None
    assert (len(study.graph), len(study.graph.directed)) == (46, 70)
    assert study.model.query("icdA -> aceB").value == 1.0464
    assert study.model.query("b1191 ~> aceB").value == pytest.approx(-1.2631181361072, abs=1e-12)
    rows = np.array(list(study.columns.values())).T
    spread = np.sqrt(np.diag(study.model.cov) / len(rows))
    assert (np.abs(rows.mean(axis=0) - study.model.mean) < 5 * spread).all()
    assert study.columns is study.columns
    effect = ht.fit(study.graph, study.data).effect("eutG", "asnA")
    low, high = interval_of(effect)
    assert low < value_of(study.model.query("eutG ~> asnA")) < high


def test_the_frame_is_of_the_library_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    import polars
    import pyarrow

    pyarrow.array([0.0])  # it looks for pandas once, and older ones trip over a module that is blocked then
    study = ht.dataset("tal_or")
    blocked: list[Any] = []
    for library, kind in (("pandas", None), ("polars", polars.DataFrame), ("pyarrow", pyarrow.Table)):
        if kind is not None:
            assert isinstance(study.data, kind), library
        else:
            assert type(study.data).__module__.startswith("pandas")
        blocked.append(library)
        monkeypatch.setitem(sys.modules, library, None)
    assert study.data == study.columns


def test_the_wheel_stays_small_and_names_its_sources() -> None:
    assert sum(path.stat().st_size for path in folder().iterdir()) < 250_000
    notes = (folder() / "SOURCES.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert ht.dataset(name).licence in notes
