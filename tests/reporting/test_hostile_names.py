"""Names, titles, questions and labels that look like markup are shown as they are, in reports and in notebooks."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.errors import MissingExtraError
from halftrek.queries import Distribution, TotalEffect
from halftrek.reporting import graph_svg
from halftrek.reporting.report import report_html
from halftrek.simulation import random_model

SCRIPT = "<script>alert(1)</script>"
QUOTES = "\"'><b onload='x'>"
AMPERSAND = "a &amp; {{ 7 * 7 }} {% raw %}"
HIDDEN = "</svg><img src=x onerror=alert(2)>"
NAMES = (SCRIPT, QUOTES, AMPERSAND)
# Elements and attributes that halftrek and matplotlib write themselves; nothing else may be on a page.
ELEMENTS = {
    "a", "b", "body", "br", "circle", "clippath", "code", "defs", "div", "figcaption", "figure", "g", "h1", "h2",
    "h3", "head", "header", "html", "image", "li", "link", "main", "meta", "nav", "ol", "p", "path", "polygon",
    "polyline", "pre", "rect", "section", "span", "strong", "style", "sub", "svg", "table", "tbody", "td", "text", "th",
    "thead", "title", "tr", "tspan", "ul", "use",
}  # fmt: skip


class Seen(HTMLParser):
    """Every element, attribute and text of a page, as a browser takes them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def check_harmless(html: str, *shown: str) -> None:
    page = Seen(html)
    assert page.elements <= ELEMENTS
    assert not any(name.startswith("on") for name in page.attributes)
    assert "src" not in page.attributes
    for words in shown:
        assert words in page.text
    assert SCRIPT not in html
    assert not re.search(r"&amp;(lt|gt|quot|#\d+|amp;amp);", html)  # nothing is escaped twice


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    graph = ht.Graph([(SCRIPT, QUOTES), (QUOTES, AMPERSAND)], latents={HIDDEN: [SCRIPT, AMPERSAND]})
    rows = random_model(graph, random_state=1).sample(300, random_state=1)
    return ht.fit(graph, pd.DataFrame(np.asarray(rows), columns=list(graph.observed)))


QUESTIONS = (
    TotalEffect(SCRIPT, AMPERSAND),
    TotalEffect(SCRIPT, QUOTES),
    Distribution.after((AMPERSAND, QUOTES), {SCRIPT: 1.0}),
    Distribution.after((AMPERSAND,), {SCRIPT: None}),
)


def test_a_report_shows_hostile_names_as_they_are(fit: ht.Fit, tmp_path: Path) -> None:
    title = f"{SCRIPT} & {QUOTES}"
    html = fit.report(tmp_path / "out.html", QUESTIONS, title=title).read_text(encoding="utf-8")
    check_harmless(html, title, *NAMES, HIDDEN)
    assert html.count("<svg") > 3
    check_harmless(report_html(fit, QUESTIONS, name="<script>alert(3)</script>.html"), *NAMES)


def test_a_refusal_shows_hostile_names_as_they_are() -> None:
    bow = ht.Graph([(SCRIPT, QUOTES)], bidirected=[(SCRIPT, QUOTES)])
    rows = random_model(bow, random_state=1).sample(200, random_state=1)
    refused = ht.fit(bow, pd.DataFrame(np.asarray(rows), columns=list(bow.observed)))
    question = TotalEffect(SCRIPT, QUOTES)
    check_harmless(report_html(refused, question), SCRIPT, QUOTES, "not identified")
    check_harmless(ht.identify(bow, question)._repr_html_(), SCRIPT, QUOTES, "not identified")


def test_labels_of_groups_and_names_of_categories_are_shown_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    labels = rng.choice([SCRIPT, QUOTES, AMPERSAND], 240)
    x = rng.normal(size=240)
    frame = pd.DataFrame({"kind": labels, "x": x, "y": x + (labels == SCRIPT) + rng.normal(size=240)})
    categories = ht.fit("kind -> y; x -> y", frame, categories={"kind": QUOTES})
    check_harmless(categories._repr_html_(), SCRIPT)
    html = categories.report(tmp_path / "out.html", "x -> y").read_text(encoding="utf-8")
    check_harmless(html, SCRIPT, AMPERSAND)
    groups = ht.fit_groups("x -> y", frame, by="kind")
    for label in NAMES:
        check_harmless(report_html(groups[label], "x -> y", title=f"Group {label}"), label)


@pytest.mark.parametrize(
    "show",
    [
        lambda fit: fit._repr_html_(),
        lambda fit: fit.graph._repr_html_(),
        lambda fit: f"<div>{graph_svg(fit.graph)}</div>",
        lambda fit: ht.identify(fit.graph, QUESTIONS[0])._repr_html_(),
        lambda fit: fit.query(QUESTIONS[0])._repr_html_(),
        lambda fit: fit.query(QUESTIONS[2])._repr_html_(),
    ],
)
def test_a_notebook_shows_hostile_names_as_they_are(fit: ht.Fit, show: Callable[[ht.Fit], str]) -> None:
    html = show(fit)
    check_harmless(html, SCRIPT, AMPERSAND)
    ElementTree.fromstring(html)


def test_without_jinja2_a_report_says_what_to_install_and_a_notebook_needs_nothing(
    fit: ht.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "jinja2":
            raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
        return there(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"writing a report needs an optional part.*halftrek\[report\]"):
        fit.report(tmp_path / "out.html", QUESTIONS)
    assert list(tmp_path.iterdir()) == []
    assert "<svg" in fit._repr_html_()
