"""Kinds of interval in words, and which of them tables have."""

from __future__ import annotations

from dataclasses import replace

from halftrek.inference import How

KINDS = {
    "delta": "normal theory: from the information, by the delta method",
    "robust": "robust: from the sandwich, also right for data that are not normal",
    "bootstrap": "bootstrap: rows drawn again",
    "parametric": "parametric bootstrap: rows drawn from the fitted model",
    "profile": "profile likelihood",
}


def for_tables(how: How) -> How:
    """The same; tables have no profile intervals, of which each takes fits of its own."""
    return replace(how, interval="delta") if how.interval == "profile" else how


def remark(how: How) -> str:
    """What the ends in a table are."""
    return f"Low and high are the ends of {100 * how.level:g}% intervals ({KINDS[for_tables(how).interval]})."
