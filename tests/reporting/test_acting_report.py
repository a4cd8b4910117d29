"""Reports of fits in which a category acts: the numbers of the API, and a sentence for each part that is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.errors import InputError
from tests.narrow import interval_of, value_of
from tests.reporting.report_page import Page, check_alone, check_in_browser, number

GRAPH = "habit -> drug -> well; drug <-> well; a -> b; a <-> b"
RISK = "RD(well > 0 | do(drug=1) : do(drug=0))"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(4)
    habit, need, other, a, b = rng.normal(size=(5, 800))
    drug = (0.8 * habit + 0.6 * need + 0.8 * rng.normal(size=800) > 0.3).astype(int)
    well = (0.7 * drug - 0.7 * need + 0.7 * rng.normal(size=800) > 0).astype(int)
    rows = {"habit": habit, "drug": drug, "well": well, "a": a + other, "b": b + other}
    path = tmp_path_factory.mktemp("rows") / "trial.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def trial(table: Path) -> ht.Fit:
    return ht.fit(GRAPH, table, kinds={"drug": "acts", "well": "ordered"})


def test_a_report_has_the_numbers_of_the_api_and_says_what_it_leaves_out(trial: ht.Fit, tmp_path: Path) -> None:
    path = trial.report(tmp_path / "out.html", [RISK, "habit ~> well", "a ~> b"])
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    check_alone(html, page)
    check_in_browser(path)
    asked = ["question-1", "question-2", "question-3"]
    rest = ["effects", "parameters", "checks", "left-out", "data", "reproduce"]
    assert list(page.text)[1:] == ["graph", "assumptions", *asked, *rest]
    risk = trial.query(RISK)
    low, high = interval_of(risk)
    assert f"{number(value_of(risk))} (95% interval {number(low)} to {number(high)})" in page.text["question-1"]
    assert "Cov(" not in page.text["question-1"]  # formulas of a linear model are not what was worked out
    assert "drug lies between and acts as a category" in page.text["question-2"]
    assert "identified, no single number" in page.text[""]
    assert "No number is given." in page.text["question-3"]
    assert "not determined by data" in page.text["parameters"]
    assert trial.measures()["df"] == 6
    assert "ikelihood ratio against the graph with 6 edges more" in page.text["checks"]
    assert "no edge habit -> a" in page.text["checks"]
    assert "drug linear in habit" in page.text["checks"]
    for left in ("Indices of fit", "The strength of instruments", "Effects path by path"):
        assert left in page.text["left-out"]
    assert "acts as the category it is (0, 1)" in page.text["data"]
    assert "kinds={'drug': 'acts', 'well': 'ordered'}" in page.text["reproduce"]


def test_rows_in_memory_are_to_be_saved_first(table: Path, tmp_path: Path) -> None:
    fit = ht.fit(GRAPH, pd.read_csv(table), kinds={"drug": "acts", "well": "ordered"})
    page = Page(fit.report(tmp_path / "out.html", "drug ~> well").read_text(encoding="utf-8"))
    assert "save them as data.csv" in page.text["reproduce"]
    assert "cov=" not in page.text["reproduce"]


def test_the_command_line_writes_it_and_other_intervals_are_refused(table: Path, trial: ht.Fit, tmp_path: Path) -> None:
    kinds = ["--kind", "drug=acts", "--kind", "well=ordered"]
    out = tmp_path / "out.html"
    assert main(["report", GRAPH, str(table), *kinds, "--question", RISK, "--out", str(out)]) == 0
    assert number(value_of(trial.query(RISK))) in Page(out.read_text(encoding="utf-8")).text["question-1"]
    with pytest.raises(InputError, match='interval="profile" is not known where a category acts'):
        trial.report(tmp_path / "other.html", RISK, interval="profile")
