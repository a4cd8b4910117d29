"""The count of modules and rooms that one request visits."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import halftrek as ht
from benchmarks.hops import Walk, command_line, followed, fresh, printed_from_file, walk_of


def test_modules_are_counted_once_and_rooms_whenever_they_change() -> None:
    walk = Walk(("halftrek.data.read", "halftrek.data.rows", "halftrek.notes", "halftrek.data.read"))
    assert walk.modules == ("halftrek.data.read", "halftrek.data.rows", "halftrek.notes")
    assert walk.changes == 2
    assert walk.rooms == {
        "data": {"modules": 2, "calls": 3, "entered": 2},
        "notes": {"modules": 1, "calls": 1, "entered": 1},
    }
    assert sum(room["entered"] for room in walk.rooms.values()) == walk.changes + 1


def test_a_request_is_followed_through_the_package_alone() -> None:
    walk = walk_of(lambda: ht.graph("x -> y"))
    assert "halftrek.syntax.graphs.arrows" in walk.modules
    assert all(module.startswith("halftrek") for module in walk.calls)
    assert walk.changes >= 1


def test_what_runs_while_a_module_is_loaded_is_no_visit(tmp_path: Path) -> None:
    file = tmp_path / "loaded.py"
    file.write_text("def built():\n    return 1\n\n\ntable = [built() for _ in range(3)]\n")
    spec = spec_from_file_location("halftrek.loaded", file)
    assert spec is not None
    assert spec.loader is not None
    module, loader = module_from_spec(spec), spec.loader

    def request() -> None:
        loader.exec_module(module)
        ht.graph("x -> y")
        module.built()

    walk = followed(request)
    assert walk.calls[-1] == "halftrek.loaded"
    assert walk.calls.count("halftrek.loaded") == 1
    assert "halftrek.syntax.graphs.arrows" in walk.modules


def test_a_new_interpreter_does_first_time_work() -> None:
    alone = fresh("identify")
    assert "halftrek.identification.decision" in alone.modules
    graph = ht.graph("x -> m -> y; x <-> y")
    again = walk_of(lambda: ht.identify(graph, "P(y | do(x=1))"))
    assert len(again.modules) < len(alone.modules) < alone.loaded


def test_requests_that_print_are_followed_to_their_words(tmp_path: Path) -> None:
    command, words = command_line(tmp_path), printed_from_file(tmp_path)
    assert any(module.startswith("halftrek.cli.") for module in followed(lambda: command(1)).modules)
    assert "halftrek.data.sources.files" in followed(lambda: words(1)).modules
