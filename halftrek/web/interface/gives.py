"""The shape of what each request gives, as JSON Schema; within it, that of the command line's results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from halftrek.cli.schemas import RESULTS, SCHEMAS
from halftrek.web.interface.checking import Schema
from halftrek.web.interface.shapes import by_name, record

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_NUMBER: Schema = {"type": ["number", "null"]}
_NUMBERS: Schema = {"type": "array", "items": _NUMBER}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_WHOLE: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": ["integer", "null"]}
_EDGE: Schema = {"type": "array", "items": _TEXT, "minItems": 3, "maxItems": 3}
_PLACES = by_name(_NUMBERS, 1_000)


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _or_null(of: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, of]}


def _answer(parts: dict[str, Schema]) -> Schema:
    return record({"number": _COUNT, **parts}, {"warnings": _TEXTS})


def _flat(texts: str, numbers: str, more: dict[str, Schema] | None = None) -> Schema:
    """A record of texts and numbers."""
    return record({**dict.fromkeys(texts.split(), _TEXT), **dict.fromkeys(numbers.split(), _NUMBER), **(more or {})})


_NOTES = _list(RESULTS["Note"])
_PAIR_AND_GIVEN = record({"between": _TEXTS, "given": _TEXTS})
_PATH = record(
    {
        "kind": {"enum": ["causal", "confounding", "blocked"]},
        "open": _FLAG,
        "variables": _TEXTS,
        "edges": _list(_EDGE),
        "colliders": _TEXTS,
        "text": _TEXT,
    }
)
_CHANGE = record(
    {
        **dict.fromkeys(("code", "kind", "text", "question"), _TEXT),
        "edits": _list(record({"op": _TEXT, "edge": _or_null(_EDGE), "variable": _TEXT_OR_NULL})),
        "graph": RESULTS["Graph"],
        "needs": _TEXT_OR_NULL,
    }
)
_QUESTION = record(
    {"text": _TEXT, "latex": _TEXT, "cause": _TEXT_OR_NULL, "outcome": _TEXT_OR_NULL, "causes": _TEXTS,
     "outcomes": _TEXTS}
)  # fmt: skip
_LINE = _or_null(_flat("", "at mean slope sd"))
_CHECKS = SCHEMAS["fit"]["properties"]["checks"]  # type: ignore[index]
DATUM = record(
    {"id": _TEXT, "name": _TEXT, "kind": {"enum": ["rows", "covariance"]}, "columns": _TEXTS,
     "bytes": {"type": "integer"}, "n": _NUMBER}
)  # fmt: skip
SESSION = record(
    {
        "session": _TEXT,
        "start": _or_null(
            record(
                {
                    "text": _TEXT,
                    "notation": _TEXT,
                    "data": _TEXT_OR_NULL,
                    "question": _TEXT_OR_NULL,
                    "graph": {"type": ["object", "null"]},
                }
            )
        ),
        "data": _list(DATUM),
        "running": _list(record({"kind": _TEXT, "number": _COUNT, "seconds": _NUMBER, "taken": _FLAG})),
    }
)
_ABOUT_GRAPH = dict.fromkeys(("name", "title", "description", "text"), _TEXT)
ABOUT = record(
    {
        "number": _COUNT,
        "version": _TEXT,
        "notations": _TEXTS,
        "limits": by_name({"type": "integer"}),
        "extras": by_name(_FLAG),
        "abilities": by_name(_FLAG),
        "catalog": _list(record({**_ABOUT_GRAPH, "questions": _TEXTS})),
        "datasets": _list(record({**_ABOUT_GRAPH, "question": _TEXT, "n": {"type": "integer"}, "columns": _TEXTS})),
    }
)
ERROR = record(
    {
        "number": _COUNT,
        "error": record(
            {
                "code": _TEXT,
                "sentence": _TEXT,
                "place": _or_null(record(dict.fromkeys(("start", "end", "line", "column"), _WHOLE))),
                "verdict": _or_null(RESULTS["Verdict"]),
            },
            {"asks": _TEXT},
        ),
    }
)
_PROBLEM = cast(Mapping[str, Mapping[str, Schema]], ERROR)["properties"]["error"]
_VERDICT: dict[str, Schema] = {
    "verdict": RESULTS["Verdict"],
    "question": _QUESTION,
    "headline": _TEXT,
    "paths": _or_null(record({"cause": _TEXT, "outcome": _TEXT, "complete": _FLAG, "paths": _list(_PATH)})),
    "adjustment_sets": _or_null(RESULTS["AdjustmentSets"]),
    "more": _FLAG,
}
GIVES: dict[str, Schema] = {
    "graph": _answer(
        {
            "graph": RESULTS["Graph"],
            "notation": _TEXT,
            "texts": by_name(_TEXT_OR_NULL),
            "unwritten": by_name(_TEXT),
            "positions": _PLACES,
            "layout": _or_null(_PLACES),
            "roles": by_name(_TEXTS),
            "notes": _NOTES,
            "asked": _or_null(record({"error": _or_null(_PROBLEM)}, _VERDICT)),
        }
    ),
    "verdict": _answer(_VERDICT),
    "help": _answer({"verdict": RESULTS["Verdict"], "changes": _list(_CHANGE)}),
    "implied": _answer({"implied": _list(_PAIR_AND_GIVEN)}),
    "match": _answer(
        {"matched": _TEXTS, "missing": _list(record({"variable": _TEXT, "nearest": _TEXTS})), "unused": _TEXTS,
         "recognised": by_name(_TEXT)}
    ),
    "fit": _answer(
        {
            "fit": RESULTS["Fit"],
            "edges": _list(_flat("note", "est se z p ci_low ci_high std", {"edge": _EDGE})),
        }
    ),
    "answer": _answer(
        {
            "verdict": _or_null(RESULTS["Verdict"]),
            "answer": RESULTS["Answer"],
            "shown": _TEXTS,
            "rows": _list(
                _flat("question outcome form note", "est se z p ci_low ci_high level n bound_low bound_high")
            ),
        }
    ),
    "distribution": _answer(
        {
            "cause": _TEXT,
            "outcome": _TEXT,
            "seen": record(
                {
                    "words": _TEXT,
                    "histogram": _or_null(record({"left": _NUMBERS, "width": _NUMBER, "height": _NUMBERS})),
                    "normal": _or_null(_flat("", "mean sd")),
                }
            ),
            "done": _flat("", "at mean slope sd"),
            "line": _LINE,
            "slider": _flat("", "low high start", {"values": _or_null(_NUMBERS)}),
            "span": _NUMBERS,
            "notes": _NOTES,
        }
    ),
    "dose": _answer(
        {
            "cause": _TEXT,
            "outcome": _TEXT,
            "level": _NUMBER,
            "apart": _FLAG,
            "points": _list(_flat("", "at est ci_low ci_high")),
            "line": _LINE,
            "means": _or_null(record({"cause": _NUMBERS, "outcome": _NUMBERS})),
            "notes": _NOTES,
        }
    ),
    "decomposition": _answer({"decomposition": RESULTS["Decomposition"]}),
    "effects": _answer(
        {
            "level": _NUMBER,
            "effects": _list(_flat("cause effect kind method note", "est se z p ci_low ci_high std")),
        }
    ),
    "checks": _answer(
        {
            "checks": _CHECKS,
            "contradicted": _list(
                _flat(
                    "constraint", "p_adjusted estimate",
                    {"between": _or_null(_TEXTS), "given": _or_null(_TEXTS)},
                )
            ),
            "implied": _list(_PAIR_AND_GIVEN),
        }
    ),
    "sensitivity": _answer({"sensitivity": RESULTS["Sensitivity"]}),
    "bounds": _answer({"bounds": RESULTS["Bounds"]}),
}  # fmt: skip
