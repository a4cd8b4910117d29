"""The shape of what each request takes, as JSON Schema."""

from __future__ import annotations

from typing import get_args

from halftrek.bottom.choices import ColumnKind, Ends, Interval, Missing
from halftrek.web import limits
from halftrek.web.interface.checking import Schema

NAME: Schema = {"type": "string", "maxLength": limits.NAME_LETTERS}
NAMES: Schema = {"type": "array", "items": NAME, "maxItems": limits.VARIABLES}
_PAIR: Schema = {"type": "array", "items": NAME, "minItems": 2, "maxItems": 2}
_PAIRS: Schema = {"type": "array", "items": _PAIR, "maxItems": 50_000}
_PLACE: Schema = {
    "type": "array",
    "items": {"type": "number", "minimum": -1e9, "maximum": 1e9},
    "minItems": 2,
    "maxItems": 2,
}
NUMBER: Schema = {"type": ["integer", "null"], "minimum": 0, "maximum": 2**53}
QUESTION: Schema = {"type": "string", "maxLength": limits.QUESTION_LETTERS}
_NAME_OR_NULL: Schema = {"type": ["string", "null"], "maxLength": limits.NAME_LETTERS}

_KNOWN: Schema = {"type": ["string", "number"], "maxLength": 100}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def by_name(of: Schema, most: int = limits.VARIABLES) -> Schema:
    """Values by name."""
    return {"type": "object", "additionalProperties": of, "maxProperties": most}


PIECES = record(
    {"observed": NAMES},
    {
        "directed": _PAIRS,
        "bidirected": _PAIRS,
        "latents": by_name(NAMES),
        "coefficients": by_name(_KNOWN, 10_000),
        "hidden": NAMES,
        "variances": by_name(_KNOWN, 10_000),
        "intercepts": by_name(_KNOWN, 10_000),
        "definitions": by_name({"type": "string", "maxLength": limits.QUESTION_LETTERS}, 1_000),
    },
)
GRAPH: dict[str, Schema] = {
    "number": NUMBER,
    "text": {"type": ["string", "null"], "maxLength": limits.GRAPH_LETTERS},
    "notation": {"enum": ["auto", "arrows", "lavaan", "dagitty", "dot"]},
    "graph": {"anyOf": [{"type": "null"}, PIECES]},
    "positions": by_name(_PLACE, 2 * limits.VARIABLES),
    "roles": by_name({"type": "array", "items": {"enum": ["exposure", "outcome", "adjusted"]}, "maxItems": 3}),
}
FITTING = record(
    {},
    {
        "missing": {"enum": list(get_args(Missing))},
        "weights": _NAME_OR_NULL,
        "sampling_weights": _NAME_OR_NULL,
        "cluster": _NAME_OR_NULL,
        "categories": {"anyOf": [{"type": "null"}, by_name({"type": ["string", "number"], "maxLength": 500}, 50)]},
        "kinds": {"anyOf": [{"type": "null"}, by_name({"enum": list(get_args(ColumnKind))}, 50)]},
    },
)
UNCERTAINTY = record(
    {},
    {
        "level": {"type": "number", "minimum": 0.01, "maximum": 0.9999},
        "interval": {"enum": [None, *get_args(Interval)]},
        "replicates": {"type": "integer", "minimum": 20, "maximum": 20_000},
        "ends": {"enum": list(get_args(Ends))},
        "random_state": {"type": "integer", "minimum": 0, "maximum": 2**31},
    },
)
DATA: dict[str, Schema] = {"data": NAME}
_HOW: dict[str, Schema] = {"fitting": FITTING, "uncertainty": UNCERTAINTY}
_GIVEN: dict[str, Schema] = {"given": by_name({"type": "number"}, 50)}
_ENDS: dict[str, Schema] = {"cause": NAME, "outcome": NAME}

EMPTY = record({})
BUNDLED = record({"name": NAME})
COVARIANCE = record(
    {"text": {"type": "string", "maxLength": 1_000_000}, "n": {"type": "number", "minimum": 2, "maximum": 1e15}},
    {
        "means": {"anyOf": [{"type": "null"}, by_name({"type": "number"})]},
        "divisor": {"enum": ["n", "n-1"]},
        "names": {"anyOf": [{"type": "null"}, NAMES]},
        "name": NAME,
    },
)
FORMATS = (
    "svg", "png", "tikz", "arrows", "lavaan", "dagitty", "dot", "csv", "latex", "word", "report", "analysis", "python",
)  # fmt: skip

TAKES: dict[str, Schema] = {
    "graph": record(
        {},
        {
            **GRAPH,
            "layout": {"type": "boolean"},
            "question": {**QUESTION, "type": ["string", "null"]},
            "adjusted": NAMES,
        },
    ),
    "verdict": record({"question": QUESTION}, {**GRAPH, "adjusted": NAMES}),
    "help": record({"question": QUESTION}, {**GRAPH, "adjusted": NAMES}),
    "implied": record({}, GRAPH),
    "match": record(DATA, GRAPH),
    "fit": record(DATA, {**GRAPH, **_HOW}),
    "answer": record({**DATA, "question": QUESTION}, {**GRAPH, **_HOW, "crude": {"type": "boolean"}}),
    "distribution": record({**DATA, **_ENDS}, {**GRAPH, **_HOW, **_GIVEN}),
    "dose": record(
        {**DATA, **_ENDS},
        {
            **GRAPH, **_HOW, **_GIVEN,
            "values": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}, "minItems": 2,
                                                     "maxItems": 201}]},
        },
    ),
    "decomposition": record(
        {**DATA, "cause": NAME, "effect": NAME},
        {**GRAPH, **_HOW, "most": {"type": "integer", "minimum": 1, "maximum": 200}},
    ),
    "effects": record(
        DATA, {**GRAPH, **_HOW, "kind": {"enum": ["all", "total", "direct", "indirect", "through"]}}
    ),
    "checks": record(DATA, {**GRAPH, **_HOW}),
    "sensitivity": record({**DATA, "question": QUESTION, "arc": _PAIR}, {**GRAPH, **_HOW}),
    "bounds": record(
        {**DATA, "question": QUESTION},
        {**GRAPH, **_HOW, "assume": {"type": "array", "items": QUESTION, "maxItems": 50}},
    ),
    "export": record(
        {"format": {"enum": list(FORMATS)}},
        {
            **GRAPH, **_HOW, "data": _NAME_OR_NULL,
            "questions": {"type": "array", "items": QUESTION, "maxItems": limits.QUESTIONS},
            "cause": _NAME_OR_NULL, "outcome": _NAME_OR_NULL, "title": _NAME_OR_NULL,
        },
    ),
}  # fmt: skip
STOP = record({}, {"kind": {"enum": [None, *TAKES]}})
