"""What complete moments say of a fit: district by district, for there the likelihood falls apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from halftrek.data import Moments, RowBlock, RowReader
from halftrek.estimation.checks import well_posed
from halftrek.inference.checks import constraints, mixture, relaxation, residuals, robust_fit
from halftrek.inference.checks.scores import Edges, Flags, Ints, Relaxation
from halftrek.inference.delta import gradient_variances
from halftrek.inference.draws import bootstrap
from halftrek.inference.draws.resample import Progress
from halftrek.inference.evidence import evidence, strength
from halftrek.inference.factor import Columns, Slopes, district_columns
from halftrek.inference.how import How
from halftrek.inference.information.base import Information
from halftrek.inference.information.dimension import district_dimension
from halftrek.inference.information.districts import DistrictLandscape, district_landscape
from halftrek.inference.information.influence import Forms, influence
from halftrek.inference.information.information import Kind
from halftrek.inference.information.landscape import Target
from halftrek.inference.information.tangent import tangent
from halftrek.inference.tables.parameters import ParameterRows, district_parameters
from halftrek.models import Floats
from halftrek.queries.gradients import Gradient


class CompleteInformation(Information):
    """Of rows that all have all values, or of moments alone."""

    by_district = True
    moments_suffice = True
    residual_zero = 1e-8
    scaled_test = "satorra-bentler"
    score_test = "score"
    formula_note = ""
    assumption = ""
    sentence = ""
    has_errors = True

    @property
    def rows(self) -> float:
        return self.fit.n

    def rows_having(self, variables: Collection[str]) -> float:  # noqa: ARG002
        return self.fit.n

    def seen_moments(self, names: Sequence[str]) -> Moments:
        return self.fit.moments.select(names)

    def blocks(self, rows: RowReader) -> Iterator[RowBlock]:
        return rows.blocks(like=self.fit.moments)

    @property
    def unrestricted(self) -> Moments:
        return self.fit.moments

    @property
    def has_unrestricted(self) -> bool:
        return bool(well_posed(self.fit.moments.cov[None], self.fit.n)[0])

    @property
    def known_pairs(self) -> Flags:
        return np.ones(self.fit.moments.cov.shape, dtype=bool)

    def best_loglik(self, names: Sequence[str] | None = None) -> float:
        S = self.fit.moments.cov if names is None else self.fit.moments.select(names).cov
        return -0.5 * self.fit.n * float(len(S) * (1.0 + np.log(2.0 * np.pi)) + np.linalg.slogdet(S)[1])

    def covariance_error(self, slope: Floats) -> float:
        inside = slope @ self.fit.moments.cov
        return float(np.sqrt(2.0 * np.trace(inside @ inside) / self.fit.n))

    def covariance_scores(self, slopes: Floats) -> Forms:
        at = np.flatnonzero(slopes.any(axis=(0, 1)))
        return Forms(at, np.zeros((len(slopes), len(at))), slopes[:, at[:, None], at])

    def independence(self, x: str, y: str, given: tuple[str, ...]) -> constraints.Constraint:
        return constraints.independence(self.fit.moments, x, y, given)

    @property
    def covariances(self) -> int:
        return len(self.fit.graph) * (len(self.fit.graph) + 1) // 2

    @property
    def means(self) -> int:
        return len(self.fit.moments.names) if self.fit.moments.has_mean else 0

    @property
    def uncounted_means(self) -> int:
        return 0 if self.fit.options.intercepts else self.means

    def determined(self) -> int:
        return district_dimension(self.fit)

    def variances(self, gradients: Sequence[Gradient], kind: Kind | None = None) -> Floats:
        return gradient_variances(self.fit, gradients, kind or "expected")

    def columns(self, pieces: list[Slopes], kind: Kind | None, level: float) -> Columns:
        return district_columns(self.fit, pieces, kind or "expected", level)

    def support(self, gradients: Sequence[Gradient], kind: Kind | None = None) -> evidence.Support:
        return evidence.district_support(self.fit, gradients, kind or "expected")

    def few_rows_errors(self, gradients: Sequence[Gradient], rests: evidence.Support, kind: Kind | None) -> Floats:  # noqa: ARG002
        return np.asarray(np.sqrt(rests.variance.sum(axis=1)))

    def strengths(self, gradients: Sequence[Gradient]) -> Floats:
        return strength.district_strengths(self.fit, gradients)

    def row_scores(self, gradients: tuple[Gradient, ...]) -> Forms:
        return influence(self.fit, gradients)

    def parameters(self, how: How) -> ParameterRows:
        return district_parameters(self.fit, how)

    def landscape(self, target: Target, *, explicit: bool = False) -> DistrictLandscape:
        return district_landscape(self.fit, target, explicit=explicit)

    def relaxations(self, edges: Edges, gradients: Sequence[Gradient], kind: Kind | None) -> Iterator[Relaxation]:
        return relaxation.district_relaxations(self.fit, edges, gradients, kind)

    def relaxation(self, edges: Edges, gradients: Sequence[Gradient]) -> Relaxation:
        return relaxation.district_relaxation(self.fit, tangent(self.fit), edges, gradients)

    def residual_errors(self) -> Floats:
        return residuals.district_errors(self.fit)

    def residual_scores(self, i: Ints, j: Ints) -> Forms:
        return residuals.district_scores(self.fit, i, j)

    def coordinates(self) -> mixture.Squares:
        return mixture.Squares.of(self.fit)

    def scaling(self, test: robust_fit.RobustTest, df: int) -> float:
        return robust_fit.district_scaling(self.fit, test, df)

    def as_complete(self, ratio: float, mean: float) -> tuple[float, float]:
        return ratio, mean

    def replicates(
        self, kind: bootstrap.Kind, count: int, random_state: int, progress: Progress | None
    ) -> bootstrap.Replicates:
        return bootstrap.together(self.fit, kind, count, random_state, progress)
