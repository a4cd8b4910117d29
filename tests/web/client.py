"""A browser's part in the tests of the server: the cookie, the origin, a session."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx

from halftrek.web import Page


class Client:
    """One browser with one tab."""

    def __init__(self, page: Page) -> None:
        self.root = f"http://127.0.0.1:{page.port}"
        self.http = httpx.Client(base_url=self.root, headers={"origin": self.root}, timeout=120.0)
        entered = self.http.get(page.address)
        assert entered.status_code == 200
        self.session = self.new_session()

    def new_session(self) -> str:
        answer = self.http.post("/api/v1/sessions", json={})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["session"])

    def address(self, kind: str, session: str | None = None) -> str:
        return f"/api/v1/sessions/{session or self.session}/{kind}"

    def post(self, kind: str, body: Mapping[str, object] | None = None, /, **more: object) -> httpx.Response:
        return self.http.post(self.address(kind), json={**(body or {}), **more})

    def ask(self, kind: str, /, **body: object) -> dict[str, Any]:
        """The answer to a request that has one."""
        answer = self.post(kind, body)
        assert answer.status_code == 200, f"{kind}: {answer.status_code} {answer.text[:500]}"
        found: dict[str, Any] = answer.json()
        return found

    def error(self, kind: str, status: int, /, **body: object) -> dict[str, Any]:
        """The error of a request that has none."""
        answer = self.post(kind, body)
        assert answer.status_code == status, f"{kind}: {answer.status_code} {answer.text[:500]}"
        found: dict[str, Any] = answer.json()["error"]
        return found

    def upload(self, content: bytes, name: str = "rows.csv") -> dict[str, Any]:
        answer = self.http.post(
            self.address("data"), params={"name": name}, content=content,
            headers={"content-type": "application/octet-stream"},
        )  # fmt: skip
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()["data"]
        return found

    def bundled(self, name: str) -> str:
        answer = self.post("data/bundled", name=name)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["data"]["id"])

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()
