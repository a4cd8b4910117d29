"""Whether the parts of a value in a file are of the kinds that its class says."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from halftrek.bottom.arrays import Flags, Floats
from halftrek.graphs import Arcs
from halftrek.storage.kinds import classes
from halftrek.storage.malformed import Malformed

_LARGEST = 2**63  # of whole numbers
_ENTRY = str | float | int | bool | None
_COLUMN = Floats | NDArray[np.str_] | Flags | tuple[_ENTRY, ...] | list[_ENTRY]
_SOURCES = str | Floats | Mapping[str, _COLUMN] | tuple[str, ...] | list[str]  # rows that JSON can hold, or their files

# What a class takes from a user is wider than what a file holds.
_NARROWER: dict[str, dict[str, Any]] = {
    "RowReader": {
        "source": _SOURCES,
        "weights": str | _COLUMN | None,
        "cluster": str | _COLUMN | None,
        "by": tuple[str | _COLUMN, ...],
    },
    "GroupMoments": {"keys": tuple[str | float | int | bool | tuple[Any, ...] | None, ...]},
    "Graph": {"bidirected": tuple[tuple[str, str], ...] | Arcs},
    "Note": {"facts": Mapping[str, str | float | int | bool | tuple[Any, ...] | None]},
}
_LISTS_TOO = ("GLSCM",)  # keeps what a user gives, lists of numbers among it


def refuse_wrong_parts(kind: type, given: Mapping[str, object], where: str) -> None:
    """Raise for a part that is not of the kind that the class says."""
    hints = _hints(kind.__name__)
    for key, part in given.items():
        if kind.__name__ in _LISTS_TOO and isinstance(part, (list, tuple)) and _is_array(hints[key]):
            continue  # whether it is sound is looked at as a whole
        if part is None and kind.__name__ == "CGLSCM" and key == "graph":
            raise Malformed(f"{where}.graph is missing")
        if not _is(part, hints[key]):
            raise Malformed(f"{where}.{key} is {_shown(part)}, which cannot be the {key!r} of a {kind.__name__}")


def _shown(part: object) -> str:
    if isinstance(part, np.ndarray):
        return f"an array of {part.dtype.name} of the shape {part.shape}"
    if part is None or isinstance(part, (bool, str, int, float)):
        text = repr(part) if not isinstance(part, int) or abs(part) < _LARGEST else "a number of many digits"
        return text if len(text) <= 60 else text[:57] + "..."
    return f"a {type(part).__name__}"


@cache
def _hints(name: str) -> dict[str, object]:
    """The kinds of parts; names that a module knows only to type checkers are those of classes that files may hold."""
    from halftrek.queries import Query

    kind = classes()[name]
    own = vars(sys.modules[kind.__module__])
    others = {n: thing for n, thing in {**classes(), "Query": Query}.items() if n not in own}
    return get_type_hints(kind, localns=others) | _NARROWER.get(name, {})


def _is(part: object, hint: object) -> bool:
    """Whether a decoded part is of the kind that a hint says."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return _plain(part)
    if origin in (Union, UnionType):
        return any(_is(part, one) for one in inner)
    if origin is Literal:
        return isinstance(part, str) and part in inner
    if hint in (None, NoneType):
        return part is None
    if hint is float:
        return type(part) is float or (type(part) is int and abs(part) < _LARGEST)
    if hint is int:
        return type(part) is int and abs(part) < _LARGEST
    if hint in (bool, str):
        return type(part) is hint
    if _is_array(hint):
        return isinstance(part, np.ndarray) and part.dtype.kind in _letters(hint)
    if origin is tuple:
        if not isinstance(part, tuple):
            return False
        if len(inner) == 2 and inner[1] is ...:
            return all(_is(entry, inner[0]) for entry in part)
        return len(part) == len(inner) and all(map(_is, part, inner))
    if origin is list:
        return isinstance(part, list) and all(_is(entry, inner[0]) for entry in part)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(part, dict) and all(_is(k, inner[0]) and _is(v, inner[1]) for k, v in part.items())
    return isinstance(hint, type) and isinstance(part, hint)


def _plain(part: object) -> bool:
    """Texts, numbers and the like, and tuples of them."""
    if isinstance(part, tuple):
        return all(map(_plain, part))
    return part is None or type(part) in (str, bool, float) or (type(part) is int and abs(part) < _LARGEST)


def _is_array(hint: object) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(map(_is_array, get_args(hint)))
    return get_origin(hint) is np.ndarray


def _letters(hint: object) -> str:
    """Kinds of numbers that an array may hold."""
    (dtype,) = get_args(get_args(hint)[1]) or (Any,)
    return {np.int64: "i", np.bool_: "b", np.str_: "U"}.get(dtype, "fi")
