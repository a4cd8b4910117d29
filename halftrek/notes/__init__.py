"""Findings as values: a code for programs, facts, and the words for people, which stand in this room and nowhere else.

No code decides anything by a piece of English: it asks for ``note.code``. A new finding is a line in a table of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from halftrek.bottom.words import one_precision
from halftrek.notes.advice import ADVICE
from halftrek.notes.bounds import BOUNDS
from halftrek.notes.data import DATA
from halftrek.notes.fits import FITS
from halftrek.notes.independence import INDEPENDENCE
from halftrek.notes.intervals import INTERVALS
from halftrek.notes.varied import VARIED
from halftrek.notes.words import ASKS, Front, Level, Words
from halftrek.upward import Faces

TAIL = 1e-6  # p-value below which only this is said

_WORDS: dict[str, Words] = {
    "text": Words("{text}"),  # from files of the first version, which kept sentences
    "remark": Words("{text}", level="note"),
    "doubt": Words("{text}", level="doubt"),
    "aside": Words("{text}", level="aside"),
    **FITS,
    **DATA,
    **INTERVALS,
    **ADVICE,
    **BOUNDS,
    **INDEPENDENCE,
    **VARIED,
}


@dataclass(frozen=True)
class Note(Faces):
    """A finding: ``code`` says what kind, ``facts`` hold its figures and names; ``str(note)`` is for people."""

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    front: Front = field(default="python", compare=False)  # whose words ``str`` has

    def __post_init__(self) -> None:
        if self.code not in _WORDS:
            raise KeyError(f"no words for {self.code!r}")

    def __hash__(self) -> int:
        return hash((self.code, tuple(sorted((k, str(v)) for k, v in self.facts.items()))))

    def __str__(self) -> str:
        return self.words()

    @property
    def level(self) -> Level:
        """A "doubt" speaks against an interval, a "warning" against the number; a "note" only says what it is, and an
        "aside" is for those who ask for an explanation.
        """
        return _WORDS[self.code].level

    def words(self, front: Front | None = None) -> str:
        """The sentence, in the words of a front."""
        return _WORDS[self.code].text.format(**{"why": self.why, **ASKS[front or self.front], **self._figures})

    def for_front(self, front: Front) -> Note:
        """The same in the words of a front."""
        return replace(self, front=front)

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON."""
        return {"code": self.code, "level": self.level, "text": str(self), "facts": dict(self.facts)}

    @property
    def why(self) -> str:
        """The finding alone, without advice."""
        return _WORDS[self.code].why.format(**self._figures)

    @property
    def brief(self) -> bool:
        """True if there are words for a column of a table."""
        return bool(_WORDS[self.code].short)

    @property
    def short(self) -> str:
        """A few words, for a column of a table."""
        words = _WORDS[self.code]
        return (words.short or words.text).format(**{"why": self.why, **ASKS["python"], **self._figures})

    @property
    def _figures(self) -> Mapping[str, object]:
        """The facts, with ``chance``, the p-value in words: digits far out in a tail say nothing.

        And with ``between``, a value and the ends of its interval to the same decimals.
        """
        if {"value", "low", "high"} <= self.facts.keys():
            value, low, high = one_precision(*(self.facts[key] for key in ("value", "low", "high")))
            return {**self.facts, "between": f"{value} (from {low} to {high})"}
        if "p" not in self.facts:
            return self.facts
        p = self.facts["p"]
        return {**self.facts, "chance": f"p = {p:.2g}" if p >= TAIL else f"p < {TAIL:g}"}


def note(code: str, /, **facts: object) -> Note:
    """A note with these facts."""
    return Note(code, facts)


def rows_left_out(rows: int) -> Note:
    """What is said of rows with missing values that were left out."""
    return note("row left out" if rows == 1 else "rows left out", rows=rows)


def in_words(notes: Iterable[Note]) -> tuple[str, ...]:
    """The sentences of notes, each once."""
    return tuple(dict.fromkeys(map(str, notes)))


def warnings_of(notes: Iterable[Note]) -> tuple[str, ...]:
    """The sentences of all notes that speak against something, each once."""
    return in_words(n for n in notes if n.level in ("doubt", "warning"))


def in_short(notes: Iterable[Note]) -> str:
    """Notes as the cell of a table."""
    return "; ".join(dict.fromkeys(n.short for n in notes))
