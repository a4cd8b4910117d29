"""What comes back from a question: the answer, its verdict, its uncertainty, what to know before trusting it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from halftrek import upward
from halftrek.bottom.arrays import Floats
from halftrek.bottom.frames import as_frame
from halftrek.bottom.portable import Portable
from halftrek.bottom.words import one_precision
from halftrek.errors import NotIdentifiedError
from halftrek.identification import Verdict
from halftrek.inference import Estimate
from halftrek.inference.intervals.base import against_zero
from halftrek.models import Gaussian
from halftrek.notes import Note, in_words, warnings_of
from halftrek.queries import Query
from halftrek.results.sets.bounds import Bounds, set_in_words
from halftrek.upward import Tabled

# the reason, on a verdict, that says where a number comes from if categories act
BY_LIKELIHOOD = (
    "The number is that of the model which makes the rows most likely, where categories act by their values."
)


@dataclass(frozen=True)
class Several:
    """Finitely many values that fit the data equally well."""

    values: tuple[float, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(f"{value:.6g}" for value in self.values)


@dataclass(frozen=True)
class Refusal:
    """No number: models that fit the data equally well disagree; the verdict has two of them.

    ``leaves`` is what the graph and the data leave of it, where there are data and it is quickly had.
    """

    leaves: Bounds | None = None

    def __str__(self) -> str:
        known = "" if self.leaves is None else f"; the graph and the data leave {self.leaves.words}"
        return f"no number, see explain(){known}"


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Portable, Tabled):
    """What was asked, whether it can be known, and what it is.

    ``result`` is a number, or a distribution for ``P(...)`` of variables; what the graph does not determine has several
    values, bounds, or a refusal, and ``form`` says which. ``outcome`` is the distribution whose mean
    was asked for: its spread is noise between units, which more data do not reduce, unlike ``se`` and ``interval``.
    ``n`` is the number of rows behind the estimate; ``notes`` are findings, each with a ``code`` and ``facts``.
    ``crude`` is what the rows say without the graph, if that was asked for: an association, with its own interval.
    """

    query: Query
    result: float | Gaussian | Several | Bounds | Refusal
    verdict: Verdict | None = None
    notes: tuple[Note, ...] = ()
    estimate: Estimate | None = None
    outcome: Gaussian | None = None
    n: float | None = None
    crude: Answer | None = None
    library: str = ""  # whose frames the data were: tables come back in it

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the number or its interval, in sentences; ``notes`` has it as values, and more."""
        return warnings_of(self.notes)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the number that does not speak against it, in sentences."""
        return in_words(n for n in self.notes if n.level == "note")

    @property
    def asides(self) -> tuple[str, ...]:
        """What else there is to know of the number, in sentences; ``explain()`` has it, and ``str`` leaves it out."""
        return in_words(n for n in self.notes if n.level == "aside")

    @property
    def form(self) -> Literal["point", "several values", "bounds", "refusal"]:
        """What the answer holds: one number or distribution, several values, bounds, or a refusal."""
        match self.result:
            case Several():
                return "several values"
            case Bounds():
                return "bounds"
            case Refusal():
                return "refusal"
        return "point"

    @property
    def distribution(self) -> Gaussian | None:
        """The distribution of the outcomes, if one was asked for."""
        return self.result if isinstance(self.result, Gaussian) else None

    @cached_property
    def value(self) -> float | Floats:
        """The number asked for; of a distribution, its mean."""
        return self.mean

    @cached_property
    def mean(self) -> float | Floats:
        """Mean of the outcome, an array for several; of an effect, its value."""
        match self.result:
            case Gaussian(names=names, mean=mean):
                return float(mean[0]) if len(names) == 1 else mean
            case Several(values):
                return np.array(values)
            case Bounds() | Refusal():
                words = f"{self.query} is not one number: {_held(self.result)}"
                said = words if self.verdict is None or self.verdict.identified else self.verdict.explain()
                raise NotIdentifiedError(said, self.verdict, self)
            case value:
                return value

    @cached_property
    def variance(self) -> float | Floats | None:
        """Variance of the outcome between units, an array for several (see ``cov``); None for other numbers."""
        if not isinstance(self.result, Gaussian):
            return None if self.outcome is None else float(self.outcome.cov[0, 0])
        return float(self.result.cov[0, 0]) if len(self.result.names) == 1 else self.result.variance

    @property
    def cov(self) -> Floats | None:
        """Covariance matrix of the outcomes."""
        return self.result.cov if isinstance(self.result, Gaussian) else None

    @cached_property
    def se(self) -> float | Floats | None:
        """Standard error of the mean or the effect; None for a given model."""
        return None if self.estimate is None else _one_or_all(self.estimate.errors)

    @cached_property
    def tests(self) -> Floats:
        """For each value ``(z, p)``, see there; nan where there is none."""
        count = len(np.atleast_1d(np.asarray(self.value, dtype=float))) if self.form == "point" else 1
        return np.full((count, 2), np.nan) if self.estimate is None else against_zero(self.estimate, self.query)

    @cached_property
    def z(self) -> float | Floats | None:
        """The mean or the effect in its standard errors; None for a given model and where zero is no hypothesis."""
        return _one_or_none(self.tests[:, 0])

    @cached_property
    def p(self) -> float | Floats | None:
        """The chance of an estimate farther from zero than this one, were the truth zero (two-sided).

        From the standard error, by Student's t where the interval is; also beside an interval by profile likelihood or
        by draws. None for a given model, and for variances, standard deviations and probabilities, which have zero at
        their border.
        """
        return _one_or_none(self.tests[:, 1])

    @cached_property
    def interval(self) -> tuple[float, float] | Floats | None:
        """Confidence interval of the mean or the effect; one row for each of several outcomes."""
        return None if self.estimate is None else _ends(self.estimate.intervals)

    @cached_property
    def variance_interval(self) -> tuple[float, float] | Floats | None:
        """Confidence interval of the outcome's variance; None for an effect."""
        if self.estimate is None or not len(self.estimate.variances):
            return None
        return _ends(self.estimate.variance_intervals)

    @property
    def identified(self) -> bool:
        """True if the graph alone fixes the answer (always, for a model whose parameters are given)."""
        return self.verdict is None or self.verdict.identified

    @property
    def method(self) -> str:
        """How the answer is identified; "given model" if the parameters are known."""
        return "given model" if self.verdict is None else str(self.verdict.method)

    @property
    def estimand(self) -> str:
        """What the answer is a function of, in text."""
        return "" if self.verdict is None else str(self.verdict.estimand or "")

    def explain(self, *, details: bool = False) -> str:
        """What was asked, whether and why it can be known, the estimate and what it means, in sentences.

        ``details=True`` adds how it was found that it can be known, in mathematical terms.
        """
        from halftrek.results.words.explanation import explain

        return explain(self, details=details)

    def to_frame(self) -> Any:
        """A tidy frame: question outcome est se z p ci_low ci_high level n form note.

        A row for each outcome, or for each of several values; ``bound_low`` and ``bound_high`` where there are bounds.
        ``ht.table`` sets several answers below each other.
        """
        from halftrek.results.words.answer_lines import columns_of, lines_of

        return as_frame(columns_of(lines_of(self)), self.library)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the answer with its verdict as JSON; ``ht.load`` gives it back to the last bit."""
        return upward.save(self, path, overwrite=overwrite)

    def __str__(self) -> str:
        if isinstance(self.result, Gaussian):
            parts = [
                f"{v}: mean {self._figure(i, self.result.mean[i])}, variance {self._spread(self.result.variance[i])}"
                for i, v in enumerate(self.result.names)
            ]
            text = "; ".join(parts)
        elif isinstance(self.result, float):
            text = self._figure(0, self.result)
        else:
            text = _held(self.result)
        lines = [f"{self.query} = {text}", *(f"note: {n}" for n in self.remarks)]
        lines += [f"warning: {w}" for w in self.warnings]
        if self.crude is not None:
            lines.append(f"crude, in the rows without the graph: {self.crude}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Answer({str(self).splitlines()[0]})"

    # The plug-in protocol of the package maketables: ETable([answer, other]) has a column for each answer.

    @property
    def __maketables_coef_table__(self) -> Any:
        from halftrek.results.words.publication import answers_table

        return answers_table((self,))

    def __maketables_stat__(self, key: str) -> int | float | str | None:
        from halftrek.results.words.publication import answers_statistic

        return answers_statistic((self,), key)

    @property
    def __maketables_depvar__(self) -> str:
        from halftrek.results.words.answer_lines import outcomes_of

        return ", ".join(outcomes_of(self.query))

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return ["N"]

    def _figure(self, i: int, value: float) -> str:
        """A number with its interval, to the same decimals; an exact one, and one without an interval, alone."""
        if self.estimate is None or np.isnan(self.estimate.errors[i]):
            return f"{value:.6g}"
        figure, low, high = one_precision(value, *self.estimate.intervals[i])
        return f"{figure} ({100 * self.estimate.level:g}% interval {low} to {high})"

    def _spread(self, variance: float) -> str:
        return f"{variance:.6g}" if self.estimate is None else f"{variance:.4g}"


def _held(result: float | Gaussian | Several | Bounds | Refusal) -> str:
    """What there is instead of one number, in a line."""
    if not isinstance(result, Bounds):
        return str(result)
    return result.words if result.interval is None else f"{result.words}{_interval(result)}"


def _interval(bounds: Bounds) -> str:
    return f" ({100 * bounds.level:g}% interval for the true value: {set_in_words(bounds.interval_pieces)})"


def _one_or_all(values: Floats) -> float | Floats:
    return float(values[0]) if len(values) == 1 else values


def _one_or_none(values: Floats) -> float | Floats | None:
    return None if np.isnan(values).all() else _one_or_all(values)


def _ends(intervals: Floats) -> tuple[float, float] | Floats:
    return (float(intervals[0, 0]), float(intervals[0, 1])) if len(intervals) == 1 else intervals
