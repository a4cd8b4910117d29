"""The paper's tables and matrices, number by number, beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.models import CGLSCM
from halftrek.reproduction.printed import PrintedExperiment, PrintedQuery
from halftrek.reproduction.results import Comparison


class Models(NamedTuple):
    """The model that made the sample, and three fits of it."""

    original: CGLSCM
    cgl_go: CGLSCM
    exact_unit: CGLSCM
    exact: CGLSCM


def questions(query: PrintedQuery) -> tuple[str, str]:
    """A line of the paper's table as the two numbers it holds."""
    world = f"{query.outcome} | do({query.cause}=1)"
    return f"E[{world}]", f"Var[{world}]"


def answer(model: CGLSCM, query: PrintedQuery) -> tuple[float, float]:
    """Mean and variance of the outcome when the cause is set to one."""
    world = model.do({query.cause: 1.0}).distribution(query.outcome)
    return float(world.mean[0]), float(world.variance[0])


def compare_answers(printed: PrintedExperiment, models: Models) -> Iterator[Comparison]:
    """Table 1 or 2: a mean and a variance for each query."""
    for query in printed.queries:
        columns = [answer(m, query) for m in models]
        for part, question in enumerate(questions(query)):
            original, cgl_go, exact_unit, exact = (column[part] for column in columns)
            estimate = (query.mean, query.variance)[part]
            yield Comparison(question, original, estimate, cgl_go, exact_unit, exact)


def compare_parameters(printed: PrintedExperiment, models: Models) -> Iterator[Comparison]:
    """mu, T, B and C of the appendix, entry by entry.

    The sign of a row of C is never determined: it is turned to the original's. With free noise variances its entries
    are not determined either, only the error covariances that they give.
    """
    original = models.original
    names, latents = original.names, original.latents
    for j, v in enumerate(names):
        yield _row(f"mu {v}", printed.mu[j], [m.mu[j] for m in models])
    for i, j in np.argwhere(original.T != 0.0):
        yield _row(f"T {names[i]} {names[j]}", printed.T[i, j], [m.T[i, j] for m in models])
    for i, j in np.argwhere(np.triu(original.B, 1) != 0.0):
        yield _row(f"B {names[i]} {names[j]}", printed.B[i, j], [m.B[i, j] for m in models])
    for k, j in np.argwhere(original.C != 0.0):
        values = [_signed(C, original.C)[k, j] for C in (printed.C, *(m.C for m in models[:3]))]
        yield _row(f"C {latents[k]} {names[j]}", values[0], [*values[1:], None])
    for i, j in np.argwhere(np.triu(original.omega, 1) != 0.0):
        from_paper = (printed.C.T @ printed.C)[i, j]
        yield _row(f"C'C {names[i]} {names[j]}", from_paper, [m.omega[i, j] for m in models])


def _row(quantity: str, paper: float, ours: list[float | None]) -> Comparison:
    original, cgl_go, exact_unit = (float(x) for x in ours[:3] if x is not None)
    exact = None if ours[3] is None else float(ours[3])
    return Comparison(quantity, original, float(paper), cgl_go, exact_unit, exact)


def _signed(C: Floats, like: Floats) -> Floats:
    agree = np.sum(C * like, axis=1)
    return np.asarray(np.where(agree < 0.0, -1.0, 1.0)[:, None] * C)
