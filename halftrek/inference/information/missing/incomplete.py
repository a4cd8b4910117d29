"""How sure, with missing values: information of the observed values about all parameters at once, scores of rows.

Districts are no longer separate where values are missing, so the information is that of all parameters together.
The rule for what data do not determine is the same: an answer whose gradient needs a direction without information has
no interval, and others keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data import Moments, Patterns
from halftrek.data.missing.gather import stacked
from halftrek.data.missing.holes import precisions
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind
from halftrek.estimation.given.options import Options
from halftrek.estimation.missing.incomplete import evaluate, informations
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Graph
from halftrek.inference.information.influence import Forms
from halftrek.inference.information.information import FLAT, LEAK, Kind
from halftrek.inference.kept import kept
from halftrek.queries.gradients import Gradient

STACK = 500_000  # numbers in the matrices of patterns that are held at a time
MANY_ROWS = 8  # to a pattern, from which on each pattern is worked on alone
LARGE = 2500  # means and covariances whose information would be too much work

_kept: WeakKeyDictionary[Patterns, PatternInformation] = WeakKeyDictionary()

FAR_OFF = 1e3  # standard deviations from zero beyond which means are parameters in place of intercepts


@dataclass(frozen=True, eq=False)
class PatternInformation:
    """Information per row about the free parameters of a whole model.

    ``determined`` are the directions of which the observed values say something, ``flat`` the others (both as columns);
    they are read from the expected information, which along a curve of equal likelihood is zero exactly. ``shifted``
    is the same of values about their means, where these are far from zero: it has digits that the matrix has not.
    """

    space: Space
    theta: Floats
    matrix: Floats
    determined: Floats
    flat: Floats
    shifted: PatternInformation | None = None

    def pull(self, gradient: Gradient) -> Floats:
        """A gradient in coefficients, error covariances and means as one in the parameters."""
        return self.space.pull(gradient, self.theta)

    def direction(self, pulled: Floats) -> Floats:
        """``I^+ g``; nan if g needs what data do not determine."""
        if not pulled.any():
            return np.zeros_like(pulled)
        along, lost = self.determined.T @ pulled, self.flat.T @ pulled
        largest = max(np.abs(along).max(initial=0.0), np.abs(lost).max(initial=0.0))
        if self._root is None or np.abs(lost).max(initial=0.0) > LEAK * largest:
            return np.full_like(pulled, np.nan)
        from scipy.linalg import cho_solve

        return np.asarray(self.determined @ cho_solve((self._root, True), along))

    def spreads(self, pulled: Floats) -> Floats:
        """The same as ``spread`` for several gradients, one a line, at once."""
        from scipy.linalg import solve_triangular

        if self._root is None:
            return np.where(pulled.any(axis=1), np.nan, 0.0)
        along, lost = pulled @ self.determined, np.abs(pulled @ self.flat).max(axis=1, initial=0.0)
        largest = np.maximum(np.abs(along).max(axis=1, initial=0.0), lost)
        half = solve_triangular(self._root, along.T, lower=True, check_finite=False)
        return np.where(lost > LEAK * largest, np.nan, (half**2).sum(axis=0))

    def spread(self, pulled: Floats) -> float:
        """Asymptotic variance, times the number of rows, of a number with this gradient in the parameters."""
        return float(pulled @ self.direction(pulled))

    @property
    def centre(self) -> Floats:
        """What values are taken less of where it has most digits; zero if they stay as they are."""
        mean = self.space.moments(self.theta)[0]
        return np.zeros_like(mean) if self.shifted is None else mean

    @property
    def precise(self) -> PatternInformation:
        """The same where it has most digits; gradients in coefficients and error covariances do not change."""
        return self if self.shifted is None else self.shifted

    @cached_property
    def inner(self) -> Floats:
        """The information along the determined directions."""
        if self.shifted is not None:
            return self.shifted.inner
        scale = np.diag(self.determined)
        if self.flat.shape[1] == 0 and np.count_nonzero(self.determined) == len(scale):
            return np.asarray(self.matrix * scale * scale[:, None])
        return np.asarray(self.determined.T @ self.matrix @ self.determined)

    @cached_property
    def _root(self) -> Floats | None:
        """Root of the information along the determined directions; None if they are at no maximum."""
        try:
            return np.linalg.cholesky(self.inner)
        except np.linalg.LinAlgError:
            return None

    @property
    def own_spreads(self) -> Floats:
        """The same for each parameter, where data determine all of them; nan where they are at no maximum."""
        from scipy.linalg.lapack import dpotri

        scale = np.diag(self.determined)
        if self._root is None or np.count_nonzero(self.determined) != len(scale):
            return self.spreads(np.eye(len(self.determined)))
        return np.asarray(np.diag(dpotri(self._root, lower=True)[0]) * scale**2)

    @property
    def rank(self) -> int:
        """Number of parameters that data determine."""
        return int(self.determined.shape[1])


@kept
def pattern_information(fit: Fitted, kind: Kind = "observed") -> PatternInformation:
    """The information at the fitted parameters, given which values were observed."""
    space = make_space(fit.graph, fit.model.names, fit.options)
    return information_at(space, patterns_behind(fit), space.vector(fit.model), kind)


def information_at(space: Space, patterns: Patterns, theta: Floats, kind: Kind) -> PatternInformation:
    """The information at a point of any model's parameters."""
    mean, cov = space.moments(theta)
    if (np.abs(mean) > FAR_OFF * np.sqrt(np.maximum(np.diag(cov), 0.0))).any() and _free_means(space):
        return _about_means(space, patterns, theta, mean, kind)
    return _as_written(space, patterns, theta, kind)


def _free_means(space: Space) -> bool:
    """Whether every variable has an intercept of its own, so that any means are possible."""
    own = len(np.unique(space.mu_at[:, 0])) == len(np.unique(space.mu_at[:, 2])) == len(space.names)
    return own and not space.elsewhere


def _about_means(space: Space, patterns: Patterns, theta: Floats, mean: Floats, kind: Kind) -> PatternInformation:
    """The same where means are far from zero: intercepts and coefficients can hardly be told apart there.

    Of values about the mean they can. What intercepts are then follows: ``mu = mu' + mean (1 - T)``, and so do the
    directions in which the likelihood is known.
    """
    near = theta.copy()
    near[space.mu_at[:, 2]] = 0.0
    shifted = replace(patterns, mean=np.where(patterns.observed, patterns.mean - mean, 0.0))
    found = _as_written(space, shifted, near, kind)
    there = intercepts_moved(space, mean, np.eye(space.size)).T
    back = 2.0 * np.eye(space.size) - there
    return PatternInformation(
        space, theta, back.T @ found.matrix @ back, there @ found.determined, there @ found.flat, found
    )


def intercepts_moved(space: Space, mean: Floats, along: Floats) -> Floats:
    """Directions, one a line, in the parameters of values about the mean as those of the values themselves.

    Intercepts are ``mu = mu' + mean (1 - T)``.
    """
    if not mean.any():
        return along
    there = along.copy()
    intercept = np.zeros(len(space.names), dtype=np.intp)
    intercept[space.mu_at[:, 0]] = space.mu_at[:, 2]
    u, v, a = space.T_at.T
    np.subtract.at(there.T, intercept[v], mean[u, None] * along.T[a])
    return there


def _as_written(space: Space, patterns: Patterns, theta: Floats, kind: Kind) -> PatternInformation:
    point = evaluate(space, patterns, theta)
    if point is None:  # a variance of zero
        nothing = np.zeros((space.size, 0))
        return PatternInformation(space, theta, np.zeros((space.size, space.size)), nothing, np.eye(space.size))
    if kind == "observed" and space.linear:
        # a direction of which no row says anything has no information of either kind: the observed one shows it, too
        (matrix,) = (one / patterns.total for one in informations(space, patterns, point, ("observed",)))
        scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
        if _all_determined(matrix / np.outer(scale, scale)):
            return PatternInformation(space, theta, matrix, np.diag(1.0 / scale), np.zeros((len(scale), 0)))
    kinds: tuple[Kind, ...] = ("expected",) if kind == "expected" else ("expected", "observed")
    found = informations(space, patterns, point, kinds)
    expected, matrix = found[0] / patterns.total, found[-1] / patterns.total
    return PatternInformation(space, theta, matrix, *directions(expected))


def directions(expected: Floats) -> tuple[Floats, Floats]:
    """Directions of the parameters of which data say something, and the others, both as columns."""
    scale = np.sqrt(np.maximum(np.diag(expected), 1e-300))
    whole = expected / np.outer(scale, scale)
    if _all_determined(whole):
        return np.diag(1.0 / scale), np.zeros((len(scale), 0))
    values, vectors = np.linalg.eigh(whole)
    informative = values > FLAT * max(float(values[-1]), 1e-300) if len(values) else values > 0.0
    return vectors[:, informative] / scale[:, None], vectors[:, ~informative] / scale[:, None]


def lost(expected: Floats, lines: Floats) -> Flags:
    """Which numbers with these gradients, one a line, need a direction of which data say nothing."""
    along, away = (np.abs(lines @ part).max(axis=1, initial=0.0) for part in directions(expected))
    return np.asarray(away > LEAK * np.maximum(along, away))


def _all_determined(matrix: Floats) -> bool:
    """True if no eigenvalue can be so small that its direction counts as without information; cheaper than all."""
    largest = float(np.abs(matrix).sum(axis=1).max(initial=0.0))  # no eigenvalue is larger
    try:
        np.linalg.cholesky(matrix - FLAT * largest * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class RowScores:
    """How each row, times n, moves some numbers: ``g' I^-1`` times the derivative of the row's log-likelihood.

    ``means`` and ``covs`` are how mean and covariance of the model move along ``I^-1 g``. ``shift`` and ``cov`` are its
    mean, less that of the expected complete moments, and its covariance; ``patterns`` the rows that it is about.
    """

    patterns: Patterns
    shift: Floats
    cov: Floats
    means: Floats
    covs: Floats

    def __len__(self) -> int:
        return len(self.means)

    @property
    def at(self) -> Ints:
        """The columns that matter: any."""
        return np.arange(len(self.shift))

    def values(self, centred: Floats, cov: Floats) -> Floats:  # noqa: ARG002 (as all of its kind are called)
        """One column for each number; rows less the fit's mean, nan for a missing value. No value moves nothing."""
        found = np.zeros((len(centred), len(self)))
        observed = ~np.isnan(centred)
        apart = np.where(observed, centred - self.shift, 0.0)
        for flags, rows, which in stacked(observed, _stack(centred.shape[1])):
            K = precisions(flags, self.cov)
            scaled = _by_row(K, which, apart[rows])
            bent = -np.tensordot(K, self.covs, axes=((1, 2), (1, 2)))[which]
            for k, moved in enumerate(self.covs):
                bent[:, k] += ((scaled @ moved) * scaled).sum(axis=1)
            found[rows] = scaled @ self.means.T + 0.5 * bent
        return found

    def parts(self, mean: Floats) -> Iterator[tuple[float, Forms]]:
        """The same for the rows of each pattern, as functions of the row less its mean."""
        for observed, n in zip(self.patterns.observed, self.patterns.n, strict=True):
            at = np.flatnonzero(observed)
            K = np.linalg.inv(self.cov[np.ix_(at, at)])
            square = 0.5 * K @ self.covs[:, at[:, None], at] @ K
            linear = self.means[:, at] @ K + 2.0 * square @ (mean - self.shift)[at]
            yield float(n) / self.patterns.total, Forms(at, linear, square)

    def normal_spread(self, other: RowScores, mean: Floats, cov: Floats) -> Floats:
        """Mean squares of the first number's scores, and of these less another's, over normal rows with these moments.

        Rows have the holes of the patterns; the mean is beside that of the fit's moments.
        """
        patterns, total = self.patterns, np.zeros(2)
        step = _stack(len(mean))
        for first in range(0, len(patterns), step):
            part = slice(first, first + step)
            share = patterns.n[part] / patterns.total
            (linear, square), model = (_forms(scores, patterns.observed[part], mean) for scores in (self, other))
            for k, (slope, bend) in enumerate(((linear, square), (linear - model[0], square - model[1]))):
                bent = bend @ cov
                twice = (bent * bent.transpose(0, 2, 1)).sum(axis=(1, 2))
                total[k] += float(share @ (((slope @ cov) * slope).sum(axis=1) + 2.0 * twice))
        return total


def _by_row(K: Floats, which: Ints, rows: Floats) -> Floats:
    """Rows times the matrices of their patterns; rows of the same pattern stand together."""
    if len(rows) <= MANY_ROWS * len(K):
        return np.asarray((K[which] @ rows[:, :, None])[:, :, 0])
    ends = np.searchsorted(which, np.arange(len(K) + 1))
    return np.concatenate([rows[a:b] @ one for one, a, b in zip(K, ends[:-1], ends[1:], strict=True)])


def _forms(scores: RowScores, observed: Flags, mean: Floats) -> tuple[Floats, Floats]:
    """The first number's scores in rows of some patterns: ``l'x + x'Qx`` less a constant, x less its mean."""
    K = precisions(observed, scores.cov)
    square = 0.5 * K @ scores.covs[0] @ K
    return scores.means[0] @ K + 2.0 * square @ (mean - scores.shift), square


def _stack(p: int) -> int:
    """Patterns whose matrices are held at a time."""
    return max(1, STACK // p**2)


def row_scores(fit: Fitted, gradients: tuple[Gradient, ...]) -> RowScores:
    """How rows move numbers with these gradients; nan for those that the data do not determine."""
    known = pattern_information(fit, "observed")
    return scores_of(fit, known, [known.pull(g) for g in gradients])


def parameter_scores(fit: Fitted) -> RowScores:
    """How rows move each free parameter."""
    known = pattern_information(fit, "observed")
    return scores_of(fit, known, np.eye(known.space.size))


def unit_scores(fit: Fitted) -> RowScores:
    """Scores along directions in which the observed information is the unit matrix."""
    known = pattern_information(fit, "observed")
    values, vectors = np.linalg.eigh(known.inner)
    upward = values > 0.0
    along = (known.determined @ vectors[:, upward]) / np.sqrt(values[upward])
    return scores_along(fit, known.space, known.theta, along.T)


def scores_of(fit: Fitted, known: PatternInformation, pulled: Iterable[Floats]) -> RowScores:
    """How rows move numbers with these gradients in the parameters that the information is about."""
    return scores_along(fit, known.space, known.theta, np.stack([known.direction(g) for g in pulled]))


def scores_along(fit: Fitted, space: Space, theta: Floats, along: Floats) -> RowScores:
    """Derivatives of a row's log-likelihood along directions of a space, one a line."""
    mean, cov = space.moments(theta)
    return RowScores(patterns_behind(fit), mean - fit.moments.mean, cov, *space.moved(theta, along))


def parameter_errors(fit: Fitted, kind: Kind = "observed") -> Floats:
    """Standard errors of the free parameters, in the order of the space."""
    known = pattern_information(fit, kind)
    return np.array([np.sqrt(known.spread(probe) / fit.n) for probe in np.eye(known.space.size)])


# -- means and covariances themselves, restricted by no model ----------------------------------------


def saturated_information(patterns: Patterns) -> PatternInformation | None:
    """The observed information about the unrestricted moments; None if they do not exist, or are too many."""
    p = len(patterns.names)
    if p + p * (p + 1) // 2 > LARGE or not patterns.unrestricted.converged:
        return None
    if patterns not in _kept:
        _kept[patterns] = moment_information(patterns, patterns.unrestricted.moments, "observed")
    return _kept[patterns]


def moment_information(patterns: Patterns, at: Moments, kind: Kind) -> PatternInformation:
    """The information about the free mean and covariance at a point."""
    names = patterns.names
    space = make_space(Graph([], list(combinations(names, 2)), observed=names), names, Options())
    theta = np.zeros(space.size)
    theta[space.W_at[:, 2]] = at.cov[space.W_at[:, 0], space.W_at[:, 1]]
    theta[space.mu_at[:, 2]] = at.mean[space.mu_at[:, 0]]
    return information_at(space, patterns, theta, kind)


def moved_moments(free: Space, space: Space, theta: Floats) -> Floats:
    """Derivatives of the free moments (lines) in the parameters of a model (columns)."""
    dmean, dcov = space.jacobian(theta)
    moved = np.zeros((free.size, space.size))
    i, j, a = free.W_at.T
    moved[a] = dcov[:, i, j].T
    k, _, b = free.mu_at.T
    moved[b] = dmean[:, k].T
    return moved


def covariance_error(known: PatternInformation, slope: Floats, n: float) -> float:
    """Standard error of a number whose derivative in the covariance is ``slope``, symmetric; nan if undetermined."""
    return float(np.sqrt(known.spread(covariance_slope(known, slope)) / n))


def covariance_slope(known: PatternInformation, slope: Floats) -> Floats:
    """A symmetric derivative in the covariance as one in the free moments."""
    p = len(slope)
    return np.asarray(known.space.collect(np.zeros((p, p)), slope, np.zeros(p), np.zeros((0, p))))
