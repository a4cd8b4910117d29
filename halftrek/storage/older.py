"""What values of earlier versions are called today."""

from __future__ import annotations

from collections.abc import Callable

from halftrek.notes import Note
from halftrek.storage.malformed import Malformed

_HEADS = {"flat": "converged", "boundary": "converged at the boundary"}  # of messages in files of version 1
RENAMED = {"Potential": "Variant"}  # classes that were folded into others
DISTRIBUTIONS = {"Interventional": ("outcomes", "do", "given"), "Counterfactual": ("outcomes", "given")}


def upgraded(name: str, given: dict[str, object]) -> dict[str, object]:
    """The parts of a value, as a file of any version holds them, under the names that they have now."""
    change = _CHANGES.get(name)
    return given if change is None else change(given)


def as_distribution(data: dict[str, object], where: str) -> dict[str, object]:
    """A question as files hold it today: interventions and counterfactuals were classes of their own."""
    name = str(data["type"])
    for key in data:
        if key not in ("type", *DISTRIBUTIONS[name]):
            raise Malformed(f"{where}, a {name}, has a part {key!r}, which is not known")
    outcomes, given = data.get("outcomes"), data.get("given", _map())
    if not isinstance(outcomes, list):
        raise Malformed(f"{where}, a {name}, lacks 'outcomes'")
    pairs = given.get("items") if isinstance(given, dict) and {**given, "items": []} == _map() else None
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise Malformed(f"{where}.given is no map")

    def variant(v: object) -> object:
        return v if name == "Counterfactual" else {"type": "Variant", "variable": v, "changes": _map()}

    of = [{"type": "Sum", "parts": [[1.0, variant(v)]]} for v in outcomes]
    seen = {"type": "map", "items": [[variant(v), x] for v, x in pairs]}
    case = {"type": "Case", "do": data.get("do", _map()), "given": seen, "events": []}
    return {"type": "Distribution", "of": of, "case": case}


def _map() -> dict[str, object]:
    return {"type": "map", "items": []}


def _potential(given: dict[str, object]) -> dict[str, object]:
    """A variable where others are held was a class of its own."""
    return {"changes" if key == "held" else key: value for key, value in given.items()}


def _answer(given: dict[str, object]) -> dict[str, object]:
    """Warnings were sentences before they were notes."""
    if "warnings" not in given:
        return given
    rest = {key: value for key, value in given.items() if key != "warnings"}
    return {"notes": _notes(given["warnings"]), **rest}


def _estimate(given: dict[str, object]) -> dict[str, object]:
    return {**given, "notes": _notes(given.get("notes", ()))}


def _status(given: dict[str, object]) -> dict[str, object]:
    """The message was one text before it was made of findings."""
    if "message" not in given:
        return given
    rest = {key: value for key, value in given.items() if key != "message"}
    code, message = str(given.get("code")), given["message"]
    if not isinstance(message, str):
        raise TypeError(f"a message is a text, not {message!r}")
    body = message.removeprefix(f"{_HEADS.get(code, code)}: ").removesuffix(".")
    return {"notes": (Note("text", {"text": body}),) if message else (), **rest}


def _verdict(given: dict[str, object]) -> dict[str, object]:
    """Advice was sentences."""
    rest = {key: value for key, value in given.items() if key != "helps"}
    return rest if rest == given else {"advice": _notes(given["helps"], "remark"), **rest}


def _groups(given: dict[str, object]) -> dict[str, object]:
    """Fits of groups of their own were called holed, then incomplete, while missing values were the only reason."""
    if "alone" in given:
        return given
    return {"alone" if key in ("holed", "incomplete") else key: value for key, value in given.items()}


def _notes(sentences: object, code: str = "text") -> tuple[Note, ...]:
    if not isinstance(sentences, tuple | list):
        raise TypeError(f"notes are a list, not {sentences!r}")
    return tuple(s if isinstance(s, Note) else Note(code, {"text": s}) for s in sentences)


_CHANGES: dict[str, Callable[[dict[str, object]], dict[str, object]]] = {
    "Answer": _answer,
    "Estimate": _estimate,
    "Status": _status,
    "Verdict": _verdict,
    "Potential": _potential,
    "FittedGroups": _groups,
    "GroupFits": _groups,
}
