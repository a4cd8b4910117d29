"""The guard against slowdowns, and what the benchmarks make of answers, on made-up results."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import engines, engines_page, growth, growth_operations
from benchmarks.accuracy import judge
from benchmarks.claims import claims
from benchmarks.compare import changes, faster, main, slower
from benchmarks.missing import Size, make_problem
from benchmarks.problems import QUESTIONS
from halftrek.bottom.calls import public


def result(**medians: tuple[float, float, float]) -> dict[str, Any]:
    timings = [
        {"section": "size", "problem": name, "tool": "halftrek", "low": low, "median": median, "high": high}
        for name, (low, median, high) in medians.items()
    ]
    return {"runs": {"speed": {"processor": "one"}}, "speed": {"timings": timings}}


OLD = result(a=(9.0, 10.0, 11.0), b=(9.0, 10.0, 11.0), c=(9.0, 10.0, 11.0), d=(9.0, 10.0, 11.0), gone=(1.0, 1.0, 1.0))
NEW = result(a=(18.0, 20.0, 22.0), b=(10.0, 20.0, 30.0), c=(11.2, 11.5, 12.0), d=(4.0, 5.0, 6.0), come=(1.0, 1.0, 1.0))


def test_only_slowdowns_beyond_the_noise_count() -> None:
    found = list(changes(OLD, NEW))
    assert len(found) == 4  # what only one of the runs has is left out
    assert [c.what for c in slower(found)] == ["size / a / halftrek"]  # b is noise, c is small
    assert [c.what for c in faster(found)] == ["size / d / halftrek"]
    assert slower(found)[0].ratio == 2.0


def test_peers_and_entries_without_a_time_are_left_out() -> None:
    peer = {**OLD["speed"]["timings"][0], "tool": "lavaan"}
    silent = {"section": "size", "problem": "a", "tool": "halftrek", "why": "gave up"}
    assert not list(changes(OLD, {"speed": {"timings": [peer, silent]}}))


@pytest.mark.parametrize(("flags", "status"), [([], 0), (["--strict"], 1)])
def test_the_exit_status_is_zero_unless_strict(
    flags: list[str], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, content in zip(paths, (OLD, NEW), strict=True):
        path.write_text(json.dumps(content))
    assert main([*map(str, paths), *flags]) == status
    printed = capsys.readouterr().out
    assert "slower: size / a / halftrek: 10 ms -> 20 ms (2.00 times)" in printed
    assert "4 timings compared, 1 slower, 1 faster" in printed


def test_strict_is_content_with_equal_results(tmp_path: Path) -> None:
    path = tmp_path / "same.json"
    path.write_text(json.dumps(OLD))
    assert main([str(path), str(path), "--strict"]) == 0


def answers(*values: float, **more: Any) -> dict[str, Any]:
    return {"answers": [{"value": v, **more} for v in values]}


def test_wrong_numbers_are_called_wrong() -> None:
    front = next(q for q in QUESTIONS if q.name == "front-door")
    bow = next(q for q in QUESTIONS if q.name == "bow")
    assert front.truth() == pytest.approx(0.42)
    assert judge(front, answers(0.40, 0.43, 0.44, 0.41, 0.42))["verdict"] == "right"
    assert judge(front, answers(0.56, 0.59, 0.57, 0.58, 0.55))["verdict"] == "wrong number WITHOUT A WARNING"
    assert judge(front, answers(0.56, 0.59, 0.57, 0.58, 0.55, warning="!"))["verdict"] == "wrong number, with a warning"
    assert judge(bow, answers(0.5, 0.5))["verdict"] == "a number for what cannot be known WITHOUT A WARNING"
    assert judge(bow, {"answers": [{"refused": "no"}]}) == {"verdict": "refuses", "note": "no"}
    assert judge(bow, {"answers": [{"inapplicable": "no"}]})["verdict"] == "not for this"
    assert judge(front, answers(float("nan"), float("nan")))["verdict"] == "not a number"
    half = {"answers": [{"value": 0.5, "warning": "!"}, {"value": 0.5, "warning": ""}]}
    assert judge(bow, half)["verdict"] == "a number for what cannot be known, warned 1 of 2 times"
    covered = judge(front, answers(0.40, 0.50, low=0.3, high=0.45))
    assert (covered["intervals"], covered["covered"]) == (2, 2)
    assert judge(front, {"gave_up": "no answer in 5 s"})["verdict"] == "gave up"


def timed(problem: str, tool: str, median: float | None = None, section: str = "size", **more: Any) -> dict[str, Any]:
    return {
        "section": section,
        "problem": problem,
        "tool": tool,
        **({} if median is None else {"median": median}),
        **more,
    }


def test_claims_compare_like_with_like_and_know_what_they_do_not_know() -> None:
    timings = [
        timed("100 variables", "halftrek", 2.0),
        timed("100 variables", "halftrek, standard errors", 4.0),
        timed("100 variables", "ggm", 40.0),
        timed("100 variables", "lavaan", beyond=1000.0, why="no answer in 1 s"),
        timed("300 variables", "halftrek", 2.0),
        timed("300 variables", "ggm", 150.0),
        timed("1,000 variables", "halftrek", 1.0),
        timed("1,000 variables", "ggm", beyond=900.0, why="gave up"),
        timed("one, a whole process", "halftrek", 500.0, "process"),
        timed("one, a whole process", "halftrek, command line", 700.0, "process"),
        timed("one, a whole process", "semopy", 600.0, "process"),
    ]
    found = {c.what: c for c in claims({"speed": {"timings": timings}})}
    assert found["100 variables: the fastest peer"].met  # 20 times ggm, without standard errors on either side
    assert found["100 variables: the fastest peer"].measured == "20 (ggm)"
    lavaan = found["100 variables: lavaan, both with standard errors"]
    assert (lavaan.measured, lavaan.met) == ("> 250 (lavaan)", None)  # stopped before it could tell
    assert found["300 variables: the fastest peer"].met is False  # 75 of 80
    assert found["1,000 variables: the fastest peer"].met  # more than 900 times, however long it would have taken
    assert found["one, a whole process: the fastest Python peer"].met is False  # the slower of our two ways counts
    assert found["napkin: the fastest peer"].met is None


@pytest.mark.parametrize(
    ("mine", "peer", "met"),
    [
        (("right", [1.0, 1.2, 0.8, 1.1]), ("right", [1.0, 1.2, 0.8, 1.1]), True),
        (("right", [1.5, 1.6, 0.4, 1.4]), ("right", [1.1, 1.1, 0.9, 1.1]), False),
        (("right", [1.1, 0.8, 1.1, 0.9]), ("right", [1.05, 0.7, 1.15, 0.95]), True),  # chance
        (("wrong number", [2.0, 2.0, 2.0]), ("refuses", []), False),
        (("refuses", []), ("a number for what cannot be known", [1.0, 1.0, 1.0]), True),
    ],
)
def test_a_better_answer_of_a_peer_is_seen(mine: Any, peer: Any, met: bool) -> None:
    entries = [
        {"question": "q", "tool": tool, "truth": 1.0, "verdict": verdict, "values": values}
        for tool, (verdict, values) in (("halftrek", mine), ("other", peer))
    ]
    (claim,) = claims({"accuracy": entries})
    assert claim.met is met
    assert claim.measured == ("never" if met else "other on q")


def test_growth_is_told_from_the_last_two_sizes() -> None:
    square = growth.Walk("f", (100, 200, 400), (0.1, 1.5, 6.0))
    assert square.exponent == pytest.approx(2.0)
    assert square.first_above == 400
    assert growth.line(square) == "| `f` | 100: 0.10, 200: 1.50, 400: 6.00 | 2.0 | 400 |"
    short = growth.Walk("g", (1_000, 10_000), (0.001, 0.01))
    assert (short.exponent, short.first_above) == (None, None)
    assert "| `g` | 1,000: 0.00, 10,000: 0.01 | – | no |\n" in growth.page_of([square, short])


def test_a_walk_ends_where_it_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 10.0, 16.0, 20.0, 30.0])
    monkeypatch.setattr("benchmarks.growth.time.process_time", lambda: next(clock))
    growth.walk(growth.Operation("f", (1, 2, 3), lambda size: size, lambda given: given), (1, 2, 3))
    assert [json.loads(one) for one in capsys.readouterr().out.splitlines()] == [
        [1, None, False],
        [1, 1.0, False],
        [2, None, False],
        [2, 6.0, False],
    ]


def test_a_walk_that_is_stopped_says_so() -> None:
    stopped = growth.Walk("f", (100,), (0.1,), 200, bar=True, stops=0.25)
    assert stopped.first_above == 200
    assert growth.line(stopped) == "| `f` | 100: 0.10, 200: stopped | – | 200 |"
    assert growth.page_of([stopped]).endswith("| `f` | 200 | yes | 0.2 |\n")


def test_growth_walks_every_public_operation() -> None:
    assert growth_operations.unwalked() == []  # walk what is new, or say in NOT_WALKED why there is nothing to walk
    assert growth_operations.idle() == []
    names = [operation.name for operation in growth_operations.OPERATIONS]
    assert len(set(names)) == len(names)


def test_a_walk_sees_the_bars_that_people_would_see(capsys: pytest.CaptureFixture[str]) -> None:
    @public
    def work(seconds: float) -> None:
        time.sleep(seconds)

    growth.walk(growth.Operation("f", (0,), lambda _: 1.2, work), (0,))
    assert [0, pytest.approx(0.0, abs=0.2), True] == json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_page_of_engines_is_written_whole(tmp_path: Path) -> None:
    """From the lines of one run: both pages, with Spark, and the short table in its place in the how-to."""
    taken = {"seconds": 2.0, "memory": 100.0}
    lines = [engines_page.HEAD]
    lines += [
        engines_page.line(case.name, taken, {"seconds": 3.0, "memory": 250.0}, 763.0) for case in engines.cases(10**8)
    ]
    assert set(engines_page.SHORT) <= {case.name for case in engines.cases(10**8)}
    one = {"version": "3.5.9", "bare": 3.0, "workers": 6.0, "drained": 4.5, "chosen": "workers"}
    spark = [{"table": "1e7 x 10", "master": m, **one} for m in ("local[2]", "local-cluster[2,1,1024]")]
    before = (engines_page.DOCS / "howto" / "big-data.md").read_text(encoding="utf-8")
    (tmp_path / "howto").mkdir()
    (tmp_path / "howto" / "big-data.md").write_text(before, encoding="utf-8")
    engines_page.write(tmp_path, lines, ["| in memory |"], spark, 1.0, 40.0)
    page = (tmp_path / "benchmarks" / "engines.md").read_text(encoding="utf-8")
    assert all(
        text in page for text in (*lines, "| in memory |", "| Spark 3.5.9, 1e7 x 10, local[2] | 3.00 | 6.00 | 2.0 |")
    )
    after = (tmp_path / "howto" / "big-data.md").read_text(encoding="utf-8")
    assert "| DuckDB, 1e7 x 10 | 2.00 | 3.00 | 1.5 | 250 | 763 |" in after
    assert after.count("| Spark, 1e7 x 10 |") == 1
    halves = [text.partition(engines_page.BEGIN)[0] + text.partition(engines_page.END)[2] for text in (before, after)]
    assert halves[0] == halves[1]


@pytest.mark.parametrize("rows", [100, 300, 700])
@pytest.mark.parametrize("variables", [2, 3, 5])
def test_small_graphs_of_rows_with_missing_values_have_as_many_arcs_as_there_is_room_for(
    variables: int, rows: int
) -> None:
    """With more than that the search for a free pair would not end."""
    problem = make_problem(Size(variables, rows, 0.1))
    pairs = variables * (variables - 1) // 2
    assert len(problem.arcs) == min(round(0.3 * variables), pairs - len(problem.arrows))
    assert not set(problem.arcs) & set(problem.arrows)
    assert problem.table.shape == (rows, variables)
