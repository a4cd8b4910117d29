"""Why an estimate is another number than the formula that identifies it gives.

A formula uses some covariances; the likelihood uses every equation that the effect depends on, and with an equation its
whole district. If a district is one equation and its causes whose errors covary with its own, each of these with all
outer variables as its causes, that is limited-information maximum likelihood (LIML) with all of them as instruments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from halftrek.estimation import Fitted
from halftrek.estimation.plan import Task, make_plan
from halftrek.graphs import Graph
from halftrek.identification.recipes.recipe import LinearStep, Recipe, variables_used
from halftrek.identification.recipes.sentences import and_list
from halftrek.inference.checks.disagreement import Difference, Effect, difference
from halftrek.inference.information.base import kind_of_data
from halftrek.notes import Note
from halftrek.queries import DirectEffect, Query, TotalEffect
from halftrek.queries.gradients import linearize

NAMED = 8  # variables that are named; the others are counted


def formula_notes(
    fit: Fitted, query: Query, recipe: Recipe | None, *, robust: bool = False, rejected: bool = False
) -> tuple[Note, ...]:
    """Why formula and estimate differ, and that chance explains it, or a warning where it does not.

    Nothing if they are the same to the digits that are shown. ``robust`` takes the spread of the difference from the
    rows, by cluster where they have clusters. ``rejected``: it is said already that the data contradict the graph.
    """
    found = difference(fit, query, recipe, robust=robust)
    if found is None or recipe is None:
        return ()
    apart = found.note
    if apart is None and f"{found.formula:.4g}" == f"{found.model:.4g}":
        return ()
    if not tasks_of(fit, found.effect):  # so small that no derivative is left: there is nothing to tell apart
        return ()
    why = _why(fit, found, recipe)
    if apart is not None:
        return (why, Note("formula by no chance", apart.facts)) if rejected else (apart, why)
    gap = abs(found.formula - found.model)
    return (why, Note("formula by chance", {"gap": gap, "error": found.error})) if found.error > 0.0 else (why,)


def _why(fit: Fitted, found: Difference, recipe: Recipe) -> Note:
    """What the estimate uses beyond the formula."""
    facts: dict[str, Any] = {"what": str(found.effect), "formula": found.formula, "model": found.model}
    facts["used"] = _named(variables_used(recipe))
    if kind_of_data(fit).formula_note:
        return Note(kind_of_data(fit).formula_note, facts)
    tasks, names = tasks_of(fit, found.effect), fit.model.names
    instruments, tools = liml_instruments(fit, found.effect, tasks), _tools(recipe)
    if instruments and tools and isinstance(found.effect, DirectEffect | TotalEffect):
        facts |= {"outcome": found.effect.effect, "tools": _named(tools), "instruments": _named(instruments)}
        return Note("formula beside LIML", facts)
    members = [names[v] for task in tasks for v in task.variables]
    facts["equations"] = _named(members)
    if all(len(task.variables) == 1 and task.plain for task in tasks):
        return Note("formula beside regressions", facts)
    causes = [u for v in members for u in fit.graph.parents(v)]
    return Note("formula beside likelihood", {**facts, "variables": _named([*members, *causes])})


def tasks_of(fit: Fitted, effect: Effect) -> list[Task]:
    """The districts (or several that share a label) whose likelihood an effect depends on."""
    (gradient,), place = linearize(effect, fit.model).values, {v: i for i, v in enumerate(fit.model.names)}
    used = {place[v] for u, v in fit.graph.directed if gradient.T[place[u], place[v]]}
    used |= {i for i in place.values() if gradient.omega[i].any()}
    plan = make_plan(fit.graph, fit.model.names, fit.options)
    return [task for task in plan.every_task if used & set(task.variables)]


def liml_instruments(fit: Fitted, effect: Effect, tasks: list[Task]) -> tuple[str, ...]:
    """All instruments, if the estimate of a single equation is LIML with them; else none."""
    graph, names = fit.graph, fit.model.names
    if not isinstance(effect, DirectEffect | TotalEffect) or len(tasks) != 1 or not kind_of_data(fit).by_district:
        return ()
    (task,), outcome = tasks, effect.effect
    members = {names[v] for v in task.variables}
    causes = members & set(graph.parents(outcome))
    if effect.cause not in causes or members != {outcome, *causes} or not task.plain or task.about_origin:
        return ()
    outer = {u for v in members for u in graph.parents(v)} - members
    free = all(_free(graph, u, v) for u in members for v in members if u < v)
    if not free or task.latents or any(set(graph.parents(x)) != outer for x in causes):
        return ()
    return tuple(v for v in graph.observed if v in outer and v not in graph.parents(outcome))


def _free(graph: Graph, u: str, v: str) -> bool:
    """True if the covariance of two errors is a parameter of its own."""
    return v in graph.siblings(u) or any(set(kids) == {u, v} for kids in graph.latents.values())


def _tools(recipe: Recipe) -> tuple[str, ...]:
    """The instruments of a formula that is one linear system of plain variables."""
    if len(recipe.steps) != 1 or not isinstance(recipe.steps[0], LinearStep):
        return ()
    step = recipe.steps[0]
    if any(c.minus for c in (*step.rows, *step.columns, step.target)):
        return ()
    return tuple(c.variable for c in step.rows if c not in step.columns)


def _named(names: Iterable[str]) -> str:
    found = list(dict.fromkeys(names))
    more = len(found) - NAMED
    return and_list(found if more <= 0 else [*found[:NAMED], f"{more} more"])
