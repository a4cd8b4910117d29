"""One description of a thing: text, notebooks and reports show the same words and numbers."""

from __future__ import annotations

import pytest

import halftrek as ht
from halftrek.identification.verdict import sentences
from halftrek.reporting import describe_answer, describe_verdict, summarize_fit
from halftrek.reporting.described.answers import answer_document
from halftrek.reporting.described.fits import fit_document
from halftrek.reporting.described.verdicts import verdict_document
from halftrek.reporting.document import Facts, Heading, Paragraph, Remark, Span, Table, grid, plain
from halftrek.reporting.html import as_html
from halftrek.reporting.report import report_html
from halftrek.reporting.tables import PValue
from halftrek.reporting.text import as_text
from tests.reporting.report_page import Page
from tests.reporting.test_html import words

QUESTIONS = ("Solar ~> Ozone", "P(Ozone | do(Wind=9))", "P(Ozone, Temp | do(Wind=9))")


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    study = ht.dataset("airquality")
    return ht.fit(study.graph, study.data)


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_reads_the_same_everywhere(fit: ht.Fit, question: str) -> None:
    answer = fit.query(question)
    document = answer_document(answer)
    assert as_text(document) == describe_answer(answer)
    assert as_html(document) == answer._repr_html_()
    facts = document[0]
    assert isinstance(facts, Facts)
    notebook, page = words(answer._repr_html_()), Page(report_html(fit, question)).text["question-1"].replace("−", "-")
    for name, value in facts.pairs:
        shown = " ".join(plain(value).split())
        assert shown in notebook
        if name in ("standard error", "variance", "single units", "known by", "note"):
            assert shown in " ".join(page.split())


def test_a_verdict_and_a_fit_read_the_same_everywhere(fit: ht.Fit) -> None:
    verdict = ht.identify("x -> y; x <-> y", "x -> y")
    assert as_text(verdict_document(verdict)) == describe_verdict(verdict)
    assert " ".join(sentences(verdict).split()) in words(verdict._repr_html_())
    assert verdict.next_steps
    for step in verdict.next_steps:
        assert step.line() in words(verdict._repr_html_())
        assert step.line() in describe_verdict(verdict)
    document = fit_document(fit)
    assert as_text(document) == summarize_fit(fit) == fit.summary()
    page = Page(report_html(fit))
    tables = [piece for piece in document if isinstance(piece, Table)]
    for table, shown in zip(tables, page.tables["parameters"], strict=False):
        expected = grid(table)
        assert shown == [list(expected.heads), *([cell.replace("-", "−", 1) if n else cell
                         for cell, n in zip(row, expected.numeric, strict=True)] for row in expected.rows)]  # fmt: skip
        for row in expected.rows:
            assert all(cell in words(fit._repr_html_()) for cell in row)


def test_pieces_as_text() -> None:
    document = (
        Heading("Two things"),
        Table(("", "value", "p"), [("a", 1.0, PValue(0.00001)), ("b", -2.0, None)], wide=("p",), most=1, more="here"),
        Remark("low"),
        Paragraph(["is ", Span("it", "code")]),
    )
    assert as_text(document) == (
        "Two things\n     value\n  -  -----\n  a  1.000\n  ... and 1 more, see here\n  low\n\n  is it"
    )
    assert "&lt; 0.001" in as_html(document)
    assert "1 of 2 rows are shown. here has all." in as_html(document)
