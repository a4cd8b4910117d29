"""How an edge is named in text: ``"x -> y"`` and ``"x <-> y"``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from halftrek.errors import GraphError


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


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known names, to end an error message with."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    if near:
        return f" Did you mean {' or '.join(map(repr, near))}?"
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f" There are: {shown}."
