"""Bounds of a question, from a graph with data or from a fit: the identified set, and the interval around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Unpack, cast

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.calls import public
from halftrek.bottom.choices import SetInterval
from halftrek.bottom.progress import late_bar
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import refit
from halftrek.graphs import Graph
from halftrek.inference.evidence.few_valued import refuse_few_valued
from halftrek.inference.evidence.layered import layer_notes
from halftrek.inference.information.robust import rows_needed
from halftrek.layer import Layer
from halftrek.models import CGLSCM
from halftrek.notes import Note, note
from halftrek.partial.acting import bounds_where_acting
from halftrek.partial.assumptions import (
    Assumption,
    Weight,
    Within,
    conditions_of,
    read_assumptions,
    relaxed,
    with_roots,
)
from halftrek.partial.beyond_seen import refuse_beyond_seen
from halftrek.partial.chance.interval import Chance, by_rows, chance_of
from halftrek.partial.chance.likelihood import Piece
from halftrek.partial.chance.part import Part, part_of
from halftrek.partial.chance.program import Program
from halftrek.partial.chance.setting import program_of, vector_of
from halftrek.partial.fibre import fibre_of
from halftrek.partial.hidden.counted import as_observed, counted, held_beside, on_scale, without_errors
from halftrek.partial.hidden.outer import without_unmeasured
from halftrek.partial.sets import End, IdentifiedSet, identified_set
from halftrek.partial.sets.covariance import held_weights, plain_latents
from halftrek.queries import Query, Standardized, check_query
from halftrek.queries.kinds.effects import EFFECTS
from halftrek.queries.observed.values import behind_question, observed, observed_scale
from halftrek.queries.types import Distribution
from halftrek.results.answering import about_the_fit
from halftrek.results.given.inputs import read_question
from halftrek.results.sets.bounds import OUTER, Bounds, Refuted
from halftrek.results.workflow import Fitting
from halftrek.results.workflow import fit as fit_graph
from halftrek.trust import leeway
from halftrek.trust.sets import Leeway

Assumed = str | Iterable[object]

TRIED = 200  # models with the fitted covariance that a search for one that obeys begins with
FARTHEST = 1e3  # weights of them
BEST = 4  # of them, those that are broken least


@public
def bounds(
    graph: object,
    data: object,
    question: str | Query,
    *,
    assume: Assumed = (),
    level: float = 0.95,
    interval: SetInterval | None = None,
    constraints: Assumed | None = None,
    **fitting: Unpack[Fitting],
) -> Bounds:
    """Between which values an answer lies that the graph does not determine, under assumptions that one can state.

    ``assume`` is a list of texts such as ``"corr(x <-> y) in [-0.3, 0.3]"``, ``"abs(z -> y) <= 0.1"`` or
    ``"confounding(x, y) <= 2 * z"``; an edge that the graph lacks is added, and held within what is assumed of it.
    Without assumptions: the values that the graph alone leaves. ``interval`` covers the true value with probability
    ``level``: by the "likelihood", or by standard errors of the ends ("stoye"), which is all there is for risks and
    means of ordered or ranked columns. ``constraints`` is another name of ``assume``. For the options of reading and
    fitting data see ``ht.fit``.
    """
    _refuse_groups(fitting)
    fitted = fit_graph(graph, data, **fitting)
    return bounds_of(fitted, question, assume=assume, level=level, interval=interval, constraints=constraints)


def bounds_of(
    fit: Fitted,
    question: str | Query,
    *,
    assume: Assumed = (),
    level: float = 0.95,
    interval: SetInterval | None = None,
    constraints: Assumed | None = None,
) -> Bounds:
    """The same from a fit, whose data are used as they were read: with weights, clusters and missing values."""
    if fit.acting is not None:
        assumed, query = _asked(fit, question, assume, constraints, level, interval or "stoye")
        return bounds_where_acting(fit, query, assumed, level)
    kind: SetInterval = interval or _suited(fit, question)
    assumed, query = _asked(fit, question, assume, constraints, level, kind)
    layer = fit.moments.layer
    if relaxed(fit.graph, assumed).hidden:
        why = _why_not_counted(fit, query, assumed)
        if why:
            outer = without_unmeasured(fit, query, assumed, why, all_hidden=layer is not None)
            left = bounds_of(outer.fit, query, assume=assumed, level=level, interval=interval)
            known = left.certificate if outer.exact or left.certificate == "searched" else OUTER
            return replace(left, notes=(outer.note, *left.notes), certificate=known)
    ground = _ground(fit, query, assumed)
    behind = query if layer is None else behind_question(query, layer)
    refuse_beyond_seen(behind, fit.graph, ground.wide, assumed)
    given = leeway(ground.wide, behind, level)
    part = None if given.units else part_of(ground.wide, behind, assumed)
    here = ground if part is None else ground.within(part)
    with late_bar("bounds") as advance:
        found = identified_set(
            here.graph, here.model.cov, here.model.mean, behind, assumed,
            names=here.model.names, model=here.model, advance=lambda done, of: advance(done, of + 1),
        )  # fmt: skip
        advance(6, 7)  # the set is known, the interval is not
        found = here.as_drawn(found)
        chance = _chance(here, query, found, replace(given, fit=here.wide), level, kind)
    if part is not None:
        found = _with_models(found, lambda model: part.whole(model, ground.wide.model))
    return _packed(ground.wide, query, found, chance)


@dataclass(frozen=True, eq=False)
class _Ground:
    """The fit of the graph with the edges of all assumptions, and what sets are computed on.

    ``graph`` is the user's, and ``model`` that of the fit, with hidden variables that count as observed as ordinary
    ones; ``loose`` are those of them whose scale does not matter.
    """

    wide: Fitted
    graph: Graph
    model: CGLSCM
    loose: tuple[str, ...] = ()

    def as_drawn(self, found: IdentifiedSet) -> IdentifiedSet:
        """The set with models in which hidden variables are hidden."""
        if not self.wide.graph.hidden:
            return found
        return _with_models(found, lambda model: on_scale(model, self.wide.graph, self.loose))

    def within(self, part: Part) -> _Ground:
        """The same of a part of the variables."""
        fit = part.fit(self.wide)
        return _Ground(fit, part.graph(self.graph), fit.model)


def _with_models(found: IdentifiedSet, shown: Callable[[CGLSCM], CGLSCM]) -> IdentifiedSet:
    """The set with others in the place of the models at its ends."""

    def at(end: End) -> End:
        return end if end.model is None else replace(end, model=shown(end.model))

    gaps = tuple((at(left), at(right)) for left, right in found.gaps)
    return replace(found, lower=at(found.lower), upper=at(found.upper), gaps=gaps)


def _why_not_counted(fit: Fitted, query: Query, assumed: tuple[Assumption, ...]) -> str:
    """Why the hidden variables do not count as observed; "" if they do."""
    if fit.moments.layer is not None or fit.acting is not None:
        return "columns are not numbers"
    return counted(wide_graph(fit.graph, assumed), query, assumed, held=held_beside(fit)[1]).why_not


def _ground(fit: Fitted, query: Query, assumed: tuple[Assumption, ...]) -> _Ground:
    wide = _relaxed_fit(fit, assumed)
    if not wide.graph.hidden:
        return _Ground(wide, fit.graph, wide.model)
    if rigid := without_errors(wide.model):
        raise InputError(
            f"the error of {rigid[0]!r} has no variance in this fit, so that nothing is left to vary; bounds are not "
            f"computed then. Look at fit.summary(): the graph may fit badly, or an item may be the factor itself"
        )
    model = wide.model
    seen = counted(wide.graph, query, assumed)
    plain = CGLSCM(model.names, model.T, model.C, model.mu, model.W, tuple(wide.graph.latents), seen.graph)
    return _Ground(wide, as_observed(with_roots(fit.graph, assumed)), plain, seen.loose)


def _suited(fit: Fitted, question: str | Query) -> SetInterval:
    """The likelihood, scaled by rows where columns are ordered or ranked; of what is seen of these it knows no cuts."""
    seen = fit.moments.layer is not None and not isinstance(read_question(question), EFFECTS)
    return "stoye" if seen else "likelihood"


def _asked(
    fit: Fitted, question: str | Query, assume: Assumed, constraints: Assumed | None, level: float, interval: str
) -> tuple[tuple[Assumption, ...], Query]:
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {level!r}")
    if interval not in ("likelihood", "stoye"):
        raise InputError(f"interval must be 'likelihood' or 'stoye', not {interval!r}")
    if constraints is not None and assume != ():
        raise InputError("assume= and constraints= are one and the same: give one of them")
    if noise := held_beside(fit)[0]:
        raise InputError(
            f"bounds are not computed where noise variances are fixed, as that of {next(iter(noise))!r} is here: "
            f"fit again without noise=" + (" and with method='em'" if fit.method != "em" else "")
        )
    given = cast("str | Iterable[str | Assumption]", assume if constraints is None else constraints)
    assumed = read_assumptions(given, fit.graph)
    query = read_question(question)
    check_query(query, relaxed(fit.graph, assumed))
    if fit.acting is None:
        refuse_few_valued(fit, query)
    if fit.moments.layer is not None or fit.acting is not None:
        _refuse_for_layer(fit, query, interval)
    return assumed, query


def _refuse_for_layer(fit: Fitted, query: Query, interval: str) -> None:
    """Raise for what is not known where normal variables are behind columns."""
    if interval == "likelihood" and not (isinstance(query, EFFECTS) and fit.acting is None):
        raise InputError(
            'interval="likelihood" is not known of what is seen of ordered or ranked columns, whose rows have no '
            'normal likelihood; leave it out: interval="stoye" is by how each row moves the ends'
        )
    if isinstance(query, Standardized):
        raise InputError(
            f"bounds of {query} are not known where columns are ordered or ranked; ask for the effect between the "
            f"variables behind them, such as x ~> y, which have variance 1 behind an ordered or ranked column"
        )
    rows_needed(fit, "an interval of bounds where columns are ordered or ranked", "fit again")


def _refuse_groups(fitting: Fitting) -> None:
    if "by" in fitting:
        raise InputError(
            "bounds are computed of fits that are there: fits = ht.fit(graph, data, by=...), then "
            "fits.bounds(question, assume=...) is a table of all groups"
        )


def wide_graph(graph: Graph, assumed: tuple[Assumption, ...]) -> Graph:
    """The graph with the edges that assumptions name, and with the weights that they hold."""
    return plain_latents(held_weights(relaxed(graph, assumed), assumed), assumed)


def _relaxed_fit(fit: Fitted, assumed: tuple[Assumption, ...]) -> Fitted:
    """The maximum likelihood fit of the graph with the edges that assumptions name: its covariance is the set's."""
    graph = wide_graph(fit.graph, assumed)
    if graph == fit.graph and fit.method == "em":
        return fit
    return refit(fit, graph, intercepts=held_beside(fit)[1] or "free")


def _chance(
    ground: _Ground, query: Query, found: IdentifiedSet, given: Leeway, level: float, kind: SetInterval
) -> Chance:
    """The interval of the set, by way of the judge of all intervals."""
    loose = tuple(a for a in found.assumptions if not _held(a))
    wide = ground.wide
    program = program_of(wide, found.query, conditions_of(loose, ground.graph, wide.model.names))
    pieces = _pieces(program, found)
    starts = _starts(program, ground) if found.empty or not (found.proved or kind == "stoye") else []
    if found.empty and not wide.graph.hidden:
        starts = [*_elsewhere(program, wide), *starts]
    layer = wide.moments.layer
    if layer is None:
        return chance_of(program, pieces, starts, level, given, kind=kind, proved=found.proved)
    likely = isinstance(query, EFFECTS) and (found.empty or kind == "likelihood")
    spread = None if likely else by_rows(given, lambda side: _cut_slopes(query, found, side, layer))
    on = "plain" if isinstance(query, Distribution) else observed_scale(query, layer)
    return chance_of(
        program, pieces, starts, level, given, kind=kind, proved=found.proved, spread=spread, scale=on
    )  # fmt: skip


def _cut_slopes(query: Query, found: IdentifiedSet, side: int, layer: Layer) -> Mapping[str, Floats]:
    """How an end moves with the cuts: as the answer of the model there does."""
    if isinstance(query, EFFECTS):
        return {}
    model = (found.lower if side < 0 else found.upper).model
    assert model is not None  # its vector is where the end was looked at
    return observed(query, model, layer).values[0].cuts


def _held(assumption: Assumption) -> bool:
    """True for a weight that is held at a number: the graph itself says so by then."""
    return (
        isinstance(assumption, Within) and isinstance(assumption.quantity, Weight) and assumption.low == assumption.high
    )


def _pieces(program: Program, found: IdentifiedSet) -> list[Piece]:
    """The pieces of a set with vectors at their ends."""
    lows = [found.lower, *(right for _, right in found.gaps)]
    highs = [*(left for left, _ in found.gaps), found.upper]
    return [
        Piece(low, high, _vector(program, lows[k]), _vector(program, highs[k]))
        for k, (low, high) in enumerate(found.pieces)
    ]


def _vector(program: Program, end: End) -> Floats | None:
    return None if end.model is None else vector_of(program, end.model)


def _starts(program: Program, ground: _Ground) -> list[Floats]:
    """Models with the fitted covariance, those that break the assumptions least."""
    model = ground.model
    fibre = fibre_of(model.graph, model.cov, model.mean, model.names)
    own: list[CGLSCM] = [model]
    if fibre.dimension:
        drawn = np.random.default_rng(0).standard_cauchy((TRIED, fibre.dimension)) * fibre.units
        models = fibre.at(drawn)
        sound = np.flatnonzero(
            np.isfinite(models.T).all(axis=(-2, -1)) & (np.abs(models.T).max(axis=(-2, -1)) < FARTHEST)
        )
        own += [models.one(int(k)) for k in sound]
    if ground.wide.graph.hidden:
        own = [on_scale(one, ground.wide.graph, ground.loose) for one in own]
    vectors = []
    for one in own:
        with suppress(np.linalg.LinAlgError):  # far out no digit of a model's covariance may be left
            vectors.append(vector_of(program, one))
    broken = [program.broken(v) for v in vectors]
    return [vectors[int(k)] for k in np.argsort(broken)[:BEST]]


def _elsewhere(program: Program, wide: Fitted) -> list[Floats]:
    """Models with other covariances that obey, the likeliest of some that are drawn around the fitted one."""
    model, rng, found = wide.model, np.random.default_rng(1), []
    sd = np.sqrt(np.diag(model.cov))
    spread = np.sqrt(np.diag(model.omega))
    arrows, arcs = np.asarray(model.T) != 0.0, np.asarray(model.W) != 0.0
    for _ in range(TRIED):
        T = (
            model.T
            + np.where(arrows, rng.choice([0.3, 1.0]) * rng.standard_normal(arrows.shape), 0.0) * sd / sd[:, None]
        )
        corr = np.where(np.tri(len(sd), k=-1) > 0, rng.uniform(-0.9, 0.9, arrows.shape), 0.0)
        W = np.where(arcs, (corr + corr.T + np.eye(len(sd))) * np.outer(spread, spread), 0.0)
        if np.linalg.eigvalsh(W / np.outer(spread, spread))[0] > 0.05:
            vector = vector_of(program, replace(model, T=T, W=W))
            if program.broken(vector) <= 0.0:
                found.append(vector)
    return sorted(found, key=lambda v: program.at(v).loss)[:BEST]


def _packed(wide: Fitted, query: Query, found: IdentifiedSet, chance: Chance) -> Bounds:
    test = chance.refuted
    said: list[Note] = [note("remark", text=text) for text in found.notes]
    return Bounds(
        low=found.low,
        high=found.high,
        pieces=found.pieces,
        question=query,
        assumptions=tuple(map(str, found.assumptions)),
        assumed=tuple(a.words for a in found.assumptions),
        interval_pieces=chance.pieces,
        level=chance.level,
        kind=chance.kind,
        certificate=found.certificate,
        binds_low=found.lower.binding,
        binds_high=found.upper.binding,
        attained_low=found.lower.attained,
        attained_high=found.upper.attained,
        model_low=found.lower.model,
        model_high=found.upper.model,
        refuted=None if test is None else Refuted(test.statistic, test.restrictions, test.p, test.mixture),
        notes=(*about_the_fit(wide, query), *layer_notes(wide, query), *said, *chance.notes),
        n=wide.n,
        library=wide.frame,
    )
