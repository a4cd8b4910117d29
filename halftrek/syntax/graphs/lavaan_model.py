"""The formulas of a lavaan text, sorted by what they speak of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from halftrek.errors import GraphSyntaxError
from halftrek.syntax.graphs.formulas import Formula
from halftrek.syntax.tokens import Token

Arrow = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Model:
    """The formulas of a text, sorted; a parameter that is said twice is merged into one."""

    text: str
    factors: dict[str, Token]
    weights: dict[Arrow, Formula]
    covariances: dict[frozenset[str], Formula]
    variances: dict[str, Formula]
    intercepts: dict[str, Formula]
    label_uses: Counter[str]

    @property
    def exogenous(self) -> dict[str, Token]:
        """Variables right of some ``~``, never left of one, no indicators."""
        effects = {v for _, v in self.weights}
        return {
            u: formula.term.name or formula.left
            for (u, _), formula in self.weights.items()
            if formula.operator.text == "~" and u not in effects and u not in self.factors
        }

    def out_of(self, sources: Iterable[str]) -> dict[str, dict[Arrow, Formula]]:
        """The arrows that begin at each of these."""
        found: dict[str, dict[Arrow, Formula]] = {u: {} for u in sources}
        for arrow, formula in self.weights.items():
            if arrow[0] in found:
                found[arrow[0]][arrow] = formula
        return found

    @property
    def terminal(self) -> list[str]:
        """Variables left of some ``~``, never right of one, no indicators."""
        regressions = [arrow for arrow, formula in self.weights.items() if formula.operator.text == "~"]
        known = set(regressions)
        others = {u for u, _ in regressions} | {v for u, v in self.weights if (u, v) not in known}
        return list(dict.fromkeys(v for _, v in regressions if v not in others))

    def refuse(self, message: str, first: Token, last: Token | None = None) -> NoReturn:
        raise GraphSyntaxError(message, self.text, first.start, (last or first).end)


def sorted_formulas(text: str, formulas: list[Formula]) -> Model:
    """The formulas by kind."""
    factors: dict[str, Token] = {}
    for formula in formulas:
        if formula.operator.text == "=~":
            factors.setdefault(formula.left.word, formula.left)
    model = Model(text, factors, {}, {}, {}, {}, Counter())
    for formula in formulas:
        left, name = formula.left.word, formula.term.name
        if name is None and formula.operator.text == "=~":
            continue  # f =~ 0: a factor, and no more
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


def _merged(model: Model, before: Formula | None, formula: Formula) -> Formula:
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
    term = new._replace(
        fixed=new.fixed if old.fixed is None else old.fixed,
        label=old.label or new.label,
        freed=old.freed or new.freed,
    )
    return formula._replace(term=term)
