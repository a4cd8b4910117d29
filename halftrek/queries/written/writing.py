"""How numbers and settings are written in the text of a question."""

from __future__ import annotations

from halftrek.bottom.portable import Portable
from halftrek.graphs import quoted

Value = float | None


def number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def assignment(variable: str, value: Value) -> str:
    """``x=1``, or ``x`` if the value was left out."""
    return written(quoted(variable), value)


def written(name: str, value: Value) -> str:
    """``name=1``, or the name alone."""
    return name if value is None else f"{name}={number(value)}"


def word(variable: str) -> str:
    """A variable where numbers may stand too: in quotes if it looks like one."""
    bare = quoted(variable)
    return f'"{bare}"' if bare[0].isdigit() else bare


class Written(Portable):
    """A question that can be written in LaTeX."""

    @property
    def latex(self) -> str:
        """The question in LaTeX."""
        from halftrek.queries.written.latex import as_latex

        return as_latex(self)
