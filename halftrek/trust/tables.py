"""Tables of many numbers: the interval that suits each line, and a word in its note where one may mislead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, Unpack

import numpy as np

from halftrek.bottom.frames import Columns
from halftrek.estimation import Fitted
from halftrek.graphs.reach import reach_of
from halftrek.inference import How, Parameter, estimate, parameter_columns
from halftrek.inference.evidence.error_units import without_open
from halftrek.inference.evidence.few_valued import probabilities
from halftrek.inference.evidence.layered import unsaid_notes
from halftrek.inference.evidence.row_needs import spread_left_out, weights_left_out
from halftrek.inference.evidence.strength import strengths
from halftrek.inference.how import Uncertainty, asked
from halftrek.inference.intervals import kind_of
from halftrek.inference.intervals.influence import cut_errors
from halftrek.inference.kept import kept
from halftrek.inference.standard_errors.acting import acting_parameters, cut_line
from halftrek.inference.tables.decomposition import Decomposition, Share
from halftrek.inference.tables.definitions import behind
from halftrek.inference.tables.effects import Effect, gradients_of
from halftrek.inference.tables.legs import PathSum, edges_of
from halftrek.inference.tables.mediation import Mediation, Route
from halftrek.inference.tables.parameter import FIELDS
from halftrek.notes import Note, in_short, note
from halftrek.queries import DirectEffect, ErrorCovariance, Query, TotalEffect, evaluate, variables_of
from halftrek.trust.acting import doubts_everywhere, weak_edges
from halftrek.trust.judge import FEW_CLUSTERS, SURE, doubt_of, rests_of, table_how
from halftrek.trust.misfit import LARGE, rejected
from halftrek.trust.strength import STRONG, quick_verdict

LOOKS = 60  # lines of a table that are looked at one by one ...
PROFILED = 20  # ... and that get an interval from the likelihood

Line = TypeVar("Line", Effect, Share, Route)
Edges = set[tuple[str, str]]


def judged_columns(fit: Fitted, how: How | None = None, **options: Unpack[Uncertainty]) -> Columns:
    """Every parameter with the interval that suits it, as columns; ``note`` says what may mislead."""
    how = asked(**options) if how is None else how
    if fit.acting is not None:
        from halftrek.inference.evidence.separated import without_run_off  # here, for most fits have no such columns

        known = without_run_off(fit, without_open(fit, acting_parameters(fit, how)))
        rows = [_of_acting(fit, row) for row in known]
        return {name: [getattr(row, name) for row in rows] for name in FIELDS}
    found = parameter_columns(fit, table_how(fit, how))
    doubts = edge_doubts(fit, how.interval is None)
    wrong = _misfit(fit, how)
    said, everywhere = about_rows(fit, how)
    if fit.moments.layer is not None:
        found = _with_cuts(fit, found, how)
    if not (doubts or wrong or said or everywhere or _unsaid(fit)):
        return found
    lines = zip(*(map(str, found[name]) for name in ("lhs", "op", "rhs", "note")), strict=True)
    low, high = np.array(found["ci_low"]), np.array(found["ci_high"])
    notes, left = [], PROFILED
    for k, (lhs, op, rhs, text) in enumerate(lines):
        cautions = [*wrong]
        doubt, query = _doubt_of_line(doubts, lhs, op, rhs) if op != ":=" else (_doubt_of_parts(fit, doubts, lhs), None)
        if doubt is not None:
            better = _from_likelihood(fit, query, doubt, how) if left and query is not None else None
            if better is not None:
                low[k], high[k], left = *better.interval, left - 1
            cautions[:0] = _left(doubt) if better is None else [better.note]
        cautions += [*(said.get(lhs, ()) if op == "~" else ()), *everywhere, *_unsaid_of_line(fit, lhs, op, rhs)]
        notes.append("; ".join(filter(None, (text, in_short(cautions)))) if text not in ("fixed",) else text)
    return {**found, "ci_low": low, "ci_high": high, "note": notes}


def _of_acting(fit: Fitted, row: Parameter) -> Parameter:
    """A parameter of a fit in which categories act, with what speaks against its interval."""
    if not row.se > 0.0:
        return row
    weak = weak_edges(fit).get((row.rhs, row.lhs)) if row.op == "~" else None
    cautions = [*([] if weak is None else [weak]), *doubts_everywhere(fit, FEW_CLUSTERS)]
    cautions += _unsaid_of_line(fit, row.lhs, row.op, row.rhs)
    return replace(row, note="; ".join(filter(None, (row.note, in_short(cautions)))))


def _with_cuts(fit: Fitted, found: Columns, how: How) -> Columns:
    """The same with a line for each cut between categories, written as in lavaan: ``y | t1``."""
    if fit.rows is None:
        return found
    rows = [
        cut_line(v, k, float(cut), float(error), how)
        for v, (cuts, errors) in cut_errors(fit).items()
        for k, (cut, error) in enumerate(zip(cuts, errors, strict=True))
    ]
    return {name: [*found[name], *(getattr(row, name) for row in rows)] for name in found}


def judged_parameters(fit: Fitted, how: How | None = None, **options: Unpack[Uncertainty]) -> list[Parameter]:
    """The same, a value for each parameter."""
    found = judged_columns(fit, how, **options)
    columns = [c.tolist() if isinstance(c, np.ndarray) else c for c in found.values()]
    return [Parameter(*row) for row in zip(*columns, strict=True)]


def judged_effects(fit: Fitted, rows: Sequence[Effect], how: How) -> list[Effect]:
    """Lines of effects with what speaks against their intervals."""
    if fit.acting is not None:
        weak, against = weak_edges(fit), doubts_everywhere(fit, FEW_CLUSTERS)
        behind = [[weak[e] for e in weak if e in _between(fit, row.cause, row.effect)] for row in rows]
        return [
            _noted(row, [*own, *against, *_unsaid(fit, TotalEffect(row.cause, row.effect))]) if row.se > 0.0 else row
            for row, own in zip(rows, behind, strict=True)
        ]
    marked = _judged_lines(
        fit, rows, [_query(row) for row in rows], lambda i: [_between(fit, rows[i].cause, rows[i].effect)], how
    )
    wrong = _misfit(fit, how)
    said, everywhere = about_rows(fit, how)
    return [
        _noted(row, [*wrong, *said.get(row.effect, ()), *everywhere, *_unsaid(fit, TotalEffect(row.cause, row.effect))])
        if row.se > 0.0
        else row
        for row in marked
    ]


def judged_decomposition(fit: Fitted, found: Decomposition, how: How) -> Decomposition:
    """The same for a total effect path by path."""
    parts: list[PathSum | None] = [None, *found.asked, *[None] * (len(found.rows) - len(found.asked))]
    queries = [TotalEffect(found.cause, found.effect), *(None if part is None else part.query for part in parts[1:])]

    def edges(i: int) -> list[Edges]:
        part = parts[i]
        return [_between(fit, found.cause, found.effect)] if part is None else _used(fit, part)

    first, *rest = _judged_lines(fit, (found.total, *found.rows), queries, edges, how)
    unsaid = _unsaid(fit, TotalEffect(found.cause, found.effect))
    return replace(found, rows=tuple(rest), total=_noted(first, [*_misfit(fit, how), *unsaid]))


def judged_mediation(fit: Fitted, found: Mediation, how: How) -> Mediation:
    """The same for a total effect split at mediators."""
    queries = [part.query for part in found.asked]
    rows = _judged_lines(fit, found.rows, queries, lambda i: _used(fit, found.asked[i]), how)
    shaky = any(line.note for line in rows if line.se > 0.0 and line.kind in ("total", "indirect"))
    ratio = [note("shaky proportion")] if shaky and found.proportion is not None else []
    unsaid = _unsaid(fit, TotalEffect(found.cause, found.effect))
    return replace(found, rows=tuple(rows), notes=(*found.notes, *ratio, *_misfit(fit, how), *unsaid))


def unit_notes(fit: Fitted, held: Collection[str], outcomes: Sequence[str], how: How) -> list[Note]:
    """What speaks against the intervals of a table of units, of which none has a question of its own.

    That a likelihood is no parabola speaks for another interval, which a table of units cannot have; it does not
    speak against this one, which covers as often as it says unless something is weak.
    """
    if fit.acting is not None:
        weak = weak_edges(fit)
        used = {edge for x in held for y in outcomes for edge in _between(fit, x, y)}
        return [*(doubt for edge, doubt in weak.items() if edge in used), *doubts_everywhere(fit, FEW_CLUSTERS)]
    doubts = {edge: doubt for edge, doubt in edge_doubts(fit).items() if doubt.code != "no parabola"}
    behind = {edge for x in held for y in outcomes for edge in _between(fit, x, y)} if doubts else set()
    return [*(doubt for edge, doubt in doubts.items() if edge in behind), *_misfit(fit, how)]


def _judged_lines(
    fit: Fitted, rows: Sequence[Line], queries: Sequence[Query | None], ways: Callable[[int], list[Edges]], how: How
) -> list[Line]:
    """Lines with a better interval where there is one, else with what speaks against theirs.

    A line that no question asks for is as weak as the edges that it is made of, in the best of the ``ways`` to make it.
    """
    choosing = how.interval is None
    asked = [(i, query) for i, query in enumerate(queries) if query is not None and rows[i].se > 0.0]
    strong = strengths(fit, gradients_of(fit, [query for _, query in asked]))
    weak = sorted(
        ((s, i, query) for s, (i, query) in zip(strong, asked, strict=True) if s < SURE),
        key=lambda one: one[:2],
    )
    found: dict[int, list[Note]] = {i: [] for i, _ in asked}
    better: dict[int, Better] = {}
    for strength, i, query in weak:
        doubt = _looked_at(fit, query, strength, len(better) < LOOKS, choosing)
        if doubt is None:
            continue
        taken = _from_likelihood(fit, query, doubt, how) if len(better) < PROFILED else None
        found[i] = _left(doubt) if taken is None else [taken.note]
        if taken is not None:
            better[i] = taken
    for i, query in _without_error(rows, queries):
        taken = _from_likelihood(fit, query, note("no information"), how) if len(better) < PROFILED else None
        if taken is not None:
            found[i], better[i] = [taken.note], taken
    edges = edge_doubts(fit, choosing)
    marked = []
    for i, row in enumerate(rows):
        line = row
        if i in better:
            line = replace(line, ci_low=better[i].interval[0], ci_high=better[i].interval[1])
        doubts = found.get(i)
        if doubts is None and row.se > 0.0 and edges:
            against = [[left for edge, d in edges.items() if edge in own for left in _left(d)] for own in ways(i)]
            doubts = min(against, key=len)[:1]
        marked.append(_noted(line, doubts or []))
    return marked


def _without_error(rows: Sequence[Line], queries: Sequence[Query | None]) -> list[tuple[int, Query]]:
    """Lines whose information is singular at the estimates: the likelihood still says what the data exclude."""
    return [
        (i, q) for i, q in enumerate(queries) if q is not None and np.isnan(rows[i].se) and rows[i].est == rows[i].est
    ]


def _noted(row: Line, notes: Sequence[Note]) -> Line:
    return replace(row, note="; ".join(filter(None, (row.note, in_short(notes))))) if notes else row


def _used(fit: Fitted, part: PathSum) -> list[Edges]:
    """The edges on the paths of an effect, for each form of it."""
    return [{edge for _, legs in form for one in legs for edge in edges_of(fit.graph, one)} for form in part.forms]


def _between(fit: Fitted, cause: str, effect: str) -> Edges:
    """The edges on any path from one variable to another."""
    reach = reach_of(fit.graph)
    return set(reach.edges_of(reach.edges_between(cause, effect)))


def _doubt_of_line(
    doubts: dict[tuple[str, str], Note], lhs: str, op: str, rhs: str
) -> tuple[Note | None, Query | None]:
    """What speaks against a line of parameters, and the question that it answers, if there is one.

    Errors are what is left when effects are taken out: they are known no better than the effects are.
    """
    match op:
        case "~":
            return doubts.get((rhs, lhs)), DirectEffect(rhs, lhs)
        case "~~":
            found = next((note for (_, v), note in doubts.items() if v in (lhs, rhs)), None)
            return found, ErrorCovariance(lhs, rhs) if lhs != rhs else None
        case _:
            return None, None


def _doubt_of_parts(fit: Fitted, doubts: dict[tuple[str, str], Note], name: str) -> Note | None:
    """What speaks against a parameter that a definition is made of, and so against this."""
    found = (_doubt_of_line(doubts, *sides)[0] for sides in behind(fit.graph, name)) if doubts else ()
    return next((note for note in found if note is not None), None)


@dataclass(frozen=True)
class Better:
    """An interval in place of one that may mislead, and a word that says so."""

    interval: tuple[float, float]
    note: Note


@kept
def _from_likelihood(fit: Fitted, query: Query, doubt: Note, how: How) -> Better | None:
    """From the likelihood, where nobody asked for a kind of interval and the likelihood is that of the rows."""
    if table_how(fit, how).interval is not None:
        return None
    found = estimate(fit, query, evaluate(query, fit.model), replace(how, interval="profile"))
    low, high = (float(x) for x in found.intervals[0])
    if np.isnan(low) or np.isnan(high):
        return None
    weak = doubt.facts.get("F")
    return Better((low, high), note("profile line") if weak is None else note("profile line, weak", F=weak))


def _misfit(fit: Fitted, how: How) -> list[Note]:
    """A word for every line where the data reject the model, unless the user chose the interval."""
    found = rejected(fit) if how.interval is None and len(fit.graph) <= LARGE else None
    return [] if found is None else [note("misfit", p=found.p)]


def about_rows(fit: Fitted, how: How) -> tuple[dict[str, tuple[Note, ...]], tuple[Note, ...]]:
    """What lines on a 0/1 outcome say of it, and all lines of weights, where their intervals do not allow for them.

    All lines say, too, that weighted squares are not at their least.
    """
    words, short = probabilities(fit), tuple(n for n in fit.status.notes if n.code == "steps ran out, weighted")
    if kind_of(table_how(fit, how)).counts_rows(fit):
        return {v: (one,) for v, one in words.items()}, short
    return {v: (one, *spread_left_out(fit, (v,))) for v, one in words.items()}, (*short, *weights_left_out(fit))


@kept
def _unsaid(fit: Fitted, query: Query | None = None) -> tuple[Note, ...]:
    """Causes of two values of which nobody said what acts, in all or before the variables of a line.

    What speaks against no number stands in the lines of the cause itself.
    """
    found = unsaid_notes(fit, query)
    if query is None:
        return found
    return tuple(n for n in found if n.level != "note" or n.facts["variable"] in variables_of(query))


def _unsaid_of_line(fit: Fitted, lhs: str, op: str, rhs: str) -> list[Note]:
    """The same for a line of parameters. Cuts and means of columns are their own, whatever causes them."""
    if op not in ("~", "=~", "~~") or not _unsaid(fit):
        return []
    query = ErrorCovariance(lhs, rhs) if op == "~~" else DirectEffect(*((rhs, lhs) if op == "~" else (lhs, rhs)))
    return [*_unsaid(fit, query)]


def _left(doubt: Note) -> list[Note]:
    """What is said of a line whose interval stays: moderate strength is a reason to choose another, not to warn."""
    return [] if doubt.code == "moderate strength" else [doubt]


def _query(row: Effect) -> Query | None:
    match row.kind:
        case "direct":
            return DirectEffect(row.cause, row.effect)
        case "total":
            return TotalEffect(row.cause, row.effect)
        case _:
            return None


@kept
def edge_doubts(fit: Fitted, choosing: bool = False) -> dict[tuple[str, str], Note]:
    """What speaks against the interval of an edge's weight, for the edges that something does."""
    names = fit.model.names
    edges = [(u, v) for u, v in fit.graph.directed if u in names and v in names]
    gradients = gradients_of(fit, [DirectEffect(u, v) for u, v in edges])
    found: dict[tuple[str, str], Note] = {}
    weak = [(s, e) for s, e in zip(strengths(fit, gradients), edges, strict=True) if s < SURE]
    for k, (strength, edge) in enumerate(sorted(weak)):
        doubt = _looked_at(fit, DirectEffect(*edge), strength, k < LOOKS, choosing)
        if doubt is not None:
            found[edge] = doubt
    return found


def _looked_at(fit: Fitted, query: Query, strength: float, closely: bool, choosing: bool) -> Note | None:
    """What a closer look at one number finds; without one, what the information says."""
    if not closely:
        return note("weak divisor", F=strength, strong=STRONG, rows="", columns="") if strength < STRONG else None
    how = How()
    value = evaluate(query, fit.model)
    if np.isnan(estimate(fit, query, value, how).errors).any():
        return None
    return doubt_of(fit, query, value, quick_verdict(fit, query), how, rests_of(fit, query), choosing=choosing)
