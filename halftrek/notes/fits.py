"""Findings about a fit and its graph: how it went, what the data say against it, how it was read."""

from __future__ import annotations

from halftrek.notes.words import Words

_PAIR_APART = Words(
    "no row has both {first} and {second}: how they covary is known through the model alone",
    "no row has both {first} and {second}",
)

FITS: dict[str, Words] = {
    # how the fit went
    "steps ran out": Words(
        "equations of {who}: no maximum after {iterations} steps; {ask_steps}, or check the graph for effects that are "
        "not identified",
        "not converged, see fit.status",
        level="doubt",
    ),
    "no finite maximum": Words(
        "equations of {who}: the likelihood keeps rising while {runaway} grows without end, so that there is no best "
        "value; do not trust answers that involve it",
        "no best value, see fit.status",
        level="doubt",
    ),
    "locally identified": Words(
        "locally identified: no other value near this one fits equally well; that none far off does was not shown",
        "locally identified",
        level="note",
    ),
    "scale by marker": Words("{hidden} is on the scale of {marker}, its loading fixed at {weight:g}", level="note"),
    "scale by variance": Words(
        "{hidden} is on the scale on which its error has the variance 1; its sign is a convention, too",
        level="note",
    ),
    "boundary": Words(
        "equations of {who}: a noise variance is estimated at zero; intervals there are not reliable",
        "a noise variance is zero, see fit.status",
        level="doubt",
    ),
    "several peaks": Words(
        "equations of {who}: only {agreeing} of {starts} starts reached the best likelihood: a better one may be "
        "missing",
        "starts disagree, see fit.status",
        level="doubt",
    ),
    "higher maximum": Words(
        "the profile of this answer led to a log-likelihood {higher:.3g} above the one where the fit had ended; this "
        "answer is from there, and what else the fit says is not",
        "from a higher maximum than the fit's",
        level="doubt",
    ),
    "maximum missed": Words(
        "equations of {who}: the graph restricts none of their covariances, yet the log-likelihood stays {lost:.3g} "
        "below what they allow: either no noise variances and error covariances fit them, or a higher maximum was "
        "missed. Compare with a fit that has more starts",
        "may have missed the maximum",
        level="doubt",
    ),
    "not determined": Words(
        "equations of {who}: some of their coefficients and covariances cannot be determined from data; each question "
        "is checked on its own",
        level="note",
    ),
    "several solutions": Words(
        "equations of {who}: different coefficients reach the same likelihood; an effect that depends on them is not "
        "identified, or has several values",
        level="note",
    ),
    "no maximum": Words("the fit did not reach a maximum: {status}", "{code}, see fit.status"),
    "at the maximum": Words("the likelihood is at its maximum", level="note"),
    "steps ran out, acting": Words(
        "the steps ran out before the likelihood of the rows was at its maximum; check the graph for effects that are "
        "not identified",
        "not converged, see fit.status",
        level="doubt",
    ),
    "border, acting": Words(
        "the likelihood of the rows rises up to where the errors of {variables} determine each other, with no maximum "
        "short of that: rows are too few, or the graph leaves too much open, to tell what they share; take more rows, "
        "or take out an arc",
        "not converged, see fit.status",
        level="doubt",
    ),
    "steps ran out, weighted": Words(
        "the steps ran out before the weighted squares were least: estimates, errors and measures of fit may be far "
        "off; leave out estimator=, or check the graph for effects that are not identified",
        "not converged, see fit.status",
        level="doubt",
    ),
    "steps ran out, observed values": Words(
        "the steps ran out before the likelihood of the observed values was at its maximum", level="doubt"
    ),
    "not determined, observed values": Words(
        "some of the parameters cannot be determined from the values that are there", level="note"
    ),
    "pair apart": _PAIR_APART,
    "pairs apart": Words(
        "no row has both {first} and {second} (and {others} more pairs): how they covary is known through the model "
        "alone",
        "no row has both {first} and {second}",
    ),
    "literal at rest": Words("the literal algorithm no longer raises the likelihood", level="note"),
    "literal rounds ran out": Words(
        "the literal algorithm stopped after {rounds} rounds; {ask_steps}", "not converged, see fit.status", "doubt"
    ),
    # the formula that identifies an effect, and the estimate of the whole model
    "formula differs": Words(
        "the formula alone gives {formula:.4g} for {what}, the whole model {model:.4g}, further apart than chance "
        "sets them in a graph that is right ({chance}): the data contradict the graph somewhere, see {ask_measures}",
        "formula gives {formula:.4g}: the data contradict the graph",
        level="doubt",
    ),
    "formula beside LIML": Words(
        "the formula alone, which uses {tools} of the instruments, gives {formula:.4g} on these data. The estimate is "
        "the maximum of the likelihood, which is LIML with all instruments of the equation of {outcome}: {instruments}",
        level="aside",
    ),
    "formula beside regressions": Words(
        "the formula alone, from {used}, gives {formula:.4g} for {what} on these data. The estimate is put together "
        "from the equations of {equations}, each a regression on all its causes in the graph",
        level="aside",
    ),
    "formula beside likelihood": Words(
        "the formula alone, from {used}, gives {formula:.4g} for {what} on these data. The estimate is the maximum of "
        "the joint likelihood of {equations}, given their causes (full-information maximum likelihood), which uses all "
        "that the graph says of {variables}",
        level="aside",
    ),
    "formula beside missing values": Words(
        "the formula alone, from {used}, gives {formula:.4g} for {what} on these data. The estimate is the maximum of "
        "the likelihood of the whole graph (full-information maximum likelihood): where values are missing, every "
        "equation has a part in it",
        level="aside",
    ),
    "formula by chance": Words(
        "in a graph that is right, formula and estimate differ by chance alone: here by {gap:.2g}, and the standard "
        "error of this difference is {error:.2g}",
        level="aside",
    ),
    "formula by no chance": Words(
        "in a graph that is right, formula and estimate differ by chance alone, and chance does not explain this "
        "difference ({chance})",
        level="aside",
    ),
    "model, not rows": Words(
        "this is the number of the fitted model, in which the graph has a part; the rows alone, without the graph, "
        "give {rows:.4g}",
        level="aside",
    ),
    "clusters not counted": Words(
        "this interval treats the rows as independent: {ask_robust} counts their clusters",
        "clusters not counted",
        level="doubt",
    ),
    # checks of a graph
    "clusters not saved": Words(
        "the rows of this fit were in clusters and were not saved with it, so {what} treats rows as independent and "
        "may reject what is true: fit again, or save with save(path, rows=True)",
        "clusters not counted",
    ),
    "criteria of clusters": Words(
        "AIC, BIC and weights treat rows as independent, and these are in clusters: they favour the larger model; the "
        "tests count clusters",
        "AIC and BIC do not count clusters",
    ),
    "indices with holes": Words(
        "with missing values these indices use the observed information about the moments, which holds for values "
        "missing at random; lavaan's differ: {ask_expected} gives lavaan's, right only for values missing completely "
        "at random",
        "not lavaan's default",
        "note",
    ),
    "robust indices": Words(
        "an index is the square of a t statistic from the spread over independent units (clusters, where rows are in "
        "such), not a fall of chi-square; {ask_plain_indices} gives that, for independent and normal rows",
        "robust",
        "note",
    ),
    "contradicted": Words(
        "the data contradict that {restriction} ({chance}), on which this answer rests: without it, with "
        "{edge} in the graph, the answer would move by about {change:.3g} ({standard_errors:+.1f} standard errors)",
        "contradicted: {restriction}",
        level="doubt",
    ),
    "contradicted, one of several": Words(
        "the data contradict what this answer rests on ({chance}): that {restriction}, or that {others}, which data "
        "cannot tell apart; without the first, with {edge} in the graph, the answer would move by about {change:.3g} "
        "({standard_errors:+.1f} standard errors)",
        "contradicted: {restriction}, or the like",
        level="doubt",
    ),
    "contradicted interval": Words(
        "the data contradict that {restriction} ({chance}), on which the width of this interval rests: with {edge} "
        "in the graph the standard error would be {widening:.2f} times as large",
        "contradicted: {restriction}",
        level="doubt",
    ),
    # what the text of a graph says and the graph does not hold
    "lavaan outcomes": Words(
        "sem() of lavaan would let the errors of outcomes that cause nothing covary: {names}. Here they do not unless "
        "the text says so: write {first} ~~ {second} if they do, {first} ~~ 0*{second} if not, or have the text read "
        "as sem() reads it: {ask_sem}",
        short="outcomes do not covary, as they do in sem()",
    ),
    "lavaan growth": Words(
        "all loadings of {factor!r} are given, as for growth() of lavaan, which would free the mean of {factor} and "
        "hold the intercepts of {indicators} at zero. It was read as sem() reads it: a mean of zero, free intercepts; "
        "{ask_growth} reads it as growth() does",
        short="growth factor read as by sem()",
    ),
    "lavaan scale": Words(
        "nothing in the text says how large {factor!r} is, which sem() of lavaan needs: its variance was taken for 1; "
        "write 1*{first} for a loading of 1, or {factor} ~~ 1*{factor}",
        short="no scale in the text",
    ),
    # groups
    "group definitions": Words(
        "what := defines is listed for one fit, not in tables by group: {names}. Fit each group on its own for it",
        short=":= left out",
        level="note",
    ),
    "group with holes": Words(
        "{incomplete:,} of {rows:,} rows are incomplete and count for the values that they have (full-information "
        "maximum likelihood, which assumes missing at random)",
        "{incomplete:,} of {rows:,} rows incomplete",
        "note",
    ),
    "group pair apart": _PAIR_APART,
    "group without maximum": Words(
        "the likelihood of this group reached no maximum ({code}): do not trust its row", "no maximum reached", "doubt"
    ),
    "group without category": Words(
        "no row of this group has {column}={value:g}, which others have: its cuts are between the values that it has",
        "no row has {column}={value:g}",
        "note",
    ),
    "group at boundary": Words(
        "a noise variance of this group is estimated at zero; intervals there are not reliable",
        "a noise variance is zero",
        "doubt",
    ),
}
