"""Variances, covariances and quantiles of what is seen where categories act: of mixtures, by exact sums.

What is asked about is a sum of plain variables and of columns in categories, each of which is
``v_1 + sum_k (v_{k+1} - v_k) 1{y* > tau_k}``. So that second moments are those of normal variables over boxes (Tallis
1961), means over boxes, and probabilities. A covariance is ``(Var[a + b] - Var[a - b]) / 4``. A quantile is where the
distribution function, a sum over the ways in which categories come out, passes its level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist

import numpy as np

from halftrek.errors import QueryError
from halftrek.layer import Margin
from halftrek.models import CGLSCM
from halftrek.queries.kinds.terms import Quantile, Statistic
from halftrek.queries.kinds.variants import Case, Event, Sum, single
from halftrek.queries.numbers import checked_number, checked_spread
from halftrek.queries.observed.translation import Translation
from halftrek.queries.observed.worlds import Worlds, worlds_of

FAR = 40.0  # standard deviations from the mean within which quantiles are looked for
NEAR = 1e-3  # the first step of a secant
EXACT = 1e-11
STEPS = 12

Margins = Mapping[str, Margin]


@dataclass(frozen=True, eq=False)
class _Seen:
    """What a sum is made of: a constant, plain variables, and events with what each adds."""

    constant: float
    plain: Sum | None
    steps: tuple[tuple[float, Event], ...]


def spread_value(term: Statistic, model: CGLSCM, margins: Margins, t: Translation) -> float:
    """A variance, a standard deviation, a covariance or a correlation."""
    case = t.case(term.case)
    if term.kind in ("Var", "SD"):
        found = _variance(term, term.of[0], case, (model, margins), t)
        return float(checked_spread(np.array(found if term.kind == "Var" else sqrt(max(found, 0.0))), term))
    one, other = term.of
    both, apart = (
        _variance(term, Sum((*one.parts, *((sign * w, v) for w, v in other.parts))), case, (model, margins), t)
        for sign in (1.0, -1.0)
    )
    found = (both - apart) / 4.0
    if term.kind == "Corr":
        found /= sqrt(
            _variance(term, one, case, (model, margins), t) * _variance(term, other, case, (model, margins), t)
        )
    return float(checked_number(np.array(found), term))


def quantile_value(term: Quantile, model: CGLSCM, margins: Margins, t: Translation) -> float:
    """Where the distribution function of plain variables passes its level."""
    from scipy.optimize import brentq

    case = t.case(term.case)
    of = case.placed_sum(t.sum(term.of))
    for _, v in term.of.parts:
        if v.variable in margins:
            kind = "in categories" if margins[v.variable].cut else "ranked"
            raise QueryError(f"{term}: {v.variable} is {kind}, and its quantiles go in steps; ask P({v} > ... | ...)")
    worlds = worlds_of(tuple(v for _, v in of.parts), case, model, margins)
    known = case.in_worlds.events
    mean, square = worlds.moments(of, known)
    sd = sqrt(max(square - mean**2, 0.0))
    if sd == 0.0:
        return mean
    whole = worlds.chance(known)

    def below(x: float) -> float:
        return worlds.chance((*known, Event(of, high=mean + sd * x))) / whole - term.level

    near = _secant(below, NormalDist().inv_cdf(term.level))
    return mean + sd * (float(brentq(below, -FAR, FAR, xtol=EXACT, rtol=EXACT)) if near is None else near)


def _secant(of: Callable[[float], float], start: float) -> float | None:
    """Where a rising function is zero, in few steps from near by; None where these lead elsewhere."""
    x, step = start, NEAR
    here = of(x)
    slope = (of(x + step) - here) / step
    for _ in range(STEPS):
        if not slope > 0.0 or not abs(here) < slope:
            return None
        move = -here / slope
        if abs(move) < EXACT:
            return x + move
        there = of(x + move)
        slope, x, here = (there - here) / move, x + move, there
    return None


def _variance(term: Statistic, of: Sum, case: Case, known: tuple[CGLSCM, Margins], t: Translation) -> float:
    model, margins = known
    parts = _parts(term, of, case, margins, t)
    asked = [v for event in parts.steps for _, v in event[1].of.parts]
    asked += [] if parts.plain is None else [v for _, v in parts.plain.parts]
    worlds = worlds_of(tuple(asked), case, model, margins)
    first, second = _moments(parts, worlds, case.in_worlds.events)
    return second - first**2


def _parts(term: Statistic, of: Sum, case: Case, margins: Margins, t: Translation) -> _Seen:
    """A sum on the scale of the columns, as numbers, plain variables and events."""
    constant, plain, steps = 0.0, [], []
    for weight, variant in of.parts:
        margin = margins.get(variant.variable)
        if margin is None:
            plain.append((weight, case.placed(t.variant(variant))))
            continue
        if not margin.cut:
            raise QueryError(
                f"{term}: {variant.variable} is ranked, and how it spreads is not known; ask P({variant} > 0)"
            )
        constant += weight * float(margin.values[0])
        for value, step in zip(margin.values[:-1].tolist(), np.diff(margin.values).tolist(), strict=True):
            event = t.event(Event(single(variant), low=value))
            steps.append((weight * step, replace(event, of=case.placed_sum(event.of))))
    return _Seen(constant, Sum(tuple(plain)) if plain else None, tuple(steps))


def _moments(parts: _Seen, worlds: Worlds, known: tuple[Event, ...]) -> tuple[float, float]:
    """Mean and mean square of a sum less its constant, given events."""
    whole = worlds.chance(known)
    if not whole > 0.0:
        raise QueryError("what was seen next to never occurs in this model")
    first = second = 0.0
    if parts.plain is not None:
        first, second = worlds.moments(parts.plain, known)
    shares = [worlds.chance((*known, event)) / whole for _, event in parts.steps]
    total, square = 0.0, 0.0
    for k, ((weight, event), share) in enumerate(zip(parts.steps, shares, strict=True)):
        total += weight * share
        square += weight**2 * share
        if parts.plain is not None and share > 0.0:
            square += 2.0 * weight * share * worlds.moments(parts.plain, (*known, event))[0]
        for other, more in parts.steps[:k]:
            square += 2.0 * weight * other * worlds.chance((*known, event, more)) / whole
    return first + total, second + square
