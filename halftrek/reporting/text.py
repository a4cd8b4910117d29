"""Fits, verdicts and answers in words and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.reporting.graph_picture import edge_weights
from halftrek.reporting.tables import Cell, count, facts, number, paragraph, table

if TYPE_CHECKING:
    from halftrek.estimation.fit import Fit
    from halftrek.identification import Verdict
    from halftrek.model import Floats
    from halftrek.workflow import Answer

_LOADINGS = (
    "Data determine the loadings of a hidden cause at most up to their common sign. A cause of two variables has only "
    "its contribution to their covariance determined; its loadings are one of many equal choices."
)


def summarize_fit(fit: Fit) -> str:
    """What was fitted to what, how it ended, and every parameter."""
    graph, model = fit.graph, fit.model
    head = facts(
        [
            ("rows", count(fit.n)),
            ("variables", count(len(graph.observed)) + (f", hidden: {len(graph.latents)}" if graph.latents else "")),
            ("log-likelihood", number(fit.loglik, 9)),
            ("status", str(fit.status)),
        ]
    )
    parts = [f"Fit of a linear model with {len(graph.edges())} edges\n{head}"]
    weights = edge_weights(graph, model)
    if weights:
        rows = [(f"{u} {kind} {v}", _kind(kind, u in graph.latents), w) for (u, kind, v), w in weights.items()]
        parts.append("Edges\n" + table(("edge", "weight is a", "weight"), rows))
    if graph.latents:
        parts.append(paragraph(_LOADINGS, indent=2))
    errors = [(v, float(a), float(s)) for v, a, s in zip(model.names, model.mu, model.psi, strict=True)]
    parts.append("Equations\n" + table(("variable", "intercept", "noise variance"), errors))
    searched = [d for d in fit.districts if len(d.members) > 1]
    if searched:
        found = [(", ".join(d.members), d.iterations, f"{d.agreeing} of {d.starts}") for d in searched]
        parts.append("Confounded groups\n" + table(("variables", "iterations", "starts that agree"), found))
    return "\n\n".join(parts)


def describe_verdict(verdict: Verdict) -> str:
    """May it be known from data of this graph, how, and why."""
    head = facts([("question", str(verdict.query)), ("verdict", _verdict_line(verdict))])
    return head + "\n\n" + paragraph(verdict.explain(), indent=2)


def describe_answer(answer: Answer) -> str:
    """The question, the number or the distribution, and what to know before trusting it."""
    pairs = [("question", str(answer.query))]
    distribution = answer.distribution
    if distribution is None:
        pairs.append(("value", number(float(answer.value), 6) + _range(answer.interval)))
        pairs += _error(answer)
    elif len(distribution.names) == 1:
        mean, variance = float(distribution.mean[0]), float(distribution.variance[0])
        pairs.append(("answer", f"{distribution.names[0]} ~ N({number(mean, 6)}, {number(variance, 6)})"))
        pairs.append(("mean", number(mean, 6) + _range(answer.interval)))
        pairs += _error(answer)
        pairs.append(("variance", number(variance, 6) + _range(answer.variance_interval)))
    if answer.method:
        pairs.append(("known by", str(answer.method)))
    if answer.estimand:
        pairs.append(("estimand", str(answer.estimand)))
    pairs += [("warning", str(w)) for w in answer.warnings]
    text = facts(pairs)
    if distribution is not None and len(distribution.names) > 1:
        cov = np.asarray(distribution.cov)
        rows: list[list[Cell]] = [
            [v, float(distribution.mean[i]), *map(float, cov[i])] for i, v in enumerate(distribution.names)
        ]
        text += "\n\n" + table(("outcome", "mean", *(f"cov with {v}" for v in distribution.names)), rows)
    return text


def _range(ends: tuple[float, float] | Floats | None) -> str:
    if ends is None or np.isnan(np.asarray(ends)).any():
        return ""
    low, high = float(ends[0]), float(ends[1])
    return f"   from {number(low, 4)} to {number(high, 4)}"


def _error(answer: Answer) -> list[tuple[str, str]]:
    if answer.estimate is None or np.isnan(answer.estimate.errors).any():
        return []
    level = f"{100 * answer.estimate.level:g}%"
    return [("standard error", f"{number(float(answer.estimate.errors[0]), 4)} (ranges are {level} intervals)")]


def _verdict_line(verdict: Verdict) -> str:
    line = str(verdict.status)
    if verdict.status == "finite" and verdict.degree:
        line += f": up to {verdict.degree} values fit equally well"
    elif verdict.method:
        line += f" ({verdict.method})"
    return line


def _kind(kind: str, hidden: bool) -> str:
    if kind == "<->":
        return "error covariance"
    return "loading" if hidden else "coefficient"
