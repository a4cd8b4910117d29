"""Models of the same variables side by side: likelihoods, criteria, tests of nested ones, one question under each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Literal, Unpack

import numpy as np

from halftrek.bottom.calls import public
from halftrek.bottom.frames import Frame, as_frame
from halftrek.bottom.portable import Portable
from halftrek.comparison.nesting import contained
from halftrek.data import Moments, Patterns
from halftrek.errors import DataError, HalftrekError, InputError
from halftrek.estimation.given.data_kind import data_of
from halftrek.inference import Measures, measures
from halftrek.inference.checks.robust_fit import measures_by_units, ratio_mixture
from halftrek.inference.information.robust import counts_units
from halftrek.notes import Note, in_short
from halftrek.queries import Query, check_query
from halftrek.results.answering import answer
from halftrek.results.fit import Fit
from halftrek.results.given.inputs import read_graph, read_question
from halftrek.results.workflow import Fitting, fit
from halftrek.upward import Tabled


@dataclass(frozen=True)
class Compared:
    """One model: criteria, differences to the best, and Akaike weight."""

    name: str
    loglik: float
    parameters: int
    df: int
    chi2: float
    p: float
    aic: float
    bic: float
    delta_aic: float
    delta_bic: float
    weight: float


@dataclass(frozen=True)
class Nested:
    """A likelihood-ratio test of a smaller model inside a larger one; equal dimensions: data cannot tell them apart.

    ``test``: "robust" needs no normal data, and counts clusters; its statistic is scaled.
    """

    smaller: str
    larger: str
    statistic: float
    df: int
    p: float
    verdict: str
    test: Literal["likelihood ratio", "robust"] = "likelihood ratio"


@dataclass(frozen=True)
class Asked:
    """The answer to the question under one model; nan with a reason where there is none."""

    name: str
    outcome: str
    estimate: float
    se: float
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Portable, Tabled):
    """``frame``: one row for each model; ``tests``: nested pairs; ``answers``: the question under each model."""

    models: tuple[Compared, ...]
    nested: tuple[Nested, ...]
    asked: tuple[Asked, ...] = ()
    query: Query | None = None
    unrelated: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    library: str = ""

    @property
    def frame(self) -> Any:
        """A tidy frame of all models, best AIC first."""
        return _frame(self.models, Compared, self.library)

    @property
    def tests(self) -> Any:
        """A tidy frame of likelihood-ratio tests."""
        return _frame(self.nested, Nested, self.library)

    @property
    def answers(self) -> Any:
        """A tidy frame of the question's estimate under each model."""
        return _frame(self.asked, Asked, self.library)

    def to_frame(self) -> Any:
        """The same as ``frame``."""
        return self.frame

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


@public
def compare(
    models: Mapping[str, object],
    data: object = None,
    query: str | Query | None = None,
    *,
    level: float = 0.95,
    robust: bool | None = None,
    **fitting: Unpack[Fitting],
) -> Comparison:
    """Compare fits, or graphs that are fitted to ``data``; all must have the same observed variables.

    Weights are Akaike weights. A model lies inside another if its edges do, or if the other reproduces its covariances
    near the estimates. Degrees of freedom count what data determine. ``robust``: tests from the spread over independent
    units (rows, or clusters), for data that are not normal; left out: where rows are in clusters. ``fitting`` are
    options of ``ht.fit`` for graphs, such as ``cluster=``. ``level`` is for the answers to ``query``.
    """
    if query is None and level != 0.95:
        raise InputError(f"level={level:g} is for the intervals of a question, and none is asked: leave it out")
    fits = _alike(_fits(models, data, fitting))
    by_units = all(counts_units(one, robust, "compare()") for one in fits.values())
    found = {name: measures_by_units(one)[0] if by_units else measures(one) for name, one in fits.items()}
    warnings = _different_data(fits)
    nested, unrelated = ((), ()) if warnings else _nested(fits, found, by_units)
    warnings += (str(Note("criteria of clusters")),) if by_units and not warnings and _clustered(fits) else ()
    question = None if query is None else read_question(query)
    asked = () if question is None else tuple(a for n, f in fits.items() for a in _ask(n, f, question, level))
    warnings += tuple(f"{n}: {f.status}" for n, f in fits.items() if not f.converged)
    library = next((f.frame for f in fits.values() if f.frame), "")
    return Comparison(_compared(found), nested, asked, question, unrelated, warnings, library)


def _fits(models: Mapping[str, object], data: object, fitting: Fitting) -> dict[str, Fit]:
    if not isinstance(models, Mapping) or len(models) < 2:
        raise InputError('give at least two models by name, for instance ht.compare({"a": fit_a, "b": fit_b})')
    fits: dict[str, Fit] = {}
    for name, one in models.items():
        if isinstance(one, Fit):
            fits[str(name)] = one
        elif data is None:
            raise InputError(f"{name!r} is a graph, not a fit: give data= to fit it to")
        else:
            fits[str(name)] = fit(read_graph(one), data, **fitting)
    if fitting and all(isinstance(one, Fit) for one in models.values()):
        raise InputError(f"{', '.join(fitting)} is for graphs that are fitted here, and all models are fits already")
    if data is not None and all(isinstance(one, Fit) for one in models.values()):
        raise InputError("data are for graphs, and all models are fitted already: leave data out")
    for name, one in fits.items():
        if one.moments.layer is not None or one.acting is not None:
            raise InputError(
                f"{name!r} has columns that are ordered or ranked, or that act: likelihoods are not comparable there. "
                f"Ask each for fit.measures() and fit.tests()"
            )
    first, *others = fits
    for name in others:
        lone = sorted(set(fits[first].graph.observed) ^ set(fits[name].graph.observed))
        if lone:
            raise DataError(
                f"{first!r} and {name!r} have different observed variables ({', '.join(lone[:6])} in one only), so "
                f"their likelihoods cannot be compared; add the variable to the other graph, with or without edges"
            )
    return fits


def _clustered(fits: Mapping[str, Fit]) -> bool:
    return any(one.rows is not None and one.rows.cluster is not None for one in fits.values())


def _alike(fits: dict[str, Fit]) -> dict[str, Fit]:
    """Rows that are in clusters for one model are so for all."""
    known = [one.rows for one in fits.values() if one.rows is not None and one.rows.cluster is not None]
    if not known or _different_data(fits):
        return fits
    return {
        name: one if one.rows is not None and one.rows.cluster is not None
        else replace(one, rows=known[0].select(one.moments.names))
        for name, one in fits.items()
    }  # fmt: skip


def _different_data(fits: Mapping[str, Fit]) -> tuple[str, ...]:
    first, *others = fits.values()
    if all(_same_data(first, one) for one in others):
        return ()
    return ("the models were fitted to different data; likelihoods, AIC and BIC cannot be compared",)


def _same_data(first: Fit, second: Fit) -> bool:
    """Up to rounding and the order of variables; with missing values by pattern, which no fit has filled in."""
    names = first.graph.observed
    a, b = (data_of(f).select(names) for f in (first, second))
    if isinstance(a, Patterns) and isinstance(b, Patterns):
        if not (np.array_equal(a.observed, b.observed) and np.array_equal(a.rows, b.rows)):
            return False
        variance = a.available[1]
    elif isinstance(a, Moments) and isinstance(b, Moments):
        variance = np.diag(a.cov)
    else:
        return False
    scale = np.sqrt(variance)
    return (
        bool(np.allclose(a.n, b.n, rtol=1e-9, atol=0.0))
        and bool(np.allclose(a.cov / np.outer(scale, scale), b.cov / np.outer(scale, scale), atol=1e-8, rtol=0.0))
        and bool(np.allclose(a.mean / scale, b.mean / scale, atol=1e-8, rtol=1e-8))
    )


def _compared(found: Mapping[str, Measures]) -> tuple[Compared, ...]:
    aic, bic = min(m.aic for m in found.values()), min(m.bic for m in found.values())
    raw = {name: float(np.exp(-0.5 * (m.aic - aic))) for name, m in found.items()}
    rows = [
        Compared(
            name, m.loglik, m.parameters, m.df, m.chi2, float("nan") if m.pvalue is None else m.pvalue, m.aic, m.bic,
            m.aic - aic, m.bic - bic, raw[name] / sum(raw.values()),
        )
        for name, m in found.items()
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda r: r.aic))


def _nested(
    fits: Mapping[str, Fit], found: Mapping[str, Measures], by_units: bool
) -> tuple[tuple[Nested, ...], tuple[tuple[str, str], ...]]:
    from scipy.special import chdtrc

    tests: list[Nested] = []
    related: set[frozenset[str]] = set()
    for small, large in permutations(fits, 2):
        if frozenset((small, large)) in related or found[small].parameters > found[large].parameters:
            continue
        if not contained(fits[small], fits[large]):
            continue
        related.add(frozenset((small, large)))
        df = found[large].parameters - found[small].parameters
        statistic = max(0.0, 2.0 * (fits[large].loglik - fits[small].loglik))
        if df == 0:
            tests.append(Nested(small, large, statistic, 0, float("nan"), "same covariances: data cannot tell"))
            continue
        spread = ratio_mixture(fits[small], fits[large]) if by_units else None
        p = float(chdtrc(df, statistic)) if spread is None else spread.p(statistic)
        verdict = "smaller contradicted" if p < 0.05 else "smaller suffices"
        if spread is None:
            tests.append(Nested(small, large, statistic, df, p, verdict))
        else:
            tests.append(Nested(small, large, statistic / spread.scaling, df, p, verdict, "robust"))
    names = list(fits)
    apart = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if frozenset((a, b)) not in related]
    return tuple(tests), tuple(apart)


def _ask(name: str, one: Fit, query: Query, level: float) -> list[Asked]:
    nan = float("nan")
    try:
        check_query(query, one.graph)
        found = answer(one, query, level=level)
    except HalftrekError as error:
        return [Asked(name, "", nan, nan, nan, nan, str(error).splitlines()[0])]
    outcomes = [""] if found.distribution is None else list(found.distribution.names)
    sure = found.estimate
    values = np.atleast_1d(np.asarray(found.value, dtype=float))
    said = in_short(n for n in found.notes if n.level in ("doubt", "warning"))
    rows = []
    for k, outcome in enumerate(outcomes):
        se, (low, high) = (nan, (nan, nan)) if sure is None else (float(sure.errors[k]), sure.intervals[k])
        rows.append(Asked(name, str(outcome), float(values[k]), se, float(low), float(high), said))
    return rows


def _frame(rows: tuple[object, ...], kind: type, library: str) -> Frame:
    from dataclasses import fields

    return as_frame({f.name: [getattr(r, f.name) for r in rows] for f in fields(kind)}, library)
