"""Requests for verdicts: can it be known, along which paths, and if not, what would help."""

from __future__ import annotations

from halftrek.graphs import Edge, Graph
from halftrek.graphs.independences.paths import paths_between
from halftrek.identification.arrows.listed_sets import listed_sets
from halftrek.identification.beside.advice import causes_of, graph_after, question_after
from halftrek.identification.verdict import Verdict
from halftrek.notes import Note
from halftrek.queries import Query
from halftrek.reporting.html import question_ends
from halftrek.reporting.records import Record, graph_record
from halftrek.results.given.inputs import read_question
from halftrek.results.given.reading import asked_of, identify
from halftrek.results.words.answer_lines import outcomes_of
from halftrek.web.work.bench import Bench, Request

_PATHS = 200
_SETS = 20
_KINDS = {
    "rule out arc": "rule out", "rule out two arcs": "rule out", "measure common cause": "measure",
    "measure hidden cause": "measure", "measure instrument": "instrument", "measure mediator": "mediator",
    "know coefficient": "know", "know error covariance": "know",
}  # fmt: skip


def verdict(asked: Request, _bench: Bench) -> Record:
    """The verdict without the search for a proof of a refusal and for what would help."""
    graph, question = asked.graph(), read_question(asked.text("question"))
    found = identify(graph, question, witness=False)
    sets = listed_sets(graph, question, most=_SETS)
    return {
        "verdict": found.to_dict(),
        "question": question_record(question),
        "headline": found.explain().splitlines()[0],
        "paths": _paths(graph, question, asked.texts("adjusted")),
        "adjustment_sets": None if sets is None else sets.to_dict(),
        "more": not found.answerable,
    }


def help_(asked: Request, _bench: Bench) -> Record:
    """The whole verdict, and what would help as changes of the graph."""
    graph = asked.graph()
    _, found = asked_of(graph, asked.text("question"))
    return {"verdict": found.to_dict(), "changes": [_change(graph, found, advice) for advice in found.advice]}


def question_record(question: Query) -> Record:
    """A question with its ends, where it has one of each."""
    cause, outcome = question_ends(question)
    return {
        "text": str(question),
        "latex": question.latex,
        "cause": cause,
        "outcome": outcome,
        "causes": list(causes_of(question)),
        "outcomes": list(outcomes_of(question)),
    }


def _paths(graph: Graph, question: Query, adjusted: list[str]) -> Record | None:
    cause, outcome = question_ends(question)
    if cause is None or outcome is None or cause == outcome or cause not in graph or outcome not in graph:
        return None
    given = [v for v in adjusted if v not in (cause, outcome)]
    found, complete = paths_between(graph, cause, outcome, given, most=_PATHS)
    listed = [
        {
            "kind": path.kind,
            "open": path.open,
            "variables": list(path.variables),
            "edges": [list(edge) for edge in path.edges],
            "colliders": list(path.colliders),
            "text": str(path),
        }
        for path in found
    ]
    return {"cause": cause, "outcome": outcome, "complete": complete, "paths": listed}


def _change(graph: Graph, found: Verdict, advice: Note) -> Record:
    kind = _KINDS[advice.code]
    after = graph_after(graph, advice)
    edits = [_edit("fix edge", Edge.read(advice.facts["edge"]))] if kind == "know" else edits_between(graph, after)
    return {
        "code": advice.code,
        "kind": kind,
        "text": str(advice),
        "edits": edits,
        "graph": graph_record(after),
        "question": str(question_after(found.query, advice)),
        "needs": "a number" if kind == "know" else None,
    }


def edits_between(before: Graph, after: Graph) -> list[Record]:
    """What has to be done to a graph to have another."""
    seen, unseen = {*before.nodes, *before.latents}, {*before.latents, *before.hidden}
    edits: list[Record] = [{"op": "add variable", "edge": None, "variable": v} for v in after.observed if v not in seen]
    edits += [{"op": "show variable", "edge": None, "variable": v} for v in after.observed if v in unseen]
    old, new = list(before.edges()), list(after.edges())
    edits += [_edit("remove edge", edge) for edge in old if edge not in new]
    return edits + [_edit("add edge", edge) for edge in new if edge not in old]


def _edit(op: str, edge: tuple[str, str, str]) -> Record:
    return {"op": op, "edge": list(edge), "variable": None}
