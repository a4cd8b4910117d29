"""The answers of all groups in one table, and tests that groups are alike."""

from __future__ import annotations

from dataclasses import fields
from statistics import NormalDist
from typing import Any

import numpy as np

from halftrek.errors import HalftrekError, InputError, NotIdentifiedError
from halftrek.estimation import Fit
from halftrek.estimation.groups import PIECE, GroupFits
from halftrek.frames import as_frame
from halftrek.identification import identify
from halftrek.inference.batch import batch_estimate
from halftrek.inference.batch_gradients import BATCHED
from halftrek.inference.few_valued import refuse_few_valued
from halftrek.inference.invariance import Invariance, equal_answers, invariance_tests
from halftrek.inference.multiplicity import holm
from halftrek.inference.robust import robust_errors
from halftrek.inference.row_needs import left_out, needs_rows
from halftrek.inputs import read_question
from halftrek.model import Floats
from halftrek.notes import in_short
from halftrek.queries import Counterfactual, Interventional, Query, check_query
from halftrek.workflow import answer

NO_INFORMATION = "the data of this group carry no information about the answer"


def answer_groups(fits: GroupFits, question: Any, *, level: float = 0.95) -> Any:
    """One row for each group and outcome."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {level!r}")
    query = _asked(fits, question)
    if len(fits.fitted):
        refuse_few_valued(_first(fits), query)
    outcomes = _outcomes(query)
    status = list(fits.status)
    values, errors, variances, ends = _estimates(fits, query, status, level)
    k = len(outcomes) or 1
    columns: dict[str, list[Any]] = {"group": [key for key in fits.keys for _ in range(k)]}
    if outcomes:
        columns["outcome"] = outcomes * len(fits)
    columns |= {
        "estimate": values.ravel().tolist(),
        "se": errors.ravel().tolist(),
        "low": ends[..., 0].ravel().tolist(),
        "high": ends[..., 1].ravel().tolist(),
    }
    if variances.shape[1]:
        columns["variance"] = variances.ravel().tolist()
    columns["n"] = np.repeat(fits.groups.n, k).tolist()
    columns["dropped"] = np.repeat(fits.groups.dropped, k).tolist()
    columns["status"] = [text for text in status for _ in range(k)]
    return as_frame(columns, fits.frame)


def compare_groups(
    fits: GroupFits, question: Any = None, *, level: float = 0.05, calibrate: bool = True, random_state: int = 0
) -> Any:
    """Tests that groups are alike, with p-values adjusted by Holm where there are several."""
    if fits.groups.sampled:
        raise InputError(
            "rows have sampling weights, and the tests that groups are alike take all rows for equally telling; "
            "compare the intervals of fits.query(...)"
        )
    if question is None:
        rows = invariance_tests(fits, calibrate=calibrate, random_state=random_state)
    else:
        query = _asked(fits, question)
        if not isinstance(query, BATCHED):
            raise InputError(f"{query} cannot be compared between groups; ask for an effect or a distribution")
        what = [f"{query}: {v}" for v in _outcomes(query)] or [str(query)]
        rows = equal_answers(fits, query, what, calibrate=calibrate, random_state=random_state)
    columns: dict[str, list[Any]] = {f.name: [getattr(r, f.name) for r in rows] for f in fields(Invariance)}
    final = holm(np.array(columns["p"], dtype=float))
    groups, notes = columns.pop("groups"), columns.pop("note")
    columns["p_adjusted"], columns["groups"] = final.tolist(), groups
    columns["verdict"] = [
        "not tested" if np.isnan(p) else "groups differ" if p < level else "no difference shown" for p in final
    ]
    lost = in_short(left_out(_first(fits))) if len(fits.fitted) else ""
    columns["note"] = ["; ".join(text for text in (note, fits.left_out, lost) if text) for note in notes]
    return as_frame(columns, fits.frame)


def _asked(fits: GroupFits, question: Any) -> Query:
    query = read_question(question)
    check_query(query, fits.graph)
    if isinstance(query, BATCHED):
        verdict = identify(fits.graph, query)
        if not verdict.identified:
            raise NotIdentifiedError(verdict.explain(), verdict)
    return query


def _outcomes(query: Query) -> list[str]:
    if isinstance(query, Interventional):
        return list(query.outcomes)
    return [str(v) for v in query.outcomes] if isinstance(query, Counterfactual) else []


def _estimates(fits: GroupFits, query: Query, status: list[str], level: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Values, errors, variances, ends of intervals; nan for groups without. ``status`` is completed."""
    rows = fits.fitted
    if isinstance(query, BATCHED):
        k, v = len(_outcomes(query)) or 1, len(_outcomes(query))
        values, errors, variances = (np.full((len(fits), size), np.nan) for size in (k, k, v))
        for start in range(0, len(rows), PIECE):
            some = rows[start : start + PIECE]
            found = batch_estimate(fits.batch.take(some), fits.options, query, fits.groups.n[some])
            values[some], errors[some], variances[some] = found.values, found.errors, found.variances
        _by_rows(fits, query, errors, status)
        reach = NormalDist().inv_cdf(0.5 + level / 2.0) * errors
        ends = np.stack([values - reach, values + reach], axis=2)
    else:
        values, errors, variances, ends = _one_by_one(fits, query, status, level)
    for i in rows[np.isnan(errors[rows]).any(axis=1)]:
        if "; " not in status[i]:
            status[i] = f"{status[i]}; {NO_INFORMATION}"
    return values, errors, variances, ends


def _by_rows(fits: GroupFits, query: Query, errors: Floats, status: list[str]) -> None:
    """Errors from the rows where weights or a 0/1 outcome ask for it; a word in ``status`` where they cannot be had."""
    if not len(fits.fitted):
        return
    first = _first(fits)
    wanted = needs_rows(first, query)
    lost = "" if wanted else in_short(left_out(first, query))
    for i in fits.fitted:
        if lost:
            status[i] = f"{status[i]}; {lost}"
        elif wanted:
            errors[i] = robust_errors(fits[fits.keys[int(i)]], query)[0]


def _first(fits: GroupFits) -> Fit:
    """The fit of the first group that has one."""
    return fits[fits.keys[int(fits.fitted[0])]]


def _one_by_one(
    fits: GroupFits, query: Query, status: list[str], level: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Questions that are made of others: through the fit of each group."""
    values, errors, ends = (np.full((len(fits), *size), np.nan) for size in ((1,), (1,), (1, 2)))
    for i in fits.fitted:
        try:
            found = answer(fits[fits.keys[i]], query, level=level)
        except NotIdentifiedError:
            raise
        except HalftrekError as error:
            status[i] = f"{status[i]}; {error}"
            continue
        values[i], errors[i] = np.asarray(found.value, dtype=float), np.asarray(found.se, dtype=float)
        ends[i] = np.asarray(found.interval, dtype=float)
    return values, errors, np.zeros((len(fits), 0)), ends
