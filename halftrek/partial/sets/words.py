"""A set in sentences."""

from __future__ import annotations

from math import isfinite

from halftrek.partial.sets.value import End, IdentifiedSet, described
from halftrek.results.sets.bounds import ends_in_words

_CERTAIN = {
    "closed form": "The ends are exact: they follow by a formula.",
    "proved to 1e-7": "It is proved that no model of the graph with this covariance lies outside, to 1e-7.",
    "searched": "The ends were searched for from many points; it is not proved that nothing lies outside.",
}


def explained(found: IdentifiedSet) -> str:
    """What can be said, under what, what binds, and how it is known."""
    under = _under(found)
    if found.empty:
        how = "This is proved." if found.proved else "None was found; it is not proved that there is none."
        return f"No model of the graph with this covariance obeys all of it{under}. {how}"
    if found.kind == "point":
        return f"{found.query} is {described(found.pieces)} in every model of the graph with this covariance{under}."
    if found.kind == "whole line":
        return f"{found.query} can be any number{under}: for each there is a model of the graph with this covariance."
    if found.kind == "values":
        first = f"{found.query} has finitely many values{under}: {described(found.pieces)}."
        return f"{first} {_CERTAIN[found.certificate]}"
    shown = ends_in_words(found.pieces)
    sentences = [f"{found.query} is {described(found.pieces)}{under}."]
    sentences += [s for end in (found.lower, found.upper) if (s := _end(end, shown))]
    return " ".join([*sentences, _CERTAIN[found.certificate], *found.notes])


def _under(found: IdentifiedSet) -> str:
    if not found.assumptions:
        return ""
    return ", assuming that " + " and ".join(a.words for a in found.assumptions)


def _end(end: End, shown: dict[float, str]) -> str:
    if not isfinite(end.value):
        return ""
    how = "is reached" if end.attained else "is approached, never reached,"
    if end.binding:
        return f"{shown[end.value]} {how} where this binds: {'; '.join(end.binding)}."
    return f"{shown[end.value]} {how} where no assumption binds."
