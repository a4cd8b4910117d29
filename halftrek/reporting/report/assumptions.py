"""What a report's numbers rest on, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from halftrek.inference import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.intervals import kind_of
from halftrek.reporting.report.acting import ASSUMED
from halftrek.reporting.report.uncertainty import for_tables
from halftrek.reporting.tables import count, number
from halftrek.results.words.wording import listed

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.results.fit import Fit

_NAMED = 12  # pairs that are named; of more the rest is counted
_CROWD = 4  # variables that are named once rather than pair by pair
_RECORDED = (
    "Every variable is recorded as it acts: errors of measurement count as part of the variable unless a hidden cause "
    "stands for the true one."
)


def assumption_sentences(fit: Fit, how: How, focus: Sequence[str]) -> list[str]:
    """One sentence for each assumption; pairs with a variable that the questions are about (``focus``) come first."""
    graph = fit.graph
    return [
        *_absent(graph, focus),
        *_hidden(graph),
        *(_linear(fit, how) if fit.acting is None else ASSUMED),
        _RECORDED,
        _rows(fit),
        *_missing(fit),
        *_held(fit),
    ]


def _linear(fit: Fit, how: How) -> tuple[str, ...]:
    return (
        "Effects are linear, and the same for all units: no interactions, no thresholds, no feedback loops.",
        f"Errors are normal where a question is about a distribution, a probability or a quantile, or conditions on "
        f"what was seen. Means, effects and contrasts do not need it. {_normal(fit, how)}",
    )


def _normal(fit: Fit, how: How) -> str:
    """What intervals and tests of fit assume of the errors."""
    words = kind_of(for_tables(fit, how)).rests_on
    if fit.rows is not None and fit.rows.cluster is not None:
        return f"{words} Tests of fit count clusters, and do not need normal errors."
    return f"{words} Tests of fit need normal errors; in Python fit.tests(robust=True) does without."


def _absent(graph: Graph, focus: Sequence[str]) -> list[str]:
    order = {v: i for i, v in enumerate(graph.observed)}
    pairs = [(u, v) for u, v in combinations(graph.observed, 2)]
    pairs.sort(key=lambda e: (-sum(v in focus for v in e), order[e[0]], order[e[1]]))
    linked = {frozenset(e) for e in graph.directed}
    open_pairs = {frozenset(e) for e in graph.bidirected}
    for kids in graph.latents.values():
        open_pairs |= {frozenset(e) for e in combinations(kids, 2)}
    apart = [e for e in pairs if frozenset(e) not in linked]
    closed = [e for e in pairs if frozenset(e) not in open_pairs]
    sentences = []
    if apart:
        sentences.append(
            f"Absent arrows are claims. Neither acts on the other, except through variables in between: "
            f"{_named(apart)}."
        )
    if closed and len(closed) == len(pairs) and pairs:
        sentences.append("Nothing hidden affects two of the variables at once.")
    elif closed:
        sentences.append(f"Nothing hidden affects both at once: {_named(closed)}.")
    return sentences


def _hidden(graph: Graph) -> list[str]:
    sentences = []
    if graph.bidirected:
        sentences.append(f"Hidden common causes are allowed for {_named(list(graph.bidirected))}.")
    for u, kids in graph.latents.items():
        sentences.append(f"{u} is hidden and may act on {listed(kids)}.")
    return sentences


def _named(pairs: Sequence[tuple[str, str]]) -> str:
    """The pairs; variables whose pairs are all among them, and at least half of them, are named once."""
    crowds, rest = _crowds(pairs)
    words = [f"{u} and {v}" for u, v in rest[:_NAMED]]
    more = len(rest) - _NAMED
    if more > 0:
        words.append("one more pair" if more == 1 else f"{count(more)} more pairs")
    words += [f"any two of {', '.join(crowd)}" for crowd in crowds]
    return "; ".join(words)


def _crowds(pairs: Sequence[tuple[str, str]]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    names = list(dict.fromkeys(v for e in pairs for v in e))
    left: dict[str, set[str]] = {v: set() for v in names}  # with whom each is in a pair that no crowd has yet
    for u, v in pairs:
        left[u].add(v)
        left[v].add(u)
    crowds = []
    for first in names:
        crowd, common = [first], set(left[first])
        for v in names:
            if v in common:
                crowd.append(v)
                common &= left[v]
        if len(crowd) >= _CROWD and len(crowd) * (len(crowd) - 1) >= len(pairs):
            crowds.append(crowd)
            for v in crowd:
                left[v].difference_update(crowd)
    return crowds, [(u, v) for u, v in pairs if v in left[u]]


def _rows(fit: Fit) -> str:
    if fit.rows is not None and fit.rows.cluster is not None:
        return (
            "Clusters of rows are independent of each other; rows within one need not be (robust intervals and "
            "bootstrap)."
        )
    return "Rows are independent of each other, and all from the same model."


def _missing(fit: Fit) -> list[str]:
    if kind_of_data(fit).assumption:
        return [kind_of_data(fit).assumption]
    if fit.moments.dropped:
        rows = "One row" if fit.moments.dropped == 1 else f"{count(fit.moments.dropped)} rows"
        return [f"{rows} with missing values are left out: the rest must be like them in what the graph describes."]
    return []


def _held(fit: Fit) -> list[str]:
    sentences = []
    fixed = {key: value for key, value in fit.graph.coefficients.items() if not isinstance(value, str)}
    if fixed:
        sentences.append(
            f"Held, not estimated: {'; '.join(f'{key} at {number(float(v))}' for key, v in fixed.items())}."
        )
    labels: dict[str, list[str]] = {}
    for key, value in fit.graph.coefficients.items():
        if isinstance(value, str):
            labels.setdefault(value, []).append(key)
    sentences += [f"Equal by assumption: {listed(edges)}." for edges in labels.values() if len(edges) > 1]
    for what, values in (("variance of the error", fit.options.noise), ("intercept", fit.options.intercepts)):
        if values:
            held = "; ".join(f"of {v} at {number(x) if x else '0'}" for v, x in values[:_NAMED])
            more = f"; and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
            sentences.append(f"The {what} is held, not estimated: {held}{more}.")
    return sentences
