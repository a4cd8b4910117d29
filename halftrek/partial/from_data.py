"""Bounds from data: what can be said where a question has no one answer, or one only under assumptions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Unpack

from halftrek.errors import InputError
from halftrek.partial.assumptions import Assumption, read_assumptions, relaxed
from halftrek.partial.sets import IdentifiedSet, identified_set
from halftrek.partial.sets.covariance import held_weights
from halftrek.queries import Query
from halftrek.results.inputs import read_graph, read_question
from halftrek.results.workflow import Fitting, fit

Assumed = str | Assumption | Iterable[str | Assumption]


def bounds(
    graph: object,
    data: object,
    question: str | Query,
    assume: Assumed = (),
    *,
    level: float = 0.95,
    constraints: Assumed | None = None,
    **fitting: Unpack[Fitting],
) -> IdentifiedSet:
    """All values of a question that the data, the graph and the assumptions leave.

    ``assume``: texts such as ``"abs(z -> y) <= 0.1"``, ``"corr(x <-> y) in [-0.3, 0.3]"`` or ``"share(y) <= 0.9"``;
    an edge that the graph lacks is added, and held within the assumption. ``constraints`` is another name for it.
    Other options are those of ``fit``.
    """
    if constraints is not None and assume != ():
        raise InputError("assume= and constraints= are two names for one option; give one of them")
    chosen = read_graph(graph)
    assumed = read_assumptions(assume if constraints is None else constraints, chosen)
    fitted = fit(held_weights(relaxed(chosen, assumed), assumed), data, **fitting)
    moments = fitted.moments
    found = identified_set(
        chosen, moments.cov, moments.mean, read_question(question), assumed, names=moments.names, model=fitted.model
    )
    return replace(found, level=level)
