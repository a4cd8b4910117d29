"""The program as a process: signals that stop it, streams that are closed, and nothing left behind.

Only the program itself does this, before it loads anything else; ``main`` with words leaves the process alone.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Literal, TextIO

from halftrek.cli.exits import INTERRUPTED

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_stopped_by: list[int] = []  # the signal that told this process to stop


class Stopped(KeyboardInterrupt):
    """A signal said stop."""


def run_program() -> int:
    """Runs the command in the process's words; stopped at any moment it leaves without a trace."""
    try:
        _listen()
        mend_streams()
        from halftrek.cli.app import run_words

        code = run_words(sys.argv[1:])
    except BaseException:
        if not _stopped_by:
            raise
        say_stopped()
        code = exit_code()
    _listen_no_more()  # what is left to do takes no time, and is not worth a second answer
    if _stopped_by:
        _clean()
        let_go_of_streams()
        return exit_code()
    return code


def was_told_to_stop() -> bool:
    """True after a signal; libraries turn its exception into others, which mean the same."""
    return bool(_stopped_by)


def forget_signal() -> None:
    """The signal was the usual way to end what was done, and all of it is put away."""
    _stopped_by.clear()


def exit_code() -> int:
    """What a shell says of a program that the signal ended."""
    return 128 + _stopped_by[0] if _stopped_by else INTERRUPTED


def say_stopped() -> None:
    """The last words."""
    say("stopped")


def say(text: str) -> None:
    """A line for the user beside the result, on standard error, if anybody can hear it."""
    from halftrek.errors import printable

    try:
        print(f"halftrek: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:
        _to_nowhere(sys.stderr)


def _listen() -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a job in the background, said so
            signal.signal(number, _stop)
    sys.unraisablehook = _unraisable


def _listen_no_more() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _stop(number: int, frame: FrameType | None) -> None:
    """The first signal unwinds what is being done, so that everything is put away; the second does not wait for it.

    Nor does a signal in the middle of an import: compiled modules end the process with a dump of their own if an
    exception finds them half loaded.
    """
    again = bool(_stopped_by)
    _stopped_by.append(number)
    if again or _importing(frame):
        _leave_at_once()
    raise Stopped


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _unraisable(happened: sys.UnraisableHookArgs) -> None:
    """An exception in a place that cannot raise, such as a finaliser; there a signal would be lost."""
    if _stopped_by and isinstance(happened.exc_value, KeyboardInterrupt):
        _leave_at_once()
    sys.__unraisablehook__(happened)


def _leave_at_once() -> None:
    """Without a way back through what is being done: by the system's own means, whatever Python is in the middle of."""
    _clean()
    try:
        if os.isatty(2):
            os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
        os.write(2, b"halftrek: stopped\n")
    except OSError:
        pass
    os._exit(exit_code())


def _clean() -> None:
    """Files in the making go; if the room that makes them was never entered there are none."""
    files = sys.modules.get("halftrek.bottom.files")
    if files is not None and hasattr(files, "remove_unfinished"):
        files.remove_unfinished()


# -- streams -------------------------------------------------------------------------------------


def mend_streams() -> None:
    """Streams that were closed (``>&-``) get a number again: a file opened later must not take their place."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = _nowhere("r")
    if sys.stderr is None:
        sys.stderr = _nowhere("w")
    if sys.stdout is None:
        sys.stdout = _closed_stream()


def _nowhere(mode: Literal["r", "w"]) -> TextIO:
    return open(os.devnull, mode, encoding="utf-8")


def _closed_stream() -> TextIO:
    """A standard output that says what is wrong when something is written to it."""
    import errno
    import io

    class Closed(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, _data: object) -> int:
            raise OSError(errno.EBADF, "it is closed")

    return io.TextIOWrapper(io.BufferedWriter(Closed()), encoding="utf-8")


def let_go_of_streams() -> None:
    """What cannot be written any more must not be tried again at exit, where Python would complain about it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _to_nowhere(stream)


def _to_nowhere(stream: TextIO) -> None:
    """Everything that the stream still holds and gets goes nowhere."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # none of the system's: a closed one, or a test's
        if stream is sys.stdout:
            sys.stdout = _nowhere("w")
        elif stream is sys.stderr:
            sys.stderr = _nowhere("w")
        return
    nowhere_number = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere_number, number)
    os.close(nowhere_number)
