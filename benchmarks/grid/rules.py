"""What a refusal means: the judgement of every cell that does not work, as data.

A rule goes by column and operation, never by the words of a message. The first one that matches counts, and every
refusal must have one. What is *meaningless* has a sentence of mathematics, and missing code is never one; a cell that
works though its rule says that it means nothing contradicts the rule, and is reported. The others mean something:
what is *not there* would have to be built, and what *should work* is there in another place or under another name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["meaningless", "not there", "should work"]


@dataclass(frozen=True)
class Rule:
    """A judgement, the columns and operations it is about (regular expressions), and why."""

    verdict: Verdict
    columns: str
    operations: str
    reason: str

    def about(self, column: str, operation: str) -> bool:
        return bool(re.search(self.columns, column) and re.search(self.operations, operation))


def judged(column: str, operation: str) -> Rule | None:
    """The rule of a cell; None if nobody has judged it."""
    return next((rule for rule in RULES if rule.about(column, operation)), None)


GROUPS = r"^(?!one of).*\bgroups\b"
SINGLE = r"^(?!.*\bgroups\b)|^one of groups"  # one sample, or one group of a fit
FACTORS = r"factor|SEM|items"
NO_FACTORS = r"^(?!.*(factor|SEM|items))"
MOMENTS = r"covariance only"
HOLES = r"missing"
LEVELS = r"^ordered(?! items| \+ groups)"  # the outcome has levels; items of a factor have them in other columns
RANKS = r"^ranked"
ACTS = r"^(acts(?! \+ factor)|binary)"
BEHIND = r"^(ordered|ranked|acts(?! \+ factor)|binary)"  # columns with a distribution of their own
KINDS = r"^(ordered|ranked|acts|binary)"  # kinds= was said
LINEAR_01 = r"^0/1"
ROWS_INTERVAL = r"interval=(robust|jackknife|bootstrap|influence)|, (robust|bootstrap)\b|ends=bca"

MEANINGLESS = [
    Rule(
        "meaningless",
        MOMENTS,
        r"missing=|auxiliary=",
        "A covariance matrix has no entries of rows: none can be missing.",
    ),
    Rule(
        "meaningless",
        MOMENTS,
        r"fit\((cluster|sampling_weights|weights|by)=|^fit_groups$",
        "Clusters, weights and groups are labels of rows, and a sum over rows cannot be taken apart again.",
    ),
    Rule(
        "meaningless",
        MOMENTS,
        ROWS_INTERVAL,
        "Robust variances need fourth moments of the rows; a covariance has second ones.",
    ),
    Rule(
        "meaningless",
        MOMENTS,
        r"robust=True|satorra|beyond=|rows=True|^scores(\(bartlett\))?$",
        "Scaled tests, tests of higher moments, scores and saved rows are functions of rows, and there are none.",
    ),
    Rule(
        "meaningless", SINGLE, r"^groups\.invariance", "Invariance is that groups are alike: one sample has one group."
    ),
    Rule(
        "meaningless",
        NO_FACTORS,
        r"^(scores|reliability)",
        "A score estimates the value of a latent variable, and the model has none.",
    ),
    Rule(
        "meaningless",
        NO_FACTORS,
        r"^measurement_invariance",
        "Measurement is invariant if loadings and intercepts of items are equal: the model has no loadings.",
    ),
    Rule("meaningless", HOLES, r"missing='error'", "The refusal is what was asked for: a value is missing."),
    Rule(
        "meaningless",
        HOLES,
        r"^moments\(data\)",
        "Moments of incomplete rows are not defined before somebody says how (complete rows, or a model).",
    ),
    Rule("meaningless", r"^categories", r"^moments\(data\)", "Words have no mean and no covariance."),
    Rule(
        "meaningless",
        r"^(?!ordered(?! items)|acts \+ ordered|0/1|groups|SEM \+ groups|acts \+ groups)",
        r"^query: P\(y = k",
        "A continuous variable takes any single value with probability 0.",
    ),
    Rule(
        "meaningless",
        LEVELS + r"|^acts \+ ordered",
        r"^query: PS$",
        "The condition has probability 0: no level lies below the lowest.",
    ),
    Rule(
        "meaningless",
        r"^hidden, bow-free",
        r"^query: (x -> y|do\(x -> y)|^benchmark",
        "The graph has no edge x -> y: its coefficient is 0 by assumption, whatever the rows say.",
    ),
    Rule(
        "meaningless",
        r"^hidden, bow-free|^acts \+ confounded",
        r"adjustments",
        "No set of observed variables blocks all back-door paths: x <-> y itself is one.",
    ),
    Rule(
        "meaningless",
        r"^factors \(CFA\)",
        r"^query: (x -> m -> y|arithmetic)|^(plot\.)?mediation",
        "Items have no effects on each other in this graph: there is no path through a, and no edge a -> c.",
    ),
    Rule("meaningless", r"^acts \+ confounded", r"^query: (x -> m -> y|arithmetic)", "The graph has no edge x -> w."),
    Rule("meaningless", r"^factors \(CFA\)", r"crude=True", "The rows have no column F to be set against the outcome."),
    Rule(
        "meaningless",
        r"binary mediator",
        r"^(query: x ~> (y|m ~> y)$|query: x -> m -> y|effect, )",
        "With a yes/no mediator E[y | do(x)] is a curve in x, so that no single number is its slope.",
    ),
    Rule(
        "meaningless",
        r"^(acts (?!\+ (factor|groups))|binary treatment)",
        r"^query: do\(x (\+=|\*=|~)",
        "A column of categories holds none of the values x + 1, 2 x or a normal draw.",
    ),
    Rule(
        "meaningless",
        r"SEM|items|factor \+|acts \+ factor",
        r"^effect in an IV graph|^instruments",
        "Not identified: w acts on y itself in this graph, and nothing else moves x.",
    ),
    Rule(
        "meaningless",
        r"^(?!.*(SEM|items|factor \+|\+ factor))",
        r"errors=independent, bow graph",
        "Not identified: where errors of x and y may depend in any way, their joint distribution fits every slope.",
    ),
]

SHOULD_WORK = [
    Rule(
        "should work",
        r"^(?!ordered|ranked|binary|acts (?!\+ factor))",
        r"interval=influence",
        "Errors from what each row adds are the robust ones, there under the name robust.",
    ),
    Rule(
        "should work",
        MOMENTS,
        r"^compare\(graphs, data\)",
        "Several graphs fitted to one covariance matrix: cov= is given and not taken.",
    ),
    Rule(
        "should work", FACTORS, r"^plot\.residuals", "The residuals are there as a table; only their order is mixed up."
    ),
]

NOT_THERE = [
    Rule(
        "not there", GROUPS, r".", "Each group's fit has it; the same for all groups, a row or a picture each, is not."
    ),
    Rule(
        "not there", r".", r"auxiliary=", "Variables that make missing at random more plausible, outside of the graph."
    ),
    Rule("not there", r".", r"interval=jackknife", "The jackknife leaves out a row where rows are not in clusters."),
    Rule("not there", r".", r"interval=profile", "A profile for every row of a table."),
    Rule(
        "not there", r".", r"estimator='dwls'", "Least squares in the entries of a covariance, of any kind of columns."
    ),
    Rule("not there", r".", r"cgl-go", "The paper's EM beyond complete rows and hidden roots."),
    Rule("not there", r".", r"^fit\(max_iter=, finish=False", "A fit stopped before its end, for all ways of fitting."),
    Rule(
        "not there", r".", r"^(fit_batch|fit_together|measurement_invariance)", "Many samples at once, of every kind."
    ),
    Rule("not there", KINDS, r"^fit\((noise|intercepts|coefficients)", "Held parameters where columns have kinds."),
    Rule(
        "not there",
        BEHIND,
        r"interval=(delta|t|sandwich|robust|parametric|influence)|information=|, robust\b",
        "Every kind of standard error, from the equations that were solved.",
    ),
    Rule("not there", BEHIND, r"^compare", "Fits to levels compared by scaled differences of their statistics."),
    Rule("not there", BEHIND, r"^(profile|plot\.profile|assumptions|robustness, all)", "Profiles and tests of edges."),
    Rule(
        "not there",
        BEHIND,
        r"^query: (Var|SD|Cov|Corr|Q\(0\.9\)|P\(y\|do|do\(x ~)|^plot\.densities",
        "Moments, quantiles and the distribution of levels or ranks, which are sums over them.",
    ),
    Rule("not there", BEHIND, r"^(adjustments|plot\.adjustments|instruments|benchmark)", "Formulas beside the model."),
    Rule("not there", BEHIND, r"beyond=correlation|satorra", "Tests of independent errors, and a scaled test."),
    Rule(
        "not there",
        BEHIND,
        r"save|load",
        "Standard errors after loading: their matrix could be saved without the rows.",
    ),
    Rule(
        "not there", RANKS, r"^query: E\[y_x \| x, y\]|^counterfactual", "The counterfactual of a rank that is known."
    ),
    Rule(
        "not there",
        ACTS,
        r"crude=|^effect|^query: (std|NDE|NIE)|errors=independent",
        "Effects through and of categories: standardised, natural, unadjusted.",
    ),
    Rule(
        "not there",
        ACTS,
        r"^(decompose|plot\.paths|mediation|r2|residuals|tests\(question|modifications|plot\.dose)",
        "Tables of a model in which a category acts.",
    ),
    Rule(
        "not there",
        ACTS,
        r"^(sensitivity|robustness|plot\.sensitivity|bounds|query, bounds|query, assume|ht\.bounds|plot\.bounds)",
        "Bounds and sensitivity where a category acts.",
    ),
    Rule(
        "not there",
        LINEAR_01,
        r"P\(y|^query: (P\(|RD|RR|OR|PN|PS|Q)|bounds of P",
        "P(y = 1) = E[y] in a linear model of 0/1.",
    ),
    Rule("not there", FACTORS, r"adjustments|instruments|benchmark", "Formulas beside models with factors."),
    Rule("not there", FACTORS, r"bounds|assume=", "Bounds beside hidden variables where values are missing or levels."),
    Rule("not there", FACTORS, r"errors=independent", "What independent errors tell beside factors."),
    Rule("not there", r"^factors", r"do=\+1", "The counterfactual of a latent cause that is shifted."),
    Rule("not there", HOLES, r"beyond=correlation|satorra|plot\.convergence", "Tests and traces with missing values."),
    Rule("not there", r"DWLS", r"^modifications", "Score tests of what the weighted squares have at their least."),
    Rule("not there", r"DWLS", r"plot\.convergence", "The trace of the weighted squares."),
    Rule("not there", r"^acts \+ factor", r"^from_lavaan", "A category that acts beside a factor from a lavaan text."),
    Rule("not there", r"clusters", r"^save \+ load", "Robust errors after loading: their matrix could be saved."),
    Rule("not there", r"^constraints", r"plot\.convergence", "The trace of a fit with tied coefficients."),
    Rule(
        "not there", r"^one of groups", r"^(compare\(graphs|ht\.bounds)", "Graphs and bounds for one group of a table."
    ),
]

RULES = MEANINGLESS + SHOULD_WORK + NOT_THERE
