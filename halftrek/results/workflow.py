"""The walk of one request: text and data in, an answer out; no mathematics here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from halftrek import estimation, identification
from halftrek.data import Moments, read_moments
from halftrek.errors import NotIdentifiedError
from halftrek.estimation import BatchFit, DistrictReport, Fit
from halftrek.estimation.data_kind import refit
from halftrek.estimation.options import Intercepts, Noise
from halftrek.estimation.status import troubles
from halftrek.frames import library_of
from halftrek.graphs import Graph
from halftrek.identification import Verdict
from halftrek.inference import How
from halftrek.inference.evidence.beside_formula import formula_notes
from halftrek.inference.evidence.few_valued import few_valued, refuse_few_valued, takes_normal
from halftrek.inference.evidence.rows_behind import coding_notes
from halftrek.inference.evidence.seen import seen_fit, seen_note
from halftrek.inference.how import asked
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.profiles.profile import higher_start
from halftrek.models import CGLSCM, Gaussian
from halftrek.notes import Note, note
from halftrek.queries import (
    Composite,
    Counterfactual,
    DirectEffect,
    Distribution,
    Interventional,
    Query,
    Statistic,
    TotalEffect,
    check_query,
    evaluate,
    variables_of,
)
from halftrek.queries.gradients import linearize
from halftrek.queries.seen import as_seen
from halftrek.results.answers import Answer
from halftrek.results.inputs import (
    is_grouped,
    read_categories,
    read_data,
    read_graph,
    read_grouped,
    read_question,
    read_rows,
    refuse_with_groups,
)
from halftrek.trust import Judged, judge

if TYPE_CHECKING:
    from halftrek.estimation.many.groups import GroupFits


def graph(source: Any, syntax: Literal["auto", "arrows", "lavaan", "dagitty", "dot"] = "auto") -> Graph:
    """A graph from text in any syntax, from a file that holds such text, or from a networkx graph."""
    return read_graph(source, syntax)


def moments(data: Any, names: Sequence[str] | None = None, **options: Any) -> Moments:
    """The moments of data: arrays, frames of any library, files, DuckDB relations; see ``read_moments``."""
    return read_moments(data, names, **options)


def identify(source: Any, question: str | Query, **options: Any) -> Verdict:
    """Can the question be answered from the graph's observational distribution? From the graph alone."""
    chosen = read_graph(source)
    query = read_question(question)
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
    sampling_weights: Any = None,
    categories: Mapping[str, Any] | None = None,
    missing: Literal["fiml", "drop", "error"] = "fiml",
    cluster: Any = None,
    by: Any = None,
    method: Literal["em", "cgl-go"] = "em",
    noise: Noise | None = None,
    intercepts: Intercepts = "free",
    coefficients: Mapping[str, float | str] | None = None,
    starts: int | None = None,
    max_iter: int | None = None,
    finish: bool | None = None,
    mask: Literal["edge", "ancestor"] | None = None,
    random_state: int = 0,
) -> Fit:
    """Fit the graph's model to data, or to a covariance with ``n`` (and ``mean``).

    An array without names is taken in the order of the graph's variables (``graph.observed``: of their first mention).
    ``cov`` is in the order of ``names``, or of the graph's variables, or carries names itself; its divisor is ``n``
    unless ``divisor="n-1"`` (as most published matrices).

    ``weights`` (a column, or one number for each row) count rows that are alike; ``sampling_weights`` say how large a
    share of a population each row stands for, and make errors robust. Texts such as yes and no are read as 1 and 0;
    ``categories={"region": "north"}`` replaces the variable ``region`` by indicators ``region=south`` and so on of its
    levels other than ``north``, each of which causes what ``region`` causes.

    ``cluster`` (a column, or one label for each row) says which
    rows belong together, for robust errors and the bootstrap. ``missing``: use every value that is there ("fiml", full
    information maximum likelihood), leave out rows with missing values ("drop"), or refuse them ("error"). For the
    other options see ``halftrek.estimation.fit``.

    ``by`` (a column, or one label for each row; or data that are moments by group, ``{"north": moments, ...}``) fits
    one model for each group and gives ``GroupFits``, see ``fit_groups``.
    """
    if by is not None or is_grouped(data):
        refuse_with_groups(
            cov=cov, n=n, mean=mean, names=names, divisor=divisor, cluster=cluster, method=method, finish=finish,
            mask=mask,
        )  # fmt: skip
        grouped: Any = fit_groups(
            source, data, by=by, weights=weights, sampling_weights=sampling_weights, categories=categories,
            missing=missing, noise=noise, intercepts=intercepts, coefficients=coefficients, starts=starts,
            max_iter=max_iter,
        )  # fmt: skip
        return grouped  # type: ignore[no-any-return]
    chosen, levels = read_categories(read_graph(source), data, names, categories)
    weighted: Any = {"weights": weights, "sampling_weights": sampling_weights, "categories": levels}
    read = read_data(chosen, data, cov=cov, n=n, mean=mean, names=names, divisor=divisor, missing=missing, **weighted)
    rows = read_rows(chosen, data, names=names, missing=missing, cluster=cluster, read=read, **weighted)
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
    if method == "em" and finish is not False and any(_troubled(d) for d in found.districts):
        start = _formula_values(found)
        again = fit_once(start=start) if start else found
        found = again if _better(again, found) else found
    library = library_of(data, cov)
    if library or rows is not None:
        found = replace(found, frame=library, rows=None if rows is None else rows.select(found.moments.names))
    return found


def fit_groups(
    source: Any,
    data: Any,
    *,
    by: Any = None,
    weights: Any = None,
    sampling_weights: Any = None,
    categories: Mapping[str, Any] | None = None,
    missing: Literal["fiml", "drop", "error"] = "fiml",
    noise: Noise | None = None,
    intercepts: Intercepts = "free",
    coefficients: Mapping[str, float | str] | None = None,
    starts: int | None = None,
    max_iter: int | None = None,
) -> GroupFits:
    """Fit the graph's model to every group of rows: complete groups in one array program, others one by one.

    ``by`` is a column of the data or one label for each row; without it ``data`` are moments by group. ``missing`` is
    as in ``fit``: full information in each group that has holes, unless rows with holes are left out or refused.
    """
    from halftrek.estimation.fit import MAX_ITER
    from halftrek.estimation.many.groups import fit_groups as fit_each

    chosen, levels = read_categories(read_graph(source), data, None, categories)
    groups, rows = read_grouped(
        chosen, data, by=by, weights=weights, sampling_weights=sampling_weights, categories=levels, missing=missing
    )
    found = fit_each(
        chosen, groups, noise=noise or "free", intercepts=intercepts, coefficients=coefficients, starts=starts,
        max_iter=max_iter or MAX_ITER, frame=library_of(data),
    )  # fmt: skip
    return replace(found, rows=rows)


def _troubled(district: DistrictReport) -> bool:
    """True if a district may have a higher maximum than the one that was found."""
    unsettled = district.code in ("flat", "no finite maximum", "not converged") or district.doubtful
    return unsettled and not (district.certain and district.code in ("converged", "flat", "boundary"))


def _formula_values(fitted: Fit) -> dict[tuple[str, str], float]:
    """Coefficients of troubled districts by the formulas that identify them: a start where others lead astray."""
    values = {}
    for report in fitted.districts:
        if _troubled(report) and len(report.members) <= 12:
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
    chosen = read_graph(source)
    if data_sets is None:
        return estimation.fit_batch(chosen, **options)
    sets = [d if isinstance(d, Moments) else read_moments(d, chosen.observed) for d in data_sets]
    return estimation.fit_batch(chosen, sets, **options)


def answer(fitted: Fit, question: str | Query, *, crude: bool = False, **uncertainty: Any) -> Answer:
    """The fitted model's answer with its uncertainty (options: see ``How``), if the graph allows one.

    ``crude`` sets beside it what the rows say without the graph.
    """
    how = how_of(**uncertainty)
    query = read_question(question)
    check_query(query, fitted.graph)
    refuse_few_valued(fitted, query)
    verdict = verdict_of(fitted.graph, query)
    if not verdict.identified:
        raise NotIdentifiedError(verdict.explain(), verdict)
    result = evaluate(query, fitted.model)
    judged = judge(fitted, query, result, verdict, how)
    higher = _from_higher_ground(fitted, query, result, judged.notes)
    if higher is not None:
        found = answer(higher, query, crude=crude, **uncertainty)
        return replace(found, notes=(note("higher maximum", higher=higher.loglik - fitted.loglik), *found.notes))
    said = _beside(fitted, query, result, verdict, judged)
    notes = (*_about_the_fit(fitted, query), *few_valued(fitted, query, result), *judged.notes, *said)
    beside = crude_of(fitted, query, **uncertainty) if crude else None
    outcome = _outcome(query, fitted.model) if takes_normal(fitted, query) else None
    return Answer(query, result, verdict, notes, judged.estimate, outcome, fitted.n, beside)


def _from_higher_ground(fitted: Fit, query: Query, result: float | Gaussian, notes: Iterable[Note]) -> Fit | None:
    """The fit begun again where the profile of an answer saw a higher likelihood; None if it saw none."""
    if fitted.method != "em" or not any(n.code == "short of the maximum" for n in notes):
        return None
    start = higher_start(fitted, query, len(result.mean) if isinstance(result, Gaussian) else 1)
    if start is None:
        return None
    held = fitted.options
    again = refit(fitted, fitted.graph, noise=dict(held.noise), intercepts=dict(held.intercepts), start=start)
    return again if _better(again, fitted) else None


def _beside(fitted: Fit, query: Query, result: float | Gaussian, verdict: Verdict, judged: Judged) -> tuple[Note, ...]:
    """What the formula, or the rows without the graph, say instead of the whole model."""
    if verdict.method == "observed":
        found = seen_note(fitted, query, result)
        return () if found is None else (found,)
    by_rows = judged.estimate.kind in ("robust", "jackknife", "bootstrap")
    rejected = any(n.code in ("misfit", "contradicted", "contradicted, one of several") for n in judged.notes)
    return formula_notes(fitted, query, verdict.recipe, robust=by_rows, rejected=rejected)


def crude_of(fitted: Fit, query: Query, **uncertainty: Any) -> Answer:
    """The question with seeing in the place of doing, asked of the rows without the graph."""
    seen = as_seen(query)
    if not isinstance(query, TotalEffect | DirectEffect):
        return answer(seen_fit(fitted, sorted(variables_of(seen))), seen, **uncertainty)
    alone = seen_fit(fitted, (query.cause, query.effect))
    slope = answer(alone, DirectEffect(query.cause, query.effect), **uncertainty)  # a regression, with its interval
    return replace(slope, query=seen, verdict=verdict_of(alone.graph, seen))


def how_of(**uncertainty: Any) -> How:
    """Options of uncertainty; where no kind of interval is asked for, the judge chooses."""
    return asked(**uncertainty)


def _about_the_fit(fitted: Fit, query: Query) -> list[Note]:
    """What to know of the fit and its data before trusting an answer."""
    notes = list(troubles(fitted.status, fitted.districts, fitted.graph.ancestors(variables_of(query))))
    if kind_of_data(fitted).sentence(fitted):
        notes.append(note("missing values", text=kind_of_data(fitted).sentence(fitted)))
    if fitted.moments.dropped:
        notes.append(note("rows left out", rows=fitted.moments.dropped))
    if not fitted.moments.has_mean and _needs_means(query, fitted.model):
        notes.append(note("no means"))
    return [*notes, *coding_notes(fitted, variables_of(query))]


def _needs_means(query: Query, model: CGLSCM) -> bool:
    """True if the answer moves with the means of variables, not with effects and covariances alone."""
    if isinstance(query, Interventional | Counterfactual | Distribution):
        return True
    return isinstance(query, Composite) and bool(linearize(query, model).values[0].mean.any())


def _outcome(query: Query, model: CGLSCM) -> Gaussian | None:
    """The distribution whose mean is asked for, if a mean is."""
    if not (isinstance(query, Statistic) and query.kind == "E") or query.case.events:
        return None
    found = evaluate(Distribution(query.of, query.case), model)
    return found if isinstance(found, Gaussian) else None


def answer_from_model(model: CGLSCM, question: str | Query) -> Answer:
    """The exact answer of a model whose parameters are known."""
    query = read_question(question)
    return Answer(query, evaluate(query, model), outcome=_outcome(query, model))


@lru_cache(maxsize=512)
def verdict_of(chosen: Graph, query: Query) -> Verdict:
    return identification.identify(chosen, query)
