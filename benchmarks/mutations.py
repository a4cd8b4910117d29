"""Would the tests notice? Change one operator or number of the core rooms at a time, and run the tests that concern it.

    python -m benchmarks.mutations --seed 1 --count 100                 changes number 1 to 100 of the order of seed 1
    python -m benchmarks.mutations --seed 1 --count 200                 goes on where that ended: results are kept
    python -m benchmarks.mutations --seed 2 --count 20 --only queries   one room
    python -m benchmarks.mutations --quick                              only the tests that name the module
    python -m benchmarks.mutations --again                              survivors once more, by all tests of their room
    python -m benchmarks.mutations --at halftrek/data/moments.py:47     every change of one line
    python -m benchmarks.mutations --again --tests tests/results        survivors once more, by tests of another room

The changes: ``+`` and ``-``, ``*`` and ``/``, ``<`` and ``<=``, ``>`` and ``>=``, ``==`` and ``!=``, ``and`` and
``or``, True and False are exchanged; a whole number grows by one, another by a tenth, a zero becomes one; ``not`` and
the sign of a minus are dropped. Texts, annotations and decorators are left alone, and so is what is not meant to be
noticed: ``strict`` and ``check_finite``, and numbers so small that they can only be tolerances.

A change is written into a copy of the project in a temporary folder. First come the test files that name the module or
what it defines, or those of the modules that import it; then the other tests of its room; each time with a limit. A
change is caught, or it survived, or it is slow: no test had failed when the time was over, as in an endless loop.
Results are lines of JSON in ``--out``, and the last line of a change counts. A survivor of a quick run is tried again
by tests that use its module, in whichever room they are, before anybody writes a new one. It is run alone and by hand;
a change takes about 20 seconds on a busy core.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("identification", "estimation", "inference", "queries", "models", "data", "trust", "graphs")
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
UNSEEN_FIELDS = ("annotation", "returns", "decorator_list")
UNSEEN_KEYWORDS = ("strict", "check_finite")
TOLERANCE = 1e-4  # floats below this are tolerances
NAMED, NAMED_SECONDS, ROOM_SECONDS = 4, 120.0, 300.0  # files that name the module, at most; limits of both rounds
STEPS = 2  # from a module to those that import it, in search of tests


# Put beside the copied tests: that one example fails is enough, a small one is not looked for.
FIRST_FAILURE = """from hypothesis import Phase, settings

settings.register_profile("first failure", phases=[Phase.explicit, Phase.generate], database=None)
settings.load_profile("first failure")
"""

Place = tuple[ast.AST, Callable[[], None]]


class Dropped(ast.UAdd):
    """Stands where a ``not`` was."""


class _Without(ast.NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """A dropped ``not`` leaves what it was about, as True or False."""
        self.generic_visit(node)
        return ast.Call(ast.Name("bool"), [node.operand], []) if isinstance(node.op, Dropped) else node


def places(node: ast.AST) -> Iterator[Place]:
    """What can be changed in a node and below it: the piece of code, and what changes it."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OPERATORS:
            yield node, partial(setattr, node, "op", OPERATORS[type(op)]())
        case ast.Compare(ops=ops):
            for k, comparison in enumerate(ops):
                if type(comparison) in OPERATORS:
                    yield node, partial(ops.__setitem__, k, OPERATORS[type(comparison)]())
        case ast.UnaryOp(op=ast.Not()):
            yield node, partial(setattr, node, "op", Dropped())
        case ast.UnaryOp(op=ast.USub()):
            yield node, partial(setattr, node, "op", ast.UAdd())
        case ast.Constant(value=bool(value)):
            yield node, partial(setattr, node, "value", not value)
        case ast.Constant(value=int(value)):
            yield node, partial(setattr, node, "value", value + 1)
        case ast.Constant(value=float(value)) if value == 0.0 or abs(value) >= TOLERANCE:
            yield node, partial(setattr, node, "value", 1.1 * value if value else 1.0)
    for name, inside in ast.iter_fields(node):
        if name in UNSEEN_FIELDS or isinstance(node, ast.JoinedStr):
            continue
        for child in inside if isinstance(inside, list) else [inside]:
            unseen = isinstance(child, ast.keyword) and child.arg in UNSEEN_KEYWORDS
            if isinstance(child, ast.AST) and not unseen:
                yield from places(child)


@dataclass(frozen=True)
class Change:
    """The ``number``-th change of a file, in the order of its syntax tree."""

    file: str
    number: int
    line: int

    @property
    def room(self) -> str:
        """The folder below ``halftrek``."""
        return self.file.split("/")[1]

    def made(self) -> tuple[str, str, str]:
        """The piece of code before and after, and the whole changed module."""
        tree = ast.parse((ROOT / self.file).read_text())
        node, change = next(islice(places(tree), self.number, None))
        before = ast.unparse(node)
        change()
        return before, written(node), written(tree)


def written(node: ast.AST) -> str:
    """The code of a changed node."""
    return ast.unparse(ast.fix_missing_locations(_Without().visit(deepcopy(node))))


def all_changes() -> list[Change]:
    """Every change of the core rooms."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / "halftrek" / room).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            lines = [getattr(node, "lineno", 0) for node, _ in places(ast.parse(path.read_text()))]
            found += [Change(file, k, line) for k, line in enumerate(lines)]
    return found


@cache
def importers() -> dict[str, set[str]]:
    """The files of the package and the test files that import each module, by its dotted name."""
    found: dict[str, set[str]] = {}
    for path in (*(ROOT / "halftrek").rglob("*.py"), *(ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    found.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    return found


@cache
def naming_tests(file: str) -> tuple[str, ...]:
    """The test files for a module, the most telling ones first.

    They are called like it, import it, or stand in its room and name what it defines; where these are few, those of the
    modules that import it follow.
    """
    chosen, asked = _naming(file), [file]
    for _ in range(STEPS):
        if len(chosen) >= NAMED:
            break
        above = {f for one in asked for f in importers().get(_dotted(one), ()) if not f.endswith("__init__.py")}
        asked = sorted(f for f in above if f.startswith("halftrek"))
        chosen += [test for one in asked for test in _naming(one) if test not in chosen]
    return tuple(dict.fromkeys(chosen))[:NAMED]


def _dotted(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


def _naming(file: str) -> list[str]:
    tree = ast.parse((ROOT / file).read_text())
    kinds = ast.FunctionDef | ast.ClassDef
    defined = {n.name for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")}
    folder, _, own = file.removeprefix("halftrek/").rpartition("/")
    scores: dict[str, tuple[bool, bool, int]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        test = path.relative_to(ROOT).as_posix()
        alike, imported = test == f"tests/{folder}/test_{own}", test in importers().get(_dotted(file), ())
        at_home = test.startswith(f"tests/{folder.split('/')[0]}/")
        named = len(defined & set(re.findall(r"\w+", path.read_text()))) if alike or imported or at_home else 0
        if alike or imported or named:
            scores[test] = (alike or imported, test.startswith(f"tests/{folder}/"), named)
    return sorted(scores, key=lambda test: scores[test], reverse=True)


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
        (folder / "conftest.py").write_text(FIRST_FAILURE)
        copy = cls(folder)
        where = copy.python(["-c", "import halftrek; print(halftrek.__file__)"], 60.0)[1]
        assert Path(where.strip()).is_relative_to(folder), f"the tests would run {where}, not the copy"
        return copy

    def python(self, arguments: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Exit status and output of a process in the copy; no status if the time was over."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder), "OPENBLAS_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output = process.communicate(timeout=seconds)[0]
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the test may have started processes of its own
            process.communicate()
            return None, ""

    @contextmanager
    def changed(self, file: str, source: str, moment: int) -> Iterator[None]:
        """The copy with a changed module; ``moment`` differs each time, so that no compiled module is taken for it."""
        path = self.folder / file
        path.write_text(source)
        os.utime(path, (moment, moment))
        try:
            yield
        finally:
            shutil.copy2(ROOT / file, path)

    def failing(self, tests: Sequence[str], unless: Sequence[str], seconds: float) -> tuple[str, str]:
        """What became of a change in a round of tests, and the first test that failed."""
        left_out = [f"--ignore={test}" for test in unless]
        command = ["-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *left_out, *tests]
        status, output = self.python(command, seconds)
        if status in (0, 5):  # 5: no tests
            return "survived", ""
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        return ("slow", "") if status is None else ("caught", failed[1] if failed else output.strip()[-200:])


def judged(copy: Copy, change: Change, moment: int, quick: bool, tests: Sequence[str] = ()) -> dict[str, Any]:
    """What becomes of a change by given tests; else by those that name its module, then by the others of its room."""
    before, after, source = change.made()
    named, began = tests or naming_tests(change.file), perf_counter()
    outcome, by = "survived", ""
    with copy.changed(change.file, source, moment):
        if named:
            outcome, by = copy.failing(named, (), ROOM_SECONDS if tests else NAMED_SECONDS)
        if outcome == "survived" and not tests and not (quick and named):
            outcome, by = copy.failing([f"tests/{change.room}"], named, ROOM_SECONDS)
    seconds = round(perf_counter() - began, 1)
    told = {"outcome": outcome, "before": before, "after": after, "by": by, "quick": quick, "seconds": seconds}
    return {**asdict(change), **told}


def known_results(path: Path) -> dict[Change, dict[str, Any]]:
    """The last result of each change of a former run."""
    lines = path.read_text().splitlines() if path.exists() else []
    results = map(json.loads, lines)
    return {Change(r["file"], r["number"], r["line"]): r for r in results}


def wanted(options: argparse.Namespace, known: dict[Change, dict[str, Any]]) -> list[Change]:
    """The changes that are to be tried now, in their order."""
    if options.again:
        return [change for change, result in known.items() if result["outcome"] == "survived"]
    changes = all_changes()
    if options.at:
        return [c for c in changes if f"{c.file}:{c.line}" in options.at or c.file in options.at]
    random.Random(options.seed).shuffle(changes)
    chosen = [c for c in changes if options.only in (None, c.room)][: options.count]
    return [c for c in chosen if c not in known]


def main() -> None:
    """Try changes, and print those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the order of all changes")
    parser.add_argument("--count", type=int, default=100, help="how many of them, from the first")
    parser.add_argument("--only", choices=ROOMS, help="one room")
    parser.add_argument("--quick", action="store_true", help="only the tests that name the module, where there are any")
    parser.add_argument("--again", action="store_true", help="those that survived in --out")
    parser.add_argument("--tests", nargs="+", default=(), help="these, instead of those that are chosen")
    parser.add_argument("--at", nargs="+", help="all changes of a line, file:line, or of a file")
    parser.add_argument("--out", type=Path, default=Path("mutations.jsonl"), help="results, one line each")
    options = parser.parse_args()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests interrupt; a shell's background jobs ignore that
    known = known_results(options.out)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, options.out.open("a") as out:
        copy = Copy.made_in(Path(folder).resolve())
        for moment, change in enumerate(wanted(options, known), start=1):
            result = judged(copy, change, moment, options.quick, options.tests)
            found[result["outcome"]] += 1
            print(json.dumps(result), file=out, flush=True)
            print(f"{result['outcome']:8s} {change.file}:{change.line}  {result['before']}  ->  {result['after']}")
    print(", ".join(f"{count} {outcome}" for outcome, count in found.items()))


if __name__ == "__main__":
    main()
