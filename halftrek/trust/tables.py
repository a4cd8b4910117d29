"""Tables of many numbers: the interval that suits each line, and a word in its note where one may mislead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from halftrek import identification
from halftrek.estimation import Fit
from halftrek.identification import Verdict
from halftrek.inference import How, Parameter, estimate, parameter_columns
from halftrek.inference.effects import Effect
from halftrek.inference.few_valued import probabilities
from halftrek.inference.how import asked
from halftrek.inference.intervals import kind_of
from halftrek.inference.kept import kept
from halftrek.inference.row_needs import spread_left_out, weights_left_out
from halftrek.inference.strength import strengths
from halftrek.notes import Note, in_short, note
from halftrek.queries import DirectEffect, Query, TotalEffect, evaluate
from halftrek.queries.gradients import linearize
from halftrek.trust.judge import SURE, doubt_of, rests_of, table_how
from halftrek.trust.misfit import LARGE, rejected
from halftrek.trust.strength import STRONG

LOOKS = 60  # lines of a table that are looked at one by one
BUDGET = 0.2  # seconds to find the formula that names a weak instrument


def judged_columns(fit: Fit, how: How | None = None, **options: Any) -> dict[str, Any]:
    """Every parameter with the interval that suits it, as columns; ``note`` says what may mislead."""
    how = asked(**options) if how is None else how
    found = parameter_columns(fit, table_how(fit, how))
    doubts = edge_doubts(fit)
    wrong = _misfit(fit, how)
    said, everywhere = _about_rows(fit, how)
    if not (doubts or wrong or said or everywhere):
        return found
    lines = zip(found["lhs"], found["op"], found["rhs"], found["note"], strict=True)
    notes = []
    for lhs, op, rhs, text in lines:
        cautions = [*([doubts[rhs, lhs]] if op == "~" and (rhs, lhs) in doubts else []), *wrong]
        cautions += [*(said.get(lhs, ()) if op == "~" else ()), *everywhere]
        notes.append("; ".join(filter(None, (text, in_short(cautions)))) if text not in ("fixed",) else text)
    return {**found, "note": notes}


def judged_parameters(fit: Fit, how: How | None = None, **options: Any) -> list[Parameter]:
    """The same, a value for each parameter."""
    found = judged_columns(fit, how, **options)
    columns = [c.tolist() if isinstance(c, np.ndarray) else c for c in found.values()]
    return [Parameter(*row) for row in zip(*columns, strict=True)]


def judged_effects(fit: Fit, rows: Sequence[Effect], how: How) -> list[Effect]:
    """Lines of effects with what speaks against their intervals."""
    told = [i for i, row in enumerate(rows) if row.se > 0.0]
    queries = {i: _query(rows[i]) for i in told}
    asked = [i for i in told if queries[i] is not None]
    gradients = [linearize(queries[i], fit.model).values[0] for i in asked]  # type: ignore[arg-type]
    weak = {i: s for i, s in zip(asked, strengths(fit, gradients), strict=True) if s < SURE}
    doubts: dict[int, Note] = {}
    for i in sorted(weak, key=weak.__getitem__):
        found = _looked_at(fit, queries[i], weak[i], len(doubts) < LOOKS)  # type: ignore[arg-type]
        if found is not None:
            doubts[i] = found
    edges = edge_doubts(fit)
    wrong = _misfit(fit, how)
    said, everywhere = _about_rows(fit, how)
    marked = []
    for i, row in enumerate(rows):
        cautions = [doubts[i]] if i in doubts else [] if i in asked else _along(fit, row, edges)
        cautions = [*cautions, *wrong, *said.get(row.effect, ()), *everywhere] if row.se > 0.0 else []
        marked.append(replace(row, note="; ".join(filter(None, (row.note, in_short(cautions))))) if cautions else row)
    return marked


def _misfit(fit: Fit, how: How) -> list[Note]:
    """A word for every line where the data reject the model, unless the user chose the interval."""
    found = rejected(fit) if how.interval is None and len(fit.graph) <= LARGE else None
    return [] if found is None else [note("misfit", p=found.p)]


def _about_rows(fit: Fit, how: How) -> tuple[dict[str, tuple[Note, ...]], tuple[Note, ...]]:
    """What lines on a 0/1 outcome say of it, and all lines of weights, where their intervals do not allow for them."""
    words = probabilities(fit)
    if kind_of(table_how(fit, how)).counts_rows(fit):
        return {v: (one,) for v, one in words.items()}, ()
    return {v: (one, *spread_left_out(fit, (v,))) for v, one in words.items()}, weights_left_out(fit)


def _along(fit: Fit, row: Effect, edges: dict[tuple[str, str], Note]) -> list[Note]:
    """Doubts about edges between the two ends of an effect that has no question of its own."""
    if not row.se > 0.0:
        return []
    inside = fit.graph.descendants(row.cause) & fit.graph.ancestors([row.effect])
    return [found for (u, v), found in edges.items() if u in inside and v in inside][:1]


def _query(row: Effect) -> Query | None:
    match row.kind:
        case "direct":
            return DirectEffect(row.cause, row.effect)
        case "total":
            return TotalEffect(row.cause, row.effect)
        case _:
            return None


@kept
def edge_doubts(fit: Fit) -> dict[tuple[str, str], Note]:
    """What speaks against the interval of an edge's weight, for the edges that something does."""
    names = fit.model.names
    edges = [(u, v) for u, v in fit.graph.directed if u in names and v in names]
    gradients = [linearize(DirectEffect(u, v), fit.model).values[0] for u, v in edges]
    found: dict[tuple[str, str], Note] = {}
    weak = [(s, e) for s, e in zip(strengths(fit, gradients), edges, strict=True) if s < SURE]
    for k, (strength, edge) in enumerate(sorted(weak)):
        doubt = _looked_at(fit, DirectEffect(*edge), strength, k < LOOKS)
        if doubt is not None:
            found[edge] = doubt
    return found


def _looked_at(fit: Fit, query: Query, strength: float, closely: bool) -> Note | None:
    """What a closer look at one number finds; without one, what the information says."""
    if not closely:
        return note("weak divisor", F=strength, strong=STRONG, rows="", columns="") if strength < STRONG else None
    how = How()
    value = evaluate(query, fit.model)
    if np.isnan(estimate(fit, query, value, how).errors).any():
        return None
    return doubt_of(fit, query, value, _verdict(fit, query), how, rests_of(fit, query))


def _verdict(fit: Fit, query: Query) -> Verdict:
    return identification.identify(fit.graph, query, budget=BUDGET, witness=False)
