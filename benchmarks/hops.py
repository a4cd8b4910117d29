"""How far one request walks through the package: the modules that it visits, and how often the room changes.

    python -m benchmarks.hops            the counts, and what they should be at most
    python -m benchmarks.hops --list     the modules too, in the order of the first visit

A room is the first name after ``halftrek.``; it changes when a function is called that lives in another room than the
function called before it. Each request is made once beforehand, so that imports and first-time work do not count.
Nothing is timed: the counts are the same on every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, groupby
from types import FrameType

import halftrek as ht

GRAPH = "x -> m -> y; x <-> y"
QUESTION = "P(y | do(x=1))"
AIM = " (aim: at most 25 and 40)"


@dataclass(frozen=True)
class Walk:
    """Every call of one request, as the module that it went to."""

    calls: tuple[str, ...]

    @property
    def modules(self) -> tuple[str, ...]:
        """In the order of the first visit."""
        return tuple(dict.fromkeys(self.calls))

    @property
    def changes(self) -> int:
        """Of the room, from one call to the next."""
        return sum(1 for _ in groupby(self.calls, room_of)) - 1


def room_of(module: str) -> str:
    """The first name after ``halftrek.``."""
    return module.split(".")[1] if "." in module else module


def walk_of(request: Callable[[], object]) -> Walk:
    """The walk of one request; functions outside of halftrek do not count."""
    calls: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        if event == "call" and module.split(".")[0] == "halftrek":
            calls.append(module)

    request()
    sys.setprofile(watch)
    try:
        request()
    finally:
        sys.setprofile(None)
    return Walk(tuple(calls))


def main() -> None:
    """Print the walks of a fit and of a question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the modules, in the order of the first visit")
    listing = parser.parse_args().list

    graph = ht.graph(GRAPH)
    data = ht.simulation.random_model(graph, random_state=1).sample(1_000, random_state=2)
    fit = ht.fit(graph, data)
    values = count(2)
    walks = {
        "ht.fit(graph, data)": walk_of(lambda: ht.fit(graph, data)),
        f'fit.query("{QUESTION}")': walk_of(lambda: fit.query(QUESTION)),
        "fit.query, another question": walk_of(lambda: fit.query(f"P(y | do(x={next(values)}))")),
    }
    for request, walk in walks.items():
        aim = AIM if request.endswith('")') else ""
        print(f"{request}: {len(walk.modules)} modules, {walk.changes} changes of room{aim}")
        if listing:
            print(*(f"  {module}" for module in walk.modules), sep="\n")


if __name__ == "__main__":
    main()
