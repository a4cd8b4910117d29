"""What inference asks of the data behind a fit, whatever kind of data they are.

A ``DataKind`` is a value that holds a function for each question; ``complete`` and ``missing`` have one each. A further
kind of data is one more such value, and one more line in ``kind_of_data``: one that lacks an answer cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.data import Moments, Patterns
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.estimation.given.options import needs_whole
from halftrek.inference.kept import kept
from halftrek.queries.gradients import Gradient

if TYPE_CHECKING:
    from halftrek.bottom.choices import RobustTest
    from halftrek.data.missing.likelihood import Slope
    from halftrek.inference.checks.constraints import Constraint, Independence
    from halftrek.inference.checks.edges.modification import Test
    from halftrek.inference.checks.edges.scores import Relaxer, RowForms
    from halftrek.inference.checks.mixture import Coordinates
    from halftrek.inference.draws.bootstrap import Maker
    from halftrek.inference.evidence.evidence import Support
    from halftrek.inference.how import How
    from halftrek.inference.information.influence import Scores
    from halftrek.inference.information.information import Kind
    from halftrek.inference.information.landscape import Landscape, Target
    from halftrek.inference.standard_errors.factor import Columns, Piece
    from halftrek.inference.tables.parameters import ParameterRows


@dataclass(frozen=True, kw_only=True, eq=False)
class DataKind:
    """Answers about a fit: of its rows, of the moments without a model, of the parameters, of data sets like it."""

    by_district: bool  # districts have likelihoods of their own
    moments_suffice: bool  # the fit's moments say all that its rows do, were these normal
    residual_zero: float  # share of a covariance's variance below which its residual is zero by construction
    scaled_test: RobustTest  # the scaled test of fit that there is
    score_test: Test  # what modification indices are unless another information is asked for
    formula_note: str  # why a formula gives another number; empty where that depends on the equations
    assumption: str  # what has to hold of the data, for users

    # -- the rows: how they are used, in words for users; as many complete rows have as many values; rows having all of
    # some variables, and their moments, into which no model has filled any value; moments by which rows that are read
    # again are known to be the same, if there are such
    sentence: Callable[[Fitted], str]
    rows: Callable[[Fitted], float]
    rows_having: Callable[[Fitted, Collection[str]], float]
    seen_moments: Callable[[Fitted, Sequence[str]], Moments]
    like: Callable[[Fitted], Moments | None]

    # -- the log-likelihood of the rows, were they normal with some mean and covariance, and its derivatives in these
    slope: Callable[[Fitted, Floats, Floats], Slope]

    # -- without a model: the best mean and covariance, whether there are such, and errors of them; pairs whose
    # covariance is determined, and how many no row has both of; the standard error of a number with a symmetric
    # derivative in the covariance, and what rows add to several such; the test of an independence
    unrestricted: Callable[[Fitted], Moments]
    has_unrestricted: Callable[[Fitted], bool]
    has_errors: Callable[[Fitted], bool]
    known_pairs: Callable[[Fitted], Flags]
    pairs_apart: Callable[[Fitted], int]
    covariance_error: Callable[[Fitted, Floats], float]
    covariance_scores: Callable[[Fitted, Floats], Scores]
    independences: Callable[[Fitted, Sequence[Independence]], list[Constraint]]

    # -- the parameters: how many data determine (free means count where districts are not separate); of numbers with
    # some gradients the asymptotic variances times n, how they vary together, what they rest on, how strong the
    # information about them is, and how a row times n moves them; a table of all; the likelihood around the fit
    determined: Callable[[Fitted], int]
    variances: Callable[[Fitted, Sequence[Gradient], Kind | None], Floats]
    columns: Callable[[Fitted, list[Piece], Kind | None, float], Columns]
    support: Callable[[Fitted, Sequence[Gradient], Kind | None], Support]
    strengths: Callable[[Fitted, Sequence[Gradient]], Floats]
    row_scores: Callable[[Fitted, tuple[Gradient, ...]], Scores]
    parameters: Callable[[Fitted, How], ParameterRows]
    landscape: Callable[[Fitted, Target, bool], Landscape]

    # -- checks: what frees missing edges; errors of unrestricted less implied covariances, and what rows add to some of
    # them; coordinates of the moments in which their information is the unit matrix; what a likelihood ratio is divided
    # by; that ratio and its mean under the model, had no value been missing
    relaxer: Callable[[Fitted, Kind | None], Relaxer]
    residual_errors: Callable[[Fitted], Floats]
    residual_scores: Callable[[Fitted, Ints, Ints], RowForms]
    coordinates: Callable[[Fitted], Coordinates | None]
    scaling: Callable[[Fitted, RobustTest, int], float]
    as_complete: Callable[[Fitted, float, float], tuple[float, float] | None]

    # -- data sets drawn like this one, and their fits
    replicates: Maker


@kept
def kind_of_data(fit: Fitted) -> DataKind:
    """The kind of the data behind a fit: the one place that knows which kinds there are."""
    if fit.moments.layer is not None:
        from halftrek.inference.information.behind.dwls import DWLS
        from halftrek.inference.information.behind.layer import LAYER

        kind: DataKind = DWLS if fit.method == "dwls" else LAYER
    elif isinstance(data_of(fit), Patterns):
        from halftrek.inference.information.missing.together import MISSING

        kind = MISSING
    else:
        from halftrek.inference.information.complete import COMPLETE

        kind = COMPLETE
    if not needs_whole(fit.graph):
        return kind
    from halftrek.inference.information.behind.hidden import with_hidden

    found = with_hidden(kind)
    if fit.moments.layer is None:
        return found
    found = replace(
        found, replicates=kind.replicates, landscape=kind.landscape, scaling=kind.scaling, as_complete=kind.as_complete
    )
    return replace(found, row_scores=kind.row_scores, parameters=kind.parameters) if fit.method == "dwls" else found
