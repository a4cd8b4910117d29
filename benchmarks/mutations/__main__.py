"""Would the tests notice? Change one operator or number of the core rooms at a time, and run the tests that concern it.

    python -m benchmarks.mutations --seed 1 --count 120                 changes number 1 to 120 of the order of seed 1
    python -m benchmarks.mutations --seed 1 --count 200                 goes on where that ended: results are kept
    python -m benchmarks.mutations --seed 2 --count 20 --only syntax    one room, also another than the core ones
    python -m benchmarks.mutations --quick                              only the tests that name the module
    python -m benchmarks.mutations --jobs 2                             several copies side by side
    python -m benchmarks.mutations --same OLD.jsonl --out NEW.jsonl     the same changes in later code
    python -m benchmarks.mutations --compare OLD.jsonl NEW.jsonl        did the share killed fall?
    python -m benchmarks.mutations --show OLD.jsonl                     survivors and figures of a former run
    python -m benchmarks.mutations --again                              survivors once more, the tests being others now
    python -m benchmarks.mutations --again --tests tests/results        survivors once more, by tests of another room
    python -m benchmarks.mutations --at halftrek/data/moments.py:47     every change of one line

A change is written into a copy of the project in a temporary folder. First come the test files that name the module or
what it defines, or those of the modules that import it; then, for what they all let through, the other tests of its
room, the nearest first; each time with a limit of CPU time, so that a busy machine gives the same answers. A change is
killed, or it survived, or it is slow: no test had failed when one of them took far too long, as in an endless loop; or,
in later code, it is gone. Results are lines of JSON in ``--out``, and the last line of a change counts; a page of the
survivors stands beside them. A survivor is tried again by tests that use its module, in whichever room they are, before
anybody writes a new one. It is run by hand, on code that nobody edits meanwhile.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from queue import Queue
from threading import Lock
from time import perf_counter
from typing import Any

from benchmarks.mutations.again import copy_number, found_again, table_of
from benchmarks.mutations.changes import ROOT, Change, changes_in, files_of
from benchmarks.mutations.chosen import naming_tests, room_tests
from benchmarks.mutations.kept import Comparison, Figures, Kept, Result, fingerprint, line_of, page_of
from benchmarks.mutations.limits import TEST
from benchmarks.mutations.tried import Copy, Outcome

ROOMS = ("estimation", "inference", "identification", "queries", "data", "partial")
SECONDS = (120.0, 200.0)  # of CPU time, for the two rounds; all tests of estimation take 160, of inference 140
LIMITS = ("named_seconds", "room_seconds", "test_seconds")
RESULTS = ROOT / "benchmarks" / "results"

Wanted = tuple[str, Change | None, Result]  # a change's name for good, where it stands now, what former code made of it


def main() -> int:
    """Try changes, and print what became of them."""
    options = _options()
    if options.compare:
        return compared(*(Kept.read(path) for path in options.compare))
    if options.show:
        return shown(options.show)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests interrupt; a shell's background jobs ignore that
    out: Path = options.out or _out(options)
    former = Kept.read(out)
    asked, among, wanted = chosen(options, former)
    head = {
        "asked": asked,
        "among": among,
        "package": fingerprint(),
        "commit": _commit(),
        "named_seconds": options.seconds[0],
        "room_seconds": options.seconds[1],
        "test_seconds": TEST,
    }
    if former.head and any(former.head[key] != head[key] for key in ("package", *LIMITS)):
        print(f"{out} has results of other code, or with other limits: name another file by --out", file=sys.stderr)
        return 2
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        if not former.head:
            print(json.dumps(head), file=file, flush=True)
        run(wanted, former, options, lambda result: print(json.dumps(result), file=file, flush=True))
    return shown(out)


def shown(out: Path) -> int:
    """Print what no test noticed and the figures, and write them as a page."""
    kept = Kept.read(out)
    out.with_suffix(".md").write_text(page_of(kept, "Changes that the tests should notice"), encoding="utf-8")
    for result in kept.results:
        if result["outcome"] != "caught":
            print(line_of(result))
    print(Figures.of(kept.results))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the order of all changes")
    parser.add_argument("--count", type=int, default=120, help="how many of them, from the first")
    rooms = sorted(path.stem for path in (ROOT / "halftrek").iterdir() if path.name[0] != "_")
    parser.add_argument("--only", choices=rooms, metavar="ROOM", help="one room, also one that is not a core room")
    parser.add_argument("--quick", action="store_true", help="only the tests that name the module, where there are any")
    parser.add_argument("--again", action="store_true", help="those that survived in --out")
    parser.add_argument("--tests", nargs="+", default=(), help="these, instead of those that are chosen")
    parser.add_argument("--at", nargs="+", help="all changes of a line, file:line, or of a file")
    parser.add_argument("--same", type=Path, help="the changes of this file of results, wherever they stand now")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="two files of results")
    parser.add_argument("--show", type=Path, metavar="RESULTS", help="what a run found, also one that still goes on")
    parser.add_argument("--jobs", type=int, default=1, help="how many copies are tested side by side")
    parser.add_argument(
        "--seconds", type=float, nargs=2, default=SECONDS, help="of CPU time, for the two rounds of tests"
    )
    parser.add_argument("--out", type=Path, help="results, one line each; in benchmarks/results/ if not named")
    options = parser.parse_args()
    for read in (options.same, options.show, *(options.compare or ())):
        if read and not read.is_file():
            parser.error(f"no results are in {read}")
    return options


def _out(options: argparse.Namespace) -> Path:
    if options.same:
        return Path(options.same).with_name(f"{options.same.stem}-again.jsonl")
    room = f"-{options.only}" if options.only else ""
    return RESULTS / ("mutations-lines.jsonl" if options.at else f"mutations{room}-seed-{options.seed}.jsonl")


def _commit() -> str:
    told = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return told.stdout.strip()


def chosen(options: argparse.Namespace, known: Kept) -> tuple[str, int, list[Wanted]]:
    """What is asked in words, of how many changes, and the changes."""
    if options.same:
        old, moved = Kept.read(options.same), table_of()
        found = [(result["id"], found_again(result, moved), result) for result in old.results]
        return f"The changes of {options.same.name}", old.head["among"], found
    if options.again:
        survivors = [r for r in known.results if r["outcome"] == "survived"]
        return known.head["asked"], known.head["among"], [(r["id"], found_again(r, {}), r) for r in survivors]
    rooms = (options.only,) if options.only else ROOMS
    if options.at:
        changes = [c for at in options.at for c in changes_in(at.split(":")[0]) if at in (c.file, f"{c.file}:{c.line}")]
        asked, among = " ".join(options.at), len(changes)
    else:
        changes = [change for file in files_of(ROOT, rooms) for change in changes_in(file)]
        asked, among = f"Seed {options.seed}, {', '.join(rooms)}", len(changes)
        random.Random(options.seed).shuffle(changes)
        changes = changes[: options.count]
    return asked, among, [(f"{c.file}:{c.line}#{c.number}", c, {}) for c in changes]


def run(wanted: Sequence[Wanted], known: Kept, options: argparse.Namespace, keep: Callable[[Result], None]) -> None:
    """Two rounds: the tests that name the module, for all; then those of the room, for what is left."""
    done = {} if options.again else {result["id"]: result for result in known.results}
    sound: set[str] = set()
    failing: set[str] = set()
    lock = Lock()
    copies: Queue[Copy] = Queue()
    began = perf_counter()

    def try_one(one: Wanted, turn: Round) -> None:
        copy = copies.get()
        try:
            result = judged(copy, one, turn, failing, done.get(one[0], {}))
        finally:
            copies.put(copy)
        with lock:
            done[one[0]] = result
            keep(result)
            print(f"{perf_counter() - began:6.0f} s  {line_of(result)}", flush=True)

    def killed_by(one: Wanted) -> str:
        """The test that failed, if one is named."""
        result = done[one[0]]
        return result["by"] if result["outcome"] == "caught" and "::" in result["by"] else ""

    named, others = options.seconds
    rounds = [Round(True, tuple(options.tests), others if options.tests else named)]
    if not (options.quick or options.tests):
        rounds.append(Round(False, (), others))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        for k in range(options.jobs):
            place = Path(folder).resolve() / str(k)
            place.mkdir()
            copies.put(Copy.made_in(place))
        for turn in rounds:
            left = [one for one in wanted if turn.concerns(done.get(one[0]))]
            while left:
                list(pool.map(partial(try_one, turn=turn), left))
                doubted = {killed_by(one) for one in wanted if one[0] in done} - sound - failing - {""}
                copy = copies.get()
                failing |= copy.failing(sorted(doubted))  # a test that fails anyway has caught nothing
                copies.put(copy)
                sound |= doubted - failing
                left = [one for one in wanted if one[0] in done and killed_by(one) in failing]


@dataclass(frozen=True)
class Round:
    """By the tests that name a module, or by the others of its room; by these tests, if they are given."""

    first: bool
    tests: tuple[str, ...]
    seconds: float

    def concerns(self, known: Result | None) -> bool:
        """The second round is for what survived the first."""
        if known is None or self.first:
            return known is None
        return bool(known["outcome"] == "survived" and known["quick"])

    def asked(self, file: str) -> tuple[str, ...]:
        """The tests of this round for a module."""
        return self.tests or (naming_tests(file) if self.first else room_tests(file))


def judged(copy: Copy, one: Wanted, turn: Round, failing: set[str], known: Result) -> dict[str, Any]:
    """What becomes of a change in a round."""
    name, change, former = one
    if change is None:
        return {**former, "outcome": "gone", "by": "", "quick": False, "seconds": 0.0, "ran": 0, "of": 0}
    made, began = change.made(), perf_counter()
    tests = turn.asked(change.file)
    outcome = copy.judged(change.file, made.source, tests, failing, turn.seconds) if tests else Outcome("survived")
    return {
        "id": name,
        **asdict(change),
        "copy": copy_number(change, made),
        "before": made.before,
        "after": made.after,
        "statement_after": made.statement_after,
        "outcome": outcome.word,
        "by": outcome.by,
        "quick": turn.first and not turn.tests,
        "seconds": round(perf_counter() - began + known.get("seconds", 0.0), 1),
        "ran": outcome.ran,
        "of": outcome.of,
    }


def compared(old: Kept, new: Kept) -> int:
    """Print both results side by side; the exit status is 1 if the share killed fell, 2 if none can be said."""
    if any(old.head[limit] != new.head[limit] for limit in LIMITS):
        print("the tests had other limits in one of them: nothing can be said", file=sys.stderr)
        return 2
    comparison = Comparison.of(old.results, new.results)
    for result in comparison.gone:
        print(line_of(result))
    for result in comparison.lost:
        print(f"killed before: {line_of(result)}")
    print(comparison)
    return int(comparison.fell)


if __name__ == "__main__":
    sys.exit(main())
