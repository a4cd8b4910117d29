"""Reports: every part is there, numbers are those of the API, nothing is fetched, refusals do not stop them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import MissingExtraError
from halftrek.queries import TotalEffect
from halftrek.reporting.document import Figure, Formula, Paragraph, Piece, Table
from halftrek.reporting.report import figures as figures_of_report
from halftrek.reporting.report import report_html
from halftrek.reporting.report.data import moments_digest
from halftrek.reporting.report.page import page as page_of
from halftrek.simulation import random_model
from tests import narrow
from tests.narrow import interval_of, se_of, value_of
from tests.reporting.report_page import Page, cell, check_alone, check_cells, check_in_browser, number

CHAPTERS = ["graph", "assumptions", "effects", "parameters", "checks", "data", "reproduce"]


@pytest.fixture(scope="module")
def front_door() -> ht.Fit:
    study = ht.dataset("front_door")
    return ht.fit(study.graph, study.path)


def test_a_report_has_every_part_and_the_numbers_of_the_api(front_door: ht.Fit, tmp_path: Path) -> None:
    questions = ["smoking ~> cancer_risk", "P(cancer_risk | do(smoking=3))"]
    path = front_door.report(tmp_path / "out.html", questions, title="Does <smoking> cause & kill?")
    assert path == tmp_path / "out.html"
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    check_alone(html, page)
    check_in_browser(path)
    assert list(page.text)[1:] == [*CHAPTERS[:2], "question-1", "question-2", *CHAPTERS[2:]]
    assert "<h1>Does &lt;smoking&gt; cause &amp; kill?</h1>" in html

    effect, distribution = (front_door.query(q) for q in questions)
    first, second = page.text["question-1"], page.text["question-2"]
    low, high = interval_of(effect)
    assert f"{number(value_of(effect))} (95% interval {number(low)} to {number(high)})" in first
    assert f"{number(value_of(effect))} (95% interval {number(low)} to {number(high)})" in page.text[""]
    assert f"standard error{number(se_of(effect))}" in first
    assert "by the delta method" in first
    assert "identified (front-door)" in first
    assert "slope of tar in the regression of cancer_risk on tar, smoking" in first
    assert effect.explain().splitlines()[1] in first
    assert f"mean {number(value_of(distribution))}" in second
    assert f"variance{number(narrow.number(distribution.variance))}" in second
    assert "P(tar | smoking) Σsmoking' P(cancer_risk | smoking', tar) P(smoking')" in second
    assert html.count("<svg") == 3  # the graph, densities, the forest

    rows = page.tables["effects"][0]
    frame = front_door.effects()
    assert len(rows) == 1 + len(frame)
    for row, (_, expected) in zip(rows[1:], frame.iterrows(), strict=True):
        assert row[:2] == [f"{expected['cause']} ~> {expected['effect']}", expected["kind"]]
        check_cells(row[2:6], list(expected[["est", "se", "ci_low", "ci_high"]].astype(float)))


def test_parameters_measures_and_data_are_those_of_the_api() -> None:
    graph = ht.graph("region -> education -> skill -> income; education <-> income")
    wider = ht.graph("region -> {education, income}; education -> skill -> income; education <-> income")
    fit = ht.fit(graph, random_model(wider, random_state=4).sample(900, random_state=1))
    page = Page(report_html(fit))
    assert "No question was asked" in page.text[""]
    params = fit.params()
    arrows = params[params["op"] == "~"]
    shown = {row[0]: row[1:] for row in page.tables["parameters"][0][1:]}
    for est, se, lhs, rhs in zip(arrows["est"], arrows["se"], arrows["lhs"], arrows["rhs"], strict=True):
        check_cells(shown[f"{rhs} -> {lhs}"][:2], [est, se])
    measures = fit.measures()
    checks = page.text["checks"]
    assert f"χ² = {number(measures['chi2'])} with {measures['df']} degrees of freedom" in checks
    assert f"CFI{measures['cfi']:.3f}" in checks
    tests = fit.tests()
    assert (tests["p_adjusted"] < 0.05).any()  # the graph lacks an edge
    for constraint in tests["constraint"]:
        assert constraint in checks
        assert (constraint in page.text[""]) == (tests.set_index("constraint")["p_adjusted"][constraint] < 0.05)
    assert "The data contradict the graph as a whole" in page.text[""]
    hint = fit.modifications().iloc[0]
    row = page.tables["checks"][3][1]
    assert row[0] == hint["edge"]
    np.testing.assert_allclose([cell(x) for x in row[1:3]], [hint["mi"], hint["epc"]], rtol=6e-3)
    pair = fit.residuals().iloc[0]
    row = page.tables["checks"][2][1]
    assert row[0] == f"{pair['lhs']}, {pair['rhs']}"
    np.testing.assert_allclose(cell(row[3]), pair["residual"], rtol=6e-3)
    data = {row[0]: row[1:] for row in page.tables["data"][0][1:]}
    for v, mean, sd in zip(fit.moments.names, fit.moments.mean, np.sqrt(np.diag(fit.moments.cov)), strict=True):
        np.testing.assert_allclose([cell(x) for x in data[v]], [900, mean, sd], rtol=6e-4)


def test_what_is_not_identified_is_refused_and_the_rest_is_answered(tmp_path: Path) -> None:
    graph = ht.graph("x -> y -> w; x <-> y; z -> w; x -> w")
    fit = ht.fit(graph, random_model(graph, random_state=1).sample(500, random_state=1))
    html = fit.report(tmp_path / "bow.html", ["x ~> y", "z -> w", "P(w | do(z))"]).read_text(encoding="utf-8")
    page = Page(html)
    check_alone(html, page)
    with pytest.raises(ht.NotIdentifiedError) as caught:
        fit.query("x ~> y")
    verdict = caught.value.verdict  # with two models of these data
    refused = page.text["question-1"]
    assert "What the graph and these data leave" in refused
    assert "not identified" in refused
    assert "No number is given." in refused
    assert verdict.witness is not None
    assert all(help in refused for help in verdict.helps)
    (models_table,) = (t for t in page.tables["question-1"] if any(row[0] == "answer: x ~> y" for row in t))
    rows = {row[0]: row[1:] for row in models_table}
    np.testing.assert_allclose([cell(x) for x in rows["answer: x ~> y"]], verdict.witness.answers, atol=6e-4)
    models = verdict.witness.models
    at = [models[0].names.index(v) for v in ("x", "y")]
    np.testing.assert_allclose([cell(x) for x in rows["x -> y"]], [m.T[at[0], at[1]] for m in models], atol=6e-4)
    # not a trace of the number that the fit happens to have for it
    assert f"{fit.model.T[fit.model.names.index('x'), fit.model.names.index('y')]:.4g}" not in html
    assert "x ~> y has no number" in page.text[""]
    assert number(value_of(fit.query("z -> w"))) in page.text["question-2"]
    assert "There is a verdict and no number" in page.text["question-3"]
    unknown = int(fit.effects()["est"].isna().sum())
    assert f"{unknown} of {len(fit.effects())} effects are not identified" in page.text["effects"]


def test_missing_values_are_told() -> None:
    study = ht.dataset("airquality")
    fit = ht.fit(study.graph, study.data)
    page = Page(report_html(fit, study.question))
    assert "missing at random" in page.text["assumptions"]
    assert fit.patterns is not None
    assert fit.patterns.sentence in page.text[""]
    columns = {row[0]: row[1:] for row in page.tables["data"][0][1:]}
    for v in fit.moments.names:
        assert int(columns[v][1]) == int(study.data[v].isna().sum())
        np.testing.assert_allclose(cell(columns[v][3]), study.data[v].mean(), rtol=6e-4)
    patterns = {row[0]: row[1] for row in page.tables["data"][1][1:]}
    assert patterns == {"nothing (complete rows)": "111", "Ozone": "35", "Solar": "5", "Ozone, Solar": "2"}
    assert "path by path" in page.text["question-1"].lower()
    parts = {row[0]: row[1:] for row in page.tables["question-1"][1][1:]}
    decomposition = fit.decompose("Solar", "Ozone")
    assert list(parts)[-1] == "total"
    np.testing.assert_allclose(cell(parts["total"][0]), decomposition.total.est, rtol=2e-3)
    for row in decomposition.rows:
        np.testing.assert_allclose(cell(parts[row.path][0]), row.est, rtol=2e-3)


def test_the_code_asks_for_the_rows_where_instruments_are_looked_at(tmp_path: Path) -> None:
    study = ht.dataset("mroz")
    page = Page(ht.fit(study.graph, study.data).report(tmp_path / "r.html", [study.question]).read_text("utf-8"))
    assert "save them as data.csv" in page.text["reproduce"]
    assert "'data.csv'" in page.code[0]


@pytest.mark.parametrize("kind", ["file", "moments", "covariance"])
def test_the_code_in_a_report_makes_it_again(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = ht.dataset("tal_or" if kind == "moments" else "mroz")  # what instruments say is found in rows
    monkeypatch.chdir(tmp_path)
    Path("women.csv").write_text(study.path.read_text(encoding="utf-8"), encoding="utf-8")  # type: ignore[union-attr]
    if kind == "file":
        fit = ht.fit(study.graph, "women.csv", missing="drop")
    elif kind == "moments":
        fit = ht.fit(study.graph, study.data)
    else:
        seen = ht.moments(study.data, study.graph.observed)
        fit = ht.fit(study.graph, cov=seen.cov, n=seen.n, noise={"fatheduc": float(seen.cov[0, 0])})
    first = fit.report("first.html", [study.question], title='It\'s "schooling"', level=0.9)
    page = Page(first.read_text(encoding="utf-8"))
    code = page.code[0].replace("first.html", "second.html")
    exec(compile(code, "code of the report", "exec"), {})
    again = Page(Path("second.html").read_text(encoding="utf-8"))
    assert again.text["question-1"] == page.text["question-1"]
    assert again.text["parameters"] == page.text["parameters"]
    assert "(90% interval" in page.text["question-1"]
    digests = [re.search(r"digest of the moments(sha256:[0-9a-f]{64})", p.text["reproduce"]) for p in (page, again)]
    assert digests[0] is not None
    assert digests[1] is not None
    assert digests[0][1] == digests[1][1] == moments_digest(fit)
    if kind == "covariance":
        assert "for Python" in page.text["reproduce"]
    else:
        assert f"--question '{study.question}'" in page.code[1]
        assert "--level 0.9" in page.code[1]


def test_the_command_in_a_report_makes_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shlex

    from halftrek.cli import main

    study = ht.dataset("mroz")
    monkeypatch.chdir(tmp_path)
    Path("women.csv").write_text(study.path.read_text(encoding="utf-8"), encoding="utf-8")  # type: ignore[union-attr]
    fit = ht.fit(study.graph, "women.csv", missing="drop")
    fit.report("first.html", [study.question, "P(lwage | do(educ=12))"], title="Schooling")
    page = Page(Path("first.html").read_text(encoding="utf-8"))
    words = shlex.split(page.code[1].replace("first.html", "second.html").replace("\\\n", " "))
    assert words[0] == "halftrek"
    assert main(words[1:]) == 0
    again = Page(Path("second.html").read_text(encoding="utf-8"))
    assert {k: v for k, v in again.text.items() if k != "reproduce"} == {
        k: v for k, v in page.text.items() if k != "reproduce"
    }


def test_the_digest_knows_the_data_and_not_their_order_or_rounding() -> None:
    study = ht.dataset("airquality")
    for frame in (study.data, study.data.dropna()):
        digest = moments_digest(ht.fit(study.graph, frame))
        turned = frame.iloc[::-1][list(frame.columns[::-1])]
        assert moments_digest(ht.fit(study.graph, turned)) == digest
        other = frame.copy()
        other.loc[other.index[3], "Wind"] += 0.1
        assert moments_digest(ht.fit(study.graph, other)) != digest


def test_large_graphs_are_cut_with_a_note() -> None:
    rng = np.random.default_rng(3)
    names = [f"v{i:02d}" for i in range(30)]
    arrows = [(names[i], names[j]) for j in range(30) for i in range(j) if rng.random() < 0.12]
    graph = ht.Graph(arrows, observed=names)
    fit = ht.fit(graph, random_model(graph, random_state=1).sample(600, random_state=1))
    html = report_html(fit, "v00 ~> v29")
    page = Page(html)
    check_alone(html, page)
    assert len(html) < 600_000
    assert len(page.tables["effects"][0]) <= 61
    assert f"Of {len(fit.effects()):,} effects" in page.text["effects"]
    tests = int((fit.tests()["kind"] != "linearity").sum())
    assert f"30 of {tests:,} rows are shown" in page.text["checks"]
    assert "more pairs" in page.text["assumptions"]
    with_question = [row for row in page.tables["effects"][0] if row[0] == "v00 ~> v29"]
    assert len(with_question) == 1


def test_options_are_named_and_used(front_door: ht.Fit, tmp_path: Path) -> None:
    question = "smoking ~> cancer_risk"
    page = Page(
        front_door.report(tmp_path / "a.html", question, interval="robust", level=0.8).read_text(encoding="utf-8")
    )
    low, high = interval_of(front_door.query(question, interval="robust", level=0.8))
    assert f"(80% interval {number(low)} to {number(high)})" in page.text["question-1"]
    assert "sandwich" in page.text["question-1"]
    assert "interval='robust'" in page.code[0]
    drawn = front_door.report(tmp_path / "b.html", question, interval="parametric", replicates=40, random_state=7)
    page = Page(drawn.read_text(encoding="utf-8"))
    low, high = interval_of(front_door.query(question, interval="parametric", replicates=40, random_state=7))
    assert f"(95% interval {number(low)} to {number(high)})" in page.text["question-1"]
    assert "seed7" in page.text["reproduce"]
    page = Page(report_html(front_door, question, how=ht_how(interval="profile")))
    low, high = interval_of(front_door.query(question, interval="profile"))
    assert f"(95% interval {number(low)} to {number(high)})" in page.text["question-1"]
    assert "delta method" in page.text["effects"]


def ht_how(**options: Any) -> Any:
    from halftrek.inference import How

    return How(**options)


def test_files_are_whole_or_not_there(front_door: ht.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.html"
    with pytest.raises(ht.QueryError, match="smokin"):
        front_door.report(target, "smokin ~> tar")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ht.InputError, match=r"out\.html"):
        front_door.report(tmp_path / "out.pdf")
    with pytest.raises(ht.OutputError, match="no folder"):
        front_door.report(tmp_path / "nowhere" / "out.html")
    target.write_text("mine", encoding="utf-8")
    with pytest.raises(ht.OutputError, match="overwrite=True"):
        front_door.report(target)
    assert target.read_text(encoding="utf-8") == "mine"

    def refuse(*_: Any) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(ht.OutputError, match=r"Permission denied\. Choose another place"):
            front_door.report(target, overwrite=True)
    assert front_door.report(target, overwrite=True) == target
    assert front_door.report(target) == target  # a notebook runs again
    assert "<!DOCTYPE html>" in target.read_text(encoding="utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["out.html"]


def test_without_matplotlib_pictures_are_left_out(front_door: ht.Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise MissingExtraError("drawing pictures", "plot")

    monkeypatch.setattr(figures_of_report, "new_figure", refuse)
    html = report_html(front_door, "P(cancer_risk | do(smoking=3))")
    assert html.count("<svg") == 1  # the graph needs no library
    assert "A picture is left out here: drawing pictures needs an optional part" in Page(html).text["question-1"]


def test_unusual_fits_have_reports() -> None:
    odd = ht.Graph([("a<b", "c&d"), ("c&d", 'e"""\\f')], latents={"<u>": ["a<b", 'e"""\\f']})
    rows = pd.DataFrame(random_model(odd, random_state=1).sample(300, random_state=1), columns=list(odd.observed))
    fit = ht.fit(odd, rows)
    html = report_html(fit, TotalEffect("a<b", "c&d"))
    page = Page(html)
    check_alone(html, page)
    compile(page.code[0], "code of the report", "exec")
    study = ht.dataset("front_door")
    literal = Page(report_html(ht.fit(study.graph, study.data, method="cgl-go"), study.question))
    assert "CGL-Go" in literal.text["reproduce"]
    apart = ht.fit(ht.Graph(observed=["x", "y"]), np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.5]]))
    lonely = Page(report_html(apart))
    assert "no arrow" in lonely.text["effects"]
    known = Page(report_html(ht.fit("x -> y; z -> y", cov=np.eye(3), n=50, coefficients={"x -> y": 0.5}), "z -> y"))
    assert "Held, not estimated: x -> y at 0.5" in known.text["assumptions"]
    assert "without means" in known.text["data"]


def shown(piece: Piece) -> str:
    return page_of("title", "subtitle", [piece], [])


def test_pieces_of_a_page() -> None:
    assert "Σ<sub>a, b</sub> P(y | a &lt; b)" in shown(Formula("Σ_{a, b} P(y | a < b)"))
    prose = shown(Paragraph("between -0.5 and 2\n  where a-1"))
    assert "\n<p>between −0.5 and 2<br>&emsp;where a-1</p>\n" in prose
    rows = [("a", 1.5, ""), ("b", float("nan"), ""), ("c", -2.5, "")]
    cut = Page(shown(Table(("name", "value", "note"), rows, most=2)))
    assert cut.tables[""] == [[["name", "value"], ["a", "1.500"], ["b", ""]]]
    assert "2 of 3 rows are shown" in cut.text[""]


def test_numbers_in_pictures_are_not_shortened() -> None:
    def draw(ax: Any) -> None:
        ax.plot([0.0, 0.012345], [0.0, 1.0])
        ax.set_xticks([0.0, 0.012345], ["0", "0.012345"])

    (picture,) = figures_of_report.drawn("p", draw, (4.0, 2.0), "a caption")
    assert isinstance(picture, Figure)
    assert ">0.012345<" in picture.svg
    assert "<figcaption>a caption</figcaption>" in shown(picture)


def test_no_weight_is_cut_off_at_the_edge_of_the_picture() -> None:
    from halftrek.reporting.plots.drawing import make_drawing

    study = ht.dataset("airquality")
    drawing = make_drawing(ht.fit(study.graph, study.data))
    left, right, bottom, top = drawing.box
    assert drawing.labels
    for label in drawing.labels:
        half = 0.08 * len(label.text)
        assert left < label.x - half < label.x + half < right
        assert bottom < label.y < top
