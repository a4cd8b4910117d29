"""Columns with two values, a few, or counts are known as such, whatever they come from and however they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.data import Moments, Patterns, read_moments, read_patterns
from halftrek.data.columns.kinds import MOST, KindSearch, shapes
from halftrek.data.sources import memory as frames
from tests.data.test_read import KINDS, source
from tests.narrow import grouped

SHAPES = {"b b": "two values", 'q"c': "few values", "flag": "two values"}


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    n = 3000
    return {
        "a": rng.standard_normal(n),
        "b b": rng.integers(1, 3, n),
        'q"c': np.round(rng.standard_normal(n)).clip(-2, 2) / 2.0,
        "flag": rng.random(n) < 0.3,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_knows_its_kinds(
    kind: str, columns: dict[str, np.ndarray], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(frames, "PIECE", 640)
    m = read_moments(source(kind, columns, tmp_path), list(columns) if kind in ("fortran", "list") else None)
    assert shapes(m) == SHAPES
    assert m.kinds is not None
    assert [k.values for k in m.kinds] == [None, (1.0, 2.0), (-1.0, -0.5, 0.0, 0.5, 1.0), (0.0, 1.0)]
    assert [k.whole for k in m.kinds] == [False, True, False, True]


@given(
    st.lists(
        st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5).map(lambda x: round(x, 1)), st.just(float("nan"))),
        min_size=1,
        max_size=300,
    ),
    st.integers(1, 100),
)
@settings(max_examples=200, deadline=None)
def test_the_search_finds_what_a_set_finds(entries: list[float], step: int) -> None:
    search = KindSearch(1)
    for k in range(0, len(entries), step):
        search.add(np.array(entries[k : k + step])[:, None])
    (found,) = search.kinds([None])
    seen = sorted({x for x in entries if x == x})
    assert found.values == (tuple(seen) if len(seen) <= MOST else None)
    assert found.whole == all(x == int(x) for x in seen)
    if seen and found.whole:
        assert found.least == seen[0]


def test_continuous_columns_are_looked_at_once() -> None:
    class Counting(np.ndarray):
        looks = 0

        def __getitem__(self, key: Any) -> Any:
            Counting.looks += isinstance(key, tuple)
            return np.asarray(super().__getitem__(key))

    search = KindSearch(1)
    for _ in range(5):
        search.add(np.random.default_rng(0).standard_normal((200, 1)).view(Counting))
    assert Counting.looks == 1


def test_small_samples_are_not_taken_for_few_values() -> None:
    rng = np.random.default_rng(0)
    assert shapes(read_moments(rng.standard_normal((8, 2)))) == {}
    assert shapes(read_moments(np.column_stack([rng.standard_normal(8), np.arange(8) % 2]))) == {"x2": "two values"}


def test_counts_near_zero_are_counts_and_ages_are_not() -> None:
    rng = np.random.default_rng(1)
    table = {"visits": rng.poisson(4.0, 5000), "age": rng.integers(18, 90, 5000), "calls": rng.poisson(60.0, 5000)}
    assert shapes(read_moments(table)) == {"visits": "count"}


def test_kinds_survive_selection_merging_and_dictionaries(columns: dict[str, np.ndarray]) -> None:
    m = read_moments(columns)
    assert shapes(m.select(["flag", "a"])) == {"flag": "two values"}
    parts = [read_moments({v: c[rows] for v, c in columns.items()}) for rows in (slice(0, 900), slice(900, None))]
    both = parts[0] + parts[1]
    assert both.kinds == m.kinds
    again = Moments.from_dict(m.to_dict())
    assert again.kinds == m.kinds
    more = read_moments({**columns, "b b": columns["b b"] + 7})
    merged = (m + more).kinds
    assert merged is not None
    assert merged[1].values == (1.0, 2.0, 8.0, 9.0)
    assert (m + Moments(m.names, 10, m.mean, m.cov)).kinds is None
    assert Moments.from_cov(np.eye(2), 50).kinds is None


def test_rows_with_holes_and_dropped_rows(columns: dict[str, np.ndarray]) -> None:
    incomplete = {v: np.asarray(c, dtype=float).copy() for v, c in columns.items()}
    incomplete["a"][::3] = np.nan
    incomplete["flag"][:50] = np.nan
    found = read_patterns(incomplete)
    assert isinstance(found, Patterns)
    assert shapes(found) == SHAPES
    assert shapes(found.select(["a", "flag"])) == {"flag": "two values"}
    incomplete["flag"][0], incomplete["a"][0] = 7.0, np.nan
    dropped = read_moments(incomplete, missing="drop")
    assert dropped.kinds is not None
    assert dropped.kinds[3].values == (0.0, 1.0)  # the 7 stands in a row that was left out
    fitted = ht.fit("a -> flag", pd.DataFrame(incomplete), missing="fiml")
    assert fitted.patterns is not None
    assert fitted.patterns.kinds is not None
    assert fitted.patterns.kinds[1].values == (0.0, 1.0, 7.0)


def test_groups_have_the_kinds_of_all_rows(columns: dict[str, np.ndarray]) -> None:
    frame = pd.DataFrame(columns).assign(g=np.arange(3000) % 3)
    fits = grouped(ht.fit('a -> flag; "b b" -> flag', frame, by="g"))
    assert shapes(fits[1].moments) == {"flag": "two values", "b b": "two values"}
    stacked = grouped(ht.fit("a -> flag", {k: read_moments(rows, ["a", "flag"]) for k, rows in frame.groupby("g")}))
    assert shapes(stacked[2].moments) == {"flag": "two values"}


def test_kinds_are_saved(columns: dict[str, np.ndarray], tmp_path: Path) -> None:
    fitted = ht.fit('a -> "b b"', pd.DataFrame(columns))
    loaded = ht.load(fitted.save(tmp_path / "fit.json"))
    assert loaded.moments.kinds == fitted.moments.kinds
    assert ht.load(Path(__file__).parents[2] / "reference" / "saved" / "fit_v1.json").moments.kinds is None
