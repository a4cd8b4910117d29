"""One revision's process: it gets the name of a case, sets it up, and times it, for as long as it is asked.

Run by path with the revision's own interpreter and the folder of its cases, so it stands on the standard library alone.
Tasks are lines of JSON on standard input, answers are lines of JSON on standard output.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import resource
import sys
import time
import types
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

LONG = 3.0  # seconds: a call that takes longer is not made once more to warm up
PACKAGES = ("numpy", "scipy", "narwhals", "networkx", "python-flint", "pandas", "pyarrow", "duckdb")


class Worker:
    """The cases, the one that is set up, and how many calls it has had."""

    def __init__(self, folder: Path) -> None:
        # a package of its own name: ``cases`` finds its neighbours, wherever the folder stands
        package = types.ModuleType("asked")
        package.__path__ = [str(folder)]
        sys.modules["asked"] = package
        self.cases = import_module("asked.cases").CASES

    def hello(self) -> dict[str, Any]:
        import halftrek

        return {
            "file": halftrek.__file__,
            "paces": {name: case.pace for name, case in self.cases.items()},
            "packages": {"python": sys.version.split()[0]} | {name: _version(name) for name in PACKAGES},
        }

    def prepare(self, case: str) -> dict[str, Any]:
        """Set up, and call for the first time: what came out, and what a warm call takes.

        ``seconds`` are those of the processor, ``whole`` those that pass with all that is made for the call.
        """
        self.case = self.cases[case]
        self.given = self.case.given()
        self.calls = 0
        begun = time.perf_counter()
        wall, processor, result = self._call()
        numbers = [float(number) for number in self.case.numbers(result)]
        if wall < LONG:
            begun = time.perf_counter()
            _, processor, _ = self._call()
        return {"numbers": numbers, "seconds": max(1e-6, processor), "whole": time.perf_counter() - begun}

    def time(self, repeats: int) -> dict[str, Any]:
        """Seconds of each call: of the clock on the wall, and of the processor."""
        # what earlier cases have left is looked through no more, or one side's collections would take longer by chance
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        gc.collect()
        found = [self._call()[:2] for _ in range(repeats)]
        return {"wall": [wall for wall, _ in found], "processor": [processor for _, processor in found]}

    def _call(self) -> tuple[float, float, Any]:
        handed = self.case.fresh(self.given, self.calls)
        self.calls += 1
        processor, begun = _processor(), time.perf_counter()
        result = self.case.ask(handed)
        return time.perf_counter() - begun, _processor() - processor, result


def _processor() -> float:
    """Seconds of this process and of those that it has started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _answered(worker: Worker, task: str, options: dict[str, Any]) -> dict[str, Any]:
    """What a task gives; whatever goes wrong in a case is an answer, too."""
    try:
        found: dict[str, Any] = getattr(worker, task)(**options)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return found


def main(folder: str) -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a case prints is no answer
    warnings.simplefilter("ignore")
    try:
        worker = Worker(Path(folder))
    except Exception as error:  # cases in other names than this revision's, say
        print(json.dumps({"error": f"its cases cannot be read: {type(error).__name__}: {error}"}), file=answers)
        return
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_answered(worker, asked["task"], asked["options"])), file=answers)


if __name__ == "__main__":
    main(sys.argv[1])
