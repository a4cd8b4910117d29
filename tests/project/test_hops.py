"""The count of modules and rooms that one request visits."""

from __future__ import annotations

import halftrek as ht
from benchmarks.hops import Walk, walk_of


def test_modules_are_counted_once_and_rooms_whenever_they_change() -> None:
    walk = Walk(("halftrek.data.read", "halftrek.data.rows", "halftrek.notes", "halftrek.data.read"))
    assert walk.modules == ("halftrek.data.read", "halftrek.data.rows", "halftrek.notes")
    assert walk.changes == 2


def test_a_request_is_followed_through_the_package_alone() -> None:
    walk = walk_of(lambda: ht.graph("x -> y"))
    assert "halftrek.syntax.graphs.arrows" in walk.modules
    assert all(module.startswith("halftrek") for module in walk.calls)
    assert walk.changes >= 1
