"""Results that a value remembers: the last few, worked out once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

R = TypeVar("R")
MOST = 32  # gradients of many variables are large


def remembered(memory: dict[Hashable, Any], key: Hashable, make: Callable[[], R], most: int = MOST) -> R:
    """What the memory holds for the key, else what ``make`` gives; the oldest results make room for new ones."""
    if key in memory:
        known: R = memory[key]
        return known
    found = make()
    while len(memory) >= most:
        memory.pop(next(iter(memory)), None)  # another thread may have been faster
    memory[key] = found
    return found
