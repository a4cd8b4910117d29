"""What rows with missing values say of a fit: all parameters at once, for such rows tie districts together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from halftrek.data import Moments, Patterns, RowBlock, RowReader
from halftrek.data.weights import Counted, Sampled
from halftrek.errors import DataError
from halftrek.estimation.data_kind import patterns_behind
from halftrek.inference.checks import constraints, missing_checks, mixture
from halftrek.inference.checks.missing_fit import complete_ratio, missing_scaling
from halftrek.inference.checks.robust_fit import RobustTest
from halftrek.inference.checks.scores import Edges, Flags, Ints, Relaxation
from halftrek.inference.draws import bootstrap
from halftrek.inference.draws.resample import Progress
from halftrek.inference.evidence import evidence, strength
from halftrek.inference.factor import Columns, Slopes, whole_columns
from halftrek.inference.how import How
from halftrek.inference.information.base import Information
from halftrek.inference.information.dimension import whole_dimension
from halftrek.inference.information.incomplete import (
    PatternInformation,
    RowScores,
    pattern_information,
    row_scores,
    scores_along,
)
from halftrek.inference.information.information import Kind
from halftrek.inference.information.landscape import Target
from halftrek.inference.information.missing_likelihood import MissingLandscape, missing_landscape
from halftrek.inference.information.saturated import covariance_error, covariance_slope, saturated_information
from halftrek.inference.tables.parameters import ParameterRows, whole_parameters
from halftrek.models import Floats
from halftrek.queries.gradients import Gradient


class MissingInformation(Information):
    """Of rows of which some lack values, by the likelihood of those that were seen."""

    by_district = False
    moments_suffice = False
    residual_zero = 1e-4  # what is left of two almost equal variances is no more than noise
    scaled_test = "yuan-bentler"
    score_test = "score, observed moments"
    formula_note = "formula beside missing values"
    assumption = (
        "Values are missing at random: whether a value is missing may depend on values that are there, not on the "
        "missing value itself (full-information maximum likelihood)."
    )

    @property
    def data(self) -> Patterns:
        return patterns_behind(self.fit)

    @property
    def sentence(self) -> str:
        return self.data.sentence

    @property
    def rows(self) -> float:
        return self.data.used / len(self.data.names)

    def rows_having(self, variables: Collection[str]) -> float:
        at = [self.data.names.index(v) for v in variables]
        return float(self.data.n @ self.data.observed[:, at].all(axis=1))

    def seen_moments(self, names: Sequence[str]) -> Moments:
        found = self.data.select(names)
        if isinstance(found, Moments):
            return found
        whole = [k for k in range(len(found.cov)) if found.observed[k].all()]
        if not whole:
            raise DataError(f"hardly any row has all of {', '.join(names)}, so that the rows alone say nothing of them")
        (k,), n, weighting = whole, float(found.n[whole[0]]), found.weighting
        lines = float(found.rows[k])
        if isinstance(weighting, Sampled):  # scaled to the rows that are left, each worth as much as before
            share = lines / float(found.rows.sum())
            n, weighting = lines, Sampled(weighting.mean * n / lines, weighting.worth * share)
        elif isinstance(weighting, Counted):
            weighting = Counted(lines)
        return Moments(found.names, n, found.mean[k], found.cov[k], kinds=found.kinds, weighting=weighting)

    def blocks(self, rows: RowReader) -> Iterator[RowBlock]:
        return rows.blocks()

    @property
    def unrestricted(self) -> Moments:
        return self.data.unrestricted.moments

    @property
    def has_unrestricted(self) -> bool:
        return self.data.unrestricted.converged

    @property
    def known_pairs(self) -> Flags:
        return missing_checks.known_pairs(self.data)

    @property
    def has_errors(self) -> bool:
        return saturated_information(self.data) is not None

    def best_loglik(self, names: Sequence[str] | None = None) -> float:
        part = self.data if names is None else self.data.select(names)
        if isinstance(part, Patterns):
            return part.unrestricted.loglik
        return -0.5 * part.n * float(len(part.cov) * (1.0 + np.log(2.0 * np.pi)) + np.linalg.slogdet(part.cov)[1])

    def covariance_error(self, slope: Floats) -> float:
        return covariance_error(self._saturated, slope, self.unrestricted.n)

    def covariance_scores(self, slopes: Floats) -> RowScores:
        known = self._saturated
        along = np.stack([known.direction(covariance_slope(known, slope)) for slope in slopes])
        return scores_along(self.fit, known.space, known.theta, along)

    @property
    def _saturated(self) -> PatternInformation:
        known = saturated_information(self.data)
        assert known is not None  # asked for only where the rows determine the covariances
        return known

    def independence(self, x: str, y: str, given: tuple[str, ...]) -> constraints.Constraint:
        return constraints.missing_independence(self.data, x, y, given)

    @property
    def covariances(self) -> int:
        return self.means * (self.means + 1) // 2 - len(self.data.apart)

    @property
    def means(self) -> int:
        return len(self.data.names)

    @property
    def uncounted_means(self) -> int:
        return 0

    def determined(self) -> int:
        return whole_dimension(self.fit, self.data)

    def variances(self, gradients: Sequence[Gradient], kind: Kind | None = None) -> Floats:
        known = pattern_information(self.fit, kind or "observed")
        return np.array([known.spread(known.pull(g)) for g in gradients])

    def columns(self, pieces: list[Slopes], kind: Kind | None, level: float) -> Columns:
        return whole_columns(self.fit, pieces, kind or "observed", level)

    def support(self, gradients: Sequence[Gradient], kind: Kind | None = None) -> evidence.Support:  # noqa: ARG002
        known = pattern_information(self.fit, "expected")
        pulled = np.array([known.pull(g) for g in gradients]).reshape(len(gradients), known.space.size)
        return evidence.seen_support(self.fit, pulled)

    def few_rows_errors(self, gradients: Sequence[Gradient], rests: evidence.Support, kind: Kind | None) -> Floats:  # noqa: ARG002
        return np.asarray(np.sqrt(self.variances(gradients, kind) / self.fit.n))

    def strengths(self, gradients: Sequence[Gradient]) -> Floats:
        return strength.whole_strengths(self.fit, gradients)

    def row_scores(self, gradients: tuple[Gradient, ...]) -> RowScores:
        return row_scores(self.fit, gradients)

    def parameters(self, how: How) -> ParameterRows:
        return whole_parameters(self.fit, how)

    def landscape(self, target: Target, *, explicit: bool = False) -> MissingLandscape:  # noqa: ARG002
        return missing_landscape(self.fit, target)

    def relaxations(self, edges: Edges, gradients: Sequence[Gradient], kind: Kind | None) -> Iterator[Relaxation]:
        return missing_checks.whole_relaxations(self.fit, edges, gradients, kind)

    def relaxation(self, edges: Edges, gradients: Sequence[Gradient]) -> Relaxation:
        return missing_checks.whole_relaxation(self.fit, edges, gradients)

    def residual_errors(self) -> Floats:
        return missing_checks.residual_errors(self.fit)

    def residual_scores(self, i: Ints, j: Ints) -> RowScores:
        return missing_checks.residual_scores(self.fit, i, j)

    def coordinates(self) -> mixture.Observed | None:
        known = saturated_information(self.data)
        return None if known is None else mixture.Observed.of(self.fit, self.data, known)

    def scaling(self, test: RobustTest, df: int) -> float:
        return missing_scaling(self.fit, test, df)

    def as_complete(self, ratio: float, mean: float) -> tuple[float, float] | None:  # noqa: ARG002
        return complete_ratio(self.fit)

    def replicates(
        self, kind: bootstrap.Kind, count: int, random_state: int, progress: Progress | None
    ) -> bootstrap.Replicates:
        return bootstrap.one_by_one(self.fit, kind, count, random_state, progress)
