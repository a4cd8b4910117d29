"""What a fit says beside answers: tables of checks, instruments, adjustments, predictions, factors."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand

if TYPE_CHECKING:
    from halftrek.results.beside.adjustments import adjustments_of
    from halftrek.results.beside.beyond import beyond_frame
    from halftrek.results.beside.checks import (
        implication_frame,
        modification_frame,
        r2_frame,
        residual_frame,
        restriction_frame,
    )
    from halftrek.results.beside.factors import reliability_frame, scores_of
    from halftrek.results.beside.instruments import instruments_of
    from halftrek.results.beside.prediction import prediction_of

__all__ = [
    "adjustments_of",
    "beyond_frame",
    "implication_frame",
    "instruments_of",
    "modification_frame",
    "prediction_of",
    "r2_frame",
    "reliability_frame",
    "residual_frame",
    "restriction_frame",
    "scores_of",
]

_HOMES = {  # loaded when first used: most fits are asked a question or two
    "results.beside.adjustments": ("adjustments_of",),
    "results.beside.beyond": ("beyond_frame",),
    "results.beside.checks": (
        "implication_frame", "modification_frame", "r2_frame", "residual_frame", "restriction_frame",
    ),
    "results.beside.factors": ("reliability_frame", "scores_of"),
    "results.beside.instruments": ("instruments_of",),
    "results.beside.prediction": ("prediction_of",),
}  # fmt: skip
__getattr__ = on_demand(__name__, _HOMES)
