"""A fitted model in the hands of a user: every method is one step of the walk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, get_args

from halftrek import upward
from halftrek.bottom.calls import all_public
from halftrek.bottom.choices import (
    Beyond,
    Bounding,
    EffectKind,
    Ends,
    ErrorKind,
    Interval,
    Multiplicity,
    RobustTest,
    Scoring,
    Unidentified,
)
from halftrek.bottom.progress import late_bar
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.inference.how import Uncertainty
from halftrek.inference.information.information import Kind
from halftrek.queries import Query, TotalEffect
from halftrek.results import beside, words
from halftrek.results.answering import answer
from halftrek.results.answers import Answer
from halftrek.results.refused import refusing
from halftrek.results.sets.assumed import Assumed

if TYPE_CHECKING:
    import pandas as pd

    from halftrek.inference.profiles.profile import Profile
    from halftrek.inference.tables.decomposition import Decomposition
    from halftrek.inference.tables.mediation import Mediation
    from halftrek.results.beside.adjustments import Adjustments
    from halftrek.results.beside.instruments import Instruments
    from halftrek.results.sets.bounds import Bounds


@all_public
@refusing
@dataclass(frozen=True, eq=False, repr=False)
class Fit(Assumed):
    """A fitted model: ``model`` holds the parameters, ``status`` says how far they can be trusted.

    With missing values ``patterns`` holds what was observed, and ``moments`` what complete rows are expected to have,
    given the fitted model.
    """

    @classmethod
    def of(cls, fitted: Fitted) -> Fit:
        """The same fit, with everything that can be asked of it."""
        return cls(**{field.name: getattr(fitted, field.name) for field in fields(fitted)})

    def query(
        self,
        question: str | Query,
        *,
        level: float = 0.95,
        interval: Interval | None = None,
        information: Kind | None = None,
        replicates: int = 1000,
        ends: Ends = "percentile",
        random_state: int = 0,
        crude: bool = False,
        assume: str | Iterable[object] | None = None,
        bounds: bool = False,
        errors: ErrorKind = "uncorrelated",
    ) -> Answer:
        """The answer to a question such as ``"P(y | do(x=1))"``; raises NotIdentifiedError if there is none.

        ``interval`` says where standard errors and intervals come from: the information ("delta"), the sandwich
        ("robust"; by cluster if the fit has one), rows drawn again ("bootstrap") or drawn from the fitted model
        ("parametric"), or the likelihood ("profile"); of ordered and ranked columns from how each row moves the answer
        ("influence"). None is what suits the rows.
        ``information`` is for "delta"; ``replicates``, ``ends`` and ``random_state`` are for the bootstraps. ``crude``
        sets beside the answer, as ``.crude``, what the rows say without the graph.

        ``assume`` asks for bounds under assumptions, see ``bounds``; ``bounds=True`` for those without any. The answer
        then holds a ``Bounds`` as its ``result``, and takes no other option but ``level``.

        ``errors="independent"`` answers effects, too, that covariances leave open and errors that are not normal tell,
        where the graph has no arc between them. The answer is a set of values as a ``Bounds``, which is right however
        near to normal the errors are. It needs the rows.
        """
        if errors not in get_args(ErrorKind):
            raise InputError(f"errors must be 'uncorrelated' or 'independent', not {errors!r}")
        if errors == "independent":
            if bounds or assume is not None:
                raise InputError('bounds= and assume= are for errors="uncorrelated": leave one of them out')
            from halftrek.results.sets.independent import independent  # here, for few ask, and it loads what decides

            return independent(
                self, question, crude=crude, level=level, interval=interval, information=information,
                replicates=replicates, ends=ends, random_state=random_state,
            )  # fmt: skip
        if bounds or assume is not None:
            from halftrek.results.sets.bounded import bounded

            return bounded(
                self, question, () if assume is None else assume, level=level, interval=interval,
                information=information, replicates=replicates, ends=ends, random_state=random_state, crude=crude,
            )  # fmt: skip
        ask = partial(
            answer, self, question, level=level, interval=interval, information=information, replicates=replicates,
            ends=ends, random_state=random_state, crude=crude,
        )  # fmt: skip
        if interval not in ("bootstrap", "parametric"):
            return ask()
        with late_bar("bootstrap") as progress:
            return ask(progress=progress)

    def effect(
        self, cause: str, effect: str | None = None, *, crude: bool = False, **uncertainty: Unpack[Uncertainty]
    ) -> Answer:
        """The total effect of ``cause`` on ``effect``, or the effect along a path written ``"x -> m -> y"``.

        ``crude=True`` sets the regression of ``effect`` on ``cause`` alone beside it. For other options see ``query``.
        """
        return self.query(cause if effect is None else TotalEffect(cause, effect), crude=crude, **uncertainty)

    def bounds(self, question: str | Query, **options: Unpack[Bounding]) -> Bounds:
        """Between which values an answer lies that the graph does not determine, under assumptions: ``assume=[...]``.

        Without assumptions: what the graph alone leaves. Options are ``level``, and ``interval`` ("likelihood" or
        "stoye"); see ``ht.bounds``. Weights, clusters and missing values are as in the fit.
        """
        return upward.bounds(self, question, **options)

    def profile(self, question: str | Query, *, points: int = 41, level: float = 0.95) -> Profile:
        """The deviance (twice the log-likelihood that is lost) along the values of an answer, for a picture."""
        return words.profile_of(self, question, points=points, level=level)

    def effects(
        self,
        kind: EffectKind = "all",
        *,
        budget: float = 5.0,
        **uncertainty: Unpack[Uncertainty],
    ) -> Any:
        """A tidy frame of effects: cause effect kind est se z p ci_low ci_high std method note.

        Direct, indirect (total less direct) and total effects of every pair with a directed path, or those of one
        ``kind``; "through" lists the effects through each variable in between. What the graph does not determine has
        no number, and the note says why. ``budget`` bounds the seconds spent on hard questions of identification. For
        the options of uncertainty see ``query``; intervals are "delta", "robust", "bootstrap" or "parametric".
        """
        return words.effects_of(self, kind, budget=budget, **uncertainty)

    def decompose(
        self, cause: str, effect: str, *, most: int = 20, **uncertainty: Unpack[Uncertainty]
    ) -> Decomposition:
        """The total effect path by path, adding up; of more than ``most`` paths the largest and the rest together."""
        return words.decomposition_of(self, cause, effect, most=most, **uncertainty)

    def mediation(
        self, cause: str, effect: str, mediators: Sequence[str] | None = None, **uncertainty: Unpack[Uncertainty]
    ) -> Mediation:
        """Direct, indirect and total effect, specific indirect effects, and the proportion mediated.

        ``mediators`` left out: every variable between the two; "direct" is then the edge.
        """
        return words.mediation_of(self, cause, effect, mediators, **uncertainty)

    def adjustments(self, question: Query | str, *, most: int = 20, **uncertainty: Unpack[Uncertainty]) -> Adjustments:
        """Crude beside adjusted: the effect by every minimal adjustment set, one regression each, and by the model.

        At most ``most`` sets are listed, the smallest first. An effect that no adjustment gives raises QueryError,
        which says how it is known instead. For the options of uncertainty see ``query``.
        """
        return beside.adjustments_of(self, question, most=most, **uncertainty)

    def instruments(self, question: Query | str, *, level: float = 0.95, robust: bool | None = None) -> Instruments:
        """The instruments behind an answer: first stage, effective F, two-stage least squares, LIML, and tests.

        Each set of instruments that the graph allows has a line: all together, and each alone. ``robust`` says whether
        standard errors and tests allow for unequal spread and clusters, which needs the rows; left out: where the rows
        ask for it, and in the effective F wherever there are rows. A question that is not answered by instruments
        raises QueryError, which says how it is answered.
        """
        return beside.instruments_of(self, question, level=level, robust=robust)

    def counterfactual(
        self,
        rows: object,
        do: Mapping[str, object],
        outcome: str | Sequence[str],
        *,
        unidentified: Unidentified = "raise",
        **uncertainty: Unpack[Uncertainty],
    ) -> Any:
        """What the outcome would have been for each unit, had ``do`` been done, given what was seen of the unit.

        ``rows`` is one unit, ``{"x": 0.2, "y": 1.0}`` (the answer is as from ``query``), or a table: a frame, an array,
        a dictionary of columns. Missing entries were not seen. ``do`` holds a variable at a number, at one number for
        each row, at a column of the table, or changes what was seen: "+1", "-1", "*2".

        A table gives a table of the same library: the outcome's mean, ``noise_sd`` (how far the unit's own outcome may
        be from it), ``se``, ``ci_low`` and ``ci_high`` (how far the estimated mean may be off). Rows whose question is
        not identified raise NotIdentifiedError, or stay empty with ``unidentified="nan"``.
        """
        return words.counterfactual_of(self, rows, do, outcome, unidentified=unidentified, **uncertainty)

    def predict(
        self,
        rows: object,
        outcome: str | Sequence[str] | None = None,
        *,
        do: Mapping[str, object] | None = None,
        given: Sequence[str] | None = None,
        unidentified: Unidentified = "raise",
        **uncertainty: Unpack[Uncertainty],
    ) -> Any:
        """The expected outcome of new rows, as they come or under an intervention ``do``, with prediction intervals.

        ``outcome`` left out: the variables that the rows have no column of. ``given`` names the columns to predict
        from; left out: all but the outcomes, under ``do`` all that the intervention does not change. Empty cells are
        integrated out. What is done is written as in ``counterfactual``, and answered only where it is identified.

        The table is of the rows' own library: the outcome's mean, ``noise_sd`` (how units differ around it), ``se``,
        ``ci_low`` and ``ci_high`` (how far the estimated mean may be off), ``pi_low`` and ``pi_high``: where the
        unit's own outcome is expected, which allows for noise and for the uncertainty of the parameters.
        """
        return beside.prediction_of(self, rows, outcome, do=do, given=given, unidentified=unidentified, **uncertainty)

    def params(
        self,
        *,
        level: float = 0.95,
        interval: Interval | None = None,
        information: Kind | None = None,
        replicates: int = 1000,
        random_state: int = 0,
        as_frame: bool = True,
    ) -> Any:
        """A tidy frame of all parameters: lhs op rhs est se z p ci_low ci_high std note.

        What data do not determine has no estimate, and the note says so. ``as_frame=False`` gives a list of values with
        these fields, for programs. For the other options see ``query``.
        """
        return words.parameter_table(
            self, level=level, interval=interval, information=information, replicates=replicates,
            random_state=random_state, as_frame=as_frame,
        )  # fmt: skip

    def measures(self, *, robust: bool | RobustTest | None = None) -> dict[str, Any]:
        """Fit of the model: chi2 df pvalue cfi tli rmsea srmr aic bic and more; ``test`` says which test it is.

        Left out, ``robust`` suits the rows: test and indices count their clusters and sampling weights, if any. False:
        as if rows were independent and normal. Otherwise the scaled test and the indices that hold for data that are
        not normal are added, by Yuan and Bentler (True) or by Satorra and Bentler; they need the rows.
        """
        return words.measures_of(self, robust)

    def scores(self, rows: object | None = None, *, method: Scoring = "regression") -> Any:
        """Scores of the hidden variables, a column each: of ``rows``, or of the rows that were fitted.

        ``method="regression"`` is what the model expects given the row (the posterior mean); "bartlett" is unbiased
        for the row's own value, and more variable. How near they come: ``reliability``.
        """
        return beside.scores_of(self, rows, method)

    def reliability(self) -> Any:
        """A tidy frame of how well items measure each hidden variable: factor items omega ave regression bartlett.

        ``omega`` is the composite reliability of the sum of its items, ``ave`` the average variance extracted; the last
        two are squared correlations of scores with the variable itself.
        """
        return beside.reliability_frame(self)

    def r2(self) -> Any:
        """A tidy frame of R² of every variable that has a cause: variable r2 error_variance variance note."""
        return beside.r2_frame(self)

    def residuals(self, *, robust: bool | None = None) -> Any:
        """A tidy frame of observed and implied correlations: lhs rhs observed implied residual z p, largest first.

        For ``robust`` see ``tests``.
        """
        return beside.residual_frame(self, robust)

    def tests(
        self,
        question: str | Query | None = None,
        *,
        multiplicity: Multiplicity = "holm",
        level: float = 0.05,
        robust: bool | None = None,
        beyond: Beyond | None = None,
    ) -> Any:
        """A tidy frame with a test of everything that the graph implies: each independence, and what is none.

        The last rows, of the kind "linearity", test whether each effect is a straight line in its causes, for which
        the rows are read once more. Where that cannot be, a row says why.

        With a ``question``: of every restriction that its answer rests on, with how far the answer would move if the
        restriction were relaxed, those that move it most first; p-values allow for these alone.

        ``multiplicity`` says how ``p_adjusted`` and the verdict allow for many tests: Holm, Benjamini-Hochberg, not.
        ``robust``: from the spread over independent units (rows, or clusters), for data that are not normal; left out:
        where rows are in clusters, or have sampling weights. The column ``test`` says which it is.

        ``beyond="correlation"`` tests instead, for each pair without an arc, that the errors are independent and not
        only uncorrelated; ``beyond="linearity"`` tests straight lines alone, whatever the number of rows. Both need the
        rows, and hold for data that are not normal.
        """
        if beyond is not None:
            return beside.beyond_frame(self, beyond, question, multiplicity=multiplicity, level=level)
        if question is not None:
            return beside.restriction_frame(self, question, multiplicity=multiplicity, level=level, robust=robust)
        return beside.implication_frame(self, multiplicity=multiplicity, level=level, robust=robust)

    def modifications(self, *, information: Kind | None = None, robust: bool | None = None) -> Any:
        """A tidy frame of edges that could be added: edge lhs op rhs mi epc std p, what the data ask for most first.

        Left out are edges that would close a cycle, and those whose weight data could not tell beside the others.
        ``information`` is for missing values: "expected" (lavaan's default, right if they are missing completely at
        random) and "observed" are lavaan's; left out: observed, about the moments, which holds for values missing at
        random. For ``robust`` see ``tests``. The column ``test`` says which it is.
        """
        return beside.modification_frame(self, information, robust)

    def save(self, path: str | os.PathLike[str], *, rows: bool = False, overwrite: bool = False) -> Path:
        """Write the fit as JSON; ``ht.load`` gives it back to the last bit.

        ``rows=True`` puts the rows into the file, for the intervals that need them; without it a fit of a file
        remembers only where the file is. A file that halftrek wrote is replaced, another only with ``overwrite=True``.
        """
        return upward.save(self, path, rows=rows, overwrite=overwrite)

    def report(
        self,
        path: str | os.PathLike[str],
        questions: str | Query | Iterable[str | Query] = (),
        *,
        title: str | None = None,
        level: float = 0.95,
        interval: Interval | None = None,
        information: Kind | None = None,
        replicates: int = 1000,
        ends: Ends = "percentile",
        random_state: int = 0,
        overwrite: bool = False,
    ) -> Path:
        """Write a report on the fit, one HTML file that needs nothing else, and return its path.

        ``questions`` is one question or a list. One that is not identified does not stop the report, which then shows
        why there is no number and what would help. For the options of uncertainty see ``query``. A file that halftrek
        wrote is replaced, another only with ``overwrite=True``.
        """
        return upward.report(
            self, path, questions, title=title, level=level, interval=interval, information=information,
            replicates=replicates, ends=ends, random_state=random_state, overwrite=overwrite,
        )  # fmt: skip

    # The plug-in protocol of the package maketables: ETable([fit]) gives Word, LaTeX, Typst and HTML tables.

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        return words.coefficient_table(self)

    def __maketables_stat__(self, key: str) -> float | str | None:
        return words.statistic(self, key)

    @property
    def __maketables_depvar__(self) -> str:
        return words.outcomes(self)

    @property
    def __maketables_vcov_info__(self) -> dict[str, object]:
        return {"vcov_type": "maximum likelihood", "clustervar": None}

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        return dict(words.LABELS)

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return list(words.LABELS)
