"""Which questions mean the same once hidden variables are projected out.

What is observed after any intervention stays as it is, and so do total effects. The weight of an arrow does not where
removed variables lie between its ends, nor does the covariance of errors that removed variables add to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from halftrek.graphs import Graph
from halftrek.queries.checks import all_variants, terms_of
from halftrek.queries.kinds.variants import variants_in
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
)


def is_preserved(graph: Graph, removed: Collection[str], query: Query) -> bool:
    """True if the question is the same of the graph without these hidden variables."""
    if not removed:
        return True
    for term in terms_of(query):
        asked = term.effect if isinstance(term, Standardized) else term
        if isinstance(asked, ErrorCovariance):
            if any(u in removed for v in (asked.first, asked.second) for u in graph.parents(v)):
                return False
        elif any(_detour(graph, removed, u, v) for u, v in _edges(asked)):
            return False
    return True


def _edges(term: Query) -> Iterator[tuple[str, str]]:
    """Arrows whose own weights a term is about."""
    match term:
        case DirectEffect(cause, effect):
            yield cause, effect
        case PathEffect(path):
            yield from pairwise(path)
        case Statistic() | Probability() | Quantile() | Distribution():
            for outer in all_variants(term):
                for variant in variants_in(outer):
                    yield from (target for target in variant.changes if not isinstance(target, str))


def _detour(graph: Graph, removed: Collection[str], cause: str, effect: str) -> bool:
    """True if a directed path leads from one to the other through removed variables only."""
    waiting, seen = [c for c in graph.children(cause) if c in removed], set[str]()
    while waiting:
        v = waiting.pop()
        if v in seen:
            continue
        seen.add(v)
        kids = graph.children(v)
        if effect in kids:
            return True
        waiting += [c for c in kids if c in removed]
    return False
