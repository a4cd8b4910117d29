"""Questions that are functions of one effect alone: the set of the effect first, then what the question makes of it.

In linear models ``y_{x=a} = y + [x ~> y] (a - x)``. So means, variances, quantiles and probabilities after one
intervention, and the same given what was seen, are first- and second-degree polynomials in that effect, with numbers of
the covariance alone, in all models. The effect is a quotient, the easiest to bound; the rest has one coordinate, and is
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import isfinite

import numpy as np
from flint import fmpq

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.compiled import CompiledForm
from halftrek.partial.exact.conditions import All, Atom, Claim, Some
from halftrek.partial.exact.questions import Form, total_effect
from halftrek.partial.exact.rational import Rational, Ring
from halftrek.partial.exact.tower import Tower
from halftrek.partial.sets.line import Line, set_along
from halftrek.partial.sets.pieces import Piece, Reached
from halftrek.queries import Query
from halftrek.queries.checks import variables_of

_SAME = 1e-9  # share by which an effect may differ from the end of its set and be that end
_FAR = 3e4  # units: models so far out have few digits
_ALIKE = 5e-7  # by which an answer may miss a value and show it
_TRIES = 12  # points at which the polynomials in the effect are told


@dataclass(frozen=True, eq=False)
class Through:
    """A question as a function of an effect: ``effect`` on the fibre, ``form`` in the effect as the one coordinate."""

    effect: Form
    form: Form


def through_of(query: Query, form: Form, tower: Tower) -> Through | None:
    """The effect that a question is a function of; None if there is none, or if it is one itself."""
    graph = tower.plan.graph
    names = [v for v in variables_of(query) if v in tower.plan.names]
    for cause, outcome in permutations(names, 2):
        if cause not in graph.ancestors(outcome):
            continue
        effect = total_effect(tower, cause, outcome)
        if not effect.coordinates or not form.coordinates <= effect.coordinates:
            continue
        main = _in_terms_of(form.main, effect)
        spread = None if form.spread is None else _in_terms_of(form.spread, effect)
        if main is None or (form.spread is not None and spread is None):
            continue
        if form.spread is None and main[2] == 0:
            return None
        ring = Ring(1)
        inner = Form(form.shape, _polynomial(ring, main), factor=form.factor, outer=form.outer)
        if spread is not None:
            inner = Form(form.shape, inner.main, _polynomial(ring, spread), form.factor, form.outer)
        return Through(Form("quotient", effect), inner)
    return None


def _polynomial(ring: Ring, numbers: Sequence[fmpq]) -> Rational:
    t = ring.coordinate(0)
    return ring.number(numbers[0]) + t.times(numbers[1]) + (t * t).times(numbers[2])


def _in_terms_of(value: Rational, effect: Rational) -> tuple[fmpq, fmpq, fmpq] | None:
    """``a + b effect + c effect²``, told from three points and shown for all; None if it is no such polynomial."""
    known: list[tuple[fmpq, fmpq]] = []
    for k in range(_TRIES):
        place = [fmpq(1 + (k * (3 + 2 * j)) % 7 + k, 3 + j + k) for j in range(max(value.ring.count, 1))]
        below = effect.bottom(*place), value.bottom(*place)
        if below[0] == 0 or below[1] == 0:
            continue
        t = effect.top(*place) / below[0]
        if all(t != other for other, _ in known):
            known.append((t, value.top(*place) / below[1]))
        if len(known) == 3:
            break
    else:
        return None
    (t0, y0), (t1, y1), (t2, y2) = known
    first, second = (y1 - y0) / (t1 - t0), (y2 - y1) / (t2 - t1)
    c = (second - first) / (t2 - t0)
    b = first - c * (t0 + t1)
    a = y0 - b * t0 - c * t0 * t0
    gap = value - value.ring.number(a) - effect.times(b) - (effect * effect).times(c)
    return (a, b, c) if gap.is_zero else None


def through_pieces(
    through: Through, pieces: Sequence[Piece], place: Callable[[float, float], Floats | None]
) -> list[Piece]:
    """The set of the question from that of the effect; ``place``: where the effect is between two numbers."""
    ring = through.form.main.ring
    t = ring.coordinate(0)
    parts = []
    for piece in pieces:
        ends = []
        if isfinite(piece.low.value):
            ends.append(Atom((ring.number(piece.low.value) - t).top))
        if isfinite(piece.high.value):
            ends.append(Atom((t - ring.number(piece.high.value)).top))
        parts.append(All(tuple(ends)))
    found = set_along(through.form, [Claim(Some(tuple(parts)), "the effect")], Line.axis(1, 0)).pieces
    known = [end for piece in pieces for end in (piece.low, piece.high)]
    compiled = CompiledForm.of(through.form, [0])

    def value(t: float) -> float:
        return through.form.outward(float(compiled.both(np.array([t]))[0]))

    return [Piece(_back(p.low, known, place, value), _back(p.high, known, place, value)) for p in found]


def _back(
    end: Reached,
    known: Sequence[Reached],
    place: Callable[[float, float], Floats | None],
    value: Callable[[float], float],
) -> Reached:
    """An end in the effect as an end on the fibre; ``value``: the question at an effect."""
    if end.u is None:
        return Reached(end.value, None, False)
    t = float(end.u[0])
    for other in known:
        if isfinite(other.value) and abs(t - other.value) <= _SAME * max(1.0, abs(other.value)):
            return Reached(end.value, other.u, end.attained and other.attained, other.binding, other.toward)
    if end.attained:
        near = _SAME * max(1.0, abs(t))
        u = place(t - near, t + near)
        beside = None if u is None or float(np.abs(u).max()) < _FAR else _beside(end.value, t, place, value)
        return Reached(end.value, u, True) if beside is None else Reached(end.value, beside, False)
    low, high = sorted((t, 4.0 * t))
    return Reached(end.value, place(low, high), False)


def _beside(
    wanted: float, t: float, place: Callable[[float, float], Floats | None], value: Callable[[float], float]
) -> Floats | None:
    """Where the effect is near t and the question nearly as there, not far out: at t itself a weight may be a pole."""
    for share in (1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
        for side in (1.0, -1.0):
            two = [t + side * share * part * max(1.0, abs(t)) for part in (0.5, 1.0)]
            if max(abs(value(x) - wanted) for x in two) <= _ALIKE * max(1.0, abs(wanted)):
                found = place(min(two), max(two))
                if found is not None and float(np.abs(found).max()) < _FAR:
                    return found
    return None
