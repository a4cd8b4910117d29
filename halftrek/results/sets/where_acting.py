"""A question that is refused of a fit in which categories act, or columns are ordered: in words that hold there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from halftrek.errors import QueryError
from halftrek.estimation import Fitted
from halftrek.graphs import Edge
from halftrek.identification import Verdict, identify
from halftrek.identification.beside.next_steps import NextStep, which_effects
from halftrek.inference.evidence.layered import margins_of
from halftrek.inference.standard_errors.acting import value_where_acting
from halftrek.queries import Distribution

KNOWN = 0.1234567  # of no meaning: an arc that is known, whatever its number
LINEAR = "Other values of the coefficients "  # how the reason of linear models begins


def with_kinds(fitted: Fitted, verdict: Verdict) -> Verdict:
    """The same, whose lines to paste say what columns are."""
    kinds = tuple((v, margin.kind) for v, margin in margins_of(fitted).items())
    return replace(verdict, next_steps=tuple(replace(step, kinds=kinds) for step in verdict.next_steps))


def refused_where_acting(fitted: Fitted, verdict: Verdict) -> Verdict:
    """Why there is no number, and what can be asked.

    What linear models leave open no other models with these arrows determine. Two linear models with one covariance
    matrix are none of these, and are not shown.
    """
    acts = [v for v, margin in margins_of(fitted).items() if margin.kind == "acts"]
    one = len(acts) == 1
    why = (
        f"Where {' and '.join(acts)} act{'s' * one} as {'a category' if one else 'categories'}, other effects go with "
        f"other correlations of the errors and explain the rows as well, but for what the exact shape of the errors "
        f"may tell: a number would rest on that alone, and none is given."
    )
    steps = [*_bounds(fitted, verdict), *(step for step in verdict.next_steps if _holds(fitted, step))]
    if len(steps) < 2 and not any(step.way in ("bounds", "effects") for step in steps):
        steps.append(which_effects(fitted.graph, verdict.query))
    kept = [reason for reason in verdict.reasons if not reason.startswith(LINEAR)]
    found = replace(verdict, scope="nonparametric", witness=None, reasons=(*kept, why), next_steps=tuple(steps))
    return with_kinds(fitted, found)


def _bounds(fitted: Fitted, verdict: Verdict) -> Iterator[NextStep]:
    """A limit on one arc, if that is enough: the only bounds that are known where a category acts."""
    assert fitted.acting is not None
    graph, query = fitted.graph, verdict.query
    if fitted.acting.missing or isinstance(query, Distribution):
        return
    for u, v in graph.bidirected:
        known = graph.with_(coefficients={**graph.coefficients, str(Edge(u, "<->", v)): KNOWN})
        if identify(known, query, witness=False).answerable:
            text = f"With data, between which values it lies if what {u} and {v} have in common is limited:"
            yield NextStep(text, "bounds", graph, query, (u, v))
            return


def _holds(fitted: Fitted, step: NextStep) -> bool:
    """Whether a line that is meant for linear models holds here."""
    if step.way == "fit":
        try:
            value_where_acting(fitted, step.query)
        except QueryError:
            return False
    return step.way in ("fit", "identify", "effects", "more time")
