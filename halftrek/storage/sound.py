"""Whether the parts of a value in a file, each of its kind, belong together: shapes, names, what numbers can be.

What constructors refuse is left to them. A digest shows damage, not malice or a careless editor: a value that is loaded
must not fail later, far from the file that is to blame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from halftrek.answers import Answer
from halftrek.errors import GraphError
from halftrek.estimation import BatchFit, Fit
from halftrek.estimation.groups import GroupFits
from halftrek.estimation.options import Options
from halftrek.estimation.status import DistrictReport
from halftrek.graph import Graph
from halftrek.graph.edges import check_name
from halftrek.identification import Verdict
from halftrek.identification.recipe import LinearStep, Recipe, inputs_of, outputs_of, variables_used
from halftrek.identification.witness import Witness
from halftrek.inference.intervals.base import Estimate
from halftrek.model import CGLSCM, GLSCM, Gaussian, Rows
from halftrek.moments import Moments, Patterns, RowReader
from halftrek.moments.groups import GroupMoments
from halftrek.moments.kinds import Kind
from halftrek.moments.weights import Counted, Sampled
from halftrek.notes import Note
from halftrek.notes.words import ASKS
from halftrek.queries import (
    Arithmetic,
    Counterfactual,
    Distribution,
    Interventional,
    PathEffect,
    Probability,
    Quantile,
    Statistic,
    ThroughEffect,
    check_query,
)
from halftrek.queries.variants import Draw, Event, Scale, Shift, Sum
from halftrek.storage.malformed import Malformed

_ROUNDING = 1e-6  # share of variances by which a matrix may fall short of being a covariance, and of being symmetric


def refuse_unsound(value: Any) -> None:
    """Raise for parts that do not belong together."""
    check = _CHECKS.get(type(value))
    if check is not None:
        check(value)


def _must(sound: bool | np.bool_, words: str) -> None:
    if not sound:
        raise Malformed(words)


def _names(names: Iterable[str], what: str) -> None:
    given = tuple(names)
    _must(len(set(given)) == len(given), f"{what} names a variable twice")
    for name in given:
        try:
            check_name(name)
        except GraphError as error:
            raise Malformed(f"{what}: {error}") from None


def _shape(array: Any, shape: tuple[int, ...], what: str) -> None:
    _must(array.shape == shape, f"{what} has the shape {array.shape}, and {shape} is needed")


def _finite(array: Any, what: str) -> None:
    _must(np.isfinite(array).all(), f"{what} holds a number that is not finite")


def _covariance(matrices: Any, what: str) -> None:
    """Symmetric and, but for rounding, without negative variance in any direction; one matrix or several."""
    for matrix in matrices if matrices.ndim == 3 else (matrices,):
        variances = np.diagonal(matrix)
        _must((variances >= 0.0).all(), f"{what} has a negative variance")
        units = np.sqrt(np.where(variances > 0.0, variances, 1.0))
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = matrix / units[:, None] / units
        _must(np.isfinite(scaled).all(), f"{what} holds covariances far beyond the variances")
        _must((np.abs(scaled - scaled.T) <= _ROUNDING).all(), f"{what} is not symmetric")
        try:
            np.linalg.cholesky(scaled + _ROUNDING * np.eye(len(scaled)))
        except np.linalg.LinAlgError:
            raise Malformed(f"{what} is not positive definite, so it is no covariance") from None


def _number(value: float | None, what: str, *, above: float = -math.inf, least: float = -math.inf) -> None:
    """Finite, if there is one, and not too low."""
    if value is not None:
        _must(math.isfinite(value) and value > above and value >= least, f"{what} cannot be {value!r}")


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
        _number(value, "a value of a column")
    _number(kind.least, "the least value of a column")


def _weighting(weighting: Counted | Sampled) -> None:
    for name, value in vars(weighting).items():
        _number(value, f"the {name} of the weights", above=0.0)


def _moments(moments: Moments) -> None:
    _must(moments.dropped >= 0, f"the number of rows left out cannot be {moments.dropped}")
    _covariance(moments.cov, "cov")


def _patterns(patterns: Patterns) -> None:
    p, k = len(patterns.names), len(patterns.n)
    _names(patterns.names, "names")
    _must(p > 0 and k > 0, "there are no columns or no rows")
    for name, shape in (("observed", (k, p)), ("rows", (k,)), ("n", (k,)), ("mean", (k, p))):
        _shape(getattr(patterns, name), shape, name)
    several = int((patterns.rows > 1).sum())
    _must(several <= len(patterns.cov) <= k, f"cov has {len(patterns.cov)} matrices for {several} patterns")
    _shape(patterns.cov, (len(patterns.cov), p, p), "cov")
    for name in ("n", "mean", "cov"):
        _finite(getattr(patterns, name), name)
    _must((patterns.rows >= 1).all() and (patterns.n > 0.0).all(), "a pattern has no rows")
    _must(patterns.observed.any(axis=0).all(), "no row has a value of some column")
    _must(patterns.observed.any(axis=1).all(), "a pattern has no values")
    _must(patterns.empty >= 0, f"the number of empty rows cannot be {patterns.empty}")
    _must(patterns.kinds is None or len(patterns.kinds) == p, "kinds are not one for each name")
    _covariance(patterns.cov, "cov")


def _group_moments(groups: GroupMoments) -> None:
    b, p = len(groups.keys), len(groups.names)
    _names(groups.names, "names")
    _must(b > 0 and p > 0, "there are no groups or no columns")
    _must(len(set(groups.keys)) == b, "a group is named twice")
    for name, shape in (("n", (b,)), ("mean", (b, p)), ("cov", (b, p, p)), ("dropped", (b,))):
        _shape(getattr(groups, name), shape, name)
    _must(groups.kinds is None or len(groups.kinds) == p, "kinds are not one for each name")
    _must(groups.weighting is None or len(groups.weighting) == b, "weighting is not one for each group")
    _places((*groups.patterns, *groups.troubles), b)
    _must(not set(groups.patterns) & set(groups.troubles), "a group has patterns and troubles")
    for patterns in groups.patterns.values():
        _must(patterns.names == groups.names, "the patterns of a group have other names")
    whole = [i for i in range(b) if i not in groups.patterns and i not in groups.troubles]
    for name in ("n", "mean", "cov"):
        _finite(getattr(groups, name)[whole], name)
    _must((groups.n[whole] > 0.0).all() and (groups.dropped >= 0).all(), "a number of rows is negative or zero")
    _covariance(groups.cov[whole], "cov")


def _places(places: Iterable[int], count: int) -> None:
    for i in places:
        _must(0 <= i < count, f"there is no group at the place {i}")


def _reader(reader: RowReader) -> None:
    _must(len(reader.names) > 0, "rows have no columns")
    _number(reader.sampling, "sampling", above=0.0)
    source = reader.source
    if isinstance(source, np.ndarray):
        _must(source.ndim == 2, "the rows are not a table")
    if isinstance(source, Rows) and source.names is not None:
        _must(set(reader.columns or reader.names) <= set(source.names), "the rows lack a column of the fit")
    columns = source if isinstance(source, Mapping) else {}
    for name, part in {"weights": reader.weights, "cluster": reader.cluster, **columns}.items():
        if isinstance(part, np.ndarray):
            _must(part.ndim == 1, f"{name} are not one for each row")
            if isinstance(source, np.ndarray):
                _shape(part, (len(source),), name)


# -- models ------------------------------------------------------------------------------------------


def _gaussian(gaussian: Gaussian) -> None:
    p = len(gaussian.names)
    _shape(gaussian.mean, (p,), "mean")
    _shape(gaussian.cov, (p, p), "cov")
    _finite(gaussian.mean, "mean")
    _finite(gaussian.cov, "cov")
    _must(p > 0, "there are no variables")


def _model(model: CGLSCM) -> None:
    _must(bool(model.names), "there are no variables")
    _names((*model.names, *model.latents), "names")
    _same_names(model.names, model.graph, "the model")
    _must(set(model.latents) == set(model.graph.latents), "the hidden causes are not those of the graph")
    arrows = {(u, v) for u, v in model.graph.directed}
    beyond = [(i, j) for i, j in np.argwhere(model.T) if (model.names[i], model.names[j]) not in arrows]
    if beyond:  # a model may be wider than its graph, but not have a cycle
        Graph([(model.names[i], model.names[j]) for i, j in np.argwhere(model.T)], observed=model.names)
    _covariance(model.W, "W")
    with np.errstate(over="ignore", invalid="ignore"):
        _finite(model.cov, "the implied covariance")
        _finite(model.mean, "the implied mean")


def _general(model: GLSCM) -> None:
    _names((*model.names, *model.latents), "names")
    _model(model.centralize())


def _same_names(names: tuple[str, ...], graph: Graph, what: str) -> None:
    _must(set(names) == set(graph.observed), f"{what} has other variables than the graph")


def _batch(batch: BatchFit) -> None:
    b, p, q = len(batch.loglik), len(batch.names), len(batch.latents)
    _same_names(batch.names, batch.graph, "the batch")
    _must(len(set(batch.names)) == p, "names names a variable twice")
    _must(set(batch.latents) == set(batch.graph.latents), "the hidden causes are not those of the graph")
    for name, shape in (("T", (p, p)), ("C", (q, p)), ("W", (p, p)), ("mu", (p,)), ("loglik", ()), ("code", ())):
        _shape(getattr(batch, name), (b, *shape), name)
    known = ("converged", "flat", "boundary", "no finite maximum", "not converged", "failed")
    _must(np.isin(batch.code, known).all(), "code holds a word that is none of a fit")
    there = batch.code != "failed"
    for name in ("T", "C", "W", "mu", "loglik"):
        _finite(getattr(batch, name)[there], name)
    arrows = [(batch.names[i], batch.names[j]) for i, j in np.argwhere((np.nan_to_num(batch.T) != 0.0).any(axis=0))]
    Graph(arrows, observed=batch.names)
    _covariance(batch.W[there], "W")


def _options(options: Options) -> None:
    for what, low in (("noise", 0.0), ("intercepts", -math.inf)):
        given = getattr(options, what)
        _names((v for v, _ in given), what)
        for v, value in given:
            _number(value, f"the fixed {what} of {v!r}", above=low)


def _report(report: DistrictReport) -> None:
    for name in ("iterations", "starts", "agreeing", "flat", "df"):
        _number(getattr(report, name), name, least=0)
    _number(report.deviance, "deviance")


def _known(names: Iterable[str], graph: Graph, what: str) -> None:
    for v in names:
        _must(v in graph, f"{what} names {v!r}, which the graph does not have")


def _fit(fit: Fit) -> None:
    observed = fit.graph.observed
    _must(fit.moments.names == observed, "the moments have other names than the graph, or another order")
    _must(fit.model.names == observed, "the model has other names than the graph, or another order")
    _must(fit.model.graph == fit.graph, "the model has another graph than the fit")
    _must(fit.patterns is None or fit.patterns.names == observed, "the patterns have other names than the graph")
    _must(math.isfinite(fit.loglik), f"the log-likelihood cannot be {fit.loglik!r}")
    _must(fit.method in ("em", "cgl-go"), f"there is no method {fit.method!r}")
    _frame(fit.frame)
    _known([v for v, _ in (*fit.options.noise, *fit.options.intercepts)], fit.graph, "options")
    members = [v for report in fit.districts for v in report.members]
    _known(members, fit.graph, "districts")
    _must(len(set(members)) == len(members), "districts name a variable twice")
    _must(not (fit.rows_left_out and fit.rows is not None), "the rows are there and were left out")
    _must(fit.rows_left_out or not fit.clusters_left_out, "clusters were left out and rows were not")
    if fit.rows is not None:
        _known(fit.rows.names, fit.graph, "rows")
        _must(set(fit.rows.names) == set(observed), "the rows lack a variable of the graph")


def _frame(frame: str) -> None:
    _must(len(frame) < 100, "frame is not the name of a library")


def _group_fits(fits: GroupFits) -> None:
    b, observed = len(fits.groups), fits.graph.observed
    _must(fits.groups.names == observed and fits.batch.names == observed, "names differ, or their order does")
    _must(fits.batch.graph == fits.graph, "the batch has another graph than the fits")
    _must(len(fits.batch) == b, "the batch has another number of groups")
    _places((*fits.holed, *fits.failed), b)
    for one in fits.holed.values():
        _must(one.graph == fits.graph and one.moments.names == observed, "a fit with holes has another graph")
    _must((fits.starts is None or fits.starts >= 1) and fits.max_iter >= 1, "starts and max_iter are at least 1")
    _must(fits.rows is None or fits.rows.cluster is not None, "the rows do not say their groups")
    _frame(fits.frame)
    _known([v for v, _ in (*fits.options.noise, *fits.options.intercepts)], fits.graph, "options")


# -- verdicts and answers --------------------------------------------------------------------------


def _recipe(recipe: Recipe) -> None:
    _names(recipe.names, "names")
    known: set[str] = set()
    for step in recipe.steps:
        _must(inputs_of(step) <= known, "a step of the recipe needs what no step before it gives")
        if isinstance(step, LinearStep):
            _must(
                len(step.outputs) == len(step.columns) <= len(step.rows) and len(step.rows) > 0, "a step is not square"
            )
        known |= set(outputs_of(step))
    _must(bool(recipe.outputs) and set(recipe.outputs) <= known, "the recipe does not give its outputs")
    _must(set(variables_used(recipe)) <= set(recipe.names), "the recipe uses a variable that is not among its names")


def _witness(witness: Witness) -> None:
    first, second = witness.models
    _must(first.names == second.names, "the models of a witness have different variables")
    for answer in witness.answers:
        _number(answer, "the answer of a witness")


def _verdict(verdict: Verdict) -> None:
    check_query(verdict.query, verdict.graph)
    _must(verdict.degree is None or verdict.degree >= 1, f"the degree cannot be {verdict.degree}")
    if verdict.recipe is not None:
        _known(verdict.recipe.names, verdict.graph, "recipe")
    if verdict.witness is not None:
        _same_names(verdict.witness.models[0].names, verdict.graph, "the witness")
    if verdict.hedge is not None:
        _known((*verdict.hedge.district, *verdict.hedge.inner), verdict.graph, "hedge")


def _estimate(estimate: Estimate) -> None:
    for values, errors, intervals in (
        ("values", "errors", "intervals"),
        ("variances", "variance_errors", "variance_intervals"),
    ):
        k = len(getattr(estimate, values)) if getattr(estimate, values).ndim else 0
        _shape(getattr(estimate, values), (k,), values)
        _shape(getattr(estimate, errors), (k,), errors)
        _shape(getattr(estimate, intervals), (k, 2), intervals)
    _must(len(estimate.values) > 0, "the estimate has no values")
    _must(0.0 < estimate.level < 1.0, f"the level cannot be {estimate.level!r}")


def _answer(answer: Answer) -> None:
    count = len(answer.result.names) if isinstance(answer.result, Gaussian) else 1
    if answer.estimate is not None:
        _must(len(answer.estimate.values) == count, "the estimate has another number of values than the answer")
        _must(len(answer.estimate.variances) in (0, 1, count), "the estimate has another number of variances")
    _number(answer.n, "n", above=0.0)
    _must(answer.outcome is None or len(answer.outcome.names) == 1, "the outcome is not one variable")
    _must(answer.verdict is None or answer.verdict.query == answer.query, "the verdict is of another question")
    _must(answer.crude is None or answer.crude.crude is None, "what is crude has nothing crude beside it")


# -- questions -------------------------------------------------------------------------------------


def _question(query: Any) -> None:
    """What the text of a question could not say."""
    match query:
        case PathEffect(steps) | ThroughEffect(steps):
            _must(len(steps) >= 2, "a path has two ends")
        case Interventional(outcomes, _, _) | Counterfactual(outcomes, _):
            _must(bool(outcomes), "nothing is asked for")
        case Statistic(kind, of, _):
            _must(len(of) == (2 if kind in ("Cov", "Corr") else 1), f"{kind} of {len(of)} variables")
        case Distribution(of, _):
            _must(bool(of), "nothing is asked for")
        case Probability(events, _):
            _must(bool(events), "nothing is asked for")
        case Quantile(level, _, _):
            _must(0.0 < level < 1.0, f"the level cannot be {level!r}")
        case Arithmetic(_, left, right):
            for side in (left, right):
                _must(not isinstance(side, int), f"the number {side!r} lacks its point")
                _number(side if isinstance(side, float) else None, "a number of a question")
        case Draw(mean, variance):
            _number(mean, "a mean")
            _number(variance, "a variance", least=0.0)
        case Shift(size) | Scale(size):
            _number(size, "a change")
        case Sum(parts):
            _must(bool(parts), "a sum of nothing")
            for weight, _ in parts:
                _number(weight, "a weight")
        case Event(_, low, high):
            _must(low < high and (low, high) != (-math.inf, math.inf), f"nothing lies between {low!r} and {high!r}")
    for part in vars(query).values():
        if isinstance(part, Mapping):
            for held in part.values():
                _number(held if isinstance(held, float | int) else None, "a value")
    _names_in_question(query)
    _ = str(query), hash(query)


def _names_in_question(query: Any) -> None:
    found: list[Any] = []
    for key, part in vars(query).items():
        if key in ("cause", "effect", "first", "second", "variable"):
            found.append(part)
        if key in ("path", "stations", "outcomes"):
            found += part
        if isinstance(part, Mapping):
            found += [v for k in part for v in (k if isinstance(k, tuple) else (k,))]
    for name in found:
        if isinstance(name, str):
            _names((name,), "a question")


def _questions() -> dict[type[Any], Callable[[Any], None]]:
    from halftrek.queries import distributions, effects, terms, variants
    from halftrek.storage.kinds import classes

    homes = {module.__name__ for module in (distributions, effects, terms, variants)}
    return {kind: _question for kind in classes().values() if kind.__module__ in homes}


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
    Fit: _fit,
    GroupFits: _group_fits,
    Recipe: _recipe,
    Witness: _witness,
    Verdict: _verdict,
    Estimate: _estimate,
    Answer: _answer,
    **_questions(),
}
