"""Every effect of a fit in which categories act, with its uncertainty: in the units in which single effects are asked.

The effect of a category is that of one unit more of its value, 1 against 0. Where a category lies between and acts, an
effect is no single number.
"""

from __future__ import annotations

import time
from math import isnan, nan

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import EffectKind
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.graphs import quoted
from halftrek.inference.evidence.error_units import open_units, unplaced
from halftrek.inference.evidence.evidence import two_sided
from halftrek.inference.evidence.layered import acting_notes
from halftrek.inference.evidence.separated import lost_slope
from halftrek.inference.how import How
from halftrek.inference.standard_errors.acting import acting_of, drawn_again, error_of, refuse_interval
from halftrek.inference.tables.effects import Effect, asked_effects, ends_of
from halftrek.inference.tables.known import ABSENT, knowledge
from halftrek.inference.tables.legs import PathSum, Weights
from halftrek.notes import in_short, note
from halftrek.queries import TotalEffect


def acting_effects(fit: Fitted, how: How, *, kind: EffectKind, budget: float) -> list[Effect]:
    """Effects between all pairs with a directed path; nan where there is no number, and the note says why."""
    if how.interval not in (None, "influence", "bootstrap"):
        refuse_interval(how)
    if how.ends != "percentile":
        raise InputError(f"ends={how.ends!r} is for single questions, see fit.query; here it is 'percentile'")
    known, until = knowledge(fit.graph), time.monotonic() + budget
    weights, draws = Weights(fit.model), None
    if how.interval == "bootstrap":
        draws = [Weights(one.at(fit.graph, one.theta)[0]) for one in drawn_again(fit, how)]
        if len(draws) < 2:
            raise InputError("no replicate had a maximum of the likelihood; ask for interval='influence'")
    rows = []
    for u, v, name, effect in asked_effects(fit.graph, kind):
        settled = known.settle(effect, until)
        inside = "" if name == "direct" else _acting_between(fit, u, v)
        if settled.identified and settled.method != ABSENT:
            inside = inside or _open_unit(fit, u, v) or _run_off(fit, u, v, name)
        if settled.identified and not inside:
            drawn = None if draws is None else np.array([one.estimate(effect) for one in draws])
            rows.append(_row(fit, (u, v, name), weights, effect, drawn, how, settled.method))
        else:
            why = inside if settled.identified else settled.reason
            rows.append(Effect(u, v, name, nan, nan, nan, nan, nan, nan, nan, "", why))
    return rows


def _row(
    fit: Fitted,
    names: tuple[str, str, str],
    weights: Weights,
    effect: PathSum,
    drawn: Floats | None,
    how: How,
    method: str,
) -> Effect:
    value = weights.estimate(effect)
    error = _error(fit, weights, effect) if drawn is None else float(drawn.std(ddof=1))
    z = value / error if error > 0.0 else nan
    p = float(two_sided(np.array(z), how.quantile, how.level))
    units = acting_notes(fit, TotalEffect(*names[:2]))
    notes = [note("no path")] if method == ABSENT else [*units, *([note("no information")] if isnan(error) else [])]
    low, high = ends_of(value, how.quantile * error, drawn, how)
    return Effect(*names, value, error, z, p, low, high, nan, method, in_short(notes))


def _error(fit: Fitted, weights: Weights, effect: PathSum) -> float:
    """The standard error: an effect moves with weights of edges alone, which are parameters in standard units."""
    acting, by_edge = acting_of(fit), np.zeros_like(fit.model.T)
    by_edge[weights.ends] = weights.gradient(effect)
    slope = np.zeros(len(acting.theta))
    for district in acting.places(fit.graph).districts:
        for u, v, place in district.slopes:
            slope[place] = by_edge[u, v] * acting.scale[v] / acting.scale[u]
    return error_of(acting, slope)


def _open_unit(fit: Fitted, cause: str, effect: str) -> str:
    """Why an effect has no unit: that of a column in categories, or ranked, is not determined; empty if all are."""
    if away := [v for v in (cause, effect) if v in unplaced(fit)]:
        return f"not determined by data: where {quoted(unplaced(fit)[away[0]])} is behind its ranks, see fit.query"
    margins, lost = acting_of(fit).margins, open_units(fit)
    ends = [v for v in (cause, effect) if v in lost and (v == effect or margins[v].kind != "acts")]
    return f"not determined by data: the unit of {quoted(ends[0])}, see fit.query" if ends else ""


def _run_off(fit: Fitted, cause: str, effect: str, kind: str) -> str:
    """Why an effect has no most likely value: it is made of slopes that run off; empty if it is not."""
    lost = lost_slope(fit, cause, effect, direct=kind == "direct")
    return "" if lost is None else lost.short


def _acting_between(fit: Fitted, cause: str, effect: str) -> str:
    """What speaks against one number: a category that acts on a path from one to the other; empty if none does."""
    margins, graph = acting_of(fit).margins, fit.graph
    inside = (graph.descendants(cause) & graph.ancestors(effect)) - {cause, effect}
    acts = [v for v in graph.observed if v in inside and v in margins and margins[v].kind == "acts"]
    return f"no single number: {quoted(acts[0])} lies between and acts as a category" if acts else ""
