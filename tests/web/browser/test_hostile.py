"""Names, graphs, files and cells that would be markup, script or a way out, are shown as text and nothing else."""

from __future__ import annotations

import json

import numpy as np
from playwright.sync_api import expect

import halftrek as ht
from tests.web.browser.driver import Driver

NAMES = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "__proto__",
    "constructor",
    "{{7*7}}",
    "javascript:alert(1)",
    "名前 🚀",
    "a'; DROP TABLE x; --",
    "x" * 300,
    'say "hello" \\ there',
    "\\href{javascript:alert(1)}{x}",
    "$\\require{x}$",
]


def test_hostile_names_are_only_names(tab: Driver) -> None:
    alerts: list[str] = []
    tab.page.on("dialog", lambda dialog: alerts.append(dialog.message))
    quoted = [json.dumps(name, ensure_ascii=False) for name in NAMES]
    tab.write("graph", "\n".join(f"{name} -> y" for name in quoted))
    rng = np.random.default_rng(5)
    columns = {name: rng.normal(size=60) for name in (*NAMES, "y")}
    tab.drop(tab.file("<img src=x onerror=alert(2)>.csv", columns))
    graph = ht.Graph(directed=[(name, "y") for name in NAMES])
    fit = ht.fit(graph, columns)
    for name, text in zip(NAMES, quoted, strict=True):
        tab.write("question", f"{text} ~> y")
        query = fit.query(f"{text} ~> y")
        tab.expect_verdict("identified", str(query.query))
        line = tab.page.locator(".result [data-shown]").first
        expect(line).to_have_attribute("data-shown", str(query).splitlines()[0])
        expect(tab.page.locator(".seen-done figcaption")).to_contain_text(" ".join(name.split()))
    tab.notation("In words")
    for k, name in enumerate(NAMES):
        expect(tab.page.locator(".word-list li").nth(2 * k if k == 0 else k + 1)).to_contain_text(
            " ".join(name.split())[:40]
        )
    assert tab.page.locator("img:not([src='./icon.svg'])").count() == 0
    assert alerts == []


def test_a_cell_that_is_markup_is_refused_as_text(tab: Driver) -> None:
    tab.write("graph", "x -> y")
    tab.write("question", "x ~> y")
    tab.drop(tab.file("cells.csv", {"x": ["<b onclick=alert(1)>", "2", "3"], "y": [1, 2, 3]}))
    expect(tab.page.locator(".answer-part .fault").first).to_be_visible()
    assert tab.page.locator(".answer-part b[onclick]").count() == 0


def test_a_name_made_by_mouse_is_checked(tab: Driver) -> None:
    tab.variable("x", 200, 200)
    tab.page.mouse.dblclick(*tab.at(400, 200))
    field = tab.page.locator(".name-field")
    for bad, word in (("x", "already"), ("a -> b", "arrow"), ("  ", "needs a name")):
        field.fill(bad)
        field.press("Enter")
        expect(tab.page.locator(".toast.bad")).to_contain_text(word)
    field.fill("__proto__")
    field.press("Enter")
    tab.expect_graph("x; __proto__")
