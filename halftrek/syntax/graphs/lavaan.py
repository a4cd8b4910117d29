"""The syntax of lavaan, with the meaning it has in ``sem(..., fixed.x = FALSE)``.

- ``y ~ 0.5*x1 + a*x2 + x3``: arrows into y, with coefficients; ``y ~ 1``: the intercept, free as it always is unless it
  is fixed, ``y ~ 0*1``, or has the label of another.
- ``x ~~ y``: the errors covary, ``x <-> y``; ``x ~~ 0*y``: they do not; ``x ~~ x``: the variance, as the intercept.
- Exogenous variables (right of some ``~``, never left of one, no indicator) covary unless ``x1 ~~ 0*x2``; one that is
  named in a ``~~`` or ``~ 1`` covaries only as written.
- ``f =~ a + b + c``: a hidden variable with its effects, observed or hidden. Its first loading is 1 and its variance
  free, unless ``NA*`` frees the loading and ``f ~~ 1*f`` fixes the variance. Factors without causes covary unless
  ``f ~~ 0*g``. ``f =~ 0``: a hidden variable without effects. The only indicator of a factor has no error.
- Parameters of one label are equal, across kinds too; ``a == b`` and ``a == 0.5`` say so of labels. ``t := a*b + c``
  asks for a number that is made of parameters.
- Outcomes that cause nothing covary in ``sem()``, and here only if the text says so or ``Conventions`` do.

What is left out, or read in another way than ``sem()`` reads it, is said in the graph's ``notes``; what has no meaning
here is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

from halftrek.graphs import Coefficient, Graph
from halftrek.syntax.graphs.conventions import USUAL, Conventions
from halftrek.syntax.graphs.draft import Draft
from halftrek.syntax.graphs.formulas import Definition, Formula, parse_formulas
from halftrek.syntax.graphs.lavaan_definitions import defined
from halftrek.syntax.graphs.lavaan_labels import Key, Known, constrain, pair_key, told_parameters
from halftrek.syntax.graphs.lavaan_model import Arrow, Model, in_group, sorted_formulas
from halftrek.syntax.graphs.lavaan_notes import reading_notes
from halftrek.syntax.graphs.modifiers import Modifier
from halftrek.syntax.tokens import Token


def parse(text: str, conventions: Conventions = USUAL, group: int | None = None) -> Graph:
    """The graph that the formulas describe, of one group where the text speaks of several."""
    said = list(parse_formulas(text))
    formulas = [one for one in said if isinstance(one, Formula)]
    _refuse_groups(text, formulas, group)
    model = sorted_formulas(text, in_group(formulas, group or 0))
    asked = [one for one in said if isinstance(one, Definition)]
    known = told_parameters(Known(model), conventions)
    constrain(known, [one for one in asked if one.name is None])
    draft = _drafted(model, formulas)
    draft.definitions = defined(known, [one for one in asked if one.name is not None])
    return _built(model, conventions, known, draft, known.uses, every_scale=bool(draft.definitions))


def _built(
    model: Model, conventions: Conventions, known: Known, draft: Draft, uses: Counter[str] | None, *, every_scale: bool
) -> Graph:
    """The graph of a model, given what is known of its parameters."""
    _connect(model, conventions, known, draft)
    _say_intercepts(model, conventions, known, draft)
    _say_errors(model, known, draft)
    without_scale = _say_scales(model, known, draft, uses, every=every_scale) if model.factors else []
    return draft.build(reading_notes(model, conventions, known, without_scale))


@dataclass(frozen=True)
class GroupsText:
    """A text as it is read for several groups: a graph for each, in which equal labels mean equal parameters.

    ``definitions`` are made of labels of all groups; ``loadings`` are the arrows that the text writes with ``=~``,
    ``covariates`` exogenous variables of which it says nothing more.
    """

    graphs: tuple[Graph, ...]
    definitions: dict[str, str]
    loadings: frozenset[Arrow]
    covariates: frozenset[str]


def parse_groups(
    text: str, conventions: Conventions, count: int | None = None, equal: Collection[str] = ()
) -> GroupsText:
    """The graphs that the formulas describe, one for each group; ``equal`` as in lavaan's ``group.equal``.

    Without their number there are as many groups as some ``c()`` has values.

    As in lavaan, equal intercepts set means of factors free in all groups but the first, and so do equal loadings their
    variances where these are 1.
    """
    said = list(parse_formulas(text))
    formulas = [one for one in said if isinstance(one, Formula)]
    count = max((len(formula.term.each) for formula in formulas), default=1) if count is None else count
    for formula in formulas:
        term = formula.term
        if len(term.each) not in (1, count):
            sorted_formulas(text, []).refuse(
                f"c() has values for {len(term.each)} groups, and there are {count}", term.first, term.last
            )
    models = [sorted_formulas(text, in_group(formulas, g)) for g in range(count)]
    first = Known(models[0])
    knowns = [Known(model, same=first.same, numbers=first.numbers) for model in models]
    for g, known in enumerate(knowns):
        _free_beside_first(known, conventions, equal if g else ())
        told_parameters(known, conventions)
    asked = [one for one in said if isinstance(one, Definition)]
    constrain(knowns[0], [one for one in asked if one.name is None])
    uses = sum((known.uses for known in knowns), Counter())
    graphs = []
    for g, known in enumerate(knowns):
        own = None if g and "loadings" in equal else uses
        graphs.append(_built(known.model, conventions, known, _drafted(known.model, formulas), own, every_scale=True))
    return GroupsText(
        tuple(graphs),
        defined(knowns[0], [one for one in asked if one.name is not None]),
        frozenset(a for a, formula in models[0].weights.items() if formula.operator.text == "=~"),
        frozenset(models[0].covariates),
    )


def _free_beside_first(known: Known, conventions: Conventions, equal: Collection[str]) -> None:
    """What lavaan sets free in all groups but the first, of which the text says nothing."""
    for f in known.model.factors:
        if "intercepts" in equal and "means" not in equal and f not in known.model.intercepts:
            known.said[Key("intercept", f)] = Modifier(freed=True)
        scaled = conventions.std_lv and "loadings" in equal and "lv.variances" not in equal
        if scaled and f not in known.model.variances:
            known.said[Key("variance", f)] = Modifier(freed=True)


def _refuse_groups(text: str, formulas: list[Formula], group: int | None) -> None:
    """Each group is a model of its own here: what would make parameters of two groups equal is refused."""
    homes: dict[str, int] = {}
    for formula in formulas:
        term, width = formula.term, len(formula.term.each)
        words = ""
        if width > 1 and group is None:
            words = "c() gives a parameter one value for each group, and a graph has one value for all; say which group"
        elif width > 1 and group is not None and not 0 <= group < width:
            words = f"c() has values for {width} groups, numbered from 0; there is no group {group}"
        elif group is not None:
            for k, one in enumerate(term.each):
                home = homes.setdefault(one.label, k if width > 1 else -1) if one.label is not None else k
                if one.label is not None and (width == 1 or home != k):
                    words = (
                        f"the label {one.label!r} makes parameters of several groups equal, and a graph is one group's "
                        f"model; ht.fit_together(text, data, by=...) fits all groups at once"
                    )
        if words:
            sorted_formulas(text, []).refuse(words, term.first, term.last)


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
    if not conventions.orthogonal:
        _let_covary(model, known, draft, model.free_factors)
    if conventions.outcomes_covary:
        _let_covary(model, known, draft, model.terminal, hidden_too=not conventions.orthogonal)


def _let_covary(model: Model, known: Known, draft: Draft, names: list[str], *, hidden_too: bool = True) -> None:
    """What covaries unless the text says otherwise."""
    spoken = {v for pair in model.covariances for v in pair}
    if hidden_too and spoken.isdisjoint(names) and not any(_no_variance(known, v) for v in names):
        draft.join([draft.names[v] for v in names])
        return
    for u, v in combinations(names, 2):
        apart = not hidden_too and u in model.factors and v in model.factors
        if frozenset((u, v)) not in model.covariances and not apart:
            _refuse_without_variance(model, known, u, v)
            draft.connect(draft.names[u], "<->", draft.names[v])


def _no_variance(known: Known, name: str) -> bool:
    return known.of(Key("variance", name)) == 0.0


def _refuse_without_variance(model: Model, known: Known, u: str, v: str) -> None:
    for one, other in ((u, v), (v, u)):
        if _no_variance(known, one):
            place = known.places[Key("variance", one)].term
            model.refuse(
                f"{one!r} has no variance here and lavaan would let it covary with {other!r} all the same; write "
                f"{one} ~~ 0*{other}",
                place.first,
                place.last,
            )


def _say_errors(model: Model, known: Known, draft: Draft) -> None:
    """Error variances of observed variables that are known, and of only indicators, which have none."""
    for v in model.errorless:
        draft.say("variance", draft.names[v], 0.0)
    for v in model.variances:
        value = known.of(Key("variance", v))
        if v not in model.factors and value is not None:
            draft.say("variance", draft.names[v], value)


def _say_scales(model: Model, known: Known, draft: Draft, uses: Counter[str] | None, *, every: bool) -> list[str]:
    """Variances of factors that differ from what a graph takes them for; factors without a scale come back.

    A graph takes the variance of a hidden variable for free if one of its loadings is fixed and it is no mere root,
    otherwise for 1. Which are mere roots the graph itself knows. Definitions, and groups, are made of parameters of
    variables with equations, so that ``every`` variance is stated there. ``uses`` says how many parameters have each
    label; None if loadings are those of another group, which has a scale.
    """
    inner = set(draft.build().hidden)
    without_scale = []
    for f, arrows in model.out_of(model.factors).items():
        value = known.of(Key("variance", f))
        loadings = [known.of(Key("->", *arrow)) for arrow in arrows]
        marked = any(isinstance(one, float) and one != 0.0 for one in loadings)
        labels = [one for one in loadings if isinstance(one, str)]
        if f in draft.variances:
            continue
        own = uses is not None and all(labels.count(one) == uses[one] for one in labels)
        if value is None and not marked and own:
            without_scale.append(f)
            value = 1.0
        if every or value != (None if marked and f in inner else 1.0):
            draft.say("variance", model.factors[f], value)
    return without_scale


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


parse_lavaan = parse  # its name outside this folder
