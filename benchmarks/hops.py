"""How far one request walks through the package: the modules that it visits, and how often the room changes.

    python -m benchmarks.hops                    the counts, and what they should be at most
    python -m benchmarks.hops --list             the modules too, in the order of the first visit
    python -m benchmarks.hops --rooms            by room: modules visited, functions called, how often one comes in
    python -m benchmarks.hops --fresh            each request in an interpreter of its own, for the first time
    python -m benchmarks.hops --rooms --write    both ways, kept in benchmarks/results/hops.json

A room is the first name after ``halftrek.``; it changes when a function is called that lives in another room than the
function called before it. A module is visited if one of its functions is called. What runs while a module is loaded
(its own lines, decorators, tables that it builds) is no visit, since nobody reads it for the reason of a number; how
many modules of the package are loaded in the end is said beside it. Functions in other threads are not followed.

Warm, the request was made once beforehand, or one like it where it must be another one. Fresh, only what its user had
already was made beforehand: the graph, and the fit that was asked before; then first-time work counts. Nothing is
timed: the counts are the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from pathlib import Path
from types import FrameType

import numpy as np

import halftrek as ht

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "hops.json"
GRAPH, OPEN_GRAPH = "x -> m -> y; x <-> y", "x -> y; x <-> y"
QUESTION = "P(y | do(x=1))"
VALUES = ("P(y | do(x=2))", "P(y | do(x=3))")
QUESTIONS = ("E[m | do(x=1)]", "E[y | do(m=1)]")
LIMITS = tuple(f"abs(corr(x <-> y)) <= {limit}" for limit in (0.3, 0.4, 0.5))
AIM = " (aim: at most 25 and 40)"

Ask = Callable[[int], object]  # the request that is followed, 1, and what warms it up, 0


@dataclass(frozen=True)
class Walk:
    """Every call of one request, as the module that it went to, and how many modules the process had loaded then."""

    calls: tuple[str, ...]
    loaded: int = 0

    @property
    def modules(self) -> tuple[str, ...]:
        """In the order of the first visit."""
        return tuple(dict.fromkeys(self.calls))

    @property
    def changes(self) -> int:
        """Of the room, from one call to the next."""
        return sum(1 for _ in groupby(self.calls, room_of)) - 1

    @property
    def rooms(self) -> dict[str, dict[str, int]]:
        """By room, the busiest first: modules visited, functions called, how often the walk comes in."""
        calls = [room_of(module) for module in self.calls]
        modules = [room_of(module) for module in self.modules]
        entered = [room for room, _ in groupby(calls)]
        return {
            room: {"modules": modules.count(room), "calls": calls.count(room), "entered": entered.count(room)}
            for room in sorted(set(calls), key=lambda room: (-entered.count(room), room))
        }

    @property
    def short(self) -> str:
        """Modules and changes."""
        return f"{len(self.modules)}/{self.changes}"


def room_of(module: str) -> str:
    """The first name after ``halftrek.``."""
    return module.split(".")[1] if "." in module else module


def of_package(module: str) -> bool:
    """Whether a module is one of halftrek's."""
    return module.split(".")[0] == "halftrek"


def followed(request: Callable[[], object]) -> Walk:
    """The walk of one request; functions outside of halftrek do not count, nor what runs while a module is loaded."""
    calls: list[str] = []
    loading = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal loading
        module = str(frame.f_globals.get("__name__", ""))
        if event not in ("call", "return") or not of_package(module):
            return
        if frame.f_code.co_name == "<module>":
            loading += 1 if event == "call" else -1
        elif event == "call" and not loading:
            calls.append(module)

    sys.setprofile(watch)
    try:
        request()
    finally:
        sys.setprofile(None)
    return Walk(tuple(calls), sum(map(of_package, sys.modules)))


def walk_of(request: Callable[[], object]) -> Walk:
    """The walk of a request that was made before."""
    request()
    return followed(request)


def rows() -> dict[str, np.ndarray]:
    """1,000 rows of the front door; halftrek's own simulation would have visited rooms before the request does."""
    rng = np.random.default_rng(1)
    u, a, b, c = rng.normal(size=(4, 1_000))
    x = u + a
    m = 0.8 * x + b
    return {"x": x, "m": m, "y": 0.5 * m + u + c}


def written(folder: Path) -> tuple[str, str]:
    """The graph and the rows as files."""
    graph, table = folder / "graph.txt", folder / "rows.csv"
    graph.write_text(f"{GRAPH}\n")
    columns = rows()
    np.savetxt(table, np.column_stack(list(columns.values())), "%.17g", ",", header=",".join(columns), comments="")
    return str(graph), str(table)


def identify(_: Path) -> Ask:
    """A verdict from the graph alone."""
    graph = ht.graph(GRAPH)
    return lambda _: ht.identify(graph, QUESTION)


def fit(_: Path) -> Ask:
    """A first fit."""
    graph, data = ht.graph(GRAPH), rows()
    return lambda _: ht.fit(graph, data)


def same_question(_: Path) -> Ask:
    """What was asked before."""
    fit = ht.fit(GRAPH, rows())
    fit.query(QUESTION)
    return lambda _: fit.query(QUESTION)


def another_value(_: Path) -> Ask:
    """What was asked before, at another value."""
    fit = ht.fit(GRAPH, rows())
    fit.query(QUESTION)
    return lambda k: fit.query(VALUES[k])


def another_question(_: Path) -> Ask:
    """A question of another kind than the one before."""
    fit = ht.fit(GRAPH, rows())
    fit.query(QUESTION)
    return lambda k: fit.query(QUESTIONS[k])


def another_limit(_: Path) -> Ask:
    """Bounds, under an assumption with another number than before."""
    fit = ht.fit(OPEN_GRAPH, rows())
    fit.bounds("x -> y", assume=[LIMITS[2]])
    return lambda k: fit.bounds("x -> y", assume=[LIMITS[k]])


def printed_from_file(folder: Path) -> Ask:
    """One answer in words, from a file of rows."""
    graph, table = ht.graph(GRAPH), written(folder)[1]
    return lambda _: unseen(lambda: print(ht.fit(graph, table).query(QUESTION)))


def command_line(folder: Path) -> Ask:
    """One answer as JSON, from a file of rows and a file of the graph."""
    from halftrek.cli import main

    graph, table = written(folder)
    return lambda _: unseen(lambda: main(["effect", graph, table, QUESTION, "--json"]))


def unseen(request: Callable[[], object]) -> None:
    """A request that prints; what it prints is looked at only to know that there is some."""
    with redirect_stdout(StringIO()) as printed:
        request()
    assert printed.getvalue(), "nothing was printed"


REQUESTS: dict[str, tuple[str, Callable[[Path], Ask]]] = {
    "identify": (f'ht.identify(graph, "{QUESTION}")', identify),
    "fit": ("ht.fit(graph, data)", fit),
    "same question": (f'fit.query("{QUESTION}")', same_question),
    "another value": (f'fit.query("{VALUES[1]}"), another value', another_value),
    "another question": (f'fit.query("{QUESTIONS[1]}"), another question', another_question),
    "another limit": (f'fit.bounds("x -> y", assume=["{LIMITS[1]}"]), another limit', another_limit),
    "print from a file": ('print(ht.fit(graph, "rows.csv").query(...))', printed_from_file),
    "command line": ("halftrek effect graph.txt rows.csv ... --json", command_line),
}


def warm(name: str) -> Walk:
    """The walk of a request, made the second time."""
    with tempfile.TemporaryDirectory() as folder:
        ask = REQUESTS[name][1](Path(folder))
        ask(0)
        return followed(lambda: ask(1))


def first(name: str) -> Walk:
    """The walk of a request, made the first time."""
    with tempfile.TemporaryDirectory() as folder:
        ask = REQUESTS[name][1](Path(folder))
        return followed(lambda: ask(1))


def fresh(name: str) -> Walk:
    """The walk of a request, made the first time in an interpreter of its own."""
    command = [sys.executable, "-m", "benchmarks.hops", "--alone", name]
    told = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return Walk(tuple(told["calls"]), told["loaded"])


def figures(walk: Walk, way: str) -> dict[str, object]:
    """What is kept of a walk; what a warm process had loaded came from all requests before."""
    loaded = {"loaded": walk.loaded} if way == "fresh" else {}
    return {"modules": len(walk.modules), "changes": walk.changes, **loaded, "rooms": walk.rooms}


def show(walks: dict[str, Walk], way: str, rooms: bool, listing: bool) -> None:
    """Print the walks of all requests."""
    for name, walk in walks.items():
        aim = AIM if (name, way) == ("same question", "warm") else ""
        loaded = f", {walk.loaded} modules loaded" if way == "fresh" else ""
        print(f"{REQUESTS[name][0]}: {len(walk.modules)} modules, {walk.changes} changes of room{loaded}{aim}")
        if rooms:
            for room, counts in walk.rooms.items():
                print(f"  {room:16s}" + "".join(f"{count:6d} {word:8s}" for word, count in counts.items()).rstrip())
        if listing:
            print(*(f"  {module}" for module in walk.modules), sep="\n")


def main() -> None:
    """Print the walks of each request, and a line of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the modules, in the order of the first visit")
    parser.add_argument("--rooms", action="store_true", help="modules, calls and entries of each room")
    parser.add_argument("--fresh", action="store_true", help="in new interpreters, in place of warm ones")
    parser.add_argument("--write", action="store_true", help="warm and fresh, into benchmarks/results/hops.json")
    parser.add_argument("--alone", choices=REQUESTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        walk = first(options.alone)
        print(json.dumps({"calls": walk.calls, "loaded": walk.loaded}))
        return
    ways = {"warm": warm, "fresh": fresh} if options.write else {"fresh": fresh} if options.fresh else {"warm": warm}
    walks = {way: {name: walked(name) for name in REQUESTS} for way, walked in ways.items()}
    for way, found in walks.items():
        print(f"{way}:")
        show(found, way, options.rooms, options.list)
    if options.write:
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        kept = {name: {way: figures(found[name], way) for way, found in walks.items()} for name in REQUESTS}
        RESULT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    for way, found in walks.items():
        print(f"modules/changes, {way}: " + ", ".join(f"{name} {walk.short}" for name, walk in found.items()))


if __name__ == "__main__":
    main()
