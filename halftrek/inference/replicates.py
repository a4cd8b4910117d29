"""What many fitted models of one graph answer: values alone, for all of them at once where there is a formula."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from halftrek.errors import QueryError
from halftrek.estimation import BatchFit
from halftrek.model import Floats, Gaussian
from halftrek.queries import (
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    evaluate,
)
from halftrek.queries.terms import Arithmetic, Expression, Statistic


def values_of(batch: BatchFit, query: Query) -> tuple[Floats, Floats]:
    """Values ``(b, k)`` and variances of outcomes ``(b, k)`` (none for numbers); nan where a model has no answer."""
    match query:
        case Interventional() if all(x is not None for x in (*query.do.values(), *query.given.values())):
            return _interventional(batch, query)
        case DirectEffect() | PathEffect() | TotalEffect() | ThroughEffect() | ErrorCovariance() | Arithmetic():
            return _number(batch, query)[:, None], np.zeros((len(batch), 0))
        case Statistic("E" | "Var", _, _) if (plain := _as_interventional(query)) is not None:
            means, variances = _interventional(batch, plain)
            return means if query.kind == "E" else variances, np.zeros((len(batch), 0))
        case _:
            return _one_by_one(batch, query)


def _number(batch: BatchFit, expression: Expression) -> Floats:
    match expression:
        case DirectEffect(cause, effect):
            return _along(batch.T, batch.names, (cause, effect))
        case PathEffect(path):
            return _along(batch.T, batch.names, path)
        case TotalEffect(cause, effect):
            return _total(batch, (cause, effect))
        case ThroughEffect(stations):
            return _total(batch, stations)
        case ErrorCovariance(first, second):
            i, j = batch.names.index(first), batch.names.index(second)
            return np.asarray((batch.C[:, :, i] * batch.C[:, :, j]).sum(axis=1) + batch.W[:, i, j])
        case Arithmetic(operation, left, right):
            a, b = _number(batch, left), _number(batch, right)
            with np.errstate(divide="ignore", invalid="ignore"):
                found = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[operation](a, b)
            return np.where(np.isfinite(found), found, np.nan)
        case float() | int():
            return np.full(len(batch), float(expression))
        case _:
            return values_of(batch, expression)[0][:, 0]


def _along(matrices: Floats, names: Sequence[str], steps: Sequence[str]) -> Floats:
    at = [names.index(v) for v in steps]
    return np.asarray(np.prod([matrices[:, i, j] for i, j in pairwise(at)], axis=0))


def _total(batch: BatchFit, stations: Sequence[str]) -> Floats:
    names, T, _, _ = _ancestral(batch, stations)
    return _along(np.linalg.inv(np.eye(len(names)) - T), names, stations)


def _ancestral(batch: BatchFit, variables: Iterable[str]) -> tuple[list[str], Floats, Floats, Floats]:
    """The parameters ``T, Omega, mu`` of some variables and all their causes; copies."""
    keep = batch.graph.ancestors(variables)
    at = np.array([i for i, v in enumerate(batch.names) if v in keep], dtype=np.intp)
    C = batch.C[:, :, at]
    omega = C.transpose(0, 2, 1) @ C + batch.W[:, at[:, None], at]
    return [batch.names[i] for i in at], batch.T[:, at[:, None], at].copy(), omega, batch.mu[:, at].copy()


def _interventional(batch: BatchFit, query: Interventional) -> tuple[Floats, Floats]:
    names, T, omega, mu = _ancestral(batch, [*query.outcomes, *query.do, *query.given])
    for v, x in query.do.items():
        i = names.index(v)
        T[:, :, i] = 0.0
        omega[:, i] = omega[:, :, i] = 0.0
        mu[:, i] = x
    wanted = [names.index(v) for v in (*query.outcomes, *query.given)]
    reach = np.linalg.inv(np.eye(len(names)) - T)[:, :, wanted]
    mean = (mu[:, None, :] @ reach)[:, 0]
    cov = reach.transpose(0, 2, 1) @ omega @ reach
    k = len(query.outcomes)
    variances = np.diagonal(cov, axis1=1, axis2=2)[:, :k]
    if not query.given:
        return mean[:, :k], variances.copy()
    seen = np.array([float(x) for x in query.given.values() if x is not None])
    cross = cov[:, :k, k:]
    slope = cross @ np.linalg.pinv(cov[:, k:, k:], hermitian=True)
    gap = (seen - mean[:, k:])[:, :, None]
    return mean[:, :k] + (slope @ gap)[:, :, 0], variances - (slope * cross).sum(axis=2)


def _as_interventional(query: Statistic) -> Interventional | None:
    """``E[y | do(x=1), z=2]`` as ``P(y | do(x=1), z=2)``, if it is no more than that."""
    alone = query.of[0].alone if len(query.of) == 1 else None
    plain = [alone, *query.case.given]
    if query.case.events or any(v is None or v.changes for v in plain) or alone is None:
        return None
    held = {v: x for v, x in query.case.do.items() if isinstance(v, str) and isinstance(x, float | int)}
    given = {v.variable: x for v, x in query.case.given.items() if x is not None}
    if len(held) < len(query.case.do) or len(given) < len(query.case.given) or alone.variable in held:
        return None
    return Interventional((alone.variable,), held, given)


def _one_by_one(batch: BatchFit, query: Query) -> tuple[Floats, Floats]:
    values: list[Floats | None] = []
    variances: list[Floats] = []
    for model in batch:
        try:
            result = evaluate(query, model)
        except QueryError:  # for instance a divisor of zero
            values.append(None)
            continue
        values.append(result.mean if isinstance(result, Gaussian) else np.array([result]))
        variances.append(result.variance if isinstance(result, Gaussian) else np.zeros(0))
    first = next((v for v in values if v is not None), np.full(1, np.nan))
    none = np.full(len(first), np.nan)
    found = iter(variances)
    width = len(variances[0]) if variances else 0
    spread = [np.full(width, np.nan) if v is None else next(found) for v in values]
    return np.stack([none if v is None else v for v in values]), np.stack(spread)
