"""Edges as values, and how variables and edges are named in text: ``x``, ``"a b"``, ``"x -> y"``, ``"x <-> y"``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

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


class Edge(NamedTuple):
    """An arrow ``->`` from ``first`` to ``second``, out of hidden causes too, or an edge ``<->`` between the two."""

    first: str
    kind: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} {self.kind} {self.second}"

    @property
    def turned(self) -> Edge:
        """From the other end: of a bidirected edge the same, written the other way."""
        return Edge(self.second, self.kind, self.first)

    @staticmethod
    def read(text: str) -> Edge:
        """From ``"x -> y"``, ``"y <- x"`` (turned round) or ``"x <-> y"``."""
        if isinstance(text, str):
            for kind in ("<->", "->", "<-"):
                u, arrow, v = (piece.strip() for piece in text.partition(kind))
                if arrow and u and v:
                    return Edge(v, "->", u) if kind == "<-" else Edge(u, kind, v)
        raise GraphError(f"an edge is written 'x -> y' or 'x <-> y', not {text!r}")


def written(known: Mapping[Edge, float | str]) -> dict[str, float | str]:
    """What is known of edges by their texts, as a graph is given it."""
    return {str(edge): value for edge, value in known.items()}
