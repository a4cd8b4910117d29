"""The syntax of Graphviz: ``digraph { x -> y [coefficient=0.5]; x -> z [dir=both]; U [latent=true]; U -> {x y} }``.

A bidirected edge has ``dir=both``. A hidden variable has ``latent=true``, ``hidden=true`` or ``observed=no``; its looks
(``style=dotted``) are written, but not read. What is known of an edge, a fixed number or a word that makes edges
equal, is its ``coefficient``; a ``label`` is a remark for the eye, like other attributes. Subgraphs are flattened.
"""

from __future__ import annotations

import re
from itertools import starmap

from halftrek.graphs import Edge, Graph
from halftrek.syntax.graphs.blocks import Link, Node, parse_block
from halftrek.syntax.graphs.draft import Draft, bare_or_quoted, number_text

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
    for v in (*graph.observed, *graph.latents, *graph.hidden):
        marks = [] if v in graph.observed else ["latent=true", "style=dotted"]
        for word, part in (("variance", graph.variances), ("intercept", graph.intercepts)):
            if v in part:
                value = part[v]
                marks.append(f"{word}={_name(value) if isinstance(value, str) else quoted_number(value)}")
        lines.append(f"{_name(v)} [{', '.join(marks)}]" if marks else _name(v))
    for edge in starmap(Edge, graph.edges()):
        marks = ["dir=both", "style=dashed"] if edge.kind == "<->" else []
        known = graph.known.get(edge)
        if isinstance(known, str):
            marks += [f"coefficient={_name(known)}", f"label={_name(known)}"]
        elif known is not None:
            marks += [f'coefficient="{number_text(known)}"', f'label="{number_text(known)}"']
        lines.append(f"{_name(edge.first)} -> {_name(edge.second)}" + (f" [{', '.join(marks)}]" if marks else ""))
    return "\n".join(["digraph {", *(f"  {line};" for line in lines), "}"])


def _add_node(draft: Draft, node: Node) -> None:
    draft.meet(node.name)
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
    for word in ("variance", "intercept"):
        attribute = node.attributes.get(word)
        if attribute is not None:
            draft.say(word, node.name, None if attribute.value is None else draft.coefficient(attribute.value))


def quoted_number(value: float) -> str:
    """A number as DOT takes it everywhere, also with a sign or an exponent."""
    return f'"{number_text(value)}"'


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
