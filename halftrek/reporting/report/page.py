"""The page of a report: documents rendered by the templates beside this module, which escape every text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from halftrek.errors import MissingExtraError
from halftrek.identification.verdict import in_lines
from halftrek.reporting.document import Chapter, Document, Span, Words, grid

if TYPE_CHECKING:
    from jinja2 import Environment

_MINUS = re.compile(r"(?<![^\s(])-(?=[\d.])")  # of a number, not of a name
_SUM = re.compile(r"Σ_(?:\{([^}]*)\}|(\S+))")


def environment() -> Environment:
    """The templates; raises where the part that renders them is not installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("writing a report", "report") from None
    found = Environment(
        loader=PackageLoader("halftrek.reporting.report"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    texts = {"signed": signed, "minus": minus, "paragraphs": paragraphs, "formula_lines": formula_lines}
    found.filters |= {"kind": lambda piece: type(piece).__name__, "grid": grid} | texts
    return found


def page(title: str, subtitle: str, lead: Document, chapters: Sequence[Chapter]) -> str:
    """The whole file."""
    template = environment().get_template("page.html")
    return template.render(title=title, subtitle=subtitle, lead=lead, chapters=chapters)


def signed(words: str) -> str:
    """Numbers with true minus signs."""
    return _MINUS.sub("−", words)


def paragraphs(words: Words) -> list[list[Words]]:
    """Each line as a paragraph of its own, together with the indented lines that follow it."""
    if not isinstance(words, str):
        return [[words]]
    found: list[list[Words]] = []
    for line in filter(str.strip, words.splitlines()):
        if line.startswith("  ") and found:
            found[-1].append(line.strip())
        else:
            found.append([line])
    return found


def formula_lines(words: str) -> list[tuple[bool, list[str | Span]]]:
    """Clauses on lines of their own, and whether one explains the one above; what sums run over is an index."""
    found = []
    for line in in_lines(words).splitlines():
        parts = _SUM.split(line.strip().replace(" - ", " − "))  # the text between, what a sum runs over in either form
        shown: list[str | Span] = [parts[0]]
        for braced, bare, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            shown += ["Σ", Span(braced or bare, "sub"), rest]
        found.append((line.startswith("  "), shown))
    return found


def minus(number: str) -> str:
    """A number in a cell with true minus signs."""
    return re.sub(r"^-", "−", number).replace("e-", "e−")
