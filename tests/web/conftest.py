"""One server for all tests of a process: starting its workers takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import halftrek as ht
from halftrek.web import Page
from tests.web.client import Client


@pytest.fixture(scope="session")
def page() -> Iterator[Page]:
    with ht.open_page(browser=False, port=0) as opened:
        yield opened


@pytest.fixture
def client(page: Page) -> Iterator[Client]:
    with Client(page) as one:
        yield one
        one.http.delete(f"/api/v1/sessions/{one.session}")
