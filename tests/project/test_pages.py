"""Everything that the README and the documentation show runs as printed, and prints what they say."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import pytest

from halftrek.cli import main
from tests.narrow import some
from tests.project.pages import PAGES, ROOT, blocks

with_python = [page for page in PAGES if blocks(page, "python")]
with_commands = [page for page in PAGES if blocks(page, "console")]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_there_is_something_to_run() -> None:
    assert {"README.md", "docs/tutorial.md"} <= set(map(name_of, with_python))
    assert {"README.md", "docs/cli.md"} <= set(map(name_of, with_commands))


@pytest.mark.parametrize("page", with_python, ids=name_of)
def test_python_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page, "python"):
        code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        if block.output is not None:
            assert printed.getvalue() == block.output, f"{name_of(page)}, line {block.line}"
    assert len(names) > 1, f"{name_of(page)} ran nothing"
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("page", with_commands, ids=name_of)
def test_commands_run_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines after ``$`` are commands; what stands under one is its output; ``# exit 3`` is its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "80")
    run = by_shell if page.name == "README.md" else by_hand
    for block in some(blocks(page, "console")):
        for entry in some(block.text.split("$ ")[1:]):
            command, _, expected = entry.partition("\n")
            code = int(command.rpartition("# exit ")[2]) if "# exit " in command else 0
            found, printed, errors = run(command)
            assert found == code, f"{command}\n{errors}"
            if expected.strip():
                assert printed == expected, command


def by_shell(command: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command in a process of its own."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def by_hand(command: str) -> tuple[int, str, str]:
    """The same; without a process where the shell has nothing to do, which takes a fraction of the time."""
    words = shlex.split(command.partition("# exit ")[0])
    if words[0] != "halftrek" or {"|", ">", "<"} & set(words):
        return by_shell(command)
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors), warnings.catch_warnings():
        warnings.resetwarnings()
        code = main(words[1:])
    return code, printed.getvalue(), errors.getvalue()


def test_readme_begins_with_the_two_commands() -> None:
    opening = blocks(ROOT / "README.md", "")[0]
    assert opening.line <= 4
    assert [line.split("#")[0].strip() for line in opening.text.splitlines()] == ["make demo", "make test"]


def test_links_between_pages_lead_somewhere() -> None:
    import re

    looked = 0
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"
                looked += 1
    assert looked > 20
