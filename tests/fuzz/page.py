"""Puts the counts of a run into the page on reliability."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.runner import Tally

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN = "<!-- counts of make fuzz: begin -->"
END = "<!-- counts of make fuzz: end -->"


def table(tallies: Sequence[Tally], origin: str) -> str:
    """A table in Markdown, with a line under it that says where the counts come from."""
    lines = ["| What is tried | Function | Tried | Failures |", "| --- | --- | ---: | ---: |"]
    lines += [f"| {cell(t.about)} | `{t.name}` | {t.tried:,} | {t.failures:,} |" for t in tallies]
    total, failures = sum(t.tried for t in tallies), sum(t.failures for t in tallies)
    lines += [f"| all | | {total:,} | {failures:,} |", "", f"{origin}."]
    return "\n".join(lines)


def cell(text: str) -> str:
    """Text that does not end its cell."""
    return text.replace("|", "\\|")


def with_table(page: str, made: str) -> str:
    """The page with the table between its two marks."""
    head, begun, rest = page.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"the page has to hold {BEGIN} and, after it, {END}")
    return f"{head}{BEGIN}\n\n{made}\n\n{END}{tail}"
