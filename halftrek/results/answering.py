"""From a fit and a question to an answer; no mathematics here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Unpack

from halftrek import identification, upward
from halftrek.errors import InputError, NotIdentifiedError, QueryError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import refit
from halftrek.estimation.status import troubles
from halftrek.graphs import Edge, Graph
from halftrek.graphs.as_written import Written
from halftrek.graphs.hidden import scaled_by
from halftrek.identification import Verdict, Witness
from halftrek.identification.hidden.solutions import real_answers
from halftrek.inference import How
from halftrek.inference.evidence.beside_formula import formula_notes
from halftrek.inference.evidence.few_valued import few_valued, refuse_few_valued, takes_normal
from halftrek.inference.evidence.layered import acting_notes, layer_notes, unsaid_notes
from halftrek.inference.evidence.rows_behind import coding_notes
from halftrek.inference.how import Watched, asked
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.kept import kept
from halftrek.models import CGLSCM, Gaussian
from halftrek.notes import Note, note, rows_left_out
from halftrek.queries import (
    Composite,
    DirectEffect,
    Distribution,
    Query,
    Standardized,
    Statistic,
    TotalEffect,
    evaluate,
    variables_of,
)
from halftrek.queries.gradients import linearize
from halftrek.results.answers import BY_LIKELIHOOD, Answer, Refusal, Several
from halftrek.results.given.inputs import read_question
from halftrek.results.given.reading import asked_of
from halftrek.trust import Judged, judge
from halftrek.trust.judge import judge_acting

SEARCHED = 10  # variables up to which all values of an answer with finitely many are looked for


def answer(fitted: Fitted, question: str | Query, *, crude: bool = False, **uncertainty: Unpack[Watched]) -> Answer:
    """The fitted model's answer with its uncertainty (options: see ``How``), if the graph allows one.

    ``crude`` sets beside it what the rows say without the graph.
    """
    how = how_of(**uncertainty)
    query, verdict = asked_of(fitted.graph, question)
    fitted = speaking(fitted, verdict.graph)
    if fitted.acting is None:
        refuse_few_valued(fitted, query)
    if not verdict.answerable:
        refused = refusal(fitted, query, verdict)
        raise NotIdentifiedError(refused.explain(), refused.verdict, refused)
    if fitted.acting is not None:
        if crude:
            raise InputError("crude= is not known where a category acts: leave it out")
        return _where_acting(fitted, query, verdict, how)
    result = value_in(fitted, query)
    judged = judge(fitted, query, result, verdict, how)
    higher = _from_higher_ground(fitted, query, result, judged.notes)
    if higher is not None:
        found = answer(higher, query, crude=crude, **uncertainty)
        return replace(found, notes=(note("higher maximum", higher=higher.loglik - fitted.loglik), *found.notes))
    notes = _findings(fitted, query, result, verdict, judged)
    beside = crude_of(fitted, query, **uncertainty) if crude else None
    normal = fitted.moments.layer is None and takes_normal(fitted, query)
    outcome = _outcome(query, fitted.model) if normal else None
    return Answer(query, result, verdict, notes, judged.estimate, outcome, fitted.n, beside, fitted.frame)


def _where_acting(fitted: Fitted, query: Query, verdict: Verdict, how: How) -> Answer:
    """The answer of a fit in which categories act; every interval is judged."""
    from halftrek.inference.evidence.error_units import refuse_open_units
    from halftrek.inference.evidence.separated import refuse_run_off
    from halftrek.inference.standard_errors.acting import value_where_acting

    refuse_open_units(fitted, query)
    refuse_run_off(fitted, query)
    value = value_where_acting(fitted, query)
    judged = judge_acting(fitted, query, value, verdict, how)
    missing = "" if fitted.acting is None else fitted.acting.missing
    holes = [note("missing values", text=missing)] if missing else []
    holes += [rows_left_out(fitted.moments.dropped)] if fitted.moments.dropped else []
    coded = coding_notes(fitted, variables_of(query))
    notes = (*holes, *coded, *acting_notes(fitted, query), *unsaid_notes(fitted, query), *judged.notes)
    kept_reasons = tuple(r for r in verdict.reasons if not r.startswith("In a linear model "))
    plain = replace(verdict, estimand=None, latex=None, reasons=(*kept_reasons, BY_LIKELIHOOD))  # none in covariances
    return Answer(query, value, plain, notes, judged.estimate, None, fitted.n, None, fitted.frame)


def value_in(fitted: Fitted, query: Query) -> float | Gaussian:
    """What a fitted model answers, on the scale of the columns."""
    layer = fitted.moments.layer
    if layer is None:
        return evaluate(query, fitted.model)
    from halftrek.queries.observed.values import observed

    return observed(query, fitted.model, layer, slopes=False).result


def speaking(fitted: Fitted, graph: Graph) -> Fitted:
    """The fit whose graph has hidden causes that are asked about as variables of their own; nearly always the fit."""
    return fitted if graph.hidden == fitted.graph.hidden else _speaking(fitted, Written(graph))


@kept
def _speaking(fitted: Fitted, written: Written) -> Fitted:
    if fitted.options.noise or fitted.options.intercepts or fitted.acting is not None or fitted.method == "dwls":
        raise QueryError(
            "a hidden cause without causes of its own can be asked about where variances, intercepts and kinds are the "
            "graph's; say its scale in the graph, for instance 'variance F [1]', and fit again"
        )
    return refit(fitted, written.graph)


def better(new: Fitted, old: Fitted) -> bool:
    """A higher likelihood, or the same with a maximum reached."""
    return new.loglik > old.loglik + 1e-9 or (new.converged > old.converged and new.loglik > old.loglik - 1e-6)


def refusal(fitted: Fitted, query: Query, verdict: Verdict) -> Answer:
    """What there is instead of one number: values that fit equally well, finitely many or the set of them.

    Its verdict has two models with the fitted covariance, in place of two at random.
    """
    result: Several | Refusal = Refusal()
    plain = fitted.moments.layer is None and fitted.acting is None
    if verdict.status == "finite" and fitted.acting is None and len(fitted.graph) <= SEARCHED:
        data = fitted.moments
        found = identification.real_values(fitted.graph, _behind(fitted, query), data.cov, data.names)
        if len(found) > 1 and all(len(values) == 1 for values in found):
            result = Several(tuple(value for (value,) in found))
            if plain and not fitted.graph.hidden:
                verdict = _with_own(verdict, upward.left(fitted, query).witness)
    if verdict.status == "locally identified" and fitted.moments.layer is None:
        met = real_answers(fitted.graph, query, fitted.model)
        result = Several(tuple(met)) if len(met) > 1 else result
    layered = fitted.moments.layer is not None and fitted.rows is not None and not fitted.graph.hidden
    if verdict.status == "not identified" and (plain or layered):
        left = upward.left(fitted, query)
        result = Refusal(left.bounds)
        verdict = _with_own(verdict, left.witness)
    if not plain:
        from halftrek.results.sets.where_acting import refused_where_acting, with_kinds  # here, for few need it

        open_ = fitted.acting is not None and verdict.status == "not identified"
        verdict = refused_where_acting(fitted, verdict) if open_ else with_kinds(fitted, verdict)
    return Answer(query, result, verdict, n=fitted.n, library=fitted.frame)


def _behind(fitted: Fitted, query: Query) -> Query:
    """The question about the variables of the model, which are behind the columns where these are of other kinds."""
    layer = fitted.moments.layer
    if layer is None:
        return query
    from halftrek.queries.observed.values import behind_question

    return behind_question(query, layer)


def _with_own(verdict: Verdict, witness: Witness | None) -> Verdict:
    return verdict if witness is None else replace(verdict, witness=witness)


def _from_higher_ground(fitted: Fitted, query: Query, result: float | Gaussian, notes: Iterable[Note]) -> Fitted | None:
    """The fit begun again where the profile of an answer saw a higher likelihood; None if it saw none."""
    if fitted.method != "em" or not any(n.code == "short of the maximum" for n in notes):
        return None
    from halftrek.inference.profiles.profile import higher_start

    start = higher_start(fitted, query, len(result.mean) if isinstance(result, Gaussian) else 1)
    if start is None:
        return None
    held = fitted.options
    again = refit(fitted, fitted.graph, noise=dict(held.noise), intercepts=dict(held.intercepts), start=start)
    return again if better(again, fitted) else None


@kept
def _findings(
    fitted: Fitted, query: Query, result: float | Gaussian, verdict: Verdict, judged: Judged
) -> tuple[Note, ...]:
    """Everything that there is to know of an answer."""
    said = _beside(fitted, query, result, verdict, judged) if fitted.moments.layer is None else ()
    if verdict.status == "locally identified":
        said = (note("locally identified"), *said)
    said = (*said, *_scales(fitted.graph, query))
    return (
        *about_the_fit(fitted, query),
        *layer_notes(fitted, query),
        *unsaid_notes(fitted, query),
        *few_valued(fitted, query, result),
        *judged.notes,
        *said,
    )


def _scales(graph: Graph, query: Query) -> Iterable[Note]:
    """On which scale each hidden variable of a question is; what is standardised has none."""
    for v in dict.fromkeys(variables_of(query)):
        if v in graph.hidden and not isinstance(query, Standardized):
            marker = scaled_by(graph, v)
            if marker is None:
                yield note("scale by variance", hidden=v)
            else:
                yield note("scale by marker", hidden=v, marker=marker, weight=graph.known[Edge(v, "->", marker)])


def _beside(
    fitted: Fitted, query: Query, result: float | Gaussian, verdict: Verdict, judged: Judged
) -> tuple[Note, ...]:
    """What the formula, or the rows without the graph, say instead of the whole model."""
    if verdict.method == "observed":
        from halftrek.inference.evidence.seen import seen_note

        found = seen_note(fitted, query, result)
        return () if found is None else (found,)
    by_rows = judged.estimate.kind in ("robust", "jackknife", "bootstrap")
    rejected = any(n.code in ("misfit", "contradicted", "contradicted, one of several") for n in judged.notes)
    return formula_notes(fitted, query, verdict.recipe, robust=by_rows, rejected=rejected)


def crude_of(fitted: Fitted, query: Query, **uncertainty: Unpack[Watched]) -> Answer:
    """The question with seeing in the place of doing, asked of the rows without the graph."""
    from halftrek.inference.evidence.seen import seen_fit
    from halftrek.queries.seen import as_seen

    for v in variables_of(query):
        if v in fitted.graph.hidden:
            raise QueryError(f"crude=True compares {query} with what the rows say, and {v!r} is hidden; leave it out")
    seen = as_seen(query)
    if not isinstance(query, TotalEffect | DirectEffect):
        return answer(seen_fit(fitted, sorted(variables_of(seen))), seen, **uncertainty)
    alone = seen_fit(fitted, (query.cause, query.effect))
    slope = answer(alone, DirectEffect(query.cause, query.effect), **uncertainty)  # a regression, with its interval
    return replace(slope, query=seen, verdict=verdict_of(alone.graph, seen))


def how_of(**uncertainty: Unpack[Watched]) -> How:
    """Options of uncertainty; where no kind of interval is asked for, the judge chooses."""
    return asked(**uncertainty)


def about_the_fit(fitted: Fitted, query: Query) -> list[Note]:
    """What to know of the fit and its data before trusting an answer."""
    notes = list(troubles(fitted.status, fitted.districts, fitted.graph.ancestors(variables_of(query))))
    if missing := kind_of_data(fitted).sentence(fitted):
        notes.append(note("missing values", text=missing))
    if fitted.moments.dropped:
        notes.append(rows_left_out(fitted.moments.dropped))
    if not fitted.moments.has_mean and _needs_means(query, fitted.model):
        notes.append(note("no means"))
    return [*notes, *coding_notes(fitted, variables_of(query))]


def _needs_means(query: Query, model: CGLSCM) -> bool:
    """True if the answer moves with the means of variables, not with effects and covariances alone."""
    if isinstance(query, Distribution):
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


def identified(graph: Graph, question: str | Query) -> Query:
    """A question that can be answered; NotIdentifiedError if it cannot be."""
    query, verdict = asked_of(graph, question)
    if not verdict.answerable:
        raise NotIdentifiedError(verdict.explain(), verdict)
    return query


def verdict_of(graph: Graph, query: Query) -> Verdict:
    """Whether a question can be answered."""
    return asked_of(graph, query)[1]
