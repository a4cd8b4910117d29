"""Engines whose tables are read in a way of their own: a module each, named as the package of the engine.

A new engine is a file in this folder. Its ``source_of(table)`` gives a source for a table of that package, None for
what is no table or is read as any frame. No engine is loaded before something of it is read.
"""

from importlib import import_module
from pkgutil import iter_modules

from halftrek.data.sources.source import Source

ENGINES = frozenset(module.name for module in iter_modules(__path__))


def engine_source(table: object) -> Source | None:
    """The source for a table of one of the engines, known by the module of its class; None for anything else."""
    for kind in type(table).__mro__:
        package = kind.__module__.partition(".")[0].removeprefix("_")  # classes of DuckDB are in _duckdb
        if package in ENGINES:
            found: Source | None = import_module(f"{__name__}.{package}").source_of(table)
            return found
    return None


__all__ = ["ENGINES", "engine_source"]
