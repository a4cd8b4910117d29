"""What keeps a report readable on a screen, on paper and on a phone, as far as it can be told without a browser."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

import halftrek as ht
from halftrek.reporting.document import Table
from halftrek.reporting.report import report_html
from halftrek.reporting.report.page import environment
from halftrek.simulation import random_model
from tests.reporting.test_plain_words import FOUND

STYLE = files("halftrek.reporting.report").joinpath("templates", "style.css").read_text()
PRINT = STYLE[STYLE.index("@media print") :]


@pytest.fixture(scope="module")
def page() -> str:
    graph = ht.graph("z -> x -> m -> y; x <-> y; a -> y; a -> b; a <-> b")
    fit = ht.fit(graph, random_model(graph, random_state=2).sample(500, random_state=1))
    return report_html(fit, ["a ~> b", "x ~> y", "P(y | do(x=1))"])


def cells(html: str) -> list[list[list[str]]]:
    """Texts of the numeric columns of each table."""
    found = []
    for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
        rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)[1:]]
        found.append([list(column) for column in zip(*rows, strict=True)])
    return found


def test_every_column_has_one_number_of_decimals(page: str) -> None:
    columns = [column for table in cells(page) for column in table]
    numeric = [[c for c in column if re.fullmatch(r"−?[\d,]+\.\d+", c)] for column in columns]
    assert sum(len(column) > 1 for column in numeric) > 20
    for column in numeric:
        assert len({len(c.partition(".")[2]) for c in column}) <= 1, column


def test_short_words_in_tables_are_not_folded_and_long_ones_are() -> None:
    long = "not identified: some arrow of this graph is confounded"
    table = Table(("", "effect", "note"), [("z ~> x", 0.5, ""), ("a ~> b", 0.25, long)])
    pieces = environment().get_template("pieces.html").module
    shown = str(pieces.Table(table))  # type: ignore[attr-defined]
    assert '<td class="k">z ~&gt; x</td>' in shown
    assert f'<td class="w">{long}</td>' in shown
    assert re.search(r"td\.k \{[^}]*nowrap", STYLE)


def test_tables_have_more_room_than_sentences() -> None:
    """Sentences stay readable; the tables of a window of 1,100 pixels have all of it but the margins."""
    room = re.search(r"main \{ max-width: (\d+)px", STYLE)
    words = re.search(r"p, ul, nav[^{]*\{ max-width: (\d+)px", STYLE)
    assert room is not None
    assert words is not None
    assert 1000 <= int(room[1]) <= 1100
    assert int(words[1]) <= 900


def test_headings_stay_with_their_boxes_on_paper() -> None:
    stay = re.search(r"h2, h3,[^{]*\{ break-after: avoid; \}", PRINT)
    boxes = re.search(r"\.notice[^{]*\{ break-before: avoid; \}", PRINT)
    assert stay is not None
    assert boxes is not None
    assert "h2 + p + p" in stay[0]  # what is asked and the verdict, above the box


def test_a_report_speaks_in_plain_words(page: str) -> None:
    said = re.sub(r"<svg.*?</svg>|<style>.*?</style>", "", page, flags=re.DOTALL)
    seen = FOUND.search(said)
    assert seen is None, said[max(0, seen.start() - 80) : seen.end() + 80]
    assert "What to do next" in said
    assert "ht.identify(" in said
