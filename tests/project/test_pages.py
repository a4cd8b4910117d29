"""Everything that the README and the documentation show runs as printed, and prints what they say."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

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
def test_commands_run_as_printed(page: Path, tmp_path: Path) -> None:
    """Lines after ``$`` are commands; what stands under one is its output; ``# exit 3`` is its exit code."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in some(blocks(page, "console")):
        for entry in some(block.text.split("$ ")[1:]):
            command, _, expected = entry.partition("\n")
            code = int(command.rpartition("# exit ")[2]) if "# exit " in command else 0
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env={**os.environ, "PATH": path, "COLUMNS": "80"},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == code, f"{command}\n{done.stderr}"
            if expected.strip():
                assert done.stdout == expected, command


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
