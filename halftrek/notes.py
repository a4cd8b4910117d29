"""Findings as values: a code for programs, facts, and the words for people, which stand here and nowhere else.

No code decides anything by a piece of English: it asks for ``note.code``. A new finding is one entry in ``_WORDS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Front = Literal["python", "command line"]
Level = Literal["warning", "note"]

# How each front asks for what an advice names; in the words below ``{profile}`` stands for the front's own way.
_ASKS: Mapping[Front, Mapping[str, str]] = {
    "python": {
        "ask_profile": 'fit.query(..., interval="profile")',
        "ask_robust": 'fit.query(..., interval="robust")',
        "ask_measures": "fit.measures()",
    },
    "command line": {
        "ask_profile": "--interval profile",
        "ask_robust": "--interval robust",
        "ask_measures": "halftrek fit --checks",
    },
}


@dataclass(frozen=True)
class Words:
    """What one code says: a sentence, a few words for a column of a table, and whether a number may mislead."""

    text: str
    short: str = ""
    level: Level = "warning"


_WORDS: dict[str, Words] = {
    "text": Words("{text}"),  # from files of the first version, which kept sentences
}


@dataclass(frozen=True, eq=True)
class Note:
    """A finding: ``code`` says what kind, ``facts`` hold its figures and names; ``str(note)`` is for people."""

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in _WORDS:
            raise KeyError(f"no words for {self.code!r}")

    def __hash__(self) -> int:
        return hash((self.code, tuple(sorted((k, str(v)) for k, v in self.facts.items()))))

    def __str__(self) -> str:
        return self.words()

    @property
    def level(self) -> Level:
        """A "warning" speaks against a number; a "note" only says what it is."""
        return _WORDS[self.code].level

    def words(self, front: Front = "python") -> str:
        """The sentence, in the words of a front."""
        return _WORDS[self.code].text.format(**{**_ASKS[front], **self.facts})

    @property
    def short(self) -> str:
        """A few words, for a column of a table."""
        words = _WORDS[self.code]
        return (words.short or words.text).format(**{**_ASKS["python"], **self.facts})


def warnings_of(notes: Iterable[Note], front: Front = "python") -> tuple[str, ...]:
    """The sentences of all notes that are warnings, each once."""
    return tuple(dict.fromkeys(note.words(front) for note in notes if note.level == "warning"))
