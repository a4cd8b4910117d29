"""The interface as it describes itself: schemathesis makes requests from the description and checks the answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from halftrek.web import Page
from halftrek.web.interface.openapi import description
from halftrek.web.interface.shapes import TAKES
from halftrek.web.worker import _HOMES
from tests.web.client import Client

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
DOCS = (Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8")
schema = schemathesis.openapi.from_dict(description())


@pytest.fixture(scope="module")
def client(page: Page) -> Iterator[Client]:
    with Client(page) as one:
        one.bundled("front_door")
        yield one


@schema.parametrize()
@settings(
    max_examples=10, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_every_address_keeps_its_description(case: Any, client: Client) -> None:
    if "session" in case.path_parameters and "data" not in case.path_parameters and case.method != "DELETE":
        case.path_parameters["session"] = client.session
    if isinstance(case.body, dict) and "data" in case.body:
        case.body["data"] = "d1"
    answer = case.call(base_url=client.root, headers={"origin": client.root}, cookies=dict(client.http.cookies))
    case.validate_response(answer, checks=CHECKS)
    assert answer.status_code < 500


def test_the_description_is_served(client: Client) -> None:
    served = client.http.get("/api/v1/openapi.json").json()
    assert served["openapi"].startswith("3.1")
    assert set(served["paths"]) == set(description()["paths"])  # type: ignore[call-overload]


def test_every_request_is_described_and_done() -> None:
    assert set(_HOMES) - {"columns", "about"} == set(TAKES)
    for kind in TAKES:
        assert re.search(rf"POST /sessions/{{session}}/{kind}`", DOCS), kind
