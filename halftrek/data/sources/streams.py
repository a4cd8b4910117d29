"""What can be read only once (standard input, pipes, open files), kept in a file while it is needed."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from halftrek.bottom.arrays import Array
from halftrek.data.sources.guard import first_line
from halftrek.data.sources.source import Source
from halftrek.data.summing.accumulate import Block
from halftrek.errors import DataError

STANDARD_INPUT = "-"
PATIENCE = 5.0  # seconds that a pipe without a writer is waited for
PIECE = 1 << 20

_OPEN_FILES = re.compile(r"/dev/stdin|(?:/dev|/proc/self)/fd/(\d+)")


def read_once(source: object) -> str:
    """What kind of source it is, if it can be read only once; otherwise nothing."""
    if isinstance(source, str) and source == STANDARD_INPUT:
        return "standard input"
    if isinstance(source, str | os.PathLike):
        mode = _mode(_path_of(source))
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            return "a pipe"
        return "a terminal" if stat.S_ISCHR(mode) else ""
    if _reads(source):
        return "an open file"
    if type(source).__name__ == "RecordBatchReader":
        return "an Arrow reader"
    return "a generator" if isinstance(source, Iterator) else ""


def is_stream(source: object) -> bool:
    """Whether :func:`kept` makes a file of it: its rows come from somewhere that cannot be looked at twice."""
    if isinstance(source, str | os.PathLike):
        path = _path_of(source)
        return path == STANDARD_INPUT or bool(_OPEN_FILES.fullmatch(path)) or stat.S_ISFIFO(_mode(path))
    return _reads(source)


def _reads(source: object) -> bool:
    """Whether it is an open file; a column may be called "read", and DuckDB looks for one where it is asked."""
    try:
        return callable(getattr(source, "read", None))
    except Exception:  # of a relation whose table is gone: whoever reads it says so
        return False


def refuse_special(path: str) -> None:
    """Raise for what is there and is no file; pipes are read by :func:`kept`."""
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        raise DataError(
            f"{path!r} is a directory; name a file, or files by a pattern such as {path.rstrip('/')}/*.parquet"
        )
    kinds = {"a socket": stat.S_ISSOCK, "a device": stat.S_ISCHR, "a disk": stat.S_ISBLK, "a pipe": stat.S_ISFIFO}
    for what, holds in kinds.items():
        if holds(mode):
            raise DataError(f"{path!r} is {what}, not a file; write the rows to a file, or pass them by standard input")


def refuse_impossible(path: str) -> None:
    """Raise for a path that no file can have, or that no engine can be told."""
    if "\0" in path:
        raise DataError(f"the path {path!r} holds a NUL character, which no file's name can have; correct the path")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise DataError(f"the path {path!r} is not valid UTF-8; rename the file") from None


@contextmanager
def kept(source: object) -> Iterator[tuple[str, str]]:
    """A stream as a file on disk, since rows are looked at twice: its path, and what to call it."""
    name, label, stream = _stream_of(source)
    with _room_for(label):
        folder = tempfile.TemporaryDirectory(prefix="halftrek-")
    with folder:
        pieces = _pieces(stream, label)
        first = next(pieces, b"")
        path = os.path.join(folder.name, f"input.{_ending(first, name, label)}")
        with _room_for(label), open(path, "wb") as spool:
            spool.write(first)
            for part in pieces:
                spool.write(part)
        yield path, label


@contextmanager
def _room_for(label: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{label} cannot be kept in a temporary file while it is read: {error.strerror}; make room, or name "
            f"another directory by TMPDIR"
        ) from error


@contextmanager
def held(source: object) -> Iterator[object]:
    """The source, or for a stream a file that has its rows as often as they are needed."""
    if not is_stream(source):
        yield source
        return
    with kept(source) as (path, _):
        yield path


def renamed(opened: Callable[[], Source], path: str, label: str) -> Source:
    """A source whose messages say where its rows came from, not where they are kept."""

    @contextmanager
    def relabelled() -> Iterator[None]:
        try:
            yield
        except DataError as error:
            raise DataError(str(error).replace(repr(path), label)) from error.__cause__

    def blocks(names: tuple[str, ...]) -> Iterator[Block]:
        with relabelled():
            yield from source.blocks(names)

    def labels(name: str) -> Iterator[Array]:
        assert source.labels is not None
        with relabelled():
            yield from source.labels(name)

    with relabelled():
        source = opened()
    return replace(source, blocks=blocks, labels=None if source.labels is None else labels)


# -- the pieces of a stream ------------------------------------------------------------------------


def _stream_of(source: object) -> tuple[str, str, Callable[[], bytes | str | None]]:
    """A name with an ending, a label for messages, and what gives the next piece."""
    if isinstance(source, str | os.PathLike) and _path_of(source) != STANDARD_INPUT:
        path = _path_of(source)
        refuse_impossible(path)
        return path, "standard input" if path == "/dev/stdin" else f"the pipe {path!r}", _opened_path(path)
    stream: Any  # whatever has a method to read
    if isinstance(source, str):
        stream, label = getattr(sys.stdin, "buffer", sys.stdin), "standard input"
        if stream is None:
            raise DataError("there is no standard input; name a file")
    else:
        stream, label = source, "the open file"
    name = getattr(stream, "name", "")
    return name if isinstance(name, str) else "", label, lambda: stream.read(PIECE)


def _pieces(read: Callable[[], bytes | str | None], label: str) -> Iterator[bytes]:
    while True:
        try:
            part = read()
            if part is None:
                raise DataError(f"{label} has no rows yet and does not wait for them; open it as a blocking file")
            piece = part.encode() if isinstance(part, str) else bytes(part)
        except DataError:
            raise
        except UnicodeError as error:
            raise DataError(f"{label} is not UTF-8 text; open it in binary mode, or with its encoding") from error
        except Exception as error:
            raise DataError(
                f"{label} cannot be read: {first_line(error)}; open it for reading, and keep it open"
            ) from error
        if not piece:
            return
        yield piece


def _ending(first: bytes, name: str, label: str) -> str:
    if first.startswith(b"PAR1"):
        return "parquet"
    if first.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    table = "tsv" if name.lower().removesuffix(".gz").endswith(".tsv") else "csv"
    if first.startswith(b"\x1f\x8b"):
        return f"{table}.gz"
    if b"\0" in first and not first.startswith((b"\xff\xfe", b"\xfe\xff")):  # without end, it may be
        raise DataError(f"{label} is not a text file, nor Parquet or Arrow; pass CSV, Parquet or Arrow")
    return table


# -- paths that are no files -----------------------------------------------------------------------


def _path_of(source: str | os.PathLike[str]) -> str:
    return os.path.expanduser(os.fsdecode(source))


def _mode(path: str) -> int:
    """What kind of thing a path leads to; 0 if to nothing."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def _opened_path(path: str) -> Callable[[], bytes]:
    """What gives the next piece of a pipe, or of a file that is open already; it is closed with its last piece."""
    mode, first = _mode(path), b""
    try:
        if stat.S_ISFIFO(mode):
            number, first = _opened_pipe(path)
        elif stat.S_ISSOCK(mode):  # cannot be opened again
            number = os.dup(int((_OPEN_FILES.fullmatch(path) or ["", ""])[1] or 0))
        else:
            number = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise DataError(f"{path!r} cannot be read: {error.strerror}; check the path and its permissions") from error
    stream = os.fdopen(number, "rb")

    def read() -> bytes:
        nonlocal first
        part, first = first or stream.read(PIECE), b""
        if not part:
            stream.close()
        return part

    return read


def _opened_pipe(path: str) -> tuple[int, bytes]:
    """A pipe and its first bytes. Who would open it plainly would wait for ever where nobody writes into it."""
    import select

    number, first = os.open(path, os.O_RDONLY | os.O_NONBLOCK), b""
    try:
        watch = select.poll()
        watch.register(number, select.POLLIN)
        end = time.monotonic() + PATIENCE
        while not first:
            try:
                first = os.read(number, PIECE)
            except BlockingIOError:  # somebody holds the other end: worth any wait
                break
            if first or any(event & select.POLLHUP for _, event in watch.poll(0)):  # they have come and gone
                break
            if time.monotonic() > end:
                raise DataError(
                    f"nobody writes into the pipe {path!r} (waited {PATIENCE:g} seconds); start the program that "
                    f"writes the rows first, or pass a file"
                )
            watch.poll(20)
        os.set_blocking(number, True)
    except BaseException:
        os.close(number)
        raise
    return number, first
