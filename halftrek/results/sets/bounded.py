"""An answer that holds bounds, in place of one number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from halftrek.errors import InputError
from halftrek.inference.how import How, Uncertainty
from halftrek.queries import Query
from halftrek.results.answers import Answer
from halftrek.results.given.reading import asked_of

if TYPE_CHECKING:
    from halftrek.results.fit import Fit


def bounded(
    fit: Fit,
    question: str | Query,
    assume: str | Iterable[object],
    *,
    crude: bool,
    **uncertainty: Unpack[Uncertainty],
) -> Answer:
    """The bounds of a question as an answer; options of intervals around one number have no meaning here."""
    level = uncertainty.get("level", How.level)
    usual = {"interval": None, "information": None, "replicates": How.replicates, "ends": How.ends, "random_state": 0}
    for name, value in usual.items():
        if uncertainty.get(name, value) != value:
            raise InputError(
                f"{name}= has no meaning for bounds: leave it out, or ask fit.bounds for their own options"
            )
    if crude:
        raise InputError("crude= has no meaning for bounds: leave it out")
    found = fit.bounds(question, assume=assume, level=level)
    query, verdict = asked_of(fit.graph, question)
    return Answer(query, found, verdict, found.notes, n=found.n, library=fit.frame)
