"""The comparison with frozen numbers: what it sees, what it lets pass, and how it finds what was renamed or moved."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from benchmarks.golden import __main__ as command
from benchmarks.golden.judged import Judged, judged
from benchmarks.golden.kept import Cell, Frozen, Name
from benchmarks.golden.numbers import WHOLE, numbers_of
from benchmarks.golden.renamed import TABLE, Renamed
from benchmarks.golden.report import report
from benchmarks.golden.tolerances import RULES, rule_of
from benchmarks.grid.columns import Kind, columns
from benchmarks.grid.operations import operations

NAME: Name = ("complete", "effects")
KIND = Kind()


@dataclass(frozen=True)
class Note:
    code: str
    level: str = "warning"
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    value: float
    se: float
    names: tuple[str, ...] = ("x", "y")
    cov: Any = None
    notes: tuple[Note, ...] = ()
    explanation: str = "Because it is so."
    form: str = "point"

    @property
    def z(self) -> float:
        return self.value / self.se

    @property
    def p(self) -> float:
        raise ValueError("no test here")


def cell(got: Any) -> Cell:
    kept = json.loads(json.dumps(numbers_of(KIND, "effects", got)))  # as it comes from a file
    return Cell(**kept["numbers"])


def compared(old: Any, new: Any) -> Judged:
    return judged({NAME: cell(old)}, {NAME: cell(new)}, {})


def places(found: Judged) -> set[str]:
    return {one.pair.place for one in found.differences}


TABLE_OF_TWO = pd.DataFrame(
    {"path": ["x -> y", "x ~> y"], "est": [0.5, 1e-9], "se": [0.1, 0.2], "p": [1e-7, 0.9], "note": ["", "few rows"]}
)


def test_a_value_is_taken_apart_by_fields_and_properties() -> None:
    found = cell(Result(0.5, 0.25, cov=np.array([[1.0, 0.1], [0.1, 2.0]]), notes=(Note("b"), Note("a", "aside"))))
    assert found.lone == {"value": 0.5, "se": 0.25, "z": 2.0}  # p says that there is none
    assert found.words == {"names": ["x", "y"], "notes": ["aside: a", "warning: b"], "form": "point"}
    assert found.blocks["cov"]["texts"][""] == ["x, x", "x, y", "y, x", "y, y"]
    assert found.blocks["cov"]["numbers"][""] == [1.0, 0.1, 0.1, 2.0]


@pytest.mark.parametrize("library", [pd, pl])
def test_tables_of_any_library_are_columns_of_numbers_with_names_of_rows(library: Any) -> None:
    table = library.DataFrame({name: list(TABLE_OF_TWO[name]) for name in TABLE_OF_TWO})
    block = cell(table).blocks[""]
    assert block["texts"] == {"path": ["x -> y", "x ~> y"]}  # what is said to people is no name of a row
    assert set(block["numbers"]) == {"est", "se", "p"}


def test_rows_as_values_are_a_table_and_pairs_are_two_columns() -> None:
    rows = [{"name": "a", "interval": (0.0, 1.0), "of": ("x", "y")}, {"name": "b", "interval": None, "of": ()}]
    block = cell({"rows": rows}).blocks["rows"]
    assert block["texts"] == {"name": ["a", "b"], "of": ["x, y", ""]}
    assert block["numbers"] == {"interval[0]": [0.0, None], "interval[1]": [1.0, None]}


def test_json_is_read_and_other_texts_have_no_numbers() -> None:
    assert cell(json.dumps({"loglik": -1.5, "status": {"code": "flat"}})).lone == {"loglik": -1.5}
    for text in ("\\begin{table} 0.5 \\end{table}", "{0.5, 1.5}", "An effect of 0.5."):
        found = cell(text)
        assert found == Cell({}, {}, {})


def test_a_change_of_a_ten_millionth_of_a_standard_error_is_seen() -> None:
    changed = TABLE_OF_TWO.assign(se=TABLE_OF_TWO.se * [1, 1 + 1e-7])
    assert places(compared(TABLE_OF_TWO, changed)) == {"[x ~> y].se"}
    assert not compared(TABLE_OF_TWO, TABLE_OF_TWO.assign(se=TABLE_OF_TWO.se * (1 + 1e-9))).differences


def test_near_zero_the_standard_error_is_the_scale() -> None:
    moved, farther = (TABLE_OF_TWO.assign(est=[0.5, est]) for est in (2e-9, 1.2e-8))
    assert not compared(TABLE_OF_TWO, moved).differences  # the number has doubled, by half a tolerance
    assert places(compared(TABLE_OF_TWO, farther)) == {"[x ~> y].est"}
    alone = compared({"est": 1e-9}, {"est": 2e-9})
    assert places(alone) == {"est"}  # nothing says that this is small


def test_without_a_standard_error_the_largest_of_the_column_is_the_scale() -> None:
    old, near, far = ([100.0, last] for last in (1e-9, 5e-7, 2e-6))
    assert not compared(old, near).differences
    assert places(compared(old, far)) == {"[1]"}


def test_infinite_and_nan_stay_what_they_are() -> None:
    old = {"low": -math.inf, "high": math.nan, "rv": None, "df": 3}
    assert not compared(old, dict(old)).differences
    assert places(compared(old, {"low": math.inf, "high": 0.5, "rv": 0.5, "df": math.nan})) == {"low", "high", "df"}


def test_codes_of_notes_are_compared_exactly_and_sentences_are_not() -> None:
    old = Result(0.5, 0.1, notes=(Note("few rows"),))
    assert not compared(old, replace(old, explanation="In other words.")).differences
    assert places(compared(old, replace(old, notes=(Note("few rows", "doubt"),)))) == {"notes"}
    assert places(compared(old, replace(old, form="bounds"))) == {"form"}


def test_rows_in_another_order_and_further_rows_are_found_by_their_names() -> None:
    turned = TABLE_OF_TWO.iloc[::-1]
    assert not compared(TABLE_OF_TWO, turned).differences
    more = pd.concat([pd.DataFrame({"path": ["w -> y"], "est": [9.0], "se": [9.0], "p": [0.5]}), TABLE_OF_TWO])
    found = compared(TABLE_OF_TWO, more)
    assert not found.differences
    assert found.added == 3
    assert places(compared(TABLE_OF_TWO, TABLE_OF_TWO.head(1))) == {"[x ~> y]"}


def test_rows_with_another_name_are_compared_in_their_order_and_the_name_differs() -> None:
    called = TABLE_OF_TWO.assign(path=["x -> y", "total"], est=[0.5, 0.3])
    assert places(compared(TABLE_OF_TWO, called)) == {"[x ~> y].path", "[x ~> y].est"}


def test_rows_of_one_name_are_told_apart_by_their_order() -> None:
    twice = TABLE_OF_TWO.assign(path="x -> y")
    assert not compared(twice, twice).differences
    assert len(compared(twice, twice.iloc[::-1]).differences) == 6


def test_long_arrays_are_kept_as_sums_that_see_every_number_and_their_order() -> None:
    old = np.random.default_rng(1).normal(size=4 * WHOLE)
    assert len(cell(old).blocks[""]["numbers"][""]["first"]) < WHOLE
    assert not compared(old, old.copy()).differences
    changed, turned = old.copy(), old.copy()
    changed[200] += 1e-3
    turned[[100, 200]] = turned[[200, 100]]
    assert ", sum" in places(compared(old, changed))
    assert places(compared(old, turned)) == {", weighted"}
    changed[200] = np.nan
    assert ", finite" in places(compared(old, changed))


RENAMED = """
[operations]
effects = "effects()"
[columns]
complete = "all rows"
[words]
"warning: few rows" = "doubt: few"
"x ~> y" = "total"
[fields]
value = "estimate"
explanation = ""
[fields."eff.*"]
est = "estimate"
"inner.se" = "standard_error"
"""


def test_what_was_renamed_is_found_by_the_table(tmp_path: Path) -> None:
    path = tmp_path / "renamed.toml"
    path.write_text(RENAMED)
    old = {"table": TABLE_OF_TWO, "value": 1.0, "inner": {"se": 2.0}, "values": 3.0, "notes": [vars(Note("few rows"))]}
    table = TABLE_OF_TWO.rename(columns={"est": "estimate"}).assign(path=["x -> y", "total"])
    notes = [vars(Note("few", "doubt"))]
    new = {"table": table, "estimate": 1.0, "standard_error": 2.0, "values": 3.0, "notes": notes}
    frozen = Frozen({"slow": [["complete", "slow one"]]}, {NAME: cell(old)})
    today: Name = ("all rows", "effects()")
    assert judged(frozen.cells, {today: cell(new)}, {}).lost
    renamed = Renamed.read(path).of(frozen)
    assert renamed.slow == {("all rows", "slow one")}
    assert not judged(renamed.cells, {today: cell(new)}, {}).differences
    assert places(judged(renamed.cells, {today: cell(old)}, {})) >= {"estimate", "standard_error", "notes"}


def test_a_field_that_is_gone_on_purpose_is_not_missed() -> None:
    gone = Renamed(fields={"se": ""})
    assert gone.cell("effects", cell({"se": 1.0, "seen": 2.0})).lone == {"seen": 2.0}


def test_every_frozen_cell_has_a_name_of_today() -> None:
    frozen = Renamed.read(TABLE).of(Frozen.read())
    assert {column for column, _ in frozen.cells} <= set(columns())
    assert {operation for _, operation in frozen.cells} <= set(operations())
    assert len(frozen.head["commit"]) == 40


def test_cells_that_no_longer_work_are_lost_and_others_are_new() -> None:
    one = cell({"est": 1.0})
    found = judged({NAME: one, ("complete", "gone"): one}, {("complete", "come"): one}, {NAME: "crash: KeyError 'x'"})
    assert found.lost == {NAME: "crash: KeyError 'x'", ("complete", "gone"): "the grid has no such cell"}
    assert found.new == (("complete", "come"),)


def test_the_report_names_the_place_and_ends_with_the_figure() -> None:
    found = compared(TABLE_OF_TWO, TABLE_OF_TWO.assign(se=[0.1, 0.2002]))
    lines = report(found, [], {"commit": "0" * 40, "numpy": "2", "scipy": "1"}).splitlines()
    assert "effects: [*].se: 1 of 1 cells, up to 1e+05 tolerances" in lines[1]
    assert lines[1].endswith("effects of complete: [x ~> y].se: 0.2 -> 0.2002")
    assert lines[-1] == "1 cells, 8 numbers: 1 differ beyond tolerance in 1 cells, 0 lost, 0 new"


def test_a_rule_holds_where_it_says_and_has_a_reason() -> None:
    assert all(rule.reason for rule in RULES)
    assert rule_of("effects", "complete", "[*].p").floor == 1.0
    assert rule_of("effects", "complete", "[*].est").floor == 0.0


def test_a_file_gives_back_what_was_written_and_cells_are_renewed_with_their_commit(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl.xz"
    other: Name = ("complete", "r2")
    head = {"commit": "a", "slow": [["complete", "fit"]]}
    frozen = Frozen(head, {NAME: cell({"low": -math.inf, "est": 1 / 3}), other: cell(1.0)})
    frozen.write(path)
    assert Frozen.read(path) == frozen
    later = Frozen({"commit": "b", "slow": []}, {other: cell(2.0)})
    renewed = frozen.renewed(later, {other, ("complete", "fit")})
    renewed.write(path)
    assert Frozen.read(path) == renewed
    assert renewed.cells == {NAME: frozen.cells[NAME], other: later.cells[other]}
    assert renewed.commits == {other: "b"}
    assert not renewed.slow


def test_a_cell_of_the_grid_is_equal_to_itself_and_a_changed_one_fails_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    column = columns()["complete"]
    asked = operations()["effects(total)"]
    first, again = (cell(asked(column())) for _ in range(2))
    assert first.size > 30
    paths = [tmp_path / "frozen.xz", tmp_path / "made.xz", tmp_path / "other.xz"]
    head = {"commit": "a", "numpy": "2", "scipy": "1", "slow": []}
    first.blocks[""]["numbers"]["se"][0] *= 1 + 1e-6
    for path, one in zip(paths, (again, again, first), strict=True):
        Frozen(head, {NAME: one}).write(path)
    assert command.main(["--file", str(paths[0]), "--made", str(paths[1])]) == 0
    assert "0 differ beyond tolerance in 0 cells, 0 lost, 0 new" in capsys.readouterr().out.splitlines()[-1]
    assert command.main(["--file", str(paths[0]), "--made", str(paths[2])]) == 1
    assert "1 differ beyond tolerance in 1 cells, 0 lost, 0 new" in capsys.readouterr().out.splitlines()[-1]
