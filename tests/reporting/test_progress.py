"""The progress bar is for people at a terminal and for nobody else."""

from __future__ import annotations

import sys

import pytest

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
