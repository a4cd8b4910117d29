"""May a counterfactual be known? From the arrows by ID*, else in linear models from the effects behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from halftrek.bottom.choices import Scope
from halftrek.graphs import quoted
from halftrek.identification.arrows.estimand import as_latex, as_text
from halftrek.identification.arrows.id_star import Conflict, CounterfactualFormula, id_star
from halftrek.identification.arrows.named import effect_label
from halftrek.identification.arrows.nonparametric import Hedge
from halftrek.identification.local.worlds import effects_behind, simplified
from halftrek.identification.recipes.describe import estimand, latex, latex_effect
from halftrek.identification.recipes.recipe import Recipe, Step, outputs_of
from halftrek.identification.verdict import Verdict
from halftrek.queries.kinds.variants import Variant
from halftrek.queries.types import Distribution, Value
from halftrek.queries.written.latex import latex_name

if TYPE_CHECKING:
    from halftrek.graphs import Graph

Decide = Callable[[Distribution], Verdict]


def decide_counterfactual(graph: Graph, query: Distribution, scope: Scope, decide: Decide) -> Verdict | None:
    """The verdict on a counterfactual, if ID* or the linear effects behind it settle it; else None.

    ``decide`` gives the linear verdict on an intervention.
    """
    effects = effects_behind(graph, query)
    if not effects:
        return _observed(graph, query)
    found = id_star(graph, query)
    if scope == "nonparametric" and not isinstance(found, CounterfactualFormula):
        return _refused(graph, query, found)
    parts = [decide(effect) for effect in effects] if scope == "linear" else []
    known = bool(parts) and all(part.identified for part in parts)
    recipe = joined_recipe(graph, parts) if known else None
    if isinstance(found, CounterfactualFormula):
        return _by_formula(graph, query, found, recipe)
    return _by_effects(graph, query, parts, recipe) if known else None


def _observed(graph: Graph, query: Distribution) -> Verdict:
    short = simplified(graph, query)
    reason = "Nothing that is held has an effect on what is asked: it is a part of the distribution that the data show."
    return Verdict(query, graph, "identified", "observed", "nonparametric", str(short), None, 1, reasons=(reason,))


def _refused(graph: Graph, query: Distribution, why: Conflict | Hedge) -> Verdict:
    method = "IDC*" if query.given else "ID*"
    if isinstance(why, Hedge):
        reasons = (f"No formula in observed probabilities exists: {why}.",)
        return Verdict(
            query, graph, "not identified", method, "nonparametric", reasons=reasons, details=(why.named,), hedge=why
        )
    reason = f"No formula in observed probabilities exists: {why}."
    return Verdict(query, graph, "not identified", method, "nonparametric", reasons=(reason,))


def _by_formula(graph: Graph, query: Distribution, found: CounterfactualFormula, recipe: Recipe | None) -> Verdict:
    method = "IDC*" if query.given else "ID*"
    reasons = [
        f"The {method} algorithm takes the worlds apart into pieces that the observed distribution shows.",
        *_letters(query, found),
    ]
    if recipe is not None:
        reasons.append(f"In a linear model it is {_linear_text(graph, query, recipe)}.")
    formulas = (as_text(found.formula), as_latex(found.formula))
    return Verdict(query, graph, "identified", method, "nonparametric", *formulas, 1, recipe, reasons=tuple(reasons))


def _letters(query: Distribution, found: CounterfactualFormula) -> list[str]:
    """Which letter of the formula is the value of which outcome, where that is not plain."""
    plain = all(s == v.variable for v, s in zip(query.outcomes, found.outcomes, strict=True))
    sentences = []
    if not plain:
        said = ", ".join(f"{s} is the value of {v}" for v, s in zip(query.outcomes, found.outcomes, strict=True))
        sentences.append(f"In the formula {said}.")
    if found.arbitrary:
        sentences.append(f"The formula gives the same for every value of {' and '.join(found.arbitrary)}.")
    return sentences


def _by_effects(graph: Graph, query: Distribution, parts: list[Verdict], recipe: Recipe | None) -> Verdict:
    method = " and ".join(dict.fromkeys(part.method for part in parts))
    reasons = [
        "In linear models every counterfactual is the observed variable plus effects times changes: "
        + "; ".join(dict.fromkeys(_difference_line(graph, v) for v in (*query.outcomes, *query.given) if v.held))
        + ". These effects are identified:",
        *dict.fromkeys(r for part in parts for r in part.reasons),
    ]
    text = tex = None
    if recipe is not None:
        text, tex = _linear_text(graph, query, recipe), _linear_latex(graph, query, recipe)
    return Verdict(query, graph, "identified", method, "linear", text, tex, 1, recipe, reasons=tuple(reasons))


def joined_recipe(graph: Graph, parts: list[Verdict]) -> Recipe | None:
    """One recipe for the effects of all parts, if each has one."""
    steps: list[Step] = []
    outputs: dict[str, None] = {}
    known: set[str] = set()
    for part in parts:
        if part.recipe is None:
            return None
        for step in part.recipe.steps:
            if not known.issuperset(outputs_of(step)):
                steps.append(step)
                known |= set(outputs_of(step))
        outputs |= dict.fromkeys(part.recipe.outputs)
    return Recipe(graph.observed, tuple(steps), tuple(outputs))


def _effect_of(potential: Variant, cause: str) -> str:
    return effect_label(potential.held, cause, potential.variable)


def _difference_line(graph: Graph, potential: Variant) -> str:
    return f"{potential} = {_difference(simplified(graph, Distribution.across((potential,))).outcomes[0])}"


def _difference(potential: Variant) -> str:
    """``y + [x ~> y]·(1 - x)``."""
    terms = [f"[{_effect_of(potential, x)}]·({_value(x, value)} - {quoted(x)})" for x, value in potential.held.items()]
    return " + ".join([quoted(potential.variable), *terms])


def _value(variable: str, value: Value) -> str:
    return f"{variable}*" if value is None else f"{value:g}"


def _linear_text(graph: Graph, query: Distribution, recipe: Recipe) -> str:
    short = simplified(graph, query)
    outcomes = ", ".join(map(_difference, short.outcomes))
    given = ", ".join(_difference(v) + ("" if x is None else f" = {x:g}") for v, x in short.given.items())
    effects = estimand(recipe)
    if len(recipe.outputs) == 1:
        effects = f"[{recipe.outputs[0]}] = {effects}"
    return f"P({outcomes}{' | ' + given if given else ''}) where {effects.replace(' where ', '; ')}"


def _linear_latex(graph: Graph, query: Distribution, recipe: Recipe) -> str:
    short = simplified(graph, query)
    outcomes = ", ".join(map(_latex_difference, short.outcomes))
    given = ", ".join(_latex_difference(v) + ("" if x is None else f" = {x:g}") for v, x in short.given.items())
    effects = latex(recipe)
    if len(recipe.outputs) == 1:
        effects = f"{latex_effect(recipe.outputs[0])} = {effects}"
    condition = " \\mid " + given if given else ""
    return f"P({outcomes}{condition}),\\; {effects}"


def _latex_difference(potential: Variant) -> str:
    terms = [
        f"{latex_effect(_effect_of(potential, x))} ({latex_name(x) + '^*' if value is None else f'{value:g}'} - "
        f"{latex_name(x)})"
        for x, value in potential.held.items()
    ]
    return " + ".join([latex_name(potential.variable), *terms])
