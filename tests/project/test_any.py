"""``Any`` in signatures: at the border alone, where a thing comes from a library, a file or a user, and counted."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.project.pages import ROOT

MOST = 60  # functions
UNTYPED = ("Array", "Floats")  # of arrays.py: numpy itself does not say what linear algebra gives


def says_any(annotation: ast.expr, hidden: frozenset[str] = frozenset()) -> bool:
    """Whether a type mentions Any, in quotes too, or one of the names that stand for it."""
    return not {"Any", *hidden}.isdisjoint(re.findall(r"\w+", ast.unparse(annotation)))


def types_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    a = function.args
    given = [one.annotation for one in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if one is not None]
    yield from (one for one in (*given, function.returns) if one is not None)


def aliases(tree: ast.Module) -> Iterator[str]:
    """Names of a module that stand for a type with Any in it."""
    for line in tree.body:
        if isinstance(line, ast.Assign) and says_any(line.value):
            yield from (target.id for target in line.targets if isinstance(target, ast.Name))


def functions_with_any(trees: Mapping[Path, ast.Module]) -> list[str]:
    hidden = frozenset(name for tree in trees.values() for name in aliases(tree) if name not in UNTYPED)
    return [
        f"{path.as_posix()}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if any(says_any(one, hidden) for one in types_of(node))
    ]


def test_any_is_found_wherever_it_stands() -> None:
    text = (
        "Row = dict[str, Any]\ndef a(x: Any): ...\ndef b() -> list['Any']: ...\ndef c(*, r: Row): ...\ndef d(x: int): ."
    )
    found = functions_with_any({Path("m.py"): ast.parse(f"{text}..")})
    assert [line.split()[1] for line in found] == ["a", "b", "c"]


def test_any_stays_at_the_border() -> None:
    paths = sorted((ROOT / "halftrek").rglob("*.py"))
    found = functions_with_any({p.relative_to(ROOT): ast.parse(p.read_text(encoding="utf-8")) for p in paths})
    folders = Counter("/".join(Path(line.partition(":")[0]).parts[:2]) for line in found)
    report = "\n".join([*(f"{count:4} {folder}" for folder, count in folders.most_common()), *found])
    assert len(found) <= MOST, f"{len(found)} functions have Any in their signature, at most {MOST} may:\n{report}"
