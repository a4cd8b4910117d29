"""An estimate that is another number than its formula says why, in every front."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.inference.evidence.beside_formula import _tools, formula_notes, liml_instruments, tasks_of
from halftrek.queries import DirectEffect, TotalEffect
from halftrek.simulation import random_model
from tests.narrow import number, there, value_of

TWO = "z1 -> x; z2 -> x; x -> y; x <-> y"
EDGE = DirectEffect("x", "y")


def fitted(text: str, n: int = 400, **options: Any) -> ht.Fit:
    graph = ht.graph(text)
    return ht.fit(graph, random_model(graph, random_state=2).sample(n, random_state=3), **options)


def liml(S: np.ndarray, y: int, endogenous: list[int], included: list[int], excluded: list[int]) -> np.ndarray:
    """The k-class estimate with the least k that the sample allows (Anderson and Rubin 1949), by the book."""
    both = [y, *endogenous]

    def left(instruments: list[int], of: list[int]) -> np.ndarray:
        if not instruments:
            return S[np.ix_(of, of)]
        slope = np.linalg.solve(S[np.ix_(instruments, instruments)], S[np.ix_(instruments, of)])
        return S[np.ix_(of, of)] - S[np.ix_(of, instruments)] @ slope

    every = [*included, *excluded]
    k = np.linalg.eigvals(np.linalg.solve(left(every, both), left(included, both))).real.min()
    X = [*endogenous, *included]
    weighted = S[np.ix_(X, X)] - k * left(every, X)
    return np.linalg.solve(weighted, S[X, y] - k * left(every, [*X, y])[:-1, -1])


@pytest.mark.parametrize(
    ("text", "endogenous", "included", "excluded"),
    [
        (TWO, ["x"], [], ["z1", "z2"]),
        ("w -> {z1, z2, z3}; {w, z1, z2, z3} -> x; {x, w} -> y; x <-> y", ["x"], ["w"], ["z1", "z2", "z3"]),
        ("latent U; {z1, z2, z3} -> x; x -> y; U -> {x, y}", ["x"], [], ["z1", "z2", "z3"]),
        (
            "{z1, z2, z3} -> x; {z1, z2, z3} -> v; {x, v} -> y; x <-> y; v <-> y; x <-> v",
            ["x", "v"], [], ["z1", "z2", "z3"],
        ),
    ],
)  # fmt: skip
def test_what_is_called_liml_is_liml(
    text: str, endogenous: list[str], included: list[str], excluded: list[str]
) -> None:
    found = fitted(text)
    place = found.moments.names.index
    expected = liml(
        found.moments.cov, place("y"), *([place(v) for v in names] for names in (endogenous, included, excluded))
    )
    assert liml_instruments(found, EDGE, tasks_of(found, EDGE)) == tuple(excluded)
    assert found.effect("x -> y").value == pytest.approx(expected[0], abs=1e-7)


@pytest.mark.parametrize(
    "text",
    [
        "z1 -> x; z2 -> w -> x; x -> y; x <-> y; z2 -> x; w <-> y",  # further members of the district
        "z1 -> x; z2 -> x; w -> y; x -> y; x <-> y",  # the first stage does without w
        "latent U; z1 -> x; z2 -> x; x -> y; U -> {x, y, u}",  # a factor
        "z1 -> x; z2 -> x; x -> y",  # a regression
    ],
)
def test_what_is_not_liml_is_not_called_so(text: str) -> None:
    found = fitted(text)
    assert liml_instruments(found, EDGE, tasks_of(found, EDGE)) == ()


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("z -> x -> y; x <-> y", ("z",)),
        ("z -> x -> m -> y; w -> m; x <-> m; m <-> y; z <-> y", ()),  # two of them, one after the other
        ("{z, w} -> {x, v} -> y; x <-> y; v <-> y; x <-> v", ("z", "w")),
    ],
)
def test_instruments_are_those_of_a_formula_that_is_one_linear_system(text: str, tools: tuple[str, ...]) -> None:
    recipe = ht.identify(ht.graph(text), TotalEffect("x", "y")).recipe
    assert _tools(there(recipe)) == tools


def test_a_fixed_or_missing_number_is_no_liml() -> None:
    rows = np.array(random_model(ht.graph(TWO), random_state=2).sample(300, random_state=3))
    names = ht.graph(TWO).observed
    held = ht.fit(TWO, rows, names=names, noise={"x": 1.0})
    rows[0, 0] = np.nan
    incomplete = ht.fit(TWO, rows, names=names)
    for found in (held, incomplete):
        assert liml_instruments(found, EDGE, tasks_of(found, EDGE)) == ()


def test_the_sentence_says_what_the_formula_alone_gives() -> None:
    found = fitted(TWO)
    answer = found.effect("x", "y")
    alone = number(ht.solve(there(there(answer.verdict).recipe), found.moments.cov, found.moments.names))
    why, chance = answer.notes
    assert (why.code, chance.code) == ("formula beside LIML", "formula by chance")
    assert why.facts["formula"] == pytest.approx(alone)
    text = answer.explain()
    assert (
        f"Besides: the formula alone, which uses z1 of the instruments, gives {alone:.4g} on these data. The estimate "
        f"is the maximum of the likelihood, which is LIML with all instruments of the equation of y: z1 and z2." in text
    )
    assert f"differ by chance alone: here by {abs(alone - value_of(answer)):.2g}, and the standard error" in text
    assert not answer.warnings  # it speaks against nothing
    assert "formula alone" not in str(answer)


def test_other_estimates_say_which_equations_they_use() -> None:
    long_way = fitted("c -> x -> m -> y; c -> y").effect("x", "y")
    assert long_way.notes[0].code == "formula beside regressions"
    assert "from x, c and y" in str(long_way.notes[0])
    assert "from the equations of m and y, each a regression" in str(long_way.notes[0])
    whole = fitted("z1 -> x; z2 -> x; w -> y; x -> y; x <-> y").effect("x", "y")
    (beside,) = (str(note) for note in whole.notes if note.code == "formula beside likelihood")
    assert "the joint likelihood of x and y, given their causes" in beside
    assert "all that the graph says of x, y, z1, z2 and w" in beside
    rows = np.array(random_model(ht.graph(TWO), random_state=2).sample(300, random_state=3))
    rows[:30, 0] = np.nan
    incomplete = ht.fit(TWO, rows, names=ht.graph(TWO).observed).effect("x", "y")
    assert "formula beside missing values" in [note.code for note in incomplete.notes]
    question = fitted("c -> x -> m -> y; c -> y").query("P(y | do(x=1))")
    assert question.notes[0].facts["what"] == "x ~> y"


def test_one_number_needs_no_sentence() -> None:
    for text, question in [("z -> x -> y; x <-> y", "x ~> y"), ("x -> y", "x -> y"), ("x -> m -> y", "x -> m -> y")]:
        found = fitted(text)
        answer = found.query(question)
        assert formula_notes(found, answer.query, there(answer.verdict).recipe) == ()
        assert answer.notes == ()


def test_long_lists_are_cut() -> None:
    many = " ".join(f"z{i} -> x;" for i in range(12))
    notes = fitted(f"{many} x -> y; x <-> y").effect("x", "y").notes
    (words,) = (str(note) for note in notes if note.code == "formula beside LIML")
    assert "z7 and 4 more" in words


def test_an_observational_question_says_that_the_model_answers() -> None:
    found = fitted(TWO)
    S, m = found.moments.cov, found.moments.mean
    x, y = (found.moments.names.index(v) for v in "xy")
    rows = m[y] + S[x, y] / S[x, x] * (1.0 - m[x])
    answer = found.query("E[y | x=1]")
    assert [note.code for note in answer.notes] == ["model, not rows"]
    assert answer.notes[0].facts["rows"] == pytest.approx(rows)
    assert f"the rows alone, without the graph, give {rows:.4g}" in answer.explain()
    assert fitted("x -> y").query("E[y | x=1]").notes == ()  # one number
    corr = found.query("Corr[z1, z2]")
    assert corr.value == pytest.approx(0.0, abs=1e-12)  # the graph says so
    u, v = (found.moments.names.index(name) for name in ("z1", "z2"))
    sample = S[u, v] / np.sqrt(S[u, u] * S[v, v])
    assert corr.notes[0].facts["rows"] == pytest.approx(sample)


def test_every_front_shows_the_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = fitted(TWO)
    data = tmp_path / "rows.csv"
    np.savetxt(
        data, np.asarray(there(found.rows).source), delimiter=",", header=",".join(found.graph.observed), comments=""
    )
    assert main(["effect", TWO, str(data), "x", "y"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "note the formula alone, which uses z1 of the instruments, gives" in printed
    assert main(["effect", TWO, str(data), "x", "y", "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [note["level"] for note in notes] == ["aside", "aside"]
    assert "LIML" in notes[0]["text"]
    page = found.report(tmp_path / "r.html", ["x ~> y"]).read_text()
    assert "which is LIML with all instruments of the equation of y: z1 and z2" in page
    assert "LIML" in found.effect("x", "y")._repr_html_()
    again = ht.load(found.effect("x", "y").save(tmp_path / "a.json"))
    assert again.notes == found.effect("x", "y").notes
    assert again.explain() == found.effect("x", "y").explain()


def test_an_effect_too_small_for_floating_point_is_zero() -> None:
    """Over a chain of 240 weak links no derivative is left, so that there is nothing to tell a formula apart by."""
    names = [f"v{i}" for i in range(240)]
    rows = np.random.default_rng(0).normal(size=(2_000, 240))
    fit = ht.fit(" -> ".join(names), {v: rows[:, i] for i, v in enumerate(names)})
    assert fit.effect("v0", "v239", interval="delta").value == 0.0
