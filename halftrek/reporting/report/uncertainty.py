"""Kinds of interval in words, and which of them tables have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halftrek.inference import How
from halftrek.inference.intervals import KINDS, kind_of
from halftrek.trust import table_how

if TYPE_CHECKING:
    from halftrek.results.fit import Fit

SUITED = (
    "what suits each question: normal theory, Student's t where few rows inform it, the likelihood where it is skewed"
)


def for_tables(fit: Fit, how: How) -> How:
    """The same; tables have no profile intervals, of which each takes fits of its own."""
    chosen = table_how(fit, how)
    return chosen if kind_of(chosen).in_tables else replace(chosen, interval="delta")


def words_of(how: How) -> str:
    """The kind of interval of questions."""
    return SUITED if how.interval is None else KINDS[how.interval].words


def remark(fit: Fit, how: How) -> str:
    """What the ends in a table are."""
    used = for_tables(fit, how)
    words = kind_of(used).words + ("; Student's t where few rows inform a line" if used.interval is None else "")
    return f"Low and high are the ends of {100 * how.level:g}% intervals ({words})."
