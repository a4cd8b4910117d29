"""An effect that covariances leave open, from errors that are independent: a set of values, as an answer."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Unpack

from halftrek import identification
from halftrek.bottom.progress import late_bar
from halftrek.errors import InputError, NotIdentifiedError
from halftrek.inference.how import How, Uncertainty
from halftrek.notes import note
from halftrek.queries import Query, check_query
from halftrek.results.answering import answer, refusal
from halftrek.results.answers import Answer
from halftrek.results.given.inputs import read_question
from halftrek.results.sets.bounds import INDEPENDENT, Bounds
from halftrek.trust.independence import judged_values

if TYPE_CHECKING:
    from halftrek.results.fit import Fit

_ASSUMED = (
    "effects are linear",
    "the errors of variables without an arc between them are independent, not only uncorrelated",
)


def independent(fit: Fit, question: str | Query, *, crude: bool, **uncertainty: Unpack[Uncertainty]) -> Answer:
    """The usual answer where covariances give one; else the values that independent errors keep."""
    query = read_question(question)
    check_query(query, fit.graph)
    verdict = identification.identify(fit.graph, query, scope="non-normal", witness=False)
    if not verdict.identified:
        verdict = identification.identify(fit.graph, query, scope="non-normal")
        refused = refusal(fit, query, verdict)
        raise NotIdentifiedError(refused.explain(), refused.verdict, refused)
    if verdict.scope != "non-normal":
        usual = answer(fit, query, crude=crude, **uncertainty)
        return replace(usual, notes=(note("covariances suffice"), *usual.notes))
    _refuse_others(crude, uncertainty)
    level = uncertainty.get("level", How.level)
    with late_bar("independent errors") as progress:
        judged = judged_values(fit, query, level, progress)
    kept = judged.kept
    left = ((kept.estimate, kept.estimate),) if kept.bounded and kept.pieces else kept.pieces
    low, high = (left[0][0], left[-1][1]) if left else (nan, nan)
    found = Bounds(
        low, high, left, query, (), _ASSUMED, kept.pieces, level, INDEPENDENT, notes=judged.notes, n=fit.n,
        library=fit.frame,
    )  # fmt: skip
    return Answer(query, found, verdict, judged.notes, n=fit.n, library=fit.frame)


def _refuse_others(crude: bool, uncertainty: Uncertainty) -> None:
    usual = {"interval": None, "information": None, "replicates": How.replicates, "ends": How.ends, "random_state": 0}
    for name, value in usual.items():
        if uncertainty.get(name, value) != value:
            raise InputError(f'{name}= has no meaning with errors="independent", which has its own interval')
    if crude:
        raise InputError('crude= has no meaning with errors="independent": leave it out')
