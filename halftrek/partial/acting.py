"""Bounds where a category acts: one edge is held at each value that is assumed possible, and all else fitted again.

With the correlation of two errors, or the weight of a leak, held at a number the graph determines the answer, and the
likelihood of the rows has one top. The set is what answers there are between the two limits: ``{Q(r) : low <= r <=
high}``. The answer is looked at in several places and followed to its extremes, so that the ends are searched, not
proved. That rows fit some values better than others is not used: it often rests on the shape of the errors alone. Where
it does not, and the graph with the edge left free determines the answer, the bounds hold, may be too wide, and say so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from halftrek import identification
from halftrek.bottom.arrays import Floats
from halftrek.bottom.progress import late_bar
from halftrek.data.layers import all_rows
from halftrek.errors import InputError, NotIdentifiedError
from halftrek.estimation import Fitted
from halftrek.estimation.acts.fit import Acting, fit_acting
from halftrek.estimation.acts.places import Held
from halftrek.graphs import Edge, Graph
from halftrek.identification import Verdict
from halftrek.inference import How
from halftrek.inference.evidence.layered import acting_notes
from halftrek.inference.information.robust import rows_needed
from halftrek.inference.standard_errors.acting import acting_of, value_where_acting
from halftrek.notes import Note, note
from halftrek.partial.assumptions import Assumption, Weight, Within, relaxed
from halftrek.partial.assumptions.quantities import ErrorCorrelation, ErrorCovariance
from halftrek.partial.chance.interval import moved_end, stoye_factor
from halftrek.partial.chance.likelihood import range_of
from halftrek.partial.varied.engine.edges import held
from halftrek.queries import Distribution, Query
from halftrek.queries.observed.acting import acting_scale
from halftrek.results.sets.bounds import Bounds
from halftrek.trust.judge import judge_acting

LOOKED_AT = 9  # values of the edge
CLOSE = 1e-5  # of the range, to which an extreme between them is followed
UNTRIED = 0.1234567  # a value of no meaning, at which it is decided whether holding the edge gives an answer


def bounds_where_acting(fit: Fitted, query: Query, assumed: tuple[Assumption, ...], level: float) -> Bounds:
    """All answers for values of one edge between two limits, and the interval around them."""
    if acting_of(fit).missing:
        raise InputError(
            "bounds where a category acts need rows without missing values: fit with missing='drop', or fill them in"
        )
    limit = _limit(fit, assumed)
    family = _Family(fit, relaxed(fit.graph, assumed), query, limit)
    verdict = family.verdict
    ends = family.ends()
    there, how = [family.there(one) for one in ends], How(interval=None, level=level)
    judged = [judge_acting(at, query, one.answer, verdict, how) for at, one in zip(there, ends, strict=True)]
    low, high = (one.answer for one in ends)
    errors = [float(j.estimate.errors[0]) for j in judged]
    said = {n.code: n for j in judged for n in j.notes}
    interval, notes = range_of(query), [*family.beside, *acting_notes(fit, query), *said.values()]
    if np.isfinite(errors).all():
        scale, c = acting_scale(query, acting_of(fit).margins), stoye_factor((low, high), errors, level)
        outer = (moved_end(low, -1, c * errors[0], scale), moved_end(high, 1, c * errors[1], scale))
        interval = (max(outer[0], interval[0]), min(outer[1], interval[1]))
        notes.append(note("stoye set", quantile=c))
    else:
        notes.append(note("set end lost", side="lower" if np.isnan(errors[0]) else "upper"))
    binding = [(str(limit),) if one.value in (limit.low, limit.high) else () for one in ends]
    return Bounds(
        low=low, high=high, pieces=((low, high),), question=query, assumptions=tuple(map(str, assumed)),
        assumed=tuple(a.words for a in assumed), interval_pieces=(interval,), level=level, kind="stoye",
        certificate="searched", binds_low=binding[0], binds_high=binding[1], attained_low=True, attained_high=True,
        model_low=there[0].model, model_high=there[1].model, refuted=None,
        notes=tuple(notes), n=fit.n, library=fit.frame,
    )  # fmt: skip


def _limit(fit: Fitted, assumed: tuple[Assumption, ...]) -> Within:
    """What is assumed, if it is about one edge that can be held; others raise."""
    ask = 'say between which numbers one edge lies, as in assume="|corr(x <-> y)| <= 0.3" or "|z -> y| <= 0.1"'
    limit = assumed[0] if len(assumed) == 1 else None
    if not isinstance(limit, Within):
        raise InputError(f"bounds where a category acts are known under one assumption about one edge: {ask}")
    quantity = limit.quantity
    if not isinstance(quantity, Weight | ErrorCorrelation | ErrorCovariance):
        raise InputError(f"bounds under {limit} are not known where a category acts: {ask}")
    if not (isfinite(limit.low) and isfinite(limit.high)):
        raise InputError(f"bounds where a category acts need two limits, and {limit} has one: {ask}")
    if isinstance(quantity, ErrorCovariance):
        margins = acting_of(fit).margins
        plain = [v for v in (quantity.first, quantity.second) if v not in margins or not margins[v].cut]
        if plain:
            raise InputError(
                f"bounds under a covariance of errors, {limit}, are not known where a category acts and {plain[0]!r} "
                f"is in no categories; say it of the correlation, corr({quantity})"
            )
    if isinstance(quantity, ErrorCorrelation | ErrorCovariance) and max(-limit.low, limit.high) >= 1.0:
        raise InputError(f"{limit} allows errors that determine each other; bounds need limits between -1 and 1")
    return limit


@dataclass(frozen=True, eq=False)
class _At:
    """The fit with the edge held at a value, and its answer."""

    value: float
    acting: Acting
    answer: float


@dataclass(frozen=True, eq=False)
class _Family:
    fit: Fitted
    graph: Graph
    query: Query
    limit: Within
    known: dict[float, _At] = field(default_factory=dict)

    @property
    def edge(self) -> Edge:
        """The edge that is held."""
        quantity = self.limit.quantity
        if isinstance(quantity, Weight):
            return Edge(quantity.cause, "->", quantity.effect)
        assert isinstance(quantity, ErrorCorrelation | ErrorCovariance)
        return Edge(quantity.first, "<->", quantity.second)

    @property
    def verdict(self) -> Verdict:
        """Why the question has an answer once the edge is held; NotIdentifiedError if it has none."""
        if isinstance(self.query, Distribution):
            raise InputError(
                f"bounds of {self.query} are not known where a category acts; ask for E[...] or P(y = 1 | ...)"
            )
        found = identification.identify(held(self.graph, [self.edge], [UNTRIED]), self.query, witness=False)
        if not found.answerable:
            raise NotIdentifiedError(found.explain(), found)
        return found

    @property
    def beside(self) -> list[Note]:
        """What to know where the edge need not be held for an answer."""
        if not identification.identify(self.graph, self.query, witness=False).answerable:
            return []
        return [note("bounds beside an answer", edge=str(self.edge), question=str(self.query))]

    def ends(self) -> tuple[_At, _At]:
        """The smallest and the largest answer: of a few values, and followed to extremes between them."""
        values = np.linspace(self.limit.low, self.limit.high, LOOKED_AT)
        order = np.argsort(np.abs(values - values.mean()), kind="stable")  # outwards, each from its neighbour
        with late_bar("bounds") as advance:
            for done, k in enumerate(order):
                self.at(float(values[k]))
                advance(done + 1, LOOKED_AT)
        answers = np.array([self.known[float(v)].answer for v in values])
        return self._extreme(values, answers, -1.0), self._extreme(values, answers, 1.0)

    def _extreme(self, values: Floats, answers: Floats, side: float) -> _At:
        best = int(np.argmax(side * answers))
        if 0 < best < len(values) - 1:
            from scipy.optimize import minimize_scalar

            around = (float(values[best - 1]), float(values[best + 1]))
            minimize_scalar(
                lambda v: -side * self.at(float(v)).answer, bounds=around, method="bounded",
                options={"xatol": CLOSE * (self.limit.high - self.limit.low)},
            )  # fmt: skip
        return max(self.known.values(), key=lambda one: side * one.answer)

    def at(self, value: float) -> _At:
        """The fit at one value, from the nearest that is known."""
        if value not in self.known:
            near = min(self.known, key=lambda v: abs(v - value), default=None)
            start = None if near is None else self.known[near].acting.theta
            found = self._fitted(value, start, acting_of(self.fit))
            answer = value_where_acting(replace(self.fit, graph=self.graph, acting=found), self.query)
            self.known[value] = _At(value, found, answer)
        return self.known[value]

    def _fitted(self, value: float, start: Floats | None, like: Acting | None) -> Acting:
        source = rows_needed(self.fit, "bounds where a category acts", "fit again")
        rows, margins = all_rows(source), acting_of(self.fit).margins
        e = self.edge
        edge: Held = (e.first, e.kind, e.second, value)
        found = fit_acting(
            self.graph, rows.values, {v: m.kind for v, m in margins.items()}, rows.weights, rows.cluster,
            {v: m.labels for v, m in margins.items() if m.labels}, sampling=source.sampling is not None, start=start,
            like=like, held=(edge,),
        )  # fmt: skip
        if not found.converged:
            raise InputError(f"no best model was reached where {e} is {value:g}; assume a narrower range")
        return found

    def there(self, one: _At) -> Fitted:
        """A fit with the edge held, whose parameters say how they vary."""
        acting = self._fitted(one.value, one.acting.theta, None)
        model, _ = acting.at(self.graph, acting.theta)
        return replace(self.fit, graph=self.graph, model=model, acting=acting, loglik=acting.loglik)
