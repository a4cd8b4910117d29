"""Why a recipe works, in sentences for readers who do not know the criteria."""

from __future__ import annotations

from collections.abc import Iterable

from halftrek.identification.recipes.recipe import LinearStep, Recipe, inputs_of

_DETERMINANTS = (
    "A coefficient is a ratio of two combinations of covariances, chosen so that everything hidden cancels; "
    "the other unknowns of such equations have no meaning of their own"
)
_IDEAS = {
    "half-trek": "Every equation is solved for all its coefficients at once (half-trek criterion).",
    "edgewise half-trek": "An equation is solved for some of its coefficients before the others are known (edgewise "
    "half-trek criterion).",
    "trek separation": f"{_DETERMINANTS} (trek separation).",
    "latent-factor half-trek": "Other variables with the same hidden cause, whose own equations are solved, stand in "
    "for it as additional regressors (latent-factor half-trek criterion).",
    "determinants": f"{_DETERMINANTS}; they were found by trying few equations at a time.",
}


def reasons_for(recipe: Recipe, method: str) -> tuple[str, ...]:
    """The idea behind a linear recipe."""
    systems = [s for s in recipe.steps if isinstance(s, LinearStep)]
    match method:
        case "given by the graph":
            return ("The graph itself fixes the value.",)
        case "instrument" | "conditional instrument" | "instrumental set":
            return (_instruments(systems[0]),)
        case "regression":
            return (_regressions(systems),)
    cleaned = [s for s in systems if inputs_of(s)]
    sentences = []
    if len(systems) > 1:
        sentences.append(
            f"The answer is found in {len(systems)} small steps, each by linear equations in the covariances."
        )
    if cleaned:
        example = next((r for s in cleaned for r in s.rows if r.minus), None)
        if example is not None:
            removed = and_list(v for v, _ in example.minus)
            start = "Effects that are already known are taken out of other variables"
            left = f"what is left of {example.variable} without the part due to {removed}"
            if method in ("latent-factor half-trek", "determinants"):  # not unrelated by itself: something else cancels
                sentences.append(f"{start}: {left} takes its place.")
            else:
                sentences.append(f"{start}; {left} is unrelated to the error in question and serves as an instrument.")
    return (*sentences, _IDEAS[method]) if method in _IDEAS else tuple(sentences)


def _instruments(step: LinearStep) -> str:
    shared = [r for r in step.rows if r in step.columns]
    tools = and_list(str(r) for r in step.rows if r not in shared)
    causes = and_list(str(c) for c in step.columns if c not in shared)
    given = f"given {and_list(map(str, shared))}, " if shared else ""
    several = len(step.rows) - len(shared) > 1
    word = "are instruments" if several else "is an instrument"
    it = "they are" if several else "it is"
    start = f"{given}{tools} {word} for {causes}: in this graph {it} related to {causes}, and to {step.target}"
    return (
        f"{start[0].upper() if given else start[0]}{start[1:]} only through the regressors, not through what is hidden."
    )


def _regressions(systems: list[LinearStep]) -> str:
    if len(systems) == 1:
        step = systems[0]
        causes = [str(c) for c, q in zip(step.columns, step.outputs, strict=True) if q is not None]
        held = [str(c) for c, q in zip(step.columns, step.outputs, strict=True) if q is None]
        start = f"Given {and_list(held)}, nothing" if held else "Nothing"
        return f"{start} hidden confounds {step.target} with {and_list(causes)}: a regression gives the answer."
    return "Nothing hidden confounds the equations involved, so ordinary regressions give the answer."


def and_list(names: Iterable[str]) -> str:
    """a; a and b; a, b and c."""
    listed = list(names)
    return listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " and " + listed[-1]
