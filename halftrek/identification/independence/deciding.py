"""Is a question answered by errors that are independent, where covariances do not answer it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.errors import QueryError
from halftrek.graphs import quoted
from halftrek.graphs.hidden import refuse_hidden
from halftrek.identification.composites import effects_behind_variant
from halftrek.identification.independence.fibre import Fibre, fibre_of, says_more, tellers
from halftrek.identification.local.functionals import composite_values, functionals
from halftrek.identification.local.witness import Witness, checked_witness, is_model, starting_values
from halftrek.identification.verdict import Verdict
from halftrek.queries.checks import all_variants, terms_of
from halftrek.queries.types import (
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
    is_composite,
)

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.local.parameters import Point
    from halftrek.identification.numbers.fields import Array

METHOD = "independent errors"
NEEDS = "That takes errors that are not normal: normal errors that are uncorrelated are independent, and tell no more."
_TRIALS = 12


def beyond_covariances(graph: Graph, query: Query, *, witness: bool = True) -> Verdict:
    """The verdict on a question that covariances leave open."""
    refuse_hidden(graph, 'errors="independent"')
    fibre = fibre_of(graph)
    if all(_constant(fibre, asked) for asked in _needed(graph, query)):
        moving = equations_behind(graph, query)
        reasons = (_why(graph, moving), NEEDS)
        formula = _formula(graph, query, moving)
        return Verdict(query, graph, "identified", METHOD, "non-normal", formula, None, 1, reasons=reasons)
    proof = None if says_more(graph) else _find_witness(fibre, query)
    if proof is None:
        reason = (
            "Independent errors were not found to determine it, and no two models were found that prove the opposite."
        )
        if says_more(graph):
            reason = (
                "With dependence of any form among the children of a hidden cause it is not determined; whether the "
                "form that this graph gives it, or the weights that it fixes, tell more was not found out."
            )
        return Verdict(query, graph, "undecided", METHOD, "non-normal", reasons=(reason,))
    reason = (
        "Other coefficients, with errors that are mixed from the same ones and independent wherever the graph says so, "
        "give the same distribution of everything that is observed, and another answer: no amount of data tells them "
        "apart, whatever the shape of the errors."
    )
    shown = proof if witness else None
    return Verdict(query, graph, "not identified", METHOD, "non-normal", witness=shown, reasons=(reason,))


def _needed(graph: Graph, query: Query) -> list[Query]:
    """Questions about coefficients that, with the distribution of what is observed, answer the query.

    What a variable would be in a changed world is a sum of observed ones, once the effects behind it are known; means
    and variances without a condition are numbers of their own, in which effects may cancel.
    """
    if isinstance(query, Distribution) and query.asks == "intervention":
        return [Distribution.after((*query.names, *query.seen), dict.fromkeys(query.do))]
    terms = terms_of(query)
    if not isinstance(query, Distribution) and all(map(_plain, terms)):
        return [query]
    found: list[Query] = []
    for term in terms:
        if isinstance(term, Standardized):
            found.append(term.effect)
        elif isinstance(term, Statistic | Probability | Quantile | Distribution):
            found += (e for v in all_variants(term) for e in effects_behind_variant(graph, v))
        else:
            found.append(term)
    return list(dict.fromkeys(found))


def _plain(term: Query) -> bool:
    """True for numbers that depend on coefficients and covariances alone, whatever the shape of the errors."""
    if isinstance(term, Statistic):
        return term.kind in ("E", "Var", "Cov") and not term.case.given and not term.case.events
    return isinstance(term, DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance)


def _constant(fibre: Fibre, query: Query) -> bool:
    """True if models that share a distribution agree; checked modulo two primes, at points of random models each."""
    for number in (0, 1):
        here, there = fibre.moved(number, seed=501 + number)
        if (_values(query, here) != _values(query, there)).any():
            return False
    return True


def _values(query: Query, point: Point) -> Array:
    """The numbers of a question at a point, without their derivatives where these are many."""
    return composite_values(query, point) if is_composite(query) else functionals(query, point).values


def _find_witness(fibre: Fibre, query: Query) -> Witness | None:
    """Two models with one distribution and different answers."""
    rng = np.random.default_rng(0)
    for _ in range(_TRIALS):
        here, there = fibre.real_pair(starting_values(fibre.table, rng), rng, 1.0)
        if not (is_model(here) and is_model(there)):
            continue
        try:
            rows = np.abs(functionals(query, here).values - functionals(query, there).values)
            found = checked_witness(here, there, query, int(np.argmax(rows))) if len(rows) else None
        except QueryError:  # no answer in one of the models
            continue
        if found is not None:
            return found
    return None


# -- the equations behind an answer --------------------------------------------------------------


def equations_behind(graph: Graph, query: Query) -> tuple[str, ...]:
    """Variables whose own equations have weights that the answer depends on, in their order."""
    fibre = fibre_of(graph)
    point = fibre.moved(0, seed=501)[0]
    moving = {k for asked in _needed(graph, query) for k in functionals(asked, point).moving}
    entries = [e for e in fibre.table.entries if e.parameter in moving]
    targets = {v for e in entries for v in ((e.target,) if e.kind == "direct" else (e.source, e.target))}
    return tuple(v for v in graph.topological_order if v in targets)


def equations_within(graph: Graph, targets: tuple[str, ...]) -> tuple[str, ...]:
    """The same with all equations whose errors tell them, directly or by others."""
    free = fibre_of(graph).graph
    found, waiting = set(targets), list(targets)
    while waiting:
        v = waiting.pop()
        if free.parents(v):
            new = set(tellers(free, v)) - found
            found |= new
            waiting += new
    return tuple(v for v in graph.topological_order if v in found)


def independent_pairs(graph: Graph, targets: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of equations whose errors are independent and which tell the weights of the targets."""
    free, order = fibre_of(graph).graph, graph.topological_order
    within = equations_within(graph, targets)
    pairs = {frozenset((v, s)) for v in within if free.parents(v) for s in tellers(free, v)}
    return tuple((u, v) for i, u in enumerate(order) for v in order[i + 1 :] if frozenset((u, v)) in pairs)


def _why(graph: Graph, targets: tuple[str, ...]) -> str:
    pairs = ", ".join(f"{u} and {v}" for u, v in independent_pairs(graph, targets))
    return (
        f"Covariances leave it open. The graph has no arc between {pairs}, so that their errors are independent, and "
        f"only one value leaves them so."
    )


def _error(graph: Graph, v: str) -> str:
    return " - ".join([quoted(v), *(f"[{quoted(p)} -> {quoted(v)}] {quoted(p)}" for p in graph.parents(v))])


def _formula(graph: Graph, query: Query, targets: tuple[str, ...]) -> str:
    pairs = "; ".join(f"e({u}) and e({v}) are independent" for u, v in independent_pairs(graph, targets))
    errors = "; ".join(f"e({quoted(v)}) = {_error(graph, v)}" for v in equations_within(graph, targets))
    return f"{query} for which {pairs}, where {errors}"
