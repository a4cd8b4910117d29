"""Work beside the server: in processes that do one thing after another, and are ended to stop one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import halftrek
from halftrek.web import limits
from halftrek.web.worker import TAKEN

_GRACE = 0.3  # seconds in which work that nobody waits for may still end by itself, which saves its process
_LONGER = 2.0  # ... if no other process is ready: starting one would take as long
_START = "from halftrek.web.worker import main; main()"
_LATER = 1.5  # seconds
_LOADED = 3.0  # seconds
_DEAD = 4  # processes that may have died while they waited
_REPLY = 1 << 20  # bytes of a reply's head


@dataclass(frozen=True)
class Reply:
    """What a process answers: as it goes to the browser."""

    status: int
    media: str
    content: bytes
    name: str | None = None
    trace: str = ""

    @property
    def record(self) -> dict[str, object]:
        """The content, where it is JSON."""
        return cast(dict[str, object], json.loads(self.content))


class Gone(Exception):
    """A process ended in the middle of its work."""


class Unheard(Gone):
    """A process ended before it took a request up: another may be asked the same."""


class Full(Exception):
    """Too much waits in a queue."""


@dataclass(eq=False)
class Job:
    """A piece of work; ``end`` says that nobody waits for it any more, and why."""

    kind: str
    number: int | None = None
    begun: float = field(default_factory=time.monotonic)
    ended: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    taken: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def end(self, why: str) -> None:
        """Stops it, wherever it is."""
        if not self.ended.done():
            self.ended.set_result(why)

    @property
    def why(self) -> str:
        """Why it was stopped; empty if it was not."""
        return self.ended.result() if self.ended.done() else ""


class Worker:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, *, debug: bool = False) -> Worker:
        """A process of this Python with this halftrek; nothing is imported from the current folder."""
        home = str(Path(halftrek.__file__).parents[1])
        paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", _START,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if debug else asyncio.subprocess.DEVNULL,
            limit=_REPLY,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg"},
        )  # fmt: skip
        return cls(process)

    async def ask(self, request: bytes, job: Job) -> Reply:
        """What the process makes of a request; the job is told when it is taken up."""
        out, back = self._process.stdin, self._process.stdout
        assert out is not None
        assert back is not None
        try:
            out.write(request + b"\n")
            await out.drain()
            await back.readuntil(TAKEN)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise Unheard from error
        if not job.taken.done():
            job.taken.set_result(None)
        try:
            head = json.loads(await back.readuntil(b"\n"))
            content = await back.readexactly(head["length"])
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise Gone from error
        return Reply(head["status"], head["type"], content, head["name"], head.get("trace", ""))

    def kill(self) -> None:
        """Ends the process at once."""
        if self._process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                self._process.kill()
            else:  # asyncio's own way looks first whether it has ended, and takes its end from the one who waits for it
                os.kill(self._process.pid, signal.SIGKILL)

    async def ended(self) -> None:
        """Kills the process and waits until the system has forgotten it, and its pipes are closed."""
        self.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        await asyncio.sleep(0)


class Spares:
    """A process that is ready before it is needed: starting one takes as long as loading numpy and scipy."""

    def __init__(self, *, debug: bool = False) -> None:
        self._debug = debug
        self._next: asyncio.Task[Worker] | None = None
        self._since = 0.0  # when it was started
        self._alive: set[Worker] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    def prepare(self) -> None:
        """Starts one more, unless one is waiting."""
        if self._next is None and not self._closed:
            self._since = time.monotonic()
            self._next = asyncio.create_task(self._started())

    @property
    def ready(self) -> bool:
        """True if one is waiting that has had time to load."""
        return self._next is not None and time.monotonic() - self._since > _LOADED

    async def take(self) -> Worker:
        """One to work with; the next is started when this one has had time to load."""
        self.prepare()
        if self._next is None:  # the server ends
            raise Gone
        mine, self._next = self._next, None
        asyncio.get_running_loop().call_later(_LATER, self.prepare)
        return await asyncio.shield(mine)

    def drop(self, worker: Worker) -> None:
        """Ends one."""
        worker.kill()
        self._ending.add(ending := asyncio.create_task(worker.ended()))
        ending.add_done_callback(self._ending.discard)
        self._alive.discard(worker)

    async def _started(self) -> Worker:
        worker = await Worker.start(debug=self._debug)
        self._alive.add(worker)
        return worker

    async def close(self) -> None:
        """Ends them all."""
        self._closed = True
        if self._next is not None:
            with suppress(Exception):
                await self._next
        await asyncio.gather(*(worker.ended() for worker in self._alive), *self._ending, return_exceptions=True)


async def first_of(
    *awaited: asyncio.Future[Reply] | asyncio.Future[Reply | None] | asyncio.Future[str] | asyncio.Future[None],
    seconds: float | None = None,
) -> None:
    """Waits until one of them is done, and no longer than that."""
    futures: list[asyncio.Future[Any]] = list(awaited)
    await asyncio.wait(futures, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


class Lane:
    """A queue with a process of its own, which is started when something comes."""

    def __init__(self, spares: Spares) -> None:
        self._spares = spares
        self._turn = asyncio.Lock()
        self._worker: Worker | None = None
        self.waiting = 0
        self.used = time.monotonic()

    async def run(self, job: Job, request: Mapping[str, object]) -> Reply | None:
        """The reply, when its turn has come; None if the job was stopped before."""
        if self.waiting >= limits.WAITING:
            raise Full
        self.waiting += 1
        try:
            async with self._turn:
                return None if job.ended.done() else await self._worked(job, json.dumps(request).encode())
        finally:
            self.waiting -= 1
            self.used = time.monotonic()

    async def _worked(self, job: Job, request: bytes) -> Reply | None:
        for _ in range(_DEAD):
            if self._worker is None:
                self._worker = await self._spares.take()
            try:
                return await self._asked(self._worker, job, request)
            except Unheard:  # it died of something while nobody asked
                continue
        raise Gone

    async def _asked(self, worker: Worker, job: Job, request: bytes) -> Reply | None:
        reply = asyncio.ensure_future(worker.ask(request, job))
        try:
            await first_of(reply, job.ended)
            if not reply.done():
                await asyncio.wait({reply}, timeout=_GRACE if self._spares.ready else _LONGER)
            return reply.result() if reply.done() else None
        finally:
            if not reply.done() or reply.cancelled() or reply.exception() is not None:
                reply.cancel()
                self.rest()

    def rest(self) -> None:
        """Ends the process; the next job starts another."""
        if self._worker is not None:
            self._spares.drop(self._worker)
            self._worker = None

    @property
    def idle(self) -> bool:
        """True if it has a process and nothing to do."""
        return self._worker is not None and self.waiting == 0
