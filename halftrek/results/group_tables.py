"""The answers of all groups in one table, and tests that groups are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from halftrek.bottom.frames import Frame, as_frame
from halftrek.errors import HalftrekError, InputError, NotIdentifiedError
from halftrek.estimation.given.options import needs_whole
from halftrek.identification import identify
from halftrek.inference import How, estimate
from halftrek.inference.checks.measures import Measures
from halftrek.inference.checks.multiplicity import holm
from halftrek.inference.checks.robust_fit import NORMAL_THEORY, usual_measures
from halftrek.inference.evidence.few_valued import refuse_few_valued
from halftrek.inference.evidence.row_needs import left_out, needs_rows
from halftrek.inference.groups.invariance import Invariance, equal_answers, equal_numbers, invariance_tests
from halftrek.inference.groups.measures import MEASURES, group_measures
from halftrek.notes import Note, in_short, note, rows_left_out
from halftrek.queries import Distribution, ErrorCovariance, Query, check_query, evaluate
from halftrek.queries.kinds.effects import EFFECTS
from halftrek.results.answering import answer
from halftrek.results.given.inputs import read_question
from halftrek.trust.group_parameters import judged_group_parameters
from halftrek.trust.groups import GroupAnswers, judged_groups

if TYPE_CHECKING:
    from halftrek.results.fit import Fit
    from halftrek.results.groups import GroupFits

NOT_SAVED = "those of groups are not saved: fit again"
TOGETHER = (*EFFECTS, ErrorCovariance, Distribution)  # what is judged for all groups at once
NO_INFORMATION = "the data of this group carry no information about the answer"
# in words for groups, or in their status
SAID_OF_GROUPS = ("missing values", "rows left out", "row left out", "no information")


def answer_groups(
    fits: GroupFits, question: str | Query, *, level: float = 0.95, interval: Literal["delta"] | None = None
) -> Frame:
    """One row for each group and outcome."""
    how = _how(fits, level, interval)
    query = _asked(fits, question)
    if len(fits.fitted):
        refuse_few_valued(_first(fits), query)
    outcomes = _outcomes(query)
    status = list(fits.status)
    found = _estimates(fits, query, status, how)
    k = len(outcomes) or 1
    columns: dict[str, Sequence[object]] = {"outcome": outcomes * len(fits)} if outcomes else {}
    columns |= {
        "estimate": found.values.ravel().tolist(),
        "se": found.errors.ravel().tolist(),
        "low": found.ends[..., 0].ravel().tolist(),
        "high": found.ends[..., 1].ravel().tolist(),
    }
    if found.variances.shape[1]:
        columns["variance"] = found.variances.ravel().tolist()
    columns["n"] = np.repeat(fits.groups.n, k).tolist()
    columns["dropped"] = np.repeat(fits.groups.dropped, k).tolist()
    columns["status"] = [text for text in status for _ in range(k)]
    notes = [in_short([*_about(fits, i, how), *found.notes[i]]) for i in range(len(fits))]
    columns["note"] = [text for text in notes for _ in range(k)]
    return framed(fits, columns, k)


def group_parameters(fits: GroupFits, *, level: float = 0.95, interval: Literal["delta"] | None = None) -> Frame:
    """One row for each group and parameter."""
    how = _how(fits, level, interval)
    found = judged_group_parameters(fits, how)
    k = len(found.sides)
    columns: dict[str, Sequence[object]] = {
        name: [sides[at] for sides in found.sides] * len(fits) for at, name in enumerate(("lhs", "op", "rhs"))
    }
    columns |= {name: numbers.ravel().tolist() for name, numbers in found.numbers.items()}
    notes: list[str] = []
    for i, lines in enumerate(found.notes):
        about = fits.status[i] if fits.batch.code[i] == "failed" else in_short(_about(fits, i, how))
        notes += ["; ".join(filter(None, (line, about))) for line in lines]
    columns["note"] = notes
    return framed(fits, columns, k)


def group_measures_table(fits: GroupFits) -> Frame:
    """One row for each group: how well the model fits there."""
    found: dict[int, tuple[Measures, str]] = {}
    notes = {i: in_short(group_notes(fits, i)) for i in range(len(fits))}
    alone = set(fits.alone)
    if len(fits.fitted) and (fits.clustered or fits.groups.sampled):  # counted by the rows, which have to be read
        if fits.clusters_left_out:
            raise InputError(f"measures by cluster need the rows, and {NOT_SAVED}")
        alone |= set(fits.fitted.tolist())
    whole = np.setdiff1d(fits.fitted, list(alone))
    found |= {int(i): (one, NORMAL_THEORY) for i, one in zip(whole, group_measures(fits, whole), strict=True)}
    for i in sorted(alone):
        try:
            found[i] = usual_measures(fits.one(fits.keys[i]))
        except HalftrekError as error:
            notes[i] = "; ".join(filter(None, (notes[i], str(error))))
    nothing = (None, "")
    lines = [found.get(i, nothing) for i in range(len(fits))]
    columns: dict[str, Sequence[object]] = {
        name: [np.nan if one is None or getattr(one, name) is None else getattr(one, name) for one, _ in lines]
        for name in MEASURES
    }
    columns["n"] = fits.groups.n.tolist()
    columns["test"] = [words for _, words in lines]
    columns["status"] = list(fits.status)
    columns["note"] = [notes[i] for i in range(len(fits))]
    return framed(fits, columns, 1)


def _how(fits: GroupFits, level: float, interval: str | None) -> How:
    """The options of a table; intervals by cluster need the rows."""
    if fits.with_kinds and interval is not None:
        raise InputError(
            f"interval={interval!r} is not known where columns have kinds: leave it out, or ask one group for "
            f'another, fits[key].query(..., interval="bootstrap")'
        )
    if fits.rows is None and any(one.moments.layer is not None for one in fits.alone.values()):
        raise InputError(f"intervals where columns are ordered or ranked need the rows, and {NOT_SAVED}")
    if interval not in ("delta", None):
        raise InputError(f'interval={interval!r} is for one group, see fits[key].query; "delta" is for all')
    if interval is None and fits.clusters_left_out:
        raise InputError(f'intervals by cluster need the rows, and {NOT_SAVED}, or ask for interval="delta"')
    return How("delta" if interval else None, level)


def _about(fits: GroupFits, i: int, how: How) -> list[Note]:
    """What to know of a group before trusting a table's line of it."""
    ignored = [note("clusters not counted")] if fits.clustered and how.interval is not None else []
    return [*group_notes(fits, i), *ignored]


def framed(fits: GroupFits, columns: Mapping[str, Sequence[object]], lines: int) -> Frame:
    """The table with the groups first: one column, or one for each variable that says the group."""
    by = fits.groups.by
    names = [f"{name}_group" if name in columns else name for name in by]  # a table has each name once
    first = {name: [key[a] for key in fits.keys for _ in range(lines)] for a, name in enumerate(names)}
    first = first or {"group": [key for key in fits.keys for _ in range(lines)]}
    return as_frame({**first, **columns}, fits.frame)


def compare_groups(
    fits: GroupFits,
    question: str | Query | None = None,
    *,
    level: float = 0.05,
    calibrate: bool = True,
    random_state: int = 0,
) -> Frame:
    """Tests that groups are alike, with p-values adjusted by Holm where there are several."""
    if fits.groups.sampled:
        raise InputError(
            "rows have sampling weights, and the tests that groups are alike treat all rows as equally informative; "
            "compare the intervals of fits.query(...)"
        )
    if fits.clustered:
        raise InputError(
            "rows are in clusters, and the tests that groups are alike treat all rows as independent; "
            "compare the intervals of fits.query(...)"
        )
    if needs_whole(fits.graph):
        raise InputError(
            "tests that groups are alike are not there where hidden variables have causes, or variances or intercepts "
            "are equal; ht.measurement_invariance(graph, data, by=...) tests the measurement, ht.fit_together(text, "
            "data, by=...) a difference between groups, gap := a - b"
        )
    if fits.with_kinds:
        rows = [_alike_by_answers(fits, question, level)]
    elif question is None:
        rows = invariance_tests(fits, calibrate=calibrate, random_state=random_state)
    else:
        query = _asked(fits, question)
        if not isinstance(query, TOGETHER):
            raise InputError(f"{query} cannot be compared between groups; ask for an effect or a distribution")
        what = [f"{query}: {v}" for v in _outcomes(query)] or [str(query)]
        rows = equal_answers(fits, query, what, calibrate=calibrate, random_state=random_state)
    columns: dict[str, Sequence[object]] = {f.name: [getattr(r, f.name) for r in rows] for f in fields(Invariance)}
    final = holm(np.array(columns["p"], dtype=float))
    groups, notes = columns.pop("groups"), [r.note for r in rows]
    del columns["note"]
    columns["p_adjusted"], columns["groups"] = final.tolist(), groups
    columns["verdict"] = [
        "not tested" if np.isnan(p) else "groups differ" if p < level else "no difference shown" for p in final
    ]
    lost = in_short(left_out(_first(fits))) if len(fits.fitted) else ""
    columns["note"] = ["; ".join(text for text in (note, fits.left_out, lost) if text) for note in notes]
    return as_frame(columns, fits.frame)


def _alike_by_answers(fits: GroupFits, question: str | Query | None, level: float) -> Invariance:
    """Where columns have kinds: one number of all groups, by their own standard errors."""
    query = None if question is None else _asked(fits, question)
    if query is None or isinstance(query, Distribution):
        raise InputError(
            "where columns have kinds, groups are compared by one number at a time: ask for an effect or a "
            "probability, fits.invariance('x ~> y')"
        )
    found = _one_by_one(fits, query, list(fits.status), How(None, 1.0 - level))
    units = {str(n) for i in fits.fitted for n in found.notes[i] if n.code.startswith("behind units")}
    test = equal_numbers(fits, str(query), found.values[:, 0], found.errors[:, 0])
    return replace(test, note="; ".join(filter(None, (test.note, *sorted(units)))))


def group_notes(fits: GroupFits, i: int) -> list[Note]:
    """What to know of a group before trusting any answer of it."""
    found = []
    if i in fits.groups.patterns and i in fits.alone:
        patterns = fits.groups.patterns[i]
        found.append(note("group with holes", incomplete=patterns.incomplete, rows=int(patterns.rows.sum())))
        found += [note("group pair apart", first=u, second=v) for u, v in patterns.apart[:1]]
    found += [note("group without category", column=v, value=value) for v, value in fits.lacking.get(i, ())]
    if fits.groups.dropped[i]:
        found.append(rows_left_out(int(fits.groups.dropped[i])))
    code = str(fits.batch.code[i])
    if code in ("no finite maximum", "not converged"):
        found.append(note("group without maximum", code=code))
    if code == "boundary":
        found.append(note("group at boundary"))
    return found


def _asked(fits: GroupFits, question: str | Query) -> Query:
    query = read_question(question)
    check_query(query, fits.graph)
    if isinstance(query, TOGETHER):
        verdict = identify(fits.graph, query)
        if not verdict.answerable:
            raise NotIdentifiedError(verdict.explain(), verdict)
    return query


def _outcomes(query: Query) -> list[str]:
    return list(query.labels) if isinstance(query, Distribution) else []


def _estimates(fits: GroupFits, query: Query, status: list[str], how: How) -> GroupAnswers:
    """The answers of all groups; ``status`` is completed for those that have none."""
    apart = fits.with_kinds or needs_whole(fits.graph) or (fits.clustered and how.interval is None)
    if isinstance(query, TOGETHER) and not apart:
        found = judged_groups(fits, query, len(_outcomes(query)), how)
        _by_rows(fits, query, found, status, how)
    else:
        found = _one_by_one(fits, query, status, how)
    rows = fits.fitted
    for i in rows[np.isnan(found.errors[rows]).any(axis=1)]:
        if "; " not in status[i]:
            status[i] = f"{status[i]}; {NO_INFORMATION}"
    return found


def _by_rows(fits: GroupFits, query: Query, found: GroupAnswers, status: list[str], how: How) -> None:
    """Errors from the rows where weights or a 0/1 outcome ask for it; a word in ``status`` where they cannot be had."""
    if not len(fits.fitted) or how.interval is not None:
        return
    first = _first(fits)
    wanted = needs_rows(first, query)
    lost = "" if wanted else in_short(left_out(first, query))
    for i in fits.fitted:
        if lost:
            status[i] = f"{status[i]}; {lost}"
        elif wanted:
            one = fits[fits.keys[int(i)]]
            sure = estimate(one, query, evaluate(query, one.model), replace(how, interval="robust"))
            found.errors[i], found.ends[i] = sure.errors, sure.intervals


def _first(fits: GroupFits) -> Fit:
    """The fit of the first group that has one."""
    return fits[fits.keys[int(fits.fitted[0])]]


def _one_by_one(fits: GroupFits, query: Query, status: list[str], how: How) -> GroupAnswers:
    """Questions that are made of others, and rows in clusters: through the fit of each group."""
    outcomes = len(_outcomes(query))
    answers = GroupAnswers.empty(len(fits), outcomes or 1, outcomes)
    for i in fits.fitted.tolist():
        try:
            found = answer(fits[fits.keys[i]], query, level=how.level, interval=how.interval)
        except NotIdentifiedError:
            raise
        except HalftrekError as error:
            status[i] = f"{status[i]}; {error}"
            continue
        answers.values[i], answers.errors[i] = np.asarray(found.value, dtype=float), np.asarray(found.se, dtype=float)
        answers.ends[i] = np.asarray(found.interval, dtype=float)
        if found.distribution is not None:
            answers.variances[i] = found.distribution.variance
        answers.notes[i].extend(n for n in found.notes if n.code not in SAID_OF_GROUPS and n.level != "aside")
    return answers
