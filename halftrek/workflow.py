"""The walk of one request: text and data in, an answer out; no mathematics here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from halftrek import estimation, identification
from halftrek.errors import DataError, InputError, NotIdentifiedError, QueryError
from halftrek.estimation import BatchFit, Fit
from halftrek.estimation.options import Intercepts, Noise
from halftrek.graph import Graph
from halftrek.identification import Verdict
from halftrek.inference import Estimate, estimate, measures
from halftrek.model import CGLSCM, Floats, Gaussian, Rows
from halftrek.moments import Moments, read_moments
from halftrek.queries import (
    DirectEffect,
    Interventional,
    PathEffect,
    Query,
    TotalEffect,
    check_query,
    evaluate,
    variables_of,
)
from halftrek.syntax import parse_graph, parse_question


@dataclass(frozen=True, eq=False)
class Answer:
    """What was asked, whether it can be known, and what it is.

    ``result`` is a number for an effect, a distribution for ``P(...)``.
    """

    query: Query
    result: float | Gaussian
    verdict: Verdict | None = None
    warnings: tuple[str, ...] = ()
    estimate: Estimate | None = None

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
        if not isinstance(self.result, Gaussian):
            return self.result
        return float(self.result.mean[0]) if len(self.result.names) == 1 else self.result.mean

    @cached_property
    def variance(self) -> float | Floats | None:
        """Variance of the outcome, an array for several (see ``cov``); None for an effect."""
        if not isinstance(self.result, Gaussian):
            return None
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

    def __str__(self) -> str:
        if isinstance(self.result, Gaussian):
            parts = [
                f"{v}: mean {self.result.mean[i]:.6g}{self._range(i)}, variance {self.result.variance[i]:.6g}"
                for i, v in enumerate(self.result.names)
            ]
            text = "; ".join(parts)
        else:
            text = f"{self.result:.6g}{self._range(0)}"
        return "\n".join([f"{self.query} = {text}", *(f"warning: {w}" for w in self.warnings)])

    def _range(self, i: int) -> str:
        if self.estimate is None or np.isnan(self.estimate.errors[i]):
            return ""
        low, high = self.estimate.intervals[i]
        return f" ({100 * self.estimate.level:g}% interval {low:.4g} to {high:.4g})"


def _one_or_all(values: Floats) -> float | Floats:
    return float(values[0]) if len(values) == 1 else values


def _ends(intervals: Floats) -> tuple[float, float] | Floats:
    return (float(intervals[0, 0]), float(intervals[0, 1])) if len(intervals) == 1 else intervals


def graph(source: Any, syntax: Literal["auto", "arrows", "lavaan", "dagitty", "dot"] = "auto") -> Graph:
    """A graph from text in any syntax, from a file that holds such text, or from a networkx graph."""
    if isinstance(source, Graph):
        return source
    if isinstance(source, os.PathLike):
        return parse_graph(_text_of(Path(source)), syntax)
    if isinstance(source, str):
        if "\n" not in source and len(source) < 1024 and (_is_file(source) or _is_file_name(source)):
            return parse_graph(_text_of(Path(source)), syntax)
        return parse_graph(source, syntax)
    if hasattr(source, "is_directed"):
        return Graph.from_networkx(source)
    raise InputError(f"a graph is text, a path, or a networkx graph, not {type(source).__name__}")


def moments(data: Any, names: Sequence[str] | None = None, **options: Any) -> Moments:
    """The moments of data: arrays, frames of any library, files, DuckDB relations; see ``read_moments``."""
    return read_moments(data, names, **options)


def identify(source: Any, question: str | Query, **options: Any) -> Verdict:
    """Can the question be answered from the graph's observational distribution? From the graph alone."""
    chosen = graph(source)
    query = _query(question)
    check_query(query, chosen)
    return identification.identify(chosen, query, **options)


def fit(
    source: Any,
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    mean: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    divisor: Literal["n", "n-1"] = "n",
    weights: Any = None,
    missing: Literal["error", "drop"] = "error",
    method: Literal["em", "cgl-go"] = "em",
    noise: Noise | None = None,
    intercepts: Intercepts = "free",
    coefficients: Mapping[str, float | str] | None = None,
    starts: int | None = None,
    max_iter: int = 200,
    finish: bool = True,
    mask: Literal["edge", "ancestor"] = "edge",
    random_state: int = 0,
) -> Fit:
    """Fit the graph's model to data, or to a covariance with ``n`` (and ``mean``).

    An array without names is taken in the order of the graph's variables (``graph.observed``: of their first mention).
    ``cov`` is in the order of ``names``, or of the graph's variables, or carries names itself; its divisor is ``n``
    unless ``divisor="n-1"`` (as most published matrices). For the other options see ``halftrek.estimation.fit``.
    """
    chosen = graph(source)
    if (data is None) == (cov is None):
        raise DataError("give either data or cov with n, for instance ht.fit(g, data) or ht.fit(g, cov=S, n=412)")
    if isinstance(data, Moments) and names is None and weights is None and n is None and mean is None:
        read = data
    elif data is None:
        own = _has_names(cov)
        read = Moments.from_cov(
            cov, n, mean=mean, names=names if names is not None or own else chosen.observed, divisor=divisor
        )
    else:
        if n is not None or mean is not None:
            raise DataError("n and mean go with cov; data bring their own")
        unnamed = names is None and getattr(data, "ndim", 0) == 2 and not _has_names(data)
        if unnamed:
            _refuse_wrong_width(data, chosen)
        _refuse_covariance(data)
        columns = names if names is not None else chosen.observed
        read = read_moments(data, columns, weights=weights, missing=missing)
    fit_once = partial(
        estimation.fit,
        chosen,
        read,
        method=method,
        noise=noise,
        intercepts=intercepts,
        coefficients=coefficients,
        starts=starts,
        max_iter=max_iter,
        finish=finish,
        mask=mask,
        random_state=random_state,
    )
    found = fit_once()
    if (
        method == "em"
        and finish
        and any(d.code in ("flat", "no finite maximum", "not converged") for d in found.districts)
    ):
        start = _formula_values(found)
        again = fit_once(start=start) if start else found
        found = again if _better(again, found) else found
    return found


def _formula_values(fitted: Fit) -> dict[tuple[str, str], float]:
    """Coefficients of troubled districts by the formulas that identify them: a start where instruments are weak."""
    values = {}
    for report in fitted.districts:
        if report.code in ("flat", "no finite maximum", "not converged") and len(report.members) <= 12:
            for v in report.members:
                for u in fitted.graph.parents(v):
                    verdict = identification.identify(fitted.graph, DirectEffect(u, v), budget=0.2, witness=False)
                    if verdict.recipe is not None:
                        value = identification.solve(verdict.recipe, fitted.moments.cov, fitted.moments.names)
                        if isinstance(value, float) and np.isfinite(value):
                            values[u, v] = value
    return values


def _better(new: Fit, old: Fit) -> bool:
    """A higher likelihood, or the same with a maximum reached."""
    return new.loglik > old.loglik + 1e-9 or (new.converged > old.converged and new.loglik > old.loglik - 1e-6)


def fit_batch(source: Any, data_sets: Iterable[Any] | None = None, **options: Any) -> BatchFit:
    """Fit many data sets, or their moments, of one graph in one array program; see ``estimation.fit_batch``."""
    chosen = graph(source)
    if data_sets is None:
        return estimation.fit_batch(chosen, **options)
    sets = [d if isinstance(d, Moments) else read_moments(d, chosen.observed) for d in data_sets]
    return estimation.fit_batch(chosen, sets, **options)


def answer(
    fitted: Fit,
    question: str | Query,
    *,
    level: float = 0.95,
    information: Literal["expected", "observed"] = "expected",
) -> Answer:
    """The fitted model's answer with its uncertainty, if the graph allows one."""
    query = _query(question)
    check_query(query, fitted.graph)
    verdict = _verdict(fitted.graph, query)
    if not verdict.identified:
        raise NotIdentifiedError(verdict.explain(), verdict)
    involved = fitted.graph.ancestors(variables_of(query))
    notes = [r.warning for r in fitted.districts if r.warning and involved & set(r.members)]
    if not fitted.converged and not notes and fitted.method != "em":
        notes.append(f"the fit did not reach a maximum: {fitted.status}")
    if fitted.moments.dropped:
        notes.append(f"{fitted.moments.dropped:,} rows with missing values were left out")
    if isinstance(query, Interventional) and not fitted.moments.has_mean:
        notes.append("no means were given with the covariance, so they count as zero: read means as deviations")
    result = evaluate(query, fitted.model)
    sure = estimate(fitted, query, result, level=level, information=information)
    if np.isnan(sure.errors).any():
        notes.append("at these estimates the data carry no information about this answer, so it has no interval")
    notes += _disagreement(fitted, query, verdict, sure)
    return Answer(query, result, verdict, tuple(notes), sure)


def _disagreement(fitted: Fit, query: Query, verdict: Verdict, sure: Estimate) -> list[str]:
    """A warning if the formula that identifies an effect and the whole model's estimate are far apart in these data.

    In a graph that is right both estimate the same number; the likelihood uses every equation, a formula only some.
    """
    if not isinstance(query, TotalEffect | DirectEffect | PathEffect) or verdict.recipe is None:
        return []
    formula = identification.solve(verdict.recipe, fitted.moments.cov, fitted.moments.names)
    value, error = float(sure.values[0]), float(sure.errors[0])
    if not isinstance(formula, float) or not abs(formula - value) > max(6.0 * error, 1e-6 * abs(value)):
        return []
    return [
        f"the formula alone gives {formula:.4g} on these data, the whole model {value:.4g}: the data contradict the "
        f"graph somewhere, see fit.measures()"
    ]


def measures_of(fitted: Fit) -> dict[str, Any]:
    """How well the fitted model reproduces the moments."""
    return measures(fitted).to_dict()


def answer_from_model(model: CGLSCM, question: str | Query) -> Answer:
    """The exact answer of a model whose parameters are known."""
    query = _query(question)
    return Answer(query, evaluate(query, model))


@lru_cache(maxsize=512)
def _verdict(chosen: Graph, query: Query) -> Verdict:
    return identification.identify(chosen, query)


def _query(question: str | Query) -> Query:
    if isinstance(question, str):
        return parse_question(question)
    if not isinstance(question, Query):
        raise QueryError(f"a question is text such as 'P(y | do(x=1))', not {type(question).__name__}")
    return question


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _is_file_name(text: str) -> bool:
    """True for one word with a file's ending, which nobody would call a variable."""
    return not text.strip().count(" ") and Path(text).suffix in (
        ".txt",
        ".dot",
        ".gv",
        ".dag",
        ".lav",
        ".lavaan",
        ".md",
    )


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the graph file {str(path)!r} cannot be read: {error}") from None


def _has_names(data: Any) -> bool:
    return getattr(data, "columns", None) is not None or getattr(data, "names", None) is not None


def _refuse_covariance(data: Any) -> None:
    """A square symmetric table is a covariance or correlation matrix, not rows."""
    shape: tuple[int, ...] = getattr(data, "shape", ())
    if len(shape) == 2 and 1 < shape[0] == shape[1] <= 500 and not isinstance(data, Rows):
        try:
            values = np.asarray(data, dtype=float)
        except (TypeError, ValueError):
            return
        if np.isfinite(values).all() and np.allclose(values, values.T, rtol=1e-6, atol=1e-12):
            raise DataError(
                "the data are a square symmetric matrix, a covariance by its looks: give it as "
                "ht.fit(graph, cov=matrix, n=number_of_rows)"
            )


def _refuse_wrong_width(data: Any, chosen: Graph) -> None:
    width = data.shape[1]
    if width != len(chosen):
        raise DataError(
            f"the array has {width} columns and the graph {len(chosen)} variables ({', '.join(chosen.observed[:8])}); "
            f"give names= for the columns"
        )
