"""A graph as lavaan formulas; see ``lavaan`` for what they mean."""

from __future__ import annotations

import re
from itertools import combinations

from halftrek.graph import Coefficient, Graph, edge_key, quoted
from halftrek.syntax.draft import number_text
from halftrek.syntax.formulas import NAME

_BARE = re.compile(NAME)


def write(graph: Graph) -> str:
    """The formulas, hidden causes first, with unit variance and free first loadings.

    lavaan has no word for a hidden cause without children; such ones are named in a comment. An error covariance that
    is fixed at zero is written as no covariance, which is the same model.
    """
    lines = [_measurement(graph, u, kids) for u, kids in graph.latents.items() if kids]
    factors = [u for u, kids in graph.latents.items() if kids]
    lines += [f"{_name(u)} ~~ 1*{_name(u)}" for u in factors]
    lines += [f"{_name(u)} ~~ 0*{_name(v)}" for u, v in combinations(factors, 2)]
    for v in graph.observed:
        terms = [f"{_modifier(_known(graph, u, '->', v))}{_name(u)}" for u in graph.parents(v)]
        if terms:
            lines.append(f"{_name(v)} ~ {' + '.join(terms)}")
    for u, v in graph.bidirected:
        lines.append(f"{_name(u)} ~~ {_modifier(_known(graph, u, '<->', v))}{_name(v)}")
    exogenous = [v for v in graph.observed if graph.children(v) and not (graph.parents(v) or graph.latent_parents(v))]
    for u, v in combinations(exogenous, 2):
        if v not in graph.siblings(u):
            lines.append(f"{_name(u)} ~~ 0*{_name(v)}")
    for v in graph.observed:
        if not (graph.parents(v) or graph.children(v) or graph.siblings(v) or graph.latent_parents(v)):
            lines.append(f"{_name(v)} ~~ {_name(v)}")
    lines += [f"# {_name(u)} is hidden and has no children" for u, kids in graph.latents.items() if not kids]
    return "\n".join(lines)


def _measurement(graph: Graph, factor: str, children: tuple[str, ...]) -> str:
    terms: list[str] = []
    for place, child in enumerate(children):
        known = _known(graph, factor, "->", child)
        if place == 0 and not isinstance(known, float):
            terms.append(f"NA*{_name(child)}")
        if place > 0 or known is not None:
            terms.append(f"{_modifier(known)}{_name(child)}")
    return f"{_name(factor)} =~ {' + '.join(terms)}"


def _known(graph: Graph, u: str, kind: str, v: str) -> Coefficient | None:
    return graph.coefficients.get(edge_key(u, kind, v))


def _modifier(known: Coefficient | None) -> str:
    if known is None:
        return ""
    if isinstance(known, str):
        text = quoted(known)
        bare = _BARE.fullmatch(known) and known != "NA"
        return f"{known}*" if bare else f"label({text if text != known else repr(known)})*"
    return f"{number_text(known)}*"


def _name(name: str) -> str:
    if _BARE.fullmatch(name) and name != "NA":
        return name
    return quoted(name) if quoted(name) != name else f'"{name}"'
