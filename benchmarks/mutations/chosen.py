"""Which tests are asked about a module: those that name it or import it, then those of its room, the nearest first."""

from __future__ import annotations

import ast
import re
from functools import cache

from benchmarks.mutations.changes import ROOT

NAMED = 4  # files that name the module, at most
STEPS = 2  # from a module to those that import it, in search of tests


@cache
def importers() -> dict[str, set[str]]:
    """The files of the package and the test files that import each module, by its dotted name."""
    found: dict[str, set[str]] = {}
    for path in (*(ROOT / "halftrek").rglob("*.py"), *(ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


@cache
def room_tests(file: str) -> tuple[str, ...]:
    """The other test files of the module's room: those that name it, those of its folder, the rest."""
    parts = file.removeprefix("halftrek/").removesuffix(".py").split("/")
    room = parts[0]
    tests = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / room).rglob("test_*.py"))
    naming = {test: place for place, test in enumerate(_naming(file))}

    def distance(test: str) -> tuple[int, int]:
        shared = sum(1 for k in range(len(parts)) if test.split("/")[1 : k + 2] == parts[: k + 1])
        return naming.get(test, len(naming)), -shared

    return tuple(test for test in sorted(tests, key=distance) if test not in naming_tests(file))


def _dotted(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


@cache
def _naming(file: str) -> list[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.ClassDef
    defined = {n.name for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")}
    folder, _, own = file.removeprefix("halftrek/").removesuffix(".py").rpartition("/")
    scores: dict[str, tuple[bool, bool, int]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        test = path.relative_to(ROOT).as_posix()
        alike, imported = test == f"tests/{folder}/test_{own}.py", test in importers().get(_dotted(file), ())
        at_home = test.startswith(f"tests/{(folder or own).split('/')[0]}/")
        named = (
            len(defined & set(re.findall(r"\w+", path.read_text(encoding="utf-8"))))
            if alike or imported or at_home
            else 0
        )
        if alike or imported or named:
            scores[test] = (alike or imported, test.startswith(f"tests/{folder}/"), named)
    return sorted(scores, key=lambda test: scores[test], reverse=True)
