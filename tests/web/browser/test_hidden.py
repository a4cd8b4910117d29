"""Hidden variables with causes, drawn by mouse and by keyboard, decided and answered."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import expect

import halftrek as ht
from tests.web.browser.driver import Driver
from tests.web.browser.test_keyboard import press, tab_to

FACTOR = "latent F; z -> F; F -> {a, b, y}"
LOCAL = "latent F; v1 -> {v2, v3, F}; v2 -> v3 -> F -> v5; v1 <-> {v2, v3, F, v5}; F -> {a, b, c}; F -> a [1]"


def rows() -> dict[str, list[float]]:
    """Four columns that a factor explains."""
    rng = np.random.default_rng(8)
    z = rng.normal(size=500)
    factor = 0.7 * z + rng.normal(size=500)
    noisy = {name: (w * factor + rng.normal(size=500)).tolist() for name, w in (("a", 1.0), ("b", 0.8), ("y", 0.5))}
    return {"z": z.tolist(), **noisy}


def test_a_factor_by_mouse_is_decided_and_answered(tab: Driver) -> None:
    for name, x, y in (("z", 110, 250), ("F", 330, 250), ("a", 600, 110), ("b", 600, 250), ("y", 600, 390)):
        tab.variable(name, x, y)
    tab.menu("F", "Hidden")
    for first, second in (("z", "F"), ("F", "a"), ("F", "b"), ("F", "y")):
        tab.join(first, "->", second)
    tab.expect_graph(FACTOR)
    tab.menu("F", "Cause")
    tab.menu("y", "Outcome")
    assert "It can be known" in tab.expect_verdict("identified", "F ~> y")
    expect(tab.page.locator(".verdict")).to_contain_text("The scale of F is a convention")
    tab.drop(tab.file("factor.csv", rows()))
    fit = ht.fit(FACTOR, rows())
    assert tab.shown() == str(fit.query("F ~> y")).splitlines()[0]
    tab.page.get_by_role("tab", name="Effects").click()
    expect(tab.page.locator(".grid-table")).to_contain_text("z → F")
    tab.page.get_by_role("tab", name="Checks").click()
    expect(tab.page.locator(".measures")).to_contain_text("CFI")
    assert "F =~" in tab.take_away("lavaan").read_text()
    assert "F" in tab.take_away("SVG").read_text()


def test_arrows_into_hidden_variables_by_keyboard(tab: Driver) -> None:
    tab_to(tab, "Drawing of the graph")
    for key, name in (("n", "z"), ("Shift+N", "F"), ("n", "a")):
        press(tab, key)
        tab.page.locator(".name-field").wait_for()
        tab.page.keyboard.press("ControlOrMeta+a")
        tab.page.keyboard.type(name)
        press(tab, "Enter")
        tab.page.locator(".name-field").wait_for(state="detached")
    press(tab, "ArrowLeft", "a", "ArrowRight", "Enter")  # F -> a
    press(tab, "ArrowLeft", "ArrowLeft", "a", "ArrowRight", "Enter")  # z -> F
    tab.expect_graph("latent F; z -> F; F -> a")
    press(tab, "ControlOrMeta+z")
    tab.expect_graph("latent F; F -> a; z")
    assert not tab.page.locator(".name-field").count()


def test_every_notation_stays_live_and_the_word_is_shown(tab: Driver) -> None:
    tab.write("graph", LOCAL)
    tab.write("question", "F ~> v5")
    assert "Locally identified" in tab.expect_verdict("locally identified", "F ~> v5")
    tab.write("graph", "latent F; z -> F; F -> a")
    for name in ("lavaan", "DOT", "dagitty"):
        tab.notation(name)
        tab.expect_graph("latent F; z -> F; F -> a")
    tab.write("graph", "dag { F [latent] G [latent] z -> F F -> a F <-> G G -> b }")
    tab.notation("Arrows")
    tab.expect_graph("latent F; latent G; z -> F; F -> a; F <-> G; G -> b")
    tab.write("graph", "latent M; x -> M -> y; x <-> y; z -> M")
    tab.write("question", "x ~> y")
    tab.expect_verdict("not identified", "x ~> y")
    expect(tab.page.locator(".twin")).to_have_count(2)
