"""Everything that a public call gives has the same faces: repr, text, notebook, plain data by its schema.

The kinds of results are found, not listed: every class of halftrek that a public name is, or that a public function or
method says it returns. A new one needs a line in ``halftrek/reporting/faces.py``, one in ``RESULTS`` of
``halftrek/cli/schemas.py``, and one example in ``tests/public_values.py``.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard
from xml.etree import ElementTree

import numpy as np
import pytest

import halftrek as ht
from halftrek.cli.schemas import RESULTS
from halftrek.errors import printable
from halftrek.web import Page
from tests import public_values
from tests.cli.shapes import faults
from tests.narrow import some
from tests.project.test_reference import maker

# What public calls return that is no result of halftrek's: rows as an array, the name of an edge as a tuple, a server
# that runs until it is closed.
OTHERWISE = (np.ndarray, tuple, Page)


@cache
def _imports(module: str) -> dict[str, str]:
    """Where the names that a module takes from others are from, also those for type checkers alone."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    return {alias.asname or alias.name: str(node.module) for node in found for alias in node.names}


def _is_result(thing: object) -> TypeGuard[type]:
    return inspect.isclass(thing) and thing.__module__.startswith("halftrek") and not issubclass(thing, OTHERWISE)


def _named(function: Any) -> Iterator[type]:
    """The classes of halftrek that a function says it returns."""
    module = import_module(function.__module__)
    for name in re.findall(r"\w+", str(getattr(function, "__annotations__", {}).get("return", ""))):
        thing = getattr(module, name, None)
        if thing is None and name in _imports(module.__name__):
            thing = getattr(import_module(_imports(module.__name__)[name]), name, None)
        if _is_result(thing):
            yield thing


def _members(kind: type) -> Iterator[Any]:
    """Public methods and properties."""
    for owner in kind.__mro__:
        if owner.__module__.startswith("halftrek"):
            for name, member in vars(owner).items():
                function = getattr(member, "fget", None) or getattr(member, "func", None) or member
                function = getattr(function, "__func__", function)
                if not name.startswith("_") and inspect.isfunction(function):
                    yield function


def results() -> list[type]:
    """Every class that a user is handed, beginning with the names of the reference."""
    waiting: list[type] = []
    for _, room, names in maker().SECTIONS:
        for name in names:
            thing = getattr(import_module(room), name)
            waiting += filter(_is_result, [thing]) if inspect.isclass(thing) else _named(thing)
    found: dict[type, None] = {}
    while waiting:
        kind = waiting.pop(0)
        if kind not in found:
            found[kind] = None
            waiting += [one for function in _members(kind) for one in _named(function)]
    return list(found)


@cache
def examples() -> dict[type, list[Any]]:
    """Of each class what the shared values have of it, up to a few."""
    found: dict[type, list[Any]] = {}
    for value in public_values.values().values():
        for one in value[:3] if isinstance(value, tuple | list) else (value,):
            some = found.setdefault(type(one), [])
            if len(some) < 12:
                some.append(one)
    mediation = public_values.findings()["mediation"]
    found.setdefault(type(mediation.total), []).append(mediation.total)
    found.setdefault(type(_as_fitted()), []).append(_as_fitted())
    return found


def _as_fitted() -> Any:
    from halftrek import estimation

    return estimation.fit(ht.graph("x -> y"), ht.moments({"x": [1.0, 2.0, 4.0, 3.0], "y": [0.0, 2.0, 1.0, 5.0]}))


class Faces(NamedTuple):
    """What a thing looks like."""

    repr: str
    text: str
    html: str
    record: dict[str, Any]


def test_the_walk_finds_what_is_public() -> None:
    names = {kind.__name__ for kind in results()}
    assert {"Answer", "AnswerTable", "Fit", "GroupFits", "Verdict", "Comparison"} <= names
    assert {"Mediation", "Decomposition", "Sensitivity", "Note", "Profile", "AdjustmentSets"} <= names
    classes = {name for name in ht.__all__ if inspect.isclass(getattr(ht, name))}
    assert {name for name in classes if not name.endswith(("Error", "Warning"))} <= names


def test_a_result_without_faces_would_be_found() -> None:
    from halftrek.results import answering
    from halftrek.results.answers import Several

    assert Several not in results()  # a part of an answer, which no public call returns
    assert not hasattr(Several((1.0, 2.0)), "_repr_html_")

    def made() -> None: ...

    made.__module__, made.__annotations__ = answering.__name__, {"return": "Several | None"}
    assert list(_named(made)) == [Several]


@pytest.mark.parametrize("kind", results(), ids=lambda kind: kind.__name__)
def test_every_result_has_its_faces(kind: type) -> None:
    assert examples().get(kind), f"{kind.__name__}: put one into tests/public_values.py"
    assert kind.__name__ in RESULTS, f"{kind.__name__}: its to_dict() has no schema in halftrek/cli/schemas.py"
    for value in examples()[kind]:
        assert all(hasattr(value, name) for name in ("summary", "_repr_html_", "to_dict")), kind.__name__
        shown = Faces(repr(value), value.summary(), value._repr_html_(), value.to_dict())
        assert shown.repr
        assert "array(" not in shown.repr
        assert " object at 0x" not in shown.repr
        assert shown.text.strip()
        assert shown.text == printable(shown.text)
        assert "".join(ElementTree.fromstring(shown.html).itertext()).strip()
        read = json.loads(json.dumps(shown.record, allow_nan=False))
        assert list(faults(read, RESULTS[kind.__name__])) == []


def test_no_schema_is_left_over() -> None:
    assert set(RESULTS) == {kind.__name__ for kind in results()}


def test_text_and_notebook_say_the_same() -> None:
    """One description: every word of the text stands in the notebook."""
    found = public_values.findings()
    for name in ("mediation", "decomposition", "sensitivity", "comparison", "table", "profile"):
        value = found[name]
        markup = "".join(ElementTree.fromstring(value._repr_html_()).itertext())
        words = [word for word in value.summary().split() if not set(word) <= {"-"}]
        assert len(words) > 10
        for word in words:
            assert word in markup or any(c.isdigit() for c in word), f"{name}: {word}"


ALONE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "pyarrow", "duckdb", "matplotlib", "jinja2", "rich", "docx"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
import halftrek as ht
import halftrek.bottom.frames
halftrek.bottom.frames.find_spec = lambda name: None
from halftrek.reporting import sensitivity

study = ht.dataset("tal_or")
fit = ht.fit(study.graph, study.columns)
groups = ht.fit(study.graph, study.columns, by=[i % 2 for i in range(study.n)])
answer = fit.effect("cond", "pmi")
shown = [
    fit, groups, answer, answer.verdict, ht.table([answer]), fit.mediation("cond", "reaction"),
    fit.decompose("cond", "reaction"), ht.compare({"a": fit, "b": ht.fit("cond -> pmi -> reaction", study.columns)}),
    sensitivity("pmi -> reaction", study.columns, "pmi ~> reaction", arc=("pmi", "reaction"), values=[0.0, 0.1]),
    fit.status, study.graph,
]
for one in shown:
    assert one._repr_html_().startswith("<div"), one
    assert one.summary() and one.to_dict()
assert isinstance(answer.to_frame(), dict)
answer.to_word("answer.docx")
answer.to_latex()
print(len(shown))
"""


def test_faces_need_the_core_alone(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout == "11\n", done.stderr


def test_names_that_look_like_markup_are_escaped() -> None:
    odd = "<b onload='x'>&"
    rows = public_values.rows()
    columns = {odd: np.asarray(rows[:, 0]), "m": np.asarray(rows[:, 2]), "y": np.asarray(rows[:, 3])}
    fit = ht.fit(ht.Graph([(odd, "m"), ("m", "y"), (odd, "y")]), columns)
    groups = ht.fit_groups(fit.graph, columns, by=np.repeat(["<i>", "b"], 200))
    shown = [fit.mediation(odd, "y"), fit.decompose(odd, "y"), groups, ht.table([fit.effect(odd, "y")]), fit.graph]
    shown += [ht.compare({"<u>": fit, "b": ht.fit(ht.Graph([(odd, "m"), ("m", "y")]), columns)})]
    for value in some(shown):
        elements = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(value._repr_html_()).iter()}
        assert not elements & {"i", "u"}
        assert "onload" not in {name for e in ElementTree.fromstring(value._repr_html_()).iter() for name in e.attrib}
