"""Recipes in words and in LaTeX, and the name of the method that a recipe is an instance of."""

from __future__ import annotations

from halftrek.identification.recipes.recipe import (
    Combination,
    CovarianceStep,
    LinearStep,
    Recipe,
    Step,
    SumStep,
    ValueStep,
    arrow_of,
    inputs_of,
    outputs_of,
)
from halftrek.queries.written.latex import latex_name
from halftrek.queries.written.latex_letters import latex_text


def method_name(recipe: Recipe, found_by: str) -> str:
    """What people call the recipe, if it has a name (regression, instrument, ...); else the search that found it."""
    systems = [s for s in recipe.steps if isinstance(s, LinearStep)]
    if not systems:
        return "given by the graph"
    if len(systems) == 1:
        return _system_name(systems[0], found_by)
    return "regression" if all(is_regression(s) for s in systems) else found_by


def is_regression(step: LinearStep) -> bool:
    """True if the instruments are the regressors themselves."""
    return set(step.rows) == set(step.columns)


def _system_name(step: LinearStep, found_by: str) -> str:
    plain = not any(c.minus for c in (*step.rows, *step.columns, step.target))
    shared = set(step.rows) & set(step.columns)
    if is_regression(step):
        return "regression"
    if plain and len(step.rows) == 1:
        return "instrument"
    if plain and len(shared) == len(step.rows) - 1 and not _outputs_at(step, shared):
        return "conditional instrument"
    meaningful = all(step.outputs) or found_by in ("half-trek", "edgewise half-trek", "partial-effect closure")
    return "instrumental set" if plain and meaningful else found_by


def _outputs_at(step: LinearStep, shared: set[Combination]) -> bool:
    return any(q is not None and c in shared for c, q in zip(step.columns, step.outputs, strict=True))


def estimand(recipe: Recipe) -> str:
    """The recipe as one line of text."""
    return _compose(recipe, _text, lambda q: f"[{q}]", "; ", " where ")


def latex(recipe: Recipe) -> str:
    """The recipe in LaTeX."""
    return _compose(recipe, _latex, _symbol, ",\\; ", "\\quad\\text{where } ")


def _compose(recipe: Recipe, say, symbol, comma: str, where: str) -> str:  # type: ignore[no-untyped-def]
    maker = {q: (step, q) for step in recipe.steps for q in outputs_of(step)}
    for q, (step, _) in list(maker.items()):  # another name for the same number
        if isinstance(step, SumStep) and step.terms == ((1, step.terms[0][1][:1]),) and step.divisor is None:
            maker[q] = maker[step.terms[0][1][0]]
    shown = [maker[q][0] for q in recipe.outputs]
    needed: set[str] = set()
    stack = list(shown)
    while stack:
        for q in inputs_of(stack.pop()) - needed:
            needed.add(q)
            stack.append(maker[q][0])
    heads = [f"{symbol(q)} = {say(*maker[q])}" for q in recipe.outputs]
    if len(recipe.outputs) == 1:
        heads = [say(*maker[recipe.outputs[0]])]
    order = [q for step in recipe.steps for q in outputs_of(step) if q in needed and q not in recipe.outputs]
    tail = comma.join(f"{symbol(q)} = {say(*maker[q])}" for q in order)
    return comma.join(heads) + (where + tail if tail else "")


def _text(step: Step, output: str) -> str:
    match step:
        case LinearStep(rows, columns, target, outputs):
            at = outputs.index(output)
            column, others = columns[at], [c for i, c in enumerate(columns) if i != at]
            if is_regression(step):
                return f"slope of {column} in the regression of {target} on {_list(columns)}"
            spare = [r for r in rows if r not in others]
            if len(spare) == 1:
                given = f" | {_list(others)}" if others else ""
                return f"Cov({spare[0]}, {target}{given}) / Cov({spare[0]}, {column}{given})"
            return f"entry {column} of Cov({_set(rows)}, {_set(columns)})⁻¹ Cov({_set(rows)}, {target})"
        case SumStep(_, terms, divisor):
            text = _signed(["·".join(f"[{q}]" for q in factors) or "1" for _, factors in terms], [s for s, _ in terms])
            return f"({text}) / [{divisor}]" if divisor else text
        case CovarianceStep(_, left, right):
            return f"Cov({left}, {right})" if left != right else f"Var({left})"
        case ValueStep(_, value):
            return f"{value:g}"


def _latex(step: Step, output: str) -> str:
    match step:
        case LinearStep(rows, columns, target, outputs):
            at = outputs.index(output)
            column, others = columns[at], [c for i, c in enumerate(columns) if i != at]
            given = " \\mid " + ", ".join(map(_combination, others)) if others else ""
            if is_regression(step) and not target.minus:
                dot = "\\cdot " + ",".join(latex_name(c.variable) for c in others) if others else ""
                return f"\\beta_{{{latex_name(target.variable)}\\,{latex_name(column.variable)}{dot}}}"
            spare = [r for r in rows if r not in others]
            if len(spare) == 1:
                z, y, x = map(_combination, (spare[0], target, column))
                return f"\\frac{{\\mathrm{{Cov}}({z}, {y}{given})}}{{\\mathrm{{Cov}}({z}, {x}{given})}}"
            left, right = ", ".join(map(_combination, rows)), ", ".join(map(_combination, columns))
            system = f"\\mathrm{{Cov}}(({left}), ({right}))^{{-1}} \\mathrm{{Cov}}(({left}), {_combination(target)})"
            return f"\\bigl[{system}\\bigr]_{{{latex_name(column.variable)}}}"
        case SumStep(_, terms, divisor):
            text = _signed(
                ["\\,".join(_symbol(q) for q in factors) or "1" for _, factors in terms], [s for s, _ in terms]
            )
            return f"\\frac{{{text}}}{{{_symbol(divisor)}}}" if divisor else text
        case CovarianceStep(_, left, right):
            return f"\\mathrm{{Cov}}({_combination(left)}, {_combination(right)})"
        case ValueStep(_, value):
            return f"{value:g}"


def _signed(texts: list[str], signs: list[int]) -> str:
    joined = "".join((" + " if s > 0 else " - ") + t for s, t in zip(signs, texts, strict=True))
    return joined[3:] if signs[0] > 0 else "-" + joined[3:]


def _list(items: tuple[Combination, ...] | list[Combination]) -> str:
    return ", ".join(map(str, items))


def _set(items: tuple[Combination, ...]) -> str:
    return "{" + _list(items) + "}"


def _combination(c: Combination) -> str:
    return latex_name(c.variable) + "".join(f" - {_symbol(q)}\\,{latex_name(v)}" for v, q in c.minus)


def latex_effect(quantity: str) -> str:
    """The sign of an effect such as ``x ~> y`` or ``x ~> y around m``; without the arrow names run into each other."""
    path, _, around = quantity.partition(" around ")
    u, v = (latex_name(end.strip()) for end in path.split("~>", 1))
    return f"\\tau_{{{u} \\to {v}" + (f"\\setminus {latex_name(around)}" if around else "") + "}"


def _symbol(quantity: str) -> str:
    arrow, path = arrow_of(quantity), quantity.partition(" around ")[0]
    if arrow is not None:
        return f"\\lambda_{{{latex_name(arrow.first)} \\to {latex_name(arrow.second)}}}"
    if "~>" in path:
        return latex_effect(quantity)
    return f"q_{{\\text{{{latex_text(quantity)}}}}}"
