"""The runner of ``make fuzz``, with fuzzing functions small enough to know what they find."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.fuzz import page
from tests.fuzz.__main__ import main
from tests.fuzz.runner import Batch, discovered, functions, next_count, run_batch, run_for

Capture = pytest.CaptureFixture[str]


def quiet(rng: np.random.Generator, count: int) -> tuple[int, list[str]]:
    """Numbers that are never negative | or so."""
    return count, [f"{x}" for x in rng.random(count) if x < 0]


def low(rng: np.random.Generator, count: int) -> tuple[int, list[str]]:
    """Every batch has one failure, which tells its first draw."""
    return count, [f"drew {rng.random():.6f}"]


def broken(rng: np.random.Generator, count: int) -> tuple[int, list[str]]:
    """Raises instead of telling."""
    raise KeyError(f"{rng.random() >= 0} {count}")


def idle(rng: np.random.Generator, count: int) -> tuple[int, list[str]]:
    """Tries nothing, whatever it is given."""
    return len(rng.random(0 * count)), []


def test_all_is_well(capsys: Capture) -> None:
    assert main(["--minutes", "0.001"], {"a.quiet": quiet}) == 0
    printed = capsys.readouterr().out
    assert "0 failures, seed 0" in printed
    assert "a.quiet: " in printed


def test_a_failure_gives_exit_code_one_and_can_be_had_again(capsys: Capture) -> None:
    assert main(["--minutes", "0", "--seed", "7"], {"a.low": low, "a.quiet": quiet}) == 1
    printed = capsys.readouterr().out
    failure = next(line for line in printed.splitlines() if "a.low FAILED: drew" in line)
    again = printed.partition("again: python -m tests.fuzz ")[2].splitlines()[0]
    assert main(again.split(), {"a.low": low, "a.quiet": quiet}) == 1
    repeated = capsys.readouterr().out
    assert failure in repeated
    assert "a.quiet" not in repeated


def test_batches_differ_by_function_seed_and_number() -> None:
    calls = [("a.low", 0, 0), ("a.low", 0, 1), ("a.low", 1, 0), ("b.low", 0, 0)]
    drawn = [run_batch(name, low, seed, number, 1).failures for name, seed, number in calls]
    assert len(set(drawn)) == len(calls)


@pytest.mark.parametrize(("fuzz", "words"), [(broken, "itself raised KeyError"), (idle, "nothing was tried by a.x")])
def test_a_function_that_breaks_or_tries_nothing_is_no_success(fuzz: object, words: str, capsys: Capture) -> None:
    assert main(["--minutes", "0"], {"a.x": fuzz}) == 1  # type: ignore[dict-item]
    assert words in capsys.readouterr().out


def test_every_function_runs_once_even_without_time() -> None:
    assert len(list(run_for("a.quiet", quiet, 0, 0.0))) == 1


def test_batches_grow_with_the_speed_and_never_beyond_bounds() -> None:
    def after(count: int, seconds: float, left: float = 60.0) -> int:
        return next_count(Batch("a", 0, count, count, (), seconds), 80.0, left)

    assert after(1, 0.001) == 10  # a first batch says little
    assert after(100, 1.0) == 1_000
    assert after(100, 50.0) == 20  # 2 in a second, and an eighth of 80 seconds
    assert after(100, 50.0, left=1.0) == 2
    assert after(100, 50.0, left=-1.0) == 1
    assert after(10_000, 0.001) == 10_000


def test_functions_are_found_by_their_form() -> None:
    module = ModuleType("tests.fuzz.example")
    source = (
        "from tests.project.test_fuzz_runner import low\n"
        "def found(rng, count): return count, []\n"
        "def _hidden(rng, count): return count, []\n"
        "def helper(rng): return rng\n"
    )
    exec(source, vars(module))
    assert [name for name, _ in functions(module)] == ["example.found"]
    assert not [name for name in discovered() if name.startswith(("runner.", "page.", "__main__.", "test_"))]


def test_an_unknown_name_is_refused(capsys: Capture) -> None:
    assert main(["--only", "b"], {"a.quiet": quiet}) == 2
    assert "'b'" in capsys.readouterr().out
    assert main(["--only", "a", "--minutes", "0"], {"a.quiet": quiet}) == 0
    assert main(["--only", "quiet", "--minutes", "0"], {"a.quiet": quiet}) == 0


def test_counts_are_written_into_the_page(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "page.md"
    target.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", encoding="utf-8")
    for _ in range(2):  # a second run replaces the first
        assert main(["--minutes", "0", "--write"], {"a.quiet": quiet, "a.low": low}, target) == 1
    text = target.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{page.BEGIN}\n\n| What is tried")
    assert text.endswith(f"{page.END}\nafter\n")
    assert "old" not in text
    assert "| Numbers that are never negative \\| or so | `a.quiet` | 1 | 0 |" in text
    assert "| all | | 2 | 1 |" in text
    assert main(["--only", "quiet", "--write"], {"a.quiet": quiet}, target) == 2
    assert target.read_text(encoding="utf-8") == text
    assert "leave out --only" in capsys.readouterr().out


def test_the_page_has_its_marks() -> None:
    assert "| x |" in page.with_table(page.PAGE.read_text(encoding="utf-8"), "| x |")
    with pytest.raises(ValueError, match="the page has to hold"):
        page.with_table("no marks", "| x |")
