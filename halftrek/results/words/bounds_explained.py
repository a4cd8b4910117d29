"""Bounds in sentences: what was asked and assumed, what follows, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.results.sets.bounds import INDEPENDENT, OUTER, set_in_words
from halftrek.results.words.wording import in_words

if TYPE_CHECKING:
    from halftrek.results.sets.bounds import Bounds


def explain(found: Bounds) -> str:
    """A line on each: question, assumptions, set, ends, certificate, interval, notes."""
    return "\n".join([*_asked(found), *_set(found), *_ends(found), *_sure(found), *_said(found)])


def _asked(found: Bounds) -> list[str]:
    lines = [] if found.question is None else [f"The question: {found.question}, that is, {in_words(found.question)}."]
    if not found.assumed:
        return [*lines, "Nothing is assumed beyond the graph."]
    return [*lines, "Assumed beyond the graph:", *(f"  - {text}." for text in found.assumed)]


def _set(found: Bounds) -> list[str]:
    if found.kind == INDEPENDENT:
        return _independent(found)
    if found.empty:
        said = "no model with the covariance that was estimated obeys these assumptions"
        said = said if found.refuted is None else str(found.refuted)
        return [f"{said[0].upper()}{said[1:]}."]
    if found.words == "any value" and found.certificate == OUTER:
        return ["The graph without these hidden variables leaves any value: nothing that was used bounds the answer."]
    if found.words == "any value":
        return ["Models that fit these data equally well give any value: the assumptions do not bound the answer."]
    if found.low == found.high:
        return [f"All models that fit these data equally well agree: the answer is {found.words}."]
    held = "the graph leaves" if not found.assumed else "the graph and the assumptions leave"
    how = {"searched": ", as far as the search saw", OUTER: " at most"}.get(found.certificate, ", no more and no fewer")
    return [f"At the estimates {held} these values{how}: {found.words}."]


def _independent(found: Bounds) -> list[str]:
    """Where errors that are independent tell it."""
    if found.empty:
        return ["No value leaves the errors independent that the graph takes for independent."]
    if found.words == "any value":
        return ["These data agree with every value: their errors are too near to normal to tell."]
    if found.low == found.high:
        return [f"The estimate, at which these errors look most independent, is {found.words}."]
    return [f"These data agree with: {found.words}."]


def _ends(found: Bounds) -> list[str]:
    verbs = {"held": "is held", "a": "is a", "inside:": "lies inside:"}
    lines = []
    for name, value, how in found.ends:
        first, rest = how.split(" ", 1)
        lines.append(f"The {name} end, {found.shown(value)}, {verbs[first]} {rest}.")
    return lines


def _sure(found: Bounds) -> list[str]:
    lines = [f"How the set is known: {found.certificate}."] if found.certificate else []
    if found.interval is None:
        return (
            [*lines, "The data exclude every value that a model within the assumptions has."]
            if found.n and found.kind != INDEPENDENT
            else lines
        )
    by = {"likelihood": "likelihood", INDEPENDENT: "test of independence"}.get(
        found.kind, "standard errors of the ends"
    )
    inside = set_in_words(found.interval_pieces)
    return [*lines, f"{100 * found.level:g}% interval for the true value (by the {by}): {inside}."]


def _said(found: Bounds) -> list[str]:
    notes = [n for n in found.notes if n.code not in ("assumptions contradicted", "assumptions doubted")]  # said above
    levels = ("note", "doubt", "warning")
    texts = dict.fromkeys(str(n) for n in sorted(notes, key=lambda n: n.level != "note") if n.level in levels)
    return [f"Note: {text if text.endswith('.') else text + '.'}" for text in texts]
