"""Findings about intervals: which one it is, and what speaks against it."""

from __future__ import annotations

from halftrek.notes.words import Words

INTERVALS: dict[str, Words] = {
    # whether an interval may be trusted
    "weak instrument": Words(
        "{why}: the interval cannot be trusted, use {ask_profile}",
        "weak instrument (F = {F:.1f}): see fit.query",
        "doubt",
        why="{rows} is a weak instrument for {columns} (first-stage F = {F:.1f}, below {strong:g})",
    ),
    "weak instruments": Words(
        "{why}: the interval cannot be trusted, use {ask_profile}",
        "weak instruments (F = {F:.1f}): see fit.query",
        "doubt",
        why="{rows} are weak instruments for {columns} (strength {F:.1f} as a first-stage F, below {strong:g})",
    ),
    "moderate strength": Words(
        "{why}: the interval may be too narrow, use {ask_profile}",
        "moderate strength (F = {F:.1f}): see fit.query",
        "doubt",
        why="what identifies it is of moderate strength (first-stage F = {F:.1f}, below {sure:g})",
    ),
    "instruments below critical": Words(
        "the effective F of {sets} is not above what rules out (at 5%) a bias of two-stage least squares of more than "
        "a tenth of the worst",
        "effective F below {critical:.1f}",
        "doubt",
    ),
    "anderson-rubin chosen": Words(
        "the interval of two-stage least squares holds the values that the test of Anderson and Rubin keeps, which is "
        "right whatever the strength of instruments; one from a standard error is given from F = {sure:g} on",
        level="note",
    ),
    "anderson-rubin pieces": Words(
        "{instruments}: the values that the test of Anderson and Rubin keeps are in pieces, {pieces}; the interval "
        "goes from the first to the last",
        "kept: {pieces}",
        "note",
    ),
    "anderson-rubin empty": Words(
        "{instruments}: the test of Anderson and Rubin rejects every value of the effect, so that the instruments "
        "contradict each other: at least one acts on the outcome in another way",
        "every value is rejected",
        "doubt",
    ),
    "no set for several causes": Words(
        "{instruments}: with several causes that need instruments, of moderate strength, there is no interval of "
        "two-stage least squares that holds; that of LIML is by the likelihood",
        "see LIML",
        "note",
    ),
    "instruments without rows": Words(
        "the fit has no rows, so that the effective F treats errors as independent and equally spread, and is the "
        "first-stage F; fit a table or a file for the robust one",
        level="note",
    ),
    "more instruments": Words(
        "{count} instruments are valid; alone the first {shown} are listed, and all together",
        level="note",
    ),
    "cleaned instruments": Words(
        "{count} more steps of the formula use instruments from which known effects were taken out first; these tests "
        "are not made for them, and the interval of the answer itself judges their strength",
        level="note",
    ),
    "rows with all": Words(
        "values are missing: these numbers are from the {rows:,.0f} rows that have all variables of the equation, and "
        "those of the model from all rows",
        level="note",
    ),
    "more sets": Words(
        "there are more minimal sets than these {shown}, which were found first: most=... lists more", level="note"
    ),
    "rows of each set": Words(
        "values are missing: each regression is from the rows that have all of its variables, the whole model from all",
        level="note",
    ),
    "no prediction interval": Words(
        "{variables} takes a few values only, so that its mean is predicted and no interval for the values themselves",
        level="note",
    ),
    "weak divisor": Words(
        "{why}: the interval cannot be trusted, use {ask_profile}",
        "hardly identified (F = {F:.1f}): see fit.query",
        "doubt",
        why="the formula of this effect divides by a number that data hardly tell from zero (strength {F:.1f} as a "
        "first-stage F, below {strong:g})",
    ),
    "no parabola": Words(
        "{why}: the interval cannot be trusted, use {ask_profile}",
        "a standard error describes it badly: see fit.query",
        "doubt",
        why="a standard error describes the likelihood of this answer badly (deviance {low:.3g} at the lower end of "
        "the interval and {high:.3g} at the upper, where {nominal:.3g} is meant)",
    ),
    "few rows": Words(
        "the interval is for few rows: {rows:.4g} rows inform the answer, less {parameters:.4g} parameters, so it "
        "takes Student's t with {free:.3g} degrees of freedom",
        "t with {free:.3g} degrees of freedom",
        "note",
    ),
    "no rows left": Words(
        "{rows:.4g} rows inform this answer, and its equations have {parameters:.4g} parameters: the data say nothing "
        "of its precision",
        "no rows left",
        level="doubt",
    ),
    "too few rows": Words(
        "{rows:.4g} rows inform this answer, and its equations have {parameters:.4g} parameters: this interval is made "
        "for more, and too narrow; {ask_default}",
        "too few rows for this interval",
        level="doubt",
    ),
    "few events": Words(
        "{variable}: {events:,.0f} of {rows:,.0f} rows have its rarer {what}, for {parameters} parameters of its "
        "equation; below {enough} for each, intervals hold the truth less often than they say, those of ratios most: "
        "leave out causes, or take more rows",
        "{events:,.0f} rows have the rarer {what} of {variable}",
    ),
    "few clusters": Words(
        "the interval is for few clusters: {clusters} clusters, left out one at a time, with Student's t",
        "few clusters",
        "note",
    ),
    "too few clusters": Words(
        "{clusters} clusters are few for this interval, which may be too narrow; {ask_default}",
        "few clusters",
        level="doubt",
    ),
    "kinked behind": Words(
        "the question asks for a category in one world given one in another, so that the answer has no slope at an "
        'effect of zero: the interval may be too narrow; interval="bootstrap" does without',
        "no slope where the effect is zero",
    ),
    "weak behind": Words(
        "{reason}: the interval cannot be trusted, and rows of ordered or ranked columns have no likelihood to go by; "
        "find a stronger instrument",
        "weak: the interval cannot be trusted",
    ),
    "weak, acting": Words(
        "{reason}: the interval cannot be trusted; find a stronger instrument",
        "weak: the interval cannot be trusted",
    ),
    "few clusters, acting": Words(
        "{clusters} clusters are few for this interval, which may be too narrow",
        "few clusters",
        level="doubt",
    ),
    "profile chosen": Words(
        "the interval is by profile likelihood, since one from a standard error would mislead: {reason}",
        "interval by profile likelihood",
        "note",
    ),
    "profile preferred": Words(
        "the interval is by profile likelihood, which stays right where {reason}; one from a standard error would "
        "begin to mislead",
        "interval by profile likelihood",
        "note",
    ),
    "profile line": Words(
        "the interval is by profile likelihood, since one from a standard error would mislead",
        "interval by profile likelihood",
        "note",
    ),
    "profile line, weak": Words(
        "the interval is by profile likelihood, since one from a standard error would mislead (F = {F:.1f})",
        "interval by profile likelihood (F = {F:.1f})",
        "note",
    ),
    "kinked": Words(
        "this probability has no slope where an effect changes its sign, so that an interval from slopes or from the "
        "likelihood cannot be trusted; {ask_default}",
        "has no slope",
        level="doubt",
    ),
    "drawn from the model": Words(
        "the interval is from data drawn from the fitted model, since this probability has no slope where an effect "
        "changes its sign",
        level="note",
    ),
    "misfit": Words(
        "the data contradict the graph (overall test: {chance}), see {ask_tests}: what follows from a wrong graph "
        "may be wrong, however narrow its interval",
        "the data contradict the graph ({chance})",
        "doubt",
    ),
    "sandwich chosen": Words(
        "the interval does not rely on what the graph forbids for its width (a sandwich); it does not correct a bias",
        "interval by a sandwich",
        "note",
    ),
    "without the restriction": Words("with {edge} in the graph the answer is {between}", level="note"),
    "not known without it": Words("with {edge} in the graph the answer could not be known", level="note"),
    # bootstrap
    "replicates left out": Words(
        "{failed} of {drawn} {kind} replicates had no maximum of the likelihood and were left out"
    ),
    "many replicates left out": Words(
        "{failed} of {drawn} {kind} replicates had no maximum of the likelihood and were left out: do not trust this "
        "interval, use {ask_profile}",
        "{failed} of {drawn} replicates had no maximum of the likelihood",
        level="doubt",
    ),
    # profile
    "unbounded": Words(
        "the likelihood bounds {name} on neither side: these data are consistent with every value it can have",
        level="note",
    ),
    "ruled out": Words(
        "the likelihood bounds {name} on neither side: only values between {low:.4g} and {high:.4g} are ruled out, and "
        "the interval is given as unbounded",
        level="note",
    ),
    "unbounded on one side": Words("the likelihood does not bound {name} {side}", level="note"),
    "walk lost": Words("the likelihood of {name} could not be followed to the end of its interval on {side}"),
    "short of the maximum": Words(
        "the fit stopped short of the maximum by {short:.3g} in log-likelihood; the interval is about the maximum, "
        "where {name} is {estimate:.4g}",
        level="doubt",
    ),
    # mediation
    "total may be zero": Words(
        "the {percent:g}% interval of the total effect contains zero, so the proportion mediated may be anything and "
        "its interval is not reliable; look at the indirect effect itself"
    ),
    "shaky proportion": Words(
        "an effect that the proportion mediated is made of is hardly known (see its note), so that the interval of the "
        "proportion cannot be trusted; look at the effects themselves",
        level="doubt",
    ),
    "opposite signs": Words(
        "direct and indirect effect have opposite signs and partly cancel: the proportion is not a share"
    ),
    "many routes": Words(
        "more than {most} routes visit the mediators; only the effects through each of them are listed", level="note"
    ),
    # what an interval does not allow for
    "sampling weights ignored": Words(
        "this interval treats all rows as equally informative, and with their weights {rows:,.0f} rows are worth "
        "{worth:,.0f}: {ask_robust} allows for that",
        "sampling weights ignored",
        level="doubt",
    ),
    "sampling weights without rows": Words(
        "without the rows this interval treats them as equally informative, and with their weights {rows:,.0f} rows "
        "are worth {worth:,.0f}: fit a table or a file, and save with its rows",
        "sampling weights ignored",
        level="doubt",
    ),
    "unequal spread ignored": Words(
        "this interval treats the errors of {variables} as equally spread, which those of 0/1 variables are not: "
        "{ask_robust} does not need it",
        "unequal spread ignored",
        level="doubt",
    ),
    "unequal spread without rows": Words(
        "without the rows this interval treats the errors of {variables} as equally spread, which those of 0/1 "
        "variables are not: fit a table or a file, and save with its rows",
        "unequal spread ignored",
        level="doubt",
    ),
}
