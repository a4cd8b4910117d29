"""A change, made in a copy of the project, and what its tests say of it.

It is caught if a test fails; slow if one test or all of them exceed what they never need without it, as in an endless
loop; else it survived. Whether the tests that failed also fail without any change is seen at the end, for all at once.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.mutations.changes import ROOT
from benchmarks.mutations.limits import BUDGET, SLOW, TEST, TOLD

WALL = 20.0  # seconds for each CPU second: on a busy machine, and where tests wait for other processes
# The limit of the system, for what Python cannot interrupt; a change that eats the memory is the first to be ended.
LIMITED = '(echo 1000 > /proc/self/oom_score_adj) 2> /dev/null; ulimit -t "$0"; exec "$@"'
LEFT_OUT = ("-p", "no:schemathesis")  # a second of CPU time at each start, for one test of the page
_moments = count(1_000_000_000)


@dataclass(frozen=True)
class Outcome:
    """What became of a change in one round of tests."""

    word: str
    by: str = ""
    ran: int = 0
    of: int = 0


@dataclass(frozen=True)
class Copy:
    """A copy of the project in which a module can be changed."""

    folder: Path

    @classmethod
    def made_in(cls, folder: Path) -> Copy:
        """Every file that belongs to the project, as it is now."""
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        copy = cls(folder)
        where = copy.python(["-c", "import halftrek; print(halftrek.__file__)"], 60.0)[1]
        assert Path(where.strip()).is_relative_to(folder), f"the tests would run {where}, not the copy"
        return copy

    @property
    def told(self) -> Path:
        """Where the tests' plugin says what happened."""
        return self.folder.with_name(f"{self.folder.name}.told")

    def python(self, arguments: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Exit status and output of a process in the copy; no status if the time was over."""
        surroundings = {"PYTHONPATH": str(self.folder), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        limit = int(seconds + TEST)
        process = subprocess.Popen(
            ["/bin/sh", "-c", LIMITED, str(limit), sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, **surroundings, BUDGET: str(seconds), TOLD: str(self.told)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output = process.communicate(timeout=WALL * limit)[0]
        except subprocess.TimeoutExpired:
            output = ""
        over = process.poll() in (None, SLOW, -signal.SIGXCPU, -signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the test may have started processes of its own
        process.communicate()
        return None if over else process.returncode, output

    @contextmanager
    def changed(self, file: str, source: str) -> Iterator[None]:
        """The copy with a changed module; its time differs each time, so that no compiled module is taken for it."""
        path, moment = self.folder / file, next(_moments)
        path.write_text(source, encoding="utf-8")
        os.utime(path, (moment, moment))
        try:
            yield
        finally:
            shutil.copy2(ROOT / file, path)

    def judged(self, file: str, source: str, tests: Sequence[str], without: Iterable[str], seconds: float) -> Outcome:
        """What becomes of a change in a round of tests, until the first of them fails."""
        with self.changed(file, source):
            status, output, told = self._tested(["-x", *(f"--deselect={test}" for test in without), *tests], seconds)
        failed = [line["failed"] for line in told if "failed" in line]
        slow = [line["slow"] for line in told if "slow" in line]
        end = next((line for line in told if "ran" in line), {})
        ran, of = int(end.get("ran", 0)), int(end.get("of", 0))
        if failed:
            return Outcome("caught", failed[0], ran, of)
        if status in (-signal.SIGTERM, -signal.SIGINT):
            raise InterruptedError("the tests were stopped from outside, which says nothing of the change")
        if status is None:
            return Outcome("slow", "".join(slow), ran, of)
        if status in (0, 5):  # 5: no tests
            return Outcome("survived", "", ran, of)
        return Outcome("caught", output.strip()[-200:], ran, of)

    def failing(self, tests: Sequence[str]) -> set[str]:
        """Those that fail without any change."""
        told = self._tested(tests, TEST * len(tests))[2] if tests else []
        return {line["failed"] for line in told if "failed" in line}

    def _tested(self, arguments: Sequence[str], seconds: float) -> tuple[int | None, str, list[dict[str, Any]]]:
        self.told.unlink(missing_ok=True)
        plugins = ["-p", "no:cacheprovider", *LEFT_OUT, "-p", "benchmarks.mutations.limits"]
        status, output = self.python(["-m", "pytest", "-q", "--tb=no", *plugins, *arguments], seconds)
        lines = self.told.read_text(encoding="utf-8").splitlines() if self.told.exists() else []
        return status, output, [json.loads(line) for line in lines]
