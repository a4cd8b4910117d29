"""May it be known? The decision, from the graph alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.choices import Scope
from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.identification.arrows.estimand import as_latex, as_text
from halftrek.identification.arrows.named import Finding, from_the_arrows
from halftrek.identification.arrows.nonparametric import Hedge
from halftrek.identification.clock import Progress, start_clock
from halftrek.identification.local.functionals import functionals
from halftrek.identification.local.parameters import Point
from halftrek.identification.numbers.fields import Reals
from halftrek.identification.recipes.describe import estimand, latex
from halftrek.identification.recipes.recipe import Recipe, ValueStep
from halftrek.identification.recipes.sentences import reasons_for
from halftrek.identification.study import Study
from halftrek.identification.verdict import Verdict
from halftrek.queries.evaluate import check_roles
from halftrek.queries.types import (
    Composite,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    is_composite,
    is_intervention,
)

if TYPE_CHECKING:
    from halftrek.identification.beside.advice import Change
    from halftrek.identification.exact.elimination import Count
    from halftrek.identification.local.witness import Witness

_CHECKED = "checked exactly at two random points, modulo two primes"
_SHORT = 0.1  # seconds for the hardest step of a question that is looked at for an advice
_SECONDS = 0.3  # for lines that go on from a refusal, besides the time that changes are given


def identify(
    graph: Graph,
    query: Query,
    *,
    scope: Scope = "linear",
    budget: float = 5.0,
    witness: bool = True,
    progress: Progress | None = None,
) -> Verdict:
    """Decide whether the distribution of the observed variables determines the answer to a query.

    ``scope="linear"`` uses that the equations are linear, ``"nonparametric"`` only the arrows; ``"non-normal"`` uses
    that errors without an arc between them are independent, too, and that they are not normal. ``budget`` bounds the
    seconds that are spent on the hardest step. ``witness=False`` saves the search for two models that prove a negative
    verdict. ``progress(seconds, budget)`` is called now and then during the hardest step.
    """
    check_roles(query, graph)
    study = Study(graph, progress)
    verdict = decide(study, query, scope=scope, budget=budget, witness=witness)
    return _advised(study, verdict, scope) if witness and not verdict.identified else verdict


def identify_all(
    graph: Graph,
    queries: Iterable[Query] | None = None,
    *,
    scope: Scope = "linear",
    budget: float = 5.0,
    witness: bool = False,
    progress: Progress | None = None,
) -> list[Verdict]:
    """Verdicts for many queries on one graph (left out: every edge and every total effect), sharing the work."""
    study = Study(graph, progress)
    asked = every_effect(graph) if queries is None else list(queries)
    for query in asked:
        check_roles(query, graph)
    return [decide(study, query, scope=scope, budget=budget, witness=witness) for query in asked]


def every_effect(graph: Graph) -> list[Query]:
    """Each edge, and each total effect along at least one directed path."""
    edges: list[Query] = [DirectEffect(u, v) for u, v in graph.directed]
    order = graph.topological_order
    below = {u: graph.descendants(u) - {u} for u in order}
    return edges + [TotalEffect(u, v) for u in order for v in order if v in below[u]]


def decide(study: Study, query: Query, *, scope: Scope, budget: float, witness: bool) -> Verdict:
    """The verdict on one query of a prepared graph."""
    graph = study.graph
    if scope == "non-normal":
        found_linear = decide(study, query, scope="linear", budget=budget, witness=False)
        if found_linear.identified:
            return found_linear
        from halftrek.identification.independence.deciding import beyond_covariances

        return beyond_covariances(graph, query, witness=witness)
    absent = _absent(graph, query)
    if absent is not None:
        return Verdict(query, graph, "identified", "no path", "nonparametric", "0", "0", 1, reasons=(absent,))
    if graph.hidden:
        from halftrek.identification.hidden.door import decide_hidden

        def plain(other: Graph, asked: Query) -> Verdict:
            return decide(study.beside(other), asked, scope=scope, budget=budget, witness=False)

        return decide_hidden(study, query, plain, scope=scope, budget=budget, witness=witness)
    if is_intervention(query) and not query.do:
        reason = "It asks nothing about an intervention: it is a part of the distribution that the data show."
        return Verdict(query, graph, "identified", "observed", "nonparametric", str(query), None, 1, reasons=(reason,))
    if isinstance(query, Distribution) and query.asks == "counterfactual":
        from halftrek.identification.counterfactual import decide_counterfactual

        def part(effect: Distribution) -> Verdict:
            return decide(study, effect, scope="linear", budget=budget, witness=False)

        settled = decide_counterfactual(graph, query, scope, part)
        if settled is not None:
            return settled
    if is_composite(query):
        return _decide_composite(study, query, scope=scope, budget=budget, witness=witness)
    asked = _as_intervention(query)
    if scope == "nonparametric":
        if asked is None:
            raise QueryError(
                f"{query} is a coefficient of linear equations and means nothing without them; "
                f"ask P(... | do(...)) instead, or scope='linear'"
            )
        found = from_the_arrows(graph, asked)
        return _hedged(study, query, found) if isinstance(found, Hedge) else _found(study, query, found)
    if asked is not None:
        found = from_the_arrows(graph, asked)
        if isinstance(found, Finding):
            return _found(study, query, found)
    return _decide_linear(study, query, budget=budget, witness=witness)


def _decide_composite(study: Study, query: Composite, *, scope: Scope, budget: float, witness: bool) -> Verdict:
    """By parts or by an equal effect; else by the gradient of the answer and by counting its values."""
    from halftrek.identification.composites import as_asked, by_terms, decide_composite, in_ranges, truly_moves
    from halftrek.identification.local.pieces import is_rational

    def part(asked: Query, grounds: Scope) -> Verdict:
        return decide(study, asked, scope=grounds, budget=budget, witness=False)

    verdict = decide_composite(study, query, scope, part)
    if verdict is None and study.locally_identified(query):
        verdict = by_terms(study.graph, query, part)
        if verdict is None:
            verdict = _decide_by_counting(study, study.part(study.region(query)), query, budget=budget, witness=witness)
    elif verdict is None and (is_rational(query) or isinstance(query, Distribution) or truly_moves(study, query)):
        verdict = _not_identified(study, query, budget, witness)
    elif verdict is None and (ranges := in_ranges(query)) != query:
        verdict = as_asked(_decide_composite(study, ranges, scope=scope, budget=budget, witness=witness), query)
    elif verdict is None:
        reason = "It is made of numbers that are not identified; whether they cancel was not found out."
        verdict = Verdict(query, study.graph, "undecided", "jacobian", "linear", reasons=(reason,))
    return verdict


def _decide_linear(study: Study, query: Query, *, budget: float, witness: bool) -> Verdict:
    graph = study.graph
    fixed = _fixed_by_the_graph(study, query)
    if fixed is not None:
        return fixed
    if not study.locally_identified(query):
        return _not_identified(study, query, budget, witness)
    from halftrek.identification.criteria.certificate import find_recipe

    part = study.part(study.region(query))
    found = find_recipe(part, query)
    if found is not None:
        recipe, method = replace(found[0], names=graph.observed), found[1]
        formulas = (estimand(recipe), latex(recipe))
        reasons = reasons_for(recipe, method)
        return Verdict(query, graph, "identified", method, "linear", *formulas, 1, recipe, reasons=reasons)
    return _decide_by_counting(study, part, query, budget=budget, witness=witness)


def _fixed_by_the_graph(study: Study, query: Query) -> Verdict | None:
    """The verdict if the answer depends on no free parameter: fixed coefficients say it all."""
    if study.functionals(query, 0).moving:
        return None
    found = functionals(query, Point(study.table, Reals(), np.ones(study.table.count)))
    steps = tuple(ValueStep(text, float(value)) for text, value in zip(found.texts, found.values, strict=True))
    recipe = Recipe(study.graph.observed, steps, found.texts)
    method = "given by the graph"
    formulas, reasons = (estimand(recipe), latex(recipe)), reasons_for(recipe, method)
    return Verdict(query, study.graph, "identified", method, "linear", *formulas, 1, recipe, reasons=reasons)


def _decide_by_counting(study: Study, part: Study, query: Query, *, budget: float, witness: bool) -> Verdict:
    """No criterion gave a formula: count the values at a random covariance."""
    from halftrek.identification.criteria.certificate import known_effects
    from halftrek.identification.exact.elimination import count_values

    graph = study.graph
    count = count_values(part, query, frozenset(known_effects(part).known), budget=budget)
    if count is not None and count.values == 1:
        reason = (
            "The variances and covariances of the observed variables leave one single value. No named criterion gives "
            "a formula; an estimate comes from fitting the model."
        )
        detail = (
            "At a random covariance matrix of this graph, eliminating all other unknowns from the model's equations "
            f"leaves one single value ({_CHECKED})."
        )
        return Verdict(
            query, graph, "identified", "elimination", "linear", degree=1, reasons=(reason,), details=(detail,)
        )
    search = count is not None and (witness or not count.exact)
    proof = _branches(graph, query, budget) if search else None
    if count is None or not (count.exact or proof):
        reason = "Data leave at most a few values; whether it is one was not found out."
        if count is not None:
            reason = (
                f"Data leave at most {count.values} values; a search for a second model that fits the same data and "
                f"has another answer found none."
            )
        return Verdict(query, graph, "undecided", "elimination", "linear", reasons=(reason,))
    return Verdict(
        query,
        graph,
        "finite",
        "elimination",
        "linear",
        degree=count.values,
        witness=proof if witness else None,
        reasons=_why_finite(count, witness and proof is None),
        details=_why_finite_exactly(count),
    )


def _branches(graph: Graph, query: Query, budget: float) -> Witness | None:
    from halftrek.identification.exact.branches import find_branches

    try:
        return find_branches(graph, query, seconds=budget)
    except QueryError:  # a composite question may have no answer in some models: a divisor is zero there
        return None


def _why_finite(count: Count, alone: bool) -> tuple[str, ...]:
    reason = (
        f"The variances and covariances of the observed variables leave {'' if count.exact else 'at most '}"
        f"{count.values} different answers, each from coefficients of its own."
    )
    if not alone:
        return (reason,)
    search = (
        "A search for a second model that fits the same data and has another answer found none: some of the answers "
        "may belong to no model at all, for instance because they need a negative variance."
    )
    return (reason, search)


def _why_finite_exactly(count: Count) -> tuple[str, ...]:
    reason = (
        f"At a random covariance matrix of this graph, eliminating all other unknowns from the model's equations "
        f"leaves an equation with {'' if count.exact else 'at most '}{count.values} different solutions, complex ones "
        f"counted ({_CHECKED})."
    )
    return (reason,)


def _advised(study: Study, verdict: Verdict, scope: Scope) -> Verdict:
    """A refusal with what would help, and lines that go on from it."""
    from halftrek.identification.beside import next_steps as after

    graph, query = study.graph, verdict.query

    def identified(changed: Graph, asked: Query) -> bool:
        home = study if changed is graph else Study(changed)
        return decide(home, asked, scope="linear", budget=_SHORT, witness=False).identified

    if graph.hidden:
        return after.with_factors(study, verdict, identified, seconds=_SECONDS) if scope == "linear" else verdict
    if scope == "nonparametric":
        if decide(study, query, scope="linear", budget=_SHORT, witness=False).identified:
            step = after.NextStep("If effects are linear, it can be known:", "identify", graph, query)
            return replace(verdict, next_steps=(step,))
        return replace(verdict, next_steps=(after.which_effects(graph, query),))
    waits = verdict.status == "undecided" and scope == "linear"
    steps = [after.NextStep("More time may decide it:", "more time", graph, query)] if waits else []
    changes = [] if waits else what_would_help(graph, query)
    steps += after.step_with_change(changes)
    steps += after.steps_without_change(
        graph, query, identified, seconds=_SECONDS, vary=verdict.status == "not identified"
    )
    steps += after.step_without_normality(graph, query) if scope == "linear" and not waits else []
    if all(step.way == "sensitivity" for step in steps):  # there is no command for that
        steps.append(after.which_effects(graph, query))
    return replace(verdict, advice=tuple(change.note for change in changes), next_steps=tuple(steps))


def what_would_help(graph: Graph, query: Query, *, seconds: float = 1.0, most: int = 6) -> list[Change]:
    """Smallest changes of the graph or of what is measured that make a query identified, ranked."""
    from halftrek.identification.beside.advice import helpful_changes

    check_roles(query, graph)

    def identified(changed: Graph, asked: Query) -> bool:
        return decide(Study(changed), asked, scope="linear", budget=0.5, witness=False).identified

    return helpful_changes(graph, query, identified, seconds=seconds, most=most)


def _as_intervention(query: Query) -> Distribution | None:
    """The intervention that a query is about, if it means anything without linearity."""
    if isinstance(query, TotalEffect):
        return Distribution.after((query.effect,), {query.cause: None})
    return query if is_intervention(query) else None


def _found(study: Study, query: Query, found: Finding) -> Verdict:
    """Identified from the arrows alone; the linear recipe comes along where there is one."""
    recipe = found.recipe
    if recipe is None:
        from halftrek.identification.criteria.certificate import find_recipe

        linear = find_recipe(study.part(study.region(query)), query)
        recipe = None if linear is None else replace(linear[0], names=study.graph.observed)
    formulas = (as_text(found.formula), as_latex(found.formula))
    reasons = found.reasons
    if isinstance(query, TotalEffect) and recipe is not None:
        formulas = (estimand(recipe), latex(recipe))
    elif recipe is not None and found.method != "no path":
        word = "effect is" if len(recipe.outputs) == 1 else "effects are"
        reasons = (*reasons, f"In a linear model the {word}: {estimand(recipe)}.")
    return Verdict(
        query, study.graph, "identified", found.method, "nonparametric", *formulas, 1, recipe, reasons=reasons
    )


def _hedged(study: Study, query: Query, hedge: Hedge) -> Verdict:
    return Verdict(
        query,
        study.graph,
        "not identified",
        "ID",
        "nonparametric",
        reasons=(f"No formula in observed probabilities exists: {hedge}.",),
        details=(hedge.named,),
        hedge=hedge,
    )


def _absent(graph: Graph, query: Query) -> str | None:
    """Why the graph says that an effect is zero, if it does."""
    match query:
        case DirectEffect(u, v) if u not in graph.parents(v):
            return f"The graph has no arrow {u} -> {v}, so by assumption the direct effect is zero."
        case PathEffect(path):
            for u, v in itertools.pairwise(path):
                if u not in graph.parents(v):
                    return f"The graph has no arrow {u} -> {v}, so by assumption the effect along this path is zero."
        case TotalEffect(u, v) if v not in graph.descendants(u):
            return f"No directed path leads from {u} to {v}, so by assumption {u} has no effect on {v}."
        case ErrorCovariance(u, v) if u != v and v not in graph.spouses(u):
            return f"The graph has neither {u} <-> {v} nor a hidden cause of both, so by assumption it is zero."
        case ThroughEffect(stations):
            for u, v in itertools.pairwise(stations):
                if v not in graph.descendants(u):
                    return f"No directed path leads from {u} to {v}, so by assumption this effect is zero."
    return None


def _not_identified(study: Study, query: Query, budget: float, witness: bool) -> Verdict:
    reason = (
        "Other values of the coefficients give the same variances and covariances of everything that is observed, and "
        "another answer: no amount of data tells them apart."
    )
    detail = (
        "The parameters of the model can move in a direction that leaves every covariance of the observed variables as "
        f"it is and changes the answer ({_CHECKED})."
    )
    from halftrek.identification.local.witness import find_witness

    clock = start_clock(budget, study.progress)
    proof = find_witness(study.graph, query, clock=clock) if witness else None
    return Verdict(
        query,
        study.graph,
        "not identified",
        "jacobian",
        "linear",
        witness=proof,
        reasons=(reason,),
        details=(detail,),
    )
