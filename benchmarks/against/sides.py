"""A revision as it is asked: its worker, started when it is first needed, and again if it ends."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from benchmarks.against.trees import Tree

WORKER = Path(__file__).parent / "worker.py"
PATIENCE = 900.0  # seconds for one answer
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Failed(Exception):
    """A side gives no answer, and why."""


class Side:
    """One revision's worker, in a folder of its own, where its cases write their files."""

    def __init__(self, name: Literal["before", "now"], tree: Tree) -> None:
        self.name = name
        self.tree = tree
        self._folder = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._folder.cleanup()

    def hello(self) -> dict[str, Any]:
        """What the worker has loaded; another tree's halftrek ends the comparison."""
        found = self._ask("hello")
        if Path(found["file"]).resolve() != (self.tree.root / "halftrek" / "__init__.py").resolve():
            raise SystemExit(f"{self.tree.name}: halftrek was loaded from {found['file']}, not from {self.tree.root}")
        return found

    def prepare(self, case: str) -> dict[str, Any]:
        return self._ask("prepare", case=case)

    def time(self, repeats: int) -> dict[str, list[float]]:
        return self._ask("time", repeats=repeats)

    def _ask(self, task: str, **options: Any) -> dict[str, Any]:
        process = self._process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # it has ended, and may have said why
            print(json.dumps({"task": task, "options": options}), file=process.stdin, flush=True)
        late = not select.select([process.stdout], [], [], PATIENCE)[0]
        line = "" if late else process.stdout.readline()
        if not line:
            self._end()  # the next case has a new process
            why = f"no answer in {PATIENCE:g} s" if late else f"its process ended with status {process.poll()}"
            raise Failed(f"{self.name}: {why}")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise Failed(f"{self.name}: {found['error']}")
        return found

    def _started(self) -> subprocess.Popen[str]:
        # nothing of the present environment may lead to another tree; equal seeds for equal orders of sets
        plain = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        own = {"PYTHONSAFEPATH": "1", "PYTHONHASHSEED": "0", "MPLBACKEND": "Agg", **_ONE_THREAD}
        return subprocess.Popen(
            [str(self.tree.python), str(WORKER), str(self.tree.cases)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            cwd=self._folder.name, env={**plain, **own},
        )  # fmt: skip

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):  # a task that was not read
                    pipe.close()
            self._process = None
