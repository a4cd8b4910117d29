"""Two tabs do not mix; a server that is gone and comes back loses nothing."""

from __future__ import annotations

from playwright.sync_api import expect

import halftrek as ht
from tests.web.browser.conftest import Opened
from tests.web.browser.driver import Driver


def test_two_tabs_do_not_mix(tab: Driver) -> None:
    tab.write("graph", "x -> m -> y; x <-> y")
    tab.write("question", "x ~> y")
    tab.expect_verdict("identified", "x ~> y")
    other = Driver(tab.page.context.new_page(), tab.folder)
    other.open(tab.page.url)
    expect(other.page.get_by_role("button", name="Continue with the last drawing")).to_be_visible()
    other.write("graph", "a -> b; a <-> b")
    other.write("question", "a ~> b")
    other.expect_verdict("not identified", "a ~> b")
    tab.drop(tab.file("rows.csv", {"x": [1.0, 2, 4, 3, 5], "m": [1.0, 3, 3, 4, 6], "y": [0.5, 2, 1, 4, 4]}))
    assert tab.shown().startswith("x ~> y = ")
    expect(other.page.locator(".data-row")).to_have_count(0)
    tab.expect_verdict("identified", "x ~> y")
    tab.expect_graph("x -> m -> y; x <-> y")
    other.expect_graph("a -> b; a <-> b")


def test_a_copied_tab_gets_a_session_of_its_own(tab: Driver) -> None:
    tab.write("graph", "x -> y")
    tab.expect_graph("x -> y")
    mine = tab.page.evaluate("sessionStorage.getItem('halftrek session')")
    copy = tab.page.context.new_page()
    copy.add_init_script(
        f"if (!sessionStorage.getItem('halftrek session')) sessionStorage.setItem('halftrek session', '{mine}')"
    )
    copy.goto(tab.page.url)
    copy.locator(".toolbar").wait_for()
    copy.wait_for_function("mine => sessionStorage.getItem('halftrek session') !== mine", arg=mine)
    assert tab.page.evaluate("sessionStorage.getItem('halftrek session')") == mine


def test_the_server_is_gone_and_back(opened: Opened) -> None:
    with ht.open_page(port=0, browser=False) as page:
        tab = opened(page.address)
        tab.write("graph", "x -> m -> y")
        tab.write("question", "x ~> y")
        tab.expect_verdict("identified", "x ~> y")
        tab.page.context.set_offline(True)
        tab.write("graph", "x -> m -> y; x <-> y")
        expect(tab.page.locator(".reach")).to_contain_text("does not answer")
        tab.page.context.set_offline(False)
        expect(tab.page.locator(".reach")).to_have_count(0)
        tab.write("graph", "x -> m -> y; x <-> y; w -> x")
        tab.expect_verdict("identified", "x ~> y")
        tab.expect_graph("x -> m -> y; x <-> y; w -> x")


def test_another_run_of_the_server_is_told_and_the_drawing_continues_there(opened: Opened) -> None:
    with ht.open_page(port=0, browser=False) as first:
        tab = opened(first.address)
        tab.write("graph", "x -> m -> y; x <-> y")
        tab.write("question", "x ~> y")
        tab.expect_verdict("identified", "x ~> y")
        port = first.port
    with ht.open_page(port=port, browser=False) as second:
        tab.write("graph", "x -> m -> y")
        expect(tab.page.locator(".reach")).to_contain_text("earlier run")
        again = tab.page.context.new_page()
        again.goto(second.address)
        again.get_by_role("button", name="Continue with the last drawing").click()
        other = Driver(again, tab.folder)
        other.expect_graph("x -> m -> y; x <-> y")
