"""Two revisions in turns: what is said of made-up times, and that each side's process has its own tree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.against import __main__ as command
from benchmarks.against import cases, ratios, trees
from benchmarks.against.ratios import Compared, Times, compare, differences, verdict
from benchmarks.against.sides import Failed, Side
from benchmarks.against.trees import Tree


class Fake:
    """A side whose calls take what it was told, round by round; the last one again and again."""

    def __init__(self, *processor: float, wall: tuple[float, ...] = (), numbers: tuple[float, ...] = (1.0,)) -> None:
        self.processor, self.wall, self.numbers = processor, wall or processor, list(numbers)
        self.rounds = 0

    def prepare(self, case: str) -> dict[str, Any]:  # noqa: ARG002
        return {"numbers": self.numbers, "seconds": self.wall[0], "whole": self.wall[0]}

    def time(self, repeats: int) -> dict[str, list[float]]:
        processor, wall = (clock[min(self.rounds, len(clock) - 1)] for clock in (self.processor, self.wall))
        self.rounds += 1
        return {"processor": [processor] * repeats, "wall": [wall] * repeats}


def compared(case: str, before: Fake, now: Fake, rounds: int = 5) -> Compared:
    return compare(case, before, now, rounds)


def test_a_slowed_case_is_named_and_the_others_are_not() -> None:
    found = [
        compared("as it was", Fake(0.1), Fake(0.1)),
        compared("slowed", Fake(0.1), Fake(0.12)),
        compared("at the limit", Fake(0.1), Fake(0.11)),
        compared("faster", Fake(0.1), Fake(0.05)),
    ]
    assert [one.slower for one in found] == [False, True, False, False]
    assert verdict(found) == "4 cases, median of ratios 1.05, 1 slower than 1.1: slowed"
    assert verdict(found[:1]) == "1 cases, median of ratios 1.00, 0 slower than 1.1"
    assert "1.20 (1.20 to 1.20)" in command.line(found[1])
    assert command.line(found[1]).endswith("SLOWER")


def test_ratios_are_of_neighbouring_rounds() -> None:
    """A machine that is slow for a while slows both sides of a round, so no ratio shows it."""
    times = compared("x", Fake(1.0, 1.0, 4.0, 4.0, 1.0), Fake(1.0, 1.0, 4.0, 4.4, 0.9)).processor
    assert times.ratios == pytest.approx([0.9, 1.0, 1.0, 1.0, 1.1])
    assert times.ratio == 1.0
    assert times.quartiles == pytest.approx((1.0, 1.0))
    assert times.interval == pytest.approx((0.9, 1.1))
    assert times.milliseconds == (1000.0, 1000.0)


@pytest.mark.parametrize(("rounds", "beyond"), [(1, 0), (3, 0), (5, 0), (7, 0), (8, 1), (15, 3)])
def test_the_interval_leaves_out_what_the_test_of_signs_allows(rounds: int, beyond: int) -> None:
    """Of 8 fair coins at most one shows heads in 9 of 256 throws, on each side 3.5 %; of 7 in 8 of 128, 6.3 %."""
    times = Times((1.0,) * rounds, tuple(range(rounds)))
    assert times.interval == (beyond, rounds - 1 - beyond)


def test_only_an_unclear_case_gets_more_rounds() -> None:
    clear, noisy = Fake(0.1), Fake(0.1, 0.13, 0.1, 0.09, 0.1, 0.1)
    compared("clear", Fake(0.1), clear)
    once_more = compared("noisy", Fake(0.1), noisy)
    hopeless = Fake(*[0.08, 0.14] * 30)
    compared("hopeless", Fake(0.1), hopeless)
    assert (clear.rounds, noisy.rounds, hopeless.rounds) == (5, 8, 15)
    assert not once_more.slower


def test_waiting_counts_only_beyond_the_noise() -> None:
    waits = compared("waits", Fake(0.1), Fake(0.1, wall=(0.3,)))
    busy = compared("busy", Fake(0.1), Fake(0.1, wall=(0.3, 0.3, 0.3, 0.1, 0.3)))
    assert (waits.slower, waits.processor.ratio) == (True, 1.0)
    few = compared("few", Fake(0.1), Fake(0.1, wall=(0.3,)), rounds=1)
    assert (few.slower, len(few.wall.before)) == (False, 3)
    assert not busy.slower
    assert busy.wall.ratio == pytest.approx(3.0)


def test_turns_are_a_b_b_a(monkeypatch: pytest.MonkeyPatch) -> None:
    order = []

    class Seen(Fake):
        def time(self, repeats: int) -> dict[str, list[float]]:
            order.append((self.numbers[0], repeats))
            return super().time(repeats)

    compare("x", Seen(0.02, numbers=(0.0,)), Seen(0.02, numbers=(1.0,)), 4)
    assert order == [(side, 3) for side in (0, 1, 1, 0, 0, 1, 1, 0)]  # three calls of 20 ms are more than 50
    order.clear()
    monkeypatch.setattr(ratios, "LONG", -1.0)
    compare("x", Seen(2.0), Seen(2.0), 5)
    assert [repeats for _, repeats in order] == [1] * 6  # what takes long has three rounds


def test_other_work_is_seen_in_its_numbers() -> None:
    nan = float("nan")
    assert differences([1.0, nan, 0.0], [1.0 + 1e-9, nan, 1e-12]) == ""
    assert differences([1.0, 2.0], [1.0, 2.1]) == "2 before, 2.1 now"
    assert differences([nan], [1.0]) == "nan before, 1 now"
    assert differences([1.0], [1.0, 2.0]) == "1 numbers before, 2 now"
    found = compared("x", Fake(0.1), Fake(0.1, numbers=(2.0,)))
    assert "NUMBERS DIFFER: 1 before, 2 now" in command.line(found)


def test_stored_cases_are_for_revisions_without_any(tmp_path: Path) -> None:
    assert trees.cases_of(tmp_path) == trees.STORED
    assert (trees.STORED / "cases.py").exists()
    own = tmp_path / "benchmarks" / "against"
    own.mkdir(parents=True)
    (own / "cases.py").touch()
    assert trees.cases_of(tmp_path) == own
    assert trees.cases_of(trees.ROOT) == trees.ROOT / "benchmarks" / "against"


def test_stored_cases_stand_alone() -> None:
    """What later revisions rename or move is not what they import."""
    texts = [path.read_text(encoding="utf-8") for path in trees.STORED.glob("*.py")]
    pairs = [pair for text in texts for pair in re.findall(r"^from (\S+) import|^import (\S+)", text, re.MULTILINE)]
    assert pairs
    assert not [name for pair in pairs for name in pair if name.startswith(("benchmarks", "tests"))]


CASES = """
import subprocess, sys
from types import SimpleNamespace
import halftrek

def in_a_process(_):
    code = "import halftrek; print(float(hasattr(halftrek, 'square')))"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

def case(ask, pace="quick"):
    return SimpleNamespace(given=lambda: 2, fresh=lambda two, call: two, ask=ask, numbers=lambda x: [x], pace=pace)

CASES = {CASES}
"""


def tiny(folder: Path, square: str, of_cases: str) -> Tree:
    """A tree with a halftrek of one function, cases of its own, and an environment as the large ones have it."""
    (folder / "halftrek").mkdir(parents=True)
    (folder / "halftrek" / "__init__.py").write_text(f"def {square}(x):\n    print('noise')\n    return x * x\n")
    (folder / "benchmarks" / "against").mkdir(parents=True)
    (folder / "benchmarks" / "against" / "cases.py").write_text(CASES.replace("{CASES}", of_cases))
    python = trees.environment(folder, folder / "home", trees.packages_here())
    return Tree(folder.name, folder, python, trees.cases_of(folder))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tree, Tree]:
    """Between them a function was renamed, a case was dropped, one came, one broke, and one does other work."""
    folder = tmp_path_factory.mktemp("trees")
    shared = '"process": case(in_a_process), "usual": case(lambda x: x, "usual"), "slow": case(lambda x: x, "slow")'
    old = tiny(folder / "old", "square", '{"renamed": case(halftrek.square), "broken": case(halftrek.square), '
               f'"other work": case(halftrek.square), "dropped": case(halftrek.square), {shared}}}')  # fmt: skip
    new = tiny(folder / "new", "squared", '{"renamed": case(halftrek.squared), "broken": case(lambda x: x / 0), '
               f'"other work": case(lambda x: 5), "new": case(halftrek.squared), {shared}}}')  # fmt: skip
    return old, new


def test_each_process_has_its_own_tree(
    two: tuple[Tree, Tree], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = two
    monkeypatch.setenv("PYTHONPATH", str(new.root))  # which leads to one of them
    monkeypatch.setattr(command, "revision", lambda _: old)
    monkeypatch.setattr(command, "present", lambda: new)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "against.json")
    monkeypatch.setattr(ratios, "ROUND", 1e-4)
    assert command.main(["REV", "--quick", "--rounds", "1", "--write"]) == 0
    printed = capsys.readouterr().out
    assert "broken" + " " * 46 + " FAILED now: ZeroDivisionError: division by zero\n" in printed
    assert "numbers differ: other work; process\n" in printed
    assert "only there before: dropped\nonly there now: new\n" in printed
    assert re.search(r"\n3 cases, median of ratios .*\n$", printed)
    stored = json.loads((tmp_path / "against.json").read_text())
    assert [one["case"] for one in stored["cases"]] == ["renamed", "other work", "process"]
    assert [one["differs"] for one in stored["cases"]] == ["", "4 before, 5 now", "1 before, 0 now"]
    assert (stored["before"], stored["now"]) == ("old", "new")
    assert str(tmp_path) not in json.dumps(stored)


def test_a_process_that_has_another_tree_ends_it(two: tuple[Tree, Tree]) -> None:
    old, new = two
    mixed = Tree("mixed", old.root, new.python, new.cases)
    with Side("before", mixed) as side, pytest.raises(SystemExit, match="mixed: halftrek was loaded from"):
        side.hello()


def test_a_process_that_ends_fails_one_case_and_is_started_again(two: tuple[Tree, Tree]) -> None:
    with Side("now", two[1]) as side:
        side.prepare("renamed")
        assert side._process is not None
        side._process.kill()
        with pytest.raises(Failed, match="now: its process ended"):
            side.time(1)
        assert side.prepare("renamed")["numbers"] == [4.0]


def test_cases_that_cannot_be_read_are_no_riddle(two: tuple[Tree, Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a revision before the names that they use."""
    old, new = two
    monkeypatch.setattr(command, "revision", lambda _: Tree("older", old.root, old.python, new.cases))
    monkeypatch.setattr(command, "present", lambda: new)
    with pytest.raises(SystemExit, match=r"before: its cases cannot be read: AttributeError: .*squared"):
        command.main(["REV"])


def test_slow_cases_are_asked_by_name_only() -> None:
    paces = {"a": "quick", "b": "usual", "c": "slow"}
    assert command.chosen(paces, "", False) == ["a", "b"]
    assert command.chosen(paces, "", True) == ["a"]
    assert command.chosen(paces, "c|b", True) == ["b", "c"]


def test_a_revision_has_a_worktree_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\ndependencies = ["numpy"]\n')
    (root / "constraints.txt").write_text("numpy==2\n")
    (root / ".gitignore").write_text(".bench/\n")
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "one"]):
        subprocess.run([*git, *arguments], check=True)
    monkeypatch.setattr(trees, "ROOT", root)
    monkeypatch.setattr(trees, "HOMES", root / ".bench" / "against")
    here = trees.present()
    (root / "constraints.txt").write_text("numpy==3\n")
    assert trees.present().name == here.name + " with changes"
    monkeypatch.setattr(trees, "packages_of", lambda _root, home: home / "its own")
    found = trees.revision("HEAD")
    assert found == trees.revision("HEAD")
    assert (found.root / "constraints.txt").read_text() == "numpy==2\n"
    assert found.cases == trees.STORED
    paths = next(found.python.parents[1].rglob("against.pth")).read_text().splitlines()
    assert paths == [str(found.root), str(found.root.parent / "its own")]  # for its pins are others
    (root / "constraints.txt").write_text("numpy==2\n")
    paths = next(trees.revision("HEAD").python.parents[1].rglob("against.pth")).read_text().splitlines()
    assert paths == [str(found.root), str(trees.packages_here())]
    with pytest.raises(SystemExit, match="nowhere is not a revision"):
        trees.revision("nowhere")
    (found.root / "constraints.txt").write_text("numpy==4\n")
    with pytest.raises(SystemExit, match="no longer what the revision holds"):
        trees.revision("HEAD")


def test_cases_have_names_of_their_own() -> None:
    rooms = (cases.FITS, cases.FACTORS, cases.PANEL, cases.ANSWERS, cases.SETS, cases.TABLES, cases.OUTSIDE)
    assert len(cases.CASES) == sum(map(len, rooms))
    assert {case.pace for case in cases.CASES.values()} == {"quick", "usual", "slow"}


@pytest.mark.parametrize("name", ["fit, 10 variables", "effect, instrument"])
def test_each_call_does_the_same_work_under_other_names(name: str) -> None:
    case = cases.CASES[name]
    given = case.given()
    first, second = (list(case.numbers(case.ask(case.fresh(given, call)))) for call in (0, 12))
    assert differences(first, second) == ""
    assert case.fresh(given, 0) is not case.fresh(given, 1)


def test_processes_are_of_the_interpreter_that_asks() -> None:
    assert cases.process(["-c", "import sys; print(sys.executable)"]).strip() == sys.executable
