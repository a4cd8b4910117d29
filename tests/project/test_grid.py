"""The grid of operations and kinds of data: its rules, its report, and one cell as a worker runs it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import halftrek as ht
from benchmarks.grid import rules
from benchmarks.grid.cells import Cell, run
from benchmarks.grid.columns import Kind, columns
from benchmarks.grid.looks import looked_at
from benchmarks.grid.operations import Same, Suspect, operations
from benchmarks.grid.report import SIGNS, Run, closing_line, contradictions, differences, page, standing
from benchmarks.grid.samples import linear
from tests.project.pages import ROOT

STORED = Run.read(json.loads((ROOT / "benchmarks" / "results" / "grid.json").read_text()))
HEAD = {"commit": "0" * 40, "date": "2026-01-01"}


def cell(status: str, doubts: tuple[str, ...] = (), message: str = "") -> Cell:
    return {"status": status, "error": "", "message": message, "words": "", "doubts": list(doubts), "seconds": 0.0}


def test_every_refusal_of_the_stored_run_is_judged_and_every_cell_was_run() -> None:
    words = {word for _, word in STORED}
    assert words >= {"ok", "meaningless", "not there"}
    assert not words & {"unjudged", "not run"}


def test_the_stored_run_is_of_these_operations_and_columns() -> None:
    assert set(STORED.lines) == set(operations())
    assert set(STORED.columns) == set(columns())


def test_every_rule_judges_a_cell_that_is_there_and_that_no_other_rule_took() -> None:
    first = {rules.judged(column, row) for column in columns() for row in operations()}
    assert [rule for rule in rules.RULES if rule not in first] == []


def test_what_is_meaningless_does_not_work() -> None:
    said = {(key, word): rules.judged(*key) for key, word in STORED if word == "ok"}
    assert [key for (key, _), rule in said.items() if rule and rule.verdict == "meaningless"] == []


@pytest.mark.parametrize(
    ("key", "found", "word"),
    [
        (("complete", "scores"), cell("refused"), "meaningless"),
        (("complete", "fit(auxiliary=)"), cell("absent"), "not there"),
        (("complete", "effect, interval=influence"), cell("refused"), "should work"),
        (("complete", "params"), cell("refused"), "unjudged"),
        (("complete", "params"), cell("ok"), "ok"),
        (("complete", "params"), cell("ok", ("empty frame",)), "suspicious"),
        (("complete", "params"), cell("crash"), "crash"),
    ],
)
def test_what_a_cell_counts_as(key: tuple[str, str], found: Cell, word: str) -> None:
    assert standing(key, found) == word


def test_the_report_names_what_changed_broke_and_contradicts() -> None:
    rows = ["params", "scores", "r2"]
    before = Run.of({("complete", row): cell("ok") for row in rows[:2]}, ["complete"], rows[:2], HEAD)
    cells = {
        ("complete", "params"): cell("crash", message="boom 3"),
        ("complete", "scores"): cell("ok"),
        ("complete", "r2"): cell("slow"),
    }
    after = Run.of(cells, ["complete"], rows, HEAD)
    assert differences(before, after) == ["`params`: ok -> crash in complete", "new: operation `r2`"]
    assert differences(after, Run.of({}, [], [], HEAD))[-1] == "gone: column complete"
    assert contradictions(cells) == [("complete", "scores")]
    assert closing_line(after, cells) == ("3 cells: 1 ok, 0 unjudged, 1 crash, 1 slow, 0 not run; 1 against their rule")
    text = page(after, cells, before)
    assert "`params`: ok -> crash in complete" in text
    assert "boom #" in text
    assert Run.read(json.loads(json.dumps(after.stored()))) == after
    assert len(set(SIGNS.values())) == len(SIGNS)


def _raised(error: BaseException) -> Any:
    def ask(_: Kind) -> None:
        raise error

    return ask


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ht.InputError("no such column"), "refused", "no such column"),
        (Same(), "same", ""),
        (Suspect("looks wrong"), "ok", ""),
        (AttributeError("'GroupFits' object has no attribute 'tests'"), "absent", "GroupFits"),
        (AttributeError("'Series' object has no attribute 'tests'"), "crash", "test_grid.py"),
        (TypeError("fit() got an unexpected keyword argument 'x'"), "absent", "unexpected"),
        (ValueError("too many values"), "crash", "test_grid.py"),
    ],
)
def test_what_came_of_a_cell(error: Exception, status: str, words: str) -> None:
    found = run(Kind(linear(n=20)), "params", _raised(error), 5, looked_at)
    assert found["status"] == status
    assert words in found["message"]
    assert found["doubts"] == (["looks wrong"] if isinstance(error, Suspect) else [])


def test_a_cell_that_takes_too_long_is_slow() -> None:
    def endless(_: Kind) -> None:
        while True:
            pass

    assert run(Kind(linear(n=20)), "params", endless, 1, looked_at)["status"] == "slow"


def test_a_number_far_from_the_truth_is_doubtful() -> None:
    kind = Kind(linear())
    asked = operations()["query: x ~> y"]
    assert run(kind, "query: x ~> y", asked, 30, looked_at)["doubts"] == []
    kind.truth = 6.4
    assert "far from the truth 6.4" in run(kind, "query: x ~> y", asked, 30, looked_at)["doubts"][0]
