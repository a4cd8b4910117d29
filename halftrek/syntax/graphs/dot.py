"""The syntax of Graphviz: ``digraph { x -> y [coefficient=0.5]; x -> z [dir=both]; U [latent=true]; U -> {x y} }``.

A bidirected edge has ``dir=both``. A hidden variable has ``latent=true``, ``hidden=true`` or ``observed=no``; its looks
(``style=dotted``) are written, but not read. What is known of an edge, a fixed number or a word that makes edges
equal, is its ``coefficient``; a ``label`` is a remark for the eye, like other attributes. ``variance`` and
``intercept`` of a variable say the same of its error variance and its intercept. Subgraphs are flattened.
"""

from __future__ import annotations

import re
from itertools import starmap

from halftrek.graphs import Coefficient, Edge, Graph
from halftrek.syntax.graphs.blocks import Link, Node, parse_block
from halftrek.syntax.graphs.draft import Draft, bare_or_quoted, equation_of, number_text

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")
_RESERVED = ("node", "edge", "graph", "digraph", "subgraph", "strict")
_DIRECTIONS = {"forward": "->", "back": "<-", "both": "<->"}


def parse(text: str) -> Graph:
    """The graph that the text draws."""
    block, draft = parse_block(text, ("digraph", "graph"), "digraph { x -> y }"), Draft(text)
    if block.head.text.lower() == "graph":
        draft.refuse("an undirected graph does not say what causes what; write digraph { ... }", block.head)
    return block.drawn(draft, _add_node, _add_link)


def write(graph: Graph) -> str:
    """The text of the graph, every variable declared first; bidirected edges are dashed, hidden variables dotted."""
    lines = []
    for v in (*graph.nodes, *graph.latents):
        looks = ["latent=true", "style=dotted"] if v in graph.latents or v in graph.hidden else []
        looks += [f"{word}={_known(value)}" for word, value in equation_of(graph, v)]
        lines.append(_name(v) + (f" [{', '.join(looks)}]" if looks else ""))
    for edge in starmap(Edge, graph.edges()):
        marks = ["dir=both", "style=dashed"] if edge.kind == "<->" else []
        known = graph.known.get(edge)
        if known is not None:
            marks += [f"coefficient={_known(known)}", f"label={_known(known)}"]
        lines.append(f"{_name(edge.first)} -> {_name(edge.second)}" + (f" [{', '.join(marks)}]" if marks else ""))
    made = [f"  // {name} := {formula}" for name, formula in graph.definitions.items()]
    return "\n".join(["digraph {", *(f"  {line};" for line in lines), *made, "}"])


def _known(value: Coefficient) -> str:
    return _name(value) if isinstance(value, str) else f'"{number_text(value)}"'


def _add_node(draft: Draft, node: Node) -> None:
    draft.meet(node.name)
    for word in ("variance", "intercept"):
        said = node.attributes.get(word)
        if said is not None and said.value is not None:
            draft.say(word, node.name, draft.coefficient(said.value))
    for word in ("latent", "hidden", "observed"):
        attribute = node.attributes.get(word)
        if attribute is None:
            continue
        if not attribute.says_yes and attribute.text not in ("no", "false", "0"):
            draft.refuse(f"{word} must be true or false, not {attribute.text!r}", attribute.value or attribute.word)
        if attribute.says_yes == (word == "observed"):
            draft.state(node.name)
        else:
            draft.hide(node.name)


def _add_link(draft: Draft, link: Link) -> None:
    if link.arrow.text not in ("->", "→"):
        draft.refuse(
            f"a digraph has the edge ->, not {link.arrow.text!r}; a bidirected edge is x -> y [dir=both]",
            link.arrow,
        )
    direction = link.attributes.get("dir")
    if direction is not None and direction.text not in _DIRECTIONS:
        draft.refuse(
            f"dir={direction.text} is no edge of a causal graph; dir can be forward, back or both",
            direction.value or direction.word,
        )
    arrow = "->" if direction is None else _DIRECTIONS[direction.text]
    said = link.attributes.get("coefficient")
    known = None if said is None or said.value is None else draft.coefficient(said.value)
    draft.connect(link.left, arrow, link.right, known)


def _name(name: str) -> str:
    return bare_or_quoted(name, _BARE, _RESERVED)
