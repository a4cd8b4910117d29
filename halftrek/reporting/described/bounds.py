"""Bounds, described: the set, what holds its ends, the interval for the true value."""

from __future__ import annotations

from halftrek.reporting.document import Described, Facts, Span, Words
from halftrek.results.sets.bounds import INDEPENDENT, OUTER, Bounds, set_in_words

HOW_KNOWN = {
    "closed form": "by a formula, exactly",
    "proved to 1e-7": "proved to seven digits: nothing lies outside, and models attain the ends",
    "searched": "searched for from many points, not proved",
    OUTER: "nothing lies outside; whether models attain the ends is not known",
}


def bounds_document(found: Bounds) -> Described:
    """Names and values of what there is to say."""
    asked: list[tuple[str, Words]] = []
    if found.question is not None:
        asked.append(("question", [Span(str(found.question), "code")]))
    words: list[tuple[str, Words]] = [("assumed", [Span(text, "code")]) for text in found.assumptions]
    words = words or [("assumed", text) for text in found.assumed]
    asked += words or [("assumed", "nothing but the graph")]
    said: list[tuple[str, Words]] = [("note", remark) for remark in found.remarks]
    said += [("warning", [Span(text, "warning")]) for text in found.warnings]
    return (Facts([*asked, *bounds_facts(found), *said]),)


def bounds_facts(found: Bounds) -> list[tuple[str, Words]]:
    """The set, its ends, the interval and the test, for a list of facts."""
    point = found.kind == INDEPENDENT and found.low == found.high
    facts: list[tuple[str, Words]] = [("value" if point else "bounds", [Span(found.words, "strong")])]
    facts += [(f"{name} end", how) for name, _, how in found.ends]
    if found.certificate:
        how = HOW_KNOWN.get(found.certificate, found.certificate)
        if not found.pieces and found.certificate == "proved to 1e-7":
            how = "proved: no model with this covariance obeys"
        facts.append(("known", how))
    if found.n is not None:
        facts.append((f"{100 * found.level:g}% interval", f"{set_in_words(found.interval_pieces)}, for the true value"))
    if found.refuted is not None:
        facts.append(("test", str(found.refuted)))
    return facts
