"""A fit with hidden variables as one of rows that all variables have a column in, the hidden ones without values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halftrek.data import Moments, Patterns
from halftrek.data.missing.likelihood import completed
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.estimation.hidden.opening import opened_data
from halftrek.inference.information.influence import Scores
from halftrek.inference.information.information import Kind
from halftrek.inference.information.missing.incomplete import RowScores
from halftrek.inference.kept import kept


@kept
def opened(fit: Fitted) -> Fitted:
    """The same fit with its hidden variables as ordinary ones that no row has."""
    model = fit.model
    patterns = opened_data(data_of(fit), fit.graph.hidden)
    moments = completed(patterns, np.array(model.mean), np.array(model.cov))
    return replace(fit, graph=fit.graph.opened, moments=moments, patterns=patterns, rows=None)


def seen_patterns(fit: Fitted) -> Patterns:
    """The data of the observed variables as patterns: one, where no value is missing."""
    data = data_of(fit)
    return data if isinstance(data, Patterns) else opened_data(data, ())


def usual(fit: Fitted, kind: Kind | None) -> Kind:
    """The information that is taken unless another is asked for: expected, but observed where values are missing."""
    return kind or ("observed" if isinstance(data_of(fit), Patterns) else "expected")


def seen_scores(fit: Fitted, scores: RowScores) -> Scores:
    """How rows of the observed variables move numbers; as forms where no row lacks a value, since all are alike."""
    p = len(fit.graph)
    shift = fit.implied.mean - fit.moments.mean
    found = RowScores(seen_patterns(fit), shift, scores.cov[:p, :p], scores.means[:, :p], scores.covs[:, :p, :p])
    return next(found.parts(np.zeros(p)))[1] if isinstance(data_of(fit), Moments) else found
