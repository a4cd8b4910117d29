"""What values of earlier versions are called today."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halftrek.notes import Note

RENAMED = {"Potential": "Variant"}  # classes that were folded into others


def upgraded(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The parts of a value, as a file of any version holds them, under the names that they have now."""
    change = _CHANGES.get(name)
    return given if change is None else change(given)


def _potential(given: dict[str, Any]) -> dict[str, Any]:
    """A variable where others are held was a class of its own."""
    return {"changes" if key == "held" else key: value for key, value in given.items()}


def _answer(given: dict[str, Any]) -> dict[str, Any]:
    """Warnings were sentences before they were notes."""
    if "warnings" not in given:
        return given
    rest = {key: value for key, value in given.items() if key != "warnings"}
    return {"notes": _notes(given["warnings"]), **rest}


def _estimate(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "notes": _notes(given.get("notes", ()))}


def _notes(sentences: tuple[Any, ...]) -> tuple[Note, ...]:
    return tuple(s if isinstance(s, Note) else Note("text", {"text": s}) for s in sentences)


_CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "Answer": _answer,
    "Estimate": _estimate,
    "Potential": _potential,
}
