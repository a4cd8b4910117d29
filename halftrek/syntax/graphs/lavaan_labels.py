"""What each parameter of a lavaan text is known to be: a number, a label that it shares with others, or nothing.

Parameters of one label are equal, and if one of them is fixed all are. ``a == b`` makes two labels one, ``a == 0.5`` a
label a number, ``equal("f=~x")`` gives a parameter the label of another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from halftrek.graphs import Coefficient
from halftrek.syntax.graphs.conventions import Conventions
from halftrek.syntax.graphs.formulas import Definition, Formula
from halftrek.syntax.graphs.lavaan_model import Model
from halftrek.syntax.graphs.modifiers import Modifier
from halftrek.syntax.tokens import Token

_PARAMETER = re.compile(r"(?P<left>.+?)(?P<operator>=~|~~|~)(?P<right>.+)")


class Key(NamedTuple):
    """A parameter: ``kind`` is "->", "<->" (names in alphabetic order), "variance" or "intercept"."""

    kind: str
    first: str
    second: str = ""


def pair_key(pair: frozenset[str]) -> Key:
    """The key of a covariance."""
    return Key("<->", *sorted(pair))


@dataclass
class Known:
    """What is said of each parameter, and which labels are one or a number."""

    model: Model
    said: dict[Key, Modifier] = field(default_factory=dict)
    places: dict[Key, Formula] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)

    def of(self, key: Key) -> Coefficient | None:
        """A number, a label, or None if nothing is known."""
        modifier = self.said.get(key)
        if modifier is None:
            return None
        if modifier.label is None:
            return modifier.fixed
        label = self.root(modifier.label)
        return self.numbers.get(label, label)

    def root(self, label: str) -> str:
        """The label that stands for all that equal it."""
        while self.same[label] != label:
            label = self.same[label]
        return label

    @property
    def uses(self) -> Counter[str]:
        """How many parameters have each label."""
        return Counter(self.root(one.label) for one in self.said.values() if one.label is not None)

    def equate(self, one: str, other: str, place: Token) -> None:
        """Two labels become one."""
        first, second = self.root(one), self.root(other)
        if first == second:
            return
        order = list(self.same)
        first, second = sorted((first, second), key=order.index)
        self.same[second] = first
        if second in self.numbers:
            self.fix(first, self.numbers.pop(second), place)

    def fix(self, label: str, number: float, place: Token) -> None:
        """A label becomes a number."""
        before = self.numbers.setdefault(self.root(label), number)
        if before != number:
            self.model.refuse(f"the label {label!r} is {before:g} and {number:g}; keep one", place)


def told_parameters(known: Known, conventions: Conventions) -> Known:
    """What the text and the function that reads it say of every parameter, beside what is known already."""
    model = known.model
    known.places |= {Key("->", *arrow): formula for arrow, formula in model.weights.items()}
    known.places |= {pair_key(pair): formula for pair, formula in model.covariances.items()}
    known.places |= {Key("variance", name): formula for name, formula in model.variances.items()}
    known.places |= {Key("intercept", name): formula for name, formula in model.intercepts.items()}
    known.said |= {key: formula.term.only for key, formula in known.places.items()}
    _give_scales(model, conventions, known)
    known.same |= {one.label: one.label for one in known.said.values() if one.label is not None}
    for key, modifier in list(known.said.items()):
        if modifier.equal is not None:
            known.said[key] = modifier._replace(label=_label_of_other(known, modifier.equal, known.places[key]))
    for key, modifier in known.said.items():
        if modifier.label is not None and modifier.fixed is not None:
            known.fix(modifier.label, modifier.fixed, known.places[key].term.first)
    return known


def constrain(known: Known, constraints: Iterable[Definition]) -> None:
    """What ``==`` says of labels."""
    for constraint in constraints:
        _constrain(known, constraint)


def _give_scales(model: Model, conventions: Conventions, known: Known) -> None:
    """A first loading of 1 that is not freed, or variances of 1; ``start()`` there is the value, as in lavaan."""
    for factor, formulas in model.out_of(model.factors).items():
        first = next((arrow for arrow, f in formulas.items() if f.operator.text == "=~"), None)
        if conventions.std_lv:
            key = Key("variance", factor)
            modifier = known.said.get(key, Modifier())
            if modifier.fixed is None and not modifier.freed:
                known.said[key] = modifier._replace(fixed=1.0)
                known.places.setdefault(key, next(iter(formulas.values()), None) or _any_of(model))
        elif first is not None:
            key = Key("->", *first)
            modifier = known.said[key]
            if modifier.fixed is None and not modifier.freed:
                known.said[key] = modifier._replace(fixed=1.0 if modifier.start is None else modifier.start)


def _any_of(model: Model) -> Formula:
    return next(model.formulas)


def _label_of_other(known: Known, text: str, place: Formula) -> str:
    """The label of the parameter that ``equal()`` names, which gets one if it has none."""
    if text in known.same:
        return text
    matched = _PARAMETER.fullmatch(text)
    key = None
    if matched is not None:
        left, operator, right = matched.groups()
        key = {
            "=~": Key("->", left, right),
            "~": Key("intercept", left) if right == "1" else Key("->", right, left),
            "~~": Key("variance", left) if left == right else pair_key(frozenset((left, right))),
        }[operator]
    modifier = known.said.get(key) if key is not None else None
    if key is None or modifier is None:
        known.model.refuse(
            f"equal() names {text!r}, which is no label and no parameter of the text", place.term.first, place.term.last
        )
    label = modifier.label
    if label is None:
        label = f"{key.first}_{key.second or key.kind}"
        while label in known.same:
            label += "_"
        known.same[label] = label
        known.said[key] = modifier._replace(label=label)
    return label


def _constrain(known: Known, constraint: Definition) -> None:
    """``a == b``, ``a - b == 0``, ``a == 0.5`` and the same turned round."""
    tokens = constraint.tokens
    at = tokens.index(constraint.operator)
    left, right = tokens[:at], tokens[at + 1 :]
    for one, other in ((left, right), (right, left)):
        names = [t for t in one if t.kind == "name"]
        shape = [t.kind if t.kind == "name" else t.text for t in one]
        number = _number(other)
        if shape == ["name"] and number is not None:
            known.fix(_known_label(known, one[0]), number, one[0])
            return
        if shape == ["name", "-", "name"] and number == 0.0:
            known.equate(_known_label(known, names[0]), _known_label(known, names[1]), names[0])
            return
    if len(left) == len(right) == 1 and left[0].kind == right[0].kind == "name":
        known.equate(_known_label(known, left[0]), _known_label(known, right[0]), left[0])
        return
    known.model.refuse(
        "constraints other than a == b and a == 0.5, with labels of parameters, are not supported",
        constraint.operator,
    )


def _number(tokens: tuple[Token, ...]) -> float | None:
    if len(tokens) == 1 and tokens[0].kind == "number":
        return float(tokens[0].text)
    if len(tokens) == 2 and tokens[0].text == "-" and tokens[1].kind == "number":
        return -float(tokens[1].text)
    return None


def _known_label(known: Known, token: Token) -> str:
    if token.word not in known.same:
        known.model.refuse(f"no parameter of the text has the label {token.word!r}", token)
    return token.word
