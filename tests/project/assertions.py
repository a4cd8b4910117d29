"""Which tests come to an assertion on every way through them, read from their text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

WALKS = ("combinations", "enumerate", "list", "pairwise", "permutations", "product", "reversed", "sorted", "zip")
INNER = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """One file, with the functions that it defines and those that it takes from other files of the tests."""

    path: Path
    root: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {f.name: f for f in ast.walk(self.tree) if isinstance(f, ast.FunctionDef)}

    @cached_property
    def tests(self) -> list[ast.FunctionDef]:
        every = [f for f in ast.walk(self.tree) if isinstance(f, ast.FunctionDef)]
        return [f for f in every if f.name.startswith("test_")]

    @cached_property
    def imported(self) -> dict[str, Module]:
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
                path = self.root.joinpath(*str(node.module).split(".")).with_suffix(".py")
                if path.is_file():
                    found.update({name.asname or name.name: Module(path, self.root) for name in node.names})
        return found

    @cached_property
    def full(self) -> set[str]:
        """Names of constants, and names that are only given values of which one sees that they are not empty."""
        given: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    given.setdefault(ast.unparse(target), []).append(node.value)
        return {name for name, values in given.items() if name.isupper() or all(map(_filled, values))}

    def walked(self, over: ast.expr) -> bool:
        """A loop over this is walked at least once."""
        match over:
            case ast.Name(name):
                return name in self.full or name.isupper()
            case ast.Subscript(value) | ast.Starred(value):
                return self.walked(value)
            case ast.Call(ast.Name("range" | "some")):
                return True
            case ast.Call(ast.Name(name), arguments) if name in WALKS:
                return any(map(self.walked, arguments))
            case ast.Call(ast.Attribute(value, "items" | "values" | "keys")):
                return self.walked(value)
        return _filled(over)

    def asserting(self, name: str, above: frozenset[str] = frozenset()) -> bool:
        """A helper that asserts something wherever it is called; to narrow a type is not to test a value."""
        if name in above or self.path.name == "narrow.py":
            return False
        if name in self.functions:
            return self.reached(self.functions[name].body, above | {name})
        return name in self.imported and self.imported[name].asserting(name, above)

    def asserts(self, node: ast.AST, above: frozenset[str] = frozenset(), *, assumed: bool = True) -> bool:
        """An assertion, or a call that is one; what is ``assumed`` is demanded of enough examples by hypothesis."""
        for part in (node, *_own(node)):
            if isinstance(part, ast.Assert):
                return True
            if isinstance(part, ast.Call):
                called = ast.unparse(part.func)
                if called in ("pytest.raises", "pytest.warns", "pytest.fail") or (assumed and called == "assume"):
                    return True
                if ".testing.assert_" in called or self.asserting(called, above):
                    return True
                if called.startswith("expect(") and ".to_" in called:  # of a browser: waits, and fails if it never is
                    return True
        return False

    def reached(self, body: Iterable[ast.stmt], above: frozenset[str] = frozenset()) -> bool:
        """Whether every way through the statements meets an assertion."""
        for statement in body:
            match statement:
                case ast.If(test, then, otherwise):
                    sure = self.asserts(test, above) or (self.reached(then, above) and self.reached(otherwise, above))
                case ast.For(iter=over, body=inner):
                    sure = self.walked(over) and self.reached(inner, above)
                case ast.While(body=inner):
                    sure = self.reached(inner, above)
                case ast.With(items, inner):
                    sure = any(self.asserts(item, above) for item in items) or self.reached(inner, above)
                case ast.Try(inner, handlers):
                    sure = self.reached(inner, above) and all(self.reached(h.body, above) for h in handlers)
                case ast.FunctionDef() | ast.ClassDef():
                    sure = False
                case _:
                    sure = self.asserts(statement, above)
            if sure:
                return True
            if _leaves(statement):
                return False
        return False


def _filled(value: ast.expr) -> bool:
    """A list, a tuple or the like that is written down with members."""
    return bool(getattr(value, "elts", None) or getattr(value, "keys", None))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Everything within that runs when the node runs."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, INNER):
            yield child
            yield from _own(child)


def _leaves(node: ast.AST) -> bool:
    """Whether the statements that come after may be left out."""
    if isinstance(node, INNER):
        return False
    if isinstance(node, ast.For | ast.While):  # its own ``continue`` and ``break`` end in it
        return any(isinstance(part, ast.Return) for part in _own(node))
    return isinstance(node, ast.Return | ast.Continue | ast.Break) or any(map(_leaves, ast.iter_child_nodes(node)))


def empty_tests(module: Module) -> list[str]:
    """Tests that may end without having asserted anything."""
    return [f.name for f in module.tests if not (module.reached(f.body) and module.asserts(f, assumed=False))]
