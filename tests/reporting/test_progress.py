"""The progress bar is for people at a terminal and for nobody else."""

from __future__ import annotations

import sys
import time
from functools import partial

import pytest

from halftrek.bottom.calls import public
from halftrek.bottom.progress import busy
from halftrek.reporting import late_bar, progress_bar


def test_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Work") as advance:
        advance(1, 2)
    assert capsys.readouterr() == ("", "")


def test_shown_on_standard_error_only(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Work", shown=True) as advance:
        advance(1, 2)
        advance(2, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Work" in err
    assert "100%" in err


def test_plain_line_without_rich(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with progress_bar("Work", shown=True) as advance:
        advance(1, 2)
        advance(0, 0)
    assert capsys.readouterr().err == (f"\rWork [{'#' * 15}{'.' * 15}]  50%\rWork [{'#' * 30}] 100%\n")


def test_late_bar_appears_only_for_long_work(capsys: pytest.CaptureFixture[str]) -> None:
    with late_bar("Work", after=60.0, shown=True) as advance:
        advance(1, 2)
    assert capsys.readouterr() == ("", "")
    with late_bar("Work", after=-1.0, shown=True) as advance:
        advance(1, 2)
        advance(2, 2)
    assert "100%" in capsys.readouterr().err


def test_a_bar_within_a_bar_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Outer", shown=True) as advance:
        advance(1, 2)
        with progress_bar("Inner", shown=True) as silent, late_bar("Late", after=-1.0, shown=True) as late:
            silent(1, 2)
            late(1, 2)
    shown = capsys.readouterr().err
    assert "Outer" in shown
    assert "Inner" not in shown
    assert "Late" not in shown
    with progress_bar("Next", shown=True) as advance:
        advance(1, 2)
    assert "Next" in capsys.readouterr().err


def test_a_bar_of_its_own_appears_while_the_work_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with busy("Work", after=60.0, shown=True):
        pass
    assert capsys.readouterr() == ("", "")
    with busy("Work", after=0.0, shown=True):
        time.sleep(0.3)
    assert "Work" in capsys.readouterr().err


def test_what_reports_within_fills_it(capsys: pytest.CaptureFixture[str]) -> None:
    with busy("Outer", after=0.0, shown=True):
        with late_bar("Inner") as advance:
            advance(2, 4)
            with progress_bar("Deeper") as deeper:
                deeper(1, 100)
            time.sleep(0.3)
        with busy("Another", after=0.0, shown=True):
            pass
    shown = capsys.readouterr().err
    assert "Outer" in shown
    assert "50%" in shown
    assert "Inner" not in shown
    assert "1%" not in shown


def test_it_goes_when_the_work_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    def stopped() -> None:
        with busy("Work", after=0.0, shown=True):
            time.sleep(0.1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    capsys.readouterr()
    time.sleep(0.3)
    assert capsys.readouterr() == ("", "")  # nothing draws any more


def test_functions_with_a_bar_are_themselves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @public
    def work(seconds: float, *, fails: bool = False) -> str:
        """Some work."""
        time.sleep(seconds)
        if fails:
            raise ValueError
        return "done"

    assert work.__doc__ == "Some work."
    assert work(0.0) == "done"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("halftrek.bottom.calls.busy", partial(busy, after=0.0))
    assert work(0.3) == "done"
    assert "work" in capsys.readouterr().err
    with pytest.raises(ValueError):
        work(0.0, fails=True)
