"""The graph as text, live in both directions."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.web.browser.driver import Driver

DAGITTY = """dag {
  smoking [exposure,pos="-1.3,0.25"]
  cancer [outcome,pos="1.1,0.3"]
  tar [pos="0.0,-0.5"]
  smoking -> tar
  tar -> cancer
  smoking <-> cancer
}"""


def test_dagitty_is_pasted_and_its_positions_survive(tab: Driver) -> None:
    tab.notation("dagitty")
    tab.write("graph", DAGITTY)
    tab.expect_verdict("identified", "smoking ~> cancer")
    tab.notation("DOT")
    expect(tab.editor("graph")).to_contain_text("digraph")
    tab.notation("dagitty")
    expect(tab.editor("graph")).to_contain_text("smoking")
    found = dict(re.findall(r'(\w+) \[[^\]]*pos="([^"]*)"', tab.text()))
    places = {name: tuple(map(float, place.split(","))) for name, place in found.items()}
    assert places == {"smoking": (-1.3, 0.25), "cancer": (1.1, 0.3), "tar": (0.0, -0.5)}


def test_lavaan_is_the_same_graph(tab: Driver) -> None:
    tab.notation("lavaan")
    tab.write("graph", "m ~ x\ny ~ m\nx ~~ y")
    tab.write("question", "x ~> y")
    tab.expect_verdict("identified", "x ~> y")
    tab.notation("Arrows")
    assert tab.expect_graph("x -> m -> y; x <-> y").bidirected == (("x", "y"),)


def test_an_error_stands_under_its_place_and_the_last_good_graph_stays(tab: Driver) -> None:
    tab.write("graph", "x -> m -> y")
    tab.write("question", "x ~> y")
    tab.expect_verdict("identified", "x ~> y")
    tab.write("graph", "x -> m -> y\nx -> ;")
    fault = tab.page.locator(".text-body .fault")
    expect(fault).to_contain_text("Line 2")
    expect(
        tab.page.locator("[data-editor=graph] .cm-lintRange-error, [data-editor=graph] .cm-lintPoint-error")
    ).to_have_count(1)
    tab.expect_verdict("identified", "x ~> y")
    tab.write("graph", "x -> m -> y; x <-> y")
    expect(fault).to_have_count(0)


def test_undo_and_redo_take_back_and_give_again(tab: Driver) -> None:
    tab.front_door()
    tab.expect_graph("smoking -> tar -> cancer; smoking <-> cancer")
    undo, redo = (tab.page.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    undo.click()
    tab.expect_graph("smoking -> tar -> cancer")
    undo.click()
    tab.expect_graph("smoking -> tar; cancer")
    redo.click()
    redo.click()
    tab.expect_graph("smoking -> tar -> cancer; smoking <-> cancer")
    expect(redo).to_be_disabled()


def test_a_question_with_an_error_says_where(tab: Driver) -> None:
    tab.write("graph", "x -> y")
    tab.write("question", "P(y | do(x=)")
    expect(tab.page.locator(".question-part .fault")).to_be_visible()
    tab.write("question", "x ~> y")
    tab.expect_verdict("identified", "x ~> y")


def test_names_are_completed(tab: Driver) -> None:
    tab.write("graph", "smoking -> tar -> cancer")
    tab.expect_graph("smoking -> tar -> cancer")
    tab.editor("question").click()
    tab.page.keyboard.type("smo")
    tab.page.locator("[data-editor=question] .cm-tooltip-autocomplete").wait_for()
    tab.page.wait_for_timeout(150)
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.type(" ~> cancer")
    assert "It can be known" in tab.expect_verdict("identified", "smoking ~> cancer")
