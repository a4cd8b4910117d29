"""May it be known, where hidden variables have causes? By the observed ones alone, by factors, else near a solution.

1. The latent projection is a less strict model of the observed variables: what it identifies is identified.
2. Factors whose measurement is identified count as observed, and every criterion runs on the graph with them.
3. The exact rank of the Jacobian tells whether an answer is locally a function of the observed covariances. If not, it
   is not identified.
4. If so, elimination tells, where it is small, whether the answer has one value. Otherwise it is "locally identified":
   no other value is near. A search for other models with the same covariances may find one far off, and shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.choices import Scope
from halftrek.errors import QueryError
from halftrek.graphs import Edge
from halftrek.graphs.hidden import scaled_by, weak_points
from halftrek.identification.clock import start_clock
from halftrek.identification.hidden.level import arrows_of_level, depends_on_level, local_verdicts
from halftrek.identification.hidden.measured import Measured
from halftrek.identification.hidden.preserved import is_preserved
from halftrek.identification.hidden.solutions import Solutions, solutions
from halftrek.identification.hidden.values import witness_of_values
from halftrek.identification.local.witness import Witness, find_witness
from halftrek.identification.verdict import Verdict
from halftrek.queries.checks import variables_of
from halftrek.queries.types import DirectEffect, ErrorCovariance, Query

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.exact.elimination import Count
    from halftrek.identification.study import Study

_QUICK = 0.5  # seconds for elimination before other solutions are searched for
_MODELS = 5  # random models at which they are
_PATIENCE = 4.0  # times the budget that the search at one of them may take
_EXACT = (
    "At a random covariance matrix of this graph, eliminating all other unknowns from the model's equations leaves one "
    "single value (checked exactly at two random points, modulo two primes)."
)
_FACTS = ("variable", "first", "second")  # of notes that name hidden variables
Decide = Callable[["Graph", Query], Verdict]


def decide_hidden(study: Study, query: Query, decide: Decide, *, scope: Scope, budget: float, witness: bool) -> Verdict:
    """The verdict on one query; ``decide`` is for graphs without such variables."""
    graph = study.graph
    asked = [v for v in variables_of(query) if v in graph.hidden]
    if not asked and is_preserved(graph, graph.hidden, query):
        plain = decide(study.projected, query)
        if plain.identified or scope == "nonparametric":
            return replace(plain, graph=graph)
    elif scope == "nonparametric":
        what = f"{asked[0]!r} is hidden" if asked else "it is about an arrow that runs beside hidden variables"
        raise QueryError(f"{query}: {what}, and what is known of it rests on linear equations; ask with scope='linear'")
    found = _by_factors(study, query, asked, decide, budget)
    if found is not None:
        return found
    if local_verdicts(study, query, asked):
        return _locally(study, query, asked, budget)
    return _not_identified(study, query, budget, witness)


def _by_factors(study: Study, query: Query, asked: list[str], decide: Decide, budget: float) -> Verdict | None:
    """Identified on the graph in which factors count as observed; None if that does not settle it."""
    graph, factors = study.graph, study.measured
    if not factors or any(v not in factors for v in asked):
        return None
    wider = study.with_factors
    if not is_preserved(graph, wider.hidden, query):
        return None
    inner = wider.project() if wider.hidden else wider
    found = decide(inner, query)
    if not found.identified or not all(_scaled(graph, inner, v, factors[v], decide) for v in asked):
        return None
    for v in asked:
        needed = arrows_of_level(graph, v, factors[v]) if depends_on_level(query, v) else []
        if needed is None or not all(_arrow_known(study, arrow, decide, budget) for arrow in needed):
            return None
    reasons = (*(f"{str(factors[v])[0].upper()}{str(factors[v])[1:]}." for v in _used(study, asked)), *found.reasons)
    return replace(
        found, graph=graph, scope="linear", recipe=None, reasons=(*reasons, *scale_sentences(graph, asked)),
        method=found.method if found.method != "observed" else "factors",
    )  # fmt: skip


def _arrow_known(study: Study, arrow: DirectEffect, decide: Decide, budget: float) -> bool:
    return decide_hidden(study, arrow, decide, scope="linear", budget=budget, witness=False).identified


def _used(study: Study, asked: list[str]) -> list[str]:
    """The factors to speak of: those in question, or all where the question is about observed variables."""
    return asked or list(study.measured)


def _scaled(graph: Graph, inner: Graph, name: str, factor: Measured, decide: Decide) -> bool:
    """Does the scale that the graph sets follow from covariances of the factor, whatever scale these have?"""
    marker, removed = scaled_by(graph, name), [v for v in graph.hidden if v not in inner]
    if marker in factor.loaded:
        return True
    if marker is None and isinstance(graph.variances.get(name), str):
        return False  # its variance is free, and nothing else gives it a scale
    if marker in removed:
        return False
    own: Query = ErrorCovariance(name, name) if marker is None else DirectEffect(name, marker)
    return is_preserved(graph, removed, own) and decide(inner, own).identified


def scale_sentences(graph: Graph, asked: list[str]) -> tuple[str, ...]:
    """On which scale an answer about hidden variables is."""
    found = []
    for v in asked:
        marker = scaled_by(graph, v)
        if marker is not None:
            weight = graph.known[Edge(v, "->", marker)]
            found.append(f"The scale of {v} is that of {marker}: its loading is fixed at {weight:g}.")
        elif isinstance(held := graph.variances.get(v, 1.0), float):
            found.append(
                f"The scale of {v} is a convention: its error has the variance {held:g}, and its sign is free."
            )
    return tuple(found)


def _locally(study: Study, query: Query, asked: list[str], budget: float) -> Verdict:
    """No other value is near: whether one is anywhere, by elimination and by a search for it."""
    graph, scales = study.graph, scale_sentences(study.graph, asked)
    count = _counted(study, query, asked, min(budget, _QUICK))
    second = None if count is not None and count.values == 1 else _second(study, query, asked, budget)
    if count is None:
        count = _counted(study, query, asked, budget)
    if count is not None and count.values == 1:
        reason = (
            "The variances and covariances of the observed variables leave one single value. No rule for factors gives "
            "it; an estimate comes from fitting the model."
        )
        return Verdict(
            query, graph, "identified", "elimination", "linear", degree=1, reasons=(reason, *scales), details=(_EXACT,)
        )
    reason = (
        "No other value near it fits the observed covariances equally well; that none far off does was not shown. An "
        "estimate is the value where the fit ended."
    )
    if second is not None:
        reason = (
            "No other value near it fits the observed covariances equally well, but one far off does, from other "
            "coefficients: no amount of data tells them apart."
        )
    open_ = [v for v in graph.hidden if v not in study.measured]
    why = () if not open_ else (f"No rule for factors covers hidden {', '.join(open_[:4])}.",)
    return Verdict(
        query, graph, "locally identified", "jacobian", "linear", witness=second, reasons=(reason, *why, *scales),
        degree=count.values if count is not None and count.exact else None,
    )  # fmt: skip


def _counted(study: Study, query: Query, asked: list[str], seconds: float) -> Count | None:
    """How many values there are; all questions about a graph share the time."""
    from halftrek.identification.hidden.counting import count_hidden

    clock = study.memory.setdefault(("counting", seconds), start_clock(seconds, study.progress))
    return None if clock.over() else count_hidden(study, query, asked, clock)


def _second(study: Study, query: Query, asked: list[str], budget: float) -> Witness | None:
    """Two models with the same covariances and different answers, from searches at a few random models.

    The work is bounded, so that the time is there for a machine that is busy: the same graph has the same verdict.
    """
    values = any(depends_on_level(query, v) for v in asked)
    for number in range(_MODELS):
        key = ("solutions", number)
        if key not in study.memory:
            clock = start_clock(_PATIENCE * budget, study.progress)
            study.memory[key] = solutions(study.graph, np.random.default_rng(number), clock)
        met: Solutions | None = study.memory[key]
        if met is not None:
            proof = witness_of_values(met, query) if values else met.witness(query)
            if proof is not None:
                return proof
    return None


def _not_identified(study: Study, query: Query, budget: float, witness: bool) -> Verdict:
    reason = (
        "Other values of the coefficients give the same variances and covariances of everything that is observed, and "
        "another answer: no amount of data tells them apart."
    )
    asked = [v for v in variables_of(query) if v in study.graph.hidden]
    weak = [n for n in weak_points(study.graph) if not asked or any(n.facts.get(k) in asked for k in _FACTS)]
    reasons = (reason, *(f"{str(n)[0].upper()}{str(n)[1:]}." for n in weak))
    proof = None
    if witness:
        values = any(depends_on_level(query, v) for v in asked)
        proof = None if values else find_witness(study.graph, query, clock=start_clock(budget, study.progress))
        proof = _second(study, query, asked, budget) if proof is None else proof
    return Verdict(query, study.graph, "not identified", "jacobian", "linear", witness=proof, reasons=reasons)
