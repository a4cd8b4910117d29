"""The answers of all groups in one table, and tests that groups are alike."""

from __future__ import annotations

from dataclasses import fields
from statistics import NormalDist
from typing import Any

import numpy as np

from halftrek.errors import HalftrekError, InputError, NotIdentifiedError
from halftrek.estimation.groups import PIECE, GroupFits
from halftrek.frames import as_frame
from halftrek.identification import identify
from halftrek.inference.batch_gradients import BATCHED
from halftrek.inference.group_estimates import group_estimate, sample_of
from halftrek.inference.invariance import Invariance, equal_answers, invariance_tests
from halftrek.inference.multiplicity import holm
from halftrek.inputs import read_question
from halftrek.model import Floats
from halftrek.notes import Note
from halftrek.queries import Counterfactual, Interventional, Query, check_query
from halftrek.workflow import answer

NO_INFORMATION = "the data of this group carry no information about the answer"


def answer_groups(fits: GroupFits, question: Any, *, level: float = 0.95) -> Any:
    """One row for each group and outcome."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {level!r}")
    query = _asked(fits, question)
    outcomes = _outcomes(query)
    status = list(fits.status)
    notes = [group_notes(fits, i) for i in range(len(fits))]
    values, errors, variances, ends = _estimates(fits, query, status, notes, level)
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
    columns["note"] = ["; ".join(note.short for note in some) for some in notes for _ in range(k)]
    return as_frame(columns, fits.frame)


def compare_groups(
    fits: GroupFits, question: Any = None, *, level: float = 0.05, calibrate: bool = True, random_state: int = 0
) -> Any:
    """Tests that groups are alike, with p-values adjusted by Holm where there are several."""
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
    columns["note"] = ["; ".join(text for text in (note, fits.left_out) if text) for note in notes]
    return as_frame(columns, fits.frame)


def group_notes(fits: GroupFits, i: int) -> list[Note]:
    """What to know of a group before trusting any answer of it."""
    found = []
    if i in fits.holed:
        patterns = fits.holed[i].patterns
        assert patterns is not None
        rows = int(patterns.rows.sum())
        found.append(Note("group with holes", {"incomplete": patterns.incomplete, "rows": rows}))
        found += [Note("group pair apart", {"first": u, "second": v}) for u, v in patterns.apart[:1]]
    if fits.groups.dropped[i]:
        found.append(Note("rows left out", {"rows": int(fits.groups.dropped[i])}))
    code = str(fits.batch.code[i])
    if code in ("no finite maximum", "not converged"):
        found.append(Note("group without maximum", {"code": code}))
    if code == "boundary":
        found.append(Note("group at boundary"))
    return found


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


def _estimates(
    fits: GroupFits, query: Query, status: list[str], notes: list[list[Note]], level: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Values, errors, variances, ends of intervals; nan for groups without. ``status`` and ``notes`` are completed."""
    rows = fits.fitted
    if isinstance(query, BATCHED):
        k, v = len(_outcomes(query)) or 1, len(_outcomes(query))
        values, errors, variances = (np.full((len(fits), size), np.nan) for size in (k, k, v))
        for start in range(0, len(rows), PIECE):
            some = rows[start : start + PIECE]
            sample = sample_of(fits, some)
            found = group_estimate(sample, fits.options, query)
            # HOOK: group_support(sample, fits.options, found) has the degrees of freedom behind each of these errors
            values[some], errors[some], variances[some] = found.values, found.errors, found.variances
        reach = NormalDist().inv_cdf(0.5 + level / 2.0) * errors
        ends = np.stack([values - reach, values + reach], axis=2)
    else:
        values, errors, variances, ends = _one_by_one(fits, query, status, level)
    for i in rows[np.isnan(errors[rows]).any(axis=1)]:
        if "; " not in status[i]:
            status[i] = f"{status[i]}; {NO_INFORMATION}"
            notes[i].append(Note("no information"))
    return values, errors, variances, ends


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
