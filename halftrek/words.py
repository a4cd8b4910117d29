"""Small pieces of error messages: near misses and lists of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known names, or lists them when nothing is near."""
    import difflib

    names = list(dict.fromkeys(known))
    lowered = {v.lower(): v for v in reversed(names)}
    near = [lowered[v] for v in difflib.get_close_matches(str(name).lower(), list(lowered), n=3, cutoff=0.6)]
    if near:
        return " Did you mean " + " or ".join(repr(v) for v in near) + "?"
    return f" There {'is' if len(names) == 1 else 'are'}: {listed(names, 12, quote=False)}." if names else ""


def listed(names: Sequence[str], most: int = 6, *, quote: bool = True) -> str:
    """Names with commas, in quotes or bare, cut after the first few."""
    shown = ", ".join(map(repr if quote else str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
