"""The page as a value: where it is, and how it ends."""

from __future__ import annotations

import errno
import pickle
import secrets
import socket
import sys
import threading
import webbrowser
from contextlib import ExitStack
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, cast

from halftrek.bottom.files import temporary_folder
from halftrek.errors import HalftrekError, InputError, MissingExtraError
from halftrek.graphs import Graph

if TYPE_CHECKING:
    import uvicorn

    from halftrek.web.sessions import Start
    from halftrek.web.work.bench import Source

HOST = "127.0.0.1"
PORT = 8717  # where it is if nobody says otherwise; browsers keep what a page stores by its address
_PATIENCE = 30.0  # seconds for the server to start and to end


class Page:
    """A page that is open; ``with`` closes it at the end of a block.

    ``address`` is what to open in a browser; it holds a token, and whoever has it may use the page.
    """

    def __init__(
        self, server: uvicorn.Server, thread: threading.Thread, port: int, token: str, files: ExitStack
    ) -> None:
        self._server, self._thread, self._files = server, thread, files
        self.port = port
        self.address = f"http://{HOST}:{port}/?token={token}"

    @property
    def open(self) -> bool:
        """True until it is closed."""
        return self._thread.is_alive()

    def show(self) -> bool:
        """Opens it in the browser; False if there is none but one that would take the terminal."""
        try:
            browser = webbrowser.get()
        except webbrowser.Error:
            return False
        if isinstance(browser, webbrowser.GenericBrowser) and not isinstance(browser, webbrowser.BackgroundBrowser):
            return False
        return browser.open(self.address)

    def wait(self) -> None:
        """Returns when the page has been closed, by another thread or by an interrupt."""
        while self._thread.is_alive():
            self._thread.join(0.2)

    def close(self) -> None:
        """Ends the page, its processes and its files."""
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._files.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Page({self.address!r})" if self.open else "Page(closed)"

    def _repr_html_(self) -> str:
        address = escape(self.address, quote=True)
        return f'<a href="{address}" target="_blank" rel="noreferrer">the page</a>' if self.open else "a closed page"


def open_page(graph: object = None, data: object = None, *, port: int | None = None, browser: bool = True) -> Page:
    """Opens the page in the browser, with a graph and data if they are given, and returns at once.

    ``graph`` and ``data`` are what ``ht.fit`` takes. ``port`` left out: 8717, or a free one where that is taken.
    ``browser=False`` opens no browser; ``page.address`` is what to open. The page ends with the program, or by
    ``page.close()``; ``page.wait()`` waits for that.
    """
    from halftrek.results.given.reading import graph as read

    chosen = None if graph is None else read(graph)
    with ExitStack() as files:
        folder = files.enter_context(temporary_folder())
        start = start_with(chosen, source_of(data, chosen, folder))
        page = serve(start, folder, files.pop_all(), port=port)
    if browser:
        page.show()
    return page


def start_with(graph: Graph | None, source: Source | None = None, question: str | None = None) -> Start:
    """What the page begins with; data that cannot be read are refused here."""
    from halftrek.syntax import format_graph
    from halftrek.web.sessions import Start
    from halftrek.web.work.bench import Bench

    columns = () if source is None else tuple(Bench().columns(source))
    if graph is None:
        return Start(source=source, columns=columns, question=question)
    notation = "dagitty" if graph.sketch is not None else "arrows"
    text = format_graph(graph, notation)  # type: ignore[arg-type]
    return Start(text, notation, source, columns, question, _drawn(text, notation))


def _drawn(text: str, notation: str) -> dict[str, object] | None:
    """What the page would ask first: the graph in all notations, with places; None leaves it to ask."""
    from halftrek.reporting.records import plain
    from halftrek.web.work.bench import Bench, Request
    from halftrek.web.work.graphs import graph

    try:
        found = graph(Request({"text": text, "notation": notation}), Bench())
    except HalftrekError:  # too large for the page, for instance: which the page then says
        return None
    return cast(dict[str, object], plain({"number": None, **found}))


def source_of(data: object, graph: Graph | None, folder: Path) -> Source | None:
    """Where the page's processes find data: a file stays where it is, what is in memory is written for them."""
    if data is None:
        return None
    if isinstance(data, str | Path):
        path = Path(data).expanduser()
        return {
            "id": "start",
            "kind": "file",
            "name": path.name,
            "path": str(path if path.is_absolute() else path.resolve()),
        }
    try:
        kept = pickle.dumps(data)
    except Exception:  # a query of some engine cannot travel; its moments can
        from halftrek.data import read_moments

        kept = pickle.dumps(read_moments(data, None if graph is None else graph.observed))
    place = folder / "start.pickle"
    place.write_bytes(kept)
    return {"id": "start", "kind": "object", "name": f"{type(data).__name__} in memory", "path": str(place)}


def serve(start: Start, folder: Path, files: ExitStack, *, port: int | None = None, debug: bool = False) -> Page:
    """A server that answers in a thread of its own; ``files`` are closed with it."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        files.close()
        raise MissingExtraError("the page", "web") from None
    from halftrek.web.app import make_app
    from halftrek.web.sessions import Sessions

    try:
        listening = _listen(port)
    except BaseException:
        files.close()
        raise
    token, at = secrets.token_urlsafe(24), listening.getsockname()[1]
    app = make_app(Sessions(folder, start, debug=debug), port=at, token=token, complain=_complain if debug else _silent)
    config = uvicorn.Config(
        app, log_config=None, log_level="critical", access_log=False, lifespan="on", ws="none", server_header=False,
        timeout_graceful_shutdown=2, backlog=512,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True, name="halftrek page")
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.01)
    files.callback(listening.close)
    return Page(server, thread, at, token, files)


def _listen(port: int | None) -> socket.socket:
    """A socket of this machine alone: at the port that was named, else at ours, else at any."""
    for wanted in (PORT, 0) if port is None else (port,):
        # named as TCP, or asyncio does not turn Nagle's algorithm off, and every answer waits 40 ms
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if sys.platform != "win32":  # there it would let two programs have one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((HOST, wanted))
            made.listen(512)
            return made
        except OSError as error:
            made.close()
            if port is None and wanted and error.errno in (errno.EADDRINUSE, errno.EACCES):
                continue
            raise InputError(_why(wanted, error)) from None
        except OverflowError:
            made.close()
            raise InputError(f"there is no port {wanted}; choose one from 1024 to 65535") from None
    raise InputError("no port is free")


def _why(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken by another program; choose another with --port, or leave it out for a free one"
    return f"port {port} cannot be used: {error.strerror or error}; choose another with --port"


def _complain(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _silent(_text: str) -> None:
    """Errors are told in the page; where they happened is shown with --debug."""
