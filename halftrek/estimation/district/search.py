"""From starting values to the highest maximum of the likelihood of districts of one shape.

Every start gets some steps. Of those that have not arrived, the highest go on: along curved valleys, or, where W holds
covariances beside loadings, along a path of barriers that ends where W is singular. A start that has reached the floor
(see ``doubt``) ends the search.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation.district.block import evaluate
from halftrek.estimation.district.doubt import Yardstick
from halftrek.estimation.district.newton import Optimum, minimize
from halftrek.estimation.district.shape import Problem
from halftrek.estimation.district.starts import other_starts

FIRST = 40  # steps of every start
KEPT = 4  # starts of a member that go on after them
LEG = 60  # further steps of those where the way is a valley, before only the highest goes on
VALLEY = 3  # times as many steps as elsewhere
BARRIERS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
STAGE = 60  # steps at one barrier
EQUAL = 1e-12  # of F: no difference
SAME = 1e-8  # of F: the same maximum
AGAIN = 12  # starts of a second search
LARGE = 60  # parameters from which on it has fewer
ALIKE = 1e-5  # of F: on the way to the same maximum


@dataclass(frozen=True, eq=False)
class Choice:
    """The best end of each member of the batch, how many of its starts came there, and whether they agree."""

    best: Optimum
    starts: Ints
    agreeing: Ints
    several: Flags

    def with_rows(self, rows: Ints, other: Choice) -> Choice:
        """The choice with some members of the batch exchanged."""
        new = [getattr(self, name).copy() for name in ("starts", "agreeing", "several")]
        for mine, name in zip(new, ("starts", "agreeing", "several"), strict=True):
            mine[rows] = getattr(other, name)
        return Choice(_exchanged(self.best, rows, other.best), *new)


def climb(
    problem: Problem,
    theta: Floats,
    measure: Yardstick,
    *,
    steps: int,
    near: bool = False,
    record: Floats | None = None,
) -> Optimum:
    """Where all starts end; those of a member of the batch stand next to each other in ``theta``.

    ``record``: what is known to be reached from elsewhere; a start that will not come below is not followed.
    """
    starts = len(theta) // len(problem.G)
    many = problem if starts == 1 else problem.take(np.repeat(np.arange(len(problem.G)), starts))
    if not problem.free or not steps:
        return _unmoved(many, theta)
    valleys, walls = bool(problem.shape.loadings), bool(problem.shape.loadings) and problem.covarying
    first = min(steps, FIRST) if valleys or record is not None else steps
    together = starts if len(problem.G) > 1 and not valleys else 1  # of many data sets each waits for its slowest start
    ends = minimize(many, theta, max_iter=first, near=near, starts=together)
    known = np.full(len(problem.G), np.inf) if record is None else record
    if walls:
        rows = _going_on(ends, measure, known, starts)
        return (
            ends
            if not len(rows)
            else _with_rows(ends, rows, _along_barriers(many.take(rows), theta[rows], rows // starts, steps))
        )
    for most, length in ((KEPT, min(steps, LEG)), (1, VALLEY * steps if valleys else steps)):
        rows = _going_on(ends, measure, known, most)
        if len(rows):
            ends = _with_rows(ends, rows, minimize(many.take(rows), ends.theta[rows], max_iter=length, bent=True))
    return ends


def _unmoved(problem: Problem, theta: Floats) -> Optimum:
    """The starts themselves; a model without a free parameter has its maximum there."""
    value = evaluate(problem, theta).value
    held = np.full(len(theta), problem.free == 0)
    none = np.zeros(len(theta), dtype=np.intp)
    return Optimum(theta, value, np.where(held, 0.0, np.inf), none, held & np.isfinite(value), held)


def _going_on(ends: Optimum, measure: Yardstick, record: Floats, most: int) -> Ints:
    """The highest starts of each member, at most so many, that may get higher than all that have arrived."""
    done, value = (x.reshape(len(record), -1) for x in (ends.converged, ends.value))
    arrived = np.minimum(np.where(done, value, np.inf).min(axis=1), record)
    usable = np.isfinite(value)
    promise = np.where(usable, value, 0.0) - np.maximum(ends.decrement.reshape(value.shape), SAME)
    going = ~done & usable & (promise < arrived[:, None]) & ~measure.reached(arrived)[:, None]
    rank = np.where(going, value, np.inf).argsort(axis=1).argsort(axis=1)
    return np.flatnonzero((going & (rank < most)).ravel())


def _with_rows(ends: Optimum, rows: Ints, more: Optimum) -> Optimum:
    """The ends with some starts taken further, where that led higher."""
    better = more.value <= ends.value[rows]
    more = replace(more, iterations=more.iterations + ends.iterations[rows])
    return _exchanged(ends, rows[better], _taken(more, better))


def _taken(ends: Optimum, rows: Ints | Flags) -> Optimum:
    return Optimum(**{field.name: getattr(ends, field.name)[rows] for field in fields(Optimum)})


def _exchanged(ends: Optimum, rows: Ints, others: Optimum) -> Optimum:
    new = {}
    for field in fields(Optimum):
        new[field.name] = getattr(ends, field.name).copy()
        new[field.name][rows] = getattr(others, field.name)
    return Optimum(**new)


def _along_barriers(problem: Problem, theta: Floats, owner: Ints, steps: int) -> Optimum:
    """Minima of F less a multiple of ``log|W|`` that goes to zero; ``owner``: the member that a start belongs to."""
    leader = np.arange(len(theta))  # the start that goes on for each; itself if it does
    rows = leader.copy()
    iterations = np.zeros(len(theta), dtype=np.intp)
    theta = theta.copy()
    decrement, converged = np.full(len(theta), np.inf), np.zeros(len(theta), dtype=bool)
    for weight in BARRIERS:
        way = replace(problem.take(rows), barrier=weight)
        end = minimize(way, theta[rows], max_iter=min(steps, STAGE), tol=1e-4 * weight)
        theta[rows], decrement[rows], converged[rows] = end.theta, end.decrement, end.converged
        iterations[rows] += end.iterations
        ahead, keep = _distinct(end.value, owner[rows])
        leader[rows[~keep]] = rows[ahead[~keep]]
        rows = rows[keep]
    for _ in BARRIERS:  # the leader of a leader
        leader = leader[leader]
    value = evaluate(problem, theta[leader]).value
    stiff = np.zeros(len(theta), dtype=bool)
    return Optimum(theta[leader], value, decrement[leader], iterations, converged[leader], stiff)


def _distinct(value: Floats, owner: Ints) -> tuple[Ints, Flags]:
    """Which starts to follow: the best few minima of each owner; for the others the one that stands for them."""
    ahead, keep = np.arange(len(value)), np.zeros(len(value), dtype=bool)
    for one in np.unique(owner):
        mine = np.flatnonzero(owner == one)
        mine = mine[value[mine].argsort()]
        last, kept = mine[0], 0
        for i in mine:
            new = kept == 0 or value[i] > value[last] + SAME
            if new and kept < KEPT:
                last, kept, keep[i] = i, kept + 1, True
            ahead[i] = i if keep[i] else last
    return ahead, keep


def choose(problem: Problem, ends: Optimum) -> Choice:
    """The best end of each member, how many others reached it, and whether they agree on the coefficients."""
    b, at = len(problem.G), problem.shape.at
    starts = len(ends.value) // b
    if starts == 1:
        return Choice(ends, np.ones(b, dtype=np.intp), np.ones(b, dtype=np.intp), np.zeros(b, dtype=bool))
    value, done = ends.value.reshape(b, starts), ends.converged.reshape(b, starts)
    # among equally good ends prefer one that converged, and of those the first, which has the plainest start
    rated = value + np.where(done, 0.0, 1e-9)
    best = np.arange(b) * starts + (rated <= rated.min(axis=1, keepdims=True) + EQUAL).argmax(axis=1)
    top = ends.value[best][:, None]
    equal = value < top + np.where(done, SAME, ALIKE)
    many = problem.take(np.repeat(np.arange(b), starts))
    t = many.expand(ends.theta)[:, at.t].reshape(b, starts, -1)
    apart = np.abs(t - problem.expand(ends.theta[best])[:, None, at.t]).max(axis=2, initial=0.0)
    several = ((value < top + SAME) & done & (apart > 1e-3)).any(axis=1)
    return Choice(_taken(ends, best), np.full(b, starts), equal.sum(axis=1), several)


def reach_floor(problem: Problem, solved: Floats, measure: Yardstick, steps: int) -> Choice:
    """Where starts that solve the equations lead in a few steps; if not to the floor, then more of them."""
    first = led_to(problem, solved, steps)
    if measure.reached(first.best.value).all():
        return first
    count = len(solved) // len(problem.G)
    return led_to(problem, other_starts(problem, first.best.theta, 2 * count), steps)


def led_to(problem: Problem, theta: Floats, steps: int) -> Choice:
    """Where some starts lead in a few steps."""
    many = problem.take(np.repeat(np.arange(len(problem.G)), len(theta) // len(problem.G)))
    return choose(problem, minimize(many, theta, max_iter=min(steps, FIRST)))


def look_again(problem: Problem, choice: Choice, measure: Yardstick, steps: int) -> Choice:
    """The choice, searched for once more and from elsewhere where it falls suspiciously short of the moments."""
    rows = np.flatnonzero(measure.doubtful(choice.best.value))
    if not len(rows):
        return choice
    part = problem.take(rows)
    count = AGAIN if problem.free <= LARGE else AGAIN // 3
    known = choice.best.value[rows]
    theta = other_starts(part, choice.best.theta[rows], count)
    ends = climb(part, theta, measure.take(rows), steps=steps, record=known)
    found = choose(part, ends)
    higher = found.best.value < known - SAME
    if not higher.any():
        return choice
    better = np.flatnonzero(higher)
    taken = Choice(_taken(found.best, better), found.starts[better], found.agreeing[better], found.several[better])
    return choice.with_rows(rows[better], taken)
