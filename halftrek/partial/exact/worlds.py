"""Means and covariances of sums of variables in changed worlds, as quotients of polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.partial.exact.rational import Rational, solved, total
from halftrek.partial.exact.tower import Tower
from halftrek.queries.affine import ChangedWorld, WorldMaker
from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.terms import Probability, Quantile, Statistic, case_of, sums_of
from halftrek.queries.kinds.variants import Sum, single
from halftrek.queries.normal.conditional import numbers_seen

Fresh = dict[tuple[int, int], Rational]


@dataclass(frozen=True, eq=False)
class Spread:
    """Means and covariances of some sums, given what was seen."""

    mean: list[Rational]
    cov: list[list[Rational]]


@dataclass(frozen=True, eq=False)
class _Names:
    """As much of a model as the maker of worlds looks at."""

    names: tuple[str, ...]

    T = C = W = mu = B = omega = mean = np.zeros(0)


@dataclass(frozen=True, eq=False)
class _Line:
    """``constant + errors' r + fresh' z``."""

    constant: Rational
    errors: dict[int, Rational]
    fresh: Fresh


def spread_of(term: Statistic | Probability | Quantile | Distribution, tower: Tower) -> Spread | None:
    """The sums of a term given the values that were seen; None if these determine each other."""
    case = case_of(term)
    before = [case.placed_sum(of) for of in sums_of(term)]
    inside = case.in_worlds
    given = [single(v) for v in inside.given]
    seen = numbers_seen(list(inside.given.items()), term)
    maker = WorldMaker(_Names(tower.plan.names), term)
    lines = [_line_of_sum(of, maker, tower) for of in (*before, *given)]
    k = len(before)
    mean = [_mean(line, tower) for line in lines]
    cov = [[_covariance(a, b, tower) for b in lines[: i + 1]] for i, a in enumerate(lines)]
    full = [[cov[max(i, j)][min(i, j)] for j in range(len(lines))] for i in range(len(lines))]
    if not given:
        return Spread(mean, full)
    return _conditional(mean, full, k, np.asarray(seen), tower)


def _conditional(mean: list[Rational], cov: list[list[Rational]], k: int, seen: Floats, tower: Tower) -> Spread | None:
    inner = [row[k:] for row in cov[k:]]
    slopes = []
    for i in range(k):
        found = solved([list(row) for row in inner], cov[i][k:])
        if found is None:
            return None
        slopes.append(found)
    gaps = [tower.ring.number(float(x)) - m for x, m in zip(seen.tolist(), mean[k:], strict=True)]
    means = [total([mean[i], *(b * gap for b, gap in zip(slopes[i], gaps, strict=True))], tower.ring) for i in range(k)]
    covs = [
        [cov[i][j] - total([b * cov[k + n][j] for n, b in enumerate(slopes[i])], tower.ring) for j in range(k)]
        for i in range(k)
    ]
    return Spread(means, covs)


def _line_of_sum(of: Sum, maker: WorldMaker, tower: Tower) -> _Line:
    weights: dict[int, tuple[ChangedWorld, dict[int, float]]] = {}
    for weight, v in of.parts:
        world = maker.world(v.changes)
        own = weights.setdefault(world.number, (world, {}))[1]
        own[maker.place(v.variable)] = own.get(maker.place(v.variable), 0.0) + weight
    lines = [_line(world, {i: tower.ring.number(w) for i, w in own.items()}, tower) for world, own in weights.values()]
    return _added(lines, tower)


def _line(world: ChangedWorld, weights: dict[int, Rational], tower: Tower) -> _Line:
    """A weighted sum of a world's variables as a function of constants, errors and fresh draws."""
    reach = _reach(world, weights, tower)
    parts = [weight.times(float(world.constants[j])) for j, weight in reach.items() if world.constants[j]]
    for u, v, value in world.inputs:
        if v in reach and value * world.gain[v]:
            parts.append((tower.weight(u, v) * reach[v]).times(float(value * world.gain[v])))
    errors = {j: weight.times(float(world.gain[j])) for j, weight in reach.items() if world.gain[j]}
    fresh = {(world.number, j): reach[j].times(sd) for j, sd in world.draws.items() if j in reach}
    own = _Line(total(parts, tower.ring), errors, fresh)
    others = [_line(other, {i: reach[j]}, tower) for j, other, i in world.others if j in reach]
    return _added([own, *others], tower) if others else own


def _reach(world: ChangedWorld, weights: dict[int, Rational], tower: Tower) -> dict[int, Rational]:
    """How much of each equation is in a weighted sum: from effects back to their causes."""
    graph, names = tower.plan.graph, tower.plan.names
    reach: dict[int, Rational] = dict(weights)
    for v in reversed(graph.topological_order):
        j = names.index(v)
        if j not in reach or reach[j].is_zero:
            reach.pop(j, None)
            continue
        for u in graph.parents(v):
            i = names.index(u)
            if world.kept[i, j]:
                step = (tower.weight(i, j) * reach[j]).times(float(world.kept[i, j]))
                reach[i] = reach[i] + step if i in reach else step
    return reach


def _added(lines: Sequence[_Line], tower: Tower) -> _Line:
    constant = total([line.constant for line in lines], tower.ring)
    errors: dict[int, Rational] = {}
    fresh: Fresh = {}
    for line in lines:
        for j, slope in line.errors.items():
            errors[j] = errors[j] + slope if j in errors else slope
        for key, slope in line.fresh.items():
            fresh[key] = fresh[key] + slope if key in fresh else slope
    return _Line(constant, errors, fresh)


def _mean(line: _Line, tower: Tower) -> Rational:
    return total([line.constant, *(slope * tower.intercept(j) for j, slope in line.errors.items())], tower.ring)


def _covariance(a: _Line, b: _Line, tower: Tower) -> Rational:
    parts = []
    for i, left in a.errors.items():
        if not left.is_zero:
            parts += [left * right * tower.omega(i, j) for j, right in b.errors.items() if not right.is_zero]
    parts += [slope * b.fresh[key] for key, slope in a.fresh.items() if key in b.fresh]
    return total(parts, tower.ring)
