"""What engines raise, in our words: an interruption stays one, all else names what was read and keeps its cause."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread, current_thread, main_thread
from typing import TypeVar

from halftrek.bottom.arrays import Array
from halftrek.data.sources.source import Source
from halftrek.data.summing.accumulate import Block
from halftrek.data.summing.sums import Request, Sums
from halftrek.errors import DataError, HalftrekError

SHOWN = 300  # characters of an engine's words that are shown
KEPT = 2_000  # ... and that are kept behind the error: DuckDB repeats a line of data, which may be long

STOPS = 10.0  # seconds that an engine may take to stop

Explain = Callable[[Exception], DataError]
R = TypeVar("R")


def is_interruption(error: BaseException) -> bool:
    """Whether an engine stopped because of Ctrl-C; each has an error of its own for it."""
    if type(error).__name__ in ("InterruptException", "ArrowCancelled"):
        return True
    words = str(error)
    return words.startswith("INTERRUPT Error") or (isinstance(error, RuntimeError) and words == "Query interrupted")


def interruptible(
    call: Callable[[], R],
    stop: Callable[[], object] | None,
    tick: Callable[[], object] | None = None,
    every: float = 1.0,
) -> R:
    """What an engine's call gives; Ctrl-C ends it at once where the engine can be told to ``stop``.

    Python hears of Ctrl-C in the main thread alone, which therefore waits while another one works, and calls ``tick``
    now and then.
    """
    if stop is None or current_thread() is not main_thread():
        return call()
    found: list[R] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as error:  # raised again in the thread that asked
            failed.append(error)
        done.set()

    done = Event()
    Thread(target=work, daemon=True).start()
    try:
        while not done.wait(
            every
        ):  # never for long: polars has waits begin again after Ctrl-C, which Python then misses
            if tick is not None:
                tick()
    except KeyboardInterrupt:
        stop()
        done.wait(STOPS)
        raise
    if failed:
        raise failed[0]
    return found[0]


def first_line(error: BaseException) -> str:
    """What an engine says, without its advice about options that nobody has set."""
    lines = [part.strip() for part in str(error).splitlines() if part.strip()]
    if not lines:
        return type(error).__name__
    return (lines[0] if len(lines[0]) <= SHOWN else f"{lines[0][:SHOWN]} …").rstrip(".")


def shortened(error: Exception) -> Exception:
    """The error as the cause of ours; one with a text of megabytes would drown it."""
    if len(str(error)) <= KEPT:
        return error
    try:
        return type(error)(f"{str(error)[:KEPT]} …")
    except Exception:  # an error that is made in another way
        return Exception(f"{str(error)[:KEPT]} …")


@contextmanager
def in_our_words(explain: Explain, *, memory: bool = False) -> Iterator[None]:
    """What the block raises becomes a DataError; with ``memory`` also a request for more memory than there is."""
    try:
        yield
    except HalftrekError:
        raise
    except Exception as error:
        if is_interruption(error):
            raise KeyboardInterrupt from error
        if isinstance(error, MemoryError) and not memory:
            raise
        raise explain(error) from shortened(error)


def guarded(source: Source, explain: Explain, *, memory: bool = False) -> Source:
    """The source, whose blocks, labels, sums and values raise errors of ours alone."""

    def blocks(names: tuple[str, ...]) -> Iterator[Block]:
        with in_our_words(explain, memory=memory):
            yield from source.blocks(names)

    def labels(name: str) -> Iterator[Array]:
        assert source.labels is not None
        with in_our_words(explain, memory=memory):
            yield from source.labels(name)

    def sums(request: Request) -> Sums | None:
        assert source.sums is not None
        with in_our_words(explain, memory=memory):
            return source.sums(request)

    def values(name: str, most: int) -> list[Hashable]:
        assert source.values is not None
        with in_our_words(explain, memory=memory):
            return source.values(name, most)

    return replace(
        source,
        blocks=blocks,
        labels=None if source.labels is None else labels,
        sums=None if source.sums is None else sums,
        values=None if source.values is None else values,
    )


def cannot_be_read(what: str, fix: str) -> Explain:
    """A sentence for whatever goes wrong with a source."""
    return lambda error: DataError(f"{what} cannot be read: {first_line(error)}; {fix}")
