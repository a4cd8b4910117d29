"""Checks of a model where values are missing, from the likelihood of the observed ones.

Observed moments are those of the unrestricted maximum. Their error has the inverse of their observed information; edges
that are not in the graph are directions of a wider model, at whose border the fitted one lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from halftrek.data import Moments
from halftrek.estimation import Fit
from halftrek.estimation.data_kind import patterns_behind
from halftrek.estimation.missing.incomplete import evaluate, information
from halftrek.estimation.space import Space
from halftrek.inference.checks.scores import UNTOLD, Edges, Flags, Ints, Relaxation, Relaxer
from halftrek.inference.information.incomplete import PatternInformation, RowScores, pattern_information, scores_along
from halftrek.inference.information.information import Kind
from halftrek.inference.information.saturated import (
    covariance_error,
    moment_information,
    moved_moments,
    saturated_information,
)
from halftrek.models import Floats
from halftrek.queries.gradients import Gradient


def known_pairs(fit: Fit) -> Flags:
    """Pairs whose covariance is determined without a model: some row has both; none where there is no maximum."""
    patterns = patterns_behind(fit)
    found = np.full((len(patterns.names), len(patterns.names)), patterns.unrestricted.converged)
    for v, w in patterns.apart:
        i, j = patterns.names.index(v), patterns.names.index(w)
        found[i, j] = found[j, i] = False
    return found


def residual_errors(fit: Fit) -> Floats:
    """Standard errors of unrestricted less implied covariances; nan where the unrestricted ones do not exist."""
    patterns = patterns_behind(fit)
    errors = np.full((len(patterns.names), len(patterns.names)), np.nan)
    known, moved = saturated_information(patterns), residual_moves(fit)
    if known is None or moved is None:
        return errors
    spread = np.einsum("ab,bc,ac->a", moved, known.matrix, moved)
    i, j, a = known.space.W_at.T
    with np.errstate(invalid="ignore"):
        errors[i, j] = errors[j, i] = np.sqrt(spread[a] / patterns.total)
    return errors


def residual_scores(fit: Fit, i: Ints, j: Ints) -> RowScores:
    """What each row adds to unrestricted less implied covariances of these pairs."""
    moved, known = residual_moves(fit), saturated_information(patterns_behind(fit))
    assert moved is not None  # else no pair has an error
    assert known is not None
    place = {(a, b): k for a, b, k in known.space.W_at} | {(b, a): k for a, b, k in known.space.W_at}
    return scores_along(fit, known.space, known.theta, moved[[place[pair] for pair in zip(i, j, strict=True)]])


def residual_moves(fit: Fit) -> Floats | None:
    """How scores of the free moments move unrestricted less implied ones; None where these do not exist.

    With d the derivatives of the implied moments, A the information about moments at the implied ones and G the inverse
    of that at the unrestricted ones: ``(1 - d (d'Ad)^-1 d'A) G``, which gives the errors of lavaan.
    """
    patterns = patterns_behind(fit)
    known = saturated_information(patterns)
    if known is None or known.flat.shape[1]:
        return None
    model, own = fit.model, pattern_information(fit, "expected")
    implied = Moments(model.names, patterns.total, np.array(model.mean), np.array(model.cov))
    A = moment_information(patterns, implied, "observed").matrix
    told = moved_moments(known.space, own.space, own.theta) @ own.told
    try:
        Q = np.eye(len(A)) - told @ np.linalg.solve(told.T @ A @ told, told.T @ A)
        return np.asarray(Q @ np.linalg.inv(known.matrix))
    except np.linalg.LinAlgError:
        return None


def whole_relaxer(fit: Fit, kind: Kind | None) -> Relaxer:
    """What frees edges where values are missing."""
    return partial(_freed, fit, kind)


def _freed(fit: Fit, kind: Kind | None, edges: Edges, gradients: Sequence[Gradient]) -> Relaxation:
    """Each edge freed alone: score and efficient information per row; nan where data do not determine such an edge.

    The expected information is that of lavaan, and right only if values are missing completely at random: where that
    depends on a cause an index may be half of what it should be. The observed one in the parameters is far off, even
    negative, where the model fits badly. So it is the observed one in mean and covariance, unless another is asked for,
    or it says that nothing is known of an edge of which the expected one knows.
    """
    patterns = patterns_behind(fit)
    own, size = pattern_information(fit, "expected"), len(edges)
    space = _wider(own.space, edges)
    theta = np.concatenate([own.theta, np.zeros(size)])
    point = evaluate(space, patterns, theta)
    nothing = np.full(size, np.nan)
    if point is None:  # a variance of zero
        shift, empty = fit.model.mean - fit.moments.mean, np.zeros((size, 0, 0))
        rows = RowScores(patterns, shift, fit.model.cov, empty[:, 0], empty)
        return Relaxation(edges, nothing, nothing, np.full((len(gradients), size), np.nan), rows)
    expected = information(space, patterns, point, "expected") / patterns.total
    full = np.diag(expected)[own.space.size :]
    reply, left = _efficient(expected, own)
    told = left > UNTOLD * full
    if kind != "expected":
        asked = information(space, patterns, point, kind or "moments") / patterns.total
        other_reply, other = _efficient(asked, own)
        known = other > UNTOLD * full
        reply, left = np.where(known, other_reply, reply), np.where(known, other, left)
    along = np.concatenate([-reply, np.eye(size)]).T
    slopes = np.array([along @ space.pull(g, theta) for g in gradients]).reshape(len(gradients), size)
    score = point.gradient[own.space.size :] / patterns.total
    rows = scores_along(fit, space, theta, along)
    return Relaxation(edges, np.where(told, score, np.nan), np.where(told, left, np.nan), slopes, rows)


def _efficient(matrix: Floats, own: PatternInformation) -> tuple[Floats, Floats]:
    """How the fit's own parameters answer each of the last ones, and the information that is left on those.

    nan if its own are at no maximum.
    """
    size = own.space.size
    inner = own.told.T @ matrix[:size, :size] @ own.told
    if size and np.linalg.eigvalsh(inner)[0] <= 0.0:
        return np.full((size, len(matrix) - size), np.nan), np.full(len(matrix) - size, np.nan)
    cross = matrix[:size, size:]
    reply = own.told @ np.linalg.solve(inner, own.told.T @ cross)
    return reply, np.asarray(np.diag(matrix)[size:] - (cross * reply).sum(axis=0))


def _wider(space: Space, edges: Edges) -> Space:
    """The space with a parameter more for each edge."""
    lines = np.stack([edges.first, edges.second, space.size + np.arange(len(edges))], axis=1)
    return replace(
        space,
        size=space.size + len(edges),
        T_at=np.concatenate([space.T_at, lines[edges.arrow]]),
        W_at=np.concatenate([space.W_at, lines[~edges.arrow]]),
    )


def partial_correlation(known: PatternInformation, moments: Moments, at: list[int]) -> tuple[float, float]:
    """Of the first two given the others, and its standard error on Fisher's scale, ``atanh r``.

    The derivative of r is that of a correlation: ``u v'``, less ``r/2`` of what moves the variances.
    """
    r, u, v = partial_residuals(moments, at)
    slope = (np.outer(u, v) + np.outer(v, u)) / 2.0 - r / 2.0 * (np.outer(u, u) + np.outer(v, v))
    return r, covariance_error(known, slope / (1.0 - r * r), moments.n)


def partial_residuals(moments: Moments, at: list[int]) -> tuple[float, Floats, Floats]:
    """The partial correlation of the first two given the others; what is left of them is ``u'x`` and ``v'x``.

    Both have unit variance. Their covariance has the slope ``u v'``: how u and v themselves move does not matter, as
    they make what is left least.
    """
    given = at[2:]
    left = np.zeros((2, len(moments.names)))
    for line, i in zip(left, at[:2], strict=True):
        line[i] = 1.0
        if given:
            line[given] = -np.linalg.lstsq(moments.cov[np.ix_(given, given)], moments.cov[given, i], rcond=None)[0]
    spread = left @ moments.cov @ left.T
    u, v = left / np.sqrt(np.diag(spread))[:, None]
    return float(u @ moments.cov @ v), u, v
