"""Answers as one table: what stands in it, and that LaTeX, Typst, Word and maketables can read it."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import numpy as np
import pandas as pd
import polars as pl
import pytest

import halftrek as ht
from halftrek.bottom.files import written_by_halftrek
from halftrek.errors import InputError, NotIdentifiedError, OutputError
from halftrek.results.answers import Refusal, Several
from halftrek.results.sets.bounds import Bounds
from halftrek.results.words.answer_lines import outcomes_of
from halftrek.simulation import random_model
from tests.latex import compile_all, faults
from tests.narrow import some
from tests.queries.test_latex_letters import HOSTILE

GRAPH = ht.graph("z -> x -> y; x <-> y; x -> w; a -> b; a <-> b")
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    return ht.fit(GRAPH, random_model(GRAPH, random_state=1).sample(800, random_state=2))


@pytest.fixture(scope="module")
def mixed(fit: ht.Fit) -> ht.AnswerTable:
    """One of everything that a table may hold, with outcomes in turn."""
    effect = fit.effect("x", "y", crude=True)
    with pytest.raises(NotIdentifiedError) as refused:
        fit.query("a -> b")
    several = replace(effect, result=Several((0.5, -1.25)), estimate=None, crude=None, notes=())
    bounded = replace(effect, result=Bounds(-0.5, 1.25), estimate=None, crude=None, notes=())
    both = fit.query("P(y, w | do(x=1))")
    return ht.table([effect, fit.effect("x", "w"), several, refused.value, bounded, both])


def test_answers_on_one_outcome_stand_together(mixed: ht.AnswerTable) -> None:
    assert mixed.outcomes == ("y", "w", "b", "y, w")
    lines = [line.split() for line in mixed.summary().splitlines() if line.startswith("  ")]
    begun = [line[0] for line in lines[2:] if line and line[0] in ("y", "w", "b", "y,")]
    assert begun == ["y", "w", "b", "y,"]
    assert [len(group) for group in mixed.by_outcome()] == [3, 1, 1, 1]
    assert list(mixed) == list(mixed.answers)


def test_what_is_no_number_is_shown_as_what_it_is(mixed: ht.AnswerTable) -> None:
    text = " ".join(mixed.summary().split())
    assert "0.5000 or -1.250" in text
    assert "several values fit the data equally well" in text
    assert "-0.500 to 1.250" in text
    assert "bounds, not an interval of confidence" in text
    assert "no number" in text
    assert "a -> b is not identified" in text
    assert "crude: what the rows say without the graph" in text
    frame = mixed.to_frame()
    assert list(frame["form"]) == ["point", "point", *["several values"] * 2, "refusal", "bounds", "point", "point"]
    assert math.isnan(frame["est"][4])
    assert math.isnan(frame["ci_low"][5])
    assert (frame["bound_low"][5], frame["bound_high"][5]) == (-0.5, 1.25)
    assert list(frame["outcome"]) == ["y", "w", "y", "y", "b", "y", "y", "w"]


def test_notes_are_footnotes_each_once(fit: ht.Fit) -> None:
    small = ht.fit("x -> y", {"x": [1.0, 2.0, 4.0, 3.0, 7.0], "y": [1.0, 0.0, 2.0, 1.0, 5.0]})
    found = small.effect("x", "y")
    said = (*found.warnings, *found.remarks)
    assert said
    text = " ".join(ht.table([found, found, fit.effect("x", "w")]).summary().split())
    for sentence in said:
        assert text.count(" ".join(sentence.split())) == 1
    assert text.count("[1]") == 3  # two lines and the note


def test_z_and_p_are_those_of_the_tables(fit: ht.Fit) -> None:
    rows = fit.effects("total")
    checked = 0
    for cause, effect, z, p in zip(rows["cause"], rows["effect"], rows["z"], rows["p"], strict=True):
        if not math.isnan(z):
            answer = fit.effect(cause, effect, interval="delta")
            assert answer.z == pytest.approx(z)
            assert answer.p == pytest.approx(p, rel=1e-6, abs=1e-300)
            checked += 1
    assert checked >= 3
    few = ht.fit("x -> y", {"x": [1.0, 2.0, 4.0, 3.0, 7.0], "y": [1.0, 0.0, 2.0, 1.0, 5.0]})
    listed = few.params()
    row = next(i for i, op in enumerate(listed["op"]) if op == "~")
    assert few.effect("x", "y").p == pytest.approx(listed["p"][row], rel=1e-6)


def test_z_and_p_where_zero_is_no_hypothesis(fit: ht.Fit) -> None:
    for question in ("Var[y | do(x=1)]", "P(y > 1 | do(x=1))"):
        answer = fit.query(question)
        assert answer.se is not None
        assert answer.z is None
        assert answer.p is None
    model = random_model(GRAPH, random_state=1)
    assert model.query("x ~> y").p is None
    with pytest.raises(NotIdentifiedError) as refused:
        fit.query("a -> b")
    assert refused.value.answer.p is None
    both = fit.query("P(y, w | do(x=1))")
    assert isinstance(both.z, np.ndarray)
    assert both.z.shape == (2,)


@pytest.mark.parametrize(("make", "kind"), [(pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame)])
def test_frames_come_back_in_the_library_of_the_data(make: Any, kind: type, tmp_path: Path) -> None:
    study = ht.dataset("tal_or")
    answer = ht.fit(study.graph, make(study.columns)).effect("cond", "reaction")
    assert isinstance(answer.to_frame(), kind)
    assert isinstance(ht.table([answer]).to_frame(), kind)
    columns = list(answer.to_frame().columns)
    assert columns == ["question", "outcome", "est", "se", "z", "p", "ci_low", "ci_high", "level", "n", "form", "note"]
    assert answer.to_frame()["est"][0] == answer.value
    again = ht.load(answer.save(tmp_path / "answer.json"))
    assert isinstance(again.to_frame(), kind)
    assert answer.to_dict()["value"] == answer.value


def test_labels_say_where_answers_are_from(fit: ht.Fit) -> None:
    given: dict[str, Any] = {
        "all": fit.effect("x", "y"),
        "again": [fit.effect("x", "y", level=0.9), fit.effect("x", "w")],
    }
    found = ht.table(given)
    assert found.labels == ("all", "again", "again")
    assert list(found.to_frame()["label"]) == ["all", "again", "again"]
    assert "again" in found.summary()
    assert "90%" in found.to_latex().replace("\\", "")  # levels differ, so each line has its own


def test_outcomes_of_every_kind_of_question() -> None:
    expected = {
        "x ~> y": ("y",), "x -> m -> y": ("y",), "x <-> y": ("x", "y"), "std(x ~> y)": ("y",),
        "P(y, w | do(x=1))": ("y", "w"), "E[y | do(x=1)] - E[y | do(x=0)]": ("y",), "P(y_{x=1} | x=0)": ("y",),
        "P(y > 1 | do(x=1))": ("y",), "Q(0.9, y | do(x=1))": ("y",), "2 * (x ~> y) / (x ~> m)": ("y", "m"),
    }  # fmt: skip
    for text, outcomes in expected.items():
        assert outcomes_of(ht.parse_question(text)) == outcomes


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(InputError, match="no answer"):
        ht.table([])
    with pytest.raises(InputError, match=r"'x ~> y' is none: ask fit\.query"):
        ht.table("x ~> y")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is none"):
        ht.table([1.0])  # type: ignore[list-item]
    with pytest.raises(InputError, match="a verdict has no number"):
        ht.table([ht.identify(GRAPH, "x ~> w")])
    assert isinstance(ht.table([ht.identify(GRAPH, "a -> b")]).answers[0].result, Refusal)


def tables(mixed: ht.AnswerTable, fit: ht.Fit) -> dict[str, Any]:
    """Everything that goes into papers, also with names that LaTeX, Typst and XML take for something else."""
    first, middle, last = names = (HOSTILE[0], HOSTILE[1], HOSTILE[5])
    mixing = np.array([[1.0, 0.5, 0.2], [0.0, 1.0, -0.7], [0.0, 0.0, 1.0]])
    columns = dict(zip(names, (np.random.default_rng(0).normal(size=(60, 3)) @ mixing).T, strict=True))
    odd = ht.fit(ht.Graph([(first, middle), (middle, last), (first, last)]), columns)
    rival = ht.fit(ht.Graph([(first, middle), (middle, last)]), columns)
    return {
        "mixed": mixed,
        "odd": ht.table({"β→": odd.effect(first, last), "*": odd.effect(middle, last)}),
        "mediation": odd.mediation(first, last),
        "decomposition": odd.decompose(first, last),
        "comparison": ht.compare({"[1] one": odd, "*two_%": rival}, query=None),
        "answer": fit.effect("x", "y"),
        "joint": fit.query("P(y, w | do(x=1))"),
    }


def test_latex_is_ascii_and_pdflatex_takes_it(mixed: ht.AnswerTable, fit: ht.Fit, tmp_path: Path) -> None:
    pieces = []
    for name, one in some(tables(mixed, fit).items()):
        for text in (one.to_latex(), one.to_latex(caption=HOSTILE[0], label=f"tab:{name} {HOSTILE[1]}")):
            assert faults(text) == [], name
            assert text.count("\\begin{table}") == 1
            pieces.append(text)
    if shutil.which("pdflatex"):
        compile_all(tmp_path, "", pieces)
    assert "\\caption{50\\% \\& more\\_of" in pieces[1]
    assert "Answers on" in pieces[0]
    assert "Answers on" not in pieces[1]
    assert "\\ensuremath{-}0.500 to 1.250" in pieces[0]


def test_a_table_of_a_few_answers_fits_on_a_line(fit: ht.Fit, tmp_path: Path) -> None:
    text = ht.table(
        [fit.effect("x", "y"), fit.effect("z", "y"), fit.query("E[y | do(x=1)] - E[y | do(x=0)]")]
    ).to_latex()
    assert faults(text) == []
    assert "std. error & low & high & p" in text
    if shutil.which("pdflatex"):
        compile_all(tmp_path, "", [text])
        assert "Overfull" not in (tmp_path / "all.log").read_text(errors="replace")


def test_typst_has_every_word_in_a_string(mixed: ht.AnswerTable, fit: ht.Fit) -> None:
    for name, one in some(tables(mixed, fit).items()):
        text = one.to_typst(label="tab:one two")
        assert text.startswith("#figure(")
        assert text.endswith(" <tab:one-two>\n")
        outside, inside, escaped = "", False, False
        for letter in text:
            if escaped:
                escaped = False
            elif inside and letter == "\\":
                escaped = True
            elif letter == '"':
                inside = not inside
            elif not inside:
                outside += letter
        assert not inside, name
        assert outside.count("(") == outside.count(")")
        assert set(outside.removeprefix("#")) <= set("abcdefghijklmnopqrstuvwxyz0123456789(),:.<>- \n"), name


def test_word_files_are_whole(mixed: ht.AnswerTable, fit: ht.Fit, tmp_path: Path) -> None:
    for name, one in some(tables(mixed, fit).items()):
        path = one.to_word(tmp_path / f"{name}.docx", caption="A & B <c>")
        with ZipFile(path) as packed:
            assert packed.testzip() is None
            parts = {part: ElementTree.fromstring(packed.read(part)) for part in packed.namelist()}
        assert set(parts) >= {"[Content_Types].xml", "_rels/.rels", "word/document.xml", "word/styles.xml"}
        body = parts["word/document.xml"]
        assert "A & B <c>" in [t.text for t in body.iter(f"{W}t")]
        for table in body.iter(f"{W}tbl"):
            widths = {len(row.findall(f"{W}tc")) for row in table.findall(f"{W}tr")}
            assert widths == {len(table.findall(f"{W}tblGrid/{W}gridCol"))}
            assert all(cell.findall(f"{W}p") for cell in table.iter(f"{W}tc"))
    shown = [
        t.text for t in ElementTree.fromstring(ZipFile(tmp_path / "mixed.docx").read("word/document.xml")).iter(f"{W}t")
    ]
    assert "x ⇝ y" in shown
    assert "from −0.500 to 1.250" in shown
    assert "no number" in shown


def test_word_files_replace_only_our_own(fit: ht.Fit, tmp_path: Path) -> None:
    found = ht.table([fit.effect("x", "y")])
    path = found.to_word(tmp_path / "table.docx")
    first = path.read_bytes()
    assert written_by_halftrek(path)
    assert found.to_word(path).read_bytes() == first
    with ZipFile(tmp_path / "theirs.docx", "w") as packed:
        packed.writestr("word/document.xml", "<mine/>")
    with pytest.raises(OutputError, match="overwrite"):
        found.to_word(tmp_path / "theirs.docx")
    found.to_word(tmp_path / "theirs.docx", overwrite=True)
    with pytest.raises(InputError, match=r"table\.docx"):
        found.to_word(tmp_path / "table.doc")


def test_answers_speak_the_protocol_of_maketables(fit: ht.Fit, mixed: ht.AnswerTable) -> None:
    answer = fit.effect("x", "w")
    table = answer.__maketables_coef_table__
    assert isinstance(table, pd.DataFrame)
    assert (table.index.name, list(table.index)) == ("Coefficient", ["x ~> w"])
    assert list(table.columns) == ["b", "se", "t", "p", "ci95l", "ci95u"]
    assert table.loc["x ~> w", "p"] == answer.p
    assert answer.__maketables_stat__("N") == 800
    assert answer.__maketables_stat__("r2") is None
    assert answer.__maketables_depvar__ == "w"
    whole = mixed.__maketables_coef_table__
    assert list(whole.index) == ["x ~> y", "x ~> w", "P(y, w | do(x=1)): y", "P(y, w | do(x=1)): w"]
    assert [one.__maketables_depvar__ for one in mixed.by_outcome()] == ["y", "w", "b", "y, w"]
    assert mixed.__maketables_default_stat_keys__ == ["N"]
    other = fit.effect("x", "w", level=0.9)
    assert "ci95l" not in other.__maketables_coef_table__


def test_what_is_a_table_already_is_named_as_such(fit: ht.Fit) -> None:
    with pytest.raises(InputError, match=r"Decomposition is a table already: its to_latex\(\)"):
        ht.table([fit.decompose("x", "y")])  # type: ignore[list-item]


def test_frames_of_tables_have_one_name(fit: ht.Fit) -> None:
    found = fit.instruments("x ~> y")
    assert found.to_frame().equals(found.frame())
    adjusted = fit.adjustments("x ~> w")
    assert adjusted.to_frame().equals(adjusted.frame())


def test_a_table_with_labels_and_notes_stays_within_the_lines_of_an_article(tmp_path: Path) -> None:
    card = ht.dataset("card")
    fit = ht.fit(card.graph, card.data)
    found = ht.table({"a year of school": fit.query("educ -> lwage"), "a college nearby": fit.effect("nearc4", "educ")})
    text = found.to_latex()
    assert text.count("p{52pt}") == 2  # label and question are both folded
    if shutil.which("pdflatex"):
        compile_all(tmp_path, "", [text])
        assert "Overfull" not in (tmp_path / "all.log").read_text(errors="replace")
