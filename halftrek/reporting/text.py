"""Fits and answers in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from halftrek.frames import as_frame as frame_of
from halftrek.inference import Parameter
from halftrek.inference.evidence.few_valued import kind_notes
from halftrek.inference.evidence.rows_behind import data_notes
from halftrek.inference.how import Interval, asked
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.intervals import KINDS
from halftrek.reporting.tables import Cell, count, facts, number, paragraph, table
from halftrek.results.wording import crude_in_words, crude_meaning
from halftrek.trust import judged_columns, judged_parameters

if TYPE_CHECKING:
    from halftrek.estimation.fit import Fit
    from halftrek.models import Floats
    from halftrek.results.answers import Answer

_MANY = 40  # lines of a table
_PAIR = (
    "data determine what a hidden cause of two variables adds to the covariance of their errors, not its two loadings."
)


def parameter_table(
    fit: Fit,
    *,
    level: float = 0.95,
    interval: Interval | None = None,
    information: Literal["expected", "observed"] | None = None,
    replicates: int = 1000,
    random_state: int = 0,
    as_frame: bool = True,
) -> Any:
    """All parameters as a tidy frame, or as a list of values."""
    how = asked(
        interval=interval, level=level, information=information, replicates=replicates, random_state=random_state
    )
    return frame_of(judged_columns(fit, how), fit.frame) if as_frame else judged_parameters(fit, how)


def summarize_fit(fit: Fit, rows: Sequence[Parameter] | None = None) -> str:
    """What was fitted to what, how it ended, and every parameter (``rows``: with another kind of interval)."""
    graph = fit.graph
    head = facts(
        [
            ("rows", count(fit.n) + (f" ({fit.moments.dropped:,} more left out)" if fit.moments.dropped else "")),
            ("variables", count(len(graph.observed)) + (f", hidden: {len(graph.latents)}" if graph.latents else "")),
            *([("missing values", sentence)] if (sentence := kind_of_data(fit).sentence(fit)) else []),
            *(("note", str(note)) for note in (*data_notes(fit), *kind_notes(fit))),
            ("log-likelihood", number(fit.loglik, 9)),
            ("status", str(fit.status)),
        ]
    )
    parts = [f"Fit of a linear model with {graph.edge_count} edges\n{head}"]
    parts += _parameter_tables(fit, judged_parameters(fit) if rows is None else rows)
    searched = [d for d in fit.districts if len(d.members) > 1]
    if searched:
        found = [(", ".join(d.members), d.iterations, f"{d.agreeing} of {d.starts}") for d in searched]
        parts.append("Confounded groups\n" + table(("variables", "iterations", "starts that agree"), found))
    return "\n\n".join(parts)


def _parameter_tables(fit: Fit, rows: Sequence[Parameter]) -> list[str]:
    """Every parameter with its standard error; what data do not determine is marked, not estimated."""
    titles = {"~": "Effects", "=~": "Loadings of hidden causes", "~~": "Covariances of the errors"}
    parts = []
    for op, title in titles.items():
        chosen = [r for r in rows if r.op == op and r.lhs != r.rhs]
        if chosen:
            lines = [(arrow_of(r), *_numbers(r)) for r in chosen[:_MANY]]
            head = ("", "estimate", "std. error", "low", "high", "note")
            parts.append(f"{title}\n" + table(head, lines) + _rest(len(chosen)))
    model = fit.model
    means = {r.lhs: r for r in rows if r.op == "~1"}
    noise = {r.lhs: r for r in rows if r.op == "~~" and r.lhs == r.rhs}
    lines = []
    for v in model.names[:_MANY]:
        variance = _numbers(noise[v])[:2] if v in noise else (float(model.psi[model.names.index(v)]), "fixed")
        lines.append((v, *_numbers(means[v])[:2], *variance))
    equation = ("variable", "intercept", "std. error", "error variance", "std. error")
    parts.append("Equations\n" + table(equation, lines) + _rest(len(model.names)))
    if any(r.op == "=~" for r in rows):
        parts.append(paragraph("The sign of a hidden cause is free: all its loadings may be turned at once.", indent=2))
    pairs = [u for u in fit.graph.latents if not any(r.op == "=~" and r.lhs == u for r in rows)]
    if pairs:
        parts.append(paragraph(f"{', '.join(pairs)}: {_PAIR}", indent=2))
    return parts


def _rest(lines: int) -> str:
    return f"\n  ... and {lines - _MANY:,} more, see fit.params()" if lines > _MANY else ""


def arrow_of(row: Parameter) -> str:
    """The parameter as an edge."""
    if row.op == "~~":
        return f"{row.lhs} <-> {row.rhs}"
    return f"{row.lhs} -> {row.rhs}" if row.op == "=~" else f"{row.rhs} -> {row.lhs}"


def _numbers(row: Parameter) -> tuple[Cell, ...]:
    if np.isnan(row.est):
        return ("", "", "", "", row.note)
    return (row.est, row.se, row.ci_low, row.ci_high, row.note)


def describe_answer(answer: Answer) -> str:
    """The question, the number or the distribution, and what to know before trusting it."""
    text = facts(answer_facts(answer))
    headers, rows = joint_rows(answer)
    return f"{text}\n\n{table(headers, rows)}" if rows else text


def joint_rows(answer: Answer) -> tuple[tuple[str, ...], list[list[Cell]]]:
    """Means and covariances of several outcomes; no rows for one."""
    distribution = answer.distribution
    if distribution is None or len(distribution.names) == 1:
        return (), []
    cov = np.asarray(distribution.cov)
    rows: list[list[Cell]] = [
        [v, float(distribution.mean[i]), *map(float, cov[i])] for i, v in enumerate(distribution.names)
    ]
    return ("outcome", "mean", *(f"cov with {v}" for v in distribution.names)), rows


def answer_facts(answer: Answer) -> list[tuple[str, str]]:
    """Names and values of what there is to say of an answer."""
    pairs = [("question", str(answer.query))]
    distribution = answer.distribution
    if distribution is None:
        pairs.append(("value", number(float(answer.value), 6) + _range(answer.interval)))
        pairs += _error(answer)
        if answer.outcome is not None:
            spread = number(float(answer.outcome.sd[0]), 4)
            pairs.append(("single units", f"standard deviation {spread}; more data do not reduce it"))
    elif len(distribution.names) == 1:
        mean, variance = float(distribution.mean[0]), float(distribution.variance[0])
        if not any(n.code == "not normal" for n in answer.notes):
            pairs.append(("answer", f"{distribution.names[0]} ~ N({number(mean, 6)}, {number(variance, 6)})"))
        pairs.append(("mean", number(mean, 6) + _range(answer.interval)))
        pairs += _error(answer)
        pairs.append(("variance", number(variance, 6) + _range(answer.variance_interval)))
    if answer.method:
        pairs.append(("known by", str(answer.method)))
    if answer.estimand:
        pairs.append(("estimand", str(answer.estimand)))
    pairs += [("note", remark) for remark in (*answer.remarks, *answer.asides)]
    return pairs + crude_facts(answer) + [("warning", str(w)) for w in answer.warnings]


def crude_facts(answer: Answer) -> list[tuple[str, str]]:
    """What the rows say without the graph, if that was asked for."""
    crude = answer.crude
    if crude is None or crude.estimate is None or answer.verdict is None:
        return []
    if crude.distribution is None:
        found = number(float(crude.value), 6) + _range(crude.interval)
    else:
        found = "; ".join(
            f"{v}: mean {number(float(crude.distribution.mean[i]), 6)}{_range(crude.estimate.intervals[i])}"
            for i, v in enumerate(crude.distribution.names)
        )
    rows = f" in {count(crude.n)} rows" if crude.n != answer.n and crude.n else ""
    pairs = [
        ("crude", found),
        ("crude is", f"{crude_in_words(answer.query)}{rows}. {crude_meaning(answer.query, answer.verdict.graph)}"),
    ]
    return pairs + [("warning (crude)", w) for w in crude.warnings if w not in answer.warnings]


def _range(ends: tuple[float, float] | Floats | None) -> str:
    if ends is None or np.isnan(np.asarray(ends)).any():
        return ""
    low, high = float(ends[0]), float(ends[1])
    return f"   from {number(low, 4)} to {number(high, 4)}"


def _error(answer: Answer) -> list[tuple[str, str]]:
    if answer.estimate is None or np.isnan(answer.estimate.errors).any():
        return []
    level = f"{100 * answer.estimate.level:g}%"
    kind = "" if answer.estimate.kind == "delta" else f", {KINDS[answer.estimate.kind].words}"
    return [("standard error", f"{number(float(answer.estimate.errors[0]), 4)} (ranges are {level} intervals{kind})")]
