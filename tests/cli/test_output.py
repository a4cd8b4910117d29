"""Terminals: narrow ones, coloured ones, old ones; pipes; places that cannot be written to."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from halftrek.cli import main

Capture = pytest.CaptureFixture[str]
CODE = "import sys; from halftrek.cli import main; sys.exit(main(sys.argv[1:]))"
BOW = ["identify", "x -> y; x <-> y", "x -> y"]


def on_terminal(words: list[str], *, columns: int = 80, **environment: str) -> str:
    """What the command writes to a terminal of that width."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM")}
    with subprocess.Popen(
        [sys.executable, "-c", CODE, *words], stdout=writer, stderr=writer, stdin=subprocess.DEVNULL,
        env={**env, "TERM": "xterm-256color", **environment},
    ) as running:  # fmt: skip
        os.close(writer)
        parts = []
        while True:
            try:
                part = os.read(reader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
        running.wait(timeout=60)
    os.close(reader)
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_colours_on_a_terminal_only_where_they_are_wanted(capsys: Capture) -> None:
    coloured = on_terminal(BOW)
    assert "\x1b[1;31mnot identified" in coloured
    assert "\x1b" not in on_terminal(BOW, NO_COLOR="1")
    assert "\x1b" not in on_terminal(BOW, TERM="dumb")
    assert main(BOW) == 3
    piped = capsys.readouterr().out
    assert "\x1b" not in piped
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == piped


def test_narrow_terminals(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_terminal(BOW, columns=50, NO_COLOR="1")
    to_read = [line for line in shown.splitlines() if not line.strip().startswith("halftrek ")]  # others are to paste
    assert 40 < max(map(len, to_read)) <= 50
    for width in (40, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(["effect", "tal_or", "tal_or", "--all"]) == 0
        assert main(["fit", "tal_or", "tal_or", "--checks"]) == 0
        assert main(["identify", "tal_or", "--all"]) == 0
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= width
        assert "0.4765" in text


def test_wide_terminals_do_not_stretch_text(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(BOW) == 3
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("      halftrek ")]
    assert max(map(len, lines)) <= 80  # lines to paste are as long as they are


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_terminals_that_lack_letters(encoding: str) -> None:
    def run(*words: str) -> bytes:
        env = {**os.environ, "PYTHONIOENCODING": encoding}
        return subprocess.run([sys.executable, "-c", CODE, *words], env=env, capture_output=True, check=True).stdout

    graph = "größe -> ψ -> 数; größe <-> 数"
    text = run("identify", graph, "größe ~> 数").decode(encoding)
    assert "identified" in text
    assert "psi" in text or encoding == "cp437"
    record = json.loads(run("identify", graph, "größe ~> 数", "--json").decode(encoding))
    assert record["query"] == "größe ~> 数"
    assert run("simulate", graph, "-n", "2", "--seed", "1").decode("utf-8").startswith("größe,ψ,数\n")


def test_help_loads_nothing_and_identify_only_what_it_needs() -> None:
    heavy = "('numpy', 'scipy', 'pandas', 'pyarrow')"
    ours = "('halftrek.results.workflow', 'halftrek.estimation', 'halftrek.inference')"
    code = "import sys; from halftrek.cli import main; main(sys.argv[1:])"
    code += f"; print(*[m for m in {heavy} + {ours} if m in sys.modules])"
    for words, loaded in ((["--help"], ""), (["--version"], ""), ([*BOW[:2], "y -> x"], "numpy"), (BOW, "numpy")):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
        assert set(done.stdout.splitlines()[-1].split()) <= set(loaded.split()), words


def test_existing_files_stay(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("mine")
    for words in (
        ["simulate", "napkin", "-n", "5", "-o", str(path)],
        ["fit", "mroz", "mroz", "--save", str(path)],
        ["fit", "mroz", "mroz", "--write-analysis", str(path)],
        ["report", "mroz", "mroz", "--out", str(path)],
    ):
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "exists already; --force writes over it" in err
    assert path.read_text() == "mine"
    assert main(["simulate", "napkin", "-n", "5", "--seed", "1", "-o", str(path), "--force"]) == 0
    assert path.read_text().startswith("X1,")


def test_places_that_cannot_be_written_to(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("/proc/self/out.csv", str(tmp_path / "file" / "out.csv")):
        assert main(["simulate", "napkin", "-n", "5", "-o", place]) == 2
        err = capsys.readouterr().err
        assert "cannot write" in err
        assert "Traceback" not in err


def test_a_pipe_that_closes_early(tmp_path: Path) -> None:
    """What is left over is not complained about."""
    for words in ("effect tal_or tal_or --all", "identify napkin --all", "schema run", "completion bash"):
        done = subprocess.run(
            ["bash", "-c", f'"{sys.executable}" -c "{CODE}" {words} | true'],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stderr == "", words


def test_advice_is_in_the_words_of_the_command_line(capsys: Capture, tmp_path: Path) -> None:
    rows = ["lottery,school,wage"]
    rows += [f"{k % 7},{(k * 37) % 11 + 0.02 * (k % 7)},{(k * 37) % 11 + (k * 13) % 5}" for k in range(60)]
    (tmp_path / "few.csv").write_text("\n".join(rows))
    graph = "lottery -> school -> wage; school <-> wage"
    assert main(["effect", graph, str(tmp_path / "few.csv"), "school", "wage", "--interval", "delta"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--interval profile" in text
    assert "fit.query" not in text
    assert main(["effect", graph, str(tmp_path / "few.csv"), "school", "wage", "--interval", "delta", "--json"]) == 0
    notes = {n["code"]: n for n in json.loads(capsys.readouterr().out)["notes"]}
    assert "--interval profile" in notes["weak instrument"]["text"]
    assert notes["weak instrument"]["facts"]["F"] < 10


def test_demo_replaces_its_own_picture_and_no_other(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["demo"]) == 0
    capsys.readouterr()
    (tmp_path / "output" / "demo.png").write_bytes(b"\x89PNG mine")
    assert main(["demo"]) == 2
    out, err = capsys.readouterr()
    assert out == ""  # said before the work
    assert "choose another name, or --force" in err
    assert (tmp_path / "output" / "demo.png").read_bytes() == b"\x89PNG mine"
    assert main(["demo", "--force"]) == 0


def test_simulated_rows_are_csv_and_no_other_ending_is_taken(tmp_path: Path, capsys: Capture) -> None:
    assert main(["simulate", "x -> y", "-n", "5", "-o", str(tmp_path / "rows.parquet")]) == 2
    assert "rows are written as CSV, not as .parquet" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
