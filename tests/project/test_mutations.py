"""Changes that tests should notice: what is changed, how it is found again in later code, and what results say."""

from __future__ import annotations

import ast
import json
from dataclasses import asdict
from math import sqrt
from pathlib import Path
from statistics import pstdev
from typing import Any

import pytest

from benchmarks.mutations.again import copy_number, found_again, homes, table_of
from benchmarks.mutations.changes import ROOT, Change, changes_in, files_of
from benchmarks.mutations.kept import Comparison, Figures, Kept, page_of
from benchmarks.mutations.tried import Copy
from tests.narrow import some

FILE = "halftrek/room/one.py"
CODE = '''
"""Text with 1 number."""

LIMIT = 3


class Kind:
    def share(self, part, whole=1):
        if not whole > 0:
            return 0.0
        total = part / whole
        total = part / whole
        for k in range(-2, whole):
            total += k
        return total if total and part is True else None


def match_one(value):
    match value:
        case 4:
            return value * 2.5
    try:
        return f"{value + 1}"
    except ValueError:
        return 1e-9
'''
TABLE = {
    "halftrek/room": ("halftrek/hall",),
    "halftrek/hall": ("halftrek/house.py",),
    "halftrek/room/two.py": ("halftrek/left.py", "halftrek/right.py"),
}


def project(folder: Path, **files: str) -> Path:
    """A package with these files, ``__`` standing for a folder."""
    for name, code in files.items():
        path = folder / "halftrek" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return folder


def result_of(change: Change, root: Path) -> dict[str, Any]:
    made = change.made(root)
    told = {"before": made.before, "after": made.after, "statement_after": made.statement_after}
    return {"id": f"{change.number}", **asdict(change), **told, "copy": copy_number(change, made, root)}


@pytest.fixture
def former(tmp_path: Path) -> list[dict[str, Any]]:
    """Every change of the code, as a former run would have kept it."""
    root = project(tmp_path / "former", room__one=CODE)
    return [result_of(change, root) for change in changes_in(FILE, root)]


def one(results: list[dict[str, Any]], before: str, statement: str = "") -> dict[str, Any]:
    return next(r for r in results if r["before"] == before and r["statement"].startswith(statement))


def test_operators_numbers_and_signs_are_changed_one_at_a_time(former: list[dict[str, Any]]) -> None:
    changed = {(r["before"], r["after"]) for r in former}
    assert changed == {
        ("3", "4"),
        ("1", "2"),
        ("not whole > 0", "bool(whole > 0)"),
        ("whole > 0", "whole >= 0"),
        ("0", "1"),
        ("0.0", "1.0"),
        ("part / whole", "part * whole"),
        ("-2", "+2"),
        ("2", "3"),
        ("total and part is True", "total or part is True"),
        ("True", "False"),
        ("4", "5"),
        ("value * 2.5", "value / 2.5"),
        ("2.5", "2.75"),
    }
    assert all(r["statement"] != r["statement_after"] for r in former)
    assert len({r["number"] for r in former}) == len(former) == 15  # one line stands there twice


def test_a_statement_is_told_without_what_stands_inside_it(former: list[dict[str, Any]]) -> None:
    assert one(former, "not whole > 0")["statement"].split() == ["if", "not", "whole", ">", "0:", "..."]
    assert one(former, "-2")["statement"].split() == ["for", "k", "in", "range(-2,", "whole):", "..."]
    assert one(former, "1", "def")["statement"].split() == ["def", "share(self,", "part,", "whole=1):", "..."]
    assert one(former, "4")["statement"].split() == ["match", "value:", "case", "4:", "..."]


def test_a_change_is_found_again_where_lines_have_moved(former: list[dict[str, Any]], tmp_path: Path) -> None:
    later = project(tmp_path / "later", room__one="import math\n\n\ndef first():\n    return 3 + 1\n\n" + CODE)
    for result in some(former):
        found = found_again(result, {}, later)
        assert found is not None
        assert found.line == result["line"] + 6
        assert result_of(found, later) == {
            **result,
            "id": str(found.number),
            "number": found.number,
            "line": found.line,
        }


@pytest.mark.parametrize(("there", "table"), [("hall__one", {"halftrek/room": ("halftrek/hall",)}), ("house", TABLE)])
def test_a_change_is_found_again_where_the_table_says(
    former: list[dict[str, Any]], tmp_path: Path, there: str, table: dict[str, tuple[str, ...]]
) -> None:
    later = project(tmp_path / "later", **{there: CODE, "else__where": CODE})
    found = [found_again(result, table, later) for result in former]
    assert [change and change.number for change in found] == [result["number"] for result in former]
    assert {change and change.file for change in found} == {f"halftrek/{there.replace('__', '/')}.py"}


def test_the_table_is_followed_from_line_to_line(tmp_path: Path) -> None:
    assert homes(FILE, TABLE) == (FILE, "halftrek/hall/one.py", "halftrek/house.py")
    assert homes("halftrek/room/two.py", TABLE) == ("halftrek/room/two.py", "halftrek/left.py", "halftrek/right.py")
    assert homes("halftrek/roomy/one.py", TABLE) == ("halftrek/roomy/one.py",)
    written = tmp_path / "moved.toml"
    written.write_text('[moved]\n"halftrek/a" = "halftrek/b"\n"halftrek/b" = ["halftrek/a", "halftrek/c.py"]\n')
    back_and_forth = homes("halftrek/a/x.py", table_of(written))
    assert back_and_forth == ("halftrek/a/x.py", "halftrek/b/x.py", "halftrek/c.py")


def test_without_a_table_function_and_statement_are_looked_for_in_the_package(
    former: list[dict[str, Any]], tmp_path: Path
) -> None:
    later = project(tmp_path / "later", far__away=CODE.replace("class Kind", "class Sort"), other="x = 3 + 1\n")
    found = found_again(one(former, "part / whole"), {}, later)
    assert found is None  # the line stands there twice, and which one is meant only its own file could say
    found = found_again(one(former, "-2"), {}, later)
    assert found is not None
    assert (found.file, found.function) == ("halftrek/far/away.py", "Sort.share")


def test_a_piece_is_found_again_where_its_statement_was_rewritten(former: list[dict[str, Any]], tmp_path: Path) -> None:
    code = CODE.replace("return value * 2.5", "scaled = value * 2.5")
    later = project(tmp_path / "later", room__one=code)
    found = found_again(one(former, "value * 2.5"), {}, later)
    assert found is not None
    assert found.statement == "scaled = value * 2.5"
    assert found_again(one(former, "2.5"), {}, later) is None  # any number could be meant


def test_a_change_is_gone_where_its_code_is_gone_or_could_be_in_two_places(
    former: list[dict[str, Any]], tmp_path: Path
) -> None:
    shorter = project(tmp_path / "shorter", room__one=CODE.split("def match_one", maxsplit=1)[0])
    gone = [result for result in former if found_again(result, {}, shorter) is None]
    assert {result["function"] for result in gone} == {"match_one"}
    twice = project(tmp_path / "twice", left=CODE, right=CODE)
    assert all(found_again(result, {}, twice) is None for result in former)


def test_rooms_are_folders_or_files(tmp_path: Path) -> None:
    root = project(tmp_path, room__one="", room__in__two="", house="", roomy="")
    assert files_of(root, ("house", "room")) == ["halftrek/house.py", "halftrek/room/in/two.py", FILE]
    assert [Change(file, 0, 1, "", "").room for file in files_of(root, ("house", "room"))] == ["house", "room", "room"]


def outcomes(**words: str) -> list[dict[str, Any]]:
    told = {"file": FILE, "line": 1, "function": "f", "before": "1", "after": "2", "quick": False, "ran": 3, "of": 5}
    return [
        {"id": id, "outcome": word, "statement": "x = 1", "statement_after": "x = 2", **told}
        for id, word in words.items()
    ]


def test_slow_changes_count_as_not_noticed_and_those_that_are_gone_do_not_count() -> None:
    words = dict(enumerate(["caught"] * 6 + ["survived", "slow"] + ["gone"] * 3))
    figures = Figures.of(outcomes(**{str(k): word for k, word in words.items()}))
    assert figures.share == 0.75
    assert figures.error == pytest.approx(sqrt(0.75 * 0.25 / 8))
    assert str(figures) == "6 killed, 1 survived, 1 slow, 3 gone: 75.0% killed (standard error 15.3%)"


def test_two_results_are_compared_change_by_change() -> None:
    before = outcomes(a="caught", b="caught", c="survived", d="slow", e="caught", f="caught", only="caught")
    after = outcomes(f="caught", e="gone", d="survived", c="caught", b="slow", a="survived", new="caught")
    compared = Comparison.of(before, after)
    assert [r["id"] for r in compared.lost] == ["a", "b"]
    assert [r["id"] for r in compared.won] == ["c"]
    assert [r["id"] for r in compared.gone] == ["e"]
    differences = [-1, -1, 1, 0, 0]
    assert compared.change == pytest.approx(sum(differences) / 5)
    assert compared.error == pytest.approx(pstdev(differences) / sqrt(5))


@pytest.mark.parametrize(
    ("lost", "won", "fell"), [(5, 0, True), (3, 0, False), (7, 1, True), (6, 2, False), (0, 9, False)]
)
def test_a_share_falls_by_more_than_two_standard_errors_or_by_chance(lost: int, won: int, fell: bool) -> None:
    before = ["caught"] * lost + ["survived"] * won + ["caught"] * 31
    after = ["survived"] * lost + ["caught"] * won + ["caught"] * 31
    sides = [outcomes(**{str(k): word for k, word in enumerate(side)}) for side in (before, after)]
    compared = Comparison.of(*sides)
    n = lost + won + 31
    differences = [-1] * lost + [1] * won + [0] * 31
    assert fell == (sum(differences) / n < -2 * pstdev(differences) / sqrt(n))
    assert compared.fell == fell
    assert ("it fell" in str(compared)) == fell


def test_the_last_line_of_a_change_counts_and_survivors_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert Kept.read(path).results == ()
    head = {"asked": "Seed 7, room", "among": 40, "named_seconds": 1.0, "room_seconds": 2.0, "test_seconds": 3.0}
    lines = [head, *outcomes(a="survived", b="survived"), *outcomes(a="caught")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    kept = Kept.read(path)
    assert {r["id"]: r["outcome"] for r in kept.results} == {"a": "caught", "b": "survived"}
    page = page_of(kept, "Changes")
    assert "1 killed, 1 survived" in page
    assert page.count("`x = 1` | `x = 2` | 3 of 5") == 1


def test_a_change_is_made_in_a_copy_and_its_tests_decide(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    project(tmp_path, __init__="", errors="")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_value.py").write_text(
        "from halftrek.errors import value\n\n\ndef test_value():\n    assert value == 1\n"
    )
    copy, tests = Copy(tmp_path), ["tests/test_value.py"]
    file, failing = "halftrek/errors.py", "tests/test_value.py::test_value"
    caught = copy.judged(file, "value = 2\n", tests, (), 60.0)
    assert (caught.word, caught.by, caught.ran) == ("caught", failing, 1)
    assert (tmp_path / file).read_bytes() == (ROOT / file).read_bytes()
    survived = copy.judged(file, "value = 1\n", tests, (), 60.0)
    assert (survived.word, survived.ran, survived.of) == ("survived", 1, 1)
    over = copy.judged(file, "value = 2\n", tests, (), 0.0)
    assert (over.word, over.ran, over.of) == ("survived", 0, 1)  # the time of all was over before the first


def test_what_is_changed_can_be_read_by_python(former: list[dict[str, Any]], tmp_path: Path) -> None:
    root = project(tmp_path / "former", room__one=CODE)
    for change in some(changes_in(FILE, root)):
        source = change.made(root).source
        assert ast.dump(ast.parse(source)) != ast.dump(ast.parse(CODE))
    assert len(former) == len(changes_in(FILE, root))
