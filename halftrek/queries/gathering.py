"""Sums and differences of means as the mean of one sum.

``E[y | do(x=1)] - E[y | do(x=0)]`` is what one unit of x does. Where x varies by billions that is a tiny part of either
mean, and would be lost in their difference; in one sum what both worlds share cancels exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

from halftrek.graphs import Graph
from halftrek.queries.kinds.terms import DEEPEST, Arithmetic, Expression, Leaf, Statistic
from halftrek.queries.kinds.variants import Case, Sum, Variant

Weighted = tuple[float, Leaf | float]


def gathered(expression: Arithmetic, graph: Graph) -> Expression:
    """The same expression with its means under one condition as one mean; itself if there are no two such."""
    parts = list(_weighted(expression, 1.0))
    cases = [_condition(leaf, graph) for _, leaf in parts]
    together: dict[Case, list[tuple[float, Variant]]] = {}
    for (weight, leaf), case in zip(parts, cases, strict=True):
        if case is not None and isinstance(leaf, Statistic):
            own = leaf.case.placed_sum(leaf.of[0])
            together.setdefault(case, []).extend((weight * w, v) for w, v in own.parts)
    if sum(case is not None for case in cases) == len(together):
        return expression
    terms: list[Expression] = [Statistic("E", (Sum(tuple(sums)),), case) for case, sums in together.items()]
    rest = [(w, leaf) for (w, leaf), case in zip(parts, cases, strict=True) if case is None]
    terms += [leaf if w == 1.0 else Arithmetic("*", w, leaf) for w, leaf in rest]
    return _total(terms)


def _total(terms: list[Expression]) -> Expression:
    """The sum of all terms; of very many, the sum of two halves, which is not as deep."""
    if len(terms) > DEEPEST // 2:
        half = len(terms) // 2
        return Arithmetic("+", _total(terms[:half]), _total(terms[half:]))
    total = terms[0]
    for term in terms[1:]:
        total = Arithmetic("+", total, term)
    return total


def _weighted(expression: Expression, weight: float) -> Iterator[tuple[float, Expression]]:
    """The terms of a sum with their weights; what is no sum is one term."""
    match expression:
        case Arithmetic("+", left, right):
            yield from _weighted(left, weight)
            yield from _weighted(right, weight)
        case Arithmetic("-", left, right):
            yield from _weighted(left, weight)
            yield from _weighted(right, -weight)
        case Arithmetic("*", float(number), inner) | Arithmetic("*", inner, float(number)):
            yield from _weighted(inner, weight * number)
        case Arithmetic("/", inner, float(number)) if number:
            yield from _weighted(inner, weight / number)
        case _:
            yield weight, expression


def _condition(term: Expression, graph: Graph) -> Case | None:
    """What a mean is taken under, each variable without changes that do not reach it; None for other terms."""
    if not (isinstance(term, Statistic) and term.kind == "E"):
        return None
    case = term.case.in_worlds
    return Case({}, {_reached(v, graph): x for v, x in case.given.items()}, case.events)


def _reached(variant: Variant, graph: Graph) -> Variant:
    causes = graph.ancestors([variant.variable])
    kept = {t: c for t, c in variant.changes.items() if (t if isinstance(t, str) else t[1]) in causes}
    return Variant(variant.variable, kept)
