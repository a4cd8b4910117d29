"""The syntax of lavaan, with the meaning it has in ``sem(..., fixed.x = FALSE, auto.cov.y = FALSE)``.

- ``y ~ 0.5*x1 + a*x2 + x3``: arrows into y, with coefficients; ``y ~ 1``: the intercept, free as it always is here.
- ``x ~~ y``: the errors covary, ``x <-> y``; ``x ~~ 0*y``: they do not; ``x ~~ x``: the variance, free as it always is.
- Exogenous variables (right of some ``~``, never left of one, no indicator) covary unless ``x1 ~~ 0*x2``; one that is
  named in a ``~~`` or ``~ 1`` covaries only as written. Nothing else
  covaries unless the text says so: ``sem()`` with its default ``auto.cov.y = TRUE`` would add covariances among the
  outcomes that cause nothing, write them (``y1 ~~ y2``) if they are meant.
- ``f =~ a + b + c``: a hidden cause with its children. lavaan frees the variance of f and fixes its first loading, here
  hidden causes have unit variance and free loadings: the same model. Where loadings are fixed beyond the scale of f the
  text must say ``f ~~ 1*f`` (and ``NA*`` before the first loading), so that the numbers mean the same in both.
- Factors covary in lavaan and are independent here, so that several of them need ``f1 ~~ 0*f2``.
- ``:=`` defines nothing of the graph and is passed over. What would change the model and has no place in a graph
  (constraints, fixed variances and intercepts, groups) is refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NoReturn

from halftrek.errors import GraphSyntaxError
from halftrek.graph import Coefficient, Graph
from halftrek.syntax.draft import Draft
from halftrek.syntax.formulas import Formula, Term, parse_formulas
from halftrek.syntax.tokens import Token

Arrow = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Model:
    """The formulas of a text, sorted; a parameter that is said twice is merged into one."""

    text: str
    factors: dict[str, Token]
    weights: dict[Arrow, Formula]
    covariances: dict[frozenset[str], Formula]
    variances: dict[str, Formula]
    intercepts: dict[str, Formula]
    label_uses: Counter[str]

    def refuse(self, message: str, first: Token, last: Token | None = None) -> NoReturn:
        raise GraphSyntaxError(message, self.text, first.start, (last or first).end)


def parse(text: str) -> Graph:
    """The graph that the formulas describe."""
    formulas = list(parse_formulas(text))
    model = _sort(text, formulas)
    draft = Draft(text)
    for formula in formulas:
        name = formula.term.name
        draft.meet(formula.left)
        if name is not None:
            draft.meet(name)
    for factor in model.factors.values():
        draft.hide(factor)
    known = _loading_coefficients(model)
    for arrow, formula in model.weights.items():
        term = formula.term
        said = known[arrow] if arrow in known else _said(term)
        name = term.name or formula.left
        ends = (formula.left, name) if formula.operator.text == "=~" else (name, formula.left)
        draft.connect(ends[0], "->", ends[1], said, span=(term.first, term.last))
    _connect_covariances(model, draft)
    _refuse_what_has_no_place(model)
    graph = draft.build()
    _refuse_covarying_factors(model)
    return graph


def _sort(text: str, formulas: list[Formula]) -> _Model:
    factors: dict[str, Token] = {}
    for formula in formulas:
        if formula.operator.text == "=~":
            factors.setdefault(formula.left.word, formula.left)
    model = _Model(text, factors, {}, {}, {}, {}, Counter())
    for formula in formulas:
        left, name = formula.left.word, formula.term.name
        if name is None:
            model.intercepts[left] = _merged(model, model.intercepts.get(left), formula)
        elif formula.operator.text == "~~" and name.word == left:
            model.variances[left] = _merged(model, model.variances.get(left), formula)
        elif formula.operator.text == "~~":
            pair = frozenset((left, name.word))
            model.covariances[pair] = _merged(model, model.covariances.get(pair), formula)
        else:
            key = (left, name.word) if formula.operator.text == "=~" else (name.word, left)
            model.weights[key] = _merged(model, model.weights.get(key), formula)
    for kind in (model.weights, model.covariances, model.variances, model.intercepts):
        model.label_uses.update(f.term.label for f in kind.values() if f.term.label is not None)
    return model


def _merged(model: _Model, before: Formula | None, formula: Formula) -> Formula:
    """Modifiers of one parameter add up within a statement; said again elsewhere they must be the same."""
    if before is None:
        return formula
    old, new = before.term, formula.term
    if before.operator.text != formula.operator.text:
        model.refuse(
            f"this arrow was given before with {before.operator.text}; keep one of the two", new.first, new.last
        )
    for one, other in ((old.fixed, new.fixed), (old.label, new.label)):
        apart = before.operator != formula.operator or (one is not None and other is not None)
        if apart and one != other:
            words = ["free" if said is None else str(said) for said in (one, other)]
            model.refuse(f"this was given before as {words[0]} and is now {words[1]}; keep one", new.first, new.last)
    term = replace(
        new,
        fixed=new.fixed if old.fixed is None else old.fixed,
        label=old.label or new.label,
        freed=old.freed or new.freed,
    )
    return replace(formula, term=term)


def _said(term: Term) -> Coefficient | None:
    return term.label if term.fixed is None else term.fixed


def _loading_coefficients(model: _Model) -> dict[Arrow, Coefficient | None]:
    """What is known of the arrows out of each factor, for a factor with unit variance."""
    known: dict[Arrow, Coefficient | None] = {}
    for factor in model.factors:
        out = {arrow: formula.term for arrow, formula in model.weights.items() if arrow[0] == factor}
        first = next(arrow for arrow in out if model.weights[arrow].operator.text == "=~")
        variance = model.variances[factor].term if factor in model.variances else None
        if variance is not None and variance.fixed not in (None, 1.0):
            model.refuse(
                f"hidden causes have unit variance here; write {factor} ~~ 1*{factor}", variance.first, variance.last
            )
        if variance is not None and variance.fixed == 1.0:
            known |= {arrow: _said(term) for arrow, term in out.items()}
            start = out[first]
            if start.fixed is None and not start.freed:
                if start.label is not None:
                    model.refuse("lavaan fixes a first loading at 1; free it with NA*", start.first, start.last)
                known[first] = 1.0
        else:
            known |= _scale_free(model, out, first)
    return known


def _scale_free(model: _Model, out: dict[Arrow, Term], first: Arrow) -> dict[Arrow, Coefficient | None]:
    """A free variance makes only the ratios of loadings matter: fixed ones are equal, or nothing if there is one."""
    factor = first[0]
    start = out[first]
    if start.fixed is None and not start.freed:
        out = {**out, first: replace(start, fixed=1.0)}
    inside = Counter(term.label for term in out.values() if term.label is not None)
    scaled = {key: term for key, term in out.items() if term.fixed}
    values = {term.fixed for term in scaled.values()}
    if len(values) > 1:
        culprit = next(term for term in scaled.values() if term is not scaled.get(first))
        model.refuse(
            f"hidden causes have unit variance here, and the fixed loadings of {factor!r} are relative to a free one; "
            f"write {factor} ~~ 1*{factor} and NA* before its first loading, and fix loadings on that scale",
            culprit.first,
            culprit.last,
        )
    for term in out.values():
        if term.label is not None and inside[term.label] != model.label_uses[term.label]:
            model.refuse(
                f"the loading {term.label!r} of {factor!r} depends on the scale of {factor!r} and cannot equal an edge "
                f"elsewhere; write {factor} ~~ 1*{factor} and NA* before its first loading",
                term.first,
                term.last,
            )
    labels = [term.label for term in scaled.values() if term.label is not None]
    if len(set(labels)) > 1:
        model.refuse(f"the loadings {labels[0]!r} and {labels[1]!r} are both fixed; give them one label", start.first)
    common = labels[0] if labels else _fresh_label(f"{factor}_scale", model.label_uses)
    shared = common if len(scaled) > 1 or labels else None
    return {key: shared if key in scaled else _said(term) for key, term in out.items()}


def _fresh_label(label: str, taken: Counter[str]) -> str:
    while label in taken:
        label += "_"
    return label


def _connect_covariances(model: _Model, draft: Draft) -> None:
    for pair, formula in model.covariances.items():
        term = formula.term
        if term.fixed == 0.0:
            continue
        if pair <= set(model.factors):
            _refuse_factor_pair(model, *pair, place=(formula.left, term.last))
        draft.connect(formula.left, "<->", term.name or formula.left, _said(term), span=(formula.left, term.last))
    effects = {v for _, v in model.weights}
    # as in lavaan: who is spoken of in a ~~ or ~ 1 is no mere covariate any more, and covaries only as written
    spoken = {*model.variances, *model.intercepts, *(v for pair in model.covariances for v in pair)}
    exogenous = {
        u: formula.term.name
        for (u, _), formula in model.weights.items()
        if formula.operator.text == "~" and u not in effects and u not in model.factors and u not in spoken
    }
    for u, v in combinations(exogenous, 2):
        left, right = exogenous[u], exogenous[v]
        if frozenset((u, v)) not in model.covariances and left is not None and right is not None:
            draft.connect(left, "<->", right)


def _refuse_what_has_no_place(model: _Model) -> None:
    for kinds, what in ((model.variances, "variance"), (model.intercepts, "intercept")):
        for name, formula in kinds.items():
            term = formula.term
            hidden = name in model.factors
            allowed = (None,) if not hidden else ((None, 1.0) if what == "variance" else (None, 0.0))
            if term.fixed not in allowed:
                model.refuse(
                    f"the {what} of {name!r} is fixed here, and a graph has no place for that; "
                    f"remove the number and fix it when you fit",
                    term.first,
                    term.last,
                )
            if term.label is not None and model.label_uses[term.label] > 1:
                model.refuse(
                    f"the {what} of {name!r} is made equal to another parameter, which is not supported; "
                    f"remove the label {term.label!r}",
                    term.first,
                    term.last,
                )


def _refuse_covarying_factors(model: _Model) -> None:
    for f, g in combinations(model.factors, 2):
        if frozenset((f, g)) not in model.covariances:
            _refuse_factor_pair(model, f, g, place=(model.factors[g], model.factors[g]))


def _refuse_factor_pair(model: _Model, f: str, g: str, *, place: tuple[Token, Token]) -> NoReturn:
    f, g = sorted((f, g), key=list(model.factors).index)
    model.refuse(
        f"lavaan lets the factors {f!r} and {g!r} covary; hidden causes that covary are not supported here. "
        f"{f} ~~ 0*{g} makes them independent, which is another model",
        *place,
    )
