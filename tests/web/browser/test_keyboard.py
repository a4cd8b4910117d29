"""The keyboard alone draws the front door, asks, takes data and reads the answer."""

from __future__ import annotations

from playwright.sync_api import expect

import halftrek as ht
from tests.web.browser.driver import Driver


def press(tab: Driver, *keys: str) -> None:
    """One key after the other."""
    for key in keys:
        tab.page.keyboard.press(key)


def tab_to(tab: Driver, name: str, most: int = 60) -> None:
    """Walks by the Tab key until the thing of that name has the focus."""
    for _ in range(most):
        tab.page.keyboard.press("Tab")
        found = tab.page.evaluate(
            """() => {
                let e = document.activeElement;
                while (e && e.shadowRoot && e.shadowRoot.activeElement) e = e.shadowRoot.activeElement;
                return (e?.getAttribute('aria-label') ?? '') + ' ' + (e?.textContent ?? '');
            }"""
        )
        if name in found:
            return
    raise AssertionError(f"no {name!r} was reached by the Tab key")


def test_the_front_door_by_keyboard_alone(tab: Driver) -> None:
    tab_to(tab, "Drawing of the graph")
    for name in ("smoking", "tar", "cancer_risk"):
        press(tab, "n")
        tab.page.locator(".name-field").wait_for()
        tab.page.keyboard.type(name)
        press(tab, "Enter")
        tab.page.locator(".name-field").wait_for(state="detached")
    press(tab, "ArrowLeft", "ArrowLeft", "a", "ArrowRight", "Enter")  # smoking -> tar
    press(tab, "a", "ArrowRight", "Enter")  # tar -> cancer_risk
    press(tab, "h", "ArrowLeft", "ArrowLeft", "Enter")  # cancer_risk <-> smoking
    press(tab, "c", "ArrowRight", "ArrowRight", "o")
    tab.expect_verdict("identified", "smoking ~> cancer_risk")
    tab_to(tab, "Bundled data")
    press(tab, "Enter")
    tab.page.locator(".menu").wait_for()
    items = tab.page.locator(".menu button").all_inner_texts()
    wanted = next(k for k, words in enumerate(items) if "genotype" in words)
    press(tab, *["ArrowDown"] * wanted, "Enter")
    study = ht.dataset("front_door")
    fit = ht.fit("smoking -> tar -> cancer_risk; smoking <-> cancer_risk", study.data)
    assert tab.shown() == str(fit.query("smoking ~> cancer_risk")).splitlines()[0]


def test_what_is_done_is_said(tab: Driver) -> None:
    said = tab.page.locator(".app > [role=status]")
    tab.front_door()
    tab.page.locator(".canvas").focus()
    press(tab, "ArrowLeft", "ArrowLeft")
    expect(said).to_contain_text("acts on tar; shares a hidden cause with cancer")
    press(tab, "Delete")
    expect(said).to_contain_text("Removed smoking")
    press(tab, "ControlOrMeta+z")
    tab.expect_graph("smoking -> tar -> cancer; smoking <-> cancer")


def test_an_arrow_that_closes_a_circle_is_refused_in_words(tab: Driver) -> None:
    tab.write("graph", "a -> b -> c")
    expect(tab.page.get_by_text("3 variables, 2 arrows")).to_have_count(1)  # the text is there first, then the drawing
    tab.page.locator(".canvas").focus()
    press(tab, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "a", "ArrowLeft", "ArrowLeft", "Enter")
    expect(tab.page.locator(".toast.bad")).to_contain_text("circle")
    tab.expect_graph("a -> b -> c")
