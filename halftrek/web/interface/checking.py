"""A small reader of JSON Schema: enough for what requests and answers are described with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from halftrek.errors import shortened

Schema = Mapping[str, object]

_TYPES: dict[str, Callable[[object], bool]] = {
    "string": lambda v: isinstance(v, str),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
_NAMES = {"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false",
          "null": "null", "array": "a list", "object": "an object"}  # fmt: skip
_KNOWN = {
    "$schema", "title", "description", "type", "enum", "anyOf", "items", "properties", "required",
    "additionalProperties", "maxLength", "maxItems", "minItems", "maxProperties", "minimum", "maximum",
}  # fmt: skip


def faults(value: object, schema: Schema, place: str = "$") -> Iterator[str]:
    """Where the value is not what the schema says, in words."""
    assert set(schema) <= _KNOWN, f"this reader does not know {set(schema) - _KNOWN}"
    if "anyOf" in schema:
        tried = [list(faults(value, one, place)) for one in cast(Sequence[Schema], schema["anyOf"])]
        if all(tried):
            yield from min(tried, key=len)
    if "enum" in schema and value not in cast(Sequence[object], schema["enum"]):
        yield f"{place}: {_shown(value)} is none of {', '.join(map(repr, cast(Sequence[object], schema['enum'])))}"
    wanted = schema.get("type", list(_TYPES))
    types = [wanted] if isinstance(wanted, str) else cast(list[str], wanted)
    if not any(_TYPES[t](value) for t in types):
        yield f"{place}: {_shown(value)} is not {' or '.join(_NAMES[t] for t in types)}"
        return
    yield from _beyond(value, schema, place)
    if isinstance(value, list):
        items = cast(Schema, schema.get("items", {}))
        for k, one in enumerate(value):
            yield from faults(one, items, f"{place}[{k}]")
    if isinstance(value, dict):
        yield from _faults_of_keys(value, schema, place)


def _beyond(value: object, schema: Schema, place: str) -> Iterator[str]:
    """Too long, too many, too large."""
    limits = {key: cast(float, schema[key]) for key in schema if key.startswith(("max", "min"))}
    if isinstance(value, str) and len(value) > limits.get("maxLength", math.inf):
        yield f"{place}: the text has more than {limits['maxLength']:,} letters"
    if isinstance(value, list) and len(value) > limits.get("maxItems", math.inf):
        yield f"{place}: the list has more than {limits['maxItems']:,} entries"
    if isinstance(value, list) and len(value) < limits.get("minItems", 0):
        yield f"{place}: the list has fewer than {limits['minItems']:,} entries"
    if isinstance(value, dict) and len(value) > limits.get("maxProperties", math.inf):
        yield f"{place}: there are more than {limits['maxProperties']:,} keys"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < limits.get("minimum", -math.inf):
            yield f"{place}: {_shown(value)} is less than {limits['minimum']:g}"
        if value > limits.get("maximum", math.inf):
            yield f"{place}: {_shown(value)} is more than {limits['maximum']:g}"


def _faults_of_keys(value: dict[str, object], schema: Schema, place: str) -> Iterator[str]:
    known = cast(Mapping[str, Schema], schema.get("properties", {}))
    rest = schema.get("additionalProperties", True)
    for key in cast(Sequence[str], schema.get("required", ())):
        if key not in value:
            yield f"{place}: {key} is missing"
    for key, one in value.items():
        if key in known:
            yield from faults(one, known[key], f"{place}.{key}")
        elif rest is False:
            yield f"{place}: {shortened(key, 60)} is unknown"
        elif isinstance(rest, dict):
            yield from faults(one, rest, f"{place}.{shortened(key, 60)}")


def _shown(value: object) -> str:
    return shortened(repr(value), 80)
