"""The shape of what each command prints with ``--json``."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_NUMBER: Schema = {"type": ["number", "null"]}  # null: there is no number, or it is not finite
_WHOLE: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_ANY_OBJECT: Schema = {"type": ["object", "null"]}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _object(keys: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**keys, **(optional or {})},
        "required": list(keys),
        "additionalProperties": False,
    }


def _rows(texts: str, numbers: str) -> Schema:
    """A list of records with such keys."""
    return _list(_object({**dict.fromkeys(texts.split(), _TEXT), **dict.fromkeys(numbers.split(), _NUMBER)}))


_TEXTS = _list(_TEXT)
_NUMBERS = {"anyOf": [_NUMBER, _list(_NUMBER), _list(_list(_NUMBER))]}
_GAUSSIAN = _object({"names": _TEXTS, "mean": _list(_NUMBER), "cov": _list(_list(_NUMBER))})
_STATUS = _object({"code": _TEXT, "message": _TEXT})
_ENDED = {"n": _NUMBER, "loglik": _NUMBER, "converged": _FLAG, "status": _STATUS}
_GRAPH = _object(
    {
        "observed": _TEXTS,
        "directed": _list(_TEXTS),
        "bidirected": _list(_TEXTS),
        "latents": {"type": "object", "additionalProperties": _TEXTS},
        "coefficients": {"type": "object"},
    }
)
_VERDICT = _object(
    {
        "query": _TEXT,
        "status": {"enum": ["identified", "finite", "not identified", "undecided"]},
        "identified": _FLAG,
        "method": _TEXT_OR_NULL,
        "scope": _TEXT_OR_NULL,
        "estimand": _TEXT_OR_NULL,
        "latex": _TEXT_OR_NULL,
        "degree": {"type": ["integer", "null"]},
        "recipe": _ANY_OBJECT,
        "witness": _ANY_OBJECT,
        "hedge": {"anyOf": [{"type": "null"}, _list(_TEXTS)]},
        "reasons": _TEXTS,
        "helps": _TEXTS,
        "explanation": _TEXT,
    }
)
_ANSWER_KEYS = {
    "query": _TEXT,
    "identified": {"enum": [True]},
    "method": _TEXT,
    "estimand": _TEXT,
    "form": {"enum": ["point"]},
    "warnings": _TEXTS,
    "notes": _list(
        _object(
            {
                "code": _TEXT,
                "level": {"enum": ["doubt", "warning", "note", "aside"]},
                "text": _TEXT,
                "facts": _ANY_OBJECT,
            }
        )
    ),
    "latex": _TEXT,
    "explanation": _TEXT,
}
_SURE = {
    "value": _NUMBER,
    "distribution": _GAUSSIAN,
    "level": _NUMBER,
    "se": _NUMBERS,
    "interval": _NUMBERS,
    "variance_interval": _NUMBERS,
    "interval_kind": _TEXT,
}
_CRUDE = _object({"n": _NUMBER, "query": _TEXT, "warnings": _TEXTS}, _SURE)
_ANSWER_MORE = {**_SURE, "outcome": _GAUSSIAN, "crude": _CRUDE}
_ANSWER = _object(_ANSWER_KEYS, _ANSWER_MORE)
_ANSWER_OF_FIT = _object({**_ANSWER_KEYS, "fit": _object(_ENDED)}, _ANSWER_MORE)
_EFFECTS = _rows("cause effect kind method note", "est se z p ci_low ci_high std")
_TESTS = _rows("kind constraint test verdict", "estimate statistic df p p_holm p_bh p_adjusted")
_CHECKS = _object(
    {
        "measures": {"type": "object", "properties": {"test": _TEXT}, "additionalProperties": _NUMBER},
        "r2": _rows("variable note", "r2 error_variance variance"),
        "tests": {"anyOf": [{"type": "null"}, _TESTS]},
        "residuals": {"anyOf": [{"type": "null"}, _rows("lhs rhs test", "observed implied residual z p")]},
        "modifications": {"anyOf": [{"type": "null"}, _rows("edge lhs op rhs test", "mi epc std p")]},
        "note": _TEXT,
    }
)
_DISTRICT = _object({"members": _TEXTS, "iterations": _NUMBER, "starts": _NUMBER, "agreeing": _NUMBER})
_FIT_KEYS = {
    **_ENDED,
    "notes": _TEXTS,
    "parameters": _rows("lhs op rhs note", "est se z p ci_low ci_high std"),
    "districts": _list(_DISTRICT),
}
_FIT = _object(_FIT_KEYS, {"effects": _EFFECTS, "checks": _CHECKS})
_LABEL: Schema = {"type": ["string", "number"]}
_GROUP = _object(
    {
        "group": {"anyOf": [_LABEL, _list(_LABEL)]},
        **dict.fromkeys(("estimate", "se", "low", "high", "n", "dropped"), _NUMBER),
        "status": _TEXT,
        "note": _TEXT,
    },
    {"outcome": _TEXT, "variance": _NUMBER},
)
_BY_GROUP = _object({"query": _TEXT, "by": {"anyOf": [_TEXT, _TEXTS]}, "level": _NUMBER, "groups": _list(_GROUP)})
_EITHER = {"anyOf": [_ANSWER_OF_FIT, _VERDICT, _BY_GROUP]}

SCHEMAS: dict[str, Schema] = {
    "demo": _object(
        {
            "verdict": _VERDICT,
            "fit": _FIT,
            "observed": _GAUSSIAN,
            "answer": _GAUSSIAN,
            "truth": _GAUSSIAN,
            "picture": _TEXT,
        }
    ),
    "reproduce": _object(
        {
            "random_state": _WHOLE,
            "rows": _WHOLE,
            "replicates": _WHOLE,
            "experiments": _list(
                _object(
                    {
                        "name": _TEXT,
                        "title": _TEXT,
                        "table": _WHOLE,
                        **dict.fromkeys(("answers", "parameters", "accuracy", "starts"), _list({"type": "object"})),
                    }
                )
            ),
        }
    ),
    "identify": {"anyOf": [_VERDICT, _object({"graph": _GRAPH, "verdicts": _list(_VERDICT)})]},
    "fit": _FIT,
    "query": _EITHER,
    "effect": {"anyOf": [_ANSWER_OF_FIT, _VERDICT, _BY_GROUP, _object({"level": _NUMBER, "effects": _EFFECTS})]},
    "counterfactual": {
        "anyOf": [
            _object(
                {
                    "do": _TEXTS,
                    "outcome": _TEXTS,
                    "columns": _TEXTS,
                    "rows": _list(_list(_NUMBER)),
                    "file": _TEXT_OR_NULL,
                }
            ),
            _ANSWER,
            _VERDICT,
        ]
    },
    "simulate": _object({"names": _TEXTS, "rows": _list(_list(_NUMBER))}, {"file": _TEXT}),
    "convert": _object({"format": _TEXT, "text": _TEXT, "graph": _GRAPH}),
    "report": _object({"report": _TEXT, "questions": _TEXTS, "not_identified": _TEXTS}),
    "compare": _object(
        {
            "models": _rows("name", "loglik parameters df chi2 p aic bic delta_aic delta_bic weight"),
            "nested": _rows("smaller larger verdict test", "statistic df p"),
            "unrelated": _list(_TEXTS),
            "question": _TEXT_OR_NULL,
            "answers": _rows("name outcome note", "estimate se low high"),
            "warnings": _TEXTS,
        }
    ),
    "run": _object(
        {
            "analysis": _TEXT,
            "graph": _GRAPH,
            "fit": _FIT,
            "questions": _list({"anyOf": [_ANSWER, _VERDICT]}),
            "files": {"type": "object", "additionalProperties": _TEXT},
        },
        {"effects": _EFFECTS, "checks": _CHECKS},
    ),
    "completion": _object({"shell": _TEXT, "script": _TEXT}),
    "schema": {"type": "object"},
}
