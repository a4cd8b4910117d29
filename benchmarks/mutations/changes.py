"""What can be changed in the package: one operator, number or sign at a time, each with the words to find it again.

``+`` and ``-``, ``*`` and ``/``, ``<`` and ``<=``, ``>`` and ``>=``, ``==`` and ``!=``, ``and`` and ``or``, True and
False are exchanged; a whole number grows by one, another by a tenth, a zero becomes one; ``not`` and the sign of a
minus are dropped. Texts, annotations and decorators are left alone, and so is what is not meant to be noticed:
``strict`` and ``check_finite``, and numbers so small that they can only be tolerances.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Place:
    """A piece of code that can be changed, what changes it, and the function and statement around it."""

    piece: ast.AST
    change: Callable[[], None]
    function: str
    statement: ast.stmt


class Dropped(ast.UAdd):
    """Stands where a ``not`` was."""


class _Without(ast.NodeTransformer):
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """A dropped ``not`` leaves what it was about, as True or False."""
        self.generic_visit(node)
        return ast.Call(ast.Name("bool"), [node.operand], []) if isinstance(node.op, Dropped) else node


def written(node: ast.AST) -> str:
    """The code of a changed node."""
    return ast.unparse(ast.fix_missing_locations(_Without().visit(deepcopy(node))))


def head_of(statement: ast.stmt) -> str:
    """The code of a statement without the statements inside it: of a loop or a function, its first line."""
    alone = copy(statement)
    for name, inside in ast.iter_fields(statement):
        if isinstance(inside, list) and inside and isinstance(inside[0], ast.stmt | ast.excepthandler):
            setattr(alone, name, [ast.Expr(ast.Constant(...))] if name == "body" else [])
    if isinstance(alone, ast.Match):
        alone.cases = [ast.match_case(case.pattern, case.guard, [ast.Expr(ast.Constant(...))]) for case in alone.cases]
    if isinstance(alone, ast.Try | ast.TryStar):
        alone.finalbody = [ast.Pass()]  # without handlers it would be no statement
    return written(alone)


def changes_of(node: ast.AST) -> Iterator[Callable[[], None]]:
    """What can be changed in a node itself."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OPERATORS:
            yield partial(setattr, node, "op", OPERATORS[type(op)]())
        case ast.Compare(ops=ops):
            for k, comparison in enumerate(ops):
                if type(comparison) in OPERATORS:
                    yield partial(ops.__setitem__, k, OPERATORS[type(comparison)]())
        case ast.UnaryOp(op=ast.Not()):
            yield partial(setattr, node, "op", Dropped())
        case ast.UnaryOp(op=ast.USub()):
            yield partial(setattr, node, "op", ast.UAdd())
        case ast.Constant(value=bool(value)):
            yield partial(setattr, node, "value", not value)
        case ast.Constant(value=int(value)):
            yield partial(setattr, node, "value", value + 1)
        case ast.Constant(value=float(value)) if value == 0.0 or abs(value) >= TOLERANCE:
            yield partial(setattr, node, "value", 1.1 * value if value else 1.0)


def places(node: ast.AST, function: str = "", statement: ast.stmt | None = None) -> Iterator[Place]:
    """What can be changed in a node and below it."""
    statement = node if isinstance(node, ast.stmt) else statement
    if statement is not None:
        yield from (Place(node, change, function, statement) for change in changes_of(node))
    within = f"{function}.{node.name}".lstrip(".") if isinstance(node, NAMED) else function
    for name, inside in ast.iter_fields(node):
        if name in UNSEEN_FIELDS or isinstance(node, ast.JoinedStr):
            continue
        for child in inside if isinstance(inside, list) else [inside]:
            unseen = isinstance(child, ast.keyword) and child.arg in UNSEEN_KEYWORDS
            if isinstance(child, ast.AST) and not unseen:
                yield from places(child, within if name == "body" else function, statement)


@dataclass(frozen=True)
class Made:
    """A change that was made: the piece and its statement before and after, and the whole changed module."""

    before: str
    after: str
    statement_after: str
    source: str


@dataclass(frozen=True)
class Change:
    """The ``number``-th change of a file, in the order of its syntax tree, and the code around it."""

    file: str
    number: int
    line: int
    function: str
    statement: str

    @property
    def room(self) -> str:
        """The folder, or the module, below ``halftrek``."""
        return self.file.split("/")[1].removesuffix(".py")

    def made(self, root: Path = ROOT) -> Made:
        """The change, made in what stands in the file below ``root``."""
        tree = ast.parse((root / self.file).read_text(encoding="utf-8"))
        place = next(islice(places(tree), self.number, None))
        before = ast.unparse(place.piece)
        place.change()
        return Made(before, written(place.piece), head_of(place.statement), written(tree))


@cache
def changes_in(file: str, root: Path = ROOT) -> tuple[Change, ...]:
    """Every change of a file."""
    heads: dict[ast.stmt, str] = {}
    found = []
    for k, place in enumerate(places(ast.parse((root / file).read_text(encoding="utf-8")))):
        if place.statement not in heads:
            heads[place.statement] = head_of(place.statement)
        line = getattr(place.piece, "lineno", place.statement.lineno)
        found.append(Change(file, k, line, place.function, heads[place.statement]))
    return tuple(found)


def files_of(root: Path = ROOT, rooms: tuple[str, ...] = ()) -> list[str]:
    """The files of some rooms, room after room; without rooms, of the whole package."""
    package = root / "halftrek"
    chosen = [[package / f"{room}.py", *sorted((package / room).rglob("*.py"))] for room in rooms]
    paths = [path for room in chosen for path in room if path.exists()] if rooms else sorted(package.rglob("*.py"))
    return [path.relative_to(root).as_posix() for path in paths]
