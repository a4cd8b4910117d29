"""Bootstrap: fit the model again to many drawn data sets, in one array program, and look how the answer varies."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Ends, Redraw
from halftrek.data.missing.redrawn import Redrawn
from halftrek.data.missing.stack import Stack
from halftrek.errors import InputError, QueryError
from halftrek.estimation import BatchFit, Fitted, fit_batch
from halftrek.estimation.many.batch import collected
from halftrek.estimation.missing.fiml import refit_incomplete
from halftrek.estimation.missing.together import Refits, refit_together
from halftrek.estimation.plan import Plan, make_plan
from halftrek.inference.checks.edges.scores import RowForms
from halftrek.inference.draws.redraws import draw_sets
from halftrek.inference.draws.resample import (
    Drawn,
    Progress,
    at_once,
    draw_model,
    draw_rows,
    leave_clusters_out,
    replicates_at_once,
)
from halftrek.inference.evidence.evidence import student_quantile
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.missing.incomplete import pattern_information
from halftrek.inference.information.robust import count_clusters, over_units
from halftrek.inference.standard_errors.factor import Factor
from halftrek.layer import Layer
from halftrek.models import CGLSCM
from halftrek.notes import Note, note
from halftrek.queries import Query
from halftrek.queries.evaluate import values_of
from halftrek.queries.gradients import linearize
from halftrek.queries.observed.values import observed

Key = tuple[Redraw, int, int]
Maker = Callable[[Fitted, Redraw, int, int, Progress | None], "Replicates"]  # how many, and from which seed

AT_ONCE = 500  # replicates that are fitted in one call, between signs of progress
HELD_MODELS = 24_000_000  # numbers in the coefficients of replicates up to which they are kept for the next question
KEPT = 4  # sets of replicates that are kept for each fit
MANY_FAILED = 0.1  # share of failed replicates from which on intervals are in doubt

_kept: WeakKeyDictionary[Fitted, dict[Key, Replicates]] = WeakKeyDictionary()
_keeping = Lock()


@dataclass(frozen=True, eq=False)
class Replicates:
    """The fits of the drawn data sets that reached a maximum, and how many did not."""

    batch: BatchFit
    drawn: int
    kind: Redraw
    layers: tuple[Layer, ...] = ()  # of each fit, where normal variables are behind columns

    def values_of(self, query: Query) -> tuple[Floats, Floats]:
        """Values and variances of an answer in each fit."""
        if not self.layers:
            return values_of(query, self.batch)
        found = [_observed(query, model, layer) for model, layer in zip(self.batch, self.layers, strict=True)]
        shapes = [one for one in found if one is not None]
        if not shapes:  # no data set has the values that are asked about: the question itself is refused
            observed(query, next(iter(self.batch)), self.layers[0])
        nothing = tuple(np.full(len(part), np.nan) for part in shapes[0])
        values, variances = zip(*(nothing if one is None else one for one in found), strict=True)
        return np.array(values), np.array(variances).reshape(len(found), -1)

    @property
    def failed(self) -> int:
        """Data sets without a fit."""
        return self.drawn - len(self.batch)

    @property
    def percentile(self) -> bool:
        """True if numbers vary over the replicates as the estimate does over studies."""
        return self.kind != "jackknife"

    def factor(self, values: Floats, centre: Floats, level: float) -> Factor:
        """How numbers vary together; ``values`` has a line for each replicate."""
        if self.percentile:
            spread = (values - values.mean(axis=0)).T / np.sqrt(len(values) - 1.0)
            return Factor.with_quantile(spread, NormalDist().inv_cdf(0.5 + level / 2.0))
        spread = (values - centre).T * np.sqrt((self.drawn - 1.0) / len(values))
        return Factor.with_quantile(spread, float(student_quantile(level, np.array(len(values) - 1.0))))


def _observed(query: Query, model: CGLSCM, layer: Layer) -> tuple[Floats, Floats] | None:
    """Values and variances; None if a category or the end of a ranked column that is asked about was not drawn."""
    try:
        found = observed(query, model, layer, slopes=False)
    except QueryError:
        return None
    values, variances = (np.array([s.value for s in part]) for part in (found.values, found.variances))
    return values, variances


@dataclass(frozen=True, eq=False)
class Spread:
    """Standard errors and intervals ``(k, 2)`` of several numbers."""

    errors: Floats
    intervals: Floats


def replicates_of(
    fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None = None
) -> Replicates:
    """Fits of data sets like the one of ``fit``; kept with it, so that a second question costs little."""
    key = (kind, 0, 0) if kind == "jackknife" else (kind, replicates, random_state)
    mine = _kept.setdefault(fit, {})
    found = mine.get(key)
    if found is None:
        found = _made(fit, kind, replicates, random_state, progress)
        with _keeping:  # what this thread has made stays in its hands, whatever others throw away
            mine[key] = found
            while len(mine) > KEPT:
                mine.pop(next(iter(mine)))
    return found


def _made(fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None) -> Replicates:
    refuse_other_methods(fit, kind)
    return kind_of_data(fit).replicates(fit, kind, replicates, random_state, progress)


def refuse_other_methods(fit: Fitted, kind: Redraw) -> None:
    """Replicates are fitted by maximum likelihood, so the fit has to be."""
    if fit.method not in ("em", "dwls"):
        raise InputError(f'interval="{kind}" fits the model again by method="em", and this fit is by {fit.method!r}')


def together(fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None) -> Replicates:
    """Replicates of complete moments, many at a time in one array program."""
    if kind == "jackknife":
        replicates = count_clusters(fit)
    return Replicates(collected(_fits(fit, kind, replicates, random_state, progress), replicates), replicates, kind)


def _fits(
    fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None
) -> Iterator[BatchFit]:
    """The fits that reach a maximum, some at a time."""
    plan = make_plan(fit.graph, fit.model.names, fit.options)
    several = any(task.several_starts for task in plan.tasks)
    step, done = min(AT_ONCE, at_once(len(fit.model.names))), 0
    for drawn in drawn_moments(fit, kind, replicates, random_state, progress):
        for first in range(0, len(drawn.n), step):
            rows = slice(first, first + step)
            found = fit_batch(
                fit.graph,
                cov=drawn.cov[rows],
                mean=drawn.mean[rows],
                n=drawn.n[rows],
                noise=dict(fit.options.noise),
                intercepts=dict(fit.options.intercepts),
                starts=1,
                start=fit.model.T if several else None,  # a maximum near that of all data is the one to follow
            )
            good = np.flatnonzero(found.converged)
            yield found if len(good) == len(found) else found.take(good)
            done += len(found)
            if progress is not None:
                progress(done, replicates)


def drawn_moments(
    fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None
) -> Iterator[Drawn]:
    """The data sets, so many at a time as memory has room for; progress is that of rows where one pass has them all."""
    if kind == "jackknife":
        yield leave_clusters_out(fit)
        return
    rng = np.random.default_rng(random_state)
    portion = replicates_at_once(fit) if kind == "bootstrap" else at_once(len(fit.model.names))
    for first in range(0, replicates, portion):
        some = min(portion, replicates - first)
        if kind == "bootstrap":
            yield draw_rows(fit, some, rng, progress if some == replicates else None)
        else:
            yield draw_model(fit, some, rng)


def incomplete_replicates(
    fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None
) -> Replicates:
    """Replicates of rows with missing values, from where the fit of all data ended; some at a time."""
    plan = make_plan(fit.graph, fit.model.names, fit.options)
    if kind == "jackknife":
        replicates = count_clusters(fit)
    parts, done = [], 0
    for stack in draw_sets(fit, kind, replicates, random_state):
        parts.append(_refitted(fit, plan, stack))
        done += len(stack)
        if progress is not None:
            progress(done, replicates)
    T, C, W, mu, loglik = (np.concatenate(part) for part in zip(*parts, strict=True))
    code = np.full(len(T), "converged", dtype="<U17")
    return Replicates(BatchFit(fit.graph, plan.names, plan.latents, T, C, W, mu, loglik, code), replicates, kind)


def _refitted(fit: Fitted, plan: Plan, stack: Stack | Redrawn) -> tuple[Floats, ...]:
    """T, C, W, mu and log-likelihoods of the replicates that have a maximum: together, and else one by one."""
    known = pattern_information(fit, "observed")
    found, vague = None, known.flat.shape[1] > 0
    if not vague:
        near = known.precise
        found = refit_together(near.space, plan, stack.less(known.centre), near.theta, near.matrix)
        if found is not None:
            found.mu[:] += known.centre - known.centre @ found.T
    p, q = len(plan.names), len(plan.latents)
    if found is None:
        b = len(stack)
        found = Refits(
            np.zeros((b, p, p)), np.zeros((b, q, p)), np.zeros((b, p, p)), np.zeros((b, p)), np.zeros(b),
            np.zeros(b, dtype=bool),
        )  # fmt: skip
    kept = found.arrived.copy()
    alone = np.flatnonzero(~found.arrived)
    for at, patterns in zip(alone, stack.take(alone).patterns(), strict=True):
        one = refit_incomplete(fit.graph, plan, patterns, fit.options, fit.model, None if vague else known.matrix)
        if one is not None:
            model, found.loglik[at] = one
            found.T[at], found.C[at], found.W[at], found.mu[at] = model.T, model.C, model.W, model.mu
            kept[at] = True
    return found.T[kept], found.C[kept], found.W[kept], found.mu[kept], found.loglik[kept]


def bootstrap_spread(
    fit: Fitted,
    query: Query,
    found: tuple[Floats, Floats],
    *,
    kind: Redraw,
    level: float,
    replicates: int,
    ends: Ends,
    random_state: int,
    progress: Progress | None = None,
) -> tuple[Spread, Spread, tuple[Note, ...]]:
    """How values and variances ``found`` vary over replicates, and what to know about it."""
    if _too_large(fit, kind, replicates):
        values, variances = _passing(fit, query, kind, replicates, random_state, progress)
        made = replicates
    else:
        drawn = replicates_of(fit, kind, replicates, random_state, progress)
        values, variances = drawn.values_of(query)
        made = drawn.drawn
    good = np.isfinite(values).all(axis=1) & np.isfinite(variances).all(axis=1)
    values, variances = values[good], variances[good]
    notes = about_failures(made - int(good.sum()), made, kind)
    if len(values) < 2:
        return _nothing(len(found[0])), _nothing(len(found[1])), notes
    both = np.concatenate([values, variances], axis=1)
    centre = np.concatenate(found)
    tails = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    shares = np.tile(tails, (len(centre), 1))
    if ends == "bca":
        shares = _bca_shares(both, centre, acceleration(fit, query, kind), tails)
    limits = np.array([_quantiles(column, share) for column, share in zip(both.T, shares, strict=True)])
    errors = both.std(axis=0, ddof=1)
    k = len(found[0])
    return Spread(errors[:k], limits[:k]), Spread(errors[k:], limits[k:]), notes


def _too_large(fit: Fitted, kind: Redraw, replicates: int) -> bool:
    """Whether so many models of a wide graph would fill the memory; then none is kept: each question draws again."""
    data = kind_of_data(fit)
    if kind == "jackknife" or not (data.by_district and data.moments_suffice):  # fitted one by one
        return False
    return replicates * len(fit.model.names) ** 2 > HELD_MODELS


def _passing(
    fit: Fitted, query: Query, kind: Redraw, replicates: int, random_state: int, progress: Progress | None
) -> tuple[Floats, Floats]:
    """Values and variances of the answer in the same replicates, of which only some are there at a time."""
    refuse_other_methods(fit, kind)
    parts = [values_of(query, part) for part in _fits(fit, kind, replicates, random_state, progress)]
    values, variances = (np.concatenate(part) for part in zip(*parts, strict=True))
    return values, variances


def acceleration(fit: Fitted, query: Query, kind: Redraw) -> Floats:
    """How fast the standard error changes with the number itself, from the skewness of what rows contribute."""
    layer = fit.moments.layer
    if layer is not None:
        second, third = over_units(fit, [_on_the_scale(fit, query, layer)], _powers, operator.add)
    else:
        found = linearize(query, fit.model)
        scores = kind_of_data(fit).row_scores(fit, (*found.values, *found.variances))
        second, third = np.zeros(len(scores)), np.zeros(len(scores))
        if kind == "parametric":
            for share, form in scores.parts(fit.implied.mean - fit.moments.mean):
                variance, skew = form.normal_moments(fit.implied.cov)
                second, third = second + fit.n * share * variance, third + fit.n * share * skew
        else:
            second, third = over_units(fit, [scores], _powers, operator.add)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(second == 0.0, 0.0, third / (6.0 * second**1.5))


def _on_the_scale(fit: Fitted, query: Query, layer: Layer) -> RowForms:
    """How a row moves the values and variances of an answer about ordered and ranked columns."""
    from halftrek.inference.information.behind.layer_forms import answer_form

    answer = observed(query, fit.model, layer)
    seen = (*answer.values, *answer.variances)
    return answer_form(layer, seen, kind_of_data(fit).row_scores(fit, tuple(one.slope for one in seen)))


def _powers(values: Floats, weights: Floats | None) -> Floats:
    """Sums of squares and of cubes."""
    times = np.ones(len(values)) if weights is None else weights
    return np.stack([times @ values**2, times @ values**3])


def _bca_shares(both: Floats, centre: Floats, skew: Floats, tails: Floats) -> Floats:
    """The shares of replicates below the ends, corrected for bias and for acceleration (Efron 1987)."""
    normal = NormalDist()
    least = 1.0 / (len(both) + 1.0)
    below = (both < centre).mean(axis=0) + 0.5 * (both == centre).mean(axis=0)
    bias = np.array([normal.inv_cdf(float(x)) for x in np.clip(below, least, 1.0 - least)])
    shifted = bias[:, None] + np.array([normal.inv_cdf(float(x)) for x in tails])
    points = bias[:, None] + shifted / (1.0 - skew[:, None] * shifted)
    return np.array([[normal.cdf(x) if np.isfinite(x) else np.nan for x in row] for row in points])


def _quantiles(column: Floats, shares: Floats) -> Floats:
    if np.isnan(shares).any():
        return np.full(2, np.nan)
    return np.asarray(np.quantile(column, shares))


def _nothing(k: int) -> Spread:
    return Spread(np.full(k, np.nan), np.full((k, 2), np.nan))


def about_failures(failed: int, drawn: int, kind: Redraw) -> tuple[Note, ...]:
    """What to know of replicates that could not be fitted."""
    if not failed:
        return ()
    code = "many replicates left out" if failed > MANY_FAILED * drawn else "replicates left out"
    return (note(code, failed=failed, drawn=drawn, kind=kind),)
