"""Numbers on the page are the library's, to the last digit shown; tests/web/test_numbers.py walks the whole catalog."""

from __future__ import annotations

import pandas as pd
from playwright.sync_api import expect

import halftrek as ht
from halftrek.syntax import format_graph as to_text
from tests.web.browser.driver import Driver

GRAPHS = ("front-door", "instrument", "mediation", "bow", "two-instruments")
QUESTIONS = ("{first} ~> {last}", "P({last} | do({first}=1))", "P({last} > 1 | do({first}=1))")


def test_the_page_shows_what_the_library_prints(tab: Driver) -> None:
    seen = 0
    for name in GRAPHS:
        entry = ht.catalog(name)
        assert entry.model is not None
        rows = pd.DataFrame(entry.model.sample(400, random_state=3), columns=list(entry.model.names))
        path = tab.folder / "rows.csv"
        rows.to_csv(path, index=False)
        tab.write("graph", to_text(entry.graph))
        tab.choose(path)
        expect(tab.page.locator(".data-row")).to_be_visible()
        fit = ht.fit(entry.graph, str(path))
        ends = {"first": entry.graph.topological_order[0], "last": entry.graph.topological_order[-1]}
        for question in (form.format(**ends) for form in QUESTIONS):
            tab.write("question", question)
            verdict = ht.identify(entry.graph, question)
            tab.expect_verdict(verdict.status, str(verdict.query))
            line = tab.page.locator(".result [data-shown]").first
            if verdict.identified:
                expect(line).to_have_attribute("data-shown", str(fit.query(question)).splitlines()[0].strip())
                seen += 1
            else:
                expect(tab.page.locator(".big")).to_have_count(0)
        tab.page.get_by_role("button", name="Remove the data").click()
    assert seen == 12
