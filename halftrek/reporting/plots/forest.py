"""The lines of a forest plot, from whatever holds effects with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from halftrek.errors import InputError
from halftrek.reporting.plots.columns import Entry, columns_in, numbers, pick

if TYPE_CHECKING:
    from halftrek.results.answers import Answer
    from halftrek.results.beside.instruments import InstrumentSet

Line = tuple[str, float, float, float]  # label, estimate, low, high


def lines_of(effects: object) -> list[Line]:
    """Of answers, of results that hold several effects, or of a tidy frame."""
    found = _of_result(effects)
    if found is not None:
        return found
    if isinstance(effects, Mapping) and all(hasattr(a, "estimate") for a in effects.values()):
        return [_of_answer(str(label), answer) for label, answer in effects.items()]
    if isinstance(effects, (list, tuple)):
        return [_of_answer(str(answer.query), answer) for answer in effects]
    columns = columns_in(effects, "plot_effects")
    values = numbers(pick(columns, ("est", "estimate", "value"), "plot_effects"))
    lows = numbers(pick(columns, ("ci_low", "low"), "plot_effects"))
    highs = numbers(pick(columns, ("ci_high", "high"), "plot_effects"))
    return list(zip(_labels(columns), values, lows, highs, strict=True))


def _of_result(found: object) -> list[Line] | None:
    """None of what is no result of ours with effects in it."""
    from halftrek.inference.tables.decomposition import Decomposition
    from halftrek.inference.tables.mediation import Mediation
    from halftrek.reporting.papers.table import AnswerTable
    from halftrek.results.answers import Answer
    from halftrek.results.beside.adjustments import Adjustments
    from halftrek.results.beside.instruments import Instruments

    match found:
        case Answer():
            return [_of_answer(str(found.query), found)]
        case AnswerTable():
            labels = found.labels or [str(one.query) for one in found.answers]
            pairs = zip(labels, found.answers, strict=True)
            return [_of_answer(label, one) for label, one in pairs if one.form == "point"]
        case Adjustments():
            return [(row.label, row.est, row.ci_low, row.ci_high) for row in found.rows]
        case Decomposition():
            return [(row.path, row.est, row.ci_low, row.ci_high) for row in (*found.rows, found.total)]
        case Mediation():
            named = {"specific": "along ", "through": "through "}
            return [
                (named[row.kind] + row.route if row.kind in named else row.kind, row.est, row.ci_low, row.ci_high)
                for row in found.rows
            ]
        case Instruments():
            return [line for k, one in enumerate(found.sets) for line in _of_set(one, first=k == 0)]
    return None


def _of_set(one: InstrumentSet, *, first: bool) -> list[Line]:
    """Regression once, then what each set of instruments gives."""
    used = ", ".join(one.instruments)
    slopes = [("regression", one.regression)] if first else []
    slopes += [(f"2SLS by {used}", one.tsls), (f"LIML by {used}", one.liml)]
    return [(label, slope.value, *slope.interval) for label, slope in slopes]


def _of_answer(label: str, answer: Answer) -> Line:
    value = np.asarray(answer.value, dtype=float)
    if value.ndim:
        raise InputError(f"plot_effects: {label} has {value.size} outcomes; ask for one at a time")
    low, high = (np.nan, np.nan) if answer.interval is None else answer.interval
    return label, float(value), float(low), float(high)


def _labels(columns: Mapping[str, list[Entry]]) -> list[str]:
    """What each line is about: a column that says so, or the ends of an effect."""
    for name in ("label", "path", "query"):
        if name in columns:
            return [str(v) for v in columns[name]]
    if "cause" in columns and "effect" in columns:
        kinds = columns.get("kind", ["total"] * len(columns["cause"]))
        ends = zip(columns["cause"], columns["effect"], kinds, strict=True)
        return [
            f"{u} {'->' if k == 'direct' else '~>'} {v}" + ("" if k in ("direct", "total") else f" ({k})")
            for u, v, k in ends
        ]
    if {"lhs", "op", "rhs"} <= set(columns):
        parts = zip(columns["lhs"], columns["op"], columns["rhs"], strict=True)
        return [_parameter(str(lhs), str(op), str(rhs)) for lhs, op, rhs in parts]
    groups = list(takewhile(lambda name: name != "estimate", columns))  # of fits by group: what stands before it
    if "estimate" in columns and groups and "effect" not in columns:
        return [", ".join(map(str, row)) for row in zip(*(columns[name] for name in groups), strict=True)]
    return [str(v) for v in pick(columns, ("effect",), "plot_effects")]


def _parameter(lhs: str, op: str, rhs: str) -> str:
    if op == "~":
        return f"{rhs} -> {lhs}"
    return f"{lhs} {'->' if op == '=~' else '<->' if op == '~~' else op} {rhs}".strip()
