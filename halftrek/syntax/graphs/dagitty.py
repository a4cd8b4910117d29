"""The syntax of dagitty: ``dag { x -> y [beta=0.5]; x <-> z; U [latent]; U -> {x y} }``.

``latent`` (also ``unobserved``) hides a variable; ``exposure``, ``outcome`` and ``adjusted`` say that it is observed;
``beta`` is the coefficient of an edge, a number or a label; positions and ``bb`` are ignored.
"""

from __future__ import annotations

import re
from itertools import starmap

from halftrek.graphs import Edge, Graph
from halftrek.syntax.graphs.blocks import ARROWS, Link, Node, parse_block
from halftrek.syntax.graphs.draft import Draft, bare_or_quoted, number_text

HEADS = ("dag", "mag", "pdag", "pag")
_HIDDEN = ("latent", "unobserved", "l", "u")
_OBSERVED = ("exposure", "outcome", "adjusted", "e", "o", "a")
_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*")
_RESERVED = ("node", "edge", "graph", "subgraph")


def parse(text: str) -> Graph:
    """The graph that the text draws."""
    block, draft = parse_block(text, HEADS, "dag { x -> y }"), Draft(text)
    kind = block.head.text.lower()
    if kind != "dag":
        draft.refuse(
            f"a {kind} stands for several graphs and cannot be fitted; choose one of them and write dag {{ ... }}",
            block.head,
        )
    return block.drawn(draft, _add_node, _add_link)


def write(graph: Graph) -> str:
    """The text of the graph, every variable declared first."""
    lines = [_name(v) for v in graph.observed] + [f"{_name(u)} [latent]" for u in graph.latents]
    for edge in starmap(Edge, graph.edges()):
        known = graph.known.get(edge)
        beta = ""
        if known is not None:
            beta = f" [beta={_name(known) if isinstance(known, str) else number_text(known)}]"
        lines.append(f"{_name(edge.first)} {edge.kind} {_name(edge.second)}{beta}")
    return "\n".join(["dag {", *(f"  {line}" for line in lines), "}"])


def _add_node(draft: Draft, node: Node) -> None:
    draft.meet(node.name)
    for word, attribute in node.attributes.items():
        if not attribute.says_yes:
            continue
        if word in _HIDDEN:
            draft.hide(node.name)
        elif word in _OBSERVED:
            draft.state(node.name)
        elif word in ("selected", "s"):
            draft.refuse(
                f"{node.name.word!r} is marked as selected; samples selected by a variable are not supported",
                attribute.word,
            )


def _add_link(draft: Draft, link: Link) -> None:
    if link.arrow.text not in ARROWS:
        draft.refuse(
            f"{link.arrow.text!r} does not say what causes what; a dag has the edges ->, <- and <->", link.arrow
        )
    beta = link.attributes.get("beta")
    known = draft.coefficient(beta.value) if beta is not None and beta.value is not None else None
    draft.connect(link.left, ARROWS[link.arrow.text], link.right, known)


def _name(name: str) -> str:
    return bare_or_quoted(name, _BARE, _RESERVED)
