"""From what each row adds to cuts and moments: for columns with normal variables behind them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.inference.evidence.evidence import support
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.behind.layer_forms import LayerForms, answer_form
from halftrek.inference.information.robust import mean_squares, rows_needed
from halftrek.inference.intervals.base import Estimate, Spread, normal_estimate
from halftrek.inference.intervals.robust import Robust, row_quantiles
from halftrek.inference.standard_errors.factor import Factor, Pieces
from halftrek.layer import Layer
from halftrek.queries import Query
from halftrek.queries.gradients import Gradient
from halftrek.queries.observed.values import observed


class Influence(Robust):
    """How each row moves an answer through the cuts, the correlations and the fit, squared."""

    name = "influence"
    words = "influence: how each row moves cuts, correlations and the answer"
    rests_on = (
        "Intervals are from how each row moves the answer, through the cuts and correlations behind ordered and ranked "
        "columns; they need normal variables behind these, and no likelihood."
    )

    def spread(self, fit: Fitted, gradients: Sequence[Gradient], how: How) -> Spread:
        layer_needed(fit)
        return super().spread(fit, gradients, how)

    def factor(self, fit: Fitted, slopes: Pieces, how: How) -> Factor:
        layer_needed(fit)
        return super().factor(fit, slopes, how)

    def estimate(self, fit: Fitted, query: Query, values: Floats, variances: Floats, how: How) -> Estimate:
        layer = layer_needed(fit)
        rows_needed(fit, 'interval="influence"', "fit again")
        found = observed(query, fit.model, layer)
        seen = (*found.values, *found.variances)
        gradients = tuple(one.slope for one in seen)
        (squares,) = mean_squares(fit, [answer_form(layer, seen, kind_of_data(fit).row_scores(fit, gradients))])
        errors = np.sqrt(squares / fit.n)
        spread = Spread(errors, errors * row_quantiles(fit, support(fit, gradients), how))
        return normal_estimate(values, variances, spread, how, scale=found.scale, clustered=self.counts(fit))


def layer_needed(fit: Fitted) -> Layer:
    """The layer of a fit, or an error that says what does without."""
    layer = fit.moments.layer
    if layer is None:
        raise InputError(
            'interval="influence" is for fits with kinds of columns, and this fit has none; ask for interval="robust"'
        )
    return layer


def cut_errors(fit: Fitted) -> dict[str, tuple[Floats, Floats]]:
    """The cuts of each column in categories, and their standard errors."""
    layer = layer_needed(fit)
    found = {}
    for v, margin in zip(layer.names, layer.margins, strict=True):
        if margin.cut:
            k, p = len(margin.cuts), len(layer.names)
            forms = LayerForms(layer, np.zeros((k, p)), np.zeros((k, p, p)), {v: np.eye(k)})
            found[v] = margin.cuts, np.sqrt(mean_squares(fit, [forms])[0] / fit.n)
    return found
