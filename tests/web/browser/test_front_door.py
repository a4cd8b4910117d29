"""The whole way: draw, ask, drop a file, read the number."""

from __future__ import annotations

import pandas as pd
from playwright.sync_api import expect

import halftrek as ht
from halftrek.syntax import format_graph as to_text
from tests.web.browser.conftest import Opened
from tests.web.browser.driver import Driver

GRAPH = "smoking -> tar -> cancer; smoking <-> cancer"


def rows(n: int = 800) -> pd.DataFrame:
    """Rows of a world with that graph."""
    world = ht.CGLSCM.from_parameters(
        names=["smoking", "tar", "cancer"],
        T=[[0.0, 0.8, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]],
        omega={("smoking", "cancer"): 0.6},
    )
    return pd.DataFrame(world.sample(n, random_state=1), columns=["smoking", "tar", "cancer"])


def test_drawn_by_mouse_asked_and_answered(tab: Driver) -> None:
    tab.front_door()
    tab.expect_graph(GRAPH)
    tab.menu("smoking", "Cause")
    tab.menu("cancer", "Outcome")
    tab.expect_verdict("identified", "smoking ~> cancer")
    expect(tab.page.locator(".verdict")).to_contain_text("front-door")
    expect(tab.page.locator(".formula .katex")).to_have_count(1)
    data = rows()
    path = tab.folder / "study.csv"
    data.to_csv(path, index=False)
    tab.drop(path)
    printed = str(ht.fit(ht.graph(GRAPH), str(path)).query("smoking ~> cancer"))
    assert tab.shown() == printed.splitlines()[0]
    big = tab.page.locator(".big").inner_text()
    assert f"= {big} (" in printed


def test_slider_moves_the_mean_here_and_the_interval_comes_from_the_server(tab: Driver) -> None:
    tab.write("graph", GRAPH)
    tab.write("question", "smoking ~> cancer")
    path = tab.folder / "study.csv"
    rows().to_csv(path, index=False)
    tab.choose(path)
    slider = tab.page.locator("#do-slider")
    slider.wait_for()
    slider.focus()
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.page.evaluate(
        """() => {
            const slider = document.querySelector('#do-slider');
            slider.value = '1';
            slider.dispatchEvent(new Event('input', {bubbles: true}));
        }"""
    )
    fit = ht.fit(ht.graph(GRAPH), str(path))
    set_to = float(slider.input_value())
    exact = fit.query(f"P(cancer | do(smoking={set_to:.6g}))")
    expect(tab.page.locator(".slider output")).to_contain_text(f"mean {float(exact.mean):.4g}"[:9])
    assert asked == []
    slider.dispatch_event("change")
    expect(tab.page.locator("[data-at]")).to_have_text(str(exact).splitlines()[0].strip())


def test_every_part_of_the_answer_can_be_opened(tab: Driver) -> None:
    tab.page.get_by_role("button", name="Try an example with data").click()
    study = ht.dataset("front_door")
    fit = ht.fit(study.graph, study.data)
    assert tab.shown() == str(fit.query("smoking ~> cancer_risk")).splitlines()[0]
    body = tab.page.locator("#answer-body")
    tab.page.get_by_role("tab", name="Dose").click()
    expect(body.locator("path.done-line")).to_have_count(1)
    tab.page.get_by_role("tab", name="Paths").click()
    expect(body.locator("tbody tr")).to_have_count(1)
    expect(body).to_contain_text("smoking -> tar -> cancer_risk")
    tab.page.get_by_role("tab", name="Checks").click()
    expect(body).to_contain_text("Nothing to test")
    tab.page.get_by_role("tab", name="Effects").click()
    expect(body.locator("tbody tr")).to_have_count(3)
    value = fit.effect("tar", "cancer_risk").value
    expect(body).to_contain_text(f"{value:.4g}")


def test_nothing_is_lost_on_reload(tab: Driver) -> None:
    tab.page.get_by_role("button", name="Try an example with data").click()
    before = tab.shown()
    tab.page.reload()
    assert tab.shown() == before
    tab.expect_verdict("identified", "smoking ~> cancer_risk")


def test_columns_that_do_not_match_are_named(tab: Driver) -> None:
    tab.write("graph", "smoking -> tarr -> cancer; smoking <-> cancer")
    tab.write("question", "smoking ~> cancer")
    path = tab.folder / "study.csv"
    rows(200).to_csv(path, index=False)
    tab.drop(path)
    matching = tab.page.locator(".matching")
    expect(matching).to_contain_text("tarr")
    matching.get_by_role("button", name="Use tar").click()
    assert tab.shown().startswith("smoking ~> cancer = ")
    tab.expect_graph(GRAPH)
    tab.write("graph", "smokin -> tarr -> cancer; smokin <-> cancer")
    matching.get_by_role("button", name="Use these for all: smoking, tar").click()
    tab.expect_graph(GRAPH)
    tab.page.locator(".canvas").focus()
    tab.page.keyboard.press("ControlOrMeta+z")  # one step
    tab.expect_graph("smokin -> tarr -> cancer; smokin <-> cancer")


def test_a_covariance_is_pasted(tab: Driver) -> None:
    tab.write("graph", "x -> m -> y; x <-> y")
    tab.write("question", "x ~> y")
    tab.page.get_by_role("button", name="Paste a covariance").click()
    tab.page.locator(".covariance textarea").fill("x m y\n1\n0.5 1\n0.2 0.6 1")
    tab.page.locator(".covariance input").fill("412")
    tab.page.get_by_role("button", name="Use it").click()
    fit = ht.fit(
        "x -> m -> y; x <-> y", cov=[[1, 0.5, 0.2], [0.5, 1, 0.6], [0.2, 0.6, 1]], n=412, names=["x", "m", "y"]
    )
    assert tab.shown() == str(fit.query("x ~> y")).splitlines()[0]


def test_pictures_and_lines_are_taken_away(tab: Driver) -> None:
    tab.write("graph", GRAPH)
    tab.write("question", "smoking ~> cancer")
    tab.expect_verdict("identified")
    for item, holds in (("SVG", "<svg"), ("Python lines", "ht.identify"), ("dagitty", "dag")):
        assert holds in tab.take_away(item).read_text(encoding="utf-8")


def test_the_page_begins_with_what_the_command_names(opened: Opened) -> None:
    study = ht.dataset("front_door")
    with ht.open_page(study.graph, study.data, port=0, browser=False) as page:
        tab = opened(page.address)
        tab.expect_graph(to_text(study.graph))
        expect(tab.page.locator(".data-row")).to_contain_text("3 columns")
