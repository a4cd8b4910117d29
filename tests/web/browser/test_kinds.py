"""Kinds of columns, chosen on the page; where a category causes something, buttons ask what acts."""

from __future__ import annotations

from playwright.sync_api import expect

import halftrek as ht
from tests.web.browser.driver import Driver
from tests.web.test_kinds import GRAPH, table


def test_what_acts_is_asked_and_answered(tab: Driver) -> None:
    tab.write("graph", GRAPH)
    tab.write("question", "m ~> y")
    tab.expect_verdict("identified", "m ~> y")
    tab.drop(tab.file("scale.csv", table()))
    assert tab.shown() == str(ht.fit(GRAPH, table()).query("m ~> y")).splitlines()[0]
    tab.page.get_by_text("What the columns are").click()
    tab.page.get_by_label("What y is").select_option("ordered")
    tab.page.get_by_label("What m is").select_option("ordered")
    expect(tab.page.get_by_role("alert")).to_contain_text("say what acts")
    tab.page.get_by_role("button", name="It is a cut of something continuous").click()
    fit = ht.fit(GRAPH, table(), kinds={"y": "ordered", "m": "behind"})
    assert tab.shown() == str(fit.query("m ~> y")).splitlines()[0]
    expect(tab.page.get_by_label("What m is")).to_have_value("behind")
    tab.page.reload()
    assert tab.shown() == str(fit.query("m ~> y")).splitlines()[0]
