"""Results into files: whole or not at all, with an error that says what to do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from halftrek.errors import OutputError


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; the file moves to ``path`` when the block ends without an error."""
    target = Path(path)
    if not target.parent.is_dir():
        raise OutputError(f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}; create it")
    if target.is_dir():
        raise OutputError(f"cannot write {str(target)!r}: it is a folder; name a file in it")
    unfinished = None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=target.suffix)
        os.close(handle)
        unfinished = Path(name)
        yield unfinished
        unfinished.chmod(0o666 & ~_umask())
        unfinished.replace(target)
    except BaseException as error:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise _unwritable(target, error) from error
        raise


def output_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, made if it is not there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder


def _unwritable(target: Path, error: OSError) -> OutputError:
    reason = error.strerror or str(error)
    return OutputError(f"cannot write {str(target)!r}: {reason}. Choose another place for it")


def _umask() -> int:
    """The process's file mask: a temporary file is private, a result need not be."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
