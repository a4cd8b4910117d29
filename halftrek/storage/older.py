"""What values of earlier versions are called today."""

from __future__ import annotations

from collections.abc import Callable

from halftrek.notes import Note


def upgraded(name: str, given: dict[str, object]) -> dict[str, object]:
    """The parts of a value, as a file of any version holds them, under the names that they have now."""
    change = _CHANGES.get(name)
    return given if change is None else change(given)


def _answer(given: dict[str, object]) -> dict[str, object]:
    """Warnings were sentences before they were notes."""
    if "warnings" not in given:
        return given
    rest = {key: value for key, value in given.items() if key != "warnings"}
    return {"notes": _notes(given["warnings"]), **rest}


def _estimate(given: dict[str, object]) -> dict[str, object]:
    return {**given, "notes": _notes(given.get("notes", ()))}


def _notes(sentences: object) -> tuple[Note, ...]:
    if not isinstance(sentences, tuple | list):
        raise TypeError(f"notes are a list, not {sentences!r}")
    return tuple(s if isinstance(s, Note) else Note("text", {"text": s}) for s in sentences)


_CHANGES: dict[str, Callable[[dict[str, object]], dict[str, object]]] = {"Answer": _answer, "Estimate": _estimate}
