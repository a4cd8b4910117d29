"""The catalog's entries, looked up and read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from halftrek.errors import HalftrekError, InputError
from halftrek.examples import catalog, data_path, load, names, resolve
from halftrek.examples.data import make_front_door


def test_without_a_name_it_lists_the_names() -> None:
    assert catalog() == names()
    assert catalog()[:2] == ("front-door", "napkin")
    assert len(set(names())) == len(names()) >= 20


@pytest.mark.parametrize("spelling", ["front-door", "frontdoor", "Front Door", "FRONT_DOOR", " front-door "])
def test_spelling_does_not_matter(spelling: str) -> None:
    assert catalog(spelling) is catalog("front-door")


def test_aliases() -> None:
    assert catalog("iv").name == "instrument"
    assert resolve("F01") == "finite"
    assert resolve("no such graph") is None


def test_no_spelling_stands_for_two_entries() -> None:
    spellings = ["".join(c for c in s.lower() if c.isalnum()) for n in names() for s in (n, *catalog(n).aliases)]
    bare = {n: {s for s in spellings if resolve(s) == n} for n in names()}
    assert sum(map(len, bare.values())) == len(set(spellings))
    assert all(resolve(n) == n for n in names())


def test_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(InputError, match="'napkin'"):
        catalog("nappkin")
    with pytest.raises(HalftrekError, match="by name"):
        catalog(3)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", names())
def test_entry_is_complete(name: str) -> None:
    entry = catalog(name)
    assert entry.title
    assert entry.description.endswith(".")
    assert any(c.isdigit() for c in entry.reference)
    assert entry.verdicts
    assert entry.model.graph == entry.graph
    assert np.linalg.eigvalsh(entry.model.W)[0] > 0.05
    assert np.abs(entry.model.T[entry.model.T != 0]).min(initial=1.0) >= 0.1
    for known in entry.verdicts.values():
        assert set(known) <= {"linear", "nonparametric"}
        assert set(known.values()) <= {"identified", "finite", "not identified"}
    assert name in repr(entry)


def test_entries_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        catalog("bow").verdicts["x ~> y"] = {}  # type: ignore[index]


def test_front_door_has_the_papers_parameters() -> None:
    m = catalog("front-door").model
    assert m.names == ("X1", "X2", "X3")
    assert m.latents == ("U4",)
    np.testing.assert_array_equal(m.T, [[0, 0.5, 0], [0, 0, 0.9], [0, 0, 0]])
    np.testing.assert_array_equal(m.C, [[-0.2, 0, 0.3]])
    np.testing.assert_array_equal(m.mu, [0.3, 0.1, 0.2])
    np.testing.assert_array_equal(m.psi, [1, 1, 1])
    np.testing.assert_allclose(m.B, [[1, 0.5, 0.45], [0, 1, 0.9], [0.0, 0.0, 1.0]], atol=1e-15)


def test_napkin_has_the_papers_parameters() -> None:
    m = catalog("napkin").model
    assert m.names == ("X1", "X2", "X3", "X4")
    assert m.latents == ("U5", "U6")
    np.testing.assert_array_equal(m.T, [[0, 0.1, 0, 0], [0, 0, 0.9, 0], [0, 0, 0, 0.8], [0, 0, 0, 0]])
    np.testing.assert_array_equal(m.C, [[-0.2, 0, 0.1, 0], [0.3, 0, 0, 0.4]])
    np.testing.assert_array_equal(m.mu, [0.8, -0.9, 0.01, -0.5])
    np.testing.assert_array_equal(m.psi, [1, 1, 1, 1])


@pytest.mark.parametrize(
    ("name", "do", "outcome", "mean", "variance"),
    [
        ("front-door", {"X2": 1.0}, "X3", 1.1, 1.09),
        ("front-door", {"X1": 1.0}, "X3", 0.74, 1.9),
        ("napkin", {"X3": 1.0}, "X4", 0.3, 1.16),
        ("napkin", {"X1": 1.0}, "X4", -1.068, 2.3248),
    ],
)
def test_models_answer_as_the_papers_original_column(
    name: str, do: dict[str, Any], outcome: str, mean: float, variance: float
) -> None:
    answer = catalog(name).model.do(do).distribution(outcome)
    assert answer.mean[0] == pytest.approx(mean, abs=1e-12)
    assert answer.variance[0] == pytest.approx(variance, abs=1e-12)


class TestBundledData:
    def test_is_what_the_code_makes(self) -> None:
        made = np.loadtxt(make_front_door().splitlines()[1:], delimiter=",")
        np.testing.assert_allclose(np.asarray(load("front_door")), made, atol=1.01e-4)

    def test_is_small_and_has_its_names(self) -> None:
        assert data_path("front_door").stat().st_size < 150_000
        rows = load("front_door")
        assert rows.shape == (2_000, 3)
        assert rows.names == catalog("smoking").graph.observed

    def test_shows_confounding(self) -> None:
        rows = np.asarray(load("front_door"))
        slope = np.cov(rows.T)[0, 2] / rows[:, 0].var(ddof=1)
        assert slope > 2 * catalog("smoking").model.total_effect("smoking", "cancer_risk")

    def test_unknown_set(self) -> None:
        with pytest.raises(InputError, match="front_door"):
            data_path("frontdor")
