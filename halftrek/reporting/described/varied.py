"""Answers while edges are varied, described: curves, contours, robustness, benchmarks, the ranking of absent edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from halftrek.notes import Note
from halftrek.reporting.document import Described, Facts, Heading, Printed, Remark, Table, Words, known, p_value
from halftrek.reporting.tables import Cell, number

if TYPE_CHECKING:
    from halftrek.partial import Benchmark, Contours, Ranking, Robustness, Sensitivity
    from halftrek.partial.varied.ranking import AbsentEdge
    from halftrek.partial.varied.robustness import EdgeRobustness

_NOTHING = 1e-6  # a limit that a search ended at on its way to none
_MANY = 40  # rows of a table
_BESIDE = 12  # edges of a kind that are named in a sentence


def sensitivity_document(found: Sensitivity) -> Described:
    """The answer at each value, and where it is the target."""
    first, second = found.arc
    if found.is_arc:
        head = Heading(f"{found.question}, if the errors of {first} and {second} were correlated")
        heads = ("correlation", "covariance", "estimate", "low", "high")
    else:
        head = Heading(f"{found.question}, if {first} -> {second} had a given weight")
        heads = ("in std. deviations", "weight", "estimate", "low", "high")
    columns = (found.correlation, found.values, found.estimates, found.intervals[:, 0], found.intervals[:, 1])
    rows = [tuple(known(float(x)) for x in row) for row in zip(*columns, strict=True)]
    ends = Remark(f"low and high are the ends of {100 * found.level:g}% intervals")
    what = "zero" if found.target == 0.0 else number(found.target)
    if found.zero is None or found.zero_correlation is None:
        zero = f"the answer is not {what} anywhere in this range"
    elif found.is_arc and np.isnan(found.zero_correlation):
        zero = f"the answer is {what} at a covariance of {number(found.zero, 3)}"
    elif found.is_arc:
        at = number(found.zero_correlation, 3)
        zero = f"the answer is {what} at a correlation of {at} (covariance {number(found.zero, 3)})"
    else:
        zero = f"the answer is {what} at a weight of {number(found.zero, 3)}"
    marks = [f"{m.variable}, left out, would make it {number(m.correlation, 2)}" for m in found.marks[:3]]
    parts: list[Printed] = [head, Table(heads, rows, most=_MANY), ends, Remark(zero)]
    parts += [Remark(f"for comparison: {'; '.join(marks)}")] if marks else []
    return [*parts, *_remarks(found.notes)]


def contours_document(found: Contours) -> Described:
    """The answer over a few values of each of two edges."""
    head = Heading(f"{found.question}, as {found.edges[0]} and {found.edges[1]} vary")
    some = [np.unique(np.linspace(0, size - 1, 5).astype(int)) for size in found.estimates.shape]
    rows: list[tuple[Cell, ...]] = []
    for i in some[0]:
        for j in some[1]:
            at = (*found.correlations[i, j], found.estimates[i, j], *found.intervals[i, j])
            rows.append(tuple(known(float(x)) for x in at))
    shown = f"{len(rows)} of {found.estimates.size:,} pairs of values; to_frame() has all"
    return [
        head,
        Table((found.edges[0], found.edges[1], "estimate", "low", "high"), rows),
        Remark(f"{shown}; arcs as correlations of errors, arrows as weights in standard deviations"),
        *_remarks(found.notes),
    ]


def robustness_document(found: Robustness) -> Described:
    """What each edge has to be for the answer to change."""
    what = "zero" if found.target == 0.0 else number(found.target)
    low, high = found.interval
    pairs: list[tuple[str, Words]] = [
        ("estimate", f"{number(found.estimate)} ({100 * found.level:g}% interval {number(low)} to {number(high)})")
    ]
    if found.common is not None:
        pairs.append(("all absent edges together", _limit(what, found.common)))
    if found.common_arcs is not None:
        rv = "" if found.common_rv is None else f" (robustness value {number(found.common_rv, 3)})"
        pairs.append(("correlations alone", _limit(what, found.common_arcs, rv)))
    heads = ("edge", f"{what} at", "robustness value", "interval holds it at", "its value", "determined by data")
    rows = [_robust_row(row) for row in found.rows]
    parts: list[Printed] = [Heading(f"How strong an edge must be for {found.question} to be {what}"), Facts(pairs)]
    if rows:
        parts.append(Table(heads, rows, most=_MANY, more="its to_frame()"))
        parts.append(
            Remark("of <->: correlation of the two errors; of ->: weight in standard deviations; no number: none does")
        )
    elif not any(n.code in ("strength not known", "undetermined beside an edge") for n in found.notes):
        parts.append(Remark("no absent edge that data leave free moves the answer"))
    return [*parts, *_remarks(found.notes)]


def _limit(what: str, common: float, beside: str = "") -> str:
    if common < _NOTHING:
        return f"{what} however weak they are"
    return f"{what} with none above {number(common, 3)}{beside}"


def _robust_row(row: EdgeRobustness) -> tuple[Cell, ...]:
    return (row.edge, _signed(row.smallest, row.value), row.rv, _signed(row.lost, row.lost_value), row.lost_rv,
            "yes" if row.held_by_data else "")  # fmt: skip


def _signed(size: float | None, value: float | None) -> float | None:
    return None if size is None else float(np.copysign(size, value if value is not None else 1.0))


def ranking_document(found: Ranking) -> Described:
    """Those that carry the answer, those that data test, and the others by name."""
    what = "zero" if found.target == 0.0 else number(found.target)
    counts: list[tuple[str, Words]] = [
        ("estimate", number(found.estimate)),
        ("absent edges", f"{len(found.rows)}: {len(found.carrying)} carry the answer, {len(found.tested)} tested by "
                         f"the data, {len(found.harmless)} harmless, {len(_cyclic(found))} would close a cycle"),
    ]  # fmt: skip
    parts: list[Printed] = [Heading(f"What {found.question} rests on"), Facts(counts)]
    if found.carrying:
        heads = ("edge", "its absence says", "answer moves", f"{what} at", "robustness value")
        rows: list[tuple[Cell, ...]] = [
            (row.edge, row.says, row.slope, _signed(row.smallest, row.value), row.rv) for row in found.carrying
        ]
        parts += [Heading("carry the answer: data cannot tell"), Table(heads, rows, most=_MANY, more="its to_frame()")]
        parts.append(
            Remark("answer moves: for a correlation of the errors of 0.1, or a weight of 0.1 standard deviations")
        )
    if found.tested:
        heads = ("edge", "its absence says", "answer moves", "p", "p of all")
        tests: list[tuple[Cell, ...]] = [
            (row.edge, row.says, row.slope, p_value(_nan(row.p)), p_value(_nan(row.p_adjusted))) for row in found.tested
        ]
        parts += [Heading("tested by the data"), Table(heads, tests, most=_MANY, more="its to_frame()")]
    parts += [Remark(f"harmless: {_named(found.harmless)}")] if found.harmless else []
    parts += [Remark(f"would close a cycle: {_named(_cyclic(found))}")] if _cyclic(found) else []
    return [*parts, *_remarks(found.notes)]


def _cyclic(found: Ranking) -> tuple[AbsentEdge, ...]:
    return tuple(row for row in found.rows if row.standing == "closes a cycle")


def _named(rows: tuple[AbsentEdge, ...]) -> str:
    more = f" and {len(rows) - _BESIDE} more (its to_frame() has all)" if len(rows) > _BESIDE else ""
    return ", ".join(row.edge for row in rows[:_BESIDE]) + more


def _nan(p: float | None) -> float:
    return float("nan") if p is None else p


def benchmark_document(found: Benchmark) -> Described:
    """The regression, and what a hidden cause as strong as each covariate would make of it."""
    pairs: list[tuple[str, Words]] = [
        ("estimate", f"{number(found.estimate)} (standard error {number(found.se)})"),
        ("adjusted for", ", ".join(found.adjusted_for) or "nothing"),
        ("partial R²", number(found.partial_r2)),
        (
            "robustness value",
            f"{number(found.rv, 3)}; {number(found.rv_lost, 3)} for the {100 * found.level:g}% interval",
        ),
    ]
    heads = ("as strong as", "R² of cause", "R² of effect", "low", "high", "CI low", "CI high")
    rows: list[tuple[Cell, ...]] = []
    for row in found.rows:
        uneven = "" if row.times == row.times_effect else f"/{row.times_effect:g}"
        bounds = (row.share_cause, row.share_effect, row.low, row.high, row.ci_low, row.ci_high)
        rows.append((f"{row.times:g}{uneven}x {row.covariate}", *(known(x) for x in bounds)))
    return [
        Heading(f"{found.cause} on {found.effect}, with a hidden cause of both"),
        Facts(pairs),
        Table(heads, rows, most=_MANY),
        Remark(
            f"CI: the {100 * found.level:g}% interval of the end towards zero, had the hidden cause been adjusted for"
        ),
        *_remarks(found.notes),
    ]


def _remarks(notes: Iterable[Note]) -> list[Remark]:
    return [Remark(f"{'note' if n.level in ('note', 'aside') else 'warning'}: {n}") for n in notes]
