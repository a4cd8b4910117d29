"""Which kind of interval tables have, given the one that questions have."""

from __future__ import annotations

from dataclasses import replace

from halftrek.inference import How


def for_tables(how: How) -> How:
    """The same; tables have no profile intervals, of which each takes fits of its own."""
    return replace(how, interval="delta") if how.interval == "profile" else how
