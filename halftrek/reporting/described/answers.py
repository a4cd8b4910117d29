"""An answer, described: the question, the number or the distribution, and what to know before trusting it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.words import one_precision
from halftrek.identification.verdict import method_in_words
from halftrek.inference.intervals import KINDS
from halftrek.reporting.document import Described, Facts, Span, Table, Words
from halftrek.reporting.tables import Cell, count, number
from halftrek.results.sets.bounds import Bounds

if TYPE_CHECKING:
    from halftrek.models import Gaussian
    from halftrek.results.answers import Answer


def answer_document(answer: Answer) -> Described:
    """Names and values of what there is to say; for several outcomes their means and covariances."""
    distribution = answer.distribution
    if distribution is None or len(distribution.names) == 1:
        return (_facts(answer),)
    return _facts(answer), _joint(answer, distribution)


def _facts(answer: Answer) -> Facts:
    pairs: list[tuple[str, Words]] = [("question", [Span(str(answer.query), "code")])]
    distribution = answer.distribution
    if isinstance(answer.result, Bounds):
        from halftrek.reporting.described.bounds import bounds_facts

        pairs += bounds_facts(answer.result)
    elif answer.form != "point":
        pairs.append((answer.form, _strong(str(answer.result))))
    elif distribution is None:
        pairs.append(("value", _strong("".join(_figure(float(answer.value), answer.interval)))))
        pairs += _error(answer)
        if answer.outcome is not None:
            spread = number(float(answer.outcome.sd[0]), 4)
            pairs.append(("single units", f"standard deviation {spread}; more data do not reduce it"))
    elif len(distribution.names) == 1:
        mean, variance = float(distribution.mean[0]), float(distribution.variance[0])
        centre, width = _figure(mean, answer.interval), _figure(variance, answer.variance_interval)
        if not any(n.code == "not normal" for n in answer.notes):
            pairs.append(("answer", _strong(f"{distribution.names[0]} ~ N({centre[0]}, {width[0]})")))
        pairs.append(("mean", _strong("".join(centre))))
        pairs += _error(answer)
        pairs.append(("variance", "".join(width)))
    if answer.method:
        pairs.append(("known by", method_in_words(answer.method)))
    if answer.estimand:
        pairs.append(("estimand", str(answer.estimand)))
    pairs += [("note", remark) for remark in (*answer.remarks, *answer.asides)]
    pairs += _crude(answer)
    return Facts([*pairs, *(("warning", [Span(str(w), "warning")]) for w in answer.warnings)])


def _joint(answer: Answer, distribution: Gaussian) -> Table:
    sure, cov, names = answer.estimate, np.asarray(distribution.cov), distribution.names
    rows: list[list[Cell]] = []
    for i, v in enumerate(names):
        ends = [None] * 3 if sure is None else [float(x) for x in (sure.errors[i], *sure.intervals[i])]
        rows.append([v, float(distribution.mean[i]), *ends, *map(float, cov[i])])
    wide = ("std. error", "low", "high")
    return Table(("outcome", "mean", *wide, *(f"cov with {v}" for v in names)), rows, wide=wide)


def _crude(answer: Answer) -> list[tuple[str, Words]]:
    """What the rows say without the graph, if that was asked for."""
    crude = answer.crude
    if crude is None or crude.estimate is None or answer.verdict is None:
        return []
    from halftrek.results.words.wording import crude_in_words, crude_meaning

    if crude.distribution is None:
        found = "".join(_figure(float(crude.value), crude.interval))
    else:
        found = "; ".join(
            f"{v}: mean {''.join(_figure(float(crude.distribution.mean[i]), crude.estimate.intervals[i]))}"
            for i, v in enumerate(crude.distribution.names)
        )
    rows = f" in {count(crude.n)} rows" if crude.n != answer.n and crude.n else ""
    means = f"{crude_in_words(answer.query)}{rows}. {crude_meaning(answer.query, answer.verdict.graph)}"
    warnings = [("warning (crude)", w) for w in crude.warnings if w not in answer.warnings]
    return [("crude", found), ("crude is", means), *warnings]


def _strong(words: str) -> Words:
    return [Span(words, "strong")]


def _figure(value: float, ends: tuple[float, float] | Floats | None) -> tuple[str, str]:
    """A number, and its interval to the same decimals."""
    if ends is None or np.isnan(np.asarray(ends)).any():
        return number(value, 6), ""
    figure, low, high = one_precision(value, float(ends[0]), float(ends[1]))
    return figure, f"   from {low} to {high}"


def _error(answer: Answer) -> list[tuple[str, Words]]:
    if answer.estimate is None or np.isnan(answer.estimate.errors).any():
        return []
    level = f"{100 * answer.estimate.level:g}%"
    kind = "" if answer.estimate.kind == "delta" else f", {KINDS[answer.estimate.kind].words}"
    return [("standard error", f"{number(float(answer.estimate.errors[0]), 4)} (ranges are {level} intervals{kind})")]
