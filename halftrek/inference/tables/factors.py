"""Hidden variables of a fitted model as numbers: scores of rows, and how well items measure a factor.

With S the implied covariances, o the observed and h the hidden variables, scores of a row x are

- regression: ``E[h | x] = m_h + S_ho S_oo^-1 (x - m_o)``, nearest to the truth on average, and drawn to the mean;
- Bartlett: ``m_h + (L'V^-1 L)^-1 L'V^-1 (x - m_o)`` over the variables that hidden ones cause, with
  ``L = S_oh S_hh^-1`` and ``V = S_oo - L S_ho``: unbiased for the row's own value, and more variable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.bottom.choices import Scoring
from halftrek.errors import InputError, ModelError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph


@dataclass(frozen=True)
class Reliability:
    """How well the observed effects of a hidden variable measure it.

    ``omega``: share of the variance of the sum of its items that it has (composite reliability); ``ave``: mean of the
    squared standardised loadings (average variance extracted); both of items, which do nothing but measure it.
    ``regression`` and ``bartlett``: squared correlation of the scores with the variable itself.
    """

    factor: str
    items: int
    omega: float
    ave: float
    regression: float
    bartlett: float


def needs_hidden(graph: Graph, what: str) -> None:
    """Raise InputError for a graph without hidden variables that are variables of the model."""
    if not graph.hidden:
        raise InputError(
            f"{what} is about hidden variables with causes or covariances, and the graph has none. A hidden root "
            f"becomes one by its scale: write for instance 'variance F' into the text of the graph"
        )


def scores(fit: Fitted, rows: Floats, method: Scoring = "regression") -> Floats:
    """A column for each hidden variable; ``rows`` have the observed ones, nan where a value is missing.

    Regression takes the values that there are; Bartlett's scores are of complete rows.
    """
    needs_hidden(fit.graph, "scores()")
    if method not in ("regression", "bartlett"):
        raise InputError(f"method must be 'regression' or 'bartlett', not {method!r}")
    model, p = fit.model, len(fit.graph)
    apart = rows - model.mean[:p]
    if method == "bartlett":
        return np.asarray(model.mean[p:] + apart @ bartlett_weights(fit))
    found = np.empty((len(rows), len(model.names) - p))
    seen, which = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
    for k, there in enumerate(seen):
        mine, at = which.reshape(-1) == k, np.flatnonzero(there)
        found[mine] = model.mean[p:] + apart[mine][:, at] @ regression_weights(fit, at)
    return found


def regression_weights(fit: Fitted, at: Ints) -> Floats:
    """What each of some observed variables counts for in regression scores."""
    model, p = fit.model, len(fit.graph)
    return np.linalg.solve(model.cov[np.ix_(at, at)], model.cov[at, p:])


def bartlett_weights(fit: Fitted) -> Floats:
    """What each observed variable counts for in Bartlett's scores; nothing for those that no hidden one causes."""
    model, graph, p = fit.model, fit.graph, len(fit.graph)
    below = graph.descendants(graph.hidden)
    at = np.array([i for i, v in enumerate(graph.observed) if v in below], dtype=np.intp)
    across = model.cov[at, p:]
    L = np.linalg.solve(model.cov[p:, p:], across.T).T
    inner = np.linalg.solve(model.cov[np.ix_(at, at)] - L @ across.T, L)
    bend = L.T @ inner
    if np.linalg.cond(bend) > 1e12:
        raise ModelError(
            "Bartlett's scores do not exist here: the observed variables do not tell the hidden ones apart row by row "
            "(fewer effects than hidden variables, or a factor of factors). Ask for method='regression'"
        )
    weights = np.zeros((p, len(graph.hidden)))
    weights[at] = np.linalg.solve(bend, inner.T).T
    return weights


def is_item(graph: Graph, factor: str, effect: str) -> bool:
    """True if an effect of a factor does nothing but measure it: it has no other cause and no effect.

    Its error may go together with those of other effects of the factor.
    """
    if effect not in graph.observed or graph.parents(effect) != (factor,) or graph.children(effect):
        return False
    return set(graph.spouses(effect)) <= set(graph.children(factor))


def reliabilities(fit: Fitted) -> list[Reliability]:
    """One for each hidden variable."""
    needs_hidden(fit.graph, "reliability()")
    model, graph, p = fit.model, fit.graph, len(fit.graph)
    place = {v: i for i, v in enumerate(model.names)}
    spread = np.diag(model.cov)
    told = np.einsum("oh,oh->h", model.cov[:p, p:], regression_weights(fit, np.arange(p))) / spread[p:]
    try:
        weights = bartlett_weights(fit)
        unbiased = spread[p:] / np.einsum("oh,op,ph->h", weights, model.cov[:p, :p], weights)
    except ModelError:
        unbiased = np.full(len(graph.hidden), np.nan)
    rows = []
    for k, v in enumerate(graph.hidden):
        items = [place[c] for c in graph.children(v) if is_item(graph, v, c)]
        loading, variance = model.T[place[v], items], spread[place[v]]
        omega = ave = float("nan")
        if len(items) > 1:
            true = float(loading.sum() ** 2 * variance)
            omega = true / (true + float(model.omega[np.ix_(items, items)].sum()))
            ave = float(np.mean(loading**2 * variance / spread[items]))
        rows.append(Reliability(v, len(items), omega, ave, float(told[k]), float(unbiased[k])))
    return rows
