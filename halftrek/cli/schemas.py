"""The shape of what each command prints with ``--json``, and of what ``to_dict()`` of each result gives."""

from __future__ import annotations

from halftrek.cli.schema_parts import ANY_OBJECT as _ANY_OBJECT
from halftrek.cli.schema_parts import FLAG as _FLAG
from halftrek.cli.schema_parts import NOTE as _NOTE
from halftrek.cli.schema_parts import NOTES as _NOTES
from halftrek.cli.schema_parts import NUMBER as _NUMBER
from halftrek.cli.schema_parts import TEXT as _TEXT
from halftrek.cli.schema_parts import TEXT_OR_NULL as _TEXT_OR_NULL
from halftrek.cli.schema_parts import TEXTS as _TEXTS
from halftrek.cli.schema_parts import TOGETHER, Schema
from halftrek.cli.schema_parts import WHOLE as _WHOLE
from halftrek.cli.schema_parts import list_of as _list
from halftrek.cli.schema_parts import object_of as _object
from halftrek.cli.schema_parts import rows_of as _rows
from halftrek.cli.varied_schemas import ASKED, VARIED

_NUMBERS: Schema = {"anyOf": [_NUMBER, _list(_NUMBER), _list(_list(_NUMBER))]}
_GAUSSIAN = _object({"names": _TEXTS, "mean": _list(_NUMBER), "cov": _list(_list(_NUMBER))})
_STATUS = _object({"code": _TEXT, "message": _TEXT, "notes": _NOTES})
_ENDED = {"n": _NUMBER, "loglik": _NUMBER, "converged": _FLAG, "status": _STATUS}
_GRAPH = _object(
    {
        "observed": _TEXTS,
        "directed": _list(_TEXTS),
        "bidirected": _list(_TEXTS),
        "latents": {"type": "object", "additionalProperties": _TEXTS},
        "coefficients": {"type": "object"},
        "hidden": _TEXTS,
        **{key: {"type": "object"} for key in ("variances", "intercepts", "definitions")},
    }
)
_VERDICT = _object(
    {
        "query": _TEXT,
        "status": {"enum": ["identified", "locally identified", "finite", "not identified", "undecided"]},
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
        "advice": _NOTES,
        "details": _TEXTS,
        "next_steps": _list(_object({"text": _TEXT, "python": _TEXT, "shell": _TEXT})),
        "explanation": _TEXT,
    },
    {"leaves": _ANY_OBJECT},  # of a question that was asked of data: its bounds
)
_PIECES = _list(_list(_NUMBER))
_BOUNDS = _object(
    {
        "question": _TEXT_OR_NULL,
        "assume": _TEXTS,
        **dict.fromkeys(("low", "high", "level", "n"), _NUMBER),
        "empty": _FLAG,
        "bounded": _list(_FLAG),
        "pieces": _PIECES,
        "interval": {"anyOf": [{"type": "null"}, _list(_NUMBER)]},
        "interval_pieces": _PIECES,
        "interval_kind": _TEXT,
        "binding": _object({"low": _TEXTS, "high": _TEXTS}),
        "attained": _object({"low": _FLAG, "high": _FLAG}),
        "models": _object({"low": _ANY_OBJECT, "high": _ANY_OBJECT}),
        "certificate": _TEXT,
        "refuted": _ANY_OBJECT,
        "warnings": _TEXTS,
        "notes": _NOTES,
        "explanation": _TEXT,
    }
)
_ANSWER_KEYS: dict[str, Schema] = {
    "query": _TEXT,
    "identified": {"enum": [True]},
    "method": _TEXT,
    "estimand": _TEXT,
    "form": {"enum": ["point"]},
    "warnings": _TEXTS,
    "notes": _NOTES,
    "latex": _TEXT,
    "explanation": _TEXT,
}
_SURE: dict[str, Schema] = {
    "value": _NUMBER,
    "distribution": _GAUSSIAN,
    "level": _NUMBER,
    "se": _NUMBERS,
    "interval": _NUMBERS,
    "variance_interval": _NUMBERS,
    "interval_kind": _TEXT,
}
_CRUDE = _object({"n": _NUMBER, "query": _TEXT, "warnings": _TEXTS}, _SURE)
_ANSWER_MORE: dict[str, Schema] = {**_SURE, "outcome": _GAUSSIAN, "crude": _CRUDE}
_ANSWER = _object(_ANSWER_KEYS, _ANSWER_MORE)
_ANSWER_OF_FIT = _object({**_ANSWER_KEYS, "fit": _object(_ENDED)}, _ANSWER_MORE)
_SET_KEYS = {
    **_ANSWER_KEYS,
    "form": {"enum": ["bounds"]},
    **dict.fromkeys(("low", "high"), _NUMBER),
    "bounds": _BOUNDS,
}
_SET, _SET_OF_FIT = _object(_SET_KEYS), _object({**_SET_KEYS, "fit": _object(_ENDED)})
_EFFECTS = _rows("cause effect kind method note", "est se z p ci_low ci_high std")
_TESTS = _rows("kind constraint test verdict", "estimate statistic df p p_holm p_bh p_adjusted")
_LINES = _rows("constraint test verdict", "statistic df p p_holm p_bh p_adjusted")
_CHECKS = _object(
    {
        "measures": {
            "type": "object",
            "properties": {"test": _TEXT, "added": _TEXT},
            "additionalProperties": _NUMBER,
        },
        "r2": {"anyOf": [{"type": "null"}, _rows("variable note", "r2 error_variance variance")]},
        "tests": {"anyOf": [{"type": "null"}, _TESTS]},
        "residuals": {"anyOf": [{"type": "null"}, _rows("lhs rhs test", "observed implied residual z p")]},
        "modifications": {"anyOf": [{"type": "null"}, _rows("edge lhs op rhs test", "mi epc std p")]},
        "note": _TEXT,
    },
    {"linearity": {"anyOf": [{"type": "null"}, _LINES]}},
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
_INSTRUMENTS = _object(
    {
        **dict.fromkeys(("query", "method", "errors", "strength_errors"), _TEXT),
        "level": _NUMBER,
        "sets": _rows(
            "effect instruments controls ols_interval tsls_interval liml_interval note",
            "n F F_df1 F_df2 F_p partial_r2 effective_F critical cragg_donald ols ols_se ols_low ols_high tsls tsls_se "
            "tsls_low tsls_high liml liml_se liml_low liml_high ar ar_df1 ar_df2 ar_p overid overid_df1 overid_df2 "
            "overid_p endogeneity endogeneity_df1 endogeneity_df2 endogeneity_p",
        ),
        "warnings": _TEXTS,
        "remarks": _TEXTS,
    }
)
_ADJUSTMENT = _object(
    {
        "kind": {"enum": ["crude", "adjusted", "model"]},
        "adjusted_for": _TEXTS,
        **dict.fromkeys(("est", "se", "ci_low", "ci_high", "n"), _NUMBER),
        "note": _TEXT,
    }
)
_ADJUSTMENTS = _object(
    {
        **dict.fromkeys(("query", "cause", "effect"), _TEXT),
        "level": _NUMBER,
        "complete": _FLAG,
        "estimates": _list(_ADJUSTMENT),
        "remarks": _TEXTS,
    }
)
_UNITS = _object(
    {
        "do": _TEXTS,
        "outcome": _TEXTS,
        "columns": _TEXTS,
        "rows": _list(_list({"type": ["number", "string", "null"]})),
        "file": _TEXT_OR_NULL,
    }
)
_ANSWERS = (_ANSWER_OF_FIT, _SET_OF_FIT, _VERDICT, _BY_GROUP)
_EITHER: Schema = {"anyOf": [*_ANSWERS]}

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
    "effect": {"anyOf": [*_ANSWERS, _object({"level": _NUMBER, "effects": _EFFECTS})]},
    "instruments": {"anyOf": [_INSTRUMENTS, _VERDICT]},
    "adjustments": {"anyOf": [_ADJUSTMENTS, _VERDICT]},
    **{name: {"anyOf": [*shapes, _VERDICT]} for name, shapes in ASKED.items()},
    "bounds": _BOUNDS,
    "counterfactual": {"anyOf": [_UNITS, _ANSWER, _VERDICT]},
    "predict": {"anyOf": [_UNITS, _VERDICT]},
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
    "together": TOGETHER,
    "run": _object(
        {
            "analysis": _TEXT,
            "graph": _GRAPH,
            "fit": _FIT,
            "questions": _list({"anyOf": [_ANSWER, _SET, _VERDICT]}),
            "files": {"type": "object", "additionalProperties": _TEXT},
        },
        {"effects": _EFFECTS, "checks": _CHECKS},
    ),
    "serve": _object({"address": _TEXT, "port": _WHOLE}),
    "completion": _object({"shell": _TEXT, "script": _TEXT}),
    "schema": {"type": "object"},
}

_NUMBERS_OR_NULL: Schema = {"anyOf": [{"type": "null"}, _list(_NUMBER)]}
_MATRIX = _list(_list(_NUMBER))
_ROUTE = _object({**dict.fromkeys(("kind", "route", "note"), _TEXT),
                  **dict.fromkeys(("est", "se", "z", "p", "ci_low", "ci_high"), _NUMBER)})  # fmt: skip
_SHARE = _object({"path": _TEXT, "note": _TEXT,
                  **dict.fromkeys(("est", "se", "ci_low", "ci_high", "share"), _NUMBER)})  # fmt: skip
_PROPORTION = _object(
    {**dict.fromkeys(("value", "se", "quantile"), _NUMBER), **dict.fromkeys(("interval", "fieller"), _list(_NUMBER))}
)
_ANY_ANSWER = _object(
    {
        **_ANSWER_KEYS,
        "identified": _FLAG,
        "form": {"enum": ["point", "several values", "bounds", "refusal"]},
    },
    {
        **_ANSWER_MORE,
        "values": _list(_NUMBER),
        **dict.fromkeys(("low", "high"), _NUMBER),
        "bounds": _BOUNDS,
        "leaves": {"anyOf": [{"type": "null"}, _BOUNDS]},
    },
)
_MODEL = {"names": _TEXTS, "latents": _TEXTS, "T": _MATRIX, "C": _MATRIX, "mu": _list(_NUMBER)}
_ABOUT = {**dict.fromkeys(("name", "title", "description"), _TEXT), "graph": _GRAPH}

RESULTS: dict[str, Schema] = {  # by the name of the class
    **VARIED,
    "Adjustment": _ADJUSTMENT,
    "Adjustments": _ADJUSTMENTS,
    "AdjustmentSets": _object({"sets": _list(_TEXTS), "complete": _FLAG}),
    "Answer": _ANY_ANSWER,
    "AnswerTable": _object({"labels": _TEXTS, "answers": _list(_ANY_ANSWER)}),
    "BatchFit": _object(
        {
            "names": _TEXTS,
            "latents": _TEXTS,
            **dict.fromkeys(("T", "C", "W"), _list(_MATRIX)),
            "mu": _MATRIX,
            "loglik": _list(_NUMBER),
            "code": _TEXTS,
        }
    ),
    "Bounds": _BOUNDS,
    "CGLSCM": _object({**_MODEL, "W": _MATRIX}),
    "Comparison": SCHEMAS["compare"],
    "Contradiction": _object(
        {
            **dict.fromkeys(("restriction", "edge", "behind"), _TEXT),
            **dict.fromkeys(("epc", "change", "standard_errors", "statistic", "p", "p_adjusted", "widening"), _NUMBER),
            **dict.fromkeys(("independence", "robust"), _FLAG),
            "alike": _TEXTS,
        }
    ),
    "DataSet": _object(
        {**_ABOUT, **dict.fromkeys(("source", "licence", "question"), _TEXT), "n": _WHOLE, "columns": _TEXTS}
    ),
    "Decomposition": _object(
        {"cause": _TEXT, "effect": _TEXT, "paths": _WHOLE, "level": _NUMBER, "rows": _list(_SHARE), "total": _SHARE}
    ),
    "Entry": _object({**_ABOUT, "reference": _TEXT, "aliases": _TEXTS, "verdicts": {"type": "object"}}),
    "Fit": _object(_FIT_KEYS),
    "Fitted": _object(_FIT_KEYS),
    "FitsTogether": TOGETHER,
    "GLSCM": _object(
        {
            **_MODEL,
            "psi": _list(_NUMBER),
            **dict.fromkeys(("latent_mean", "latent_var", "noise_mean"), _NUMBERS_OR_NULL),
        }
    ),
    "Gaussian": _GAUSSIAN,
    "Graph": _GRAPH,
    "GroupFits": _object(
        {
            "variables": _TEXTS,
            "groups": _list(
                _object(
                    {
                        "group": {"type": ["string", "number"]},
                        **dict.fromkeys(("n", "dropped", "loglik"), _NUMBER),
                        "status": _TEXT,
                    }
                )
            ),
        }
    ),
    "Implications": _object({"independences": _list({"type": "object"}), "constraints": _WHOLE, "dimension": _WHOLE}),
    "Instruments": _INSTRUMENTS,
    "MeasurementInvariance": _object(
        {
            "groups": _TEXTS,
            "n": _NUMBER,
            "levels": _list(
                _object(
                    {
                        "level": _TEXT,
                        **dict.fromkeys(("parameters", "df"), _WHOLE),
                        **dict.fromkeys(("loglik", "chi2", "p", "cfi", "rmsea", "bic", "chi2_more", "p_more"), _NUMBER),
                        "df_more": _NUMBER,
                        "converged": _FLAG,
                    }
                )
            ),
        }
    ),
    "Mediation": _object(
        {
            **dict.fromkeys(("cause", "effect"), _TEXT),
            "mediators": _TEXTS,
            "level": _NUMBER,
            "rows": _list(_ROUTE),
            "proportion": {"anyOf": [{"type": "null"}, _PROPORTION]},
            "notes": _NOTES,
        }
    ),
    "Moments": _object(
        {
            "names": _TEXTS,
            "n": _NUMBER,
            "mean": _list(_NUMBER),
            "cov": _MATRIX,
            "dropped": _WHOLE,
            "has_mean": _FLAG,
            "kinds": {"type": ["array", "null"]},
            "weighting": _ANY_OBJECT,
        }
    ),
    "Note": _NOTE,
    "Profile": _object(
        {
            **dict.fromkeys(("values", "deviance", "interval"), _list(_NUMBER)),
            **dict.fromkeys(("estimate", "cut", "level"), _NUMBER),
            "notes": _NOTES,
        }
    ),
    "Route": _ROUTE,
    "Status": _STATUS,
    "Verdict": _VERDICT,
}
