"""The identified set of any question under assumptions, at a covariance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.arrays import Floats
from halftrek.bottom.progress import Advance, silent
from halftrek.errors import HalftrekError, QueryError
from halftrek.graphs import Graph
from halftrek.graphs.hidden import refuse_hidden
from halftrek.models import CGLSCM, Gaussian
from halftrek.partial.assumptions import Assumption, State, Weight, Within, conditions_of, read_assumptions, relaxed
from halftrek.partial.assumptions.kinds import AbsoluteSum, Confounded, Norm
from halftrek.partial.exact.compiled import Compiled
from halftrek.partial.exact.conditions import DIVISOR, All, Atom, Claim, claims_of, confounding_limit
from halftrek.partial.exact.questions import Form, divisors_of, form_of
from halftrek.partial.sets.covariance import Ground, ground_of, held_weights, plain_latents
from halftrek.partial.sets.generic import searched
from halftrek.partial.sets.line import Line, place_on_line, set_along
from halftrek.partial.sets.pieces import Piece, Reached
from halftrek.partial.sets.projection.losing import decided
from halftrek.partial.sets.projection.projected import Projection
from halftrek.partial.sets.shown import Showing
from halftrek.partial.sets.space import Space
from halftrek.partial.sets.through import through_of, through_pieces
from halftrek.partial.sets.value import Certificate, End, IdentifiedSet
from halftrek.queries import Distribution, Probability, Query, check_query, evaluate
from halftrek.syntax import parse_question

_TRY = 0.29  # where coordinates stand that matter for nothing
_NOTHING = 1e-40  # exact numbers have 160 bits, and units are near those of the answer
_SHOWN = 1e-4  # by which a model's answer may miss the end that it is to show ...
_ON_THE_WAY = 1e-2  # ... and a limit that it is to be near: of events it is told from models that are not very far
_BROKEN = 1e-6  # by which an assumption may be missed
_SURELY = 1e-7  # by which a model may miss an end, the assumptions and the covariance before a better one is looked for
_INWARDS = (1e-6, 1e-4, 5e-3)  # of an end, where a model is looked for if none is at it
_JITTER = (1e-3, 0.03, 0.3)  # of places that Newton steps begin with
_DRAWN = 8  # of them, anywhere
_ZERO = 1e-12  # share of its terms, below which a divisor is taken for zero
_NO_RATIO = "Models in which {} is zero have no answer; what answers come near to there counts."
_IDLE = "'{}' excludes nothing: a hidden cause that strong could explain all there is. Assume less of it."
_LOST = 1e12  # error variances so many times those of the variables have no digits left


def identified_set(
    graph: Graph,
    Sigma: ArrayLike,
    mean: ArrayLike | None,
    question: str | Query,
    assumptions: str | Assumption | Iterable[str | Assumption] = (),
    *,
    names: Sequence[str] | None = None,
    model: CGLSCM | None = None,
    advance: Advance = silent,
) -> IdentifiedSet:
    """All values of the question in models of the graph with this covariance that obey the assumptions.

    Edges that assumptions name and the graph lacks are added. Where the graph restricts covariances, Sigma is that of
    ``model``, a fit of the graph with these edges, or of one made here. ``names`` is the order of Sigma.
    """
    assumed = read_assumptions(assumptions, graph)
    query = parse_question(question) if isinstance(question, str) else question
    wide = plain_latents(held_weights(relaxed(graph, assumed), assumed), assumed)
    refuse_hidden(wide, "a set of values at a covariance of the observed variables alone")
    check_query(query, wide)
    _refuse_several(query)
    order = tuple(graph.observed if names is None else names)
    sigma = np.asarray(Sigma, dtype=float)
    means = np.zeros(len(order)) if mean is None else np.asarray(mean, dtype=float)
    ground = ground_of(wide, sigma, means, order, _preferred(assumed), model)
    return _Task(query, assumed, graph, ground, advance).result()


def _refuse_several(query: Query) -> None:
    if isinstance(query, Distribution):
        several = query.of
        if len(several) > 1:
            raise QueryError(
                f"{query} has several outcomes, {', '.join(map(str, several))}; a set of values is computed for one. "
                f"Ask for each by itself"
            )


def _preferred(assumptions: Sequence[Assumption]) -> list[str]:
    """Weights with limits of their own: the best coordinates."""
    found: list[str] = []
    for a in assumptions:
        weights = a.weights if isinstance(a, Norm | AbsoluteSum) else ()
        if isinstance(a, Within) and isinstance(a.quantity, Weight):
            weights = (a.quantity,)
        found += [f"{w.cause} -> {w.effect}" for w in weights]
    return found


class _Task:
    def __init__(
        self, query: Query, assumed: tuple[Assumption, ...], graph: Graph, ground: Ground, advance: Advance = silent
    ) -> None:
        self.query, self.assumed, self.graph, self.ground, self.advance = query, assumed, graph, ground, advance
        self.tower, self.fibre = ground.tower, ground.fibre
        self.count = len(self.fibre.plan.coordinates)
        self.columns = [self.fibre.plan.names.index(c.effect) for c in self.fibre.plan.coordinates]
        self.form: Form | None = form_of(query, self.tower)
        found = claims_of(assumed, graph, self.tower)
        self.complete = found is not None  # all claims are signs of polynomials
        self.divisors = divisors_of(query, self.tower)
        divided = [Claim(Atom(self.tower.ring.zero.top, by.top), DIVISOR) for _, by in self.divisors]
        self.claims = [*(found or ()), *self._equations(), *divided]
        self.others = np.full(self.count, _TRY)
        self.held = conditions_of(assumed, graph, self.fibre.plan.names)
        self.showing = Showing(query, self.fibre, self.held)
        self.known: list[Floats] = []  # places of ends

    def _equations(self) -> list[Claim]:
        """Equations that the order of the columns left."""
        found = []
        for i, j in self.fibre.plan.left:
            known = self.tower.ring.number(float(self.fibre.plan.known[i, j]))
            gap = (self.tower.noise(i, j) - known).top
            found.append(Claim(All((Atom(gap), Atom(-gap))), "the graph's own equations"))
        return found

    def result(self) -> IdentifiedSet:
        """The set."""
        if any(decided(claim.formula) is False for claim in self.claims if not claim.coordinates):
            return self._packed([], "closed form", 0)
        if self.form is None or not self.complete:
            units = self.tower.units
            return self._packed(searched(self.query, self.fibre, units, self.claims), "searched", self.count)
        own, apart = _parts(self.form.coordinates, self.claims)
        possible, certain = self._possible(apart)
        if not possible:
            return self._packed([], "proved to 1e-7" if certain else "searched", len(own))
        mine = [claim for claim in self.claims if not claim.coordinates or claim.coordinates <= own]
        pieces, certificate = self._found(sorted(own), mine)
        return self._packed(pieces, certificate if certain else "searched", len(own))

    def _found(self, own: list[int], claims: list[Claim]) -> tuple[list[Piece], Certificate]:
        assert self.form is not None
        if len(own) <= 1:
            line = Line.axis(self.count, own[0] if own else -1)
            along = set_along(self.form, claims, line)
            if not own:
                along.pieces[:] = [_anywhere(piece) for piece in along.pieces]
            return along.pieces, "closed form" if along.degree <= 2 else "proved to 1e-7"
        through = through_of(self.query, self.form, self.tower)
        form = self.form if through is None else through.effect
        finder: Projection | Space
        pieces: list[Piece] = []
        proved = False
        sound = self._sound_for(claims, own)
        if Projection.suits(form, own):
            projection = Projection(form, claims, own, self.count)
            if len(own) > 2 and not projection.equations:  # boxes are quicker, unless they run out
                finder = Space(form, claims, own, self.columns, sound, self.advance, quick=True)
                found = finder.found()
                pieces, proved = found.pieces, found.proved
                projection.knows(pieces)
            if not proved and not projection.too_many:
                finder, pieces = projection, projection.pieces()
                proved = bool(pieces)
        if not proved:
            finder = Space(form, claims, own, self.columns, sound, self.advance)
            found = finder.found()
            if not found.pieces and not found.proved and (u := self._obeying()) is not None:
                found = finder.around(u[own])
            pieces, proved = found.pieces, found.proved
        pieces = pieces if through is None else through_pieces(through, pieces, finder.place)
        return pieces, "proved to 1e-7" if proved else "searched"

    def _obeying(self) -> Floats | None:
        """Where a model obeys, by Newton steps in all weights: where claims touch, or at a pole, points are missed."""
        model = self.showing.model(None, self._starts(Reached(0.0)))
        if model is None:
            return None
        whole, rows = np.concatenate([model.T, model.C]), (*model.names, *model.latents)
        at = [(rows.index(c.cause), rows.index(c.effect)) for c in self.fibre.plan.coordinates]
        return np.asarray(np.array([whole[i, j] for i, j in at]) / self.tower.units)

    def _possible(self, apart: list[tuple[frozenset[int], list[Claim]]]) -> tuple[bool, bool]:
        """Can the claims that do not touch the question be obeyed? And is that certain?"""
        certain = True
        for own, claims in apart:
            places = sorted(own)
            if len(places) == 1:
                place = place_on_line(claims, Line.axis(self.count, places[0]))
                if place is None:
                    return False, True
                self.others[places[0]] = place
                continue
            assert self.form is not None
            u, sure = Space(self.form, claims, places, self.columns, self._sound_for(claims, places)).possible()
            if u is None:
                return False, sure
            self.others[places] = u
        return True, certain

    def _sound_for(self, claims: Sequence[Claim], places: Sequence[int]) -> Callable[[Floats], bool]:
        """Is there a model at a point that obeys some claims? Asked without polynomials, which far out lose digits.

        Coordinates other than those of some places are where they may be: at zero may be a pole.
        """
        assumed = [claim.reason for claim in claims if not isinstance(claim.reason, str)]
        held = conditions_of(assumed, self.graph, self.fibre.plan.names)

        def sound(u: Floats) -> bool:
            there = self.others.copy()
            there[places] = u[places]
            if not self._sound(there):
                return False
            models = self.fibre.at(there * self.tower.units)
            values = held.values(State(models.T, models.omega, self.fibre.sigma, models.noise))
            return bool((np.where(held.equal, np.abs(values), values) < _BROKEN).all())

        return sound

    def _sound(self, u: Floats) -> bool:
        """Is there a model at a point, none of its noise negative, with this covariance?"""
        models = self.fibre.at(u * self.tower.units)
        if not _finite(models.T, models.omega):
            return False
        variances = np.diag(self.fibre.sigma)
        if self.fibre.plan.latents and float((models.noise / variances).min()) < -1e-8:
            return False
        loss = np.abs(models.omega).max() / variances.max()
        return bool(loss < _LOST)

    # -- the value --------------------------------------------------------------------------------

    def _packed(self, pieces: Sequence[Piece], certificate: Certificate, free: int) -> IdentifiedSet:
        fitted = ["The covariance is that of the fitted model: the graph restricts it."] if self.ground.fitted else []
        confounded = (a for a in self.assumed if isinstance(a, Confounded))
        idle = [_IDLE.format(a) for a in confounded if confounding_limit(a, self.graph, self.tower) >= 1.0]
        notes = (*fitted, *idle, *dict.fromkeys(_NO_RATIO.format(by) for by, _ in self.divisors))
        if not pieces:
            nothing = End(float("nan"), False)
            return IdentifiedSet(self.query, self.assumed, (), nothing, nothing, certificate, free, notes)
        pieces = [_pointed(p) if p.low.value == p.high.value else p for p in pieces]
        values = tuple((self._in_range(p.low.value), self._in_range(p.high.value)) for p in pieces)
        self.known = [end.u for piece in pieces for end in (piece.low, piece.high) if end.u is not None]
        each = [[self._end(piece, side) for side in (1.0, -1.0)] for piece in pieces]
        lower, upper = each[0][0], each[-1][1]
        gaps = tuple((a[1], b[0]) for a, b in pairwise(each))
        return IdentifiedSet(self.query, self.assumed, values, lower, upper, certificate, free, notes, gaps=gaps)

    def _in_range(self, value: float) -> float:
        """A probability that rounding has taken beyond 0 or 1 is that, and what is nothing to all digits is nothing."""
        if abs(value) < _NOTHING:
            return 0.0
        return min(max(float(value), 0.0), 1.0) if isinstance(self.query, Probability) else float(value)

    def _end(self, piece: Piece, inwards: float) -> End:
        """The low end of a piece, from which it goes up (1), or the high one (-1)."""
        end = piece.low if inwards > 0.0 else piece.high
        if not isfinite(end.value):
            return End(end.value, False)
        model, exactly = self._model(end)
        if model is None or not self._shows(model, end, _SURELY):
            if (other := self._solved(end, [end.value] if end.attained else [])) is not None:
                model, exactly = other, True
            elif model is None or not self._shows(model, end, _BROKEN, _SHOWN):  # a pole, or digits are lost far out
                room = piece.high.value - piece.low.value
                steps = (share * max(1.0, abs(end.value)) for share in _INWARDS)
                model = self._solved(end, [end.value + inwards * step for step in steps if step < room])
                exactly = False
        return End(self._in_range(end.value), end.attained and exactly, tuple(map(str, end.binding)), model)

    def _shows(self, model: CGLSCM, end: Reached, broken: float, apart: float | None = None) -> bool:
        """True if the answer of a model is the value of an end, or near a limit, and it obeys with this covariance."""
        try:
            found = evaluate(self.query, model)
        except (HalftrekError, np.linalg.LinAlgError):
            return False
        answer = float(found.mean[0]) if isinstance(found, Gaussian) else float(found)
        near = (apart or broken) if end.attained else _ON_THE_WAY
        if not abs(answer - end.value) <= near * max(1.0, abs(end.value)):
            return False
        lost = max(1.0, float(np.abs(model.T).max(initial=0.0)) ** 2)
        sigma, cov = self.fibre.sigma, np.asarray(model.cov)
        values = self.held.values(State(model.T, np.asarray(model.omega), cov, np.asarray(model.psi)))
        off = float(np.abs(cov - sigma).max() / np.abs(sigma).max())
        return off <= broken * lost and bool((np.where(self.held.equal, np.abs(values), values) <= broken).all())

    def _solved(self, end: Reached, values: Sequence[float]) -> CGLSCM | None:
        """A model with the first of some answers that Newton steps in all weights reach."""
        for value in values:
            found = self.showing.model(value, self._starts(end))
            if found is not None and self._shows(found, Reached(value), _SURELY):
                return found
        return None

    def _starts(self, end: Reached) -> Iterator[Floats]:
        """Places on the fibre: near the end, near other ends, and anywhere."""
        rng, moving = np.random.default_rng(3), self._moving()
        for u in [x for x in (end.u, end.toward, *self.known) if x is not None]:
            there = self.others.copy()
            there[moving] = u[moving]
            yield there * self.tower.units
            for width in _JITTER if u is end.u else ():
                yield (there + width * rng.standard_normal(self.count)) * self.tower.units
        for _ in range(_DRAWN):
            yield rng.standard_normal(self.count) * self.tower.units

    def _model(self, end: Reached) -> tuple[CGLSCM | None, bool]:
        """The model at an end; a little beside it where it is at a pole of some other weight."""
        if end.u is None and self._moving():  # no place is known that shows it
            return None, False
        u = self.others.copy()
        if end.u is not None:
            moving = self._moving()
            u[moving] = end.u[moving]
        step = np.zeros(self.count)
        if end.u is not None and end.toward is not None:
            moving = self._moving()
            step[moving] = np.clip(end.toward[moving] - end.u[moving], -1.0, 1.0)
        axes = [s * axis for axis in np.eye(self.count) for s in (1.0, -1.0)]
        known = step.any()  # which way is inwards
        for nudge, side in ((0.0, step), *((n, side) for n in (2e-7, 1e-6) for side in ([step] if known else axes))):
            there = u + nudge * side
            models = self.fibre.at(there * self.tower.units)
            if not _finite(models.T, models.omega) or not self._divides(there):
                continue
            if nudge == 0.0 or known or self._sound_for(self.claims, range(self.count))(there):
                return models.one(), nudge == 0.0
        return None, False

    def _divides(self, u: Floats) -> bool:
        """True if nothing that the question divides by is zero at a point."""
        for _, by in self.divisors:
            top = Compiled.of(by.top, range(self.count))
            size = Compiled(np.abs(top.coefficients), top.exponents).values(np.abs(u))
            if abs(float(top.values(u))) <= _ZERO * float(size):
                return False
        return True

    def _moving(self) -> list[int]:
        if self.form is None:
            return list(range(self.count))
        return sorted(_parts(self.form.coordinates, self.claims)[0])


def _anywhere(piece: Piece) -> Piece:
    """One value in all models."""
    end = Reached(piece.low.value, None, True)
    return Piece(end, end)


def _pointed(piece: Piece) -> Piece:
    """One value: where it is attained, if it is."""
    end = max((piece.low, piece.high), key=lambda e: (e.attained, e.u is not None))
    return Piece(end, end)


def _finite(T: Floats, omega: Floats) -> bool:
    return bool(np.isfinite(T).all() and np.isfinite(omega).all() and np.abs(T).max(initial=0.0) < 1e12)


def _parts(
    own: frozenset[int], claims: Sequence[Claim]
) -> tuple[frozenset[int], list[tuple[frozenset[int], list[Claim]]]]:
    """The coordinates that matter for the question, and the claims about others, in parts that do not touch."""
    groups: list[tuple[frozenset[int], list[Claim]]] = []
    waiting = [c for c in claims if c.coordinates]
    while waiting:
        claim = waiting.pop(0)
        reach, members = claim.coordinates, [claim]
        grown = True
        while grown:
            more = [c for c in waiting if c.coordinates & reach]
            waiting = [c for c in waiting if not c.coordinates & reach]
            members += more
            reach = reach.union(*(c.coordinates for c in more))
            grown = bool(more)
        groups.append((reach, members))
    mine = own
    apart = []
    for reach, members in groups:
        if reach & own:
            mine = mine | reach
        else:
            apart.append((reach, members))
    return mine, apart
