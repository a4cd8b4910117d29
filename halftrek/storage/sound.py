"""Whether the parts of a value in a file, each of its kind, belong together: shapes, names, what numbers can be.

What constructors refuse is left to them. A digest shows damage, not malice or a careless editor: a value that is loaded
must not fail later, far from the file that is to blame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from halftrek.data import Moments, Patterns, RowReader
from halftrek.data.by_group.groups import GroupMoments
from halftrek.data.columns.kinds import Kind
from halftrek.data.weights import Counted, Sampled
from halftrek.estimation import BatchFit, Fitted
from halftrek.estimation.acts.fit import Acting
from halftrek.estimation.given.options import Options
from halftrek.estimation.many.groups import FittedGroups
from halftrek.estimation.status import DistrictReport
from halftrek.graphs import Graph
from halftrek.identification import Verdict
from halftrek.identification.beside.next_steps import NextStep
from halftrek.identification.local.witness import Witness
from halftrek.identification.recipes.recipe import LinearStep, Recipe, inputs_of, outputs_of, variables_used
from halftrek.inference.intervals.base import Estimate
from halftrek.layer import Layer, Margin
from halftrek.models import CGLSCM, GLSCM, Gaussian, Rows
from halftrek.notes import Note
from halftrek.notes.words import ASKS
from halftrek.queries import check_query
from halftrek.results.answers import Answer, Several
from halftrek.results.fit import Fit
from halftrek.results.groups import GroupFits
from halftrek.results.sets.bounds import Bounds
from halftrek.storage.demands import covariance, finite, must, named, number, shaped
from halftrek.storage.malformed import Malformed
from halftrek.storage.sound_layers import sound_acting, sound_layer, sound_margin
from halftrek.storage.sound_questions import question_checks


def refuse_unsound(value: object) -> None:
    """Raise for parts that do not belong together."""
    check = _CHECKS.get(type(value))
    if check is not None:
        check(value)


# -- data ------------------------------------------------------------------------------------------


def _note(note: Note) -> None:
    try:
        for front in ASKS:
            note.words(front)
        _ = note.why, note.short, hash(note)
    except Exception:  # a format asks for facts that are not there, or are of another kind
        raise Malformed(f"the note {note.code!r} has facts that do not belong to it") from None


def _kind(kind: Kind) -> None:
    for value in kind.values or ():
        number(value, "a value of a column")
    number(kind.least, "the least value of a column")


def _weighting(weighting: Counted | Sampled) -> None:
    for name, value in vars(weighting).items():
        number(value, f"the {name} of the weights", above=0.0)


def _moments(moments: Moments) -> None:
    must(moments.dropped >= 0, f"the number of rows left out cannot be {moments.dropped}")
    covariance(moments.cov, "cov")


def _patterns(patterns: Patterns) -> None:
    p, k = len(patterns.names), len(patterns.n)
    named(patterns.names, "names")
    must(p > 0 and k > 0, "there are no columns or no rows")
    for name, shape in (("observed", (k, p)), ("rows", (k,)), ("n", (k,)), ("mean", (k, p))):
        shaped(getattr(patterns, name), shape, name)
    several = int((patterns.rows > 1).sum())
    must(several <= len(patterns.cov) <= k, f"cov has {len(patterns.cov)} matrices for {several} patterns")
    shaped(patterns.cov, (len(patterns.cov), p, p), "cov")
    for name in ("n", "mean", "cov"):
        finite(getattr(patterns, name), name)
    must((patterns.rows >= 1).all() and (patterns.n > 0.0).all(), "a pattern has no rows")
    must(patterns.observed.any(axis=0).all(), "no row has a value of some column")
    must(patterns.observed.any(axis=1).all(), "a pattern has no values")
    must(patterns.empty >= 0, f"the number of empty rows cannot be {patterns.empty}")
    must(patterns.left_out >= 0, f"the number of values left out cannot be {patterns.left_out}")
    must(patterns.kinds is None or len(patterns.kinds) == p, "kinds are not one for each name")
    covariance(patterns.cov, "cov")


def _group_moments(groups: GroupMoments) -> None:
    b, p = len(groups.keys), len(groups.names)
    named(groups.names, "names")
    must(b > 0 and p > 0, "there are no groups or no columns")
    must(len(set(groups.keys)) == b, "a group is named twice")
    parts = [len(key) if isinstance(key, tuple) else 0 for key in groups.keys]
    must(not groups.by or all(k == len(groups.by) for k in parts), "a group has not one label for each column")
    for name, shape in (("n", (b,)), ("mean", (b, p)), ("cov", (b, p, p)), ("dropped", (b,))):
        shaped(getattr(groups, name), shape, name)
    must(groups.kinds is None or len(groups.kinds) == p, "kinds are not one for each name")
    must(groups.weighting is None or len(groups.weighting) == b, "weighting is not one for each group")
    _places((*groups.patterns, *groups.troubles), b)
    must(not set(groups.patterns) & set(groups.troubles), "a group has patterns and troubles")
    for patterns in groups.patterns.values():
        must(patterns.names == groups.names, "the patterns of a group have other names")
    whole = [i for i in range(b) if i not in groups.patterns and i not in groups.troubles]
    for name in ("n", "mean", "cov"):
        finite(getattr(groups, name)[whole], name)
    must((groups.n[whole] > 0.0).all() and (groups.dropped >= 0).all(), "a number of rows is negative or zero")
    covariance(groups.cov[whole], "cov")


def _places(places: Iterable[int], count: int) -> None:
    for i in places:
        must(0 <= i < count, f"there is no group at the place {i}")


def _reader(reader: RowReader) -> None:
    must(len(reader.names) > 0, "rows have no columns")
    number(reader.sampling, "sampling", above=0.0)
    source = reader.source
    if isinstance(source, np.ndarray):
        must(source.ndim == 2, "the rows are not a table")
    if isinstance(source, Rows) and source.names is not None:
        must(set(reader.columns or reader.names) <= set(source.names), "the rows lack a column of the fit")
    columns = source if isinstance(source, Mapping) else {}
    for name, part in {"weights": reader.weights, "cluster": reader.cluster, **columns}.items():
        if isinstance(part, np.ndarray):
            must(part.ndim == 1, f"{name} are not one for each row")
            if isinstance(source, np.ndarray):
                shaped(part, (len(source),), name)


# -- models ------------------------------------------------------------------------------------------


def _gaussian(gaussian: Gaussian) -> None:
    p = len(gaussian.names)
    shaped(gaussian.mean, (p,), "mean")
    shaped(gaussian.cov, (p, p), "cov")
    finite(gaussian.mean, "mean")
    finite(gaussian.cov, "cov")
    must(p > 0, "there are no variables")


def _model(model: CGLSCM) -> None:
    must(bool(model.names), "there are no variables")
    named((*model.names, *model.latents), "names")
    _same_names(model.names, model.graph, "the model")
    must(set(model.latents) == set(model.graph.latents), "the hidden causes are not those of the graph")
    arrows = {(u, v) for u, v in model.graph.directed}
    beyond = [(i, j) for i, j in np.argwhere(model.T) if (model.names[i], model.names[j]) not in arrows]
    if beyond:  # a model may be wider than its graph, but not have a cycle
        Graph([(model.names[i], model.names[j]) for i, j in np.argwhere(model.T)], observed=model.names)
    covariance(model.W, "W")
    with np.errstate(over="ignore", invalid="ignore"):
        finite(model.cov, "the implied covariance")
        finite(model.mean, "the implied mean")


def _general(model: GLSCM) -> None:
    named((*model.names, *model.latents), "names")
    _model(model.centralize())


def _same_names(names: tuple[str, ...], graph: Graph, what: str) -> None:
    must(set(names) == set(graph.nodes), f"{what} has other variables than the graph")


def _batch(batch: BatchFit) -> None:
    b, p, q = len(batch.loglik), len(batch.names), len(batch.latents)
    _same_names(batch.names, batch.graph, "the batch")
    must(len(set(batch.names)) == p, "names names a variable twice")
    must(set(batch.latents) == set(batch.graph.latents), "the hidden causes are not those of the graph")
    for name, shape in (("T", (p, p)), ("C", (q, p)), ("W", (p, p)), ("mu", (p,)), ("loglik", ()), ("code", ())):
        shaped(getattr(batch, name), (b, *shape), name)
    known = ("converged", "flat", "boundary", "no finite maximum", "not converged", "failed")
    must(np.isin(batch.code, known).all(), "code holds a word that is none of a fit")
    there = batch.code != "failed"
    for name in ("T", "C", "W", "mu", "loglik"):
        finite(getattr(batch, name)[there], name)
    arrows = [(batch.names[i], batch.names[j]) for i, j in np.argwhere((np.nan_to_num(batch.T) != 0.0).any(axis=0))]
    Graph(arrows, observed=batch.names)
    covariance(batch.W[there], "W")


def _options(options: Options) -> None:
    for what, low in (("noise", 0.0), ("intercepts", -math.inf)):
        given = getattr(options, what)
        named((v for v, _ in given), what)
        for v, value in given:
            number(value, f"the fixed {what} of {v!r}", above=low)


def _report(report: DistrictReport) -> None:
    for name in ("iterations", "starts", "agreeing", "flat", "df"):
        number(getattr(report, name), name, least=0)
    number(report.deviance, "deviance")


def _known(names: Iterable[str], graph: Graph, what: str) -> None:
    for v in names:
        must(v in graph, f"{what} names {v!r}, which the graph does not have")


def _fit(fit: Fitted) -> None:
    observed = fit.graph.observed
    must(fit.moments.names == observed, "the moments have other names than the graph, or another order")
    must(fit.model.names == fit.graph.nodes, "the model has other names than the graph, or another order")
    must(fit.model.graph == fit.graph, "the model has another graph than the fit")
    must(fit.patterns is None or fit.patterns.names == observed, "the patterns have other names than the graph")
    must(math.isfinite(fit.loglik), f"the log-likelihood cannot be {fit.loglik!r}")
    must(fit.method in ("em", "cgl-go", "dwls"), f"there is no method {fit.method!r}")
    _frame(fit.frame)
    _known([v for v, _ in (*fit.options.noise, *fit.options.intercepts)], fit.graph, "options")
    members = [v for report in fit.districts for v in report.members]
    _known(members, fit.graph, "districts")
    must(len(set(members)) == len(members), "districts name a variable twice")
    must(not (fit.rows_left_out and fit.rows is not None), "the rows are there and were left out")
    must(fit.rows_left_out or not fit.clusters_left_out, "clusters were left out and rows were not")
    if fit.rows is not None:
        _known(fit.rows.names, fit.graph, "rows")
        must(set(fit.rows.names) == set(observed), "the rows lack a variable of the graph")


def _frame(frame: str) -> None:
    must(len(frame) < 100, "frame is not the name of a library")


def _group_fits(fits: FittedGroups) -> None:
    b, observed = len(fits.groups), fits.graph.observed
    must(fits.groups.names == observed and fits.batch.names == fits.graph.nodes, "names differ, or their order does")
    must(fits.batch.graph == fits.graph, "the batch has another graph than the fits")
    must(len(fits.batch) == b, "the batch has another number of groups")
    _places((*fits.alone, *fits.failed), b)
    for one in fits.alone.values():
        must(one.graph == fits.graph and one.moments.names == observed, "the fit of a group has another graph")
    must((fits.starts is None or fits.starts >= 1) and fits.max_iter >= 1, "starts and max_iter are at least 1")
    must(fits.rows is None or bool(fits.rows.by), "the rows do not say their groups")
    _frame(fits.frame)
    _known([v for v, _ in (*fits.options.noise, *fits.options.intercepts)], fits.graph, "options")


# -- verdicts and answers --------------------------------------------------------------------------


def _recipe(recipe: Recipe) -> None:
    named(recipe.names, "names")
    known: set[str] = set()
    for step in recipe.steps:
        must(inputs_of(step) <= known, "a step of the recipe needs what no step before it gives")
        if isinstance(step, LinearStep):
            must(
                len(step.outputs) == len(step.columns) <= len(step.rows) and len(step.rows) > 0, "a step is not square"
            )
        known |= set(outputs_of(step))
    must(bool(recipe.outputs) and set(recipe.outputs) <= known, "the recipe does not give its outputs")
    must(set(variables_used(recipe)) <= set(recipe.names), "the recipe uses a variable that is not among its names")


def _witness(witness: Witness) -> None:
    first, second = witness.models
    must(first.names == second.names, "the models of a witness have different variables")
    for answer in witness.answers:
        number(answer, "the answer of a witness")


def _verdict(verdict: Verdict) -> None:
    check_query(verdict.query, verdict.graph)
    must(verdict.degree is None or verdict.degree >= 1, f"the degree cannot be {verdict.degree}")
    if verdict.recipe is not None:
        _known(verdict.recipe.names, verdict.graph, "recipe")
    if verdict.witness is not None:
        _same_names(verdict.witness.models[0].names, verdict.graph, "the witness")
    if verdict.hedge is not None:
        _known((*verdict.hedge.district, *verdict.hedge.inner), verdict.graph, "hedge")


def _next_step(step: NextStep) -> None:
    check_query(step.query, step.graph)
    must(step.arc is not None or step.way != "sensitivity", "a sensitivity analysis is about one pair of variables")
    must(step.arc is None or step.way in ("sensitivity", "bounds"), "only bounds and sensitivity are about one pair")
    _known(step.arc or (), step.graph, "arc")
    _known([v for v, _ in step.kinds], step.graph, "kinds")


def _estimate(estimate: Estimate) -> None:
    for values, errors, intervals in (
        ("values", "errors", "intervals"),
        ("variances", "variance_errors", "variance_intervals"),
    ):
        k = len(getattr(estimate, values)) if getattr(estimate, values).ndim else 0
        shaped(getattr(estimate, values), (k,), values)
        shaped(getattr(estimate, errors), (k,), errors)
        shaped(getattr(estimate, intervals), (k, 2), intervals)
    must(len(estimate.values) > 0, "the estimate has no values")
    must(0.0 < estimate.level < 1.0, f"the level cannot be {estimate.level!r}")


def _bounds(found: Bounds) -> None:
    must(found.empty or found.low <= found.high, "the lower bound is above the upper one")
    must(0.0 < found.level < 1.0, f"the level cannot be {found.level!r}")
    for low, high in (*found.pieces, *found.interval_pieces):
        must(not low > high, "a piece of the set ends before it begins")
    number(found.n, "n", above=0.0)


def _answer(answer: Answer) -> None:
    count = len(answer.result.names) if isinstance(answer.result, Gaussian) else 1
    must(answer.form == "point" or answer.estimate is None, "what is not one number has no estimate")
    if isinstance(answer.result, Several):
        must(len(answer.result.values) > 1, "several values are at least two")
    if isinstance(answer.result, Bounds):
        _bounds(answer.result)
    if answer.estimate is not None:
        must(len(answer.estimate.values) == count, "the estimate has another number of values than the answer")
        must(len(answer.estimate.variances) in (0, 1, count), "the estimate has another number of variances")
    number(answer.n, "n", above=0.0)
    must(answer.outcome is None or len(answer.outcome.names) == 1, "the outcome is not one variable")
    must(answer.verdict is None or answer.verdict.query == answer.query, "the verdict is of another question")
    must(answer.crude is None or answer.crude.crude is None, "what is crude has nothing crude beside it")


_CHECKS: dict[type[Any], Callable[[Any], None]] = {
    Note: _note,
    Kind: _kind,
    Counted: _weighting,
    Sampled: _weighting,
    Moments: _moments,
    Patterns: _patterns,
    GroupMoments: _group_moments,
    RowReader: _reader,
    Gaussian: _gaussian,
    CGLSCM: _model,
    GLSCM: _general,
    BatchFit: _batch,
    Options: _options,
    DistrictReport: _report,
    Fitted: _fit,
    Fit: _fit,
    FittedGroups: _group_fits,
    GroupFits: _group_fits,
    Recipe: _recipe,
    Witness: _witness,
    Verdict: _verdict,
    NextStep: _next_step,
    Estimate: _estimate,
    Bounds: _bounds,
    Answer: _answer,
    Margin: sound_margin,
    Layer: sound_layer,
    Acting: sound_acting,
    **question_checks(),
}
