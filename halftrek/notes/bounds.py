"""Findings about bounds: what the interval of a set is made of, and what speaks against it."""

from __future__ import annotations

from halftrek.notes.words import Words

BOUNDS: dict[str, Words] = {
    "bounds without hidden": Words(
        "the bounds are those of the graph without the hidden variables {hidden}, which says less: they hold, and what "
        "these would add is not used",
        "without {hidden}",
        "note",
    ),
    "hidden adds nothing": Words(
        "hidden {hidden} adds nothing to what can be known: the bounds are those of the graph without it",
        "without hidden {hidden}",
        "note",
    ),
    "bounds beside an answer": Words(
        "these bounds let {edge} have every value that is assumed, whatever the rows say of it, and the graph with "
        "{edge} left free determines {question}: that answer is one value, and the bounds may be wider than need be",
        "{edge} is not free",
        "note",
    ),
    "likelihood set": Words(
        "the interval holds every value that a model within the assumptions has and that the data do not exclude, by "
        "its likelihood; it covers the true value, not the whole set",
        "by the likelihood",
        "aside",
    ),
    "stoye set": Words(
        "the interval reaches {quantile:.3g} standard errors beyond each end of the set (Imbens and Manski 2004, Stoye "
        "2009), which asks for large samples and for ends that are no kinks of the set",
        "by standard errors of the ends",
        "note",
    ),
    "set by units": Words(
        "the likelihood is scaled by what the {units} say of the spread of each end: {low:.3g} times what normal, "
        "independent rows would at the lower end, {high:.3g} times at the upper",
        "scaled by the {units}",
        "note",
    ),
    "set for few clusters": Words(
        "the interval is for few clusters: with {clusters} of them it takes Student's t with {free:.3g} degrees of "
        "freedom",
        "few clusters",
        "note",
    ),
    "set end lost": Words(
        "the search did not find the {side} end of the interval, so nothing is excluded on that side",
        "{side} end not found",
        "doubt",
    ),
    "set unbounded": Words(
        "at these estimates the assumptions bound {name} {side}, but the data leave values without end there, as with "
        "a weak instrument",
        "unbounded {side}",
        "note",
    ),
    "set excluded": Words(
        "the data exclude values between {low:.4g} and {high:.4g}",
        "without {low:.4g} to {high:.4g}",
        "note",
    ),
    "assumptions contradicted": Words(
        "the data contradict these assumptions: no model that obeys them has the covariance that was estimated "
        "(likelihood ratio {statistic:.4g}, {chance})",
        "the data contradict the assumptions ({chance})",
        "doubt",
    ),
    "assumptions doubted": Words(
        "no model that obeys these assumptions has the covariance that was estimated, but chance explains it "
        "(likelihood ratio {statistic:.4g}, {chance}): the set is empty, and the interval holds what the data leave",
        "empty at the estimates ({chance})",
        "note",
    ),
}
