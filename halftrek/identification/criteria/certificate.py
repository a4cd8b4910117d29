"""From a query to a recipe: which effects have to be known, and the search for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING

from halftrek.identification.arrows.named import effect_label
from halftrek.identification.criteria.closure import Closure, Cut, Map, parent_cuts, small_cuts
from halftrek.identification.criteria.determinants import determinant_steps
from halftrek.identification.criteria.first_round import FirstRound
from halftrek.identification.criteria.half_trek import step_alone
from halftrek.identification.criteria.registry import CRITERIA, STEPWISE
from halftrek.identification.recipes.describe import method_name
from halftrek.identification.recipes.recipe import (
    CovarianceStep,
    LinearStep,
    Recipe,
    Step,
    SumStep,
    ValueStep,
    arrow_of,
    cleaned,
    direct,
    inputs_of,
    outputs_of,
    prune,
)
from halftrek.queries.types import (
    Composite,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    is_intervention,
)

if TYPE_CHECKING:
    from halftrek.identification.study import Study

_WIDER = ("trek separation", "latent-factor half-trek", "determinants")  # searches beyond the closure, in their order
_MOST_FOR_TREKS = 16  # the first two are tried in graphs up to this size
_MOST_NODES = 10  # determinants of cleaned variables are searched in graphs up to this size
_MOST_CUTS = 1500  # pairs of ancestors are tried as long as there are no more cuts than this


def answerable(query: Query) -> Query:
    """The query whose functionals a recipe computes: for a conditional distribution the joint one."""
    if is_intervention(query) and query.seen:
        return Distribution.after((*query.names, *query.seen), query.do)
    return query


def needs(closure: Closure, query: Query) -> tuple[list[str], list[Step], tuple[str, ...]]:
    """Quantities to find, steps that finish, and the names of the outputs."""
    graph = closure.bench.point.parameters.graph
    match answerable(query):
        case DirectEffect(cause, effect):
            key = direct(cause, effect)
            return [key], [], (key,)
        case TotalEffect(cause, effect):
            key = closure.name(cause, effect)
            return [key], [], (key,)
        case PathEffect(path):
            edges = [direct(u, v) for u, v in itertools.pairwise(path)]
            return edges, [SumStep(f"path {query}", ((1, tuple(edges)),))], (f"path {query}",)
        case ThroughEffect(stations):
            legs = [closure.name(u, v) for u, v in itertools.pairwise(stations)]
            return legs, [SumStep(f"path {query}", ((1, tuple(legs)),))], (f"path {query}",)
        case ErrorCovariance(first, second):
            errors = [cleaned(v, graph.parents(v)) for v in (first, second)]
            step = CovarianceStep(str(query), *errors)
            return list(dict.fromkeys(q for e in errors for _, q in e.minus)), [step], (str(query),)
        case Distribution(asks="intervention", names=outcomes, do=do):
            wanted: list[str] = []
            finish: list[Step] = []
            outputs: list[str] = []
            for x in do:
                for y in outcomes:
                    cut = closure.cut(y, [w for w in do if w in graph.ancestors(y)])
                    at = dict(zip(cut.causes, cut.keys, strict=True))
                    label = effect_label(do, x, y)
                    if x not in at:
                        finish.append(ValueStep(label, 0.0))
                    else:
                        wanted.append(at[x])
                        finish += [SumStep(label, ((1, (at[x],)),))] if at[x] != label else []
                    outputs.append(label)
            return wanted, finish, tuple(outputs)
        case _:
            raise AssertionError("a recipe gives the effects behind a counterfactual, one intervention at a time")


def find_recipe(study: Study, query: Query) -> tuple[Recipe, str] | None:
    """A recipe for the query and its name, simplest kinds first, confirmed at fresh random points."""
    if isinstance(query, Composite) and not is_intervention(query):  # its effects have been tried one by one
        return None
    closure = Closure(study.bench, shared=_map_of(study))
    wanted, finish, outputs = needs(closure, query)
    for name in ("half-trek", "edgewise half-trek"):
        seeds = _edge_steps(study, name, wanted)
        if seeds is not None:
            recipe = _finished(study, [*_constants(closure), *seeds, *finish], outputs, query)
            if recipe is not None:
                return recipe, method_name(recipe, name)
    steps = _by_first_round(study, closure, query, wanted)
    if steps is not None:
        recipe = _finished(study, [*steps, *finish], outputs, query)
        return None if recipe is None else (recipe, method_name(recipe, "partial-effect closure"))
    cuts: list[Cut] = []
    for more in _rounds(closure, query):
        cuts += more
        closure.grow(cuts, wanted)
        if set(wanted) <= closure.known.keys():
            recipe = _finished(study, [*closure.steps, *finish], outputs, query)
            return None if recipe is None else (recipe, method_name(recipe, "partial-effect closure"))
    names: dict[str, str] = {}  # which search an edge comes from
    while not set(wanted) <= closure.known.keys():
        before = set(closure.known)
        search = _widen(closure)
        if search is None:
            return None
        names |= dict.fromkeys(closure.known.keys() - before, search)
        closure.grow(cuts, wanted)
    recipe = _finished(study, [*closure.steps, *finish], outputs, query)
    if recipe is None:
        return None
    used = {names[q] for step in recipe.steps for q in outputs_of(step) if q in names}
    return recipe, method_name(recipe, max(used, key=_WIDER.index, default="partial-effect closure"))


def _widen(closure: Closure) -> str | None:
    """Let the first search that finds something add it to the closure; the name of that search."""
    size = len(closure.bench.names)
    if size <= _MOST_FOR_TREKS:
        for name in _WIDER[:2]:
            found = [closure.adopt(step) for step in CRITERIA[name](closure.bench, closure.known)]
            if any(found):
                return name
    return _WIDER[2] if size <= _MOST_NODES and determinant_steps(closure) else None


def known_effects(study: Study) -> Closure:
    """Everything that the closure finds in a graph; found once for a study."""
    if "closure" in study.memory:
        known: Closure = study.memory["closure"]
        return known
    closure = Closure(study.bench, shared=_map_of(study))
    study.memory["closure"] = closure
    cuts: list[Cut] = []
    for more in _rounds(closure, None):
        cuts += more
        closure.grow(cuts)
    return closure


def _by_first_round(study: Study, closure: Closure, query: Query, wanted: list[str]) -> list[Step] | None:
    """The steps to the one effect that an edge or a total effect is, if the round that all questions share has them."""
    if not isinstance(query, DirectEffect | TotalEffect):
        return None
    if "asked" not in study.memory:  # for one question alone to share is no gain
        study.memory["asked"] = True
        return None
    if "first round" not in study.memory:
        fresh = Closure(study.bench, shared=_map_of(study))
        study.memory["first round"] = FirstRound(fresh, next(_rounds(fresh, None)))
    shared: FirstRound = study.memory["first round"]
    if not shared.applies:
        return None
    own = closure.cut(query.effect, [query.cause]) if isinstance(query, TotalEffect) else None
    return shared.steps_to(wanted[0], own)


def _map_of(study: Study) -> Map:
    if "map" not in study.memory:
        study.memory["map"] = Map(study.bench)
    found: Map = study.memory["map"]
    return found


def _constants(closure: Closure) -> list[Step]:
    return [s for s in closure.steps if isinstance(s, ValueStep)]


def _edge_steps(study: Study, name: str, wanted: list[str]) -> tuple[LinearStep, ...] | None:
    """The first steps of a criterion for edges, found once for a study; None if not all that is wanted comes."""
    arrows = [arrow_of(q) for q in wanted]
    if None in arrows:
        return None
    targets = {arrow.second for arrow in arrows if arrow is not None}
    if name == "half-trek" and name not in study.memory and len(targets) == 1:
        alone = step_alone(study.bench, *targets)
        if alone is not None:  # no need to solve all that come before it
            return (alone,)
    if name not in study.memory:
        study.memory[name] = (STEPWISE[name](study.bench), list[LinearStep](), set[str]())
    coming, steps, found = study.memory[name]
    while not found.issuperset(wanted):
        step = next(coming, None)
        if step is None:
            return None
        steps.append(step)
        found.update(outputs_of(step))
    return tuple(steps)


def _rounds(closure: Closure, query: Query | None) -> Iterator[list[Cut]]:
    """Cuts in the order in which they are worth trying: the query's own, parents, single ancestors, pairs."""
    graph = closure.bench.point.parameters.graph
    own: list[Cut] = []
    match query:
        case TotalEffect(cause, effect):
            own = [closure.cut(effect, [cause])]
        case ThroughEffect(stations):
            own = [closure.cut(v, [u]) for u, v in itertools.pairwise(stations)]
        case Distribution(names=outcomes, do=do, seen=given):
            own = [closure.cut(y, [x for x in do if x in graph.ancestors(y)]) for y in (*outcomes, *given)]
    # names of effects around others are given by the first cut that has them: only cuts of one cause leave them alone
    several = isinstance(query, Distribution) and len(query.do) > 1
    shared = Map(closure.bench) if several or closure.shared is None else closure.shared
    yield [*own, *shared.round_of(closure, 0, parent_cuts)]
    yield shared.round_of(closure, 1, lambda one: small_cuts(one, 1))
    pairs = sum(comb(len(above) - 1, 2) for above in shared.above.values())
    if pairs <= _MOST_CUTS:
        yield shared.round_of(closure, 2, lambda one: small_cuts(one, 2))


def _finished(study: Study, steps: list[Step], outputs: tuple[str, ...], query: Query) -> Recipe | None:
    kept = prune(steps, outputs)
    used = set(outputs).union(*(inputs_of(s) for s in kept))
    recipe = Recipe(study.graph.observed, tuple(_trimmed(s, used) for s in kept), outputs)
    return recipe if study.confirms(recipe, answerable(query)) else None


def _trimmed(step: Step, used: set[str]) -> Step:
    """Only outputs that are used, and rows in the order of the columns, so that regressions read as such."""
    if not isinstance(step, LinearStep):
        return step
    matching = [c for c in step.columns if c in step.rows]
    rest = [r for r in step.rows if r not in matching]
    rows = tuple(c if c in matching else rest.pop(0) for c in step.columns)
    return replace(step, rows=rows, outputs=tuple(q if q in used else None for q in step.outputs))
