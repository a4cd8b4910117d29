"""Where code above a fit asks which kind of data or of model it has. Nothing of it is run: its text is read.

    python -m benchmarks.kind_questions             the counts, by name and room
    python -m benchmarks.kind_questions --list      every place too
    python -m benchmarks.kind_questions --write     store the counts, which the tests do not let rise

What stands above a fit should work for every kind; where it asks for the kind, a new kind means another change. The
names by which it asks are written down in ``NAMES``, ``TYPES`` and ``WORDS``. What counts:

- *A question* is one of these where something is decided: in the test of ``if``, ``while``, ``assert``, a ternary or a
  comprehension, in a comparison, between ``and`` and ``or``, after ``not``, in what is matched and in its cases, and
  within ``isinstance``, ``any``, ``all`` and ``bool``. Elsewhere it is plain use, which is not counted.
- What stands last is asked about: ``if fit.acting.margins`` is a question about ``margins``, and ``if fit.layer.mean``
  is none. Nor is what a function is given that is called there, but for ``len`` and ``set``.
- A comparison or an ``isinstance`` is one question, the first that it has.
- In a function a name stands for what it was given: after ``layer = fit.moments.layer``, ``layer is None`` is a
  question about ``layer``. So does a parameter whose type is in ``BY_PARAMETER``.
- All that is not in ``BELOW`` is above a fit, so a new room counts. ``OTHERWISE`` has the places where a name means
  something else.

What is not seen: a question that is handed on as an argument or kept in an attribute; a number worked out first (``q =
len(graph.hidden)``); functions, classes and modules that were chosen by the kind elsewhere, as ``DataKind`` is; names
taken by ``getattr``; loops over members that may be empty; and a question that moved below the fit. Not about a kind
are: whether there are rows or means, where rows lie, which parameters are held, and ``latents``, the hidden causes
behind ``<->``.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORED = ROOT / "tests" / "project" / "questions_of_kind.json"

BELOW = (
    "bottom", "data", "errors.py", "estimation", "examples", "graphs", "identification", "layer", "models", "notes",
    "simulation", "syntax", "upward.py",
)  # fmt: skip
NAMES = frozenset((  # of attributes, and of functions that are called
    "acting", "cut", "is_chance", "layer", "margin", "margins", "mixed_ranks", "ranks", "with_kinds",  # not continuous
    "incomplete", "missing", "patterns",  # missing values
    "by_district", "hidden", "moments_suffice", "needs_whole",  # one likelihood for each district, or one of all
    "cluster", "clustered", "clusters", "clusters_left_out", "is_clustered",  # rows that belong together
    "sampled", "sampling", "weighting", "weights",  # rows that do not count alike
    "is_grouped",
))  # fmt: skip
TYPES = frozenset((
    "Acting", "Counted", "GroupFits", "GroupMoments", "Layer", "Margin", "Moments", "Patterns", "Sampled",
))  # fmt: skip
WORDS = frozenset(("acts", "behind", "cgl-go", "dwls", "em", "ordered", "plain", "ranked"))
OTHERWISE: Mapping[str, tuple[str, ...]] = {
    "cut": ("reporting/",),  # a table that was cut to fit, a level of chi-square
    "hidden": ("reporting/plots/",),  # how a node is drawn
    "missing": ("cli/",),  # an option
    "ordered": ("cli/",),  # what a column is taken for unless said otherwise
    "plain": ("inference/intervals/",),  # a scale
    "sampled": ("partial/sets/",),  # points
    "weights": ("inference/profiles/",),  # of steps
}

BY_PARAMETER = ("Acting", "Layer", "Margin")  # a parameter of such a type, or None, is asked about by its own name
DECIDING: Mapping[type[ast.AST], tuple[str, ...]] = {  # the parts of a piece of code by which something is decided
    ast.Assert: ("test",), ast.BoolOp: ("values",), ast.Compare: ("left", "comparators"), ast.If: ("test",),
    ast.IfExp: ("test",), ast.Match: ("subject",), ast.While: ("test",), ast.comprehension: ("ifs",),
    ast.match_case: ("pattern", "guard"),
}  # fmt: skip
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Question:
    """One place: a file of the package, a line, and the name that is asked about."""

    file: str
    line: int
    name: str

    @property
    def room(self) -> str:
        """The first part of the file's place."""
        return self.file.partition("/")[0]


def questions_in(text: str, file: str) -> list[Question]:
    """All questions of one file of the package, in the order of its text."""
    otherwise = frozenset(name for name, places in OTHERWISE.items() if file.startswith(places))
    return [Question(file, line, name) for line, name in _Reader(otherwise).asked(ast.parse(text))]


def questions(package: Path = ROOT / "halftrek") -> list[Question]:
    """All questions above a fit."""
    places = (path.relative_to(package) for path in sorted(package.rglob("*.py")))
    above = [place for place in places if place.parts[0] not in BELOW]
    return [q for place in above for q in questions_in((package / place).read_text(encoding="utf-8"), place.as_posix())]


@dataclass(frozen=True)
class _Reader:
    """Reads a piece of a file: the listed names that mean something else in it, and what local names stand for."""

    otherwise: frozenset[str]
    given: Mapping[str, str] = field(default_factory=dict)

    def asked(self, node: ast.AST, *, deciding: bool = False) -> list[tuple[int, str]]:
        """Lines and names of the questions in a piece, which may itself be part of what decides."""
        reader = self.inside(node) if isinstance(node, FUNCTION) else self
        found = []
        if deciding and isinstance(node, ast.expr) and (name := self.name(node)):
            found.append((node.lineno, name))
        parts, on = _deciding(node, deciding=deciding)
        for what, value in ast.iter_fields(node):
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, ast.AST):
                    found += reader.asked(part, deciding=on or what in parts)
        return found[:1] if isinstance(node, ast.Compare) or _called(node) == "isinstance" else found

    def name(self, node: ast.expr) -> str:
        """The listed name that an expression ends with or stands for, "" if there is none."""
        match node:
            case ast.Attribute(_, name) | ast.Call(ast.Name(name)):
                found = name if name in NAMES else ""
            case ast.Subscript(before) | ast.Call(before):
                return self.name(before)
            case ast.Name(name, ast.Load()):
                found = name if name in TYPES else self.given.get(name, "")
            case ast.Constant(str(word)):
                found = word if word in WORDS else ""
            case _:
                return ""
        return "" if found in self.otherwise else found

    def inside(self, function: FUNCTION) -> _Reader:
        """The reader of a function, who knows what its names stand for."""
        a, given = function.args, dict(self.given)
        reader = replace(self, given=given)
        for one in (*a.posonlyargs, *a.args, *a.kwonlyargs):
            said = {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
            given[one.arg] = next((name for name in BY_PARAMETER if name in said), "")
        for name, value in _set_in(function):
            given[name] = reader.stands_for(value) or given.get(name, "")
        return reader

    def stands_for(self, value: ast.expr | None) -> str:
        """What a local name asks about that was given a value."""
        match value:
            case None | ast.Constant():
                return ""
            case ast.IfExp(_, one, other):
                return self.stands_for(one) or self.stands_for(other)
            case ast.Call(ast.Attribute(before, "get")):
                return self.name(before)
        return self.name(value)


def _set_in(function: FUNCTION) -> Iterator[tuple[str, ast.expr | None]]:
    """Local names of a function, and what they are given."""
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value):
                yield name, value
            case ast.NamedExpr(ast.Name(name), value):
                yield name, value
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                yield from ((n.id, value) for n, value in zip(names, values, strict=False) if isinstance(n, ast.Name))


def _deciding(node: ast.AST, *, deciding: bool) -> tuple[tuple[str, ...], bool]:
    """The parts of a piece that decide, and whether all do, as they are part of what decides."""
    called = _called(node)
    if called in ("all", "any", "bool", "isinstance") or (deciding and called in ("len", "set")):
        return ("args",), False
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return (), True
    return DECIDING.get(type(node), ()), deciding and not isinstance(node, ast.Attribute | ast.Call | ast.Subscript)


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def by_room(found: Sequence[Question]) -> dict[str, int]:
    """How many questions each room asks."""
    return dict(sorted(Counter(q.room for q in found).items()))


def stored(at: Path = STORED) -> dict[str, int]:
    """The counts that must not rise."""
    return dict(json.loads(at.read_text(encoding="utf-8")))


def store(rooms: Mapping[str, int], at: Path = STORED) -> None:
    """Keep today's counts. Code may move to another room with its questions, but all together may not be more."""
    now, before = sum(rooms.values()), sum(stored(at).values())
    if now > before:
        sys.exit(f"not stored: {now} questions, {before} before; let the fit answer, or change {at.name} by hand")
    at.write_text(json.dumps(rooms, indent=2) + "\n", encoding="utf-8")


def table(found: Sequence[Question]) -> str:
    """Names by rooms."""
    counts = Counter((name, room) for q in found for name in (q.name, "all") for room in (q.room, "all"))
    rooms = [*by_room(found), "all"]
    names = sorted({q.name for q in found}, key=lambda name: (-counts[name, "all"], name))
    lines = [("", *rooms), *((name, *(str(counts[name, room] or "") for room in rooms)) for name in (*names, "all"))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        f"{name:{widths[0]}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        for name, *cells in lines
    )


def main() -> None:
    """Print the counts, and store them where that is asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="every place too")
    parser.add_argument("--write", action="store_true", help="store the counts, unless they are more than those stored")
    args = parser.parse_args()
    found = questions()
    if args.list:
        print(*(f"halftrek/{q.file}:{q.line} {q.name}" for q in found), sep="\n")
    print(table(found))
    if args.write:
        store(by_room(found))
    print(f"{len(found)} questions about the kind of data in {len({q.file for q in found})} files")


if __name__ == "__main__":
    main()
