"""Names of a room that are loaded when they are first asked for: whoever asks little loads little."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def on_demand(room: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """The ``__getattr__`` of a room: ``homes`` has the module below halftrek for each name.

    A function named as its module cannot be had in this way: with the module loaded, its name is the module's.
    """
    home_of = {name: f"halftrek.{home}" for home, names in homes.items() for name in names}

    def found(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        thing = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[room], name, thing)
        return thing

    return found
