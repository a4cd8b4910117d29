"""Checks of a model with hidden variables: moments of the observed ones, parameters of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.bottom.choices import RobustTest
from halftrek.data import Moments
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of, refit
from halftrek.graphs import Graph
from halftrek.inference.checks.edges.scores import Edges, Postponed, Relaxation, Relaxer
from halftrek.inference.checks.missing_checks import errors_by, freed, pairs_at, residual_moves
from halftrek.inference.checks.mixture import Squares
from halftrek.inference.information.behind.opened import opened, seen_patterns, seen_scores
from halftrek.inference.information.information import Kind
from halftrek.inference.information.missing.incomplete import (
    RowScores,
    pattern_information,
    saturated_information,
    unit_scores,
)
from halftrek.inference.information.robust import mean_squares
from halftrek.queries.gradients import Gradient


def relaxer(fit: Fitted, kind: Kind | None) -> Relaxer:
    """What frees edges: loadings, regressions and covariances of hidden variables too."""
    complete = isinstance(data_of(fit), Moments)
    return partial(_freed, fit, "expected" if kind is None and complete else kind)


def _freed(fit: Fitted, kind: Kind | None, edges: Edges, gradients: Sequence[Gradient]) -> Relaxation:
    found = freed(opened(fit), kind, edges, gradients)

    def rows() -> RowScores:
        inner = found.rows.forms if isinstance(found.rows, Postponed) else found.rows
        assert isinstance(inner, RowScores)
        return inner

    seen = Postponed(lambda: seen_scores(fit, rows()), len(edges), np.arange(len(fit.graph)))
    return replace(found, rows=seen)


def _moves(fit: Fitted) -> Floats | None:
    """How scores of the free moments move unrestricted less implied ones."""
    own = pattern_information(opened(fit), "expected")
    kind: Kind = "expected" if isinstance(data_of(fit), Moments) else "observed"
    return residual_moves(seen_patterns(fit), fit.implied, own, kind)


def residual_errors(fit: Fitted) -> Floats:
    """Standard errors of unrestricted less implied covariances; nan where they do not exist."""
    return errors_by(seen_patterns(fit), _moves(fit))


def residual_scores(fit: Fitted, i: Ints, j: Ints) -> RowScores:
    """What each row adds to unrestricted less implied covariances of these pairs."""
    patterns = seen_patterns(fit)
    known, moved = saturated_information(patterns), _moves(fit)
    assert known is not None  # else no pair has an error
    assert moved is not None
    mean, cov = known.space.moments(known.theta)
    moves = known.space.moved(known.theta, moved[pairs_at(known, i, j)])
    return RowScores(patterns, mean - fit.moments.mean, cov, *moves)


def scaling(fit: Fitted, test: RobustTest, df: int) -> float:
    """What the likelihood ratio is divided by in a scaled test, whatever its sign.

    Satorra and Bentler: the spread of moments that the model cannot follow, in units of their information at the model.
    Yuan and Bentler: spreads of scores in units of the observed information of either model.
    """
    if test == "satorra-bentler" and isinstance(data_of(fit), Moments):
        coordinates = Squares(np.linalg.inv(np.linalg.cholesky(fit.implied.cov)), np.zeros(len(fit.graph)))
        followed = np.linalg.qr(_independent(coordinates.directions(fit)))[0]
        total = mean_squares(fit, [coordinates])[0].sum()
        return float((total - mean_squares(fit, [_Turned(coordinates, followed)])[0].sum()) / df)
    if isinstance(data_of(fit), Moments):
        white = np.linalg.inv(np.linalg.cholesky(fit.moments.cov))
        free = float(mean_squares(fit, [Squares(white, np.zeros(len(white)))])[0].sum())
    else:
        names = fit.graph.observed
        pairs = [(u, v) for k, u in enumerate(names) for v in names[:k]]
        saturated = refit(fit, Graph([], pairs, {}, names))
        free = float(mean_squares(saturated, [unit_scores(saturated)])[0].sum())
    return (free - float(mean_squares(fit, [seen_scores(fit, unit_scores(opened(fit)))])[0].sum())) / df


def _independent(columns: Floats) -> Floats:
    """Directions that span the same, without those that others make up."""
    size = np.linalg.norm(columns, axis=0)
    left, values, _ = np.linalg.svd(columns / np.where(size > 0.0, size, 1.0), full_matrices=False)
    return np.asarray(left[:, values > 1e-9 * values[0]])


class _Turned:
    """Coordinates of a row along some directions of them."""

    def __init__(self, inner: Squares, along: Floats) -> None:
        self._inner, self._along = inner, along

    def __len__(self) -> int:
        return int(self._along.shape[1])

    @property
    def at(self) -> Ints:
        """The columns that matter."""
        return self._inner.at

    def values(self, centred: Floats, cov: Floats) -> Floats:
        """One column for each direction."""
        return np.asarray(self._inner.values(centred, cov) @ self._along)
