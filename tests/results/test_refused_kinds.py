"""Refusals of fits with kinds: no words of linear models where a category acts, and lines to paste that work."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import ColumnKind
from halftrek.cli import main

BOTH: dict[str, ColumnKind] = {"x": "acts", "y": "ordered"}
LEAK = "z -> {x, y}; x -> y; x <-> y"


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    z, u, e, c = np.random.default_rng(3).normal(size=(4, 400))
    x = (0.5 * z + u + c > 0) * 1
    return pd.DataFrame({"z": z, "x": x, "y": (x + c + e > 0.5) * 1, "m": 0.5 * x + c + e})


def refused(graph: str, data: pd.DataFrame, question: str, kinds: dict[str, ColumnKind]) -> ht.Answer:
    with pytest.raises(ht.NotIdentifiedError) as error:
        ht.fit(graph, data, kinds=kinds).query(question)
    assert error.value.answer is not None
    return error.value.answer


@pytest.mark.parametrize(
    ("graph", "question", "kinds"),
    [
        ("x -> y; x <-> y", "x ~> y", BOTH),
        ("x -> y; x <-> y", "P(y=1 | do(x=1))", BOTH),
        ("x -> m; x <-> m", "x ~> m", {"x": "acts"}),
        (LEAK, "RD(y=1 | do(x=1) : do(x=0))", BOTH),
    ],
)
def test_bounds_are_offered_that_work(
    rows: pd.DataFrame, graph: str, question: str, kinds: dict[str, ColumnKind]
) -> None:
    answer = refused(graph, rows, question, kinds)
    assert answer.verdict is not None
    text = answer.explain()
    assert "linear models" not in text
    assert "covariance matrix" not in text
    assert "Where x acts as a category" in text
    step = next(step for step in answer.verdict.next_steps if step.way == "bounds")
    assert step.line() in text
    found = eval(step.line(), {"ht": ht, "data": rows})  # the line as users paste it
    assert found.low < found.high
    assert found.assumptions


def test_the_line_of_the_shell_works(
    rows: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows.to_csv("data.csv", index=False)
    graph, question = "x -> m; x <-> m", "x ~> m"
    assert main(["query", graph, "data.csv", question, "--kind", "x=acts"]) == 3
    shown = capsys.readouterr().out
    assert "in linear models" not in shown
    line = next(line.strip() for line in shown.splitlines() if "halftrek bounds" in line)
    assert main(shlex.split(line)[1:]) == 0
    assert "bounds        from" in capsys.readouterr().out


def test_without_bounds_it_is_said_what_can_be_asked(rows: pd.DataFrame) -> None:
    """Two arcs stand in the way, and a limit on one of them is not enough."""
    answer = refused("x -> y; z -> x; z <-> x; x <-> y; z <-> y; z -> y", rows, "x ~> y", BOTH)
    assert answer.verdict is not None
    ways = [step.way for step in answer.verdict.next_steps]
    assert "bounds" not in ways
    assert "sensitivity" not in ways
    assert ways
    holes = rows.assign(z=rows["z"].where(rows.index % 5 > 0))
    verdict = refused(LEAK, holes, "x ~> y", BOTH).verdict
    assert verdict is not None
    assert "bounds" not in [step.way for step in verdict.next_steps]  # which missing values refuse


def test_lines_for_ordered_columns_say_so(rows: pd.DataFrame) -> None:
    answer = refused("m -> y; m <-> y", rows, "m ~> y", {"y": "ordered"})
    assert answer.verdict is not None
    lines = [step.line() for step in answer.verdict.next_steps if step.way in ("bounds", "sensitivity")]
    assert lines
    assert all('kinds={"y": "ordered"}' in line for line in lines)
    linear = ht.identify("m -> y; m <-> y", "m ~> y")
    assert all("kinds" not in step.line() for step in linear.next_steps)
