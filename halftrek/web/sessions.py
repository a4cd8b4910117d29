"""What the server remembers: sessions, one for each tab, with their data, their work, and nothing of each other."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from halftrek.web import limits
from halftrek.web.lanes import Gone, Job, Lane, Reply, Spares
from halftrek.web.refusal import Refused
from halftrek.web.work.bench import Source

_ENDINGS = {b"PAR1": ".parquet", b"ARRO": ".arrow", b"\xff\xff\xff\xff": ".arrow", b"\x1f\x8b": ".csv.gz"}
_QUICK = ("graph", "verdict", "implied", "match", "help")
_SLOW = ("help",)  # of these: what may take a second


@dataclass(frozen=True)
class Datum:
    """Data of a session."""

    id: str
    source: Source
    columns: tuple[str, ...]
    size: int
    folder: Path | None = None  # that goes with it

    def record(self) -> dict[str, object]:
        """As the page sees it."""
        covariance = self.source["kind"] == "covariance"
        return {
            "id": self.id,
            "name": self.source["name"],
            "kind": "covariance" if covariance else "rows",
            "columns": list(self.columns),
            "bytes": self.size,
            "n": self.source["n"] if covariance else None,
        }


@dataclass(frozen=True)
class Start:
    """What the page begins with."""

    text: str = ""
    notation: str = "arrows"
    source: Source | None = None
    columns: tuple[str, ...] = ()
    question: str | None = None
    graph: Mapping[str, object] | None = None  # read and laid out, so that the first picture waits for no process


@dataclass(eq=False)
class Session:
    """One tab."""

    name: str
    lane: Lane
    folder: Path
    data: dict[str, Datum] = field(default_factory=dict)
    jobs: set[Job] = field(default_factory=set)
    newest: dict[str, int] = field(default_factory=dict)
    arriving: int = 0  # files that are being uploaded
    used: float = field(default_factory=time.monotonic)
    made: int = 0  # data, ever

    def admit(self, kind: str, number: int | None) -> Job:
        """A job for a request, which ends those that are older; refused if a newer one was here before."""
        if number is not None:
            if number < self.newest.get(kind, 0):
                raise Refused(409, "superseded", "a newer request of the same kind was here before this one")
            self.newest[kind] = number
            for job in self.jobs:
                if job.kind == kind and job.number is not None and job.number < number:
                    job.end("superseded")
        job = Job(kind, number)
        self.jobs.add(job)
        return job

    def stop(self, kind: str | None = None) -> int:
        """Stops all work, or that of one kind."""
        chosen = [job for job in self.jobs if kind in (None, job.kind) and not job.ended.done()]
        for job in chosen:
            job.end("stopped")
        return len(chosen)

    def room(self) -> Path:
        """A new folder for a file that arrives."""
        place = self.folder / secrets.token_hex(8)
        place.mkdir(parents=True)
        return place

    def keep(self, source: Source, columns: Sequence[str], size: int, folder: Path | None = None) -> Datum:
        """Data, with a name of their own."""
        self.made += 1
        datum = Datum(f"d{self.made}", source, tuple(columns), size, folder)
        self.data[datum.id] = datum
        return datum

    def forget(self, name: str) -> None:
        """Data that are not needed any more."""
        datum = self.data.pop(name)
        if datum.folder is not None:
            shutil.rmtree(datum.folder, ignore_errors=True)

    def datum(self, name: str) -> Datum:
        """Data by name."""
        if name not in self.data:
            there = ", ".join(self.data) or "none"
            raise Refused(404, "not found", f"this session has no data {name[:40]!r}; there are: {there}")
        return self.data[name]

    def record(self, start: Start) -> dict[str, object]:
        """As the page sees it."""
        begin = {"text": start.text, "notation": start.notation, "data": "d0" if "d0" in self.data else None}
        now = time.monotonic()
        return {
            "session": self.name,
            "start": {**begin, "question": start.question, "graph": start.graph}
            if start.text or start.source
            else None,
            "data": [datum.record() for datum in self.data.values()],
            "running": [
                {"kind": job.kind, "number": job.number, "seconds": now - job.begun, "taken": job.taken.done()}
                for job in self.jobs
                if not job.ended.done()
            ],
        }


class Sessions:
    """All of them, with the processes that work for them."""

    def __init__(self, folder: Path, start: Start, *, debug: bool = False) -> None:
        self.start = start
        self.bytes = 0  # of all files that were uploaded
        self._folder = folder
        self._spares = Spares(debug=debug)
        self._quick = [Lane(self._spares) for _ in range(2)]
        self._all: dict[str, Session] = {}
        self._about: asyncio.Task[Reply | None] | None = None
        self._warming: asyncio.Task[None] | None = None

    def prepare(self) -> None:
        """Processes are started before somebody needs them, one after another: the first is asked first."""
        self._warming = asyncio.create_task(self._warm())

    async def _warm(self) -> None:
        with suppress(Gone):
            await self.about()
            await self._quick[1].run(Job("implied"), {"kind": "implied", "body": {"text": "x"}, "source": None})
        self._spares.prepare()

    async def about(self) -> Reply:
        """What there is to choose from; worked out once."""
        if self._about is None or (self._about.done() and self._about.exception() is not None):
            request: dict[str, object] = {"kind": "about", "body": {}, "source": None}
            self._about = asyncio.create_task(self._quick[0].run(Job("about"), request))
        reply = await asyncio.shield(self._about)
        assert reply is not None  # nobody stops it
        return reply

    def new(self) -> Session:
        """A session of its own; where there are too many, those that were used longest ago make room."""
        while len(self._all) >= limits.SESSIONS:
            self.drop(min(self._all.values(), key=lambda s: s.used))
        name = secrets.token_urlsafe(16)
        session = Session(name, Lane(self._spares), self._folder / secrets.token_hex(8))
        if self.start.source is not None:
            session.data["d0"] = Datum("d0", self.start.source, self.start.columns, _size(self.start.source))
        self._all[name] = session
        return session

    def find(self, name: str) -> Session:
        """The session of a name."""
        session = self._all.get(name)
        if session is None:
            raise Refused(404, "not found", "there is no such session; the page was started anew, or this tab was idle")
        session.used = time.monotonic()
        return session

    def drop(self, session: Session) -> None:
        """Forgets a session with all that it has."""
        session.stop()
        session.lane.rest()
        self.bytes -= sum(datum.size for datum in session.data.values() if datum.folder is not None)
        self._all.pop(session.name, None)
        shutil.rmtree(session.folder, ignore_errors=True)

    async def work(self, session: Session, job: Job, body: Mapping[str, object], datum: Datum | None) -> Reply | None:
        """The reply of the process that is responsible; None if the job was stopped."""
        source = None if datum is None else {**datum.source, "columns": datum.columns}
        request = {"kind": job.kind, "body": body, "source": source}
        if job.kind in _QUICK or datum is None:
            first, second = self._quick
            lane = second if job.kind in _SLOW or (first.waiting and second.idle) else first
            return await lane.run(job, request)
        self._make_room(session)
        return await session.lane.run(job, request)

    async def columns(self, source: Source) -> list[str]:
        """The columns of data that have arrived; what cannot be read is refused."""
        job = Job("columns")
        request = {"kind": "columns", "body": {}, "source": source}
        reply = await self._quick[1].run(job, request)
        assert reply is not None  # nobody stops it
        if reply.status != 200:
            raise Refused.of(reply)
        return [str(name) for name in reply.record["columns"]]  # type: ignore[attr-defined]

    def _make_room(self, session: Session) -> None:
        """A process for this session; that of another ends if too many have one."""
        others = [s for s in self._all.values() if s is not session and s.lane.idle]
        now = time.monotonic()
        for other in sorted(others, key=lambda s: s.lane.used)[: max(0, len(others) - limits.BUSY + 1)]:
            other.lane.rest()
        for other in others:
            if now - other.lane.used > limits.IDLE_SECONDS:
                other.lane.rest()

    async def close(self) -> None:
        """Ends all work and all processes."""
        for session in list(self._all.values()):
            session.stop()
        begun = [task for task in (self._warming, self._about) if task is not None]
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        await self._spares.close()


def _size(source: Source) -> int:
    try:
        return Path(source["path"]).stat().st_size
    except (KeyError, OSError, ValueError):
        return 0


def safe_name(name: str, first: bytes) -> str:
    """The name under which a file is kept: harmless letters, and the ending that its first bytes ask for."""
    stem = re.split(r"[/\\]", name)[-1]
    stem = re.sub(r"\.(csv|tsv|txt|parquet|pq|arrow|feather|ipc)(\.gz)?$", "", stem, flags=re.IGNORECASE)
    bare = re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_")[:60] or "data"
    ending = next((end for mark, end in _ENDINGS.items() if first.startswith(mark)), ".csv")
    return bare + ending
