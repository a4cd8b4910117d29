"""Text to a graph and back, in any of the syntaxes."""

from __future__ import annotations

import re
from importlib import import_module
from typing import get_args

from halftrek.bottom.choices import AnySyntax, Syntax
from halftrek.errors import GraphSyntaxError, InputError
from halftrek.graphs import Graph
from halftrek.syntax.tokens import QUOTED

# what is not closed is taken whole too, so that no part of it is looked at again
_OPEN = r"/\*.*|\"(?:[^\"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*"
_NOISE = re.compile(rf"(?P<noise>{QUOTED}|#[^\n]*|//[^\n]*|%%[^\n]*|/\*.*?\*/)|{_OPEN}", re.DOTALL)
_HEAD = re.compile(r"\s*(?:(dag|mag|pdag|pag)|(strict\s+)?(digraph|graph))\b\s*(?:[\w.]+\s*)?\{", re.IGNORECASE)
_SIGN = re.compile(r"(?P<arrows><->|->|<-|[→←↔]|~>)|(?P<lavaan>=~|~~|~|:=)")


def parse_graph(text: str, syntax: AnySyntax = "auto") -> Graph:
    """The graph that a text describes; an error points at the place in the text.

    ``syntax="auto"`` takes ``dag { ... }`` for dagitty, ``digraph { ... }`` for DOT, a text whose first operator is
    ``~``, ``~~``, ``=~`` or ``:=`` for lavaan, and everything else for arrows.
    """
    if not isinstance(text, str):
        raise InputError(f"a graph's text is needed, not {type(text).__name__}")
    if syntax != "auto":
        return _parsed(text, _known_syntax(syntax, get_args(AnySyntax)))
    assumed = detect_syntax(text)
    try:
        return _parsed(text, assumed)
    except GraphSyntaxError as error:
        note = f" (read as {assumed} syntax; give syntax=... if it is another)"
        raise GraphSyntaxError(error.reason + note, text, error.start, error.end) from None


def _parsed(text: str, syntax: str) -> Graph:
    """By the module that is named as the syntax, loaded when it is used."""
    found: Graph = import_module(f"halftrek.syntax.graphs.{syntax}").parse(text)
    return found


def format_graph(graph: Graph, syntax: Syntax = "arrows") -> str:
    """The text of a graph; ``parse_graph`` reads it back as an equal graph."""
    home = _known_syntax(syntax, get_args(Syntax)).replace("lavaan", "lavaan_writer")
    text: str = import_module(f"halftrek.syntax.graphs.{home}").write(graph)
    return text


def detect_syntax(text: str) -> Syntax:
    """The syntax that a text is most likely written in, by its head or its first operator."""
    bare = _NOISE.sub(_hollow, text)
    head = _HEAD.match(bare)
    if head:
        return "dagitty" if head[1] else "dot"
    sign = _SIGN.search(re.sub(r"![^\n]*", "", bare))
    return "lavaan" if sign is not None and sign.lastgroup == "lavaan" else "arrows"


def _hollow(found: re.Match[str]) -> str:
    if found["noise"] is None:
        return found[0]
    return "_" if found[0][0] in "\"'" else " "


def _known_syntax(syntax: str, known: tuple[str, ...]) -> str:
    if syntax not in known:
        raise InputError(f"there is no syntax {syntax!r}; choose one of {', '.join(known)}")
    return syntax
