"""One limit for all absent edges together: how large must the largest be at least, for the answer to be the target?

Every model with the fitted covariance is allowed whose arrows agree with the graph's order. With r the largest
correlation of errors over pairs without an arc (and the largest weight in standard deviations over absent arrows), the
program ``min r`` subject to ``answer = target`` is solved by linear programs from the fitted model (see ``minimax``);
with few unknowns also by SLSQP, from the solution of the linear version, and from models in which one weight takes the
answer there. A local solver finds models, so the limit is one that is enough; that nothing smaller is enough is
searched for, not proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.partial.varied.engine.edges import plain
from halftrek.partial.varied.engine.equations import Equations, make_equations, start_of
from halftrek.partial.varied.engine.minimax import least_largest
from halftrek.partial.varied.engine.points import points_of
from halftrek.queries import Query
from halftrek.queries.evaluate import values_of
from halftrek.queries.gradients import gradients_of

STEPS = 300
FEW = 60  # unknowns; with more a step of SLSQP takes seconds
SINGLE = 12  # weights that are tried alone
MET = 1e-8  # share of an answer by which it may miss the target


@dataclass(frozen=True, eq=False)
class _Program:
    """The limit as a function of weights and loadings: what is limited, and the answer, with their derivatives."""

    fitted: Fitted
    query: Query
    graph: Graph
    equations: Equations
    absent: Floats  # which weights belong to arrows that the graph does not have

    def limited(self, z: Floats) -> tuple[Floats, Floats]:
        """Correlations of errors of pairs without an arc, then weights of absent arrows."""
        left, slopes, _, _ = (x[0] for x in self.equations.at(z[None]))
        T, C = self.equations.T.put(self.equations.T0, z[None]), self.equations.C.put(self.equations.C0, z[None])
        M = self.equations.errors(T, C)[0][0]
        i, j = self.equations.pairs.T
        own = np.diagonal(M)
        size = np.sqrt(own[i] * own[j])
        spread = self._own_slopes(z)
        share = spread[i] / own[i][:, None] + spread[j] / own[j][:, None]
        value = left / size
        found = slopes / size[:, None] - 0.5 * value[:, None] * share
        rows = np.eye(len(z))[self.absent.astype(bool)]
        return np.concatenate([value, rows @ z]), np.concatenate([found, rows])

    def _own_slopes(self, z: Floats) -> Floats:
        """Derivatives of the errors' variances: ``-2 (Sigma a_j)_u`` in the weight of u -> j, and of loadings."""
        T, C = self.equations.T.put(self.equations.T0, z[None]), self.equations.C.put(self.equations.C0, z[None])
        spread = self.equations.errors(T, C)[1][0]
        found = np.zeros((len(spread), len(z)))
        for entries, values in ((self.equations.T, spread), (self.equations.C, C[0])):
            np.add.at(found, (entries.column, entries.unknown), -2.0 * values[entries.row, entries.column] * entries.by)
        return found

    def answer(self, z: Floats) -> tuple[float, Floats]:
        """The answer, and how it moves with weights while the covariance stays."""
        points = points_of(self.equations, z[None], self.fitted, self.graph)
        value = float(values_of(self.query, points)[0][0, 0])
        gradient = gradients_of(self.query, points).values[0]
        A = np.eye(len(points.names)) - points.T[0]
        slope = gradient.T[0] - 2.0 * points.cov[0] @ A @ gradient.omega[0]
        sd, entries = self.equations.sd, self.equations.T
        by = entries.by * sd[entries.column] / sd[entries.row]
        found = np.zeros(len(z))
        np.add.at(found, entries.unknown, slope[entries.row, entries.column] * by)
        return value, found


def common_limit(
    fitted: Fitted, query: Query, target: float, *, arrows: bool, advance: Callable[[int], None] = lambda _: None
) -> float | None:
    """The limit; None if no model was found. Without ``arrows`` absent arrows stay absent."""
    program, start = _program(fitted, query, arrows)
    value, _ = program.answer(start)
    if value == target:
        return 0.0
    size = abs(value - target)

    def surface(z: Floats) -> tuple[float, Floats]:
        there, slope = program.answer(z)
        return (there - target) / size, slope / size

    found = [_limit_at(program, least_largest(program.limited, surface, start, advance), target, size)]
    if len(start) <= FEW:
        found += [_solved(program, first, target, size) for first in _starts(program, start, target)]
    return min((limit for limit in found if limit is not None), default=None)


def _program(fitted: Fitted, query: Query, arrows: bool) -> tuple[_Program, Floats]:
    graph = plain(fitted.graph)
    there = set(graph.directed)
    if arrows:
        graph = graph.with_(directed=list(combinations(graph.topological_order, 2)))
    names = fitted.model.names
    space = make_space(graph, names, fitted.options)
    equations = make_equations(space, fitted.model.cov, ())
    start = start_of(equations, space, space.vector(fitted.model))
    absent = np.zeros(equations.size)
    for row, column, unknown in zip(equations.T.row, equations.T.column, equations.T.unknown, strict=True):
        absent[unknown] = (names[row], names[column]) not in there
    return _Program(fitted, query, graph, equations, absent), start


def _starts(program: _Program, start: Floats, target: float) -> list[Floats]:
    """The solution of the linear program, whole and in part, and models in which one weight takes the answer there."""
    from scipy.optimize import linprog

    (now, slopes), (value, along) = program.limited(start), program.answer(start)
    count = len(start)
    above = np.block([[slopes, -np.ones((len(now), 1))], [-slopes, -np.ones((len(now), 1))]])
    bounds = [(None, None)] * count + [(0.0, None)]
    found = linprog(
        np.append(np.zeros(count), 1.0), A_ub=above, b_ub=np.concatenate([-now, now]),
        A_eq=np.append(along, 0.0)[None], b_eq=[target - value], bounds=bounds,
    )  # fmt: skip
    steps = [np.zeros(count)] if found.x is None else [found.x[:-1], 0.5 * found.x[:-1]]
    most = np.argsort(-np.abs(along * start))[:SINGLE]  # an answer is often a product: one weight may do it alone
    alone = [np.where(np.arange(count) == k, start * target / value, start) for k in most if along[k] * start[k] != 0.0]
    return [*(start + step for step in steps), *(alone if value != 0.0 else [])]


def _solved(program: _Program, first: Floats, target: float, size: float) -> float | None:
    from scipy.optimize import minimize

    count = len(first)
    ends = program.limited(first)[0]

    def beyond(x: Floats) -> Floats:
        value = program.limited(x[:-1])[0]
        return np.concatenate([x[-1] - value, x[-1] + value])

    def beyond_slopes(x: Floats) -> Floats:
        slopes = program.limited(x[:-1])[1]
        ones = np.ones((len(slopes), 1))
        return np.block([[-slopes, ones], [slopes, ones]])

    with np.errstate(all="ignore"):
        found = minimize(
            lambda x: x[-1],
            np.append(first, np.abs(ends).max(initial=0.0)),
            jac=lambda _: np.append(np.zeros(count), 1.0),
            constraints=[
                {"type": "ineq", "fun": beyond, "jac": beyond_slopes},
                {
                    "type": "eq",
                    "fun": lambda x: (program.answer(x[:-1])[0] - target) / size,
                    "jac": lambda x: np.append(program.answer(x[:-1])[1], 0.0) / size,
                },
            ],
            method="SLSQP",
            options={"maxiter": STEPS, "ftol": 1e-13},
        )
    return _limit_at(program, found.x[:-1], target, size)


def _limit_at(program: _Program, z: Floats, target: float, size: float) -> float | None:
    """The largest of what is limited in a model; None if its answer is not the target."""
    with np.errstate(all="ignore"):
        met = abs(program.answer(z)[0] - target) <= MET * size
        limit = float(np.abs(program.limited(z)[0]).max(initial=0.0))
    return limit if met and np.isfinite(limit) else None
