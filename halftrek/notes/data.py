"""Findings about data: what the rows are, and what their variables are."""

from __future__ import annotations

from halftrek.notes.words import Words

DATA: dict[str, Words] = {
    # what the data are
    "missing values": Words("{text}"),
    "rows left out": Words("{rows:,} rows with missing values were left out"),
    "row left out": Words("1 row with missing values was left out"),
    "no means": Words("no means were given with the covariance, so they count as zero: read means as deviations"),
    "no means, rows": Words(
        "no means were given with the covariance, so they count as zero: give rows as deviations from their means, and "
        "read the results so",
        level="doubt",
    ),
    "no information": Words(
        "at these estimates the data carry no information about this answer, so it has no interval",
        "no information about it at these estimates",
        why="at these estimates the data carry no information about this answer",
    ),
    # causes that tell the categories of a column apart
    "separated": Words(
        "{causes} tell{s} the categories of {variable} apart: how steep the rule is has no most likely value, and rows "
        "on one side of it are taken for sure of their category, so that intervals allow for no exceptions",
        "{variable} follows a sharp rule",
    ),
    "separated slope": Words(
        "the rows are separated by {causes}, so that the slope has no most likely value and only its sign is "
        "known: {sign}",
        "separated by {causes}: only its sign is known, {sign}",
    ),
    "separated line": Words(
        "the rows are separated by {causes}, so that it has no most likely value",
        "separated by {causes}: no most likely value",
    ),
    "unseen error": Words(
        "{variable} follows a rule without exceptions, so that nothing is seen of its error",
        "nothing is seen of the error of {variable}",
    ),
    # what a graph was given and does not hold
    "hidden without effects": Words(
        "hidden {variable} causes nothing that is observed, so that no data speak of it: it was taken out of the "
        "graph, which changes nothing about the others",
        level="note",
    ),
    "no scale": Words(
        "nothing says how large hidden {variable} is: its variance is free and no loading is fixed; fix one, "
        "{variable} -> {effect} [1], or leave the variance at 1",
        level="note",
    ),
    "hidden root of one hidden": Words(
        "hidden {variable} only adds to the variance of one other hidden variable: it was taken out of the graph, "
        "which changes nothing about the others",
        level="note",
    ),
    # what leaves a hidden variable undetermined
    "one effect": Words(
        "hidden {variable} has one effect, {effect}: its variance and the error of {effect} cannot be told apart; give "
        "it three effects, or fix the variance of {effect}",
        level="note",
    ),
    "same effects": Words(
        "hidden {first} and {second} cause the same variables, so that either can be mixed with the other; give each "
        "an effect of its own, or fix loadings",
        level="note",
    ),
    "marker of zero": Words(
        "the loading of {effect} on hidden {variable} is fixed at zero and gives no scale; fix another loading "
        "at a number that is not zero, or leave the variance of {variable} at 1",
        level="note",
    ),
    "no path": Words("the graph has no such path", level="note"),
    # what the rows are
    "coded": Words("{variable} is 1 for {one!r} and 0 for {zero!r}", level="note"),
    "indicator": Words(
        "{variable} is 1 where {column} is {one!r}, else 0; its effects are differences from {zero!r}", level="note"
    ),
    "counted rows": Words(
        "{lines:,.0f} rows count as {rows:,.0f} by their weights; weights of a survey are sampling weights",
        level="note",
    ),
    "sampling weights": Words(
        "rows have sampling weights: for a mean, {rows:,.0f} of them tell as much as {worth:,.0f} of equal weight",
        level="note",
    ),
    # variables that are not continuous
    "not continuous": Words(
        "{variables}: means and effects hold (of a 0/1 variable they are probabilities), what needs a normal "
        "distribution does not",
        level="note",
    ),
    "taken for": Words(
        "{columns}. Behind each is a normal variable with mean 0 and variance 1, and the equations hold for it",
        level="note",
    ),
    "taken for, acting": Words(
        "{columns}. Equations see categories that act by their values; what is in categories is a cut of a normal "
        "variable whose error has variance 1",
        level="note",
    ),
    "taken for, mixed ranks": Words(
        "{columns}: ranked, and a category acts on what is behind, which is then a mixture: the model says where "
        "each value is in it, normal given what comes before, with mean 0 and variance 1 over all rows",
        level="note",
    ),
    "two values, unsaid": Words(
        "{variable} has two values, causes {effect}, and was taken for normal, which may be far off: say what acts, "
        "{kind_of}{variable}{kind_is}acts{kind_end} if being in the category is the cause, 'behind' if it is a cut of "
        "a continuous one",
        "{variable} was taken for normal",
    ),
    "two values, unsaid beside hidden": Words(
        "{variable} has two values, causes {effect}, and was taken for normal: where its effects are large, or one "
        "value is rare, probabilities are off",
        "{variable} was taken for normal",
        level="note",
    ),
    "error units": Words(
        "{variable} is in categories: the effect is on the normal variable behind it, in standard deviations of its "
        "error; for what is seen ask P({variable} > {middle} | do(...))",
        "in units behind {variable}",
        level="note",
    ),
    "error units of a cause": Words(
        "{variable} is a cut of a continuous cause: the effect is one of the normal variable behind it, for a standard "
        "deviation of its error",
        "in units behind {variable}",
        level="note",
    ),
    "ranked units": Words(
        "{variables}: ranked, and the effect is in standard deviations of the normal variable behind",
        "in units behind {variables}",
        level="note",
    ),
    "mixed ranked units": Words(
        "{variables}: ranked, and the effect is in standard deviations, over all rows, of the variable behind; a "
        "category acts on it, and the model says where each value is",
        "in units behind {variables}",
        level="note",
    ),
    "behind units": Words(
        "{variables}: the effect is one between the normal variables behind, in standard deviations of these",
        "in units behind {variables}",
        level="note",
    ),
    "behind units, ask": Words(
        "{variables}: the effect is on the normal variable behind, in standard deviations of that; for what is seen "
        "ask {ask}",
        "in units behind {variables}",
        level="note",
    ),
    "linear probability": Words(
        "{variable} is 0 or 1: its mean is the probability of 1, and effects on it are changes of that (linear "
        "probability)",
        "linear probability",
        level="note",
    ),
    "two values": Words(
        "{variable} is {low:g} or {high:g}: its mean lies between them as the probability of {high:g} does between 0 "
        "and 1 (linear probability)",
        "linear probability",
        level="note",
    ),
    "not normal": Words(
        "{what}: of this normal distribution only the mean is meant for it, not the variance and the shape",
        "not normal: only the mean holds",
    ),
    "spread not equal": Words(
        "{what}: its spread moves with its mean, and this answer takes it for the same everywhere",
        "its spread is not the same everywhere",
    ),
    "event of few values": Words(
        "{what}, and this answer takes it for normally distributed: it may be far off",
        "{variable} is not normal",
    ),
    "evidence of two values": Words(
        "{variable} has two values, and what is concluded from having seen one of them takes it for normally "
        "distributed: the answer may be far off",
        "{variable} is not normal",
    ),
    "indicator alone": Words(
        "{variable} is set while {others} stay as they are, though at most one of them can be 1: hold these too, "
        "do(..., {fix})",
        "other levels not held",
    ),
    "outside": Words(
        "the mean {value:.4g} of {variable} lies outside of its values {low:g} and {high:g}: a straight line does not "
        "hold so far",
        "outside of {low:g} to {high:g}",
    ),
    "weights not counted": Words(
        "the rows of this fit have sampling weights and are not at hand, so {what} treats them as equally informative "
        "and may reject what is true: fit a table or a file, or save with save(path, rows=True)",
        "sampling weights ignored",
    ),
}
