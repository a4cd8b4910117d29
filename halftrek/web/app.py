"""The page's addresses: from a request to the process that answers it, and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from halftrek.web import limits
from halftrek.web.bodies import json_body, upload
from halftrek.web.built import Built, built_page
from halftrek.web.guard import Guard
from halftrek.web.interface import shapes
from halftrek.web.interface.openapi import description
from halftrek.web.lanes import Full, Gone, Job, Reply, first_of
from halftrek.web.refusal import Refused
from halftrek.web.sessions import Datum, Session, Sessions

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from halftrek.web.work.bench import Source

_PLAIN = {"cache-control": "no-store"}
_ENDED = "the process that worked on this has ended, perhaps for lack of memory; ask again, or use fewer rows"
_STOPPED = {
    "superseded": "a newer request has taken the place of this one",
    "stopped": "this was stopped",
    "took too long": "this takes longer than a page should wait; ask it in Python or on the command line",
}


class Server:
    """The handlers of all addresses."""

    def __init__(self, sessions: Sessions, page: Built, complain: Callable[[str], None]) -> None:
        self._sessions = sessions
        self._page = page
        self._complain = complain

    # -- what is there ---------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """The built page and its files."""
        return self._page.response(request.url.path)

    async def about(self, _request: Request) -> Response:
        """What there is to choose from."""
        try:
            return _response(await self._sessions.about())
        except Gone:
            raise Refused(503, "ended", _ENDED) from None

    async def openapi(self, _request: Request) -> Response:
        """All of this, for machines."""
        return JSONResponse(description(), headers=_PLAIN)

    # -- sessions ----------------------------------------------------------------------------------

    async def new_session(self, request: Request) -> Response:
        """A session for a tab."""
        await json_body(request, shapes.EMPTY)
        return JSONResponse(self._sessions.new().record(self._sessions.start), 201, headers=_PLAIN)

    async def session(self, request: Request) -> Response:
        """A session as it is now, or its end."""
        session = self._session(request)
        if request.method == "DELETE":
            self._sessions.drop(session)
            return JSONResponse({"deleted": session.name}, headers=_PLAIN)
        return JSONResponse(session.record(self._sessions.start), headers=_PLAIN)

    async def stop(self, request: Request) -> Response:
        """Stops work."""
        session = self._session(request)
        body = await json_body(request, shapes.STOP)
        return JSONResponse({"stopped": session.stop(cast("str | None", body.get("kind")))}, headers=_PLAIN)

    def _session(self, request: Request) -> Session:
        return self._sessions.find(request.path_params["session"])

    # -- data --------------------------------------------------------------------------------------

    async def upload(self, request: Request) -> Response:
        """A file, as the body of the request."""
        session = self._session(request)
        _refuse_many(session)
        name = request.query_params.get("name", "data.csv")[:200]
        path, size = await upload(request, session, self._sessions, name)
        shown = name.replace("\\", "/").rsplit("/", 1)[-1] or "data.csv"
        source: Source = {"id": f"{session.name}/{path.parent.name}", "kind": "file", "name": shown, "path": str(path)}
        self._sessions.bytes += size
        try:
            return await self._kept(session, source, size, path.parent)
        except BaseException:
            self._sessions.bytes -= size
            raise

    async def bundled(self, request: Request) -> Response:
        """A bundled data set."""
        session = self._session(request)
        _refuse_many(session)
        name = str((await json_body(request, shapes.BUNDLED))["name"])
        return await self._kept(session, {"id": f"bundled/{name}", "kind": "bundled", "name": name}, 0, None)

    async def covariance(self, request: Request) -> Response:
        """A covariance matrix as text."""
        session = self._session(request)
        _refuse_many(session)
        body = await json_body(request, shapes.COVARIANCE)
        source = cast("Source", {"name": "covariance", **body, "kind": "covariance"})
        source["id"] = f"{session.name}/covariance {session.made}"
        return await self._kept(session, source, len(source["text"]), None)

    async def _kept(self, session: Session, source: Source, size: int, folder: Path | None) -> Response:
        try:
            columns = await self._sessions.columns(source)
        except Gone:
            raise Refused(503, "ended", _ENDED) from None
        datum = session.keep(source, columns, size, folder)
        return JSONResponse({"data": datum.record()}, 201, headers=_PLAIN)

    async def forget(self, request: Request) -> Response:
        """Data that are not needed any more."""
        session = self._session(request)
        datum = session.datum(request.path_params["data"])
        if datum.folder is not None:
            self._sessions.bytes -= datum.size
        session.forget(datum.id)
        return JSONResponse({"deleted": datum.id}, headers=_PLAIN)

    # -- work --------------------------------------------------------------------------------------

    async def work(self, request: Request) -> Response:
        """Everything that a process answers."""
        session, kind = self._session(request), request.path_params["kind"]
        if kind not in shapes.TAKES:
            raise Refused(404, "not found", f"there is no address /api/v1/sessions/.../{kind[:40]}")
        body = await json_body(request, shapes.TAKES[kind])
        datum = session.datum(str(body["data"])) if body.get("data") is not None else None
        number = cast("int | None", body.get("number"))
        job = session.admit(kind, number)
        try:
            return _response(await self._replied(request, session, job, body, datum))
        finally:
            session.jobs.discard(job)

    async def _replied(
        self, request: Request, session: Session, job: Job, body: dict[str, object], datum: Datum | None
    ) -> Reply:
        """The reply, unless the job is stopped, its browser has gone, or a quick one is not quick."""
        work = asyncio.ensure_future(self._sessions.work(session, job, body, datum))
        gone = asyncio.ensure_future(_disconnected(request))
        limit = limits.QUICK_SECONDS if datum is None or job.kind == "match" else None
        try:
            await first_of(work, gone, job.ended, job.taken)
            if not (work.done() or gone.done() or job.ended.done()):  # waiting for its turn does not count
                await first_of(work, gone, job.ended, seconds=limit)
            if not work.done():
                job.end("stopped" if gone.done() else "took too long")
                work.add_done_callback(_heard)
            if job.why or not work.done():
                status = 503 if job.why == "took too long" else 409
                raise Refused(status, job.why, _STOPPED[job.why], job.number)
            reply = work.result()
            assert reply is not None  # only what is stopped has none
        except Gone:
            raise Refused(503, "ended", _ENDED, job.number) from None
        except Full:
            raise Refused(429, "too many", "too many requests are waiting; ask again in a moment", job.number) from None
        finally:
            gone.cancel()
        if reply.trace:
            self._complain(reply.trace)
        return reply


def _heard(work: asyncio.Future[Reply | None]) -> None:
    """What comes of work that nobody waits for is looked at, so that nobody complains that it was not."""
    if not work.cancelled():
        work.exception()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _refuse_many(session: Session) -> None:
    own = sum(name != "d0" for name in session.data)  # what the page began with does not count
    if own + session.arriving >= limits.UPLOADS:
        raise Refused(429, "too many", f"this session has {limits.UPLOADS} data sets already; delete one first")


def _response(reply: Reply) -> Response:
    headers = dict(_PLAIN)
    if reply.name is not None:
        headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(reply.name)}"
    return Response(reply.content, reply.status, media_type=None, headers={**headers, "content-type": reply.media})


def make_app(sessions: Sessions, *, port: int, token: str, complain: Callable[[str], None]) -> ASGIApp:
    """The application behind its guard."""
    server = Server(sessions, built_page(), complain)
    api, one = "/api/v1", "/api/v1/sessions/{session}"

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        sessions.prepare()
        yield
        await sessions.close()

    routes = [
        Route(f"{api}/about", server.about),
        Route(f"{api}/openapi.json", server.openapi),
        Route(f"{api}/sessions", server.new_session, methods=["POST"]),
        Route(one, server.session, methods=["GET", "DELETE"]),
        Route(f"{one}/stop", server.stop, methods=["POST"]),
        Route(f"{one}/data", server.upload, methods=["POST"]),
        Route(f"{one}/data/bundled", server.bundled, methods=["POST"]),
        Route(f"{one}/data/covariance", server.covariance, methods=["POST"]),
        Route(f"{one}/data/{{data}}", server.forget, methods=["DELETE"]),
        Route(f"{one}/{{kind}}", server.work, methods=["POST"]),
        Route("/{path:path}", server.page),
    ]
    handlers = {Refused: _refused, HTTPException: _no_address, ClientDisconnect: _nobody, Exception: _defect(complain)}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)  # type: ignore[arg-type]
    return Guard(app, port, token)


async def _refused(_request: Request, error: Refused) -> Response:
    return Response(error.content, error.status, media_type="application/json", headers=_PLAIN)


async def _no_address(_request: Request, error: HTTPException) -> Response:
    words = {404: "there is no such address", 405: "this address does not take this method"}
    code = "not found" if error.status_code == 404 else "bad request"
    refused = Refused(error.status_code, code, words.get(error.status_code, "this cannot be answered"))
    return Response(refused.content, error.status_code, media_type="application/json", headers=_PLAIN)


async def _nobody(_request: Request, _error: ClientDisconnect) -> Response:
    return Response(status_code=400)


def _defect(complain: Callable[[str], None]) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(_request: Request, error: Exception) -> Response:
        import traceback

        complain("".join(traceback.format_exception(error)))
        refused = Refused(500, "internal", "this is a defect of halftrek; the other parts of the page go on working")
        return Response(refused.content, 500, media_type="application/json", headers=_PLAIN)

    return answer
