"""Findings about errors that are taken for independent, not only for uncorrelated."""

from __future__ import annotations

from halftrek.notes.words import Words

INDEPENDENCE: dict[str, Words] = {
    "kept by independence": Words(
        "the interval holds the values at which {pairs} may be independent, by a test with {conditions} conditions "
        "that is right however near to normal the errors are (Stock and Wright 2000); it assumes linear effects and "
        "errors that are independent wherever the graph has no arc",
        "by independent errors",
        "note",
    ),
    "too near to normal": Words(
        "covariances do not determine {question}; independent errors would, but these data are too near to normal: "
        "every value agrees with them",
        "too near to normal",
        "warning",
    ),
    "near to normal": Words(
        "covariances do not determine {question}; independent errors would, but these data are near to normal: they "
        "exclude some values, and no largest or no smallest one",
        "near to normal",
        "warning",
    ),
    "independence contradicted": Words(
        "no value of {question} leaves the errors independent that the graph takes for independent (J = {J:.4g}, {df} "
        "degrees of freedom, p = {p:.3g}): an arc is missing, a relation is a curve, or the spread of an error changes "
        "with another variable; see fit.tests(beyond='correlation') and fit.tests(beyond='linearity')",
        "independence contradicted",
        "warning",
    ),
    "few rows for conditions": Words(
        "{units:.4g} independent rows are few for {conditions} conditions: the interval may cover less often than it "
        "says",
        "few rows",
        "doubt",
    ),
    "few values": Words(
        "{variable} has {values} values only, so that its error depends on its causes and is not independent of "
        "their errors: the interval may be wrong or empty",
        "few values",
        "doubt",
    ),
    "covariances suffice": Words(
        "covariances determine it, so that independent errors were not needed: this is the usual answer",
        "by covariances",
        "note",
    ),
}
