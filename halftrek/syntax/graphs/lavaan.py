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
- ``f =~ 0``: a hidden cause without children. ``f =~ a`` with one indicator needs ``a ~~ a`` where f has other
  children: lavaan would fix the error of a at zero.
- ``:=`` defines nothing of the graph and is left out. What would change the model and has no place in a graph
  (constraints, fixed variances and intercepts, groups) is refused.

What is left out, or read in another way than ``sem()`` reads it, is said in the graph's ``notes``.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import NoReturn

from halftrek.graphs import Coefficient, Graph
from halftrek.syntax.graphs.draft import Draft
from halftrek.syntax.graphs.formulas import Definition, Formula, Term, parse_formulas
from halftrek.syntax.graphs.lavaan_model import Arrow, Model, sorted_formulas
from halftrek.syntax.graphs.lavaan_notes import reading_notes
from halftrek.syntax.tokens import Token


def parse(text: str) -> Graph:
    """The graph that the formulas describe."""
    said = list(parse_formulas(text))
    formulas = [one for one in said if isinstance(one, Formula)]
    model = sorted_formulas(text, formulas)
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
        weight = known[arrow] if arrow in known else _said(term)
        name = term.name or formula.left
        ends = (formula.left, name) if formula.operator.text == "=~" else (name, formula.left)
        draft.connect(ends[0], "->", ends[1], weight, span=(term.first, term.last))
    _connect_covariances(model, draft)
    _refuse_what_has_no_place(model)
    _refuse_errorless_indicators(model, known)
    graph = draft.build(reading_notes(model, [one.name.word for one in said if isinstance(one, Definition)]))
    _refuse_covarying_factors(model)
    return graph


def _said(term: Term) -> Coefficient | None:
    return term.label if term.fixed is None else term.fixed


def _loading_coefficients(model: Model) -> dict[Arrow, Coefficient | None]:
    """What is known of the arrows out of each factor, for a factor with unit variance."""
    known: dict[Arrow, Coefficient | None] = {}
    for factor, formulas in model.out_of(model.factors).items():
        out = {arrow: formula.term for arrow, formula in formulas.items()}
        first = next((arrow for arrow in out if model.weights[arrow].operator.text == "=~"), None)
        marker = None if first is None or out[first].fixed is not None or out[first].freed else first
        variance = model.variances[factor].term if factor in model.variances else None
        if variance is not None and variance.fixed not in (None, 1.0):
            model.refuse(
                f"hidden causes have unit variance here; write {factor} ~~ 1*{factor}", variance.first, variance.last
            )
        if variance is not None and variance.fixed == 1.0:
            known |= {arrow: _said(term) for arrow, term in out.items()}
            if marker is not None:
                start = out[marker]
                if start.label is not None:
                    model.refuse("lavaan fixes a first loading at 1; free it with NA*", start.first, start.last)
                known[marker] = 1.0
        else:
            if marker is not None:
                out[marker] = out[marker]._replace(fixed=1.0)
            known |= _scale_free(model, factor, out)
    return known


def _scale_free(model: Model, factor: str, out: dict[Arrow, Term]) -> dict[Arrow, Coefficient | None]:
    """A free variance makes only the ratios of loadings matter: fixed ones are equal, or nothing if there is one."""
    inside = Counter(term.label for term in out.values() if term.label is not None)
    scaled = {key: term for key, term in out.items() if term.fixed}
    values = {term.fixed for term in scaled.values()}
    if len(values) > 1:
        culprit = list(scaled.values())[1]
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
        place = next(term for term in scaled.values() if term.label == labels[1])
        model.refuse(
            f"the loadings {labels[0]!r} and {labels[1]!r} are both fixed; give them one label", place.first, place.last
        )
    common = labels[0] if labels else _fresh_label(f"{factor}_scale", model.label_uses)
    shared = common if len(scaled) > 1 or labels else None
    return {key: shared if key in scaled else _said(term) for key, term in out.items()}


def _fresh_label(label: str, taken: Counter[str]) -> str:
    while label in taken:
        label += "_"
    return label


def _connect_covariances(model: Model, draft: Draft) -> None:
    for pair, formula in model.covariances.items():
        term = formula.term
        if term.fixed == 0.0:
            continue
        if pair <= model.factors.keys():
            _refuse_factor_pair(model, *pair, place=(formula.left, term.last))
        draft.connect(formula.left, "<->", term.name or formula.left, _said(term), span=(formula.left, term.last))
    # as in lavaan: who is spoken of in a ~~ or ~ 1 is no mere covariate any more, and covaries only as written
    spoken = {*model.variances, *model.intercepts, *(v for pair in model.covariances for v in pair)}
    draft.join([token for u, token in model.exogenous.items() if u not in spoken])


def _refuse_what_has_no_place(model: Model) -> None:
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


def _refuse_errorless_indicators(model: Model, known: dict[Arrow, Coefficient | None]) -> None:
    """``sem()`` gives the only indicator of a factor no error, unless the text speaks of its variance.

    If the factor has no other child and is free to be as large as that error, then it stands for it: the same model.
    """
    loadings = [arrow for arrow, formula in model.weights.items() if formula.operator.text == "=~"]
    indicators = Counter(factor for factor, _ in loadings)
    factors = Counter(v for _, v in loadings)
    children = Counter(u for u, _ in model.weights)
    for factor, v in loadings:
        if indicators[factor] > 1 or factors[v] > 1 or v in model.variances:
            continue
        term = model.weights[factor, v].term
        loading = known[factor, v]
        free = loading is None or (isinstance(loading, str) and model.label_uses[loading] <= 1)
        if not free or children[factor] > 1:
            model.refuse(
                f"lavaan fixes the error of {v!r}, the only indicator of {factor!r}, at zero, and a graph has no place "
                f"for that; write {v} ~~ {v} to free it, or {v} in place of {factor}",
                term.first,
                term.last,
            )


def _refuse_covarying_factors(model: Model) -> None:
    for f, g in combinations(model.factors, 2):
        if frozenset((f, g)) not in model.covariances:
            _refuse_factor_pair(model, f, g, place=(model.factors[g], model.factors[g]))


def _refuse_factor_pair(model: Model, f: str, g: str, *, place: tuple[Token, Token]) -> NoReturn:
    f, g = sorted((f, g), key=list(model.factors).index)
    model.refuse(
        f"lavaan lets the factors {f!r} and {g!r} covary; hidden causes that covary are not supported here. "
        f"{f} ~~ 0*{g} makes them independent, which is another model",
        *place,
    )
