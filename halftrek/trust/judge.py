"""Whether an interval may be trusted, and which one to give: every printed interval comes through here.

Where nobody asked for a kind of interval, the one that suits what informs the answer is taken, and the answer says
which and why. Where one was asked for, it is given, with a warning if it promises more than the data hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.choices import Interval
from halftrek.estimation import Fitted
from halftrek.identification import Verdict
from halftrek.inference import Estimate, How, estimate
from halftrek.inference.evidence.evidence import Support, support
from halftrek.inference.evidence.row_needs import left_out, needs_rows
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.robust import count_clusters, is_clustered
from halftrek.inference.intervals import kind_of
from halftrek.inference.intervals.base import ends_on
from halftrek.inference.kept import kept
from halftrek.models import Gaussian
from halftrek.notes import Note, note
from halftrek.queries import DirectEffect, PathEffect, Probability, Query, TotalEffect
from halftrek.queries.gradients import linearize, scale_of
from halftrek.queries.kinds.terms import Arithmetic, leaves
from halftrek.trust.acting import doubts_everywhere, weakness
from halftrek.trust.layered import few_events, judged_layer, layer_kind, refuse_for_layer
from halftrek.trust.misfit import misfit_notes, rejected
from halftrek.trust.strength import STRONG, Strength, weakest_step

SURE = (
    100.0  # first-stage F from which on an interval from a standard error is right (Lee, McCrary, Moreira, Porter 2022)
)
MANY = 100.0  # degrees of freedom from which on products of regressions are no cause for doubt
CLEAR = 4.0  # standard errors from zero
OUTCOMES = 3  # values of an answer that are looked at
DRAWN = 400  # data sets that are drawn where an answer has no slope
FEW_CLUSTERS = 40  # up to which one is left out at a time
WIDER = 1.1  # growth of an interval from which on it is worth a word


@dataclass(frozen=True, eq=False)
class Judged:
    """An estimate with the interval that suits it, and what to know of it."""

    estimate: Estimate
    notes: tuple[Note, ...]


@kept
def judge(fit: Fitted, query: Query, result: float | Gaussian, verdict: Verdict, how: How) -> Judged:
    """The uncertainty of an answer, by the kind of interval asked for or else the one that suits it."""
    if fit.moments.layer is not None:
        return Judged(*judged_layer(fit, query, result, verdict, how, FEW_CLUSTERS))
    rests = rests_of(fit, query)
    chosen = suited(fit, query, how, rests)
    found = _sure(fit, query, result, verdict, how, chosen, rests)
    if np.isnan(found.estimate.errors).any():
        return found
    return replace(found, notes=(*found.notes, *misfit_notes(fit, query, chosen)))


def judge_acting(fit: Fitted, query: Query, value: float, verdict: Verdict, how: How) -> Judged:
    """The same where categories act: the likelihood of the rows is known, and no moments stand for them."""
    from halftrek.inference.evidence.separated import rule_notes
    from halftrek.inference.standard_errors.acting import estimate_where_acting

    found = estimate_where_acting(fit, query, value, how)
    sharp = rule_notes(fit, query)
    lost = [note("no information")] if np.isnan(found.errors).any() else weakness(fit, query, verdict)
    if sharp and (found.errors == 0.0).any():  # no doubt of a rule without exceptions is more than rows tell
        none = np.full_like(found.intervals, np.nan)
        found = replace(found, errors=np.full_like(found.errors, np.nan), intervals=none)
    return Judged(found, (*doubts_everywhere(fit, FEW_CLUSTERS), *sharp, *lost, *few_events(fit, query)))


def judge_line(fit: Fitted, query: Query, result: float | Gaussian, verdict: Verdict, how: How) -> Judged:
    """The same for a line of a table, without what else there is to say of a wrong graph."""
    if fit.moments.layer is not None:
        return Judged(*judged_layer(fit, query, result, verdict, how, FEW_CLUSTERS))
    rests = rests_of(fit, query)
    return _sure(fit, query, result, verdict, how, suited(fit, query, how, rests), rests)


def _sure(
    fit: Fitted, query: Query, result: float | Gaussian, verdict: Verdict, how: How, chosen: How, rests: Support
) -> Judged:
    """An estimate by the chosen kind of interval, or by the likelihood where that is the better guide."""
    found = estimate(fit, query, result, chosen)
    if np.isnan(found.errors).any():
        return _without_errors(fit, query, result, found, how)
    doubt = doubt_of(fit, query, result, verdict, chosen, rests, choosing=how.interval is None)
    if how.interval is not None:
        doubts = [] if doubt is None else [doubt]
        return Judged(found, (*found.notes, *_asked_for(fit, query, rests, how), *doubts))
    if doubt is not None and chosen.interval == "sandwich" and doubt.code in ("no parabola", "moderate strength"):
        doubt = None  # the likelihood of a model that the data reject is no better guide
    if doubt is not None:
        better = estimate(fit, query, result, replace(chosen, interval="profile"))
        if not np.isnan(better.intervals).any():
            code = "profile preferred" if doubt.code == "moderate strength" else "profile chosen"
            return Judged(better, (note(code, reason=doubt.why, doubt=doubt.code), *better.notes))
        return Judged(found, (*found.notes, doubt))
    return Judged(found, (*_said(fit, query, rests, chosen), *found.notes))


def _without_errors(fit: Fitted, query: Query, result: float | Gaussian, found: Estimate, how: How) -> Judged:
    """Where the information is singular at the estimates the likelihood still says which values the data exclude."""
    nothing = note("no information")
    if how.interval is None:
        better = estimate(fit, query, result, replace(how, interval="profile"))
        if not np.isnan(better.intervals).any():
            return Judged(better, (note("profile chosen", reason=nothing.why, doubt=nothing.code), *better.notes))
    return Judged(found, (nothing, *found.notes))


def rests_of(fit: Fitted, query: Query) -> Support:
    """What the values of an answer rest on."""
    return support(fit, linearize(query, fit.model).values)


def suited(fit: Fitted, query: Query, how: How, rests: Support) -> How:
    """The options with a kind of interval that suits the rows and the question; one that was asked for stays."""
    if how.interval is not None:
        return how
    kind = rows_kind(fit, how, query)
    if kind == "delta" and how.information is None:
        if has_kinks(query):
            return replace(how, interval="parametric", replicates=min(how.replicates, DRAWN))
        if not rests.plenty(how.level).all():
            kind = "t"
    return replace(how, interval=kind)


def rows_kind(fit: Fitted, how: How, query: Query | None = None) -> Interval:
    """The kind of interval that suits a fit's rows: by cluster, by their weights, for a wrong model, or the usual.

    Without a query: for a table of the whole fit.
    """
    if fit.moments.layer is not None:
        return layer_kind(fit, FEW_CLUSTERS)
    if is_clustered(fit):
        few = fit.rows is not None and count_clusters(fit) <= FEW_CLUSTERS
        return "jackknife" if few else "robust"
    if needs_rows(fit, query):
        return "robust"
    if how.information is None and rejected(fit, query) is not None:
        return "sandwich" if kind_of_data(fit).moments_suffice else "robust" if fit.rows is not None else "delta"
    return "delta"


def table_how(fit: Fitted, how: How) -> How:
    """The same for a table, of which each line takes its own: None stays None where the rows are as they should be."""
    refuse_for_layer(fit, how)
    if how.interval is not None:
        return how
    kind: Interval = rows_kind(fit, how) if fit.acting is None else "influence"
    return how if kind == "delta" else replace(how, interval=kind)


def has_kinks(query: Query) -> bool:
    """True if the answer is no smooth function of the parameters: an event in one world, given one in another.

    Where an effect has one sign such a probability is 0 whatever its size, so that it has no slope there.
    """
    terms = leaves(query) if isinstance(query, Arithmetic) else (query,)
    return any(isinstance(t, Probability) and bool(t.case.events) for t in terms)


def _said(fit: Fitted, query: Query, rests: Support, how: How) -> list[Note]:
    """Which interval it is, where it is not the usual one."""
    if not kind_of(how).counts_rows(fit) and (lost := left_out(fit, query)):
        return list(lost)
    match how.interval:
        case "t":
            return few_rows(rests, how.level)
        case "jackknife":
            return [note("few clusters", clusters=count_clusters(fit))]
        case "parametric":
            return [note("drawn from the model")]
        case "sandwich":
            return [note("sandwich chosen")]
        case _:
            return []


def few_rows(rests: Support, level: float) -> list[Note]:
    """What to say of an interval for few rows; nothing where it is hardly wider than the usual one."""
    if float(rests.stretch(level).max()) < WIDER:
        return []
    rows, parameters = rests.narrowest()
    at = int(np.argmin(rows - parameters))
    left = float(rows[at] - parameters[at])
    if left < 1.0:
        return [note("no rows left", rows=float(rows[at]), parameters=float(parameters[at]))]
    return [note("few rows", rows=float(rows[at]), parameters=float(parameters[at]), free=left)]


def _asked_for(fit: Fitted, query: Query, rests: Support, how: How) -> list[Note]:
    """What speaks against the kind of interval that was asked for."""
    kind, notes = kind_of(how), []
    if is_clustered(fit) and not kind.counts_clusters:
        notes.append(note("clusters not counted"))
    if not kind.counts_rows(fit):
        notes += left_out(fit, query)
    if kind.name in ("delta", "bootstrap", "parametric") and float(rests.stretch(how.level).max()) >= WIDER:
        rows, parameters = rests.narrowest()
        at = int(np.argmin(rows - parameters))
        notes.append(note("too few rows", rows=float(rows[at]), parameters=float(parameters[at])))
    if kind.name in ("robust", "bootstrap") and is_clustered(fit) and count_clusters(fit) <= FEW_CLUSTERS:
        notes.append(note("too few clusters", clusters=count_clusters(fit)))
    return notes


def doubt_of(
    fit: Fitted,
    query: Query,
    result: float | Gaussian,
    verdict: Verdict,
    how: How,
    rests: Support,
    *,
    choosing: bool = False,
) -> Note | None:
    """What speaks against any interval from a standard error; nothing speaks against one from the likelihood.

    ``choosing`` between the two, strength below ``SURE`` is enough: samples in which an instrument looks better than it
    is are those in which the standard error is too small, so that a look at their likelihood would not tell.
    """
    if has_kinks(query):
        return None if how.interval in ("parametric", "bootstrap") else note("kinked")
    if how.interval == "profile":
        return None
    errors = np.sqrt(rests.variance.sum(axis=1))
    if not len(errors):
        return None
    weakest = weakest_step(fit, query, verdict, float(errors[0]))
    if weakest is not None and weakest.F < STRONG:
        return weakest.note
    if np.isnan(errors).any():  # data sets drawn again may have a spread all the same
        return None
    if choosing and weakest is not None and weakest.F < SURE:
        return note("moderate strength", F=weakest.F, sure=SURE)
    if fit.moments.layer is not None:  # rows have no likelihood that could bend
        return None
    values = result.mean if isinstance(result, Gaussian) else np.array([result])
    if _plain(query, verdict, weakest, float(values[0]), float(errors[0]), rests):
        return None
    from halftrek.inference.profiles.weak import curvature

    intervals = ends_on(scale_of(query), values, how.quantile * errors)
    for k, ends in enumerate(intervals[:OUTCOMES]):
        found = curvature(fit, query, k, ends, how.quantile**2)
        if found is not None and found.doubtful:
            return found.note
    return None


def _plain(
    query: Query, verdict: Verdict, weakest: Strength | None, value: float, error: float, rests: Support
) -> bool:
    """True if the formula alone shows that a look at the likelihood would find nothing.

    So do strong instruments, a single regression, and products of regressions that are clearly not zero: the ratio of a
    product to its standard error is below those of its factors.
    """
    rows, parameters = rests.narrowest()
    free = float((rows - parameters).min())
    if verdict.recipe is None:  # with no formula to look at: plain if the arrows alone identify it
        return verdict.scope == "nonparametric" and free >= MANY
    if weakest is not None:
        return weakest.F >= SURE
    if len(verdict.recipe.steps) == 1:
        return True
    effect = isinstance(query, TotalEffect | DirectEffect | PathEffect)
    return free >= MANY and (not effect or abs(value) > CLEAR * error)
