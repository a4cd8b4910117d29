"""All real answers at a covariance that leaves finitely many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic

import numpy as np
from numpy.typing import ArrayLike

from halftrek.errors import DataError
from halftrek.graphs import Graph
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.jacobian import block_at
from halftrek.identification.local.parameters import Entry, Point, parameters_of
from halftrek.identification.local.witness import Witness, checked_witness, is_model, starting_values
from halftrek.identification.numbers.fields import Array, Reals
from halftrek.identification.study import Study
from halftrek.queries.evaluate import check_roles
from halftrek.queries.types import Query

_STARTS = 60
_ITERATIONS = 200


def real_values(
    graph: Graph,
    query: Query,
    Sigma: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    random_state: int | np.random.Generator = 0,
) -> list[tuple[float, ...]]:
    """The answers of all models of the graph with this covariance that a search from random starts meets, sorted.

    For a query with the verdict "finite". Each answer is a tuple, one entry for each number that the query asks for.
    """
    check_roles(query, graph)
    order = tuple(graph.observed if names is None else names)
    sigma = np.asarray(Sigma, dtype=float)
    missing = [v for v in graph.observed if v not in order]
    if missing or sigma.shape != (len(order),) * 2:
        raise DataError(f"Sigma must have a row and a column for each of {', '.join(graph.observed)}")
    part = graph.induced(Study(graph).region(query))
    members = part.topological_order
    at = [order.index(v) for v in members]
    rng = np.random.default_rng(random_state)
    sd = np.sqrt(np.diag(sigma)) if not graph.coefficients else np.ones(len(order))  # held values have units
    unit = dict(zip(order, sd.tolist(), strict=True))
    standard: list[Array] = []
    found: list[tuple[float, ...]] = []
    for point in _solutions(part, members, (sigma / np.outer(sd, sd))[np.ix_(at, at)], rng):
        answer = functionals(query, point).values
        if not any(np.allclose(answer, other, rtol=1e-5, atol=1e-7) for other in standard):
            standard.append(answer)
            found.append(tuple(float(v) for v in functionals(query, _in_units(point, unit)).values))
    return sorted(found)


def _in_units(point: Point, unit: Mapping[str, float]) -> Point:
    """A model of standardized variables in the units that they have."""
    values = point.values.copy()
    for e in point.parameters.entries:
        if e.parameter is not None:
            source = {"direct": 1.0 / unit.get(e.source, 1.0), "loading": 1.0}.get(e.kind, unit.get(e.source, 1.0))
            values[e.parameter] = point.values[e.parameter] * unit[e.target] * source
    return Point(point.parameters, point.field, values)


def find_branches(
    graph: Graph, query: Query, *, seconds: float = 5.0, random_state: int | np.random.Generator = 0
) -> Witness | None:
    """Two models with one covariance and different answers, for a query with finitely many values."""
    deadline = monotonic() + seconds
    rng = np.random.default_rng(random_state)
    table = parameters_of(graph)
    for _ in range(4):
        start = Point(table, Reals(), starting_values(table, rng))
        first = functionals(query, start)
        for members in table.blocks:
            block = block_at(start, members)
            if not np.any(first.gradients[:, list(block.free)]):
                continue
            for other in _solutions_near(start, members, block.sigma, rng):
                apart = np.abs(functionals(query, other).values - first.values)
                witness = checked_witness(start, other, query, int(np.argmax(apart)))
                if witness is not None:
                    return witness
                if monotonic() > deadline:
                    return None
    return None


def _solutions(graph: Graph, members: tuple[str, ...], sigma: Array, rng: np.random.Generator) -> Iterator[Point]:
    table = parameters_of(graph)
    return _solutions_near(Point(table, Reals(), starting_values(table, rng)), members, sigma, rng)


def _solutions_near(home: Point, members: tuple[str, ...], sigma: Array, rng: np.random.Generator) -> Iterator[Point]:
    """Models whose sub-model on ``members`` has a covariance, from random starts; other parameters as at home."""
    free = list(block_at(home, members).free)
    search = _in_weights if _errors_are_free(home, members) else _descend
    for _ in range(_STARTS):
        values = home.values.copy()
        values[free] = (starting_values(home.parameters, rng) * rng.choice([0.5, 1.0, 3.0]))[free]
        end = search(Point(home.parameters, home.field, values), members, sigma)
        if end is not None and is_model(end):
            yield end


def _errors_are_free(point: Point, members: tuple[str, ...]) -> bool:
    """True if every error covariance in the district is either zero or a parameter of its own."""
    own = [e for e in point.parameters.entries if e.target in members and e.kind in ("loading", "covariance")]
    numbers = [e.parameter for e in point.parameters.entries]
    return all(e.kind == "covariance" and e.parameter is not None and numbers.count(e.parameter) == 1 for e in own)


def _in_weights(point: Point, members: tuple[str, ...], sigma: Array) -> Point | None:
    """Gauss-Newton on the edge weights alone: errors without a bidirected edge are uncorrelated.

    ``[(I - T)' Sigma (I - T)]_ij = 0``; the error covariances follow from the weights and are positive definite.
    """
    names, size = block_at(point, members).names, len(sigma)
    place = {v: i for i, v in enumerate(names)}
    entries = [e for e in point.parameters.entries if e.target in members]
    arrows = [e for e in entries if e.kind == "direct" and e.parameter is not None]
    unknown = list(dict.fromkeys(_number(e) for e in arrows))
    onto = np.array([[_number(e) == k for k in unknown] for e in arrows], dtype=float).reshape(len(arrows), -1)
    source, target = ([place[end] for end in ends] for ends in ([e.source for e in arrows], [e.target for e in arrows]))
    joined = {frozenset((e.source, e.target)) for e in entries if e.kind == "covariance"}
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i] if a in members and {a, b} not in joined]
    left, right = [place[a] for a, _ in pairs], [place[b] for _, b in pairs]
    into_left, into_right = np.equal.outer(target, left), np.equal.outer(target, right)
    T = point.matrices(names)[0]
    T[:, [i for i, v in enumerate(names) if v not in members]] = 0.0
    weights = point.values[unknown]
    for _ in range(60):
        T[source, target] = onto @ weights
        A = np.eye(size) - T
        G = sigma @ A
        error = (A.T @ G)[left, right]
        if not pairs or np.abs(error).max() < 1e-14 * np.abs(sigma).max():
            break
        causes = G[source]
        J = (into_left * causes[:, right] + into_right * causes[:, left]).T @ onto
        change = np.linalg.lstsq(J, error, rcond=None)[0]
        weights = weights + change * min(1.0, 3.0 / (1e-9 + np.abs(change).max()))
    T[source, target] = onto @ weights
    A = np.eye(size) - T
    omega = A.T @ sigma @ A
    if pairs and np.abs(omega[left, right]).max() > 1e-12 * np.abs(sigma).max():
        return None
    errors = [e for e in entries if e.kind in ("covariance", "noise")]
    numbers = [*unknown, *(_number(e) for e in errors)]
    return _set(point, numbers, [*weights, *(omega[place[e.source], place[e.target]] for e in errors)])


def _number(entry: Entry) -> int:
    assert entry.parameter is not None  # only free entries are searched
    return entry.parameter


def _set(point: Point, numbers: Sequence[int], values: ArrayLike) -> Point:
    changed = point.values.copy()
    changed[list(numbers)] = values
    return Point(point.parameters, point.field, changed)


def _descend(point: Point, members: tuple[str, ...], sigma: Array) -> Point | None:
    """Levenberg-Marquardt on the difference of the covariances; None if it does not vanish."""
    upper = np.triu_indices(len(sigma))
    size = float(np.abs(sigma).max())
    block, damping = block_at(point, members), 1.0
    gap = (sigma - block.sigma)[upper]
    for _ in range(_ITERATIONS):
        if np.abs(gap).max() < 1e-14 * size:
            break
        J = block.jacobian
        change = np.linalg.lstsq(
            np.vstack([J.T, np.sqrt(damping) * np.eye(len(J))]), np.concatenate([gap, np.zeros(len(J))]), rcond=None
        )[0]
        values = point.values.copy()
        values[list(block.free)] += change
        trial = Point(point.parameters, point.field, values)
        next_block = block_at(trial, members)
        next_gap = (sigma - next_block.sigma)[upper]
        if float(next_gap @ next_gap) < float(gap @ gap):
            point, block, gap, damping = trial, next_block, next_gap, max(damping / 5.0, 1e-14)
        else:
            damping *= 4.0
            if damping > 1e12:
                break
    return point if np.abs(gap).max() < 1e-11 * size else None
