"""The shape of results about edges that are varied: curves, contours, robustness, benchmarks, the ranking."""

from __future__ import annotations

from halftrek.cli.schema_parts import FLAG, NOTES, NUMBER, TEXT, TEXTS, Schema, list_of, object_of

_NUMBERS = list_of(NUMBER)
_MATRIX = list_of(_NUMBERS)
_MARK = object_of({"variable": TEXT, "value": NUMBER, "correlation": NUMBER})
_ABSENT = object_of(
    {
        "edge": TEXT,
        "standing": {"enum": ["carries the answer", "tested by the data", "harmless", "closes a cycle"]},
        "says": TEXT,
        **dict.fromkeys(("slope", "smallest", "value", "rv", "p", "p_adjusted"), NUMBER),
    }
)
_EDGE = object_of(
    {
        "edge": TEXT,
        "held_by_data": FLAG,
        **dict.fromkeys(("smallest", "value", "rv", "lost", "lost_value", "lost_rv", "deviance"), NUMBER),
    }
)
_BOUND = object_of(
    {
        "covariate": TEXT,
        **dict.fromkeys(
            (
                "times", "times_effect", "share_cause", "share_effect", "correlation", "low", "high", "estimate", "se",
                "t", "ci_low", "ci_high",
            ),
            NUMBER,
        ),
    }
)  # fmt: skip

VARIED: dict[str, Schema] = {  # by the name of the class
    "AbsentEdge": _ABSENT,
    "Benchmark": object_of(
        {
            **dict.fromkeys(("cause", "effect"), TEXT),
            "adjusted_for": TEXTS,
            **dict.fromkeys(("estimate", "se", "df", "partial_r2", "rv", "rv_lost", "level"), NUMBER),
            "rows": list_of(_BOUND),
            "notes": NOTES,
        }
    ),
    "Contours": object_of(
        {
            "question": TEXT,
            "edges": TEXTS,
            **dict.fromkeys(("values", "correlations", "intervals"), list_of(_MATRIX)),
            "estimates": _MATRIX,
            "beyond": list_of(list_of(FLAG)),
            **dict.fromkeys(("level", "target"), NUMBER),
            "marks": list_of(list_of(_MARK)),
            "notes": NOTES,
        }
    ),
    "Ranking": object_of(
        {
            "question": TEXT,
            **dict.fromkeys(("estimate", "target"), NUMBER),
            "rows": list_of(_ABSENT),
            "notes": NOTES,
        }
    ),
    "Robustness": object_of(
        {
            "question": TEXT,
            **dict.fromkeys(("estimate", "level", "target", "common", "common_arcs", "common_rv"), NUMBER),
            "interval": _NUMBERS,
            "rows": list_of(_EDGE),
            "notes": NOTES,
        }
    ),
    "Sensitivity": object_of(
        {
            **dict.fromkeys(("question", "edge"), TEXT),
            "arc": TEXTS,
            **dict.fromkeys(("covariance", "values", "correlation", "estimates", "poles"), _NUMBERS),
            "intervals": _MATRIX,
            **dict.fromkeys(("level", "target", "zero", "zero_correlation"), NUMBER),
            "marks": list_of(_MARK),
            "notes": NOTES,
        }
    ),
}
ASKED: dict[str, tuple[Schema, ...]] = {  # by the name of the command: what it prints where there is an answer
    "robustness": (VARIED["Robustness"], VARIED["Ranking"], VARIED["Benchmark"]),
    "sensitivity": (VARIED["Sensitivity"], VARIED["Contours"]),
}
