"""What the data behind a fit say of it, whatever kind of data they are.

``Information`` is what everything else in inference asks; ``complete`` and ``missing`` hold the two kinds. A further
kind of data is one more class, and one more line in ``information_of``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from halftrek.data import Moments, Patterns, RowBlock, RowReader
from halftrek.estimation import Fit
from halftrek.estimation import fit as fit_model
from halftrek.estimation.data_kind import data_of
from halftrek.graphs import Graph
from halftrek.models import Floats
from halftrek.queries.gradients import Gradient

if TYPE_CHECKING:
    from halftrek.inference.checks.constraints import Constraint
    from halftrek.inference.checks.mixture import Coordinates
    from halftrek.inference.checks.modification import Test
    from halftrek.inference.checks.robust_fit import RobustTest
    from halftrek.inference.checks.scores import Edges, Flags, Ints, Relaxation, RowForms
    from halftrek.inference.draws.bootstrap import Kind as Drawing
    from halftrek.inference.draws.bootstrap import Replicates
    from halftrek.inference.draws.resample import Progress
    from halftrek.inference.evidence.evidence import Support
    from halftrek.inference.factor import Columns, Slopes
    from halftrek.inference.how import How
    from halftrek.inference.information.influence import Scores
    from halftrek.inference.information.information import Kind
    from halftrek.inference.information.landscape import Landscape, Target
    from halftrek.inference.tables.parameters import ParameterRows


@dataclass(frozen=True, eq=False)
class Information(ABC):
    """A fit and what its data say: of the parameters, of the moments without a model, row by row, drawn again."""

    fit: Fit

    by_district: ClassVar[bool]  # districts have likelihoods of their own
    moments_suffice: ClassVar[bool]  # the fit's moments say all that its rows do, were these normal
    residual_zero: ClassVar[float]  # share of a covariance's variance below which its residual is zero by construction
    scaled_test: ClassVar[RobustTest]  # of the scaled tests of fit the one that there is
    score_test: ClassVar[Test]  # what modification indices are unless another information is asked for
    formula_note: ClassVar[str]  # why a formula gives another number; empty where that depends on the equations
    assumption: ClassVar[str]  # what has to hold of the data, for users; empty where nothing has

    # -- what was read -----------------------------------------------------------------------------

    @property
    def data(self) -> Moments | Patterns:
        """What the fit was made of."""
        return data_of(self.fit)

    @property
    @abstractmethod
    def sentence(self) -> str:
        """How much of the data is used, for users; empty where all of it is."""

    @property
    @abstractmethod
    def rows(self) -> float:
        """As many complete rows have as many values."""

    @abstractmethod
    def rows_having(self, variables: Collection[str]) -> float:
        """How many rows have all of these variables."""

    @abstractmethod
    def seen_moments(self, names: Sequence[str]) -> Moments:
        """The moments of the rows that have all of these variables; no model has filled in any of their values."""

    @abstractmethod
    def blocks(self, rows: RowReader) -> Iterator[RowBlock]:
        """The rows that the fit has used."""

    def refit(self, graph: Graph, **options: Any) -> Fit:
        """The same rows with another graph, or with other options."""
        return replace(fit_model(graph, self.data, **options), rows=self.fit.rows, frame=self.fit.frame)

    # -- without a model ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def unrestricted(self) -> Moments:
        """The best mean and covariance that no model restricts."""

    @property
    @abstractmethod
    def has_unrestricted(self) -> bool:
        """Whether there is such a best."""

    @property
    @abstractmethod
    def known_pairs(self) -> Flags:
        """Pairs whose covariance is determined without a model."""

    @property
    @abstractmethod
    def has_errors(self) -> bool:
        """Whether the unrestricted moments have errors that can be told: they exist, and are not too many."""

    @abstractmethod
    def best_loglik(self, names: Sequence[str] | None = None) -> float:
        """The log-likelihood of the unrestricted moments of all variables, or of some by themselves."""

    @abstractmethod
    def covariance_error(self, slope: Floats) -> float:
        """Standard error of a number with this symmetric derivative in the unrestricted covariance."""

    @abstractmethod
    def covariance_scores(self, slopes: Floats) -> Scores:
        """What each row adds to numbers with these symmetric derivatives in the unrestricted covariance, one each."""

    @abstractmethod
    def independence(self, x: str, y: str, given: tuple[str, ...]) -> Constraint:
        """The test that two variables are independent given others."""

    # -- of the parameters -------------------------------------------------------------------------

    @property
    @abstractmethod
    def covariances(self) -> int:
        """How many variances and covariances data have."""

    @property
    @abstractmethod
    def means(self) -> int:
        """How many means data have."""

    @property
    @abstractmethod
    def uncounted_means(self) -> int:
        """How many of them are free and yet not among the parameters that ``determined`` counts."""

    @abstractmethod
    def determined(self) -> int:
        """How many parameters data determine."""

    @abstractmethod
    def variances(self, gradients: Sequence[Gradient], kind: Kind | None = None) -> Floats:
        """Asymptotic variances, times n, of numbers with these gradients; by default from the usual information."""

    @abstractmethod
    def columns(self, pieces: list[Slopes], kind: Kind | None, level: float) -> Columns:
        """How numbers with these gradients vary together."""

    @abstractmethod
    def support(self, gradients: Sequence[Gradient], kind: Kind | None = None) -> Support:
        """What numbers with these gradients rest on."""

    @abstractmethod
    def few_rows_errors(self, gradients: Sequence[Gradient], rests: Support, kind: Kind | None) -> Floats:
        """Standard errors from the observed information, for few rows; ``rests`` is what the numbers rest on."""

    @abstractmethod
    def strengths(self, gradients: Sequence[Gradient]) -> Floats:
        """For each number with these gradients how far the information about it is from none."""

    @abstractmethod
    def row_scores(self, gradients: tuple[Gradient, ...]) -> Scores:
        """How each row, times n, moves numbers with these gradients; nan for what data do not determine."""

    @abstractmethod
    def parameters(self, how: How) -> ParameterRows:
        """Rows of a table of all parameters."""

    @abstractmethod
    def landscape(self, target: Target, *, explicit: bool = False) -> Landscape:
        """The likelihood around the fit; ``explicit``: hidden causes of two children get loadings of their own."""

    # -- checks ------------------------------------------------------------------------------------

    @abstractmethod
    def relaxations(self, edges: Edges, gradients: Sequence[Gradient], kind: Kind | None) -> Iterator[Relaxation]:
        """Each missing edge freed alone, at the fitted parameters; some edges at a time."""

    @abstractmethod
    def relaxation(self, edges: Edges, gradients: Sequence[Gradient]) -> Relaxation:
        """Some missing edges, all at a time."""

    @abstractmethod
    def residual_errors(self) -> Floats:
        """Standard errors of unrestricted less implied covariances; nan where there are none."""

    @abstractmethod
    def residual_scores(self, i: Ints, j: Ints) -> RowForms:
        """What each row adds to unrestricted less implied covariances of these pairs."""

    @abstractmethod
    def coordinates(self) -> Coordinates | None:
        """The moments in coordinates in which their information is the unit matrix; None if data do not tell them."""

    @abstractmethod
    def scaling(self, test: RobustTest, df: int) -> float:
        """What the likelihood ratio is divided by in a scaled test; not positive where it cannot be told."""

    @abstractmethod
    def as_complete(self, ratio: float, mean: float) -> tuple[float, float] | None:
        """The likelihood ratio and its mean under the model, had no value been missing; None if that is not known."""

    # -- data sets drawn like this one -------------------------------------------------------------

    @abstractmethod
    def replicates(self, kind: Drawing, count: int, random_state: int, progress: Progress | None) -> Replicates:
        """Fits of the same model to such data sets."""


def information_of(fit: Fit) -> Information:
    """What the data behind a fit say of it: the one place that knows which kinds of data there are."""
    from halftrek.inference.information.complete import CompleteInformation
    from halftrek.inference.information.missing import MissingInformation

    return MissingInformation(fit) if isinstance(data_of(fit), Patterns) else CompleteInformation(fit)
