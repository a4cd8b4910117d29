"""Values that travel: by pickle into another process, through ``copy``, and back as they were.

What makes a value travels, its fields; what it has worked out since (cached properties) is left behind and worked out
again where it is needed. Arrays that cannot be written to arrive so, which numpy alone does not see to, and mappings
that cannot be changed arrive so, which pickle alone refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np


class Portable:
    """Base of frozen dataclasses with arrays, mappings or cached properties."""

    def __getstate__(self) -> dict[str, object]:
        this: Any = self  # of a dataclass
        return {f.name: packed(getattr(self, f.name)) for f in fields(this)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, part in state.items():
            object.__setattr__(self, name, unpacked(part))


class Sealed:
    """An array or a mapping on its way, to be closed to changes when it has arrived."""

    def __init__(self, content: np.ndarray | dict[object, object]) -> None:
        self.content = content


def packed(part: object) -> object:
    """The part of a value as pickle and copy can take it; the same object where nothing has to be done."""
    if isinstance(part, np.ndarray):
        return part if part.flags.writeable else Sealed(part)
    if isinstance(part, MappingProxyType):
        return Sealed({key: packed(value) for key, value in part.items()})
    return _through(part, packed)


def unpacked(part: object) -> object:
    """The inverse."""
    if not isinstance(part, Sealed):
        return _through(part, unpacked)
    if isinstance(part.content, np.ndarray):
        part.content.flags.writeable = False
        return part.content
    return MappingProxyType({key: unpacked(value) for key, value in part.content.items()})


def _through(part: object, change: Callable[[object], object]) -> object:
    """Lists, tuples and dictionaries with every entry changed."""
    if isinstance(part, tuple | list) and type(part) in (tuple, list):
        entries = [change(entry) for entry in part]
        same = all(new is old for new, old in zip(entries, part, strict=True))
        return part if same else type(part)(entries)
    if isinstance(part, dict) and type(part) is dict:
        changed = {key: change(value) for key, value in part.items()}
        return part if all(changed[key] is value for key, value in part.items()) else changed
    return part
