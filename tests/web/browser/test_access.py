"""Every screen: nothing serious for axe-core, no sideways scrolling, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.web.browser.conftest import Opened
from tests.web.browser.driver import Driver

AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LONG = "a_rather_long_name_of_a_variable_that_somebody_took_from_a_questionnaire"


def empty(tab: Driver) -> None:
    """As it opens."""
    tab.page.get_by_role("button", name="Try an example with data").wait_for()


def asked(tab: Driver) -> None:
    """A question that can be known."""
    tab.write("graph", "x -> m -> y; x <-> y; w -> x; w -> y")
    tab.write("question", "x ~> y")
    tab.expect_verdict("identified")


def refused(tab: Driver) -> None:
    """A question that cannot."""
    tab.write("graph", "x -> y; x <-> y")
    tab.write("question", "x ~> y")
    tab.page.locator(".helps").wait_for()


def wrong(tab: Driver) -> None:
    """A text with an error."""
    tab.write("graph", "x -> y\nx -> -> y")
    tab.page.locator(".text-body .fault").wait_for()


def answered(tab: Driver) -> None:
    """With data."""
    tab.page.get_by_role("button", name="Try an example with data").click()
    tab.page.locator(".seen-done").wait_for()


def thirty(tab: Driver) -> None:
    """Thirty variables."""
    tab.write("graph", "\n".join(f"v{k} -> v{k + 1}" for k in range(29)) + "\nv3 <-> v9\nv11 -> v20")
    tab.write("question", "v3 ~> v20")
    tab.expect_verdict("identified")


def long_names(tab: Driver) -> None:
    """Names that need two lines."""
    tab.write("graph", f"{LONG} -> {LONG}_too -> y; {LONG} <-> y")
    tab.write("question", f"{LONG} ~> y")
    tab.expect_verdict("identified")


def in_words(tab: Driver) -> None:
    """The list."""
    asked(tab)
    tab.notation("In words")
    tab.page.locator(".word-list").wait_for()


def keys(tab: Driver) -> None:
    """The window of keys."""
    tab.page.get_by_role("button", name="Keys and gestures").click()
    tab.page.locator("dialog[open]").wait_for()


def menu(tab: Driver) -> None:
    """A menu that is open."""
    tab.page.get_by_role("button", name="More examples").click()
    tab.page.locator(".menu").wait_for()


SCREENS = [empty, asked, refused, wrong, answered, thirty, long_names, in_words, keys, menu]


FINITE = "one => one.effect.getComputedTiming().endTime !== Infinity"
FADED = f"Promise.allSettled(document.getAnimations({{subtree: true}}).filter({FINITE}).map(one => one.finished))"


@pytest.mark.parametrize("screen", SCREENS, ids=lambda f: f.__name__)
def test_nothing_serious_and_no_sideways_scrolling(opened: Opened, screen: Callable[[Driver], None]) -> None:
    tab = opened(width=1000, height=760)
    screen(tab)
    tab.page.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme in SCHEMES:
        tab.page.emulate_media(color_scheme=scheme)
        expect(tab.page.locator("html")).to_have_attribute("data-theme", scheme)
        tab.page.evaluate(FADED)  # colours that fade in are no colours to judge
        assert tab.page.evaluate(
            "document.documentElement.scrollWidth <= 1000 && document.querySelector('main').scrollWidth <= 1000"
        )
        found = tab.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [
            f"{scheme}: {fault['id']}: {fault['help']}; "
            + " | ".join(str(node["target"]) + str(node["failureSummary"]) for node in fault["nodes"])
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
        assert serious == []
