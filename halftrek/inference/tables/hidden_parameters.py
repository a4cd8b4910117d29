"""Every parameter of a model with hidden variables: loadings, regressions, covariances, on the chosen scale."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.estimation.space import Space
from halftrek.inference.evidence.evidence import Support
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.behind.opened import opened, seen_scores, usual
from halftrek.inference.information.influence import whole_forms
from halftrek.inference.information.information import Kind
from halftrek.inference.information.missing.incomplete import (
    PatternInformation,
    parameter_errors,
    parameter_scores,
    pattern_information,
)
from halftrek.inference.information.robust import mean_squares, rows_needed
from halftrek.inference.intervals import kind_of
from halftrek.inference.intervals.robust import row_quantiles
from halftrek.inference.tables.parameter import Reach
from halftrek.inference.tables.parameters import ParameterRows, rows_in_space, signs_of


def hidden_parameters(fit: Fitted, how: How) -> ParameterRows:
    """Rows of all parameters but the intercepts, and what these need."""
    kind, whole = kind_of(how), opened(fit)
    known = pattern_information(whole, usual(fit, how.information))
    space = known.space
    rests = _support(fit, _errors(whole, known, usual(fit, how.information)))
    quantile, lift = np.full(space.size, how.quantile), np.ones(space.size)
    if kind.needs_rows or kind.for_misfit:
        errors = _by_rows(fit, from_rows=kind.needs_rows)
        quantile = row_quantiles(fit, rests, how)
    else:
        errors = np.sqrt(rests.variance[:, 0])
        few = ~rests.plenty(how.level) if how.interval is None else np.full(space.size, how.interval == "t")
        quantile = np.where(few, rests.quantiles(how.level), quantile)
        lift = np.where(few, rests.growth() ** 2, lift)
        errors = errors * np.sqrt(lift)
    reach = [Reach(float(q), how.level, float(x)) for q, x in zip(quantile, lift, strict=True)]
    return rows_by_errors(fit, space, errors, reach, Reach(how.quantile, how.level))


def rows_by_errors(fit: Fitted, space: Space, errors: Floats, reach: list[Reach], usual_reach: Reach) -> ParameterRows:
    """The same from standard errors of the parameters of its space."""
    rows, names = rows_in_space(opened(fit), space, errors, reach, signs_of(fit)), fit.model.names
    intercepts, reaches = np.zeros(len(names)), [usual_reach] * len(names)
    for j, _, a in space.mu_at:
        intercepts[j], reaches[j] = errors[a], reach[a]
    return rows, intercepts, reaches, False


def _errors(whole: Fitted, known: PatternInformation, kind: Kind) -> Floats:
    """Standard errors of the parameters, all from one inverse where data determine each of them."""
    if known.flat.shape[1]:
        return parameter_errors(whole, kind)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(known.own_spreads / whole.n))


def _support(fit: Fitted, errors: Floats) -> Support:
    """What each parameter rests on."""
    data = kind_of_data(fit)
    variance = errors[:, None] ** 2
    return Support(variance, np.full(variance.shape, data.rows(fit)), data.support(fit, (), None).parameters)


def _by_rows(fit: Fitted, *, from_rows: bool) -> Floats:
    """Errors from one pass over the rows, or from moments alone, whatever the model says of them."""
    scores = seen_scores(fit, parameter_scores(opened(fit)))
    if from_rows or not kind_of_data(fit).moments_suffice:
        rows_needed(fit, 'interval="robust"')
        return np.asarray(np.sqrt(mean_squares(fit, [scores])[0] / fit.n))
    return np.asarray(np.sqrt(whole_forms(scores).normal_variances(fit.moments.cov) / fit.n))
