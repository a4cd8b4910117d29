"""The set along one line on the fibre, exactly: between roots of polynomials nothing changes.

The line is cut at all roots of the polynomials in claims, at poles, and where the answer turns. On each stretch between
two cuts the claims hold everywhere or nowhere, which one rational point tells, and the answer is monotone, so that its
values there are all those between its limits at the two cuts. Isolated places where claims hold are looked at by
themselves. Nothing is searched: the result is proved as far as the roots are isolated, to 160 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

import numpy as np
from flint import arb, ctx, fmpq, fmpz

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.conditions import Claim
from halftrek.partial.exact.curve import PRECISION, CurveClaim, CurveForm, real_roots
from halftrek.partial.exact.questions import Form
from halftrek.partial.sets.pieces import Piece, Reached, united

_ALIKE = 1e-12  # share by which two answers differ that are one


@dataclass(frozen=True, eq=False)
class Line:
    """``start + s step`` in the coordinates of the tower."""

    start: tuple[fmpq, ...]
    step: tuple[fmpq, ...]

    @staticmethod
    def axis(count: int, k: int) -> Line:
        """One coordinate, the others nothing."""
        return Line((fmpq(0),) * count, tuple(fmpq(int(i == k)) for i in range(count)))

    def point(self, s: arb) -> Floats:
        """Where the line is at s; in many digits, for a line may come from far away."""
        before = ctx.prec
        ctx.prec = PRECISION
        try:
            return np.array([float((arb(a) + s * arb(b)).mid()) for a, b in zip(self.start, self.step, strict=True)])
        finally:
            ctx.prec = before


@dataclass(frozen=True, eq=False)
class _Cut:
    """A place where something changes: None for the two ends at infinity, -1 and 1 in ``side``."""

    root: arb | None
    side: int = 0
    reasons: tuple[object, ...] = ()


@dataclass(frozen=True, eq=False)
class Along:
    """The set along a line, and the highest degree of a polynomial whose roots it was cut at."""

    pieces: list[Piece]
    degree: int


def line_pieces(form: Form, claims: Sequence[Claim], line: Line) -> list[Piece]:
    """All values of a question on a line where the claims hold, as pieces."""
    return set_along(form, claims, line).pieces


def set_along(form: Form, claims: Sequence[Claim], line: Line) -> Along:
    """The same, with how it was found."""
    curve = CurveForm.of(form, line.start, line.step)
    held = [CurveClaim.of(claim, line.start, line.step) for claim in claims]
    cuts = _cuts(curve, held)
    inside = _points_inside(cuts)
    feasible = [all(claim.holds(x) for claim in held) for x in inside]
    pieces = []
    for k, x in enumerate(inside):
        if feasible[k]:
            ends = [_end(curve, cuts[k + side], x, line, binds=not _open_beyond(feasible, k, side)) for side in (0, 1)]
            pieces.append(Piece(*sorted(ends, key=lambda end: end.value)))
    for k, cut in enumerate(cuts):
        alone = cut.root is not None and not feasible[k - 1] and not feasible[k]
        if alone and cut.root is not None and all(claim.holds_at_root(cut.root) for claim in held):
            end = _end(curve, cut, inside[k], line, binds=True)
            if isfinite(end.value):
                pieces.append(Piece(end, end))
    polynomials = [*curve.turning, *(p for claim in held for p in claim.polynomials.values())]
    return Along(united(pieces), max((p.degree() for p in polynomials), default=0))


def places_on_line(claims: Sequence[Claim], line: Line) -> list[fmpq]:
    """A place inside each stretch of a line on which the claims hold."""
    held = [CurveClaim.of(claim, line.start, line.step) for claim in claims]
    return [x for x in _points_inside(_cuts(None, held)) if all(claim.holds(x) for claim in held)]


def place_on_line(claims: Sequence[Claim], line: Line, roots: Sequence[arb] | None = None) -> float | None:
    """A place on a line where the claims hold, None if there is none; ``roots``: the only places that come into it."""
    held = [CurveClaim.of(claim, line.start, line.step) for claim in claims]
    if roots is None:
        cuts = _cuts(None, held)
        for x in _points_inside(cuts):
            if all(claim.holds(x) for claim in held):
                return as_float(x)
        roots = [cut.root for cut in cuts if cut.root is not None]
    for root in roots:
        if all(claim.holds_at_root(root) for claim in held):
            return float(root.mid())
    return None


def _cuts(curve: CurveForm | None, held: Sequence[CurveClaim]) -> list[_Cut]:
    """All places where something changes, in order, the two infinite ones at its ends."""
    found: list[tuple[arb, object | None]] = []
    if curve is not None:
        found += [(root, None) for polynomial in curve.turning for root in real_roots(polynomial)]
    for claim in held:
        for polynomial in claim.polynomials.values():
            found += [(root, claim.claim.reason) for root in real_roots(polynomial)]
        found += [(root, None) for pole in claim.poles for root in real_roots(pole)]  # there it says nothing
    found.sort(key=lambda one: float(one[0].mid()))
    merged: list[_Cut] = []
    for root, reason in found:
        reasons = () if reason is None else (reason,)
        if merged and merged[-1].root is not None and _same(merged[-1].root, root):
            last = merged[-1]
            merged[-1] = _Cut(last.root, 0, tuple(dict.fromkeys((*last.reasons, *reasons))))
        else:
            merged.append(_Cut(root, 0, reasons))
    return [_Cut(None, -1), *merged, _Cut(None, 1)]


def as_float(value: fmpq) -> float:
    """The nearest float."""
    return float(arb(value).mid())


def _same(one: arb, other: arb) -> bool:
    return bool(one.overlaps(other))


def _points_inside(cuts: Sequence[_Cut]) -> list[fmpq]:
    """A rational number strictly between each two neighbours."""
    ends = [None if cut.root is None else as_rational(cut.root) for cut in cuts]
    return [number_between(left, right) for left, right in pairwise(ends)]


def number_between(left: fmpq | None, right: fmpq | None) -> fmpq:
    """A number strictly between two others, None for an open end: of few digits, which makes all that follows quick."""
    if left is None:
        return fmpq(0) if right is None else fmpq(right.floor() - 1)
    if right is None:
        return fmpq(left.ceil() + 1)
    middle, room = (left + right) / 2, right - left
    if room <= 0:  # roots that are one to all digits
        return middle
    power = max(0, int(room.q.bit_length()) - int(room.p.bit_length()) + 3)  # 2^-power is below a quarter of the room
    whole = fmpz(2) ** power
    return fmpq((middle * whole + fmpq(1, 2)).floor(), whole)


def as_rational(root: arb) -> fmpq:
    """The middle of a ball."""
    digits, power = root.mid().man_exp()
    return fmpq(digits) * fmpq(2) ** int(power) if power >= 0 else fmpq(digits, fmpz(2) ** int(-power))


def _open_beyond(feasible: Sequence[bool], k: int, side: int) -> bool:
    """True if the stretch on the other side of an end is feasible too."""
    other = k - 1 if side == 0 else k + 1
    return 0 <= other < len(feasible) and feasible[other]


def _end(curve: CurveForm, cut: _Cut, inside: fmpq, line: Line, *, binds: bool) -> Reached:
    """The limit of the answer at a cut, and a place where it is nearly reached."""
    inner = curve.limit(cut.side if cut.root is None else cut.root, inside)
    value = curve.form.outward(inner)
    if cut.root is not None:
        attained = isfinite(inner)
        if attained and curve.is_jump(cut.root):  # at the place itself nothing varies: its answer is another
            same = abs(curve.limit(arb(inside), inside) - inner) <= _ALIKE * max(1.0, abs(inner))
            return Reached(value, line.point(arb(inside)) if same else None, same, (), line.point(arb(inside)))
        u = line.point(cut.root) if attained else None
        return Reached(value, u, attained, cut.reasons if binds else (), line.point(arb(inside)))
    if not isfinite(value):
        return Reached(value, None, False)
    return Reached(value, line.point(arb(_far(curve, cut.side, inside, value))), attained=_constant(curve))


def _constant(curve: CurveForm) -> bool:
    return curve.main.slope.top.is_zero() and (curve.spread is None or curve.spread.slope.top.is_zero())


def _far(curve: CurveForm, side: int, inside: fmpq, value: float) -> float:
    """A number so far out that the answer is near its limit."""
    s = max(abs(as_float(inside)), 1.0)
    for _ in range(40):
        there = curve.form.outward(curve.limit(arb(side * s), fmpq(int(side * s) + side)))
        if abs(there - value) <= 2e-7 * max(1.0, abs(value)):
            break
        s *= 2.0
    return side * s
