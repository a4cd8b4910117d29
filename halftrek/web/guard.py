"""Who may ask: this machine's browser with the cookie of this run, from the page itself, under the page's own name."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from halftrek.web.refusal import Refused

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_ENTERED = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>halftrek</title>'
_NO_TOKEN = "this page is for the browser that halftrek opened; open the address that it printed, with its token"


class Guard:
    """Stands before the application, and lets through what the page itself asks."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._token = token
        self._cookie = f"halftrek_{port}"  # cookies do not tell ports apart, and two pages may be open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers what is refused; everything else gets the headers that a browser obeys."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message.get("headers", ())}
                more = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in known]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        try:
            self._check_origin(scope["method"], headers)
            given = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20).get("token", [""])[0]
            if scope["path"] == "/" and given:
                await self._enter(given, guarded)
                return
            if not self._has_cookie(headers.get("cookie", "")):
                raise Refused(401, "no token", _NO_TOKEN)
        except (Refused, ValueError) as error:
            await _answer(guarded, _refusal(error), as_page=not scope["path"].startswith("/api/"))
            return
        await self._app(scope, receive, guarded)

    def _check_origin(self, method: str, headers: Mapping[str, str]) -> None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            raise Refused(403, "foreign", "the page is at 127.0.0.1 alone; it does not answer under another name")
        changes = method not in ("GET", "HEAD")
        if origin != f"http://{host}" and (changes or origin is not None):
            raise Refused(403, "foreign", "another web page asked; only the page itself may")
        if headers.get("sec-fetch-site", "same-origin") == "cross-site" and (changes or origin is not None):
            raise Refused(403, "foreign", "another web page asked; only the page itself may")

    def _has_cookie(self, text: str) -> bool:
        try:
            morsel = SimpleCookie(text).get(self._cookie)
        except CookieError:
            return False
        return morsel is not None and secrets.compare_digest(morsel.value.encode(), self._token.encode())

    async def _enter(self, given: str, send: Send) -> None:
        """The cookie for the token; the address loses the token by a way that begins at our own page.

        A redirect would begin where the link was clicked, and a strict cookie would not come along.
        """
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            raise Refused(401, "no token", _NO_TOKEN)
        cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        start = [(b"content-type", b"text/html; charset=utf-8"), (b"set-cookie", cookie.encode())]
        await _send(send, 200, [*start, (b"cache-control", b"no-store")], _ENTERED.encode())


def _refusal(error: Refused | ValueError) -> Refused:
    return error if isinstance(error, Refused) else Refused(400, "bad request", "the address cannot be read")


async def _answer(send: Send, refused: Refused, *, as_page: bool) -> None:
    if as_page:
        text = f'<!doctype html><meta charset="utf-8"><title>halftrek</title><p>{str(refused).capitalize()}.</p>'
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store")]
        await _send(send, refused.status, headers, text.encode())
        return
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    await _send(send, refused.status, headers, refused.content)


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
