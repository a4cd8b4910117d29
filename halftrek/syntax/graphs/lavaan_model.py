"""The formulas of a lavaan text, sorted by what they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from halftrek.errors import GraphSyntaxError
from halftrek.syntax.graphs.formulas import Formula, Term
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
    bare: set[str]  # factors of which the text says f =~ 0: for lavaan they are indicators of themselves

    @property
    def formulas(self) -> Iterator[Formula]:
        """Every parameter of the text."""
        for kind in (self.weights, self.covariances, self.variances, self.intercepts):
            yield from kind.values()

    @property
    def exogenous(self) -> dict[str, Token]:
        """Observed variables right of some ``~``, never left of one, no indicators."""
        effects = {v for _, v in self.weights}
        return {
            u: formula.term.name or formula.left
            for (u, _), formula in self.weights.items()
            if formula.operator.text == "~" and u not in effects and u not in self.factors
        }

    @property
    def covariates(self) -> dict[str, Token]:
        """Exogenous ones of which no ``~~`` and no ``~ 1`` speaks: as in lavaan, others covary only as written."""
        spoken = {*self.variances, *self.intercepts, *(v for pair in self.covariances for v in pair)}
        return {u: token for u, token in self.exogenous.items() if u not in spoken}

    @property
    def free_factors(self) -> list[str]:
        """Factors without causes, which covary in lavaan."""
        effects = {v for _, v in self.weights} | self.bare
        return [f for f in self.factors if f not in effects]

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
        others = {u for u, _ in regressions} | {v for u, v in self.weights if (u, v) not in known} | self.bare
        return list(dict.fromkeys(v for _, v in regressions if v not in others))

    @property
    def errorless(self) -> list[str]:
        """Only indicators of a factor that no other factor and no ``~~`` has: ``sem()`` fixes their error at zero."""
        loadings = [arrow for arrow, formula in self.weights.items() if formula.operator.text == "=~"]
        own: dict[str, list[str]] = {}
        homes: dict[str, list[str]] = {}
        for factor, v in loadings:
            own.setdefault(factor, []).append(v)
            homes.setdefault(v, []).append(factor)
        alone = [kids[0] for kids in own.values() if len(kids) == 1]
        return [v for v in alone if len(homes[v]) == 1 and v not in self.variances]

    def refuse(self, message: str, first: Token, last: Token | None = None) -> NoReturn:
        raise GraphSyntaxError(message, self.text, first.start, (last or first).end)


def sorted_formulas(text: str, formulas: list[Formula]) -> Model:
    """The formulas by kind."""
    factors: dict[str, Token] = {}
    for formula in formulas:
        if formula.operator.text == "=~":
            factors.setdefault(formula.left.word, formula.left)
    model = Model(text, factors, {}, {}, {}, {}, set())
    for formula in formulas:
        left, name = formula.left.word, formula.term.name
        if name is None and formula.operator.text == "=~":
            model.bare.add(left)  # f =~ 0: a factor, and no more
            continue
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
    return model


def in_group(formulas: Iterable[Formula], group: int) -> list[Formula]:
    """The formulas with what they say of one group."""
    found = []
    for formula in formulas:
        term = formula.term
        each = term.each if len(term.each) == 1 else (term.each[group],)
        found.append(formula._replace(term=term._replace(each=each)))
    return found


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
    return formula._replace(term=_added(old, new))


def _added(old: Term, new: Term) -> Term:
    return new._replace(each=(old.only.with_(new.only),))
