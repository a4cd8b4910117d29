"""Stopped at random moments: by a kill in the middle of a save, by signals, and by words that make no sense.

Each function tries ``count`` times and gives the number tried and a description of each failure, enough to repeat it.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

import numpy as np

import halftrek as ht
from halftrek.cli import main
from halftrek.simulation import random_model

Failures = tuple[int, list[str]]

# -- killed while saving --------------------------------------------------------------------------

# One process that has everything loaded makes a child for each try: the child saves two values in turns until it dies.
_SAVER = """
import os, sys
import halftrek as ht
first, second, target = sys.argv[1:]
values = [ht.load(first), ht.load(second)]
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        while True:
            for value in values:
                ht.save(value, target)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


def kill_during_save(rng: np.random.Generator, count: int) -> Failures:
    """After SIGKILL at any moment of a save the file is one of the two that were saved, whole."""
    failures = []
    graph = ht.graph("; ".join(f"x{k} -> x{k + 1}" for k in range(60)))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        names = [str(folder / name) for name in ("first.json", "second.json", "target.json")]
        for name, seed in zip(names[:2], (1, 2), strict=True):
            ht.save(random_model(graph, random_state=seed), name)
        whole = {Path(name).read_bytes() for name in names[:2]}
        ht.save(random_model(graph, random_state=1), names[2])
        with _running([sys.executable, "-c", _SAVER, *names]) as saver:
            for number in range(count):
                _tell(saver, "go")
                child = int(_heard(saver))
                wait = float(rng.uniform(0.0, 0.03))
                time.sleep(wait)
                os.kill(child, signal.SIGKILL)
                _heard(saver)
                if Path(names[2]).read_bytes() not in whole:
                    failures.append(f"kill {number} after {wait:.6f} s of saving: the file is neither of the two")
    return count, failures


@contextlib.contextmanager
def _running(words: list[str]):  # type: ignore[no-untyped-def]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)


def _tell(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def _heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the process that saves has ended by itself"
    return line


# -- signals --------------------------------------------------------------------------------------

# The console script, which says when it begins to listen to signals: what Python does before that is not ours.
# A run that outlives its terminal ignores SIGHUP, and so would all that it starts.
_SCRIPT = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from halftrek.cli import main
says, listen = int(sys.argv.pop(1)), signal.signal
def listen_and_say(number, handler):
    before = listen(number, handler)
    if number == signal.SIGHUP and handler is not signal.SIG_IGN:
        os.write(says, b".")
    return before
signal.signal = listen_and_say
sys.exit(main())
"""
_LONGEST = 2.5  # seconds, after which most commands have ended
_GRAPH = "X1 -> X2 -> X3; X1 <-> X3"
_COMMANDS = (
    ["simulate", "napkin", "-n", "60000", "--seed", "1", "-o", "out.csv"],
    ["fit", _GRAPH, "rows.csv", "--save", "out.json"],
    ["fit", _GRAPH, "-", "--save", "out.json", "--checks"],
    ["report", _GRAPH, "rows.csv", "--question", "X1 ~> X3", "--out", "out.html"],
    ["effect", _GRAPH, "--sql", "select * from 'rows.csv' order by X1", "X1", "X3"],
    ["counterfactual", _GRAPH, "rows.csv", "--do", "X1=1", "--outcome", "X3", "--out", "out.csv"],
    ["identify", "napkin", "--all"],
    ["demo"],
)


def signals_at_random_moments(rng: np.random.Generator, count: int) -> Failures:
    """Told to stop, a command leaves with 130 or 143, without a traceback, a temporary file or half a result."""
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        rows = Path(place) / "rows.csv"
        assert main(["simulate", "front-door", "-n", "2000", "--seed", "1", "-o", str(rows)]) == 0
        for number in range(count):
            which = int(rng.integers(len(_COMMANDS)))
            what = (signal.SIGINT, signal.SIGTERM)[int(rng.integers(2))]
            wait = float(rng.uniform(0.0, 0.15) if rng.random() < 0.3 else rng.uniform(0.0, _LONGEST))
            wrong = _one_run(which, rows, what, wait)
            said = f"{what.name} after {wait:.4f} s of: halftrek {shlex.join(_COMMANDS[which])}"
            failures += [f"try {number}: {one}; {said}" for one in wrong]
    return count, failures


def _one_run(which: int, rows: Path, what: signal.Signals, wait: float) -> list[str]:
    """Runs a command in a folder of its own, stops it after a while, and says what is wrong afterwards."""
    with tempfile.TemporaryDirectory() as place:
        folder, spare = Path(place) / "here", Path(place) / "spare"
        folder.mkdir()
        spare.mkdir()
        (folder / "rows.csv").write_bytes(rows.read_bytes())
        ready, says = os.pipe()
        with (folder / "rows.csv").open("rb") as given:
            process = subprocess.Popen(
                [sys.executable, "-c", _SCRIPT, str(says), *_COMMANDS[which]], cwd=folder, stdin=given,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[says],
                env={**os.environ, "TMPDIR": str(spare), "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            )  # fmt: skip
        os.close(says)
        listens = os.read(ready, 1) == b"."
        os.close(ready)
        if not listens:
            return [f"it never listens to signals, and ends with {process.communicate()[1].decode()[-400:]!r}"]
        try:
            _, err = process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            process.send_signal(what)
            _, err = process.communicate(timeout=60)
        return _wrong(process.returncode, err.decode(), folder, spare, what)


def _wrong(code: int, err: str, folder: Path, spare: Path, what: signal.Signals) -> list[str]:
    found = []
    if code not in (0, 128 + what):
        found.append(f"exit code {code}, saying {err[-400:]!r}")
    if err not in ("", "halftrek: stopped\n"):
        found.append(f"it says {err[-400:]!r}")
    rests = [p.name for p in (*folder.rglob(".halftrek-*"), *spare.iterdir()) if not p.name.startswith("matplotlib")]
    if rests:
        found.append(f"it leaves {', '.join(rests)}")
    for result in folder.glob("out.*"):
        if not _is_whole(result):
            found.append(f"{result.name} is not whole")
    return found


def _is_whole(result: Path) -> bool:
    text = result.read_text(encoding="utf-8")
    if result.suffix == ".json":
        return ht.load(result) is not None
    if result.suffix == ".html":
        return text.endswith("</html>\n")
    return text.count("\n") in (2001, 60001)


# -- words ----------------------------------------------------------------------------------------

_FIRST = ("identify", "fit", "query", "effect", "counterfactual", "compare", "report", "run", "simulate", "convert",
          "completion", "schema", "dance", "--help", "--version")  # fmt: skip
_WORDS = (
    "x -> y", "x -> m -> y; x <-> y", "x -> x", "x ->", "y ~ x", "dag { x -> y }", "napkin", "front-door", "tal_or",
    "mroz", "rows.csv", "rows.parquet", "cov.csv", "graph.txt", "analysis.toml", "absent.csv", ".", "-", "", " ",
    "é 数", "\x00", "\udcff", "x ~> y", "x -> y", "P(y | do(x=1))", "P(y | do(x", "E[y]", "x", "y", "m", "cond", "pmi",
    "0", "1", "-1", "1e400", "nan", "0.9", "5", "x=1", "x=1,y=2", "x+=1", "=", "lavaan", "dot", "bash", "fit", "n-1",
    "out.csv", "out.json", "out.html", "no/out.csv", "robust", "profile", "delta", "drop", "error", "unit", "cgl-go",
    "select * from 'rows.csv'", "copy (select 1) to 'rows.csv'", "select 1; select 2", "select 1 as x, 2 as y",
)  # fmt: skip
_OPTIONS = (
    "--json", "--debug", "--force", "--sql", "--cov", "--n", "--means", "--divisor", "--missing", "--weights",
    "--sampling-weights", "--categories", "--cluster", "--method", "--noise", "--interval", "--level", "--ends",
    "--random-state", "--write-analysis", "--save", "--out", "-o", "--output", "--effects", "--checks", "--all", "--by",
    "--crude", "--question", "--title", "--do", "--outcome", "--unit", "--rows", "--unidentified", "--names", "--data",
    "--to", "--seed", "-n", "--outside", "--level=0.5", "--sql=select", "--", "-x", "--dance",
)  # fmt: skip
_ANALYSIS = 'graph = "x -> m -> y; x <-> y"\nquestions = ["x ~> y"]\n[data]\nfile = "rows.csv"\n'


def random_command_lines(rng: np.random.Generator, count: int) -> Failures:
    """Words in any order are run or refused in words: no defect, no traceback that was not asked for."""
    failures = []
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            _lay_out(Path(place))
            for number in range(count):
                words = _some_words(rng)
                code, said = _ran(words)
                if code not in (0, 2, 3, 4) or "internal error" in said:
                    failures.append(f"line {number}: halftrek {shlex.join(words)} gives {code}: {said[-400:]!r}")
                elif "Traceback" in said and "--debug" not in words:
                    failures.append(f"line {number}: halftrek {shlex.join(words)} shows a traceback: {said[-400:]!r}")
        finally:
            os.chdir(here)
    return count, failures


def _lay_out(folder: Path) -> None:
    import pandas as pd

    rows = random_model(ht.graph("x -> m -> y; x <-> y"), random_state=1).sample(60, random_state=2)
    frame = pd.DataFrame(np.asarray(rows), columns=["x", "m", "y"])
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    (folder / "cov.csv").write_text("x,m,y\n2.0\n1.0,1.5\n0.4,0.6,1.2\n")
    (folder / "graph.txt").write_text("x -> m -> y; x <-> y")
    (folder / "analysis.toml").write_text(_ANALYSIS)


def _some_words(rng: np.random.Generator) -> list[str]:
    words = [_FIRST[int(rng.integers(len(_FIRST)))]]
    for _ in range(int(rng.integers(0, 9))):
        pool = _OPTIONS if rng.random() < 0.4 else _WORDS
        words.append(pool[int(rng.integers(len(pool)))])
    return words


def _ran(words: list[str]) -> tuple[int, str]:
    class Standard:
        buffer = io.BytesIO(b"x,m,y\n1,2,3\n2,1,4\n0,1,1\n3,3,2\n1,0,0\n")

    said, printed, before = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = cast("io.TextIOWrapper", Standard)
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
            return main(words), said.getvalue()
    except BaseException as error:
        return -1, f"{type(error).__name__}: {error}"
    finally:
        sys.stdin = before
