"""A graph as lavaan formulas that ``sem()`` and we read as the same model; see ``lavaan`` for what they mean.

``sem()`` adds to a text what it does not say. So that nothing is left to add or to guess, the text says

- ``x1 ~~ 0*x2`` for causes without causes, and ``y1 ~~ 0*y2`` for outcomes that cause nothing, which would covary;
- ``f1 ~~ 0*f2`` for hidden variables without causes, which would covary;
- ``f =~ NA*a + b`` with ``f ~~ 1*f``, or ``f =~ 1*a + b``: the scale of a hidden variable, in so many words;
- ``x ~~ x`` for a single cause without causes, whose variance would be taken from the data as given (``fixed.x``), and
  for the only effect of a hidden variable, whose error would be fixed at zero;
- ``f ~ 0*1`` for one whose loadings are all fixed, which could be meant for ``growth()``;
- ``f =~ 0`` for a hidden cause without effects.

Further ``v ~~ v`` come first where the variables would otherwise be met in another order than the graph has them.
Arrows out of hidden variables are written with ``=~``; those to hidden effects with ``~``, if there are observed ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from halftrek.errors import GraphError
from halftrek.graphs import Arcs, Coefficient, Edge, Graph
from halftrek.graphs.hidden import scaled_by
from halftrek.syntax.graphs.draft import number_text

# what R takes for a name; lavaan calls its own parameters .p1., .p2. and so on
_WORD = re.compile(r"(?!\.+(?:\d|$)|\.p\d+\.$)(?:[^\W\d_]|\.)[\w.]*")
_RESERVED = re.compile(
    r"if|else|repeat|while|function|for|next|break|in|TRUE|FALSE|NULL|Inf|NaN|NA(?:_(?:integer|real|character|complex)_)?"
)


def write(graph: Graph) -> str:
    """The formulas, hidden variables first; a name or label that R cannot read is refused.

    An error covariance that is fixed at zero is written as no covariance, which is the same model.
    """
    for name in (*graph.nodes, *graph.latents):
        _refuse_unreadable(name, "variable")
    parts = _Parts.of(graph)
    covariances = list(_covariances(graph, parts))
    body = [*_measurements(graph, parts), *_regressions(graph, parts), *covariances, *_intercepts(graph, parts)]
    spoken = {v for left, _, terms in covariances for v in (left, *terms)} | graph.intercepts.keys()
    stated = dict.fromkeys((*graph.variances, *_with_stated_variance(graph, parts, spoken)))
    met = dict.fromkeys(v for left, _, terms in body for v in (left, *terms))
    first = _named_first(graph.observed, [*met, *stated])
    lines = [_variance(graph, v) for v in first]
    lines += [f"{left} {operator} {' + '.join(terms.values())}" for left, operator, terms in body]
    lines += [_variance(graph, v) for v in stated if v not in first]
    return "\n".join([*lines, *(f"{name} := {formula}" for name, formula in graph.definitions.items())])


_Line = tuple[str, str, dict[str, str]]  # left side, operator, and each name of the right side with its term


class _Parts(NamedTuple):
    """Which arrows are written with ``=~``, which with ``~``, and what follows from it for what lavaan would add."""

    loadings: dict[str, tuple[str, ...]]
    regressions: dict[str, tuple[str, ...]]

    @staticmethod
    def of(graph: Graph) -> _Parts:
        hidden = set(graph.hidden)
        loadings = dict(graph.latents)
        regressions = {v: [u for u in graph.parents(v) if u not in hidden] for v in graph.nodes}
        for f in graph.hidden:
            seen = tuple(v for v in graph.children(f) if v not in hidden)
            loadings[f] = seen or graph.children(f)
            for v in graph.children(f):
                if v not in loadings[f]:
                    regressions[v].append(f)
        return _Parts(loadings, {v: tuple(causes) for v, causes in regressions.items() if causes})

    @property
    def indicators(self) -> set[str]:
        return {v for kids in self.loadings.values() for v in kids}

    @property
    def causes(self) -> set[str]:
        return {u for some in self.regressions.values() for u in some}

    def would_covary(self, graph: Graph) -> list[list[str]]:
        """Those without causes, those that cause nothing, and hidden ones without causes."""
        inside, causes = self.indicators, self.causes
        first = [v for v in graph.observed if v in causes and v not in self.regressions and v not in inside]
        last = [v for v in self.regressions if v not in causes and v not in inside]
        hidden = [f for f in self.loadings if f not in self.regressions and f not in inside]
        return [first, last, hidden]


def _measurements(graph: Graph, parts: _Parts) -> Iterator[_Line]:
    for u, children in parts.loadings.items():
        terms = {child: f"{_modifier(graph.known.get(Edge(u, '->', child)))}{child}" for child in children}
        if children and not isinstance(graph.known.get(Edge(u, "->", children[0])), float):
            start = terms[children[0]]
            terms[children[0]] = f"NA*{children[0]}" + (f" + {start}" if "*" in start else "")
        yield u, "=~", terms or {u: "0"}
    for u in graph.latents:
        yield u, "~~", {u: f"1*{u}"}
    for u in graph.hidden:
        if u not in graph.variances and scaled_by(graph, u) is None:
            yield u, "~~", {u: f"1*{u}"}
    yield from _zeros(graph, parts.would_covary(graph)[2])


def _regressions(graph: Graph, parts: _Parts) -> Iterator[_Line]:
    for v, causes in parts.regressions.items():
        yield v, "~", {u: f"{_modifier(graph.known.get(Edge(u, '->', v)))}{u}" for u in causes}


def _covariances(graph: Graph, parts: _Parts) -> Iterator[_Line]:
    arcs = graph.bidirected if isinstance(graph.bidirected, Arcs) else Arcs(tuple(graph.bidirected))
    for u, v in arcs.loose:
        yield u, "~~", {v: f"{_modifier(graph.known.get(Edge(u, '<->', v)))}{v}"}
    for block in arcs.blocks:  # a line for each member
        for i, u in enumerate(block[:-1]):
            yield u, "~~", {v: f"{_modifier(graph.known.get(Edge(u, '<->', v)))}{v}" for v in block[i + 1 :]}
    for would_covary in parts.would_covary(graph)[:2]:
        yield from _zeros(graph, would_covary)


def _variance(graph: Graph, v: str) -> str:
    value = graph.variances.get(v)
    return f"{v} ~~ {_modifier(None if value == f'variance of {v}' else value)}{v}"


def _intercepts(graph: Graph, parts: _Parts) -> Iterator[_Line]:
    for f in graph.hidden:
        own = [graph.known.get(Edge(f, "->", v)) for v in parts.loadings[f]]
        if f not in graph.intercepts and len(own) > 1 and all(isinstance(known, float) for known in own):
            yield f, "~", {f: "0*1"}
    for v, value in graph.intercepts.items():
        yield v, "~", {v: f"{_modifier(None if value == f'intercept of {v}' else value)}1"}


def _zeros(graph: Graph, names: list[str]) -> Iterator[_Line]:
    for i, u in enumerate(names):
        near = set(() if u in graph.latents else graph.siblings(u))
        terms = {v: f"0*{v}" for v in names[i + 1 :] if v not in near}
        if terms:
            yield u, "~~", terms


def _with_stated_variance(graph: Graph, parts: _Parts, spoken: set[str]) -> list[str]:
    unsaid = {v for v in parts.would_covary(graph)[0] if v not in spoken}
    unit = {v for v in graph.hidden if scaled_by(graph, v) is None}  # which has its line already
    only_children = {kids[0] for kids in parts.loadings.values() if len(kids) == 1} - unit
    lonely = {
        v
        for v in graph.observed
        if not (graph.parents(v) or graph.children(v) or graph.siblings(v) or graph.latent_parents(v))
    }
    return [v for v in graph.nodes if v in unsaid | only_children | lonely]


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
    if isinstance(known, str):
        _refuse_unreadable(known, "label")
        return f"{known}*"
    return f"{number_text(known)}*"


def _refuse_unreadable(word: str, what: str) -> None:
    plain = _WORD.fullmatch(word) and all(c.isalpha() or c in "0123456789._" for c in word)
    if not plain or _RESERVED.fullmatch(word):
        raise GraphError(
            f"lavaan cannot read the {what} {word!r}: R has words of letters, digits, '.' and '_' that begin with a "
            f"letter and are not reserved; rename it"
        )
