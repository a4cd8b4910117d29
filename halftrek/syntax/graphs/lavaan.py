"""The syntax of lavaan, with the meaning it has in ``sem(..., fixed.x = FALSE)``.

- ``y ~ 0.5*x1 + a*x2 + x3``: arrows into y, with coefficients; ``y ~ 1``: the intercept, free as it always is unless it
  is fixed, ``y ~ 0*1``, or has the label of another.
- ``x ~~ y``: the errors covary, ``x <-> y``; ``x ~~ 0*y``: they do not; ``x ~~ x``: the variance, as the intercept.
- Exogenous variables (right of some ``~``, never left of one, no indicator) covary unless ``x1 ~~ 0*x2``; one that is
  named in a ``~~`` or ``~ 1`` covaries only as written.
- ``f =~ a + b + c``: a hidden variable with its effects, observed or hidden. Its first loading is 1 and its variance
  free, unless ``NA*`` frees the loading and ``f ~~ 1*f`` fixes the variance. Factors without causes covary unless
  ``f ~~ 0*g``. ``f =~ 0``: a hidden variable without effects. The only indicator of a factor has no error.
- Parameters of one label are equal, across kinds too; ``a == b`` and ``a == 0.5`` say so of labels. ``total := a*b + c``
  asks for a number that is made of parameters.
- Outcomes that cause nothing covary in ``sem()``, and here only if the text says so or ``Conventions`` do.

What is left out, or read in another way than ``sem()`` reads it, is said in the graph's ``notes``; what has no meaning
here is refused.
"""

from __future__ import annotations

from itertools import combinations

from halftrek.graphs import Coefficient, Graph
from halftrek.syntax.graphs.conventions import USUAL, Conventions
from halftrek.syntax.graphs.draft import Draft
from halftrek.syntax.graphs.formulas import Definition, Formula, parse_formulas
from halftrek.syntax.graphs.lavaan_definitions import defined
from halftrek.syntax.graphs.lavaan_labels import Key, Known, known_parameters, pair_key
from halftrek.syntax.graphs.lavaan_model import Model, in_group, sorted_formulas
from halftrek.syntax.graphs.lavaan_notes import reading_notes
from halftrek.syntax.tokens import Token


def parse(text: str, conventions: Conventions = USUAL, group: int | None = None) -> Graph:
    """The graph that the formulas describe, of one group where the text speaks of several."""
    said = list(parse_formulas(text))
    formulas = [one for one in said if isinstance(one, Formula)]
    _refuse_groups(text, formulas, group)
    model = sorted_formulas(text, in_group(formulas, group or 0))
    asked = [one for one in said if isinstance(one, Definition)]
    known = known_parameters(model, conventions, [one for one in asked if one.name is None])
    draft = _drafted(model, formulas)
    _connect(model, conventions, known, draft)
    _say_intercepts(model, conventions, known, draft)
    without_scale = _say_variances(model, known, draft)
    draft.definitions = defined(known, [one for one in asked if one.name is not None])
    return draft.build(reading_notes(model, conventions, known, without_scale))


def _refuse_groups(text: str, formulas: list[Formula], group: int | None) -> None:
    for formula in formulas:
        width = len(formula.term.each)
        if width > 1 and (group is None or group >= width):
            model = sorted_formulas(text, [])
            model.refuse(
                "c() gives a parameter one value for each group, and a graph has one value for all"
                if group is None
                else f"c() has values for {width} groups, and there are more",
                formula.term.first,
                formula.term.last,
            )


def _drafted(model: Model, formulas: list[Formula]) -> Draft:
    """All names in the order of the text, and which are hidden."""
    draft = Draft(model.text)
    for formula in formulas:
        draft.meet(formula.left)
        if formula.term.name is not None:
            draft.meet(formula.term.name)
    for factor in model.factors.values():
        draft.hide(factor)
    return draft


def _connect(model: Model, conventions: Conventions, known: Known, draft: Draft) -> None:
    for arrow, formula in model.weights.items():
        term = formula.term
        name = term.name or formula.left
        ends = (formula.left, name) if formula.operator.text == "=~" else (name, formula.left)
        draft.connect(ends[0], "->", ends[1], known.of(Key("->", *arrow)), span=(term.first, term.last))
    for pair, formula in model.covariances.items():
        value = known.of(pair_key(pair))
        if value != 0.0:
            place = (formula.left, formula.term.last)
            draft.connect(formula.left, "<->", formula.term.name or formula.left, value, span=place)
    draft.join(list(model.covariates.values()))
    hidden = model.factors
    together = [] if conventions.orthogonal else [list(combinations(model.free_factors, 2))]
    if conventions.outcomes_covary:
        together.append(list(combinations(model.terminal, 2)))
    places = {name: hidden.get(name) or token for name, token in draft.names.items()}
    for u, v in (pair for pairs in together for pair in pairs):
        apart = conventions.orthogonal and u in hidden and v in hidden
        if frozenset((u, v)) not in model.covariances and not apart:
            _refuse_without_variance(model, known, u, v)
            draft.connect(places[u], "<->", places[v])


def _refuse_without_variance(model: Model, known: Known, u: str, v: str) -> None:
    for one, other in ((u, v), (v, u)):
        if known.of(Key("variance", one)) == 0.0:
            place = known.places[Key("variance", one)].term
            model.refuse(
                f"{one!r} has no variance here and lavaan would let it covary with {other!r} all the same; write "
                f"{one} ~~ 0*{other}",
                place.first,
                place.last,
            )


def _say_variances(model: Model, known: Known, draft: Draft) -> list[str]:
    """Variances that differ from what a graph takes them for; factors to which the text gives no scale come back."""
    without_scale = []
    for v in model.errorless:
        draft.say("variance", draft.names[v], 0.0)
    for v in model.variances:
        value = known.of(Key("variance", v))
        if v not in model.factors and value is not None:
            draft.say("variance", draft.names[v], value)
    for f, place in model.factors.items():
        value = known.of(Key("variance", f))
        if f in model.errorless:
            continue
        if value is None and _has_no_scale(model, known, f):
            without_scale.append(f)
        elif value != _taken_for(model, known, draft, f):
            draft.say("variance", place, value)
    return without_scale


def _loadings(model: Model, known: Known, factor: str) -> list[Coefficient | None]:
    return [known.of(Key("->", u, v)) for u, v in model.weights if u == factor]


def _has_no_scale(model: Model, known: Known, factor: str) -> bool:
    """True if neither a number nor a parameter elsewhere says how large a factor is."""
    own = _loadings(model, known, factor)
    if any(isinstance(value, float) and value for value in own):
        return False
    labels = {value for value in own if isinstance(value, str)}
    return all(own.count(label) == known.uses(label) for label in labels)


def _taken_for(model: Model, known: Known, draft: Draft, factor: str) -> float | None:
    """The variance of a factor of which nothing is said: free if one of its loadings is fixed and it is no mere root."""
    fixed = any(isinstance(value, float) and value for value in _loadings(model, known, factor))
    return None if fixed and draft.is_more_than_root(factor) else 1.0


def _say_intercepts(model: Model, conventions: Conventions, known: Known, draft: Draft) -> None:
    growing = conventions.function == "growth"
    for name, place in draft.names.items():
        key = Key("intercept", name)
        value = known.of(key)
        if name in model.factors:
            if value is not None or key in known.said or growing:
                _say_unless(draft, place, value, 0.0)
        elif key in known.said:
            _say_unless(draft, place, value, None)
        elif growing and name not in model.covariates:
            draft.say("intercept", place, 0.0)


def _say_unless(draft: Draft, place: Token, value: Coefficient | None, usual: float | None) -> None:
    if value != usual:
        draft.say("intercept", place, value)
