"""Everything that halftrek raises on purpose, in one tree.

::

    HalftrekError
    ├── InputError (also a ValueError)     something given to halftrek has to be changed
    │   ├── TextError                      text that cannot be read; points at the place
    │   │   ├── GraphSyntaxError           ... in a graph
    │   │   ├── QuestionSyntaxError        ... in a question
    │   │   └── AssumptionSyntaxError      ... in an assumption
    │   ├── GraphError                     a graph that is not a graph of ours: cycle, self-loop, ...
    │   ├── DataError                      rows, columns or moments that cannot be used
    │   │   └── UnsaidKindError            a column in categories causes something: say what acts
    │   ├── ModelError                     parameters that do not make a model
    │   └── QueryError                     a question that does not fit the graph or the model
    ├── NotIdentifiedError                 the question has no answer in this graph, from any data
    ├── ConvergenceError                   the fit did not reach a maximum, and one was required
    ├── OutputError (also an OSError)      a result could not be written
    └── MissingExtraError (an ImportError) an optional part of halftrek is not installed

Each message names the variable or the place, and ends with what to do about it.

``HalftrekWarning`` (a UserWarning) is for what does not stop the work and is said by ``warnings.warn``.
"""

from __future__ import annotations

import re
import sys
from typing import Any

_LONGEST = 4_000  # characters of a message; names and lines in it come from outside and may be of any length
_SIDE = 60  # characters of a long line that are shown on either side of the place in question
# What a terminal obeys instead of showing it (controls but for tabs and ends of lines, also those of the upper half),
# what turns the direction of writing, other ends of lines, and halves of letters that no encoding can write.
UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with everything that a terminal would obey written as an escape: ``\\x1b``, ``\\u202e``."""
    return UNSHOWN.sub(lambda found: _escape(found[0]), text)


def _escape(letter: str) -> str:
    return f"\\x{ord(letter):02x}" if ord(letter) < 256 else f"\\u{ord(letter):04x}"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The text, or its two ends if it is longer than that."""
    half = (longest - 5) // 2
    return text if len(text) <= longest else f"{text[:half]} ... {text[-half:]}"


class HalftrekError(Exception):
    """Root of all errors that halftrek raises on purpose; its text can be shown on any terminal."""

    def __str__(self) -> str:
        return shortened(printable(super().__str__()))

    def __reduce__(self) -> tuple[object, ...]:
        """Its kind, its message and what else it holds: an error is not made anew to be copied or sent to a process."""
        return _again, (type(self), self.args, vars(self))


class HalftrekWarning(UserWarning):
    """Something that a user should know and that does not stop the work."""

    def __str__(self) -> str:
        return shortened(printable(super().__str__()))


def depth_of_caller() -> int:
    """How many calls above ours the first one from outside of halftrek is."""
    depth = 0
    while sys._getframe(depth + 1).f_globals.get("__name__", "").startswith("halftrek."):
        depth += 1
    return depth + 1


class InputError(HalftrekError, ValueError):
    """Something given to halftrek has to be changed."""


class TextError(InputError):
    """Text that cannot be read, with a caret under the piece in question."""

    def __init__(self, message: str, text: str = "", start: int = 0, end: int | None = None) -> None:
        self.reason = message
        self.text = text
        self.start = start
        self.end = start + 1 if end is None else end
        HalftrekError.__init__(self, shortened(message, _LONGEST // 2) + self._pointer())

    @property
    def line(self) -> int:
        """Line of the offending piece, counted from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """Column of the offending piece, counted from 1."""
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def _pointer(self) -> str:
        if not self.text:
            return ""
        begin = self.text.rfind("\n", 0, self.start) + 1
        stop = self.text.find("\n", self.start)
        stop = len(self.text) if stop < 0 else stop
        first, last = max(begin, self.start - _SIDE), min(stop, max(self.start, min(self.end, stop)) + _SIDE)
        last = min(last, self.start + 3 * _SIDE)
        before = ("... " if first > begin else "") + _on_one_line(self.text[first : self.start])
        marked = _on_one_line(self.text[self.start : min(self.end, last)])
        after = _on_one_line(self.text[min(self.end, last) : last]) + (" ..." if last < stop else "")
        margin = f"line {self.line}: "
        pointer = " " * (len(margin) + len(before)) + "^" * max(1, len(marked))
        return f"\n  {margin}{before}{marked}{after}\n  {pointer}"


def _on_one_line(text: str) -> str:
    return printable(text.replace("\t", " ").replace("\n", " "))


class GraphSyntaxError(TextError):
    """A graph's text cannot be read."""


class QuestionSyntaxError(TextError):
    """A question's text cannot be read."""


class AssumptionSyntaxError(TextError):
    """An assumption's text cannot be read."""


class GraphError(InputError):
    """The pieces do not make a graph: a cycle, a self-loop, a name used twice."""


class DataError(InputError):
    """Rows, columns or moments that cannot be used."""


class UnsaidKindError(DataError):
    """A column in categories causes something, and nobody has said whether the category acts or what is behind it."""

    def __init__(self, message: str, variable: str = "") -> None:
        super().__init__(message)
        self.variable = variable


class ModelError(InputError):
    """Parameters that do not make a model."""


class QueryError(InputError):
    """A question that does not fit the graph or the model."""


class NotIdentifiedError(HalftrekError):
    """The question has no answer in this graph, whatever the data; ``verdict`` says why, ``answer`` what there is."""

    def __init__(self, message: str, verdict: Any = None, answer: Any = None) -> None:
        self.verdict = verdict
        self.answer = answer
        HalftrekError.__init__(self, message)


class ConvergenceError(HalftrekError):
    """The fit did not reach a maximum, and the caller asked for one."""


class OutputError(HalftrekError, OSError):
    """A result could not be written."""


class MissingExtraError(HalftrekError, ImportError):
    """An optional part of halftrek is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        HalftrekError.__init__(self, f"{what} needs an optional part: pip install 'halftrek[{extra}]'")


def _again(kind: type[HalftrekError], args: tuple[object, ...], held: dict[str, object]) -> HalftrekError:
    """An error of this kind as pickle and copy find it; its ``__init__`` takes other words than those it has made."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(held)
    return error
