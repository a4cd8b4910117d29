"""How far a number may be from the frozen one, and why so far.

The difference is counted in units of ``relative`` times a scale. The scale is the number itself, or its standard error
if that is larger and stands beside it; without a standard error the largest number of the same column or array; and at
least the ``floor`` of the rule. Of the rules the first that matches is the one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Rule:
    """Regular expressions that are searched for in the operation, the column and the place, and what holds there.

    What is infinitely far is not compared at all, be it a number or a word.
    """

    reason: str
    operation: str = ""
    column: str = ""
    place: str = ""
    relative: float = 1e-8
    floor: float = 0.0


# fields that hold the standard error of what stands beside them, by the names of the frozen file
ERRORS = ("se", "errors")

TINY = 1e-4  # below it a standard error is that of a number that is known, and rounding

USUAL = Rule("sums in another order, as other versions of BLAS make them, differ by far less")

# On one machine all numbers come out the same again, whatever its load and the number of threads. Rules with another
# tolerance than the usual one are for other processors: they are what differed with OPENBLAS_CORETYPE=Nehalem and
# numpy's newer instructions switched off.
RULES = (
    Rule(
        "J is followed down a valley, flat where errors are near to normal and hardly tell the weights",
        operation=r"beyond=correlation",
        place=r"\.(statistic|p|p_\w+)$",
        relative=1e-4,
        floor=1.0,
    ),
    Rule(
        "moments of incomplete rows are found by steps that end when they are small, at a flat optimum",
        operation=r"^(residuals|tests|modifications)",
        column=r"missing",
        place=r"\.(z|p|p_\w+|statistic|mi)$",
        relative=1e-6,
        floor=1.0,
    ),
    Rule(
        "as before",
        operation=r"^(residuals|tests|modifications)",
        column=r"missing",
        relative=1e-6,
    ),
    Rule(
        "the number is 1, whatever the parameters: its standard error is rounding, and so is what is made of it",
        operation=r"^query: E\[y_x \| x, y\]$",
        column=r"^acts \+ ordered outcome$",
        place=r"(^|\.)(se|errors|z|tests|intervals?)(\[\*\])?$",
        relative=math.inf,
    ),
    Rule(
        "weighted least squares hold some covariances by weights 1e8 times those of others: the inverse of "
        "their squares has lost as many digits",
        column=r"DWLS",
        place=r"(^|[._])(z|p|p_\w+|tests)(\[\*\])?$",
        relative=1e-6,
        floor=1.0,
    ),
    Rule(
        "as before; and intervals are made from it",
        column=r"DWLS",
        place=r"(^|[._])(se|errors|intervals?|fieller|ci_low|ci_high|low|high)(\[\*\])?$",
        relative=1e-6,
        floor=TINY,
    ),
    Rule(
        "where categories act, the spread of the parameters is from differences of the scores, over steps of 1e-5",
        column=r"acts",
        place=r"(^|[._])(z|p|p_\w+|tests)(\[\*\])?$",
        relative=1e-6,
        floor=1.0,
    ),
    Rule(
        "as before; and intervals are made from it",
        column=r"acts",
        place=r"(^|[._])(se|errors|intervals?|ci_low|ci_high|low|high|spread)(\[\*\]|, \w+)?$",
        relative=1e-6,
        floor=TINY,
    ),
    Rule(
        "zero but for rounding",
        place=r"(^|\.)largest_difference$|margins\[\*\]\.mean$",
        floor=1.0,
    ),
    Rule(
        "the root of a variance that is zero but for rounding",
        place=r"noise_sd$",
        relative=1e-7,
        floor=1.0,
    ),
    Rule(
        "below, it is the standard error of a number that is known, and rounding",
        place=r"(^|[._])(se|errors\[\*\])$",
        floor=TINY,
    ),
    Rule(
        "a chance or a share is at most 1; in tails a small change of the statistic is a large one of the chance",
        place=r"(^|[._])(p|pvalue|p_\w+|share|weight|proportion)(\[\d+\])?$",
        floor=1.0,
    ),
    Rule(
        "in standard errors, or compared with chi-squared: below 1 nothing hangs on its digits, and in a saturated "
        "model it is rounding",
        place=r"(^|[._])(z|t|chi2\w*|statistic|deviance|mi|tests)(\[\*\])?$",
        floor=1.0,
    ),
    Rule(
        "indices of fit are between 0 and about 1, and rounding where the model fits perfectly",
        place=r"(^|[._])(cfi|tli|rmsea\w*|srmr\w*|r2|partial_r2)$",
        floor=1.0,
    ),
)


@cache
def rule_of(operation: str, column: str, place: str) -> Rule:
    """The rule of one place, its rows written as ``[*]``."""
    for rule in RULES:
        if all(map(re.search, (rule.operation, rule.column, rule.place), (operation, column, place))):
            return rule
    return USUAL
