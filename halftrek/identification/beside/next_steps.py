"""What to do about a question that is refused: in words, and as a line that can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Literal

import numpy as np

from halftrek import upward
from halftrek.bottom.portable import Portable
from halftrek.errors import QueryError
from halftrek.graphs import Edge, quoted
from halftrek.graphs.hidden import scaled_by
from halftrek.identification.beside.advice import Change, Decide, causes_of, is_identified_with
from halftrek.identification.independence.deciding import beyond_covariances
from halftrek.models import CGLSCM, Gaussian
from halftrek.notes.words import Front
from halftrek.queries import evaluate
from halftrek.queries.checks import variables_of
from halftrek.queries.types import (
    DirectEffect,
    Distribution,
    PathEffect,
    Query,
    Standardized,
    ThroughEffect,
    TotalEffect,
)

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.study import Study
    from halftrek.identification.verdict import Verdict

Way = Literal["identify", "non-normal", "more time", "fit", "effects", "bounds", "sensitivity"]
_LONG = 600  # characters of a graph that are not written out once more
_KINDS = ("instrument", "measure", "mediator", "rule out")  # changes that a line can show, the most to gain first
_STRONG = 0.3  # a correlation of errors that most would call strong, to begin with
_ARCS = 4  # pairs with a hidden cause that are tried for a sensitivity analysis
_NOT_NORMAL = "If errors are not normal, and independent where the graph has no arc, it can be known:"
_ALL = "With data, all values that the graph leaves; assumptions leave fewer:"
_OTHERS = 12  # other questions that are tried
_SMALL = 30  # variables up to which independent errors are looked at beside a refusal
_PATIENCE = 60  # seconds that a second attempt is given


@dataclass(frozen=True, eq=False)
class NextStep(Portable):
    """One thing to do next: why, in words, and the line to paste.

    ``query`` is asked of ``graph``; lines that need data call them ``data`` (``data.csv`` on the command line).
    ``kinds`` are those of columns that are not continuous.
    """

    text: str
    way: Way
    graph: Graph
    query: Query
    arc: tuple[str, str] | None = None
    kinds: tuple[tuple[str, str], ...] = ()

    def line(self, front: Front = "python") -> str:
        """The line to paste; empty if this front has no such thing."""
        return self._shell() if front == "command line" else self._python()

    def to_dict(self) -> dict[str, str]:
        """As plain data, for JSON."""
        return {"text": self.text, "python": self.line("python"), "shell": self.line("command line")}

    def _python(self) -> str:
        written = upward.graph_line(self.graph)
        graph = _literal(written) if len(written) <= _LONG else "graph"
        question = _literal(str(self.query))
        pairs = ", ".join(f"{_literal(v)}: {_literal(kind)}" for v, kind in self.kinds)
        kinds = f", kinds={{{pairs}}}" if pairs else ""
        match self.way:
            case "identify":
                return f"ht.identify({graph}, {question})"
            case "non-normal":
                return f'ht.identify({graph}, {question}, scope="non-normal")'
            case "more time":
                return f"ht.identify({graph}, {question}, budget={_PATIENCE})"
            case "fit":
                return f"ht.fit({graph}, data{kinds}).query({question})"
            case "effects":
                return f"ht.fit({graph}, data{kinds}).effects()"
            case "bounds":
                assumed = "" if self.arc is None else f", assume=[{_literal(self._assumed)}]"
                return f"ht.bounds({graph}, data, {question}{assumed}{kinds})"
            case "sensitivity":
                return f"ht.fit({graph}, data{kinds}).sensitivity({question}, edge={_literal(self._edge)})"

    def _shell(self) -> str:
        written = upward.graph_line(self.graph)
        graph = shlex.quote(written) if len(written) <= _LONG else "graph.txt"
        question = shlex.quote(str(self.query))
        kinds = "".join(f" --kind {shlex.quote(f'{v}={kind}')}" for v, kind in self.kinds)
        match self.way:
            case "identify":
                return f"halftrek identify {graph} {question}"
            case "non-normal":
                return f"halftrek identify {graph} {question} --scope non-normal"
            case "more time":
                return f"halftrek identify {graph} {question} --budget {_PATIENCE}"
            case "fit":
                return f"halftrek query {graph} data.csv {question}{kinds}"
            case "effects":
                return f"halftrek identify {graph} --all"
            case "bounds":
                assumed = "" if self.arc is None else f" --assume {shlex.quote(self._assumed)}"
                return f"halftrek bounds {graph} data.csv {question}{assumed}{kinds}"
            case "sensitivity":
                return f"halftrek sensitivity {graph} data.csv {question} --edge {shlex.quote(self._edge)}{kinds}"

    @property
    def _edge(self) -> str:
        assert self.arc is not None  # a sensitivity is about one pair
        return str(Edge(self.arc[0], "<->", self.arc[1]))

    @property
    def _assumed(self) -> str:
        assert self.arc is not None
        return f"abs(corr({quoted(self.arc[0])} <-> {quoted(self.arc[1])})) <= {_STRONG}"


def _literal(text: str) -> str:
    plain = text.isprintable() and not {'"', "\\"} & set(text)
    return f'"{text}"' if plain else repr(text)


def steps_without_change(graph: Graph, query: Query, decide: Decide, *, seconds: float, vary: bool) -> list[NextStep]:
    """What can be had from the graph as it is: with ``vary`` a range, and another question that has an answer."""
    deadline = monotonic() + seconds
    steps = list(_sensitivities(graph, query, decide, deadline)) if vary else []
    for other in list(_other_questions(graph, query))[:_OTHERS]:
        if monotonic() > deadline:
            break
        if decide(graph, other):
            return [*steps, NextStep(f"{other} can be known in this graph as it is:", "fit", graph, other)]
    return steps


def with_factors(study: Study, verdict: Verdict, decide: Decide, *, seconds: float) -> Verdict:
    """With a range, where all hidden variables count as observed; none that hangs on a scale which is free."""
    graph, query = study.graph, verdict.query
    if verdict.status != "not identified" or study.measured.keys() != set(graph.hidden):
        return verdict
    steps = _sensitivities(study.with_factors, query, decide, monotonic() + seconds)
    free = {v for v in graph.hidden if scaled_by(graph, v) is None}
    asked = free.intersection(variables_of(query))
    kept = tuple(replace(step, graph=graph) for step in steps if not (asked or free.intersection(step.arc or ())))
    return replace(verdict, next_steps=kept)


def step_without_normality(graph: Graph, query: Query) -> list[NextStep]:
    """Independent errors, where they tell what covariances leave open."""
    if graph.hidden or len(graph) > _SMALL or not beyond_covariances(graph, query, witness=False).identified:
        return []
    return [NextStep(_NOT_NORMAL, "non-normal", graph, query)]


def which_effects(graph: Graph, query: Query) -> NextStep:
    """What is always there: the table of all effects that the graph allows."""
    return NextStep("Which effects of this graph can be known:", "effects", graph, query)


def step_with_change(changes: Sequence[Change]) -> list[NextStep]:
    """The change that asks least of the assumptions, as a graph to decide again; none if no line can show one."""
    for kind in _KINDS:
        for change in changes:
            if change.kind == kind and len(upward.graph_line(change.graph)) <= _LONG:
                what = change.text.partition(": ")[0]
                return [NextStep(f"It can be known after {what}:", "identify", change.graph, change.query)]
    return []


def _sensitivities(graph: Graph, query: Query, decide: Decide, deadline: float) -> Iterator[NextStep]:
    """The first hidden cause of two variables whose strength, once assumed, gives the answer."""
    asked = _as_number(query)
    if asked is None:
        if _has_values(query, graph):
            yield NextStep(_ALL, "bounds", graph, query)
        return
    named = set(variables_of(asked))
    arcs = sorted(graph.bidirected, key=lambda arc: -len(named & set(arc)))[:_ARCS]
    for u, v in arcs:
        if monotonic() > deadline:
            break
        if Edge(u, "<->", v) not in graph.known and is_identified_with(graph, asked, Edge(u, "<->", v), decide):
            text = f"With data, between which values the answer lies if what {u} and {v} have in common is limited:"
            yield NextStep(text, "bounds", graph, asked, (u, v))
            text = f"With data, how the answer depends on what {u} and {v} have in common, over a range of strengths:"
            yield NextStep(text, "sensitivity", graph, asked, (u, v))
            return
    yield NextStep(_ALL, "bounds", graph, asked)


def _has_values(query: Query, graph: Graph) -> bool:
    """True for a question about one number that says all values it needs."""
    anything = CGLSCM.from_parameters(names=graph.observed, T=np.zeros((len(graph), len(graph))))
    try:
        return not isinstance(evaluate(query, anything), Gaussian)
    except (QueryError, np.linalg.LinAlgError):
        return False


def _as_number(query: Query) -> Query | None:
    """The question as one number that needs no values; None if it is no effect."""
    match query:
        case Distribution(asks="intervention", names=(y,), do=do) if len(do) == 1 and not query.seen:
            return TotalEffect(next(iter(do)), y)
        case DirectEffect() | TotalEffect() | PathEffect() | ThroughEffect() | Standardized():
            return query
    return None


def _other_questions(graph: Graph, query: Query) -> Iterator[Query]:
    """Effects on the way from the causes asked about to what they affect, the ones that name both kinds of end first.

    Whole effects stand before single arrows.
    """
    causes = [v for v in causes_of(query) if v in graph]
    named = [v for v in variables_of(query) if v in graph]
    ends = [v for v in named if v not in causes] or named
    below, above = graph.descendants(causes or named), graph.ancestors(ends)
    between = [v for v in graph.topological_order if v in below and v in above]
    pairs = [(u, v) for u in between for v in between if u != v and v in graph.descendants(u)]
    pairs.sort(key=lambda pair: -(pair[0] in causes) - (pair[1] in ends))
    for u, v in pairs:
        yield from (q for q in (TotalEffect(u, v),) if q != query)
    yield from (DirectEffect(u, v) for u, v in pairs if u in graph.parents(v) and DirectEffect(u, v) != query)
