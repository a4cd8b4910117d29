"""The classes whose values may stand in a file, by the name that they have there."""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from importlib import import_module

# A file names a class, never a module: code may move, files stay readable. Nothing outside these modules is ever built.
_MODULES = (
    "halftrek.notes",
    "halftrek.graphs.arcs",
    "halftrek.graphs.graph",
    "halftrek.graphs.forms.sketch",
    "halftrek.data.columns.categories",
    "halftrek.data.columns.kinds",
    "halftrek.data.by_group.groups",
    "halftrek.data.moments",
    "halftrek.data.missing.patterns",
    "halftrek.data.rows",
    "halftrek.data.weights",
    "halftrek.layer.layer",
    "halftrek.layer.margins",
    "halftrek.models.gaussian",
    "halftrek.models.scm",
    "halftrek.estimation.acts.fit",
    "halftrek.estimation.many.batch",
    "halftrek.estimation.fit",
    "halftrek.estimation.many.groups",
    "halftrek.estimation.given.options",
    "halftrek.estimation.status",
    "halftrek.identification.arrows.nonparametric",
    "halftrek.identification.recipes.recipe",
    "halftrek.identification.beside.next_steps",
    "halftrek.identification.verdict",
    "halftrek.identification.local.witness",
    "halftrek.inference.intervals.base",
    "halftrek.queries.kinds.distributions",
    "halftrek.queries.kinds.effects",
    "halftrek.queries.kinds.terms",
    "halftrek.queries.kinds.variants",
    "halftrek.results.answers",
    "halftrek.results.sets.bounds",
    "halftrek.results.fit",
    "halftrek.results.groups",
)
_NEVER = ("RowBlock", "RowWeights", "Spread")  # work of a moment, which no value holds


@cache
def classes() -> dict[str, type]:
    """Every class that a file may name."""
    found: dict[str, type] = {}
    for path in _MODULES:
        for thing in vars(import_module(path)).values():
            if isinstance(thing, type) and is_dataclass(thing) and thing.__module__ == path:
                name = thing.__name__
                if found.get(name, thing) is not thing:
                    raise RuntimeError(f"two classes are called {name}; files could not tell them apart")
                if name not in _NEVER:
                    found[name] = thing
    return found


@cache
def names() -> dict[type, str]:
    """The name in files of each class."""
    return {kind: name for name, kind in classes().items()}
