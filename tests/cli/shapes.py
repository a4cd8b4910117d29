"""A small reader of JSON Schema, enough for the schemas of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TYPES = {
    "string": lambda v: isinstance(v, str),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
_KNOWN = {
    "$schema", "title", "type", "enum", "anyOf", "items", "properties", "required", "additionalProperties",
}  # fmt: skip


def faults(value: Any, schema: Mapping[str, Any], place: str = "$") -> Iterator[str]:
    """Where the value is not what the schema says."""
    assert set(schema) <= _KNOWN, f"this reader does not know {set(schema) - _KNOWN}"
    if "anyOf" in schema:
        tried = [list(faults(value, one, place)) for one in schema["anyOf"]]
        if all(tried):
            yield from min(tried, key=len)
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is none of {schema['enum']}"
    wanted = schema.get("type", list(_TYPES))
    if not any(_TYPES[t](value) for t in ([wanted] if isinstance(wanted, str) else wanted)):
        yield f"{place}: {value!r} is not {wanted}"
    if isinstance(value, list):
        for k, one in enumerate(value):
            yield from faults(one, schema.get("items", {}), f"{place}[{k}]")
    if isinstance(value, dict):
        yield from _faults_of_keys(value, schema, place)


def _faults_of_keys(value: dict[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    known = schema.get("properties", {})
    rest = schema.get("additionalProperties", True)
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{place}: {key} is missing"
    for key, one in value.items():
        if key in known:
            yield from faults(one, known[key], f"{place}.{key}")
        elif rest is False:
            yield f"{place}: {key} is unknown"
        elif isinstance(rest, dict):
            yield from faults(one, rest, f"{place}.{key}")
