"""The kinds of interval, each a value behind one protocol; ``KINDS`` knows them by name.

A new kind is a file in this folder and its name in ``halftrek.bottom.choices.Interval``.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import get_args

from halftrek.bottom.choices import Interval
from halftrek.inference.how import How
from halftrek.inference.intervals.base import Estimate, IntervalKind, Spread, normal_estimate


def _kinds() -> dict[str, IntervalKind]:
    """Every class of this folder that has a name, in the order of the names."""
    found: dict[str, IntervalKind] = {}
    for module in iter_modules(__path__):
        for thing in vars(import_module(f"{__name__}.{module.name}")).values():
            if isinstance(thing, type) and issubclass(thing, IntervalKind) and hasattr(thing, "name"):
                found[thing.name] = thing()
    return {name: found[name] for name in get_args(Interval)}


KINDS = _kinds()


def kind_of(how: How) -> IntervalKind:
    """The kind that is asked for; normal theory where none is."""
    return KINDS[how.interval or "delta"]


__all__ = ["KINDS", "Estimate", "IntervalKind", "Spread", "kind_of", "normal_estimate"]
