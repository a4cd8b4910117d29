"""What schemas are made of."""

from __future__ import annotations

from collections.abc import Mapping

Schema = Mapping[str, object]

TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": ["number", "null"]}  # null: there is no number, or it is not finite
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
ANY_OBJECT: Schema = {"type": ["object", "null"]}


def list_of(of: Schema) -> Schema:
    """A list of such things."""
    return {"type": "array", "items": of}


def object_of(keys: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """A record with these keys, and no others."""
    return {
        "type": "object",
        "properties": {**keys, **(optional or {})},
        "required": list(keys),
        "additionalProperties": False,
    }


def rows_of(texts: str, numbers: str) -> Schema:
    """A list of records with such keys."""
    return list_of(object_of({**dict.fromkeys(texts.split(), TEXT), **dict.fromkeys(numbers.split(), NUMBER)}))


TEXTS = list_of(TEXT)
NOTE = object_of(
    {"code": TEXT, "level": {"enum": ["doubt", "warning", "note", "aside"]}, "text": TEXT, "facts": ANY_OBJECT}
)
NOTES = list_of(NOTE)


TOGETHER = object_of(
    {
        "groups": TEXTS,
        **dict.fromkeys(("n", "loglik"), NUMBER),
        "converged": FLAG,
        "fit": {"type": "object", "additionalProperties": NUMBER},
        "at_zero": list_of(TEXTS),
        "rows": rows_of("group lhs op rhs note", "est se z p std"),
    }
)
