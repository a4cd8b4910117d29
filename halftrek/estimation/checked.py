"""What a fit says of itself: does the graph fit, and what does not? Each is done in a higher room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from halftrek.estimation.fit import Fit


class Checked:
    """The part of ``Fit`` that checks it."""

    def measures(  # type: ignore[misc]
        self: Fit, *, robust: bool | Literal["yuan-bentler", "satorra-bentler"] | None = None
    ) -> dict[str, Any]:
        """Fit of the model: chi2 df pvalue cfi tli rmsea srmr aic bic and more; ``test`` says which test it is.

        Left out, ``robust`` suits the rows: test and indices count their clusters and sampling weights, if any. False:
        as if rows were independent and normal. Otherwise the scaled test and the indices that hold for data that are
        not normal are added, by Yuan and Bentler (True) or by Satorra and Bentler; they need the rows.
        """
        from halftrek.results.listings import measures_of

        return measures_of(self, robust)

    def r2(self: Fit) -> Any:  # type: ignore[misc]
        """A tidy frame of R² of every variable that has a cause: variable r2 error_variance variance note."""
        from halftrek.reporting.checks import r2_frame

        return r2_frame(self)

    def residuals(self: Fit, *, robust: bool | None = None) -> Any:  # type: ignore[misc]
        """A tidy frame of observed and implied correlations: lhs rhs observed implied residual z p, largest first.

        For ``robust`` see ``tests``.
        """
        from halftrek.reporting.checks import residual_frame

        return residual_frame(self, robust)

    def tests(  # type: ignore[misc]
        self: Fit,
        question: Any = None,
        *,
        multiplicity: Literal["holm", "bh", "none"] = "holm",
        level: float = 0.05,
        robust: bool | None = None,
    ) -> Any:
        """A tidy frame with a test of everything that the graph implies: each independence, and what is none.

        With a ``question``: of every restriction that its answer rests on, with how far the answer would move if the
        restriction were relaxed, those that move it most first; p-values allow for these alone.

        ``multiplicity`` says how ``p_adjusted`` and the verdict allow for many tests: Holm, Benjamini-Hochberg, not.
        ``robust``: from the spread over independent units (rows, or clusters), for data that are not normal; left out:
        where rows are in clusters, or have sampling weights. The column ``test`` says which it is.
        """
        from halftrek.reporting.checks import implication_frame, restriction_frame

        if question is not None:
            return restriction_frame(self, question, multiplicity=multiplicity, level=level, robust=robust)
        return implication_frame(self, multiplicity=multiplicity, level=level, robust=robust)

    def modifications(  # type: ignore[misc]
        self: Fit, *, information: Literal["expected", "observed"] | None = None, robust: bool | None = None
    ) -> Any:
        """A tidy frame of edges that could be added: edge lhs op rhs mi epc std p, what the data ask for most first.

        Left out are edges that would close a cycle, and those whose weight data could not tell beside the others.
        ``information`` is for missing values: "expected" (lavaan's default, right if they are missing completely at
        random) and "observed" are lavaan's; left out: observed, about the moments, which holds for values missing at
        random. For ``robust`` see ``tests``. The column ``test`` says which it is.
        """
        from halftrek.reporting.checks import modification_frame

        return modification_frame(self, information, robust)
