"""Findings about answers while an edge of the graph is varied."""

from __future__ import annotations

from halftrek.notes.words import Words

VARIED: dict[str, Words] = {
    "each value refitted": Words(
        "data tell {edges}, so everything else was estimated again for each of its values; values far from the data's "
        "own fit worse",
        level="note",
    ),
    "fitted at each value": Words(
        "everything else was estimated again for each value of {edges}; whether data leave it free or speak against "
        "some of these values was not looked at",
        level="note",
    ),
    "covariance stays": Words(
        "data leave {edges} free: each value has a model that fits the data as well as the others, so nothing was "
        "estimated again",
        level="note",
    ),
    "values without a model": Words("no model was found for {count} of {total} values of {edges}: they are left out"),
    "a pole": Words("the answer runs off to infinity near {where} of {edges}: there the curve has a gap", level="note"),
    "one of several": Words(
        "with {edges} held the answer is known only up to several values: the one shown joins the fitted model's"
    ),
    "no correlation": Words(
        "data do not determine the error variances at both ends of {edges}: its values are covariances, and have no "
        "correlation that could be given{at}"
    ),
    "undetermined beside an edge": Words(
        "if there were {edges}, of whatever strength, the answer would not be determined any more, and no number says "
        "how strong it must be; ask for bounds that assume something about it, such as '{assume}'"
    ),
    "edges left out of robustness": Words(
        "absent edges that data test, and those that do not move the answer, are not listed here: {ask_assumptions} "
        "lists every one",
        level="note",
    ),
    "no common limit": Words(
        "one limit for all absent edges together is not computed where hidden variables have causes ({hidden}): with "
        "all of them free their items would say nothing",
        level="note",
    ),
    "strength not known": Words(
        "how strong {edges} must be was not found: hidden variables on the scale of their error change their unit with "
        "it, or no model was reached. Fix a loading, as in F -> a [1], or ask for bounds that assume something of it",
        level="note",
    ),
    "held intercepts": Words(
        "intercepts are held, so models of one covariance differ in their means: for edges that carry the answer ask "
        "for them one by one"
    ),
    "shares beyond": Words(
        "nothing can be {times:g} times as strong as {covariate}: it would have to explain more than there is",
        level="note",
    ),
    "adjusted by clusters": Words(
        "rows are in clusters or have weights of a survey: the standard errors here are those of least squares, which "
        "treat rows as independent; bounds of the estimate do not depend on them"
    ),
    "least squares of the model": Words(
        "values are missing: the regression is that of the fitted model's covariance, and its standard errors are as "
        "if the {rows:,.0f} rows were complete"
    ),
}
