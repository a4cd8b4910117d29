"""The syntax of dagitty: ``dag { x -> y [beta=0.5]; x <-> z; U [latent]; U -> {x y} }``.

``latent`` (also ``unobserved``) hides a variable; ``exposure``, ``outcome`` and ``adjusted`` say that it is observed;
``beta`` is the coefficient of an edge, a number or a label; ``variance`` and ``intercept`` of a variable, of which
dagitty itself knows nothing, say the same of its error variance and its intercept. Those roles, positions
(``pos="0.3,0.5"``, y downwards) and ``bb`` are no part of the model: the graph's sketch keeps them, pictures use them,
and they are written back.
"""

from __future__ import annotations

import math
import re
from itertools import starmap

from halftrek.graphs import Coefficient, Edge, Graph
from halftrek.graphs.forms.sketch import Role
from halftrek.syntax.graphs.blocks import ARROWS, Link, Node, parse_block
from halftrek.syntax.graphs.draft import Draft, bare_or_quoted, equation_of, number_text
from halftrek.syntax.tokens import Token

HEADS = ("dag", "mag", "pdag", "pag")
_HIDDEN = ("latent", "unobserved", "l", "u")
_ROLES: dict[str, Role] = {
    "exposure": "exposure", "e": "exposure", "outcome": "outcome", "o": "outcome", "adjusted": "adjusted",
    "a": "adjusted",
}  # fmt: skip
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
    box = _numbers(block.settings.get("bb"))
    if len(box) == 4:
        draft.box = (box[0], box[1], box[2], box[3])
    return block.drawn(draft, _add_node, _add_link)


def write(graph: Graph) -> str:
    """The text of the graph, every variable declared first."""
    box = None if graph.sketch is None else graph.sketch.box
    lines = [] if box is None else [f'bb="{",".join(map(number_text, box))}"']
    places, roles = graph.positions, graph.roles
    for v in (*graph.nodes, *graph.latents):
        hidden = v in graph.latents or v in graph.hidden
        said = ["latent"] if hidden else [*roles.get(v, ())]  # a role would say that it is observed
        said += [f"{word}={_known(value)}" for word, value in equation_of(graph, v)]
        said += [f'pos="{",".join(map(number_text, places[v]))}"'] if v in places else []
        lines.append(f"{_name(v)} [{','.join(said)}]" if said else _name(v))
    for edge in starmap(Edge, graph.edges()):
        known = graph.known.get(edge)
        beta = ""
        if known is not None:
            beta = f" [beta={_known(known)}]"
        lines.append(f"{_name(edge.first)} {edge.kind} {_name(edge.second)}{beta}")
    lines += [f"/* {name} := {formula} */" for name, formula in graph.definitions.items()]
    return "\n".join(["dag {", *(f"  {line}" for line in lines), "}"])


def _known(value: Coefficient) -> str:
    return _name(value) if isinstance(value, str) else number_text(value)


def _add_node(draft: Draft, node: Node) -> None:
    draft.meet(node.name)
    for word, attribute in node.attributes.items():
        if word == "pos":
            place = _numbers(attribute.value)
            if len(place) == 2:
                draft.place(node.name, *place)
            continue
        if word in ("variance", "intercept") and attribute.value is not None:
            draft.say(word, node.name, draft.coefficient(attribute.value))
            continue
        if not attribute.says_yes:
            continue
        if word in _HIDDEN:
            draft.hide(node.name)
        elif word in _ROLES:
            draft.mark(node.name, _ROLES[word])
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


def _numbers(token: Token | None) -> list[float]:
    """Numbers between commas; none if they are something else, for looks are not worth an error."""
    try:
        found = [float(part) for part in token.word.split(",")] if token is not None else []
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


def _name(name: str) -> str:
    return bare_or_quoted(name, _BARE, _RESERVED)
