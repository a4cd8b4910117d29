"""A hidden cause so many times as strong as an observed one: what it would do to an effect (Cinelli, Hazlett 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from halftrek.errors import InputError, QueryError
from halftrek.estimation import Fitted
from halftrek.graphs import did_you_mean
from halftrek.graphs.hidden import refuse_hidden
from halftrek.notes import Note, note
from halftrek.partial.assumptions.checks import correlation_limit
from halftrek.partial.assumptions.strength import like_shares
from halftrek.partial.varied.listed import Listed
from halftrek.partial.varied.omitted import Regression, regression_behind
from halftrek.queries import DirectEffect, TotalEffect, check_query
from halftrek.results.given.reading import asked_of
from halftrek.trust.omitted import adjusted_interval, least_squares_notes
from halftrek.upward import Faces


@dataclass(frozen=True)
class BenchmarkBound(Faces):
    """A hidden cause that is ``times`` as strong as ``covariate`` towards the cause (``times_effect`` the effect).

    ``share_cause`` and ``share_effect`` are what it explains: of the cause given the other covariates, and of the
    effect given the cause and these. The effect is then between ``low`` and ``high``. ``estimate``, ``se``, ``t``,
    ``ci_low`` and ``ci_high`` are those of the regression with the hidden cause in it, where that takes the estimate
    towards zero. All nan where nothing can be so strong.
    """

    covariate: str
    times: float
    times_effect: float
    share_cause: float
    share_effect: float
    correlation: float
    low: float
    high: float
    estimate: float
    se: float
    t: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark(Listed):
    """Bounds of an effect by observed covariates, beside the regression that it comes from.

    ``rv`` is the share that a hidden cause has to explain of cause and effect to take the estimate to zero, ``rv_lost``
    to let the interval hold zero.
    """

    row: ClassVar = BenchmarkBound

    cause: str
    effect: str
    adjusted_for: tuple[str, ...]
    estimate: float
    se: float
    df: float
    partial_r2: float
    rv: float
    rv_lost: float
    level: float
    rows: tuple[BenchmarkBound, ...]
    notes: tuple[Note, ...] = ()
    library: str = ""

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def benchmark_of(
    fitted: Fitted,
    cause: str,
    effect: str,
    covariates: str | Sequence[str],
    *,
    times: float | Sequence[float] = (1.0, 2.0, 3.0),
    times_effect: float | Sequence[float] | None = None,
    level: float = 0.95,
) -> Benchmark:
    """Each covariate with each strength."""
    refuse_hidden(fitted.graph, "benchmark()")
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {level!r}")
    found = _regression(fitted, cause, effect)
    chosen = [covariates] if isinstance(covariates, str) else list(covariates)
    for z in chosen:
        if z not in found.others:
            known = ", ".join(found.others) or "none"
            raise InputError(
                f"{z!r} is no covariate of {cause} and {effect}, so nothing can be as strong as it: adjusted for are "
                f"{known}.{did_you_mean(z, found.others)}"
            )
    first = _strengths(times, "times")
    second = first if times_effect is None else _strengths(times_effect, "times_effect")
    if len(first) != len(second):
        raise InputError("times and times_effect must be of one length: they are taken two by two")
    pairs = list(zip(first, second, strict=True))
    rows = [_bound(fitted, found, z, *pair, level) for z in chosen for pair in pairs]
    beyond = [note("shares beyond", times=row.times, covariate=row.covariate) for row in rows if np.isnan(row.low)]
    return Benchmark(
        cause, effect, found.others, found.slope, found.se, found.df, found.correlation**2, found.value(),
        found.lost(level)[1], level, tuple(rows), (*least_squares_notes(fitted), *beyond), fitted.frame,
    )  # fmt: skip


def _regression(fitted: Fitted, cause: str, effect: str) -> Regression:
    """The regression that gives the effect, or the arrow; QueryError if none does."""
    for query in (TotalEffect(cause, effect), DirectEffect(cause, effect)):
        check_query(query, fitted.graph)
        found = regression_behind(fitted, query)
        if found is not None and asked_of(fitted.graph, query)[1].identified:
            return found
    raise QueryError(
        f"benchmark: in this graph the effect of {cause} on {effect} is no slope in the regression of {effect} on "
        f"{cause} and its covariates. For how strong an absent edge must be, ask fit.robustness('{cause} ~> {effect}')"
    )


def _strengths(given: float | Sequence[float], what: str) -> tuple[float, ...]:
    found = tuple(float(x) for x in ((given,) if isinstance(given, int | float) else given))
    if not found or not all(np.isfinite(x) and x >= 0.0 for x in found):
        raise InputError(f"{what} are numbers that are not negative, for instance 1 or [1, 2, 3], not {given!r}")
    return found


def _bound(fitted: Fitted, found: Regression, z: str, times: float, effect: float, level: float) -> BenchmarkBound:
    names = fitted.model.names
    others = [v for v in found.others if v != z]
    places = [names.index(v) for v in (found.cause, found.effect, z, *others)]
    with np.errstate(invalid="ignore", divide="ignore"):  # nothing is so strong: said below
        first, second = (float(x) for x in like_shares(fitted.model.cov, places, times, effect))
    if not (0.0 <= first < 1.0 and 0.0 <= second < 1.0):
        nothing = dict.fromkeys(
            ("correlation", "low", "high", "estimate", "se", "t", "ci_low", "ci_high"), float("nan")
        )
        return BenchmarkBound(z, times, effect, first, second, **nothing)
    bias, se = found.bias(first, second), found.adjusted_se(first, second)
    towards = found.slope - float(np.copysign(bias, found.slope))
    low, high = adjusted_interval(towards, se, found.quantile(level))
    return BenchmarkBound(
        z, times, effect, first, second, correlation_limit(first, second), found.slope - bias, found.slope + bias,
        towards, se, towards / se, low, high,
    )  # fmt: skip
