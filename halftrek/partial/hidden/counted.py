"""Hidden variables whose covariances the data tell: then all models of the data have one covariance of all variables.

Where every hidden variable counts as observed (``identification.hidden.measured``), the models with the fitted
covariance of the observed variables are those with the fitted covariance of all variables. So whatever is computed over
the models of one covariance is computed on the graph in which hidden variables are ordinary ones. What the graph says
beside edges (a variance that is held, an intercept) must then be the same in all these models, or it would restrict
them: it is asked of the same graph whether it is identified.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import GraphError, InputError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.graphs.hidden import scaled_by, settled
from halftrek.identification.decision import decide
from halftrek.identification.hidden.level import arrows_of_level, depends_on_level
from halftrek.identification.hidden.measured import Measured, measured, with_known_loadings
from halftrek.identification.study import Study
from halftrek.models import CGLSCM
from halftrek.partial.assumptions.kinds import AbsoluteSum, Assumption, Norm, Within, names_of
from halftrek.partial.assumptions.quantities import ErrorCovariance as Covariance
from halftrek.partial.assumptions.quantities import Weight
from halftrek.queries import Query, variables_of
from halftrek.queries.types import DirectEffect, ErrorCovariance

BUDGET = 2.0  # seconds for one number that must be known
ZERO = 1e-7  # share of a variance below which an error has none


@dataclass(frozen=True, eq=False)
class Counted:
    """``graph``: the graph with its hidden variables as ordinary ones. ``why_not`` is empty, or why they are not.

    ``loose``: hidden variables whose scale the data do not tell, and nothing that is asked depends on it.
    """

    graph: Graph
    why_not: str = ""
    loose: tuple[str, ...] = ()


def as_observed(graph: Graph) -> Graph:
    """The graph in which hidden variables are ordinary ones; what is known of edges stays, their scales among it."""
    return graph.with_(observed=graph.nodes, hidden=(), variances={}, intercepts={})


def counted(
    graph: Graph, query: Query | None = None, assumed: Sequence[Assumption] = (), *, held: Collection[str] = ()
) -> Counted:
    """Whether the hidden variables of a (relaxed) graph count as observed for a question under assumptions.

    ``held`` are variables whose intercepts a fit holds beside those of the graph.
    """
    found, linear, seen = measured(graph), with_known_loadings(graph), as_observed(graph)
    asks = _Asks(graph, seen, linear | found, linear.keys() - found.keys(), query, tuple(assumed), frozenset(held))
    for why in (asks.unmeasured, asks.unscaled, asks.held_variance, asks.held_level, asks.unknown_level):
        if text := why():
            return Counted(seen, text)
    return Counted(seen, "", asks.loose)


@dataclass(frozen=True, eq=False)
class _Asks:
    """Reasons why not, one method each; "" for none."""

    graph: Graph
    seen: Graph
    found: dict[str, Measured]
    linear: Collection[str]  # those that count only because all loadings of their items are known
    query: Query | None
    assumed: tuple[Assumption, ...]
    held: frozenset[str]

    def unmeasured(self) -> str:
        missing = [v for v in self.graph.hidden if v not in self.found]
        names = ", ".join(map(repr, missing[:3]))
        return f"the effects of hidden {names} do not tell all covariances with others" if missing else ""

    def unscaled(self) -> str:
        for v in self.graph.hidden:
            marker = scaled_by(self.graph, v)
            if marker is not None and marker not in self.found[v].loaded:
                first = next(iter(sorted(self.found[v].loaded)))
                return (
                    f"the scale of hidden {v!r} is set by {v} -> {marker}, which is no plain item of it; set it by "
                    f"another, {v} -> {first} [1]"
                )
            if marker is None and isinstance(self.graph.variances.get(v), str) and v not in settled(self.graph)[0]:
                return f"hidden {v!r} has no scale; fix a loading, {v} -> {self.found[v].by[0]} [1]"
        return ""

    @cached_property
    def loose(self) -> tuple[str, ...]:
        """Hidden variables on the scale of their error, whose variance depends on what the data do not tell."""
        held = settled(self.graph)[0]
        alone = [v for v in self.graph.hidden if scaled_by(self.graph, v) is None and isinstance(held.get(v), float)]
        return tuple(v for v in alone if not self._known(ErrorCovariance(v, v)))

    def held_variance(self) -> str:
        loose = self.loose
        for v, value in settled(self.graph)[0].items():
            if v in loose:
                if self._matters(v):
                    item = self.found[v].by[0]
                    return (
                        f"the scale of hidden {v!r} is that its error has the variance {value:g}, and the data do not "
                        f"tell how large that error is; fix a loading instead, {v} -> {item} [1]"
                    )
            elif not self._known(ErrorCovariance(v, v)):
                return f"the error variance of {v!r} is held, and models with this covariance have others"
        return ""

    def _matters(self, v: str) -> bool:
        """Does the question, an assumption or a known coefficient change with the scale of a hidden variable?"""
        if self.query is not None and v in variables_of(self.query):
            return True
        if any(isinstance(x, str) or x != 0.0 for e, x in self.graph.known.items() if v in (e.first, e.second)):
            return True
        return any(v in names_of(a) and _in_units(a) for a in self.assumed)

    def held_level(self) -> str:
        """An intercept that is held says something of the weights into its variable, unless these are known."""
        hidden, said = self.graph.hidden, settled(self.graph)[1]
        held = {v for v in said if v not in hidden or v in self.graph.intercepts} | self.held
        if not held:
            return ""
        for v in (*sorted(held), *(v for v in hidden if v in said)):
            for u in self.graph.parents(v):
                if not self._known(DirectEffect(u, v)):
                    return f"intercepts are held, that of {sorted(held)[0]!r} for one, and {u} -> {v} is not known"
        return ""

    def unknown_level(self) -> str:
        asked = [] if self.query is None else [v for v in variables_of(self.query) if v in self.graph.hidden]
        for v in asked:
            assert self.query is not None
            if not depends_on_level(self.query, v):
                continue
            items = self.found[v].by
            told = v not in self.linear or all(isinstance(self.graph.intercepts.get(t), float) for t in items)
            needed = arrows_of_level(self.graph, v, self.found[v] if told else None)
            if needed is None or not all(self._known(arrow) for arrow in needed):
                return (
                    f"{self.query} is about values of hidden {v!r}, and its mean is not known; ask for an effect on or "
                    f"of {v}"
                )
        return ""

    @cached_property
    def _study(self) -> Study:
        return Study(self.seen)

    def _known(self, query: Query) -> bool:
        return decide(self._study, query, scope="linear", budget=BUDGET, witness=False).identified


def _in_units(assumption: Assumption) -> bool:
    """True if an assumption is about numbers with units: weights, and covariances of errors."""
    if isinstance(assumption, Norm | AbsoluteSum):
        return True
    return isinstance(assumption, Within) and isinstance(assumption.quantity, Weight | Covariance)


def held_beside(fit: Fitted) -> tuple[dict[str, float], dict[str, float]]:
    """Error variances and intercepts that a fit holds and its graph says nothing of."""
    variances, levels = settled(fit.graph) if fit.graph.hidden else ({}, {})
    noise = {v: x for v, x in fit.options.noise if v not in variances}
    return noise, {v: x for v, x in fit.options.intercepts if v not in levels}


def refuse_uncounted(fit: Fitted, what: str) -> None:
    """Raise where hidden variables do not count as observed, so that numbers would hang on what data do not tell."""
    if not fit.graph.hidden:
        return
    if why := counted(fit.graph, held=held_beside(fit)[1]).why_not:
        raise GraphError(
            f"{what} is not available here: {why}. Ask it of the graph without hidden variables, graph.project(), if "
            f"only the observed ones matter"
        )
    if rigid := without_errors(fit.model):
        raise InputError(
            f"{what} is not available here: the error of {rigid[0]!r} has no variance in this fit, so that nothing is "
            f"left to vary. The graph may fit badly, or an item may be the factor itself; see fit.summary()"
        )


def without_errors(model: CGLSCM) -> list[str]:
    """Variables whose error has no variance: what there is of them follows from others."""
    spread = np.diag(model.cov)
    return [v for v, own, all_ in zip(model.names, np.diag(model.omega), spread, strict=True) if own <= ZERO * all_]


def on_scale(model: CGLSCM, graph: Graph, loose: Collection[str]) -> CGLSCM:
    """The model of the graph with its hidden variables hidden, those without a scale on that which the graph asks for.

    A hidden F times s: weights into F and covariances of its error times s, weights out of F divided by s.
    """
    size: Floats = np.ones(len(model.names))
    held = settled(graph)[0]
    for v in loose:
        i = model.names.index(v)
        wanted = held[v]
        assert isinstance(wanted, float)  # or it would have no scale
        size[i] = np.sqrt(wanted / model.omega[i, i])
    T, W = model.T * (size / size[:, None]), model.W * np.outer(size, size)
    return CGLSCM(model.names, T, model.C * size, model.mu * size, W, tuple(graph.latents), graph)
