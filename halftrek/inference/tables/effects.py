"""Every direct, indirect and total effect of a fit with its uncertainty; what is not identified is listed as such."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import get_args

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import EffectKind
from halftrek.bottom.frames import Columns
from halftrek.bottom.progress import Advance, late_bar
from halftrek.errors import InputError, QueryError
from halftrek.estimation import Fitted
from halftrek.estimation.status import troubles
from halftrek.graphs import Graph, did_you_mean, quoted
from halftrek.graphs.reach import reach_of
from halftrek.inference.draws.bootstrap import Replicates, about_failures
from halftrek.inference.evidence.evidence import two_sided
from halftrek.inference.how import How
from halftrek.inference.information.edge_slopes import EdgeSlopes
from halftrek.inference.intervals import kind_of
from halftrek.inference.standard_errors.factor import Factor, joint_factor
from halftrek.inference.standard_errors.lengths import separate_lengths
from halftrek.inference.tables.known import ABSENT, Knowledge, Settled, knowledge
from halftrek.inference.tables.legs import (
    ManyWeights,
    PathSum,
    Weights,
    direct,
    edges_of,
    indirect,
    through,
    total,
)
from halftrek.notes import Note, in_short, note
from halftrek.queries import DirectEffect, Query, TotalEffect
from halftrek.queries.gradients import Gradient, linearize

BUDGET = 5.0  # seconds for the hard questions of one call
PIECE = 4_000_000  # numbers in the gradients that are held at a time


@dataclass(frozen=True)
class Effect:
    """One row; nan where there is no number, and ``note`` says why. ``std`` is in standard deviations of both ends."""

    cause: str
    effect: str
    kind: str
    est: float
    se: float
    z: float
    p: float
    ci_low: float
    ci_high: float
    std: float
    method: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class Measured:
    """Effects over paths with what is known of each; numbers are there for the identified ones alone.

    ``factor`` has one row for each effect (zero where it is not identified), for sums and ratios of effects, and no
    row if each was measured for itself; ``draws`` has the effects in each bootstrap replicate, one row each, None for
    other intervals.
    """

    effects: tuple[PathSum, ...]
    settled: tuple[Settled, ...]
    values: Floats
    errors: Floats
    intervals: Floats
    factor: Factor
    notes: tuple[tuple[Note, ...], ...]
    tests: Floats
    draws: Floats | None = None

    def reason(self, i: int) -> str:
        """Why the i-th effect has no number, or what to know of it, for a column of a table."""
        return in_short(self.notes[i]) if self.settled[i].identified else self.settled[i].reason

    def test(self, i: int) -> tuple[float, float]:
        """The i-th effect in standard errors, and the chance to be farther from zero."""
        return float(self.tests[i, 0]), float(self.tests[i, 1])


def effect_rows(fit: Fitted, how: How, *, kind: EffectKind = "all", budget: float = BUDGET) -> list[Effect]:
    """Effects between all pairs with a directed path, causes in causal order; direct, indirect, total of each pair."""
    asked = asked_effects(fit.graph, kind)
    found = measure(fit, [effect for *_, effect in asked], how, budget=budget, together=False)
    sd = dict(zip(fit.model.names, np.sqrt(np.diag(fit.model.cov)), strict=True))
    return [_row(u, v, name, found, i, sd[u] / sd[v]) for i, (u, v, name, _) in enumerate(asked)]


def asked_effects(graph: Graph, kind: EffectKind) -> list[tuple[str, str, str, PathSum]]:
    """Cause, effect and kind of each row, and the paths that it is over."""
    if kind not in get_args(EffectKind):
        raise InputError(f"kind must be one of {', '.join(get_args(EffectKind))}, not {kind!r}")
    return [(u, v, name, effect) for u, v in _pairs(graph) for name, effect in _of_pair(graph, u, v, kind)]


def columns_of(rows: Sequence[object], kind: type) -> Columns:
    """Rows as columns."""
    return {f.name: [getattr(row, f.name) for row in rows] for f in fields(kind)}


def measure(
    fit: Fitted, effects: Sequence[PathSum], how: How, *, budget: float = BUDGET, together: bool = True
) -> Measured:
    """Values and errors of the effects that the graph determines, nan for the others.

    ``together``: sums and ratios of the effects will be made, so that all have to have one kind of interval.
    """
    known, until = knowledge(fit.graph), time.monotonic() + budget
    with late_bar("effects") as advance:
        settled = _settled(known, effects, until, advance)
    weights = Weights(fit.model)
    open_ = np.array([not s.identified for s in settled], dtype=bool)
    values = np.array([np.nan if o else weights.estimate(e) for e, o in zip(effects, open_, strict=True)])
    kind = kind_of(how)
    drawn = kind.replicates(fit, how)
    draws: Floats | None = None
    failures: tuple[Note, ...] = ()
    factor = Factor(np.zeros((0, 0)), np.zeros((0, 0)))
    errors = reaches = np.zeros(0)
    if not effects:
        pass
    elif drawn is None and together:
        factor = joint_factor(fit, _gradients(weights, effects, open_), how)
    elif drawn is None:
        errors, reaches = separate_lengths(fit, _gradients(weights, effects, open_), how)
    else:
        found = _draws(fit, drawn, effects, open_, how)
        failures = about_failures(drawn.failed, drawn.drawn, drawn.kind)
        factor = drawn.factor(found, np.where(open_, 0.0, values), how.level)
        draws = found if drawn.percentile else None
    if len(factor.spread):
        errors, reaches = factor.errors(), factor.reaches()
    errors = np.where(open_, np.nan, errors)
    intervals = [
        ends_of(value, float(reach), None if draws is None else draws[:, i], how)
        for i, (value, reach) in enumerate(zip(values, reaches, strict=True))
    ]
    cautions = _Cautions.of(fit)
    notes = tuple(
        (*cautions.about(e, float(error), s.method), *(n for n in failures if n.level == "doubt"))
        for s, e, error in zip(settled, effects, errors, strict=True)
    )
    both = np.array(intervals).reshape(len(intervals), 2)
    tests = _tests(values, errors, reaches if draws is None else how.quantile * errors, how.level)
    return Measured(tuple(effects), settled, values, errors, both, factor, notes, tests, draws)


def _settled(known: Knowledge, effects: Sequence[PathSum], until: float, advance: Advance) -> tuple[Settled, ...]:
    found = []
    for k, effect in enumerate(effects, 1):
        found.append(known.settle(effect, until))
        advance(k, len(effects))
    return tuple(found)


def _tests(values: Floats, errors: Floats, reaches: Floats, level: float) -> Floats:
    """For each effect: in standard errors, and the chance to be farther from zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(errors > 0.0, values / errors, np.nan)
        return np.stack([z, two_sided(z, reaches / errors, level)], axis=1)


def ends_of(value: float, reach: float, draws: Floats | None, how: How) -> tuple[float, float]:
    """Ends of an interval: quantiles of the draws if there are any, else what it reaches to each side."""
    if math.isnan(value):
        return math.nan, math.nan
    if draws is None:
        return float(value - reach), float(value + reach)
    low, high = np.quantile(draws, [(1.0 - how.level) / 2.0, (1.0 + how.level) / 2.0])
    return float(low), float(high)


def _draws(fit: Fitted, found: Replicates, effects: Sequence[PathSum], open_: Floats, how: How) -> Floats:
    """The effects in replicates, zero where not identified."""
    if how.ends != "percentile":
        raise InputError(f"ends={how.ends!r} is for single questions, see fit.query; here it is 'percentile'")
    if len(found.batch) < 2:
        raise InputError("no replicate had a maximum of the likelihood; ask for interval='delta'")
    weights = ManyWeights(found.batch.T, found.batch.names, fit.graph)
    zero = np.zeros(len(found.batch))
    return np.stack([zero if o else weights.estimate(e) for e, o in zip(effects, open_, strict=True)], axis=1)


def check_ends(graph: Graph, cause: str, effect: str) -> None:
    """Raise QueryError unless both are observed variables with a directed path between them."""
    for v in (cause, effect):
        if v in graph.latents:
            raise QueryError(f"{v!r} is hidden; effects go from one observed variable to another")
        if v not in graph:
            raise QueryError(f"the graph has no variable {v!r}.{did_you_mean(v, graph.observed)}")
    if cause == effect or effect not in graph.descendants(cause):
        back = f". One leads back, from {effect!r} to {cause!r}" if cause in graph.descendants(effect) else ""
        raise QueryError(
            f"no directed path leads from {cause!r} to {effect!r}, so there is no effect to take apart"
            f"{back if cause != effect else ''}"
        )


def _pairs(graph: Graph) -> list[tuple[str, str]]:
    reach = reach_of(graph)
    return [(u, v) for u in graph.topological_order for v in reach.names(reach.below(u)) if v != u]


def _of_pair(graph: Graph, u: str, v: str, kind: EffectKind) -> Iterator[tuple[str, PathSum]]:
    reach = reach_of(graph)
    inside = reach.inside(u, v)
    if kind in ("all", "direct") and v in graph.children(u):
        yield "direct", direct(u, v)
    if kind in ("all", "indirect") and inside:
        yield "indirect", indirect(graph, u, v)
    if kind in ("all", "total"):
        yield "total", total(graph, u, v)
    if kind == "through":
        for m in reach.names(inside):
            yield f"through {quoted(m)}", through(graph, (u, m, v))


def _gradients(weights: Weights, effects: Sequence[PathSum], open_: Floats) -> Iterator[EdgeSlopes]:
    """Gradients in pieces; zero where an effect is not identified."""
    p, (tails, heads) = len(weights.model.names), weights.ends
    size = max(1, PIECE // (2 * p + len(tails)))  # about as many as there are parameters
    for start in range(0, len(effects), size):
        values = np.zeros((min(size, len(effects) - start), len(tails)))
        for k in range(len(values)):
            if not open_[start + k]:
                values[k] = weights.gradient(effects[start + k])
        yield EdgeSlopes(values, tails, heads, p)


def gradients_of(fit: Fitted, queries: Sequence[Query]) -> Sequence[Gradient]:
    """Gradients of numbers, all at once where they are direct and total effects."""
    model = fit.model
    weights = Weights(model)
    made = [
        direct(q.cause, q.effect) if isinstance(q, DirectEffect) else total(fit.graph, q.cause, q.effect)
        for q in queries
        if isinstance(q, DirectEffect | TotalEffect)
    ]
    if len(made) < len(queries):
        return [linearize(query, model).values[0] for query in queries]
    values = np.array([weights.gradient(effect) for effect in made]).reshape(len(made), len(weights.ends[0]))
    return EdgeSlopes(values, *weights.ends, len(model.names))


@dataclass(frozen=True)
class _Cautions:
    """What to know before trusting a number: of the whole fit, or of the districts whose variables it involves."""

    fit: Fitted
    local: bool  # something speaks against some districts and not against others
    everywhere: tuple[Note, ...]

    @staticmethod
    def of(fit: Fitted) -> _Cautions:
        return _Cautions(fit, any(r.warnings for r in fit.districts), troubles(fit.status, fit.districts, ()))

    def about(self, effect: PathSum, error: float, method: str) -> list[Note]:
        """What to know of one number."""
        if method == ABSENT:
            return [note("no path")]
        nothing = [note("no information")] if np.isnan(error) else []
        if not self.local:
            return [*nothing, *self.everywhere]
        involved = {v for _, v in edges_in(self.fit.graph, effect)}
        return [*nothing, *troubles(self.fit.status, self.fit.districts, involved)]


def edges_in(graph: Graph, effect: PathSum) -> list[tuple[str, str]]:
    """The edges that an effect is made of."""
    return list(dict.fromkeys(e for _, legs in effect.forms[0] for one in legs for e in edges_of(graph, one)))


def _row(u: str, v: str, kind: str, found: Measured, i: int, ratio: float) -> Effect:
    value, error = float(found.values[i]), float(found.errors[i])
    low, high = map(float, found.intervals[i])
    method = found.settled[i].method if found.settled[i].identified else ""
    std = float(value * ratio)
    return Effect(u, v, kind, value, error, *found.test(i), low, high, std, method, found.reason(i))
