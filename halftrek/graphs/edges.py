"""How variables and edges are named in text: ``x``, ``"a b"``, ``"x -> y"`` and ``"x <-> y"``."""

from __future__ import annotations

import re

from halftrek.errors import GraphError

_BARE = re.compile(r"\w[\w.]*")
_HALF = re.compile("[\ud800-\udfff]")


def check_name(name: object) -> str:
    """The name itself, if a variable can be called so; edges are named by text, so a name must not hold an arrow."""
    if not isinstance(name, str) or not name.strip():
        raise GraphError(f"a variable's name must be a non-empty text, not {name!r}")
    if name != name.strip():
        raise GraphError(f"the variable's name {name!r} begins or ends with a space; remove it")
    if holds_half_letter(name):
        raise GraphError(f"the variable's name {name!r} holds half a letter, which no file can hold; rename it")
    if "->" in name or "<-" in name:
        raise GraphError(f"the variable's name {name!r} holds an arrow and could be taken for an edge; rename it")
    return name


def holds_half_letter(text: str) -> bool:
    """True if the text holds half of a pair that stands for one letter, as text of broken bytes does."""
    return not text.isascii() and _HALF.search(text) is not None


def quoted(name: str) -> str:
    """The name as it is written in text: bare if it can be, else in double quotes."""
    if _BARE.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def edge_key(u: str, kind: str, v: str) -> str:
    """The edge as text, with one space on each side of the arrow."""
    return f"{u} {kind} {v}"


def parse_edge_key(key: str) -> tuple[str, str, str]:
    """The pieces of ``"x -> y"``, ``"y <- x"`` (turned round) or ``"x <-> y"``."""
    if isinstance(key, str):
        for kind in ("<->", "->", "<-"):
            u, arrow, v = key.partition(kind)
            if arrow and u.strip() and v.strip():
                ends = (u.strip(), v.strip())
                return (ends[1], "->", ends[0]) if kind == "<-" else (ends[0], kind, ends[1])
    raise GraphError(f"an edge is written 'x -> y' or 'x <-> y', not {key!r}")
