"""A graph as lavaan formulas that ``sem()`` and we read as the same model; see ``lavaan`` for what they mean.

``sem()`` adds to a text what it does not say. So that nothing is left to add or to guess, the text says

- ``x1 ~~ 0*x2`` for causes without causes, and ``y1 ~~ 0*y2`` for outcomes that cause nothing, which would covary;
- ``f1 ~~ 0*f2`` for hidden causes, which would covary, and ``f ~~ 1*f`` with a free first loading;
- ``x ~~ x`` for a single cause without causes, whose variance would be taken from the data as given (``fixed.x``), and
  for the only child of a hidden cause, whose error would be fixed at zero;
- ``f =~ 0`` for a hidden cause without children.

Further ``v ~~ v`` come first where the variables would otherwise be met in another order than the graph has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from halftrek.errors import GraphError
from halftrek.graphs import Arcs, Coefficient, Edge, Graph
from halftrek.syntax.graphs.draft import number_text

# what R takes for a name; lavaan calls its own parameters .p1., .p2. and so on
_WORD = re.compile(r"(?!\.+(?:\d|$)|\.p\d+\.$)(?:[^\W\d_]|\.)[\w.]*")
_RESERVED = re.compile(
    r"if|else|repeat|while|function|for|next|break|in|TRUE|FALSE|NULL|Inf|NaN|NA(?:_(?:integer|real|character|complex)_)?"
)


def write(graph: Graph) -> str:
    """The formulas, hidden causes first; a name or label that R cannot read is refused.

    An error covariance that is fixed at zero is written as no covariance, which is the same model.
    """
    for name in (*graph.observed, *graph.latents):
        _refuse_unreadable(name, "variable")
    for value in graph.coefficients.values():
        if isinstance(value, str):
            _refuse_unreadable(value, "label")
    covariances = list(_covariances(graph))
    body = [*_measurements(graph), *_regressions(graph), *covariances]
    alone = _with_stated_variance(graph, spoken={v for left, _, terms in covariances for v in (left, *terms)})
    met = dict.fromkeys(v for left, _, terms in body for v in (left, *terms))
    first = _named_first(graph.observed, [*met, *alone])
    lines = [f"{v} ~~ {v}" for v in first]
    lines += [f"{left} {operator} {' + '.join(terms.values())}" for left, operator, terms in body]
    lines += [f"{v} ~~ {v}" for v in alone if v not in first]
    return "\n".join(lines)


_Line = tuple[str, str, dict[str, str]]  # left side, operator, and each name of the right side with its term


def _measurements(graph: Graph) -> Iterator[_Line]:
    for u, children in graph.latents.items():
        terms = {child: f"{_modifier(graph.known.get(Edge(u, '->', child)))}{child}" for child in children}
        if children and not isinstance(graph.known.get(Edge(u, "->", children[0])), float):
            start = terms[children[0]]
            terms[children[0]] = f"NA*{children[0]}" + (f" + {start}" if "*" in start else "")
        yield u, "=~", terms or {u: "0"}
    for u in graph.latents:
        yield u, "~~", {u: f"1*{u}"}
    yield from _zeros(graph.latents)


def _regressions(graph: Graph) -> Iterator[_Line]:
    for v in graph.observed:
        if graph.parents(v):
            yield v, "~", {u: f"{_modifier(graph.known.get(Edge(u, '->', v)))}{u}" for u in graph.parents(v)}


def _covariances(graph: Graph) -> Iterator[_Line]:
    arcs = graph.bidirected if isinstance(graph.bidirected, Arcs) else Arcs(tuple(graph.bidirected))
    for u, v in arcs.loose:
        yield u, "~~", {v: f"{_modifier(graph.known.get(Edge(u, '<->', v)))}{v}"}
    for block in arcs.blocks:  # a line for each member
        for i, u in enumerate(block[:-1]):
            yield u, "~~", {v: f"{_modifier(graph.known.get(Edge(u, '<->', v)))}{v}" for v in block[i + 1 :]}
    for would_covary in (_exogenous(graph), _terminal(graph)):
        yield from _zeros(would_covary, graph.siblings)


def _zeros(names: Iterable[str], joined: Callable[[str], Iterable[str]] = lambda _: ()) -> Iterator[_Line]:
    listed = list(names)
    for i, u in enumerate(listed):
        near = set(joined(u))
        terms = {v: f"0*{v}" for v in listed[i + 1 :] if v not in near}
        if terms:
            yield u, "~~", terms


def _exogenous(graph: Graph) -> list[str]:
    return [v for v in graph.observed if graph.children(v) and not (graph.parents(v) or graph.latent_parents(v))]


def _terminal(graph: Graph) -> list[str]:
    """Outcomes that cause nothing; children of hidden causes are indicators, which lavaan leaves alone."""
    return [v for v in graph.observed if graph.parents(v) and not (graph.children(v) or graph.latent_parents(v))]


def _with_stated_variance(graph: Graph, spoken: set[str]) -> list[str]:
    unsaid = {v for v in _exogenous(graph) if v not in spoken}
    only_children = {kids[0] for kids in graph.latents.values() if len(kids) == 1}
    lonely = {
        v
        for v in graph.observed
        if not (graph.parents(v) or graph.children(v) or graph.siblings(v) or graph.latent_parents(v))
    }
    return [v for v in graph.observed if v in unsaid | only_children | lonely]


def _named_first(observed: tuple[str, ...], met: list[str]) -> tuple[str, ...]:
    """As few variables as have to be named before the formulas so that all are met in the graph's order."""
    place = {v: i for i, v in reversed(list(enumerate(met)))}
    start = len(observed) - 1
    while start > 0 and place[observed[start - 1]] < place[observed[start]]:
        start -= 1
    return observed[:start]


def _modifier(known: Coefficient | None) -> str:
    if known is None:
        return ""
    return f"{known if isinstance(known, str) else number_text(known)}*"


def _refuse_unreadable(word: str, what: str) -> None:
    plain = _WORD.fullmatch(word) and all(c.isalpha() or c in "0123456789._" for c in word)
    if not plain or _RESERVED.fullmatch(word):
        raise GraphError(
            f"lavaan cannot read the {what} {word!r}: R has words of letters, digits, '.' and '_' that begin with a "
            f"letter and are not reserved; rename it"
        )
