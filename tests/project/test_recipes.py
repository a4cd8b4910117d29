"""What pages for contributors name exists: files, names, and the tools that run before a commit."""

from __future__ import annotations

import re

import pytest

from tests.project.pages import ROOT

PAGE = (ROOT / "docs" / "where-new-code-goes.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:halftrek|tests|benchmarks|docs)/[\w/.-]+)`", PAGE)))
NAMES = sorted(set(re.findall(r"`(\w+)`\s+(?:of|in)\s+`(halftrek/[\w/]+\.py)`", PAGE)))  # `name` of `file`


def test_there_is_something_to_look_up() -> None:
    assert len(PATHS) > 50
    assert len(NAMES) > 5


@pytest.mark.parametrize("path", PATHS)
def test_what_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).exists(), f"{path} has moved: say where to in docs/where-new-code-goes.md"


@pytest.mark.parametrize(("name", "path"), NAMES)
def test_names_are_in_the_files_that_the_page_says(name: str, path: str) -> None:
    assert re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8")), f"{path} has no {name}"


def test_what_runs_before_a_commit_is_part_of_make_check() -> None:
    hooks = re.findall(r"entry: \.venv/bin/(\S+)", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert len(hooks) == 4
    assert all(f"$(BIN)/{tool}" in makefile for tool in hooks)
