"""The kinds of interval, each a value behind one protocol; ``KINDS`` knows them by name.

A new kind is a file in this folder and its name in ``halftrek.bottom.choices.Interval``.
"""

from importlib import import_module
from pkgutil import iter_modules

from halftrek.bottom.choices import Interval
from halftrek.inference.how import How
from halftrek.inference.intervals.base import Estimate, IntervalKind, Spread, normal_estimate


class _Kinds(dict[Interval, IntervalKind]):
    """The kinds that were asked for; the folder is searched for others, a file named as the kind first."""

    def __missing__(self, name: Interval) -> IntervalKind:
        for module in sorted(iter_modules(__path__), key=lambda m: m.name != name):
            for thing in vars(import_module(f"{__name__}.{module.name}")).values():
                if isinstance(thing, type) and issubclass(thing, IntervalKind) and hasattr(thing, "name"):
                    self.setdefault(thing.name, thing())
            if name in self:
                return self[name]
        raise KeyError(name)


KINDS = _Kinds()


def kind_of(how: How) -> IntervalKind:
    """The kind that is asked for; normal theory where none is."""
    return KINDS[how.interval or "delta"]


__all__ = ["KINDS", "Estimate", "IntervalKind", "Spread", "kind_of", "normal_estimate"]
