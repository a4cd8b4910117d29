"""Requests about the graph alone: all its notations, its places, its columns in data, what it implies."""

from __future__ import annotations

import difflib
from functools import lru_cache

from halftrek.errors import HalftrekError
from halftrek.graphs import Graph
from halftrek.reporting.plots.curves import node_width
from halftrek.reporting.plots.layout import Point, lay_out
from halftrek.reporting.records import Record, graph_record
from halftrek.syntax import detect_syntax, format_graph
from halftrek.web.work.bench import Bench, Request

NOTATIONS = ("arrows", "lavaan", "dagitty", "dot")
_NEAR = 3  # columns that are offered for a variable
_ALIKE = 0.5


def graph(asked: Request, bench: Bench) -> Record:
    """The graph in all notations, with places; and the verdict on a question, if it comes with one."""
    made = asked.graph()
    texts: dict[str, str | None] = {}
    unwritten: dict[str, str] = {}
    for notation in NOTATIONS:
        try:
            texts[notation] = format_graph(made, notation)  # type: ignore[arg-type]
        except HalftrekError as error:
            texts[notation], unwritten[notation] = None, str(error)
    notation = asked.text("notation") or "auto"
    if notation == "auto":
        notation = detect_syntax(asked.text("text")) if asked.body.get("text") is not None else "arrows"
    wanted = asked.body.get("layout")
    if wanted is None:  # for what has no place
        wanted = any(v not in made.positions for v in (*made.nodes, *made.latents))
    return {
        "graph": graph_record(made),
        "notation": notation,
        "texts": texts,
        "unwritten": unwritten,
        "positions": made.positions,
        "layout": places(made) if wanted else None,
        "roles": made.roles,
        "notes": [note.to_dict() for note in made.notes],
        "asked": None if asked.name("question") is None else _asked(asked, bench),
    }


def _asked(asked: Request, bench: Bench) -> Record:
    """The verdict; what is wrong with the question does not stop the graph."""
    from halftrek.web.work.refusals import refused
    from halftrek.web.work.verdicts import verdict

    try:
        return {**verdict(asked, bench), "error": None}
    except HalftrekError as error:
        return {"error": refused(error, None)[1]}


def places(made: Graph) -> dict[str, Point]:
    """Where the variables of a graph look best, y downwards."""
    return _places(made.opened, made.nodes)  # hidden variables with causes stand among the others


@lru_cache(maxsize=64)
def _places(made: Graph, _order: tuple[str, ...]) -> dict[str, Point]:
    """Equal graphs may have their variables in another order, and then other places."""
    widths = {v: node_width(v) for v in (*made.observed, *made.latents)}
    return {v: (x, -y) for v, (x, y) in lay_out(made, widths).nodes.items()}


def implied(asked: Request, _bench: Bench) -> Record:
    """The independences that data could contradict."""
    return {"implied": independences(asked.graph())}


def independences(made: Graph) -> list[Record]:
    """Each as a pair and what is given."""
    return [{"between": [x, y], "given": list(given)} for x, y, given in made.implied_independences()]


def match(asked: Request, bench: Bench) -> Record:
    """Which variables the data have, and the nearest column for those that they have not."""
    variables, columns = asked.graph().observed, bench.columns(asked.source)
    there = set(columns)
    free = [c for c in columns if c not in set(variables)]
    return {
        "matched": [v for v in variables if v in there],
        "missing": [{"variable": v, "nearest": nearest(v, free)} for v in variables if v not in there],
        "unused": free,
        "recognised": {v: "ordered" for v in bench.ordered(asked.source) if v in variables},
    }


def nearest(variable: str, columns: list[str]) -> list[str]:
    """The columns that a variable is most likely called, the likeliest first."""
    bare = _bare(variable)
    scores = {c: _likeness(bare, _bare(c)) for c in columns}
    return [c for c in sorted(columns, key=lambda c: -scores[c]) if scores[c] >= _ALIKE][:_NEAR]


def _likeness(one: str, other: str) -> float:
    """One for the same letters; a name that begins like the other is likely short for it."""
    if not one or not other:
        return 0.0
    begins = 0.9 if one.startswith(other) or other.startswith(one) else 0.0
    return max(begins if one != other else 1.0, difflib.SequenceMatcher(None, one, other).ratio())


def _bare(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
