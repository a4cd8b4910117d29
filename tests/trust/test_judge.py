"""The one judge: which interval an answer gets, what it says, and that every front asks it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import halftrek as ht
from benchmarks.trust import run
from benchmarks.trust_designs import Cell, cells
from halftrek import estimation
from halftrek.cli import main
from halftrek.data import Moments
from halftrek.inference.evidence.strength import strengths
from halftrek.notes import Note, in_short, warnings_of
from halftrek.queries import DirectEffect, TotalEffect
from halftrek.queries.gradients import linearize
from halftrek.trust import tables
from halftrek.trust.judge import few_rows
from halftrek.trust.strength import weakest_step
from tests.narrow import interval_of, there

INSTRUMENT = "z -> x -> y; x <-> y"


def weak_rows(n: int = 300, strength: float = 3.0, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    z, u = rng.normal(size=n), rng.normal(size=n)
    x = np.sqrt(strength / n) * z + u + 0.5 * rng.normal(size=n)
    return {"z": z, "x": x, "y": 0.5 * x + u + 0.5 * rng.normal(size=n)}


# -- strength from the information -------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("pull", [0.05, 0.3, 1.0])
def test_the_strength_of_an_instrument_is_its_F_less_the_confounding(rho: float, pull: float) -> None:
    """At exact covariances: ``n pull² (1 - rho²)`` over the variance of the first stage's error."""
    T = [[0, pull, 0], [0, 0, 0.5], [0.0, 0.0, 0.0]]
    model = ht.CGLSCM.from_parameters(names=["z", "x", "y"], T=T, omega={("x", "y"): rho})
    fit = estimation.fit(ht.graph(INSTRUMENT), Moments(model.names, 1000, np.array(model.mean), np.array(model.cov)))
    (found,) = strengths(fit, linearize(DirectEffect("x", "y"), fit.model).values)
    assert found == pytest.approx(1000 * pull**2 * (1 - rho**2), rel=1e-4)
    (strong,) = strengths(fit, linearize(DirectEffect("z", "x"), fit.model).values)
    assert strong > 200.0


def test_a_regression_has_no_instrument_to_be_weak() -> None:
    rng = np.random.default_rng(0)
    fit = ht.fit("x -> y", {"x": rng.normal(size=20), "y": rng.normal(size=20)})
    assert np.isinf(strengths(fit, linearize(TotalEffect("x", "y"), fit.model).values)[0])


def test_missing_values_weaken_an_instrument() -> None:
    data = weak_rows(1000, 400.0)
    whole = ht.fit(INSTRUMENT, data)
    data["z"][100:] = np.nan
    part = ht.fit(INSTRUMENT, data)
    slope = linearize(TotalEffect("x", "y"), whole.model).values
    assert strengths(part, linearize(TotalEffect("x", "y"), part.model).values)[0] < strengths(whole, slope)[0] / 1.5


# -- weak instruments: a set instead of a standard error -----------------------------------------------


@pytest.mark.parametrize("covariates", [0, 8])
def test_a_weak_instrument_gets_the_set_that_the_likelihood_leaves(covariates: int) -> None:
    data = weak_rows()
    rng = np.random.default_rng(2)
    w = [f"w{i}" for i in range(covariates)]
    data |= {v: rng.normal(size=300) for v in w}
    graph = "; ".join([INSTRUMENT, *(f"{v} -> {{x, y, z}}" for v in w)])
    found = ht.fit(graph, data).query("x ~> y")
    assert there(found.estimate).kind == "profile"
    assert [n.code for n in found.notes][:1] == ["profile chosen"]
    assert found.notes[0].facts["doubt"] == "weak instrument"
    assert not found.warnings
    asked = ht.fit(graph, data).query("x ~> y", interval="delta")
    assert [n.code for n in asked.notes if n.level == "doubt"] == ["weak instrument"]


def test_rows_that_lack_the_instrument_do_not_make_it_strong() -> None:
    rng = np.random.default_rng(3)
    n, seen = 1000, 60
    z, u = rng.normal(size=n), rng.normal(size=n)
    x = np.sqrt(3 / seen) * z + u + 0.4 * rng.normal(size=n)
    y = 0.5 * x + u + 0.4 * rng.normal(size=n)
    z[seen:] = np.nan
    found = ht.fit(INSTRUMENT, {"z": z, "x": x, "y": y}).query("x ~> y")
    assert there(found.estimate).kind == "profile"


def test_an_instrument_that_is_constant_in_clusters_counts_them() -> None:
    """500 rows would make it strong; 50 clusters do not. Neither interval sends to the other."""
    rng = np.random.default_rng(4)
    g = np.repeat(np.arange(50), 10)
    z = rng.normal(size=50)[g]
    u = rng.normal(size=50)[g] + rng.normal(size=500)
    x = 0.25 * z + u
    y = 0.5 * x + u + rng.normal(size=500)
    fit = ht.fit(INSTRUMENT, {"z": z, "x": x, "y": y, "g": g}, cluster="g")
    found = fit.query("x ~> y")
    assert there(found.estimate).kind == "profile"
    assert not found.warnings
    plain = ht.fit(INSTRUMENT, {"z": z, "x": x, "y": y}).query("x ~> y", interval="profile")
    assert np.isinf(interval_of(found)).any() or np.ptp(interval_of(found)) > 1.2 * np.ptp(interval_of(plain))


def clustered_instrument(pull: float) -> dict[str, np.ndarray]:
    """An instrument and an outcome of which most lies between 60 clusters."""
    rng = np.random.default_rng(5)
    g = np.repeat(np.arange(60), 15)
    u, e1, e2 = rng.normal(size=(3, 900))
    z = rng.normal(size=60)[g] + 0.5 * rng.normal(size=900)
    x = pull * z + u + e1
    return {"z": z, "x": x, "y": 0.4 * x - 0.8 * u + rng.normal(size=60)[g] + e2, "g": g}


def test_the_error_and_p_beside_a_profile_are_of_clusters_as_the_interval_is() -> None:
    fit = ht.fit(INSTRUMENT, clustered_instrument(0.28), cluster="g")
    found, robust = fit.query("x ~> y"), fit.query("x ~> y", interval="robust")
    assert there(found.estimate).kind == "profile"
    assert found.se == robust.se
    low, high = interval_of(found)
    assert low < 0.0 < high
    assert float(np.asarray(found.p)) > 0.05


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pull", [0.1, 0.28, 0.6])
def test_the_F_of_rows_in_clusters_is_that_of_the_first_stage(pull: float, weighted: bool) -> None:
    """The formula's strength beside the regression of the cause on the instrument, with errors by clusters."""
    data = clustered_instrument(pull)
    if weighted:
        data["w"] = np.random.default_rng(6).uniform(0.3, 3.0, size=900)
    fit = ht.fit(INSTRUMENT, data, cluster="g", sampling_weights="w" if weighted else None)
    query = TotalEffect("x", "y")
    found = weakest_step(fit, query, ht.identify(fit.graph, query), 1.0)
    first = fit.instruments("x ~> y").sets[0].first_stage
    strength = there(found)
    assert abs(strength.F / first.statistic - 1.0) < 0.03


def test_probabilities_and_spreads_end_at_their_borders_where_nothing_bounds_them() -> None:
    rng = np.random.default_rng(2)
    u, z = rng.normal(size=(2, 800))
    x = 0.03 * z + u + rng.normal(size=800)
    fit = ht.fit(INSTRUMENT, {"z": z, "x": x, "y": 0.5 * x - u + rng.normal(size=800)})
    for question, border in (("P(y > 1 | do(x=1))", (0.0, 1.0)), ("Var[y | do(x=1)]", (0.0, np.inf))):
        found = fit.query(question)
        assert "unbounded" in {n.code for n in found.notes}
        assert interval_of(found) == border


# -- fronts ------------------------------------------------------------------------------------------------


def test_tables_say_in_a_note_what_may_mislead() -> None:
    data = weak_rows()
    fit = ht.fit(INSTRUMENT, data)
    own = fit.query("x ~> y").interval
    kinds: tuple[tuple[Literal["delta"] | None, str], ...] = (
        (None, "interval by profile likelihood (F = "),
        ("delta", "weak instrument (F = "),
    )
    for interval, words in kinds:
        effects, params = fit.effects(interval=interval), fit.params(interval=interval)
        for table, cause, effect in ((effects, "cause", "effect"), (params, "rhs", "lhs")):
            at = next(i for i, pair in enumerate(zip(table[cause], table[effect], strict=True)) if pair == ("x", "y"))
            assert words in table["note"][at]
            ends = (table["ci_low"][at], table["ci_high"][at])
            assert (ends == pytest.approx(own)) == (interval is None)
    assert "interval by profile likelihood" in " ".join(fit.summary().split())


def test_errors_are_known_no_better_than_the_effects_that_are_taken_out() -> None:
    fit = ht.fit(INSTRUMENT, weak_rows())
    lines = {(row.lhs, row.op, row.rhs): row for row in fit.params(as_frame=False)}
    arc = next(row for (a, op, b), row in lines.items() if op == "~~" and a != b)
    asked = fit.query("x <-> y")
    assert (arc.ci_low, arc.ci_high) == pytest.approx(asked.interval)
    assert "weak instrument" in lines["y", "~~", "y"].note
    assert lines["z", "~~", "z"].note == ""


MEDIATED = "z -> x -> m -> y; x -> y; x <-> y"


def mediated_rows(strength: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    z, u, e, f, g = rng.normal(size=(5, 500))
    x = strength * z + u + 0.3 * e
    m = 0.7 * x + f
    return {"z": z, "x": x, "m": m, "y": 0.5 * m + 0.2 * x + u + g}


def test_what_a_total_effect_is_made_of_is_judged_line_by_line() -> None:
    fit = ht.fit(MEDIATED, mediated_rows(0.08))
    paths = fit.decompose("x", "y")
    lines = {row.path: row for row in (*paths.rows, paths.total)}
    split = {row.kind: row for row in fit.mediation("x", "y").rows}
    for line, question in (
        (lines["x -> y"], "x -> y"),
        (lines["x ~> y"], "x ~> y"),
        (split["total"], "x ~> y"),
        (split["direct"], "x -> y"),
    ):
        assert "interval by profile likelihood (F = " in line.note
        assert (line.ci_low, line.ci_high) == pytest.approx(fit.query(question).interval)
    assert lines["x -> m -> y"].note == split["indirect"].note == ""  # needs no instrument
    assert "shaky proportion" in [n.code for n in fit.mediation("x", "y").notes]
    asked = {row.kind: row for row in fit.mediation("x", "y", interval="delta").rows}
    assert "weak instrument" in asked["direct"].note
    rest = fit.decompose("x", "y", most=1).rows[-1]  # what no question asks for is as weak as edges between the two
    assert rest.path == "(1 other path)"
    assert "weak instrument" in rest.note
    strong = ht.fit(MEDIATED, mediated_rows(0.8))
    assert strong.decompose("x", "y", most=1).rows[-1].note == ""
    assert all(row.note == "" for row in strong.decompose("x", "y").rows)
    assert all(row.note == "" for row in strong.mediation("x", "y").rows)


def test_lines_without_a_standard_error_get_the_interval_of_the_likelihood() -> None:
    rng = np.random.default_rng(50)
    z, u, e, f = rng.normal(size=(4, 200))
    x = 0.05 * z + u + 0.3 * e
    fit = ht.fit(INSTRUMENT, {"z": z, "x": x, "y": 0.5 * x + u + 0.3 * f})
    rows = fit.effects("total")
    at = list(zip(rows["cause"], rows["effect"], strict=True)).index(("x", "y"))
    assert np.isnan(rows["se"][at])
    assert (rows["ci_low"][at], rows["ci_high"][at]) == fit.query("x ~> y").interval == (-np.inf, np.inf)
    assert "interval by profile likelihood" in rows["note"][at]
    drawn = fit.query("x ~> y", interval="bootstrap", replicates=2)  # the spread of replicates is no better guide
    assert "weak instrument" in [n.code for n in drawn.notes]


def test_tables_of_units_say_it_in_a_column_if_there_is_something_to_say() -> None:
    units = {"x": [1.0, 0.0], "m": [1.0, 0.0], "y": [2.0, 1.0], "z": [0.0, 0.0]}
    shaky, sure = (ht.fit(MEDIATED, mediated_rows(s)).counterfactual(units, {"x": 0}, "y") for s in (0.08, 0.8))
    assert len(shaky["note"]) == 2
    assert "weak instrument" in shaky["note"][0]
    assert "note" not in sure
    array = np.column_stack([units[v] for v in ("z", "x", "m", "y")])
    as_array = ht.fit(MEDIATED, mediated_rows(0.08)).counterfactual(array, {"x": 0}, "y")
    assert as_array["note"].tolist() == shaky["note"]
    assert as_array["y"] == pytest.approx(shaky["y"])


def test_fronts_say_what_may_mislead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = weak_rows()
    fit = ht.fit(INSTRUMENT, data)
    path = tmp_path / "weak.csv"
    names = list(data)
    rows = "\n".join(",".join(map(repr, map(float, row))) for row in zip(*data.values(), strict=True))
    path.write_text(",".join(names) + "\n" + rows + "\n")
    assert main(["effect", INSTRUMENT, str(path), "x ~> y", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["interval_kind"] == "profile"
    assert record["notes"][0]["level"] == "note"
    assert main(["effect", INSTRUMENT, str(path), "x ~> y", "--interval", "delta"]) == 0
    assert "--interval profile" in " ".join(capsys.readouterr().out.split())
    fit.report(tmp_path / "report.html", ["x ~> y"])
    assert "profile likelihood" in (tmp_path / "report.html").read_text()


def test_notes_are_values_whose_words_fit_the_front() -> None:
    weak = Note("weak instrument", {"F": 3.0, "strong": 10.0, "rows": "z", "columns": "x"})
    assert 'interval="profile"' in str(weak)
    assert "--interval profile" in weak.words("command line")
    assert in_short([weak, weak]) == "weak instrument (F = 3.0): see fit.query"
    assert warnings_of([weak, weak]) == (str(weak),)
    assert weak == Note("weak instrument", dict(weak.facts))
    assert len({weak, Note("weak instrument", dict(weak.facts))}) == 1
    with pytest.raises(KeyError, match="no words"):
        Note("nothing of the kind")


# -- a probability without a slope -------------------------------------------------------------------------


def test_a_counterfactual_probability_at_its_border_has_an_interval() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    fit = ht.fit("x -> y", {"x": x, "y": -0.02 * x + rng.normal(size=500)})
    question = "P(y_{x=0} < 0.5 | x=1, y > 0.5)"
    found = fit.query(question)
    assert found.value == 0.0
    assert there(found.estimate).kind == "parametric"
    assert interval_of(found)[0] == 0.0 < interval_of(found)[1]
    assert [n.code for n in fit.query(question, interval="delta").notes] == ["kinked"]
    assert [n.code for n in fit.query(question, interval="profile").notes if n.level == "doubt"] == ["kinked"]


# -- a small fixed part of the study --------------------------------------------------------------------


SMALL = [
    cell
    for cell in cells()
    if (cell.design, cell.front)
    in {
        ("5 causes, 10 rows", "query"),
        ("5 clusters of 20", "query"),
        ("front door, y seen in 8 of 100 rows", "query"),
        ("instrument with F near 3, 6 covariates, 500 rows", "query"),
        ("300 groups of 6 rows", "by="),
        ("roots taken for independent, correlation 0.6, 2,000 rows", "query"),
        ("counterfactual probability, effect 0.05, 500 rows", "query"),
    }
]


@pytest.mark.parametrize("cell", SMALL, ids=lambda cell: cell.design)
def test_intervals_cover_or_warn(cell: Cell) -> None:
    """A few samples of a cell: within two and a half standard errors of 5 % missed in silence, and of false alarms."""
    samples = 20 if cell.family == "border" else 50
    row = run(cell, samples)
    assert row.silent <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / samples)
    if not cell.misfit:
        assert row.warned <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / samples)
    else:
        assert row.misfit_said >= 0.95


def test_the_small_part_is_there() -> None:
    assert len(SMALL) == 7


class Stretched:
    """Support whose interval is so many times as wide as the usual one."""

    def __init__(self, times: float) -> None:
        self.times = times

    def stretch(self, _: float) -> np.ndarray:
        return np.array([1.0, self.times])

    def narrowest(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([90.0, 30.0]), np.array([5.0, 12.0])


def test_an_interval_is_worth_a_word_from_a_tenth_more_on() -> None:
    assert few_rows(Stretched(1.09), 0.95) == []  # type: ignore[arg-type]
    (said,) = few_rows(Stretched(1.11), 0.95)  # type: ignore[arg-type]
    assert (said.code, said.facts["rows"], said.facts["free"]) == ("few rows", 30.0, 18.0)


def test_a_share_is_shaky_only_if_what_it_is_made_of_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = ht.fit(MEDIATED, mediated_rows(0.8))
    real = tables._judged_lines

    for kind, shaky in (("direct", False), ("indirect", True), ("total", True)):

        def judged(*given: Any, kind: str = kind) -> list[Any]:
            return [replace(line, note="doubtful" if line.kind == kind else "") for line in real(*given)]

        monkeypatch.setattr(tables, "_judged_lines", judged)
        assert ("shaky proportion" in [n.code for n in fit.mediation("x", "y").notes]) == shaky
