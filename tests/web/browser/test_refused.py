"""A question that cannot be known: why not, and buttons for what would help."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import halftrek as ht
from tests.web.browser.driver import Driver


@pytest.fixture
def refused(tab: Driver) -> Driver:
    """The bow, asked."""
    tab.write("graph", "x -> y; x <-> y")
    tab.write("question", "x ~> y")
    tab.expect_verdict("not identified", "x ~> y")
    tab.page.locator(".helps").wait_for()
    return tab


def test_two_models_and_every_help_are_shown(refused: Driver) -> None:
    expect(refused.page.locator(".twin")).to_have_count(2)
    verdict = ht.identify("x -> y; x <-> y", "x ~> y")
    expect(refused.page.locator(".help")).to_have_count(len(verdict.helps))
    assert verdict.witness is not None
    for answer in verdict.witness.answers:
        expect(refused.page.locator(".witness")).to_contain_text(f"{answer:.4g}"[:6])


def test_each_button_helps_and_can_be_undone(refused: Driver) -> None:
    for kind in ("rule out", "measure", "instrument", "mediator"):
        refused.page.locator(f"[data-change='{kind}']").first.click()
        assert "It can be known" in refused.expect_verdict("identified", "x ~> y")
        refused.page.locator(".canvas").focus()
        refused.page.keyboard.press("ControlOrMeta+z")
        refused.expect_verdict("not identified")
        refused.expect_graph("x -> y; x <-> y")


def test_a_number_that_is_known_helps(refused: Driver) -> None:
    form = refused.page.locator("form.help")
    form.get_by_role("textbox").fill("0.3")
    form.get_by_role("button", name="Try").click()
    assert "It can be known" in refused.expect_verdict("identified")


def test_no_number_is_shown_with_data(refused: Driver) -> None:
    refused.drop(
        refused.file("rows.csv", {"x": [0.1, 0.5, -0.3, 1.2, 0.9, -1.1], "y": [0.3, 0.1, -0.2, 1.0, 1.4, -0.6]})
    )
    refused.page.locator(".result, #answer-body .fault").first.wait_for()
    expect(refused.page.locator(".big")).to_have_count(0)
    expect(refused.page.locator(".seen-done")).to_have_count(0)


def test_bounds_under_what_one_assumes_are_the_librarys(refused: Driver) -> None:
    rows = {"x": [0.1, 0.5, -0.3, 1.2, 0.9, -1.1, 0.4, -0.7], "y": [0.3, 0.1, -0.2, 1.0, 1.4, -0.6, -0.2, 0.1]}
    refused.drop(refused.file("rows.csv", rows))
    refused.page.get_by_role("tab", name="If not").click()
    refused.page.locator("label:has-text('Two variables') select").select_option(index=1)
    refused.page.get_by_role("button", name="Bounds under these").click()
    found = ht.bounds("x -> y; x <-> y", rows, "x ~> y", assume="corr(x <-> y) in [-0.3, 0.3]")
    expect(refused.page.locator(".big")).to_have_text(f"{found.low:.4f} to {found.high:.4f}")
    expect(refused.page.locator("#answer-body")).to_contain_text("The lower end is held by")


def test_with_data_the_set_and_two_models_of_ones_own_are_shown(tab: Driver) -> None:
    rows = {"x": [0.1, 0.5, -0.3, 1.2, 0.9, -1.1, 0.4, -0.7], "y": [0.3, 0.1, -0.2, 1.0, 1.4, -0.6, -0.2, 0.1]}
    asked = "P(y > 0 | do(x=1))"
    tab.write("graph", "x -> y; x <-> y")
    tab.write("question", asked)
    tab.expect_verdict("not identified", asked)
    tab.drop(tab.file("rows.csv", rows))
    with pytest.raises(ht.NotIdentifiedError) as caught:
        ht.fit("x -> y; x <-> y", rows).query(asked)
    answer, witness = caught.value.answer, caught.value.verdict.witness
    assert answer is not None
    assert witness is not None
    left = ht.bounds("x -> y; x <-> y", rows, asked)
    expect(tab.page.locator(".result .set")).to_have_text(f"{left.low:.4f} to {left.high:.4f}")
    expect(tab.page.locator(".result")).to_contain_text("a limit: models come near it, none has it")
    expect(tab.page.locator(".witness")).to_contain_text("fit your data equally well")
    for value in witness.answers:
        expect(tab.page.locator(".witness")).to_contain_text(f"{value:.4f}")
    tab.page.get_by_role("button", name="Fewer, under what you assume").click()
    expect(tab.page.get_by_role("tab", name="If not")).to_have_attribute("aria-selected", "true")
