"""How does the cost of each public operation grow, and where does it pass five seconds?

``python -m benchmarks.growth --write`` walks all operations in one run and writes ``docs/benchmarks/growth.md``. Each
is walked over sizes in a process of its own, on one thread, until it takes longer than the limit; seconds are of the
processor. What takes longer is run once more and stopped as by Ctrl-C. ``--only "fit.effects()"`` keeps to operations
with that word in their names, ``--sizes 2`` to the two smallest sizes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import halftrek as ht
from benchmarks.growth_given import SMALL, graph_of, small_table, table_of
from benchmarks.growth_operations import OPERATIONS, Operation
from halftrek.bottom import progress

__all__ = ["Operation", "Walk", "graph_of", "line", "page_of", "table_of", "walk", "walked"]

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "growth.md"
LIMIT = 5.0  # seconds
PATIENCE = 20.0  # seconds of the clock for one size
SHORT = 0.02  # seconds below which growth is not told from overhead
INTO = 2.0  # seconds of the clock after which an operation is stopped, to see how soon it does

PAGE = """# How cost grows

Every operation of the public interface over sizes, in seconds of the processor, on one thread. `python -m
benchmarks.growth --write` has made this page in one run, each operation in a process of its own, and makes it again. A
test holds that every public function and method is walked, or that `benchmarks/growth_operations.py` says why not.

How to read it: *exponent* is the slope of the logarithm of the time over that of the size, between the last two sizes
(1: linear, 2: with the square); a dash where all is too short to tell. *above 5 s* is the first size that takes
longer; "no" if none does. An operation is not walked beyond that size, and is stopped after {patience:.0f} seconds of
the clock: then the size has "stopped" in place of a time. Graphs have one or two parents a variable (1.5 on average)
among the twenty before it, so that most variables cause most that come later, and 0.3 arcs a variable; tables of them
have 1,000 rows. "Far" is asked about the first variable and the last one that it causes. Tables by rows have five
variables. Verdicts and imports are counted where they are needed for the first time in a process.

Whatever takes longer than a second shows a bar, where standard error is a terminal. The second table has the
operations above the limit: whether a bar was shown, and how many seconds after Ctrl-C they ended.
"""


@dataclass(frozen=True)
class Walk:
    """The seconds of an operation at each size that it was walked over."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    stopped: int | None = None  # the size at which patience ended
    bar: bool | None = None  # whether one was shown above the limit
    stops: float | None = None  # seconds from Ctrl-C to the end

    @property
    def exponent(self) -> float | None:
        """How the time grows between the last two sizes; None if it is too short to tell."""
        if len(self.seconds) < 2 or self.seconds[-2] < SHORT:
            return None
        return math.log(self.seconds[-1] / self.seconds[-2]) / math.log(self.sizes[-1] / self.sizes[-2])

    @property
    def first_above(self) -> int | None:
        """The first size that takes longer than the limit."""
        return next((size for size, t in zip(self.sizes, self.seconds, strict=True) if t > LIMIT), self.stopped)


def walk(operation: Operation, sizes: Sequence[int]) -> None:
    """The operation at each of some sizes, until it takes too long; prints a line of JSON for each."""
    with _bars() as shown:
        for size in sizes:
            given = operation.prepare(size)
            shown.clear()
            print(json.dumps([size, None, False]), flush=True)
            begun = time.process_time()
            operation.run(given)
            seconds = time.process_time() - begun
            print(json.dumps([size, seconds, bool(shown)]), flush=True)
            if seconds > LIMIT:
                return


@contextmanager
def _bars() -> Iterator[list[str]]:
    """The titles of bars that somebody at a terminal would see; none is drawn."""
    shown: list[str] = []

    @contextmanager
    def noted(title: str) -> Iterator[progress.Advance]:
        shown.append(title)
        print(json.dumps({"bar": title}), flush=True)
        yield progress.silent

    drawn, looked_at = progress._drawn, progress._looked_at
    vars(progress).update(_drawn=noted, _looked_at=lambda _: True)
    try:
        yield shown
    finally:
        vars(progress).update(_drawn=drawn, _looked_at=looked_at)


class _Child:
    """An operation in a process of its own with one thread."""

    def __init__(self, operation: Operation, sizes: Sequence[int]) -> None:
        limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        words = [sys.executable, "-m", "benchmarks.growth", "--walk", operation.name, "--at", *map(str, sizes)]
        self._folder = tempfile.TemporaryDirectory()
        self._out, self._said = (Path(self._folder.name) / name for name in ("out", "said"))
        with self._out.open("a") as out, self._said.open("a") as said:
            self._process = subprocess.Popen(words, env={**os.environ, **limits}, stdout=out, stderr=said)

    def lines(self) -> list[list[object]]:
        """What it has printed of sizes so far."""
        return [json.loads(one) for one in self._text() if one.startswith("[")]

    def bar(self) -> bool:
        """True if a bar was shown."""
        return any(one.startswith("{") for one in self._text())

    def _text(self) -> list[str]:
        return [one for one in self._out.read_text(encoding="utf-8").splitlines() if one.endswith(("]", "}"))]

    def wait(self, patience: float) -> bool:
        """Until it ends, or a size takes longer than so many seconds; True if it has ended."""
        count, since = 0, time.monotonic()
        while self._process.poll() is None:
            time.sleep(0.02)
            lines = self.lines()
            if len(lines) != count:
                count, since = len(lines), time.monotonic()
            if lines and lines[-1][1] is None and time.monotonic() - since > patience:
                return False
        if self._process.returncode:
            raise RuntimeError(self._said.read_text(encoding="utf-8")[-2000:])
        return True

    def stop(self) -> float:
        """As by Ctrl-C: the seconds until it has ended."""
        begun = time.monotonic()
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        return time.monotonic() - begun


def walked(operation: Operation, count: int) -> Walk:
    """The operation over its first sizes; where it takes long, once more to be stopped."""
    sizes = operation.sizes[:count]
    child = _Child(operation, sizes)
    ended = child.wait(PATIENCE)
    stops = None if ended else child.stop()
    lines = child.lines()
    times = {int(str(size)): float(str(t)) for size, t, _ in lines if t is not None}
    found = Walk(operation.name, tuple(times), tuple(times.values()), None if ended else int(str(lines[-1][0])))
    if found.first_above is None:
        return found
    if stops is None:
        child = _Child(operation, [found.first_above])
        if not child.wait(INTO):
            stops = child.stop()
    return replace(found, bar=child.bar(), stops=stops)


def line(one: Walk) -> str:
    """A line of the table."""
    shown = ", ".join(f"{size:,}: {t:.2f}" for size, t in zip(one.sizes, one.seconds, strict=True))
    if one.stopped is not None:
        shown += f"{', ' if shown else ''}{one.stopped:,}: stopped"
    exponent = "–" if one.exponent is None else f"{one.exponent:.1f}"
    above = "no" if one.first_above is None else f"{one.first_above:,}"
    return f"| `{one.name}` | {shown} | {exponent} | {above} |"


def long_line(one: Walk) -> str:
    """A line of the table of what lies above the limit."""
    stops = "–" if one.stops is None else f"{one.stops:.1f}"
    return f"| `{one.name}` | {one.first_above:,} | {'yes' if one.bar else 'no'} | {stops} |"


def page_of(walks: Sequence[Walk]) -> str:
    """The page."""
    head = "| operation | seconds by size | exponent | above 5 s |\n|---|---|---:|---:|"
    page = f"{PAGE.format(patience=PATIENCE)}\n{head}\n" + "\n".join(map(line, walks)) + "\n"
    above = [one for one in walks if one.first_above is not None]
    if above:
        page += "\n| above 5 s | at | bar | ends after Ctrl-C |\n|---|---:|---|---:|\n"
        page += "\n".join(map(long_line, above)) + "\n"
    return page


def main() -> None:
    """Walk all operations, or one."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--only", default="", help="a word in the names of operations")
    asked.add_argument("--sizes", type=int, default=99, help="how many sizes of each, the smallest first")
    asked.add_argument("--write", action="store_true", help="write the page")
    asked.add_argument("--walk", help=argparse.SUPPRESS)
    asked.add_argument("--at", type=int, nargs="+", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.walk:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background are deaf to it
        ht.fit(SMALL, small_table(100)).effects()  # imports are not what is measured
        walk(next(one for one in OPERATIONS if one.name == given.walk), given.at)
        return
    walks = []
    for operation in OPERATIONS:
        if given.only in operation.name:
            walks.append(walked(operation, given.sizes))
            print(line(walks[-1]), flush=True)
            if walks[-1].first_above is not None:
                print(long_line(walks[-1]), flush=True)
    if given.write:
        OUT.write_text(page_of(walks), encoding="utf-8")


if __name__ == "__main__":
    main()
