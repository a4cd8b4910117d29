"""The part of a report for questions that are answered by instruments."""

from __future__ import annotations

import numpy as np

import halftrek as ht
from halftrek.inference import How
from halftrek.queries import DirectEffect
from halftrek.reporting.report import report_html
from tests.reporting.report_page import Page, cell, check_alone


def test_a_report_shows_the_instruments_behind_an_answer_and_none_elsewhere() -> None:
    study = ht.dataset("mroz")
    fit = ht.fit(study.graph, study.path)
    html = report_html(fit, ["educ ~> lwage", "fatheduc ~> educ"], how=How(interval=None, level=0.9))
    page = Page(html)
    check_alone(html, page)
    first, second = page.text["question-1"], page.text["question-2"]
    assert "First stage" in first
    assert "First stage" not in second
    (one,) = fit.instruments("educ ~> lwage", level=0.9).sets
    stages = [table for table in page.tables["question-1"] if table[0][:2] == ["instruments", "F"]]
    assert [table[1][0] for table in stages] == ["fatheduc"]
    assert cell(stages[0][1][1]) == float(f"{one.first_stage.statistic:.4g}")
    assert "90% intervals" in first


def test_hostile_names_are_escaped_in_a_notebook() -> None:
    rng = np.random.default_rng(0)
    names = ("<b>z</b>", "x & y", "y\x1b[31m")
    rows = {names[0]: rng.normal(size=60)}
    rows[names[1]] = rows[names[0]] + rng.normal(size=60)
    rows[names[2]] = rows[names[1]] + rng.normal(size=60)
    graph = ht.Graph([names[:2], names[1:]], [names[1:]])
    found = ht.fit(graph, rows).instruments(DirectEffect(names[1], names[2]))
    assert "<b>z</b>" not in found._repr_html_()
    assert "&lt;b&gt;z&lt;/b&gt;" in found._repr_html_()
