"""Bodies of requests, read up to their limit: JSON of the shape that an address takes, files as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from halftrek.web import limits
from halftrek.web.interface.checking import Schema, faults
from halftrek.web.refusal import Refused
from halftrek.web.sessions import Session, Sessions, safe_name

if TYPE_CHECKING:
    from starlette.requests import Request

Body = dict[str, object]


async def json_body(request: Request, schema: Schema) -> Body:
    """The body as JSON, checked."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "bad request", "send JSON, with the content type application/json")
    raw = bytearray()
    _refuse_announced(request, limits.JSON_BYTES)
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limits.JSON_BYTES:
            raise Refused(413, "too large", f"the request has more than {limits.JSON_BYTES:,} bytes")
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_no_number)
        if b"\\ud" in raw.lower():  # halves of letters, which no file can hold
            json.dumps(body, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise Refused(400, "bad request", "the body is nested too deeply") from None
    except UnicodeEncodeError:
        raise Refused(400, "bad request", "the body has half a letter (a lone surrogate); send whole ones") from None
    except ValueError as error:
        raise Refused(400, "bad request", f"the body is not JSON: {error}") from None
    number = body.get("number") if isinstance(body, dict) else None
    fault = next(faults(body, schema, "the body"), None)
    if fault is not None:
        raise Refused(400, "bad request", fault, number)
    assert isinstance(body, dict)  # its schema says so
    return body


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _refuse_announced(request: Request, most: int) -> None:
    announced = request.headers.get("content-length", "0")
    if not announced.isascii() or not announced.isdigit():
        raise Refused(400, "bad request", "the length of the body is no number")
    if len(announced) > 18 or int(announced) > most:
        raise Refused(413, "too large", f"this is larger than {most:,} bytes, which is the most that the page takes")


async def upload(request: Request, session: Session, sessions: Sessions, name: str) -> tuple[Path, int]:
    """The body in a file of the session, and its size; what is too large leaves nothing behind."""
    most = min(limits.UPLOAD_BYTES, limits.ALL_BYTES - sessions.bytes)
    _refuse_announced(request, most)
    size, path = 0, None
    folder = session.room()
    session.arriving += 1
    try:
        unfinished = folder / "arriving"
        first = b""
        with unfinished.open("wb") as out:
            async for chunk in request.stream():
                first = first if len(first) >= 4 else first + chunk[:4]
                size += len(chunk)
                if size > most:
                    raise Refused(413, "too large", f"the file has more than {most:,} bytes; use fewer columns or rows")
                out.write(chunk)
        if not size:
            raise Refused(422, "data", "the file is empty; it needs a line with column names and rows of numbers")
        path = unfinished.rename(folder / safe_name(name, first))
        return path, size
    finally:
        session.arriving -= 1
        if path is None:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
