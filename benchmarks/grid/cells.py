"""One cell: an operation asked of a kind, in a process of its own, for a limited time of the processor."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.grid.columns import Kind, columns
from benchmarks.grid.operations import Operation, Same, Suspect, operations

Seen = Callable[[Kind, str, Any], dict[str, Any]]  # what to keep of a result
Cell = dict[str, Any]

PATIENCE = 8  # a busy machine may take so many times the seconds of processor time that a cell has
ABSENT = re.compile(r"'(GroupFits|Fit|FitsTogether)' object has no attribute")


class Late(BaseException):
    """Not an Exception, so that no handler of the package takes it."""


def _ring(*_: object) -> None:
    raise Late


def run(kind: Kind, name: str, operation: Operation, seconds: int, seen: Seen) -> Cell:
    """What came of it: a status, the words of an error, and what ``seen`` keeps of a result."""
    import halftrek as ht

    begun = time.process_time()
    cell: Cell = {"status": "ok", "error": "", "message": "", "words": "", "doubts": []}
    signal.signal(signal.SIGPROF, _ring)
    with warnings.catch_warnings(record=True) as heard, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            with contextlib.redirect_stderr(io.StringIO()):
                got = operation(kind)
            signal.setitimer(signal.ITIMER_PROF, 0)
            cell |= seen(kind, name, got)
        except Late:
            cell["status"] = "slow"
        except Same:
            cell["status"] = "same"
        except Suspect as error:
            cell["doubts"] = [str(error)]
        except ht.HalftrekError as error:
            cell |= {"status": "refused", "error": type(error).__name__, "message": str(error)}
        except Exception as error:
            cell |= _raw(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    raw = {f"{w.category.__name__}: {w.message}"[:150] for w in heard if _numerical(w)}
    if raw and cell["status"] == "ok":
        cell["doubts"] = [*cell["doubts"], *sorted(raw)[:2]]
    if "matplotlib" in sys.modules:
        import matplotlib.pyplot as plt

        plt.close("all")
    return cell | {"message": cell["message"][:1500], "seconds": round(time.process_time() - begun, 3)}


def _raw(error: Exception) -> Cell:
    """An error that is not ours: the method or option is not there, or something broke."""
    words = str(error)
    absent = isinstance(error, TypeError) and "unexpected keyword argument" in words
    absent = absent or (isinstance(error, AttributeError) and ABSENT.search(words) is not None)
    if not absent:
        last = traceback.extract_tb(error.__traceback__)[-2:]
        words += " @ " + " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(last))
    return {"status": "absent" if absent else "crash", "error": type(error).__name__, "message": words}


def _numerical(warning: warnings.WarningMessage) -> bool:
    ours = "More than 20 figures" in str(warning.message) or "matplotlib" in str(warning.filename)
    return issubclass(warning.category, RuntimeWarning | FutureWarning) and not ours


def _worker(pipe: Any, seen: Seen, folder: str) -> None:
    os.chdir(folder)  # for the files that cells write and read
    every, kinds = operations(), columns()
    held: tuple[str, Kind] | None = None
    pipe.send("ready")
    while (task := pipe.recv()) is not None:
        column, name, seconds = task
        if held is None or held[0] != column:
            held = column, kinds[column]()
        pipe.send(run(held[1], name, every[name], seconds, seen))


class Worker:
    """A process that answers cells; it is started again if it dies or does not hear the alarm."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.folder = tempfile.TemporaryDirectory(prefix="halftrek-grid-")
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.here, there = context.Pipe()
        self.process = context.Process(target=_worker, args=(there, self.seen, self.folder.name))
        self.process.start()
        there.close()
        self.here.recv()

    def ask(self, column: str, name: str, seconds: int) -> Cell:
        lost: Cell = {"error": "", "message": "did not hear the alarm", "words": "", "doubts": [], "seconds": seconds}
        self.here.send((column, name, seconds))
        try:
            if self.here.poll(seconds * PATIENCE):
                cell: Cell = self.here.recv()
                return cell
            lost["status"] = "slow"
        except (EOFError, ConnectionResetError):
            self.process.join()
            lost |= {"status": "crash", "message": f"the process died with exit code {self.process.exitcode}"}
        self.process.kill()
        self.process.join()
        self.start()
        return lost

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.here.send(None)
        self.process.join(3)
        if self.process.is_alive():
            self.process.kill()
        self.folder.cleanup()


def answered(
    wanted: Sequence[tuple[str, str]], seen: Seen, seconds: int, jobs: int
) -> Iterator[tuple[tuple[str, str], Cell]]:
    """Cells as they are done; a worker takes a whole column, so that its fits are made once."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("MPLBACKEND", "Agg")
    by_column: dict[str, list[str]] = {}
    for column, name in wanted:
        by_column.setdefault(column, []).append(name)
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker(seen) for _ in range(min(jobs, len(by_column)))]
    for worker in workers:
        idle.put(worker)
    done: SimpleQueue[tuple[tuple[str, str], Cell] | BaseException] = SimpleQueue()

    def ask_column(column: str) -> None:
        worker = idle.get()
        try:
            for name in by_column[column]:
                done.put(((column, name), worker.ask(column, name, seconds)))
        except BaseException as error:
            done.put(error)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(len(workers) or 1) as pool:
        for column in by_column:
            pool.submit(ask_column, column)
        for _ in wanted:
            found = done.get()
            if isinstance(found, BaseException):
                pool.shutdown(cancel_futures=True)
                raise found
            yield found
    for worker in workers:
        worker.end()
