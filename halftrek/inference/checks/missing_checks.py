"""Checks of a model where values are missing, from the likelihood of the observed ones.

Observed moments are those of the unrestricted maximum. Their error has the inverse of their observed information; edges
that are not in the graph are directions of a wider model, at whose border the fitted one lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.choices import RobustTest
from halftrek.data import Moments, Patterns
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind, refit
from halftrek.estimation.missing.incomplete import Meeting, evaluate, meeting
from halftrek.estimation.space import Space
from halftrek.graphs import Graph
from halftrek.inference.checks.edges.scores import LEAST_LEFT, Edges, Postponed, Relaxation
from halftrek.inference.information.information import Kind
from halftrek.inference.information.missing.incomplete import (
    PatternInformation,
    RowScores,
    covariance_error,
    intercepts_moved,
    moment_information,
    moved_moments,
    pattern_information,
    saturated_information,
    scores_along,
    unit_scores,
)
from halftrek.inference.information.robust import added, mean_squares, over_units, products
from halftrek.queries.gradients import Gradient


def known_pairs(fit: Fitted) -> Flags:
    """Pairs whose covariance is determined without a model: some row has both; none where there is no maximum."""
    patterns = patterns_behind(fit)
    found = np.full((len(patterns.names), len(patterns.names)), patterns.unrestricted.converged)
    for v, w in patterns.apart:
        i, j = patterns.names.index(v), patterns.names.index(w)
        found[i, j] = found[j, i] = False
    return found


def residual_errors(fit: Fitted) -> Floats:
    """Standard errors of unrestricted less implied covariances; nan where the unrestricted ones do not exist."""
    return errors_by(patterns_behind(fit), _own_moves(fit))


def errors_by(patterns: Patterns, moved: Floats | None) -> Floats:
    """The same from how scores of the free moments move the differences."""
    errors = np.full((len(patterns.names), len(patterns.names)), np.nan)
    known = saturated_information(patterns)
    if known is None or moved is None:
        return errors
    spread = (moved @ known.matrix * moved).sum(axis=1)
    i, j, a = known.space.W_at.T
    with np.errstate(invalid="ignore"):
        errors[i, j] = errors[j, i] = np.sqrt(spread[a] / patterns.total)
    return errors


def residual_scores(fit: Fitted, i: Ints, j: Ints) -> RowScores:
    """What each row adds to unrestricted less implied covariances of these pairs."""
    moved, known = _own_moves(fit), saturated_information(patterns_behind(fit))
    assert moved is not None  # else no pair has an error
    assert known is not None
    return scores_along(fit, known.space, known.theta, moved[pairs_at(known, i, j)])


def pairs_at(known: PatternInformation, i: Ints, j: Ints) -> list[int]:
    """The places of these pairs among the free moments."""
    place = {(a, b): k for a, b, k in known.space.W_at} | {(b, a): k for a, b, k in known.space.W_at}
    return [place[pair] for pair in zip(i, j, strict=True)]


def _own_moves(fit: Fitted) -> Floats | None:
    return residual_moves(patterns_behind(fit), fit.implied, pattern_information(fit, "expected"), "observed")


def residual_moves(patterns: Patterns, implied: Moments, own: PatternInformation, kind: Kind) -> Floats | None:
    """How scores of the free moments move unrestricted less implied ones; None where these do not exist.

    With d the derivatives of the implied moments, A the information about moments at the implied ones and G the inverse
    of that at the unrestricted ones: ``(1 - d (d'Ad)^-1 d'A) G``, which gives the errors of lavaan. ``own`` is what
    data say of the model's parameters, ``kind`` which information A is.
    """
    known = saturated_information(patterns)
    if known is None or known.flat.shape[1]:
        return None
    A = moment_information(patterns, implied, kind).matrix
    moved = moved_moments(known.space, own.space, own.theta) @ own.determined
    try:
        Q = np.eye(len(A)) - moved @ np.linalg.solve(moved.T @ A @ moved, moved.T @ A)
        return np.asarray(Q @ np.linalg.inv(known.matrix))
    except np.linalg.LinAlgError:
        return None


def freed(fit: Fitted, kind: Kind | None, edges: Edges, gradients: Sequence[Gradient]) -> Relaxation:
    """Each edge freed alone: score and efficient information per row; nan where data do not determine such an edge.

    The expected information is that of lavaan, and right only if values are missing completely at random: where that
    depends on a cause an index may be half of what it should be. The observed one in the parameters is far off, even
    negative, where the model fits badly. So it is the observed one in mean and covariance, unless another is asked for,
    or it says that nothing is known of an edge of which the expected one knows.
    """
    known, size = pattern_information(fit, "expected"), len(edges)
    own, patterns = known.precise, patterns_behind(fit).less(known.centre)
    space = _wider(own.space, edges)
    theta = np.concatenate([known.theta, np.zeros(size)])
    point = evaluate(space, patterns, np.concatenate([own.theta, np.zeros(size)]))
    nothing = np.full(size, np.nan)
    if point is None:  # a variance of zero
        shift, empty = fit.model.mean - fit.moments.mean, np.zeros((size, 0, 0))
        none = RowScores(patterns_behind(fit), shift, fit.model.cov, empty[:, 0], empty)
        return Relaxation(edges, nothing, nothing, np.full((len(gradients), size), np.nan), none)
    asked: tuple[Literal["expected", "observed", "moments"], ...] = ("expected", kind or "moments")
    expected, *others = meeting(own.space, space, patterns, point, asked[: 1 if kind == "expected" else 2])
    full = expected.beside / patterns.total
    reply, left = _efficient(expected, own, patterns.total)
    clear = left > LEAST_LEFT * full
    for other in others:
        other_reply, other_left = _efficient(other, own, patterns.total)
        clearer = other_left > LEAST_LEFT * full
        reply, left = np.where(clearer, other_reply, reply), np.where(clearer, other_left, left)
    along = intercepts_moved(space, known.centre, np.concatenate([-reply, np.eye(size)]).T)
    slopes = np.array([along @ space.pull(g, theta) for g in gradients]).reshape(len(gradients), size)
    score = point.gradient[own.space.size :] / patterns.total
    rows = Postponed(lambda: scores_along(fit, space, theta, along), size, np.arange(len(fit.model.names)))
    return Relaxation(edges, np.where(clear, score, np.nan), np.where(clear, left, np.nan), slopes, rows)


def _efficient(found: Meeting, own: PatternInformation, n: float) -> tuple[Floats, Floats]:
    """How the fit's own parameters answer each of the others, and the information of a row that is left on those.

    nan if its own are at no maximum.
    """
    inner = own.determined.T @ found.own @ own.determined
    if len(inner) and np.linalg.eigvalsh(inner)[0] <= 0.0:
        return np.full(found.shared.shape, np.nan), np.full(len(found.beside), np.nan)
    reply = own.determined @ np.linalg.solve(inner, own.determined.T @ found.shared)
    return reply, np.asarray(found.beside - (found.shared * reply).sum(axis=0)) / n


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
    S = moments.cov[np.ix_(at, at)]  # the others, perhaps hundreds, have no share in it
    sd = np.sqrt(S.diagonal())
    R = S / (sd[:, None] * sd)  # what counts as dependent must not depend on units
    left = np.eye(2, len(at))
    if len(at) > 2:
        left[:, 2:] = -np.linalg.lstsq(R[2:, 2:], R[2:, :2], rcond=None)[0].T
    left /= np.sqrt(np.diag(left @ R @ left.T))[:, None]
    whole = np.zeros((2, len(moments.cov)))
    whole[:, at] = left / sd
    return float(left[0] @ R @ left[1]), whole[0], whole[1]


def partial_correlations(cov: Floats, at: Ints) -> Floats:
    """Of the first two variables of each line given the others of it: ``partial_residuals`` for many."""
    S = cov[at[:, :, None], at[:, None, :]]
    sd = np.sqrt(np.einsum("kii->ki", S))
    R = S / (sd[:, :, None] * sd[:, None, :])
    left = np.tile(np.eye(2, at.shape[1]), (len(at), 1, 1))
    if at.shape[1] > 2:
        rounding = np.finfo(float).eps * (at.shape[1] - 2)  # as in least squares
        solved = np.linalg.pinv(R[:, 2:, 2:], rcond=rounding, hermitian=True) @ R[:, 2:, :2]
        left[:, :, 2:] = -np.swapaxes(solved, 1, 2)
    spread = left @ R @ np.swapaxes(left, 1, 2)
    return np.asarray(spread[:, 0, 1] / np.sqrt(spread[:, 0, 0] * spread[:, 1, 1]))


def missing_scaling(fit: Fitted, test: RobustTest, df: int) -> float:
    """What the likelihood ratio is divided by in a scaled test, from the observed information of either model."""
    if test == "satorra-bentler":
        raise InputError('with missing values the scaled test is robust_test="yuan-bentler", or fit missing="drop"')
    names, apart = fit.model.names, patterns_behind(fit).apart
    pairs = [(u, v) for k, u in enumerate(names) for v in names[:k] if (v, u) not in apart]
    free = refit(fit, Graph([], pairs, {}, names))
    spread = [float(mean_squares(one, [unit_scores(one)])[0].sum()) for one in (free, fit)]
    return (spread[0] - spread[1]) / df


def complete_ratio(fit: Fitted) -> tuple[float, float] | None:
    """n times the discrepancy of complete rows, and its mean under the model; None where it does not exist.

    With missing values a likelihood ratio counts a misfit for less than complete rows would, so that an index from it
    looks better the more is missing. Instead the unrestricted and the fitted moments are put into the discrepancy of
    complete rows, ``F = log|Sigma| - log|S| + tr(S Sigma^-1) - p + d' Sigma^-1 d``, less what it has by chance: with W
    the information of a complete row about the moments and V the spread of their residuals, ``tr(W V) / n`` (Zhang and
    Savalei 2022).
    """
    patterns = patterns_behind(fit)
    known, moved = saturated_information(patterns), _own_moves(fit)
    if known is None or moved is None:
        return None
    model, seen = fit.model, patterns.unrestricted.moments
    K, gap = np.linalg.inv(model.cov), seen.mean - model.mean
    logs = np.linalg.slogdet(model.cov)[1] - np.linalg.slogdet(seen.cov)[1]
    discrepancy = float(logs + np.trace(seen.cov @ K) - len(gap) + gap @ K @ gap)
    residuals = scores_along(fit, known.space, known.theta, moved)
    spread, _ = over_units(fit, [residuals], products, added)
    dmean, dcov = known.space.jacobian(known.theta)
    return fit.n * discrepancy, float((_complete_information(K, dmean, dcov) * spread).sum()) / fit.n


def _complete_information(K: Floats, dmean: Floats, dcov: Floats) -> Floats:
    """The information of a complete row about parameters that move mean and covariance so."""
    size, white = len(dmean), np.linalg.cholesky(K)
    moved = (white.T @ dcov @ white).reshape(size, -1)
    return np.asarray(0.5 * moved @ moved.T + dmean @ K @ dmean.T)
