"""The arrows syntax: ``x -> y -> z; x <-> z; latent U; U -> {x, y} [0.5]``.

``{x, y, z} <-> {x, y, z}``, the same names on both sides, joins each of them to each other. Statements end with ``;``
or the line. ``latent U, V`` and ``observed x, y`` declare; a name alone declares an observed variable. Brackets after
an edge hold its coefficient: a number fixes it, edges with the same label are equal. ``variance F [1]`` and
``intercept x [0]`` say the same of the variance of an error and of an intercept; without brackets they are free.
Comments begin with ``#``, ``//`` or ``%%``, or stand in ``/* */``. Names with other characters than
letters, digits, ``_`` and ``.`` are quoted.
"""

from __future__ import annotations

from halftrek.errors import GraphSyntaxError
from halftrek.graphs import Arcs, Coefficient, Edge, Graph, quoted
from halftrek.syntax.graphs.draft import Draft, number_text
from halftrek.syntax.tokens import Cursor, Token, rules, scan

_RULES = rules(
    comments=r"#[^\n]*|//[^\n]*|%%[^\n]*|/\*.*?\*/",
    symbols=r"<->|->|<-|[→←↔{}\[\],;]|~>|~~|=~|--|[-~=+*|:<>()]",
)
_ARROWS = {"->": "->", "→": "->", "<-": "<-", "←": "<-", "<->": "<->", "↔": "<->"}
_DECLARATIONS = ("latent", "observed")
_EQUATIONS = ("variance", "intercept")


def parse(text: str) -> Graph:
    """The graph that the text draws."""
    cursor = Cursor(text, scan(text, _RULES, GraphSyntaxError, newlines=True), GraphSyntaxError)
    draft = Draft(text)
    while True:
        cursor.skip("\n", ";")
        if cursor.done:
            return draft.build()
        if cursor.sees(*_DECLARATIONS) and (cursor.after.is_name or cursor.after.text == "{"):
            _declare(cursor, draft)
        elif cursor.sees(*_EQUATIONS) and (cursor.after.is_name or cursor.after.text == "{"):
            _equation(cursor, draft)
        else:
            _chain(cursor, draft)
        if not (cursor.done or cursor.sees(";", "\n")):
            _fail_after_statement(cursor)


def write(graph: Graph) -> str:
    """The text of the graph, one statement on a line."""
    hidden = (*graph.latents, *graph.hidden)
    lines = [f"latent {', '.join(map(_name, hidden))}"] if hidden else []
    drawn: dict[str, None] = {}
    edges: list[str] = []
    for u, v in graph.directed:
        drawn |= {u: None, v: None}
        edges.append(_edge(graph, Edge(u, "->", v)))
    for u, kids in graph.latents.items():
        drawn |= dict.fromkeys(kids)
        if len(kids) > 1 and not any(Edge(u, "->", c) in graph.known for c in kids):
            edges.append(f"{_name(u)} -> {{{', '.join(map(_name, kids))}}}")
        else:
            edges.extend(_edge(graph, Edge(u, "->", c)) for c in kids)
    blocks = _blocks(graph)
    for u, v in graph.bidirected.loose if blocks and isinstance(graph.bidirected, Arcs) else graph.bidirected:
        drawn |= {u: None, v: None}
        edges.append(_edge(graph, Edge(u, "<->", v)))
    for block in blocks:
        drawn |= dict.fromkeys(block)
        names = f"{{{', '.join(map(_name, block))}}}"
        edges.append(f"{names} <-> {names}")
    edges += _equations(graph)
    drawn |= dict.fromkeys((*graph.variances, *graph.intercepts))
    alone = [v for v in graph.observed if v not in drawn]
    if (*(v for v in drawn if v not in graph.hidden), *alone) != graph.observed:
        lines.append(f"observed {', '.join(map(_name, graph.observed))}")
        alone = []
    made = [f"# {name} := {formula}" for name, formula in graph.definitions.items()]  # arrows have no words for them
    return "\n".join([*lines, *edges, *map(_name, alone), *made])


def _blocks(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Blocks of covariances that can be written as one: nothing is known of any of them."""
    arcs = graph.bidirected
    if not isinstance(arcs, Arcs) or any(edge.kind == "<->" for edge in graph.known):
        return ()
    return arcs.blocks


def _declare(cursor: Cursor, draft: Draft) -> None:
    word = cursor.take().text
    for name in _group(cursor) if cursor.sees("{") else _names(cursor):
        draft.hide(name) if word == "latent" else draft.state(name)


def _equation(cursor: Cursor, draft: Draft) -> None:
    word = cursor.take().text
    names = _group(cursor)
    value = _coefficient(cursor, draft)
    for name in names:
        draft.say(word, name, value)


def _equations(graph: Graph) -> list[str]:
    said = (("variance", graph.variances), ("intercept", graph.intercepts))
    return [f"{word} {_name(v)} [{_value(x)}]" for word, part in said for v, x in part.items()]


def _value(known: Coefficient) -> str:
    return quoted(known) if isinstance(known, str) else number_text(known)


def _names(cursor: Cursor) -> list[Token]:
    names = [cursor.expect_name()]
    while cursor.accept(",") or cursor.here.is_name:
        names.append(cursor.expect_name())
    return names


def _chain(cursor: Cursor, draft: Draft) -> None:
    left = _group(cursor)
    if not cursor.sees(*_ARROWS):
        for name in left:
            draft.state(name)
        return
    while cursor.sees(*_ARROWS):
        arrow = _ARROWS[cursor.take().text]
        cursor.skip("\n")
        right = _group(cursor)
        coefficient = _coefficient(cursor, draft)
        if arrow == "<->" and coefficient is None and len(_words(left)) > 1 and _words(left) == _words(right):
            draft.join(list({name.word: name for name in reversed(left)}.values())[::-1])
            left = right
            continue
        for u in left:
            for v in right:
                draft.connect(u, arrow, v, coefficient)
        left = right


def _words(names: list[Token]) -> set[str]:
    return {name.word for name in names}


def _group(cursor: Cursor) -> list[Token]:
    opened = cursor.accept("{")
    if opened is None:
        return [cursor.expect_name()]
    names: list[Token] = []
    cursor.skip("\n", ",", ";")
    while not cursor.accept("}"):
        if cursor.done:
            cursor.fail("this '{' is not closed; add a '}'", opened)
        names.append(cursor.expect_name("a variable's name or '}' is needed here"))
        cursor.skip("\n", ",", ";")
    if not names:
        cursor.fail("the braces hold no name", opened)
    return names


def _coefficient(cursor: Cursor, draft: Draft) -> Coefficient | None:
    opened = cursor.accept("[")
    if opened is None:
        return None
    token = cursor.here
    if token.kind not in ("name", "number", "quoted"):
        cursor.fail(f"a coefficient is a number or a label, not {token.shown()}", opened if cursor.done else token)
    cursor.take()
    if not cursor.sees("]"):
        cursor.fail("this '[' is not closed after one number or label; add a ']'", opened)
    cursor.take()
    return draft.coefficient(token)


def _fail_after_statement(cursor: Cursor) -> None:
    if cursor.sees(","):
        cursor.fail("a ',' belongs inside braces: write {a, b} -> c, and ';' between statements")
    if cursor.sees("~>"):
        cursor.fail("'~>' asks for a total effect; a graph has the arrows ->, <- and <->")
    cursor.fail(f"{cursor.here.shown()} is not understood here; an arrow (->, <-, <->), ';' or a new line can follow")


def _edge(graph: Graph, edge: Edge) -> str:
    known = graph.known.get(edge)
    text = f"{_name(edge.first)} {edge.kind} {_name(edge.second)}"
    if known is None:
        return text
    return f"{text} [{_value(known)}]"


def _name(name: str) -> str:
    return f'"{name}"' if name in _DECLARATIONS + _EQUATIONS else quoted(name)
