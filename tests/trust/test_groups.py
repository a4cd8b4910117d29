"""Tables by group: a line is what the group's own fit would say, and all groups are looked at together."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.inference.evidence.strength import as_strength, strengths
from halftrek.inference.groups.batch import batch_ratios
from halftrek.queries import TotalEffect
from halftrek.queries.gradients import linearize
from halftrek.simulation import random_graph
from halftrek.trust import groups as judged
from halftrek.trust.misfit import misfit
from tests.narrow import grouped, some, there

INSTRUMENT = "z -> x -> y; x <-> y; w -> x; w -> y"


def in_groups(strengths_: list[float], rows: int = 300, direct: list[float] | None = None) -> dict[str, np.ndarray]:
    """Groups that differ in how strong the instrument z is, and in what w and z have in common."""
    rng = np.random.default_rng(4)
    g = np.repeat(np.arange(len(strengths_)), rows)
    z, w, u, e, f = rng.normal(size=(5, len(g)))
    w = w + np.array(direct or [0.0] * len(strengths_))[g] * z
    x = np.array(strengths_)[g] * z + 0.3 * w + u + e
    return {"z": z, "w": w, "x": x, "y": 0.5 * x + 0.3 * w + u + f, "g": g}


@pytest.mark.parametrize("seed", range(6))
def test_strengths_of_all_groups_are_those_of_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(5, n_edges=5, n_bidirected=3, random_state=rng) if seed else ht.graph(INSTRUMENT)
    tables = [rng.normal(size=(80, len(graph))) for _ in range(3)]
    data = dict(zip(graph.observed, np.concatenate(tables).T, strict=True)) | {"g": np.repeat([0, 1, 2], 80)}
    fits = grouped(ht.fit(graph, data, by="g"))
    alone = [fits[k] for k in fits.keys]
    clear = np.array([fit.status.code == "converged" for fit in alone])
    pairs = [(u, v) for u in graph.observed for v in graph.descendants(u) - {u}]
    for u, v in some(pairs):
        query = TotalEffect(u, v)
        found = as_strength(batch_ratios(fits.batch, fits.options, query)[:, 0], fits.groups.n)
        each = [strengths(fit, [linearize(query, fit.model).values[0]])[0] for fit in alone]
        assert found[clear] == pytest.approx(np.array(each)[clear], rel=1e-5)


def test_a_line_is_what_the_fit_of_its_group_says() -> None:
    fits = grouped(ht.fit(INSTRUMENT, in_groups([0.05, 0.3, 3.0, 1.0], direct=[0.0, 0.0, 0.0, 0.5]), by="g"))
    table = fits.query("x ~> y")
    for k in range(4):
        own = fits[k].query("x ~> y")
        assert (table["low"][k], table["high"][k]) == pytest.approx(own.interval, rel=1e-6)
    assert "profile" in table["note"][0]
    assert "profile" in table["note"][1]
    assert table["note"][2] == ""
    assert "the data contradict the graph" in table["note"][3]
    plain = fits.query("x ~> y", interval="delta")
    assert all("profile" not in text for text in plain["note"])


def test_p_values_of_all_groups_are_those_of_each() -> None:
    fits = grouped(ht.fit(INSTRUMENT, in_groups([1.0, 1.0, 1.0], direct=[0.0, 0.2, 0.5], rows=60), by="g"))
    found = judged.chances(fits, fits.fitted)
    each = [there(misfit(fits[k])).p for k in fits.keys]
    exact = np.array(each) < 0.3  # of statistics below their mean only that they are is found
    assert exact.any()
    assert found[exact] == pytest.approx(np.array(each)[exact], rel=1e-4)


def test_beyond_the_worst_groups_there_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "LOOKS", 1)
    table = grouped(ht.fit(INSTRUMENT, in_groups([0.05, 0.1, 3.0]), by="g")).query("x ~> y")
    assert sorted(["profile" in text for text in table["note"]]) == [False, False, True]
    assert sum("hardly identified" in text for text in table["note"]) == 1


def test_groups_with_missing_values_are_looked_at_too() -> None:
    data = in_groups([0.05, 3.0])
    data["z"][::7] = np.nan
    table = grouped(ht.fit(INSTRUMENT, data, by="g")).query("x ~> y")
    assert "profile" in table["note"][0]
    assert "profile" not in table["note"][1]


def test_distributions_of_changed_worlds_are_those_of_each_group() -> None:
    fits = grouped(ht.fit(INSTRUMENT, in_groups([1.0, 1.5]), by="g"))
    table = fits.query("P(y, w | do(x += 1))")
    assert list(table["outcome"]) == ["y", "w"] * 2
    for k, key in enumerate(fits.keys):
        one = fits[key].query("P(y, w | do(x += 1))").estimate
        lines = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(np.asarray(table["estimate"])[lines], there(one).values, rtol=1e-9)
        np.testing.assert_allclose(np.asarray(table["se"])[lines], there(one).errors, rtol=1e-6)
        np.testing.assert_allclose(np.asarray(table["variance"])[lines], there(one).variances, rtol=1e-9)
