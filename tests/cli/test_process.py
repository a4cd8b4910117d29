"""The program as a process: closed and full streams, signals at any moment, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import halftrek as ht
from halftrek.cli import main

Capture = pytest.CaptureFixture[str]
IDENTIFY = "identify 'x -> y' 'x -> y'"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs ``HALFTREK`` commands in bash."""
    program = f'"{sys.executable}" -m halftrek'
    return subprocess.run(
        ["bash", "-c", command.replace("HALFTREK", program)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (f"HALFTREK {IDENTIFY} >&-", 2, "cannot write to standard output: it is closed"),
        ("HALFTREK simulate napkin -n 9 >&-", 2, "cannot write to standard output: it is closed"),
        ("HALFTREK --help >&-", 2, "cannot write to standard output: it is closed"),
        (f"HALFTREK {IDENTIFY} > /dev/full", 2, "cannot write to standard output: No space left on device"),
        ("HALFTREK simulate napkin -n 9000 > /dev/full", 2, "cannot write to standard output: No space left"),
        ("HALFTREK --help > /dev/full", 2, "cannot write to standard output: No space left on device"),
        ("HALFTREK simulate napkin -n 9 -o /dev/full", 2, "cannot write '/dev/full': No space left on device"),
        ("HALFTREK identify - 'x -> y' <&-", 2, "standard input is empty; it should hold a graph"),
        ("HALFTREK fit 'x -> y' - <&-", 2, "standard input is empty; it should hold a CSV"),
        ("HALFTREK simulate napkin -n 9 -o rows.csv >&- <&-", 0, ""),
        (f"HALFTREK {IDENTIFY} > /dev/null <&-", 0, ""),
        (f"HALFTREK {IDENTIFY} --dance 2> /dev/full", 2, ""),
        ("HALFTREK identify 'x -> x' 'x -> y' 2> /dev/full", 2, ""),
        ("HALFTREK identify 'x -> x' 'x -> y' >&- 2>&- <&-", 2, ""),
    ],
)
def test_streams_that_are_closed_or_full(command: str, code: int, message: str, tmp_path: Path) -> None:
    done = shell(command, tmp_path)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr == "" if not message else done.stderr.startswith(f"halftrek: error: {message}"), done.stderr
    assert done.stderr.count("\n") <= 1


def test_a_closed_standard_error_does_not_spill_into_the_result(tmp_path: Path) -> None:
    """Python prints to standard output what it cannot print to a standard error that is not there."""
    done = shell("HALFTREK identify 'x -> x' 'x -> y' 2>&-", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    done = shell(f"HALFTREK {IDENTIFY} --json 2>&-", tmp_path)
    assert json.loads(done.stdout)["identified"] is True


def test_a_file_does_not_take_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """With standard output closed the next file to be opened would be standard output."""
    done = shell(
        "HALFTREK simulate napkin -n 9 --seed 1 -o a.csv; HALFTREK fit napkin a.csv --save f.json >&-", tmp_path
    )
    assert done.returncode == 2
    assert isinstance(ht.load(tmp_path / "f.json"), ht.Fit)  # whole, and without what could not be printed
    assert (tmp_path / "a.csv").read_text().count("\n") == 10


def test_a_reader_that_leaves_early(tmp_path: Path) -> None:
    for words in ("simulate napkin -n 100000", "--help"):
        done = shell(f"HALFTREK {words} | sleep 0; exit ${{PIPESTATUS[0]}}", tmp_path)
        assert done.returncode in (0, 141)  # 0 if the little there is was written before
        assert done.stderr == ""
    done = shell("HALFTREK simulate napkin -n 100000 -o /dev/stdout | head -n 1; exit ${PIPESTATUS[0]}", tmp_path)
    assert (done.returncode, done.stderr) == (141, "")
    assert done.stdout == "X1,X2,X3,X4\n"


def test_results_to_standard_output_by_its_name(tmp_path: Path) -> None:
    done = shell("HALFTREK simulate napkin -n 3 --seed 1 -o /dev/stdout > a.csv", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.csv").read_text() == shell("HALFTREK simulate napkin -n 3 --seed 1", tmp_path).stdout
    shell("HALFTREK fit mroz mroz --save /dev/stdout > both.txt", tmp_path)
    text = (tmp_path / "both.txt").read_text()
    assert text.index("log-likelihood") < text.index('"format": "halftrek"')


def test_rows_go_to_the_file_and_the_record_to_standard_output(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "rows.csv"
    assert main(["simulate", "napkin", "-n", "30", "--seed", "1", "-o", str(path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    lines = path.read_text().splitlines()
    assert lines[0].split(",") == record["names"]
    assert [[float(cell) for cell in line.split(",")] for line in lines[1:]] == record["rows"]
    assert record["file"] == str(path)
    assert main(["simulate", "napkin", "-n", "30", "--seed", "1"]) == 0
    assert capsys.readouterr().out == path.read_text()


# -- signals --------------------------------------------------------------------------------------

# A module of that name is imported in the middle of the work; there the program waits until it is stopped.
WAITING = """
import os, time
os.write(2, b"here\\n")
while True:
    time.sleep(0.01)
"""


# A run that outlives its terminal ignores SIGHUP, and so would all that it starts.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from halftrek_command import main
sys.exit(main())
"""


def stopped(module: str, words: list[str], what: int, folder: Path) -> tuple[int, str]:
    """Exit code and what was said by a command that a signal finds in the import of a module."""
    held = folder / "held"
    (held / "spare").mkdir(parents=True, exist_ok=True)
    (held / f"{module}.py").write_text(WAITING)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(held), *map(os.path.abspath, sys.path)]),
            "TMPDIR": str(held / "spare"),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "here\n"
    process.send_signal(what)
    out, err = process.communicate(timeout=60)
    assert out == ""
    assert not list((held / "spare").iterdir())
    assert not list(folder.rglob(".halftrek-*"))
    return process.returncode, err


@pytest.mark.parametrize("what", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_while_loading(what: signal.Signals, tmp_path: Path) -> None:
    """argparse is the first thing that the program loads, numpy the first that turns exceptions into others."""
    for module in ("argparse", "numpy"):
        assert stopped(module, ["fit", "mroz", "mroz"], what, tmp_path) == (128 + what, "halftrek: stopped\n")
        (tmp_path / "held" / f"{module}.py").unlink()


def test_stopped_before_the_package_is_loaded(tmp_path: Path) -> None:
    """The command's own module is all that is there; no other signal has a handler yet, and none has work to undo."""
    assert stopped("halftrek", ["fit", "mroz", "mroz"], signal.SIGINT, tmp_path) == (130, "halftrek: stopped\n")
    assert stopped("halftrek", ["fit", "mroz", "mroz"], signal.SIGTERM, tmp_path) == (-signal.SIGTERM, "")


@pytest.mark.parametrize("what", [signal.SIGINT, signal.SIGTERM])
def test_stopped_with_files_in_the_making(what: signal.Signals, tmp_path: Path) -> None:
    """A report opens its place first, and looks for matplotlib while it is being made."""
    words = ["report", "mroz", "mroz", "--question", "educ -> lwage", "--out", "r.html"]
    assert stopped("matplotlib", words, what, tmp_path) == (128 + what, "halftrek: stopped\n")
    assert [p.name for p in tmp_path.iterdir()] == ["held"]


# What identification does instead of its work, in the program itself.
INSTEAD = """
import os, signal, sys, time
from halftrek import identification
from halftrek.cli import main
from halftrek.bottom.files import temporary_folder, whole_file
real = identification.identify
{code}
identification.identify = odd
sys.exit(main())
"""


def instead(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "spare").mkdir()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), "TMPDIR": str(folder / "spare")}
    words = [sys.executable, "-c", INSTEAD.format(code=code), "identify", "x -> y", "x -> y"]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert not list((folder / "spare").iterdir())
    assert os.listdir(folder) == ["spare"]
    return done


@pytest.mark.parametrize(
    ("then", "said"),
    [("raise ValueError('odd')", 1), ("raise SystemExit(0)", 1), ("return real(*args, **options)", 0)],
)
def test_a_stop_that_a_library_swallows_is_still_a_stop(then: str, said: int, tmp_path: Path) -> None:
    """It may turn the exception into another, or go on as if nothing had been."""
    done = instead(
        f"""
def odd(*args, **options):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except BaseException:
        {then}
""",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (130, "halftrek: stopped\n" * said)


def test_a_stop_in_a_place_that_cannot_raise_is_still_a_stop(tmp_path: Path) -> None:
    done = instead(
        """
class Odd:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
def odd(*args, **options):
    with temporary_folder(), whole_file("new.txt"):
        Odd()
        time.sleep(60)
""",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (143, "halftrek: stopped\n")


def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    done = instead(
        """
def odd(*args, **options):
    with temporary_folder() as folder, whole_file("new.txt"):
        (folder / "half").write_text("")
        while True:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)
            except BaseException:
                pass
""",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (130, "halftrek: stopped\n")


def test_a_signal_that_was_ignored_stays_ignored(tmp_path: Path) -> None:
    done = shell("trap '' INT; HALFTREK simulate napkin -n 3 --seed 1 & p=$!; kill -INT $p; wait $p", tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("X1,")


def test_within_python_signals_are_left_alone(capsys: Capture) -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)], sys.unraisablehook
    assert main(["identify", "x -> y", "x -> y"]) == 0
    assert ([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)], sys.unraisablehook) == before
    assert capsys.readouterr().err == ""
