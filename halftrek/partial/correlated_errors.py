"""What an effect would be if two errors were correlated after all: refits over a range of fixed covariances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halftrek.arrays import Floats
from halftrek.errors import GraphError, InputError, QueryError
from halftrek.frames import as_frame, library_of
from halftrek.graphs import Edge, Graph
from halftrek.models import Gaussian
from halftrek.portable import Portable
from halftrek.queries import Query, evaluate
from halftrek.results.inputs import read_data, read_graph, read_question
from halftrek.results.workflow import fit as fit_graph
from halftrek.upward import Tabled

if TYPE_CHECKING:
    from halftrek.data import Moments, Patterns
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

_REACH = 0.75  # of the errors' standard deviations, to either side
_POINTS = 21


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Portable, Tabled):
    """An answer as a function of the covariance of two errors; ``correlation`` is the same covariance without units.

    ``zero`` and ``zero_correlation`` say where the answer is zero; None if it is not within the range.
    """

    question: str
    arc: tuple[str, str]
    covariance: Floats
    correlation: Floats
    estimates: Floats
    intervals: Floats
    level: float
    zero: float | None = None
    zero_correlation: float | None = None
    library: str = ""

    def to_frame(self) -> Any:
        """A tidy frame: covariance correlation est ci_low ci_high."""
        low, high = self.intervals[:, 0].tolist(), self.intervals[:, 1].tolist()
        columns = {"covariance": self.covariance.tolist(), "correlation": self.correlation.tolist()}
        return as_frame({**columns, "est": self.estimates.tolist(), "ci_low": low, "ci_high": high}, self.library)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def sensitivity(
    graph: object,
    data: object,
    question: str | Query,
    *,
    arc: tuple[str, str],
    values: Sequence[float] | None = None,
    level: float = 0.95,
) -> Sensitivity:
    """The answer for each fixed covariance of the errors of ``arc``, which the graph may have or lack.

    ``values`` are covariances; the default is a range around zero. Everything else is estimated again each time, from
    all values that rows with holes have. Covariances that no model of the data has are left out.
    """
    chosen, query = read_graph(graph), read_question(question)
    first, second = _pair(chosen, arc)
    seen = read_data(chosen, data)  # once, so that rows are not read for every refit
    given = _range(chosen, seen, (first, second)) if values is None else np.asarray(values, dtype=float)
    if given.ndim != 1 or len(given) < 2:
        raise InputError("sensitivity: values must be at least two covariances")

    def ask(covariance: float) -> tuple[Fit, Answer] | None:
        fitted = _fitted(chosen, seen, (first, second), covariance)
        return None if fitted is None else (fitted, fitted.query(query, level=level))

    found = [(float(c), result) for c in np.sort(given) if (result := ask(float(c))) is not None]
    if len(found) < 2:
        raise InputError(f"sensitivity: no model of these data has such covariances of the errors of {first}, {second}")
    for _, (_, answer) in found:
        if np.ndim(answer.value):
            raise QueryError(f"sensitivity: {answer.query} has several outcomes; ask for one")
    covariances = np.array([c for c, _ in found])
    estimates = np.array([float(answer.value) for _, (_, answer) in found])
    intervals = np.array([_ends(answer) for _, (_, answer) in found])
    correlations = np.array([_correlation(fitted, first, second) for _, (fitted, _) in found])
    zero = _zero(covariances, estimates, lambda c: _value(_fitted(chosen, seen, (first, second), c), query))
    at_zero = None if zero is None else _fitted(chosen, seen, (first, second), zero)
    return Sensitivity(
        str(query),
        (first, second),
        covariances,
        correlations,
        estimates,
        intervals,
        level,
        zero,
        None if at_zero is None else _correlation(at_zero, first, second),
        library_of(data),
    )


def _pair(graph: Graph, arc: Sequence[str]) -> tuple[str, str]:
    if isinstance(arc, str) or len(tuple(arc)) != 2:
        raise InputError(f'arc is a pair of variables, like arc=("x", "y"), not {arc!r}')
    first, second = arc
    for v in (first, second):
        graph.parents(v)  # an unknown or hidden name is refused here, with a hint
    if first == second:
        raise GraphError(f"arc names {first!r} twice; it takes two variables")
    return first, second


def _fitted(graph: Graph, seen: Moments | Patterns, arc: tuple[str, str], covariance: float) -> Fit | None:
    """The fit with the errors' covariance held; None if no covariance matrix of errors has it."""
    held = graph.with_(bidirected=(*graph.bidirected, arc))
    try:
        with np.errstate(all="ignore"):  # far from what the data allow
            fitted = fit_graph(held, seen, coefficients={str(Edge(arc[0], "<->", arc[1])): covariance})
    except InputError:
        return None
    return fitted if fitted.converged else None


def _range(graph: Graph, seen: Moments | Patterns, arc: tuple[str, str]) -> Floats:
    """Covariances around zero, as large as the errors without the arc allow and a little less."""
    arcs = [e for e in graph.bidirected if set(e) != set(arc)]
    free = graph.with_(bidirected=arcs)
    errors = fit_graph(free, seen).model.omega
    names = free.observed
    i, j = names.index(arc[0]), names.index(arc[1])
    reach = _REACH * float(np.sqrt(errors[i, i] * errors[j, j]))
    half = np.linspace(0.0, reach, _POINTS // 2 + 1)  # zero itself is among them, and not 1e-16
    return np.concatenate([-half[:0:-1], half])


def _correlation(fitted: Fit, first: str, second: str) -> float:
    i, j = fitted.model.names.index(first), fitted.model.names.index(second)
    W = fitted.model.W
    return float(W[i, j] / np.sqrt(W[i, i] * W[j, j]))


def _ends(answer: Answer) -> tuple[float, float]:
    if answer.interval is None:
        return float("nan"), float("nan")
    low, high = answer.interval
    return float(low), float(high)


def _value(fitted: Fit | None, query: Query) -> float:
    """The answer alone; that it is identified was found at the ends of the search."""
    if fitted is None:
        return float("nan")
    result = evaluate(query, fitted.model)
    return float(result.mean[0]) if isinstance(result, Gaussian) else float(result)


def _zero(covariances: Floats, estimates: Floats, value: Callable[[float], float]) -> float | None:
    """The first covariance at which the answer is zero, by refits between the two that enclose it."""
    signs = np.sign(estimates)
    exact = np.flatnonzero(signs == 0)
    if len(exact):
        return float(covariances[exact[0]])
    from scipy.optimize import brentq

    for turn in np.flatnonzero(signs[1:] * signs[:-1] < 0):
        low, high = covariances[turn], covariances[turn + 1]
        if value(low) * value(high) < 0.0:  # an answer may be from a higher maximum than the fit's, and turn by that
            return float(brentq(value, low, high, rtol=1e-8, xtol=1e-10 * float(np.abs(covariances).max())))
    return None
