"""Files in and out: Parquet is dropped, everything is taken away, and a fit of a large file can be stopped."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from playwright.sync_api import expect

import halftrek as ht
from tests.web.browser.driver import Driver
from tests.web.browser.test_front_door import GRAPH, rows

ENDINGS = {
    "SVG": ".svg", "PNG": ".png", "TikZ": ".tex", "dagitty": ".dag", "lavaan": ".lav", "Table as CSV": ".csv",
    "Table as LaTeX": ".tex", "Table for Word": ".docx", "Report": ".html", "Analysis file": ".toml",
    "Python lines": ".py",
}  # fmt: skip


def test_parquet_is_dropped_and_everything_is_taken_away(tab: Driver) -> None:
    tab.write("graph", GRAPH)
    tab.write("question", "smoking ~> cancer")
    path = tab.folder / "study.parquet"
    rows().to_parquet(path)
    tab.drop(path)
    answer = ht.fit(ht.graph(GRAPH), str(path)).query("smoking ~> cancer")
    assert tab.shown() == str(answer).splitlines()[0]
    big = tab.page.locator(".big").inner_text()
    files = {item: tab.take_away(item) for item in ENDINGS}
    assert {item: file.suffix for item, file in files.items()} == ENDINGS
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")
    with zipfile.ZipFile(files["Table for Word"]) as word:
        assert big in word.read("word/document.xml").decode()
    for item in ("Table as LaTeX", "Report"):
        assert big in files[item].read_text(encoding="utf-8")
    assert repr(answer.value) in files["Table as CSV"].read_text(encoding="utf-8")
    assert "study.parquet" in files["Analysis file"].read_text(encoding="utf-8")
    assert "study.parquet" in files["Python lines"].read_text(encoding="utf-8")
    assert ht.graph(files["lavaan"].read_text(encoding="utf-8")) == ht.graph(GRAPH)


def test_a_long_fit_can_be_stopped_and_goes_on_and_does_not_hold_up_verdicts(tab: Driver) -> None:
    names = [f"v{k}" for k in range(COLUMNS)]
    arcs = [f"v{k} <-> v{k + 2}" for k in range(COLUMNS - 2)]
    tab.write("graph", "\n".join([*(f"v{k} -> v{k + 1}" for k in range(COLUMNS - 1)), *arcs]))
    tab.write("question", "v0 ~> v1")
    tab.expect_verdict("identified", "v0 ~> v1")
    tab.choose(with_holes(tab.folder / "large.csv", names))
    waiting = tab.page.locator("#answer-body .waiting")
    expect(waiting).to_have_count(1)  # one line for all that waits for the fit
    expect(waiting).to_contain_text("Fitting the model …")
    tab.write("question", "v1 -> v2")
    tab.expect_verdict("identified", "v1 -> v2")
    expect(waiting).to_contain_text("Fitting the model …")
    waiting.get_by_role("button", name="Stop").click()
    expect(waiting).to_contain_text("stopped")
    running = "session => fetch(`/api/v1/sessions/${session}`).then(r => r.json()).then(s => s.running.length)"
    session = tab.page.evaluate("sessionStorage.getItem('halftrek session')")
    tab.page.wait_for_function(f"async session => (await ({running})(session)) === 0", arg=session)
    expect(tab.page.locator(".result")).to_have_count(0)
    waiting.get_by_role("button", name="Go on").click()
    expect(waiting).to_contain_text("Fitting the model …")
    tab.page.get_by_role("button", name="Remove the data").click()
    tab.page.wait_for_function(f"async session => (await ({running})(session)) === 0", arg=session)


COLUMNS, ROWS = 40, 60_000


def with_holes(path: Path, names: list[str]) -> Path:
    """Rows of which every one lacks other values: much work for a fit."""
    import pyarrow as pa
    import pyarrow.csv as csv

    rng = np.random.default_rng(2)
    values = rng.normal(size=(ROWS, len(names))).cumsum(axis=1).round(2)
    holes = rng.random(values.shape) < 0.3
    csv.write_csv(pa.table({v: pa.array(values[:, k], mask=holes[:, k]) for k, v in enumerate(names)}), path)
    return path
