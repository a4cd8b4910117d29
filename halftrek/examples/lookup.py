"""Finding an entry by name, however it is spelled."""

from __future__ import annotations

from functools import cache
from typing import overload

from halftrek.errors import InputError
from halftrek.examples.entry import Entry
from halftrek.graphs import did_you_mean


@overload
def catalog(name: str) -> Entry: ...


@overload
def catalog(name: None = None) -> tuple[str, ...]: ...


def catalog(name: str | None = None) -> Entry | tuple[str, ...]:
    """The entry of that name; without a name, the names of all entries.

    Case, spaces, hyphens and underscores do not matter: ``"Front Door"`` and ``"frontdoor"`` are ``"front-door"``.
    """
    if name is None:
        return names()
    if not isinstance(name, str):
        raise InputError(f"the catalog is asked by name, like catalog('napkin'), not with {name!r}")
    known = resolve(name)
    if known is None:
        raise InputError(f"the catalog has no graph {name!r}.{did_you_mean(name.strip().lower(), names())}")
    return _entries()[known]


def names() -> tuple[str, ...]:
    """The names of all entries, the paper's first."""
    return tuple(_entries())


def resolve(name: str) -> str | None:
    """The catalog's own spelling of a name or an alias; None if it has no such entry."""
    return _spellings().get(_bare(name))


def _bare(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


@cache
def _entries() -> dict[str, Entry]:
    from halftrek.examples import hard, paper, textbook

    return {e.name: e for e in (*paper.ENTRIES, *textbook.ENTRIES, *hard.ENTRIES)}


@cache
def _spellings() -> dict[str, str]:
    return {_bare(text): e.name for e in _entries().values() for text in (*e.aliases, e.name)}
