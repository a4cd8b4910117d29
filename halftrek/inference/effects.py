"""Every direct, indirect and total effect of a fit with its uncertainty; what is not identified is listed as such."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from halftrek.errors import InputError, QueryError
from halftrek.estimation import Fit
from halftrek.frames import as_frame
from halftrek.graph import Graph, did_you_mean, quoted
from halftrek.inference.estimate import How
from halftrek.inference.factor import Factor, Slopes, joint_factor
from halftrek.inference.known import ABSENT, Settled, knowledge
from halftrek.inference.legs import PathSum, Weights, between, direct, edges_of, indirect, through, total
from halftrek.model import Floats

Kind = Literal["all", "direct", "indirect", "total", "through"]

BUDGET = 5.0  # seconds for the hard questions of one call
PIECE = 4_000_000  # numbers in the gradients that are held at a time
NOTHING = "no information about it at these estimates"


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

    ``factor`` has one row for each effect (zero where it is not identified), for sums and ratios of effects.
    """

    effects: tuple[PathSum, ...]
    settled: tuple[Settled, ...]
    values: Floats
    errors: Floats
    intervals: Floats
    factor: Factor
    notes: tuple[str, ...]


def effect_rows(fit: Fit, how: How, *, kind: Kind = "all", budget: float = BUDGET) -> list[Effect]:
    """Effects between all pairs with a directed path, causes in causal order; direct, indirect, total of each pair."""
    if kind not in get_args(Kind):
        raise InputError(f"kind must be one of {', '.join(get_args(Kind))}, not {kind!r}")
    graph = fit.graph
    asked = [(u, v, name, effect) for u, v in _pairs(graph) for name, effect in _of_pair(graph, u, v, kind)]
    found = measure(fit, [effect for *_, effect in asked], how, budget=budget)
    sd = dict(zip(fit.model.names, np.sqrt(np.diag(fit.model.cov)), strict=True))
    return [_row(u, v, name, found, i, sd[u] / sd[v]) for i, (u, v, name, _) in enumerate(asked)]


def effect_frame(fit: Fit, how: How, *, kind: Kind = "all", budget: float = BUDGET) -> Any:
    """Every effect as a tidy frame."""
    return as_frame(columns_of(effect_rows(fit, how, kind=kind, budget=budget), Effect), fit.frame)


def columns_of(rows: Sequence[Any], kind: type) -> dict[str, list[Any]]:
    """Rows as columns."""
    return {f.name: [getattr(row, f.name) for row in rows] for f in fields(kind)}


def measure(fit: Fit, effects: Sequence[PathSum], how: How, *, budget: float = BUDGET) -> Measured:
    """Values and errors of the effects that the graph determines, nan for the others."""
    known, until = knowledge(fit.graph), time.monotonic() + budget
    settled = tuple(known.settle(effect, until) for effect in effects)
    weights = Weights(fit.model)
    open_ = np.array([not s.identified for s in settled], dtype=bool)
    values = np.array([np.nan if o else weights.estimate(e) for e, o in zip(effects, open_, strict=True)])
    pieces = _gradients(weights, effects, open_)
    factor = joint_factor(fit, pieces, how) if effects else Factor(np.zeros((0, 0)))
    errors = np.where(open_, np.nan, factor.errors())
    reach = how.quantile * errors
    notes = tuple(
        s.reason if not s.identified else "; ".join(_cautions(fit, e, float(error), s.method))
        for s, e, error in zip(settled, effects, errors, strict=True)
    )
    intervals = np.stack([values - reach, values + reach], axis=1)
    return Measured(tuple(effects), settled, values, errors, intervals, factor, notes)


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


def two_sided(z: float) -> float:
    """The chance that a standard normal number is farther from zero."""
    from scipy.special import ndtr

    return float(2.0 * ndtr(-abs(z)))


def _pairs(graph: Graph) -> list[tuple[str, str]]:
    order = graph.topological_order
    return [(u, v) for u in order for below in (graph.descendants(u),) for v in order if v != u and v in below]


def _of_pair(graph: Graph, u: str, v: str, kind: Kind) -> Iterator[tuple[str, PathSum]]:
    inside = between(graph, u, v)
    if kind in ("all", "direct") and v in graph.children(u):
        yield "direct", direct(graph, u, v)
    if kind in ("all", "indirect") and inside:
        yield "indirect", indirect(graph, u, v)
    if kind in ("all", "total"):
        yield "total", total(graph, u, v)
    if kind == "through":
        for m in graph.topological_order:
            if m in inside:
                yield f"through {quoted(m)}", through(graph, (u, m, v))


def _gradients(weights: Weights, effects: Sequence[PathSum], open_: Floats) -> Iterator[Slopes]:
    """Gradients in pieces; zero where an effect is not identified."""
    p = len(weights.model.names)
    size = max(1, PIECE // (p * p))
    for start in range(0, len(effects), size):
        piece = range(start, min(start + size, len(effects)))
        yield Slopes.in_coefficients(
            np.stack([np.zeros((p, p)) if open_[i] else weights.gradient(effects[i]) for i in piece])
        )


def _cautions(fit: Fit, effect: PathSum, error: float, method: str) -> list[str]:
    """What to know before trusting a number."""
    notes = [NOTHING] if np.isnan(error) else []
    if method == ABSENT:
        return ["the graph has no such path"]
    edges = [e for _, legs in effect.forms[0] for one in legs for e in edges_of(fit.graph, one)]
    heads = {v for _, v in edges}
    troubled = dict.fromkeys(
        r.code if r.code != "converged" else "several peaks"
        for r in fit.districts
        if r.warning and heads & set(r.members)
    )
    if not troubled and not fit.converged and not any(r.warning for r in fit.districts):
        troubled = {fit.status.code: None}
    return notes + [f"{code}, see fit.status" for code in troubled]


def _row(u: str, v: str, kind: str, found: Measured, i: int, ratio: float) -> Effect:
    value, error = float(found.values[i]), float(found.errors[i])
    z = value / error if error else float("nan")
    low, high = map(float, found.intervals[i])
    method = found.settled[i].method if found.settled[i].identified else ""
    return Effect(u, v, kind, value, error, z, two_sided(z), low, high, float(value * ratio), method, found.notes[i])
