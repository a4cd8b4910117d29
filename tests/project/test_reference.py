"""The reference says what the docstrings say."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import halftrek as ht
from tests.project.pages import ROOT


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date() -> None:
    made = maker()
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "write it again: python docs/make_reference.py"


def test_the_reference_has_every_public_name() -> None:
    text = maker().PAGE.read_text(encoding="utf-8")
    assert [name for name in ht.__all__ if f"### ht.{name}\n" not in text and f"`ht.{name}`" not in text] == []


def test_every_entry_is_explained() -> None:
    made = maker()
    for line in made.page().split("```\n\n")[1:]:
        assert line.strip()
        assert not line.startswith(("#", "```")), line[:80]
