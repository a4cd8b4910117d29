"""Values as plain data for JSON and back, to the last bit.

Texts, numbers, truth values and nothing stand for themselves, a list for a tuple. Everything else is an object whose
``"type"`` says what it is: an array, a map, a list, a set, a number that JSON has no word for, or one of our classes.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np

from halftrek.bottom.arrays import Array
from halftrek.errors import HalftrekError, InputError
from halftrek.models import Rows
from halftrek.storage.kinds import classes, names
from halftrek.storage.malformed import Malformed
from halftrek.storage.older import DISTRIBUTIONS, RENAMED, as_distribution, upgraded
from halftrek.storage.parts import refuse_wrong_parts
from halftrek.storage.sound import refuse_unsound

Part = TypeVar("Part")

_READABLE = 4096  # entries up to which an array is written as numbers; a longer one as base64 of its bytes
_SPARSE = 4  # an array with fewer entries than one in so many that are not zero is written as these alone
_MOST_SPREAD = 10**9  # entries of an array that a short file may ask memory for
_ENTRIES: dict[str, tuple[tuple[type, ...], str]] = {  # what stands in the file for an entry, and its name
    "float64": ((float, int), "numbers"),
    "int64": ((int,), "whole numbers"),
    "bool": ((bool,), "truth values"),
    "str": ((str,), "texts"),
}
_DTYPES = tuple(_ENTRIES)
_LONGEST = 2**40  # of one side of an array
_WIDEST = 4096  # letters of an entry


def encode(value: object) -> object:
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
    if name is None or not is_dataclass(value):
        raise InputError(f"a {type(value).__name__} cannot be saved; fits, models, answers, verdicts and graphs can")
    return {"type": name} | {f.name: encode(getattr(value, f.name)) for f in fields(value) if f.init}


def decode(data: object, where: str = "content") -> Any:
    """The value that ``encode`` turned into these data; ``where`` they stand is named if they are not such."""
    if isinstance(data, list):
        return tuple([decode(d, where) for d in data])
    if isinstance(data, str):
        return _text(data, where)
    if not isinstance(data, dict):
        return data
    name = data.get("type")
    if name == "number":
        return _odd_number(data, where)
    if name == "array":
        return _decode_array(data, where)
    if name == "list":
        return [decode(d, where) for d in _only(data, where, "items", list)]
    if name == "set":
        return frozenset(_distinct([decode(d, where) for d in _only(data, where, "items", list)], where))
    if name == "map":
        return _decode_map(_only(data, where, "items", list), where)
    if isinstance(name, str) and name in DISTRIBUTIONS:
        return decode(as_distribution(data, where), where)
    if not isinstance(name, str) or RENAMED.get(name, name) not in classes():
        raise Malformed(f"{where} is something of the type {name!r}, which is not known")
    return _build(name, {key: decode(d, f"{where}.{key}") for key, d in data.items() if key != "type"}, where)


def _build(name: str, given: dict[str, object], where: str) -> object:
    kind = classes()[RENAMED.get(name, name)]
    known = {f.name: f for f in fields(kind) if f.init}
    try:
        given = upgraded(name, given)
        for key in given:
            if key not in known:
                raise Malformed(f"{where}, a {name}, has a part {key!r}, which is not known")
        for key, part in known.items():
            if key not in given and part.default is MISSING and part.default_factory is MISSING:
                raise Malformed(f"{where}, a {name}, lacks {key!r}")
        refuse_wrong_parts(kind, given, where)
        value = kind(**given)
        refuse_unsound(value)
    except Malformed:
        raise
    except HalftrekError as error:
        raise Malformed(f"{where}, a {name}, does not make a whole: {error}") from error
    except Exception as error:  # whatever parts that are wrong in a way nobody thought of lead to
        raise Malformed(f"{where}, a {name}, does not make a whole: {type(error).__name__}: {error}") from error
    return value


def _decode_map(items: Sequence[Sequence[object]], where: str) -> dict[Hashable, object]:
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in items):
        raise Malformed(f"the entries of {where} do not make a whole: one is not a key and its value")
    keys = _distinct([decode(k, where) for k, _ in items], where)
    return dict(zip(keys, [decode(v, f"{where}[{k!r}]") for k, (_, v) in zip(keys, items, strict=True)], strict=True))


def _distinct(entries: list[Hashable], where: str) -> list[Hashable]:
    try:
        several = len(set(entries)) < len(entries)
    except TypeError:
        raise Malformed(f"{where} has a key or a member that cannot be one: an array, a list or a map") from None
    if several:
        raise Malformed(f"{where} has a key or a member twice")
    return entries


def _odd_number(data: dict[str, object], where: str) -> float:
    text = _only(data, where, "value", str)
    if text not in ("nan", "inf", "-inf"):
        raise Malformed(f"{where} is {text!r} where nan, inf or -inf is meant")
    return float(text)


def _text(text: str, where: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Malformed(f"{where} holds half of a character, {text!r}") from None
    return text


def _only(data: dict[str, object], where: str, key: str, kind: type[Part]) -> Part:
    """What a list, a set, a map or a number holds under this key; there is nothing else beside the type."""
    found = data.get(key)
    if not isinstance(found, kind):
        raise Malformed(f"{where}, a {data['type']}, has no {key!r}")
    for other in data:
        if other not in (key, "type"):
            raise Malformed(f"{where}, a {data['type']}, has a part {other!r}, which is not known")
    return found


def _encode_array(array: Array) -> dict[str, object]:
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
        if kind == "float64":
            at = np.flatnonzero(flat.view(np.int64))  # by their bits: zero has a sign
            if len(at) < flat.size // _SPARSE:
                record["at"], flat = _bytes(at), flat[at]
        record["base64"] = _bytes(flat)
    else:
        record["values"] = [encode(v) for v in flat.tolist()]
    return record


def _bytes(flat: Array) -> str:
    return base64.b64encode(flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()).decode("ascii")


def _decode_array(data: dict[str, object], where: str) -> Array:
    kind = data.get("dtype", "float64")
    if kind not in _DTYPES:
        raise Malformed(f"{where} is an array of {kind!r}")
    for key in data:
        if key not in ("type", "shape", "dtype", "order", "names", "width", "base64", "values", "at"):
            raise Malformed(f"{where}, an array, has a part {key!r}, which is not known")
    shape = data.get("shape")
    if not isinstance(shape, list) or not all(type(k) is int and 0 <= k < _LONGEST for k in shape) or len(shape) > 8:
        raise Malformed(f"{where}, an array, has the shape {shape!r}")
    flat = _from_bytes(data, kind, where) if "base64" in data else _from_entries(data, kind, where)
    if "at" in data:
        flat = _spread(data, flat, math.prod(shape), where)
    if flat.size != math.prod(shape):
        raise Malformed(f"{where} is an array of {flat.size} numbers for the shape {tuple(shape)}")
    array = flat.reshape(shape)
    if data.get("order", "F") != "F":
        raise Malformed(f"{where}, an array, has the order {data['order']!r}")
    if "order" in data:
        array = np.asfortranarray(array)
    return Rows(array, _column_names(data["names"], array, where)) if "names" in data else array


def _spread(data: dict[str, object], entries: Array, size: int, where: str) -> Array:
    """All entries of an array of which the file holds those that are not zero, and where they stand."""
    at = _from_bytes({"base64": data["at"]}, "int64", where)
    sound = len(at) == len(entries) and (len(at) == 0 or (at[0] >= 0 and at[-1] < size and (np.diff(at) > 0).all()))
    if not sound or size > _MOST_SPREAD or entries.dtype != float:
        raise Malformed(f"{where}, an array, has {len(entries)} entries in places that are not its own")
    flat = np.zeros(size)
    flat[at] = entries
    return flat


def _from_bytes(data: dict[str, object], kind: str, where: str) -> Array:
    try:
        raw = base64.b64decode(cast("str", data["base64"]), validate=True)
        return np.frombuffer(raw, np.dtype(kind).newbyteorder("<")).astype(kind)
    except (TypeError, ValueError):
        raise Malformed(f"{where}, an array of {kind}, has bytes that are not such numbers") from None


def _from_entries(data: dict[str, object], kind: str, where: str) -> Array:
    entries = data.get("values")
    if not isinstance(entries, list):
        raise Malformed(f"{where}, an array, has no 'values'")
    if kind == "float64" and any(isinstance(v, dict) for v in entries):
        entries = [decode(v, where) if isinstance(v, dict) else v for v in entries]
    allowed, words = _ENTRIES[kind]
    for v in entries:
        if type(v) not in allowed or (type(v) is int and abs(v) >= 2**63):
            raise Malformed(f"{where}, an array of {words}, holds {str(v)[:40]!r}")
    if kind != "str":
        return np.array(entries, dtype=kind)
    width = data.get("width")
    if type(width) is not int or not 0 <= width <= _WIDEST or any(len(v) > width for v in entries):
        raise Malformed(f"{where}, an array of texts, has the width {width!r}")
    return np.array([_text(v, where) for v in entries], dtype=f"<U{width}")


def _column_names(names: object, array: Array, where: str) -> tuple[str, ...]:
    given = names if isinstance(names, list) and all(isinstance(v, str) for v in names) else []
    sound = given == names and len(set(given)) == len(given)
    if not sound or array.ndim != 2 or array.shape[1] != len(given) or array.dtype != float:
        raise Malformed(f"{where}, an array, has columns {str(names)[:60]} that are not its own")
    return tuple(given)
