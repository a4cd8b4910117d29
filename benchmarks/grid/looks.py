"""What is doubtful about a result that came back: a number far from the truth, an estimate outside its interval."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.grid.columns import Kind

ESTIMATES = ("est", "estimate", "se", "p", "mi", "residual", "r2")
EFFECTS = ("effect, interval", "query: x ~> y", "effect, info", "effect, crude", "query: E contrast")


def looked_at(kind: Kind, operation: str, got: Any) -> dict[str, Any]:
    """Doubts, and a few words of the result."""
    if hasattr(got, "columns") and hasattr(got, "shape"):
        return {"words": f"frame {got.shape[0]}x{len(list(got.columns))}", "doubts": _table(got)}
    if type(got).__name__ == "Answer":
        return {"words": str(got).splitlines()[0][:150], "doubts": _answer(kind, operation, got)}
    if isinstance(got, dict):
        shown = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in list(got.items())[:6]}
        return {"words": ", ".join(f"{k}={v}" for k, v in shown.items())[:140], "doubts": _measures(got)}
    words = " ".join(str(got).split())[:120]
    return {"words": words, "doubts": ["nan in the text"] if "nan" in words.lower().split() else []}


def column_of(frame: Any, name: str) -> list[Any]:
    """A column of any library's frame."""
    column = frame[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def _numbers(frame: Any, name: str) -> np.ndarray:
    return np.array([np.nan if value is None else float(value) for value in column_of(frame, name)])


def _table(frame: Any) -> list[str]:
    if frame.shape[0] == 0:
        return ["empty frame"]
    names, doubts = list(frame.columns), []
    for name in ESTIMATES:
        if name not in names:
            continue
        values = _numbers(frame, name)
        if np.isnan(values).all():
            notes = {str(note) for note in column_of(frame, "note")} if "note" in names else set()
            doubts.append(f"all {name} empty {sorted(notes)[:2]}")
        elif name == "se" and np.nanmax(values) > 50:
            doubts.append(f"se up to {np.nanmax(values):.3g}")
        elif name == "p" and ((values < 0) | (values > 1)).any():
            doubts.append("p outside [0, 1]")
    if "ci_low" in names and "est" in names:
        low, high, value = (_numbers(frame, name) for name in ("ci_low", "ci_high", "est"))
        if (low > value + 1e-9).any() or (high < value - 1e-9).any():
            doubts.append("estimate outside its interval")
    return doubts


def _answer(kind: Kind, operation: str, got: Any) -> list[str]:
    if got.form == "bounds":
        return []
    doubts, value, se = [], got.value, got.se
    if got.form != "distribution" and (value is None or not np.all(np.isfinite(value))):
        doubts.append(f"value {value}")
    single = se is not None and np.ndim(se) == 0
    if single and (not math.isfinite(se) or se < 0):
        doubts.append(f"se {se}")
    if operation.startswith("model."):
        return doubts
    try:
        low, high = got.interval
        if np.ndim(low) == 0 and value is not None and np.ndim(value) == 0 and not low - 1e-9 <= value <= high + 1e-9:
            doubts.append(f"estimate {value:.4g} outside its interval {low:.4g}, {high:.4g}")
        if np.ndim(low) == 0 and (math.isnan(low) or math.isnan(high)):
            doubts.append("interval NaN")
    except Exception as error:
        doubts.append(f"no interval: {type(error).__name__} {error}"[:100])
    if operation.startswith(EFFECTS) and kind.truth is not None and single and se and math.isfinite(se):
        if abs(value - kind.truth) > 4.5 * se:
            doubts.append(f"{value:.3f} (se {se:.3f}) is far from the truth {kind.truth}")
        if "kinds" not in kind.options:
            usual = kind.fit.effect(kind.cause, kind.outcome, interval="delta").se
            if usual and not 0.33 < se / usual < 3:
                doubts.append(f"se {se:.4f}, delta {usual:.4f}")
    return doubts


def _measures(got: dict[str, Any]) -> list[str]:
    empty = [name for name, value in got.items() if isinstance(value, float) and math.isnan(value)]
    doubts = ["NaN: " + ", ".join(empty[:12])] if empty else []
    p = got.get("pvalue")
    if isinstance(p, float) and p < 1e-4:
        doubts.append(f"true model rejected, p = {p:.2g}")
    return doubts
