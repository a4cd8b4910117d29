"""One browser for all tests of a process, a page of the server for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

import halftrek as ht
from halftrek.web.page import Page as Served
from tests.web.browser.driver import Driver
from tests.web.browser_path import browser_path

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 45_000  # milliseconds; a machine that runs all tests at once is slow
Opened = Callable[..., Driver]
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), headless=True, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """An empty page, at a port of its own."""
    with ht.open_page(port=0, browser=False) as page:
        yield page


@pytest.fixture
def opened(chromium: Browser, served: Served, tmp_path: Path) -> Iterator[Opened]:
    """Opens tabs, each in a browser that knows nothing yet; errors of the page's script fail the test."""
    drivers: list[Driver] = []

    def open_tab(address: str | None = None, *, width: int = 1360, height: int = 900, dark: bool = False) -> Driver:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        context.set_default_timeout(PATIENCE)
        driver = Driver(context.new_page(), tmp_path)
        driver.open(address or served.address)
        drivers.append(driver)
        return driver

    yield open_tab
    faults = [fault for driver in drivers for fault in driver.faults]
    for driver in drivers:
        driver.page.context.close()
    assert faults == []


@pytest.fixture
def tab(opened: Opened) -> Driver:
    """An empty page in a browser."""
    return opened()
