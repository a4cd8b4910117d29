"""Results into files: whole or not at all, over nothing that is not ours, with an error that says what to do."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from halftrek.errors import OutputError

MARK = "written by halftrek"  # in every picture and Word table, as the generator in every report

_LOOKED_AT = 1 << 16  # bytes at either end of a file, in which its mark stands
_SAVED = re.compile(rb'\s*\{\s*"format"\s*:\s*"halftrek"')
_REPORT = re.compile(rb'\s*<!DOCTYPE html>.{0,400}<meta name="generator" content="halftrek', re.DOTALL)
_PICTURES = (
    b"\x89PNG",
    b"\xff\xd8",
    b"%PDF",
    b"%!PS",
    b"<?xml",
    b"<svg",
    b"RIFF",
    b"II*\0",
    b"MM\0*",
    b"\x1f\x8b",
    b"PK\x03\x04",
)
_OWN_STREAM = re.compile(r"/dev/(?:(stdout)|(stderr)|fd/(\d+))|/proc/self/fd/(\d+)")

# Files and folders that are in the making, for whoever has to leave in a hurry.
_unfinished: set[Path] = set()


@dataclass(frozen=True)
class _Place:
    """Where a result goes: as it was said, with links followed, what is there, and whether it is written through."""

    said: str
    path: Path
    there: os.stat_result | None
    through: bool


@contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """A path to write to; what is written there goes to ``path`` when the block ends without an error.

    A file that halftrek wrote, or an empty one, is replaced; another only if told to ``overwrite``. Links are
    followed, mode and owner stay. Devices and pipes are written through.
    """
    place = check_place(path, overwrite=overwrite)
    try:
        if place.through:
            with temporary_folder() as folder:
                yield folder / "through"
                _pour(folder / "through", place)
            return
        with _beside(place) as unfinished:
            yield unfinished
            _settle(unfinished, place, overwrite)
    except OutputError:
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(place.said, error) from error


def check_place(path: str | os.PathLike[str], *, overwrite: bool = False) -> _Place:
    """Where the file goes; an error if nothing can be written there, or something that is not ours stands there."""
    said = str(os.fsdecode(path))
    try:
        place = _place(Path(os.fsdecode(path)), said)
    except ValueError as error:  # a name with a zero byte
        raise OutputError(f"cannot write {said!r}: {error}. Choose another name") from None
    except OSError as error:
        raise _unwritable(said, error) from error
    _refuse_stranger(place, overwrite)
    return place


def _place(asked: Path, said: str) -> _Place:
    path = Path(os.path.realpath(asked)) if asked.is_symlink() else asked
    if own_stream(said) is not None:
        return _Place(said, asked, None, True)
    try:
        there = os.stat(asked)
    except FileNotFoundError:
        there = None
    except NotADirectoryError:
        raise OutputError(f"cannot write {said!r}: {str(asked.parent)!r} is no folder; choose another place") from None
    if there is None:
        if not path.parent.is_dir():
            raise OutputError(f"cannot write {said!r}: there is no folder {str(path.parent)!r}; create it")
        return _Place(said, path, None, False)
    if stat.S_ISDIR(there.st_mode):
        raise OutputError(f"cannot write {said!r}: it is a folder; name a file in it")
    if stat.S_ISCHR(there.st_mode) or stat.S_ISFIFO(there.st_mode):
        return _Place(said, asked, there, True)
    if not stat.S_ISREG(there.st_mode):
        raise OutputError(f"cannot write {said!r}: it is neither a file nor a pipe; name a file")
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is protected against writing")
    return _Place(said, path, there, False)


def _refuse_stranger(place: _Place, overwrite: bool) -> None:
    if place.there is None or place.through or overwrite or written_by_halftrek(place.path):
        return
    raise OutputError(
        f"cannot write {place.said!r}: it exists, and halftrek did not write it; choose another name, or overwrite=True"
    )


def written_by_halftrek(path: str | os.PathLike[str]) -> bool:
    """True for a saved value, a report, a picture or a Word table of ours, by what is in it; and for an empty file."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(_LOOKED_AT)
            stream.seek(max(len(head), os.fstat(stream.fileno()).st_size - _LOOKED_AT))
            tail = stream.read(_LOOKED_AT)
    except OSError:
        return False
    if not head or _SAVED.match(head) or _REPORT.match(head):
        return True
    if not head.startswith(_PICTURES):
        return False
    if head.startswith(b"\x1f\x8b"):  # a compressed SVG
        with suppress(zlib.error):
            head = zlib.decompressobj(31).decompress(head, _LOOKED_AT)
    return MARK.encode() in head or MARK.encode() in tail


def own_stream(path: str | os.PathLike[str]) -> int | None:
    """The number of the open stream that a name such as ``/dev/stdout`` stands for."""
    found = _OWN_STREAM.fullmatch(os.fsdecode(path))
    if found is None:
        return None
    return 1 if found[1] else 2 if found[2] else int(found[3] or found[4])


@contextmanager
def _beside(place: _Place) -> Iterator[Path]:
    """A new file in the same folder, gone when the block ends unless it was moved."""
    unfinished = place.path.parent / f".halftrek-{os.urandom(8).hex()}"
    _unfinished.add(unfinished)  # before it is there: whoever stops us between leaves nothing
    try:
        # The system takes the umask off by itself; what is to be private is so from the beginning.
        mode = 0o666 if place.there is None else 0o600
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield unfinished
    finally:
        unfinished.unlink(missing_ok=True)
        _unfinished.discard(unfinished)


def _settle(unfinished: Path, place: _Place, overwrite: bool) -> None:
    """The finished file to its place, as what it replaces was."""
    if place.there is None:
        _refuse_stranger(_place(place.path, place.said), overwrite)  # somebody may have been quicker
    elif not _dressed_as(unfinished, place.there):
        _pour(unfinished, place)  # somebody else's file that we may write to: it stays theirs
        return
    unfinished.replace(place.path)


def _dressed_as(unfinished: Path, there: os.stat_result) -> bool:
    """Gives the file the owner and the mode of another; False if the owner cannot be had."""
    mine = os.stat(unfinished)
    if hasattr(os, "chown") and (mine.st_uid, mine.st_gid) != (there.st_uid, there.st_gid):
        try:
            os.chown(unfinished, there.st_uid, there.st_gid)
        except PermissionError:
            return False
    unfinished.chmod(stat.S_IMODE(there.st_mode))
    return True


def _pour(source: Path, place: _Place) -> None:
    """The bytes of a file into what is there already: a device, a pipe, an open stream, somebody's file."""
    stream = own_stream(place.said)
    if stream is not None:
        for ours in (sys.stdout, sys.stderr):
            if ours is not None:
                ours.flush()  # what was printed before comes before
        target = os.dup(stream)
    else:
        target = os.open(place.path, os.O_WRONLY | (0 if place.through else os.O_TRUNC))
    with open(source, "rb") as full, open(target, "wb") as out:
        shutil.copyfileobj(full, out, 1 << 20)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A private folder that is gone when the block ends."""
    try:
        folder = Path(tempfile.gettempdir()) / f"halftrek-{os.urandom(8).hex()}"
    except OSError as error:
        raise OutputError(f"there is no folder for temporary files: {error.strerror or error}; set TMPDIR") from error
    _unfinished.add(folder)
    try:
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise _unwritable(str(folder), error) from error
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _unfinished.discard(folder)


def remove_unfinished() -> None:
    """Removes whatever is in the making; for a program that is told to stop."""
    for path in list(_unfinished):
        with suppress(OSError):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def output_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, made if it is not there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(str(folder), error) from error
    return folder


def _unwritable(said: str, error: OSError) -> OutputError:
    reason = error.strerror or str(error)
    return OutputError(f"cannot write {said!r}: {reason}. Choose another place for it")
