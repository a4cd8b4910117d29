"""A progress bar for people: on standard error, and only where that is a terminal.

What reports its steps has ``progress_bar`` or ``late_bar``; whatever else takes longer than a second is ``busy``: a bar
that moves and says nothing, until something within it reports.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Lock, Timer

Advance = Callable[[int, int], None]
AFTER = 1.0  # seconds


@contextmanager
def progress_bar(title: str, *, shown: bool | None = None) -> Iterator[Advance]:
    """Gives a function ``advance(done, total)``; draws with rich if it is installed, else a plain line.

    Silent unless standard error is a terminal; ``shown`` overrules. Within another bar it is silent too: one line can
    show one thing.
    """
    around = _DRAWN.get()
    if around is True or not (around or _looked_at(shown)):
        yield silent
        return
    outside = _DRAWN.set(True)
    try:
        if isinstance(around, _Busy):
            yield around.advance
            return
        with _drawn(title) as advance:
            yield advance
    finally:
        _DRAWN.reset(outside)


@contextmanager
def _drawn(title: str) -> Iterator[Advance]:
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _plain(title)
        print(file=sys.stderr)
        return
    with Progress(console=Console(stderr=True, force_terminal=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance


@contextmanager
def late_bar(title: str, *, after: float = AFTER, shown: bool | None = None) -> Iterator[Advance]:
    """A progress bar that appears only if there is still something to report after so many seconds."""
    begun = time.monotonic()
    with ExitStack() as stack:
        opened: list[Advance] = []

        def advance(done: int, total: int) -> None:
            if not opened and (isinstance(_DRAWN.get(), _Busy) or time.monotonic() - begun > after):
                opened.append(stack.enter_context(progress_bar(title, shown=shown)))
            if opened:
                opened[0](done, total)

        yield advance


class _Busy:
    """A bar that opens by itself after some seconds, from a thread of its own, while the work goes on."""

    def __init__(self, title: str, after: float) -> None:
        self._title = title
        self._lock = Lock()
        self._bar = ExitStack()
        self._told: tuple[int, int] | None = None
        self._drawn: Advance | None = None
        self._done = False
        self._timer = Timer(after, self._open)
        self._timer.daemon = True
        self._timer.start()

    def _open(self) -> None:
        with self._lock:
            if not self._done:
                self._drawn = self._bar.enter_context(_drawn(self._title))
                if self._told is not None:
                    self._drawn(*self._told)

    def advance(self, done: int, total: int) -> None:
        """What something within the work reports."""
        with self._lock:
            self._told = (done, total)
            if self._drawn is not None:
                self._drawn(done, total)

    def close(self) -> None:
        """The work is done, or was stopped."""
        self._timer.cancel()
        with self._lock:
            self._done = True
            self._bar.close()


_DRAWN: ContextVar[bool | _Busy] = ContextVar("a bar is drawn", default=False)


def _looked_at(shown: bool | None) -> bool:
    return sys.stderr.isatty() if shown is None else shown


@contextmanager
def busy(title: str, *, after: float = AFTER, shown: bool | None = None) -> Iterator[None]:
    """A bar that moves, if the work within still goes on after so many seconds; what reports there fills it."""
    if _DRAWN.get() or not _looked_at(shown):
        yield
        return
    bar = _Busy(title, after)
    outside = _DRAWN.set(bar)
    try:
        yield
    finally:
        _DRAWN.reset(outside)
        bar.close()


def silent(done: int, total: int) -> None:
    """Nobody is looking."""


def _plain(title: str) -> Advance:
    def advance(done: int, total: int) -> None:
        share = done / total if total else 1.0
        filled = round(30 * share)
        print(f"\r{title} [{'#' * filled}{'.' * (30 - filled)}] {share:4.0%}", end="", file=sys.stderr, flush=True)

    return advance
