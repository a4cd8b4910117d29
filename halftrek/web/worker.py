"""A process that works for the page: requests come by standard input, one a line, and replies leave by standard output.

It never prints anything else there, ends when its input does, and does not hear the terminal's Ctrl-C: the server ends
it.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from halftrek.web.work.bench import Bench, Request, Source
    from halftrek.web.work.exports import File

TAKEN = b"*"  # what a process says when it takes a request up
_HOMES = {
    "graph": "graphs.graph",
    "implied": "graphs.implied",
    "match": "graphs.match",
    "verdict": "verdicts.verdict",
    "help": "verdicts.help_",
    "fit": "answers.fit",
    "answer": "answers.answer",
    "effects": "answers.effects",
    "decomposition": "answers.decomposition",
    "checks": "answers.checks",
    "sensitivity": "answers.sensitivity",
    "bounds": "answers.bounds",
    "distribution": "curves.distribution",
    "dose": "curves.dose",
    "export": "exports.export",
    "columns": "about.columns",
    "about": "about.about",
}


def main() -> None:
    """Answers requests until there are no more."""
    replies = _own_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, lines), daemon=True).start()
    from halftrek.results import workflow  # noqa: F401  (loaded before the first request asks for it)
    from halftrek.web.work.bench import Bench

    bench = Bench()
    _warm(bench)
    while True:
        request = lines.get()
        replies.write(TAKEN)
        replies.flush()
        head, content = replied(json.loads(request), bench)
        replies.write(json.dumps({**head, "length": len(content)}).encode() + b"\n" + content)
        replies.flush()


def _warm(bench: Bench) -> None:
    """Loads what the first verdict would have to wait for: a refused one needs everything."""
    asked: dict[str, object] = {"text": "x -> y; x <-> y", "question": "x ~> y"}
    for kind in ("graph", "verdict"):
        replied({"kind": kind, "body": asked, "source": None}, bench)


def _own_output() -> BinaryIO:
    """Standard output for replies alone; whatever else is printed goes where errors go."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "wb")


def _listen(source: BinaryIO, lines: queue.SimpleQueue[bytes]) -> None:
    """Requests are waited for beside the work, so that a server that has gone is noticed in the middle of it."""
    for line in source:
        lines.put(line)
    os._exit(0)


def replied(request: Mapping[str, object], bench: Bench) -> tuple[dict[str, object], bytes]:
    """The head and the content of the reply; errors are replies too."""
    from halftrek.errors import HalftrekWarning
    from halftrek.web.work.bench import Request

    number = cast(Mapping[str, object], request["body"]).get("number")
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", HalftrekWarning)
            body = cast(Mapping[str, object], request["body"])
            asked = Request(body, cast("Source | None", request.get("source")))
            made = _handler(str(request["kind"]))(asked, bench)
        if not isinstance(made, dict):
            return {"status": 200, "type": made.media, "name": made.name}, made.content
        said = list(dict.fromkeys(str(one.message) for one in heard))
        return _reply(200, {"number": number, **made, **({"warnings": said} if said else {})})
    except Exception as error:
        from halftrek.web.work.refusals import refused

        status, record = refused(error, cast("Source | None", request.get("source")))
        head, content = _reply(status, {"number": number, "error": record})
        return ({**head, "trace": traceback.format_exc()} if status >= 500 else head), content


def _handler(kind: str) -> Callable[[Request, Bench], dict[str, object] | File]:
    module, name = _HOMES[kind].split(".")
    return cast(
        "Callable[[Request, Bench], dict[str, object] | File]",
        getattr(import_module(f"halftrek.web.work.{module}"), name),
    )


def _reply(status: int, record: Mapping[str, object]) -> tuple[dict[str, object], bytes]:
    from halftrek.reporting.records import plain

    text = json.dumps(plain(record), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return {"status": status, "type": "application/json", "name": None}, text.encode("utf-8", "backslashreplace")
