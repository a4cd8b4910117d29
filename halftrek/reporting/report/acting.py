"""A report where categories act: what its numbers rest on then, and what is left out, one sentence each."""

from __future__ import annotations

from halftrek.reporting.document import Bullets, Chapter, Paragraph

ASSUMED = (
    "Equations are linear in the values of their causes: of a column that acts in the value of its category, of one "
    "that is a cut of a continuous cause in the variable behind it, of a ranked one in the normal score of its rank, "
    "or, if a category acts on it, in the variable that the model puts behind its ranks. They are the same for all "
    "units: no interactions, no feedback loops.",
    "A column in categories says between which cuts its own variable lies; the error of that variable has variance 1, "
    "which is its unit.",
    "All errors are normal: probabilities and the likelihood of the rows need it, so that every number here does. "
    "Intervals are from how each row moves the answer, or from rows drawn again.",
)
CAPTION = (
    "Numbers are estimated weights: the effect of one unit more of the cause, of a category its value; on a column in "
    "categories in standard deviations of its error."
)
EFFECTS = (
    "Direct: the arrow. Total: over all directed paths. Indirect: total less direct. Each is the effect of one unit "
    "more of the cause, of a category that acts 1 against 0; an effect on a column in categories is on the variable "
    "behind it, in standard deviations of its error. Where a category lies between and acts there is no single number: "
    "ask E[...] or P(...) in two worlds."
)
NO_NUMBER = "identified, no single number"
METHOD = "maximum likelihood of the rows, district by district"

_LEFT_OUT = (
    "Indices of fit, residual correlations, R² and edges that the data ask for: they compare covariances with those of "
    "the model, and the covariances of a category that acts do not say all that the model says of it.",
    "Formulas in covariances: they show that the graph allows an answer, but are those of a linear model; the numbers "
    "here are at the maximum of the likelihood of the rows.",
    "What the rows say without the graph: it is a regression line, which is not on the scale of a risk.",
    "Densities before and after: outcomes are mixtures, one normal variable for each category, and have no one curve.",
    "Effects path by path: along a category that acts an effect is no product of weights.",
    "Effects in standard deviations, side by side: a category has none in common with the variable behind it.",
    "The strength of instruments: the first stage of a category is no linear regression.",
    "What an answer rests on, absent edge by absent edge: how far it moves is known for linear models alone.",
    "What is left of a number that is not identified: sets of values are known for models without acting "
    "categories, and here under an assumption, fit.bounds(..., assume=...).",
)


def left_out() -> Chapter:
    """What other reports have, and why this one has not."""
    head = Paragraph("A category acts in this model. Other reports have more, which is not known here yet:")
    return Chapter("left-out", "What is left out, and why", [head, Bullets(list(_LEFT_OUT))])
