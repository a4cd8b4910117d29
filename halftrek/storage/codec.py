"""Values as plain data for JSON and back, to the last bit.

Texts, numbers, truth values and nothing stand for themselves, a list for a tuple. Everything else is an object whose
``"type"`` says what it is: an array, a map, a list, a set, a number that JSON has no word for, or one of our classes.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from halftrek.errors import InputError
from halftrek.model import Rows
from halftrek.storage.kinds import classes, names
from halftrek.storage.older import upgraded

_READABLE = 4096  # entries up to which an array is written as numbers; a longer one as base64 of its bytes
_DTYPES = ("float64", "int64", "bool", "str")


class Malformed(Exception):
    """The data are not what ``encode`` writes; the text says where."""


def encode(value: Any) -> Any:
    """The value as plain data."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"type": "number", "value": str(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, tuple):
        return [encode(v) for v in value]
    if isinstance(value, list):
        return {"type": "list", "items": [encode(v) for v in value]}
    if isinstance(value, (set, frozenset)):
        return {"type": "set", "items": [encode(v) for v in sorted(value)]}
    if isinstance(value, Mapping):
        return {"type": "map", "items": [[encode(k), encode(v)] for k, v in value.items()]}
    name = names().get(type(value))
    if name is None:
        raise InputError(f"a {type(value).__name__} cannot be saved; fits, models, answers, verdicts and graphs can")
    return {"type": name} | {f.name: encode(getattr(value, f.name)) for f in fields(value) if f.init}


def decode(data: Any) -> Any:
    """The value that ``encode`` turned into these data."""
    if isinstance(data, list):
        return tuple(decode(d) for d in data)
    if not isinstance(data, dict):
        return data
    name = data.get("type")
    if name == "number":
        return float(_entry(data, "value", str))
    if name == "array":
        return _decode_array(data)
    if name == "list":
        return [decode(d) for d in _entry(data, "items", list)]
    if name == "set":
        return frozenset(decode(d) for d in _entry(data, "items", list))
    if name == "map":
        return {decode(k): decode(v) for k, v in _entry(data, "items", list)}
    if name not in classes():
        raise Malformed(f"it holds something of the type {name!r}, which is not known")
    return _build(name, {key: decode(d) for key, d in data.items() if key != "type"})


def _build(name: str, given: dict[str, Any]) -> Any:
    kind = classes()[name]
    given = upgraded(name, given)
    known = {f.name: f for f in fields(kind) if f.init}
    for key in given:
        if key not in known:
            raise Malformed(f"its {name} has a part {key!r}, which is not known")
    for key, part in known.items():
        if key not in given and part.default is MISSING and part.default_factory is MISSING:
            raise Malformed(f"its {name} lacks {key!r}")
    return kind(**given)


def _encode_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Shape, entries and order in memory, which decides the last bit of a product."""
    kind = "str" if array.dtype.kind == "U" else array.dtype.name
    if kind not in _DTYPES:
        raise InputError(f"an array of {kind} cannot be saved, only numbers")
    record: dict[str, Any] = {"type": "array", "shape": list(array.shape)}
    if kind != "float64":
        record["dtype"] = kind
    if array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous:
        record["order"] = "F"
    if isinstance(array, Rows) and array.names is not None:
        record["names"] = list(array.names)
    flat = np.asarray(array).ravel()
    if kind == "str":
        record["width"] = array.dtype.itemsize // 4  # letters that an entry has room for
    if flat.size > _READABLE and kind != "str":
        bare = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
        record["base64"] = base64.b64encode(bare.tobytes()).decode("ascii")
    else:
        record["values"] = [encode(v) for v in flat.tolist()]
    return record


def _decode_array(data: dict[str, Any]) -> np.ndarray[Any, Any]:
    kind = data.get("dtype", "float64")
    if kind not in _DTYPES:
        raise Malformed(f"it holds an array of {kind!r}")
    shape = tuple(_entry(data, "shape", list))
    if "base64" in data:
        raw = base64.b64decode(_entry(data, "base64", str), validate=True)
        flat = np.frombuffer(raw, np.dtype(kind).newbyteorder("<")).astype(kind)
    else:
        room = f"<U{_entry(data, 'width', int)}" if kind == "str" else kind
        flat = np.array([decode(v) for v in _entry(data, "values", list)], dtype=room)
    if flat.size != math.prod(shape):
        raise Malformed(f"it holds an array of {flat.size} numbers for the shape {shape}")
    array = flat.reshape(shape)
    if data.get("order") == "F":
        array = np.asfortranarray(array)
    return Rows(array, tuple(data["names"])) if "names" in data else array


def _entry(data: dict[str, Any], key: str, kind: type) -> Any:
    if not isinstance(data.get(key), kind):
        raise Malformed(f"its {data.get('type')} has no {key!r}")
    return data[key]
