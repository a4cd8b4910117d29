"""Rooms whose names are loaded when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from tests.project.pages import ROOT

ROOMS = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in (ROOT / "halftrek").rglob("__init__.py")
    if "on_demand(" in path.read_text(encoding="utf-8")
)


def test_every_name_of_a_room_is_what_its_module_holds() -> None:
    """In a process of its own, all modules first: a module must not hide a function of its name."""
    code = (
        "import pkgutil, halftrek\nfrom importlib import import_module\nfrom types import ModuleType\n"
        "for one in pkgutil.walk_packages(halftrek.__path__, 'halftrek.'):\n    import_module(one.name)\n"
        f"for room in map(import_module, {ROOMS!r}):\n"
        "    assert not {n for n in room.__all__ if isinstance(getattr(room, n), ModuleType)} - {'plot'}, room\n"
        "    for home, names in room._HOMES.items():\n        assert set(names) <= set(room.__all__), home\n"
        "        for n in names:\n            assert getattr(room, n) == vars(import_module('halftrek.' + home))[n]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("room", ROOMS)
def test_an_unknown_name_is_an_attribute_error(room: str) -> None:
    found: ModuleType = import_module(room)
    with pytest.raises(AttributeError, match=f"module '{room}' has no attribute 'nothing_like_it'"):
        found.nothing_like_it  # noqa: B018
