"""Reads a report as a browser would, and in a browser where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from halftrek.reporting import tables

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Reads a report: its chapters with their text, tables, anchors and links; raises where tags do not match."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: dict[str, str] = {"": ""}
        self.tables: dict[str, list[list[list[str]]]] = {"": []}
        self.ids: list[str] = []
        self.links: list[str] = []
        self.code: list[str] = []
        self.chapter = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self.chapter = str(given["id"])
            self.text[self.chapter], self.tables[self.chapter] = "", []
        self.ids += [str(given["id"])] if "id" in given else []
        self.links += [str(given[name]) for name in ("href", "src", "xlink:href", "action", "data") if name in given]
        if tag == "table":
            self.tables[self.chapter].append([])
        elif tag == "tr":
            self.tables[self.chapter][-1].append([])
        elif tag in ("td", "th"):
            self.tables[self.chapter][-1][-1].append("")
        elif tag == "pre":
            self.code.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "svg" not in self.open and "style" not in self.open:
            self.text[self.chapter] += data
        if "td" in self.open or "th" in self.open:
            self.tables[self.chapter][-1][-1][-1] += data
        if "pre" in self.open:
            self.code[-1] += data


def number(value: float) -> str:
    return tables.number(float(value)).replace("-", "−")


def cell(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def check_cells(texts: Sequence[str], values: Sequence[float]) -> None:
    """An estimate, its error and its interval, rounded to the same decimals; the first two keep two digits."""
    decimals = {len(text.partition(".")[2]) for text in texts}
    assert len(decimals) == 1, texts
    unit = 10.0 ** -decimals.pop()
    for text, value in zip(texts, values, strict=True):
        assert abs(cell(text) - value) <= 0.5001 * unit, (text, value)
    assert all(abs(cell(text)) > 9.99 * unit for text in texts[:2]), texts


def check_alone(html: str, page: Page) -> None:
    """Nothing is fetched, no anchor is there twice, every link leads somewhere on the page."""
    assert not re.search(r"https?:|<script|@import|url\((?!#)", html, re.IGNORECASE)
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def check_in_browser(path: Path) -> None:
    """Where there is a Chromium, it loads the page without a word on its console, and prints it."""
    found = [p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))]
    for browser in found[:1]:
        with tempfile.TemporaryDirectory() as profile:
            sheet = Path(profile) / "page.pdf"
            done = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
                 f"--user-data-dir={profile}", f"--print-to-pdf={sheet}", path.as_uri()],
                capture_output=True, text=True, timeout=120, check=True,
            )  # fmt: skip
            assert "CONSOLE" not in done.stderr
            assert sheet.stat().st_size > 10_000
