"""What users call first: graphs, moments and verdicts from whatever they hand over."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, TypedDict, Unpack

from numpy.typing import ArrayLike

from halftrek import identification
from halftrek.bottom.calls import public
from halftrek.bottom.choices import AnySyntax, LavaanFunction, Scope
from halftrek.bottom.memory import remembered
from halftrek.data import Moments, read_moments
from halftrek.graphs import Graph
from halftrek.graphs.as_written import Written
from halftrek.identification import Verdict
from halftrek.queries import Query, check_query
from halftrek.queries.checks import speaking_of
from halftrek.queries.types import is_intervention
from halftrek.results.given.inputs import read_graph, read_question, refuse_defined

_AT_ANY_VALUE: dict[Hashable, Verdict] = {}  # verdicts on interventions that are identified, the last few


class Reading(TypedDict, total=False):
    """What reading moments may be told; see ``read_moments``."""

    weights: str | ArrayLike | None
    sampling_weights: str | ArrayLike | None
    categories: Mapping[str, object] | None
    missing: Literal["error", "drop"]
    progress: Callable[[int, int | None], object] | None


class Deciding(TypedDict, total=False):
    """What a decision may be told; see ``identification.identify``."""

    scope: Scope
    budget: float
    witness: bool
    progress: Callable[[float, float], None] | None


def graph(source: object, syntax: AnySyntax = "auto") -> Graph:
    """A graph from text in any syntax, from a file that holds such text, or from a networkx graph."""
    return read_graph(source, syntax)


def from_lavaan(
    source: object,
    function: LavaanFunction = "sem",
    *,
    std_lv: bool = False,
    orthogonal: bool = False,
    group: int | None = None,
    **others: object,
) -> Graph:
    """The graph of a text in lavaan's syntax, or of a file with one, as ``sem()``, ``cfa()`` or ``growth()`` read it.

    ``ht.graph`` reads such a text too; it leaves apart outcomes that cause nothing, which lavaan lets covary, and says
    so. ``std_lv`` and ``orthogonal`` are lavaan's ``std.lv`` and ``orthogonal``: factors of variance 1, and factors
    that do not covary. ``group=0`` is the model of the first group, where the text has ``c(a, b)*x``; parameters equal
    across groups are refused. Covariates are modelled, as with ``fixed.x = FALSE``. Further arguments of lavaan are
    refused with what to do in their place.
    """
    from halftrek.results.given.lavaan import read_lavaan

    return read_lavaan(source, function, std_lv=std_lv, orthogonal=orthogonal, group=group, **others)


@public
def moments(data: object, names: Sequence[str] | None = None, **options: Unpack[Reading]) -> Moments:
    """The moments of data: arrays, frames of any library, files, DuckDB relations; see ``read_moments``."""
    return read_moments(data, names, **options)


@public
def identify(source: object, question: str | Query, **options: Unpack[Deciding]) -> Verdict:
    """Can the question be answered from the graph's observational distribution? From the graph alone."""
    chosen = read_graph(source)
    if not options:
        return asked_of(chosen, question)[1]
    query = read_question(question)
    check_query(query, chosen := speaking_of(chosen, query))
    return identification.identify(chosen, query, **options)


def asked_of(graph: Graph, question: str | Query) -> tuple[Query, Verdict]:
    """A question, read and checked against the graph, and whether it can be answered: once for each graph."""
    return _asked_of(Written(graph), question if isinstance(question, str) else read_question(question))


@lru_cache(maxsize=512)
def _asked_of(written: Written, question: str | Query) -> tuple[Query, Verdict]:
    refuse_defined(question, written.graph)
    query = read_question(question)
    if isinstance(question, str):
        verdict = _asked_of(written, query)[1]
        return query, replace(verdict, query=query)  # an equal question may have named things in another order
    graph = speaking_of(written.graph, query)
    check_query(query, graph)
    return query, _decided(written if graph is written.graph else Written(graph), query)


def _decided(written: Written, query: Query) -> Verdict:
    """The verdict; an intervention that is identified is so at all values, which need no decision of their own."""
    if not is_intervention(query) or not query.do:
        return identification.identify(written.graph, query)
    key = (written, query.names, tuple(query.do), tuple(query.seen))
    if key in _AT_ANY_VALUE:
        return replace(_AT_ANY_VALUE[key], query=query)
    verdict = identification.identify(written.graph, query)
    return remembered(_AT_ANY_VALUE, key, lambda: verdict, most=512) if verdict.identified else verdict
