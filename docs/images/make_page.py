"""Takes the pictures of docs/tour.md and of the README in a browser, from the page as it is built.

python -m docs.images.make_page            all of them, into docs/images; one that looks as before stays as it is
python -m docs.images.make_page DIRECTORY  and screens to look at: thirty variables, long names, dark, narrow
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

import halftrek as ht
from tests.web.browser.conftest import FLAGS
from tests.web.browser.driver import Driver
from tests.web.browser_path import browser_path

HERE = Path(__file__).parent
FAINT, FEW = 40, 0.0004  # of 255, and of all dots: what the edges of letters differ by from one run to the next
LONG = "hours_of_sleep_in_the_week_before_the_first_interview"


def main() -> None:
    """One picture after the other."""
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright, ht.open_page(port=0, browser=False) as page:
        browser = playwright.chromium.launch(executable_path=browser_path(), headless=True, args=list(FLAGS))
        for name, take in TOUR.items():
            picture(browser, page.address, HERE / f"page-{name}.png", take)
        if len(sys.argv) > 1:
            for name, take in SCREENS.items():
                folder = Path(sys.argv[1])
                picture(browser, page.address, folder / f"{name}.png", take, width=1000 if "narrow" in name else 1280)
                picture(browser, page.address, folder / f"{name}-dark.png", take, dark=True)
        browser.close()


def picture(
    browser: Browser, address: str, path: Path, take: Callable[[Driver], None], *, width: int = 1280, dark: bool = False
) -> None:
    """One screen, in a browser that knows nothing yet."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light")
    context.set_default_timeout(60_000)
    with tempfile.TemporaryDirectory() as folder:
        driver = Driver(context.new_page(), Path(folder))
        driver.open(address)
        take(driver)
        driver.page.mouse.move(3, 3)
        expect(driver.page.locator(".toast, .waiting, .stale")).to_have_count(0)
        driver.page.wait_for_timeout(400)
        taken = driver.page.screenshot()
    context.close()
    if looks_like(path, taken):
        print(f"{path.name}: as before", flush=True)
        return
    path.write_bytes(taken)
    print(f"{path.name}: new", flush=True)


def looks_like(path: Path, taken: bytes) -> bool:
    """True if nearly every dot of a picture is as in the file, so that a build changes no file for nothing."""
    if not path.is_file():
        return False
    with Image.open(path) as before, Image.open(BytesIO(taken)) as now:
        if before.size != now.size:
            return False
        old, new = (np.asarray(one.convert("RGB"), dtype=int) for one in (before, now))
    return float((abs(old - new).max(axis=2) > FAINT).mean()) < FEW


def empty(tab: Driver) -> None:
    """As it opens."""
    tab.page.get_by_role("button", name="Try an example with data").wait_for()


def drawn(tab: Driver) -> None:
    """The front door, drawn and asked."""
    tab.front_door()
    tab.menu("smoking", "Cause")
    tab.menu("cancer", "Outcome")
    tab.expect_verdict("identified")


def refused(tab: Driver) -> None:
    """Not identified."""
    tab.write("graph", "diet -> weight -> pressure; diet -> pressure; weight <-> pressure")
    tab.write("question", "weight ~> pressure")
    tab.page.locator(".helps").wait_for()
    tab.page.locator(".twin").first.wait_for()


def answered(tab: Driver) -> None:
    """With the bundled data."""
    tab.page.get_by_role("button", name="Try an example with data").click()
    tab.page.locator(".seen-done").wait_for()
    tab.page.locator("[data-at]").wait_for()
    tab.page.locator(".answer-part").scroll_into_view_if_needed()
    tab.page.evaluate("document.querySelector('.answer-part').scrollIntoView()")


def dose(tab: Driver) -> None:
    """Dose and response."""
    answered(tab)
    tab.page.get_by_role("tab", name="Dose").click()
    tab.page.locator("path.done-line").wait_for()
    tab.page.evaluate("document.querySelector('.answer-part').scrollIntoView()")


def contradicted(tab: Driver) -> None:
    """A graph that the data contradict."""
    tab.write("graph", "smoking -> tar; cancer_risk")
    tab.page.get_by_role("button", name="Bundled data").click()
    tab.page.locator(".menu").get_by_text("genotype").click()
    tab.page.get_by_role("tab", name="Checks").click()
    tab.page.locator(".badge.bad").wait_for()


def thirty(tab: Driver) -> None:
    """Thirty variables."""
    chain = [f"v{k} -> v{k + 1}" for k in range(29) if k % 6 != 5]
    across = [f"v{k} -> v{k + 6}" for k in range(0, 24, 2)] + [f"v{k} -> v{k + 7}" for k in range(1, 20, 5)]
    tab.write("graph", "\n".join([*chain, *across, "v2 <-> v9", "v12 <-> v20", "v5 <-> v28"]))
    tab.write("question", "v0 ~> v26")
    tab.expect_verdict("identified")


def long_names(tab: Driver) -> None:
    """Names that need several lines."""
    tab.write("graph", f'{LONG} -> "score in the test of attention, morning" -> y; {LONG} <-> y')
    tab.write("question", f"{LONG} ~> y")
    tab.expect_verdict("identified")


def wrong(tab: Driver) -> None:
    """A text with an error."""
    drawn(tab)
    tab.write("graph", "smoking -> tar -> cancer\nsmoking <-> ;")
    tab.page.locator(".text-body .fault").wait_for()


TOUR: dict[str, Callable[[Driver], None]] = {
    "empty": empty, "drawn": drawn, "refused": refused, "answer": answered, "dose": dose, "checks": contradicted,
}  # fmt: skip
SCREENS: dict[str, Callable[[Driver], None]] = {
    "narrow": answered, "narrow-refused": refused, "thirty": thirty, "long": long_names, "wrong": wrong,
}  # fmt: skip


if __name__ == "__main__":
    main()
