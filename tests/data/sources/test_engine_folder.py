"""Engines are found by the package of a table's class, and loaded when one of their tables is read."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import halftrek as ht
from halftrek.data import read_moments
from halftrek.data.sources import engines
from halftrek.data.sources.memory import from_columns
from halftrek.data.sources.source import Source
from tests.project.pages import ROOT


def test_each_engine_leaves_other_things_alone_or_refuses_them() -> None:
    assert {"duckdb", "ibis", "polars", "pyarrow", "pyspark"} == engines.ENGINES
    for name in ("duckdb", "ibis", "polars"):
        assert import_module(f"{engines.__name__}.{name}").source_of(object()) is None
    for name in ("pyarrow", "pyspark"):
        with pytest.raises(ht.DataError, match="object"):
            import_module(f"{engines.__name__}.{name}").source_of(object())


@pytest.mark.parametrize("module", ["toyengine", "_toyengine.frames"])
def test_a_new_engine_is_one_file(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table: type = type("Table", (), {"__module__": module})
    child: type = type("Child", (table,), {"__module__": "elsewhere"})
    with pytest.raises(ht.DataError, match="data cannot be read from a Table"):
        read_moments(table())
    monkeypatch.setattr(engines, "ENGINES", engines.ENGINES | {"toyengine"})
    monkeypatch.setitem(sys.modules, f"{engines.__name__}.toyengine", _Toy)
    for source in (table(), child()):
        found = read_moments(source, ["y", "x"])
        assert (found.names, found.n, found.mean.tolist()) == (("y", "x"), 3, [0.0, 2.0])


class _Toy:
    """What stands in the file of an engine."""

    @staticmethod
    def source_of(_: object) -> Source:
        return from_columns({"x": [1.0, 2.0, 3.0], "y": [1.0, 0.0, -1.0]})


def test_no_engine_is_loaded_for_an_array() -> None:
    code = (
        "import numpy as np, sys\nfrom halftrek.data import read_moments\n"
        "read_moments(np.eye(3), ['a', 'b', 'c'])\n"
        f"print(*[m for m in sys.modules if m.startswith('{engines.__name__}.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == ""
