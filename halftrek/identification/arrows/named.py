"""Interventions answered from the arrows alone, by the best-known formula that applies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from halftrek.graphs import Graph
from halftrek.identification.arrows.adjustment import adjustment_set, front_door_set
from halftrek.identification.arrows.estimand import Formula, Probability, Product, Sum
from halftrek.identification.arrows.nonparametric import Hedge, arbitrary_values, id_formula, idc_formula
from halftrek.identification.recipes.recipe import Combination, LinearStep, Recipe, Step, SumStep, ValueStep
from halftrek.identification.recipes.sentences import and_list
from halftrek.queries.types import Distribution


@dataclass(frozen=True)
class Finding:
    """A formula that holds without linearity, its name, the reason in words, and what it becomes in linear models."""

    method: str
    formula: Formula
    reasons: tuple[str, ...]
    recipe: Recipe | None = None


def effect_label(held: Iterable[str], cause: str, outcome: str) -> str:
    """How the effect of one held variable is called in a recipe's outputs."""
    others = [w for w in held if w != cause]
    return f"{cause} ~> {outcome}" + (f" around {', '.join(others)}" if others else "")


def from_the_arrows(graph: Graph, query: Distribution) -> Finding | Hedge:
    """A formula for the query that needs no linearity, or the hedge that forbids one."""
    if query.seen:
        return _conditional(graph, query)
    for attempt in (_no_path, _adjustment, _front_door):
        found = attempt(graph, query)
        if found is not None:
            return found
    formula = id_formula(graph, query.names, query.do)
    if isinstance(formula, Hedge):
        return formula
    reason = "The ID algorithm takes the intervention apart into pieces that the observed distribution shows."
    return Finding("ID", formula, (reason, *_any_value(graph, query, formula)))


def _conditional(graph: Graph, query: Distribution) -> Finding | Hedge:
    formula = idc_formula(graph, query.names, query.do, query.seen)
    if isinstance(formula, Hedge):
        return formula
    reason = "The IDC algorithm takes the intervention apart into pieces that the observed distribution shows."
    return Finding("IDC", formula, (reason, *_any_value(graph, query, formula)))


def _any_value(graph: Graph, query: Distribution, formula: Formula) -> tuple[str, ...]:
    arbitrary = arbitrary_values(graph, formula, (*query.names, *query.do, *query.seen))
    return (f"The formula gives the same for every value of {' and '.join(arbitrary)}.",) if arbitrary else ()


def _no_path(graph: Graph, query: Distribution) -> Finding | None:
    if graph.descendants(tuple(query.do)) & set(query.names):
        return None
    ends = f"from {and_list(query.do)} to {and_list(query.names)}"
    reason = f"No directed path leads {ends}: the intervention changes nothing."
    steps: list[Step] = [ValueStep(effect_label(query.do, x, y), 0.0) for x in query.do for y in query.names]
    return Finding("no path", Probability(query.names), (reason,), _recipe(graph, query, steps))


def _adjustment(graph: Graph, query: Distribution) -> Finding | None:
    causes = tuple(query.do)
    chosen = adjustment_set(graph, causes, query.names)
    if chosen is None:
        return None
    regressors = tuple(Combination(v) for v in (*causes, *chosen))
    rest = (None,) * len(chosen)
    steps: list[Step] = [
        LinearStep(regressors, regressors, Combination(y), (*(effect_label(query.do, x, y) for x in causes), *rest))
        for y in query.names
    ]
    recipe = _recipe(graph, query, steps)
    if not chosen:
        reason = f"Nothing confounds {and_list(causes)} and {and_list(query.names)}: seeing and doing give the same."
        return Finding("back-door", Probability(query.names, causes), (reason,), recipe)
    name = "adjustment" if graph.descendants(causes) & set(chosen) else "back-door"
    criterion = "back-door criterion" if name == "back-door" else "generalised adjustment criterion"
    reason = (
        f"Adjusting for {and_list(chosen)} blocks every path between {and_list(causes)} and "
        f"{and_list(query.names)} that is not causal ({criterion})."
    )
    formula = Sum(chosen, Product((Probability(query.names, (*causes, *chosen)), Probability(chosen))))
    return Finding(name, formula, (reason,), recipe)


def _front_door(graph: Graph, query: Distribution) -> Finding | None:
    if len(query.do) != 1 or len(query.names) != 1:
        return None
    (x,), (y,) = query.do, query.names
    chosen = front_door_set(graph, x, y)
    if chosen is None:
        return None
    between = and_list(chosen)
    inner = Sum((x,), Product((Probability((y,), (x, *chosen)), Probability((x,)))))
    formula = Sum(chosen, Product((Probability(chosen, (x,)), inner)))
    reason = (
        f"All of the effect of {x} on {y} runs through {between}, nothing confounds {x} with {between}, and "
        f"holding {x} fixed blocks what confounds {between} with {y} (front-door criterion)."
    )
    source, behind = Combination(x), tuple(Combination(v) for v in (*chosen, x))
    first: list[Step] = [LinearStep((source,), (source,), Combination(m), (f"{x} ~> {m}",)) for m in chosen]
    slopes = [
        f"{m} ~> {y}" + (f" around {', '.join(w for w in chosen if w != m)}" if chosen[1:] else "") for m in chosen
    ]
    second = LinearStep(behind, behind, Combination(y), (*slopes, None))
    total = SumStep(f"{x} ~> {y}", tuple((1, (f"{x} ~> {m}", s)) for m, s in zip(chosen, slopes, strict=True)))
    return Finding("front-door", formula, (reason,), _recipe(graph, query, [*first, second, total]))


def _recipe(graph: Graph, query: Distribution, steps: list[Step]) -> Recipe:
    return Recipe(
        graph.observed, tuple(steps), tuple(effect_label(query.do, x, y) for x in query.do for y in query.names)
    )
