"""A progress bar for people: on standard error, and only where that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

Advance = Callable[[int, int], None]
_DRAWN: ContextVar[bool] = ContextVar("a bar is drawn", default=False)


@contextmanager
def progress_bar(title: str, *, shown: bool | None = None) -> Iterator[Advance]:
    """Gives a function ``advance(done, total)``; draws with rich if it is installed, else a plain line.

    Silent unless standard error is a terminal; ``shown`` overrules. Within another bar it is silent too: one line can
    show one thing.
    """
    if _DRAWN.get() or not (sys.stderr.isatty() if shown is None else shown):
        yield silent
        return
    outside = _DRAWN.set(True)
    try:
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
def late_bar(title: str, *, after: float = 1.0, shown: bool | None = None) -> Iterator[Advance]:
    """A progress bar that appears only if there is still something to report after so many seconds."""
    begun = time.monotonic()
    with ExitStack() as stack:
        opened: list[Advance] = []

        def advance(done: int, total: int) -> None:
            if not opened and time.monotonic() - begun > after:
                opened.append(stack.enter_context(progress_bar(title, shown=shown)))
            if opened:
                opened[0](done, total)

        yield advance


def silent(done: int, total: int) -> None:
    """Nobody is looking."""


def _plain(title: str) -> Advance:
    def advance(done: int, total: int) -> None:
        share = done / total if total else 1.0
        filled = round(30 * share)
        print(f"\r{title} [{'#' * filled}{'.' * (30 - filled)}] {share:4.0%}", end="", file=sys.stderr, flush=True)

    return advance
