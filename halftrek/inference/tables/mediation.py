"""How much of an effect runs through mediators: direct, indirect, specific indirect effects, proportion mediated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.frames import as_frame
from halftrek.bottom.portable import Portable
from halftrek.errors import QueryError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph, quoted
from halftrek.inference.evidence.evidence import two_sided
from halftrek.inference.evidence.few_valued import few_valued
from halftrek.inference.how import How
from halftrek.inference.tables.effects import Measured, check_ends, columns_of, ends_of, measure
from halftrek.inference.tables.legs import (
    PathSum,
    avoiding,
    between,
    edges_of,
    indirect,
    leg,
    only_through,
    through,
    total,
)
from halftrek.notes import Note, in_words, note
from halftrek.queries import TotalEffect
from halftrek.upward import Faces, Tabled

MOST = 40  # routes through mediators that are listed

Ends = tuple[float, float]


@dataclass(frozen=True)
class Route(Faces):
    """One effect; ``kind`` is total, direct, indirect, specific (these add up to indirect) or through (these overlap).

    nan where there is no number, and ``note`` says why.
    """

    kind: str
    route: str
    est: float
    se: float
    z: float
    p: float
    ci_low: float
    ci_high: float
    note: str = ""


@dataclass(frozen=True)
class Proportion:
    """Indirect over total effect; ``interval`` is of the kind asked for, ``fieller`` right also for a small total.

    Fieller's set of ratios is all numbers, ``(-inf, inf)``, where the total's own interval holds zero.
    """

    value: float
    se: float
    interval: Ends
    fieller: Ends
    quantile: float = 0.0  # standard errors from the middle of the interval to its ends


@dataclass(frozen=True, eq=False, repr=False)
class Mediation(Portable, Tabled):
    """A total effect split at mediators; ``proportion`` is None where it is not identified.

    ``asked`` has the paths behind each row.
    """

    cause: str
    effect: str
    mediators: tuple[str, ...]
    rows: tuple[Route, ...]
    proportion: Proportion | None
    notes: tuple[Note, ...] = ()
    level: float = 0.95
    library: str = ""
    asked: tuple[PathSum, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before trusting the numbers, in sentences."""
        return in_words(self.notes)

    @property
    def total(self) -> Route:
        """The effect along all directed paths."""
        return self._only("total")

    @property
    def direct(self) -> Route:
        """The effect along paths that visit no mediator."""
        return self._only("direct")

    @property
    def indirect(self) -> Route:
        """The effect along paths that visit a mediator."""
        return self._only("indirect")

    @property
    def specific(self) -> tuple[Route, ...]:
        """The indirect effect by the mediators visited; these add up to it."""
        return tuple(row for row in self.rows if row.kind == "specific")

    @property
    def through(self) -> tuple[Route, ...]:
        """The effects along all paths that visit one mediator, whatever else they visit."""
        return tuple(row for row in self.rows if row.kind == "through")

    def frame(self) -> Any:
        """A tidy frame: kind route est se z p ci_low ci_high note; the last row is the proportion mediated."""
        return as_frame(columns_of((*self.rows, self._proportion_row()), Route), self.library)

    to_frame = frame

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    def _only(self, kind: str) -> Route:
        return next(row for row in self.rows if row.kind == kind)

    def _proportion_row(self) -> Route:
        nan, share = float("nan"), self.proportion
        if share is None:
            note = self.indirect.note if np.isnan(self.indirect.est) else self.total.note
            return Route("proportion", "indirect / total", nan, nan, nan, nan, nan, nan, note)
        z = share.value / share.se if share.se else nan
        p = float(two_sided(np.array(z), share.quantile, self.level))
        return Route("proportion", "indirect / total", share.value, share.se, z, p, *share.interval)


def mediate(fit: Fitted, cause: str, effect: str, how: How, *, mediators: Sequence[str] | None = None) -> Mediation:
    """Split the total effect into what visits the mediators (left out: every variable in between) and the rest."""
    graph = fit.graph
    check_ends(graph, cause, effect)
    chosen = _mediators(graph, cause, effect, mediators)
    asked: list[tuple[str, str, PathSum]] = [
        ("total", _joined(" ~> ", (cause, effect)), total(graph, cause, effect)),
        ("direct", _direct_name(graph, cause, effect, chosen), avoiding(graph, cause, effect, chosen)),
        ("indirect", f"by way of {', '.join(map(quoted, chosen))}", indirect(graph, cause, effect, chosen)),
    ]
    routes, complete = _routes(graph, cause, effect, chosen)
    if len(routes) > 1:
        if complete:
            asked += [("specific", _route(graph, r, chosen), only_through(graph, r, chosen)) for r in routes]
        if not complete or any(len(r) > 3 for r in routes):
            stations = [(cause, m, effect) for m in chosen]
            asked += [("through", _joined(" ~> ", s), through(graph, s)) for s in stations]
    parts = tuple(part for *_, part in asked)
    found = measure(fit, parts, how)
    rows = tuple(_row(kind, name, found, i) for i, (kind, name, _) in enumerate(asked))
    share = _proportion(found.values[[2, 0]], found, how)
    notes = (*_warnings(rows, share, how, complete), *few_valued(fit, TotalEffect(cause, effect)))
    return Mediation(cause, effect, chosen, rows, share, notes, how.level, fit.frame, parts)


def _mediators(graph: Graph, cause: str, effect: str, given: Sequence[str] | None) -> tuple[str, ...]:
    inside = between(graph, cause, effect)
    wanted = (given,) if isinstance(given, str) else given
    for v in wanted or ():
        if v not in inside:
            known = "" if v in graph else " (the graph has no such variable)"
            raise QueryError(
                f"{v!r} lies on no directed path from {cause!r} to {effect!r}{known}, so it mediates nothing; "
                f"possible mediators: {', '.join(sorted(inside)) or 'none'}"
            )
    if not inside or (wanted is not None and not wanted):
        raise QueryError(f"there is no mediator between {cause!r} and {effect!r}; for the effect ask fit.effect()")
    return tuple(v for v in graph.topological_order if v in (inside if wanted is None else set(wanted)))


def _routes(graph: Graph, cause: str, effect: str, chosen: tuple[str, ...]) -> tuple[list[tuple[str, ...]], bool]:
    """Orders in which directed paths visit mediators, shortest first, and whether these are all."""
    onward = {
        u: [v for v in (*chosen, effect) if v != u and edges_of(graph, leg(graph, u, v, chosen))]
        for u in (cause, *chosen)
    }
    found: list[tuple[str, ...]] = []
    waiting: list[tuple[str, ...]] = [(cause,)]
    for path in waiting:
        for v in onward[path[-1]]:
            if v == effect and len(path) > 1:
                found.append((*path, v))
            elif v != effect:
                waiting.append((*path, v))
        if len(found) > MOST or len(waiting) > 50 * MOST:
            return found, False
    return found, True


def _proportion(values: Floats, found: Measured, how: How) -> Proportion | None:
    """Indirect over total with both intervals; the quadratic is Fieller's: ratios that a test at this level keeps."""
    part, whole = map(float, values)
    if np.isnan(values).any() or whole == 0.0:
        return None
    ratio = part / whole
    weights = np.zeros((1, len(found.values)))
    weights[0, [2, 0]] = 1.0 / whole, -ratio / whole
    error, reach = float(found.factor.errors(weights)[0]), float(found.factor.reaches(weights)[0])
    quantile = reach / error if error else how.quantile
    ratios = None
    if found.draws is not None:
        ratios = found.draws[:, 2] / found.draws[:, 0]
        error = float(ratios.std(ddof=1))
    pick = np.zeros((2, len(found.values)))
    pick[0, 2] = pick[1, 0] = 1.0
    spread = quantile**2 * found.factor.covariance(pick)
    a, b, c = whole**2 - spread[1, 1], part * whole - spread[0, 1], part**2 - spread[0, 0]
    fieller = (float("-inf"), float("inf"))
    if a > 0.0:
        root = float(np.sqrt(max(b * b - a * c, 0.0)))
        fieller = (float((b - root) / a), float((b + root) / a))
    return Proportion(
        ratio, error, ends_of(ratio, reach, ratios, how), fieller, 0.0 if ratios is not None else quantile
    )


def _warnings(rows: tuple[Route, ...], share: Proportion | None, how: How, complete: bool) -> tuple[Note, ...]:
    whole, rest, part = rows[:3]
    notes = []
    if share is not None:
        if whole.ci_low <= 0.0 <= whole.ci_high:
            notes.append(note("total may be zero", percent=100 * how.level))
        if rest.est * part.est < 0.0:
            notes.append(note("opposite signs"))
    if not complete:
        notes.append(note("many routes", most=MOST))
    return tuple(notes)


def _row(kind: str, name: str, found: Measured, i: int) -> Route:
    value, error = float(found.values[i]), float(found.errors[i])
    low, high = map(float, found.intervals[i])
    return Route(kind, name, value, error, *found.test(i), low, high, found.reason(i))


def _direct_name(graph: Graph, cause: str, effect: str, chosen: tuple[str, ...]) -> str:
    if set(chosen) == between(graph, cause, effect):
        return _joined(" -> ", (cause, effect))
    return f"around {', '.join(map(quoted, chosen))}"


def _route(graph: Graph, stations: tuple[str, ...], chosen: tuple[str, ...]) -> str:
    """``x -> m ~> y``: an arrow where the leg is an edge, a wave where it may visit variables that are no mediators."""
    text = quoted(stations[0])
    for u, v in pairwise(stations):
        arrow = "->" if edges_of(graph, leg(graph, u, v, chosen)) == [(u, v)] else "~>"
        text += f" {arrow} {quoted(v)}"
    return text


def _joined(arrow: str, names: Sequence[str]) -> str:
    return arrow.join(map(quoted, names))
