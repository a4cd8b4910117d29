"""Stored answers of other programs say where they come from, and those that need no R are computed again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.project.pages import ROOT
from tests.reference.recomputed import FILES, largest_difference
from tests.reference.saved.make_v1 import write

REFERENCE = ROOT / "tests" / "reference"
PAGE = (REFERENCE / "README.md").read_text(encoding="utf-8")


def test_every_file_and_its_script_are_named() -> None:
    named = set(re.findall(r"`([\w./]+\.(?:json|jsonl|csv|py|R|txt))`", PAGE))
    there = {path.relative_to(REFERENCE).as_posix() for path in REFERENCE.rglob("*.*") if "__" not in str(path)}
    assert there - {"README.md"} <= named
    assert [name for name in named if not (REFERENCE / name).exists()] == []


@pytest.mark.parametrize("name", FILES)
def test_stored_numbers_are_those_of_plain_formulas(name: str) -> None:
    count, difference = largest_difference(name)
    assert count > 10
    assert difference < 1e-10


def test_the_script_of_the_saved_files_asks_what_was_asked(tmp_path: Path) -> None:
    write(tmp_path)
    new, old = (json.loads((at / "expected_v1.json").read_text()) for at in (tmp_path, REFERENCE / "saved"))
    assert set(new) == set(old)
    for key, value in old.items():
        np.testing.assert_allclose(new[key], value, rtol=1e-12)
