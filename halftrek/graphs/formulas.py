"""Arithmetic with names, ``a*b + c``: the text of a number that is made of others, as a tree, and its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from halftrek.errors import GraphError

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>(?:[^\W\d]|\.)[\w.]*)|(?P<symbol>\S))"
)
FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "tanh": np.tanh, "atanh": np.arctanh, "abs": lambda x: x if x.real >= 0 else -x,
}  # fmt: skip
_DEEPEST = 100
_STEP = 1e-30  # of the imaginary part: no difference is taken, so nothing cancels


@dataclass(frozen=True)
class Sum:
    """A tree of operations: ``operator`` is a symbol or a function, a name ("name") or a number ("number")."""

    operator: str
    parts: tuple[Sum, ...] = ()
    name: str = ""
    number: float = 0.0

    @property
    def names(self) -> frozenset[str]:
        """The names in it."""
        inner = [part.names for part in self.parts]
        return frozenset({self.name} if self.operator == "name" else ()).union(*inner)

    def at(self, values: Mapping[str, complex]) -> complex:
        """Its value where the names have these values."""
        parts = [part.at(values) for part in self.parts]
        match self.operator:
            case "name":
                return values[self.name]
            case "number":
                return complex(self.number)
            case "+":
                return parts[0] + parts[1]
            case "-":
                return parts[0] - parts[1] if len(parts) == 2 else -parts[0]
            case "*":
                return parts[0] * parts[1]
            case "/":
                return parts[0] / parts[1]
            case "^":
                return _power(parts[0], parts[1])
        return complex(FUNCTIONS[self.operator](parts[0]))

    def slopes(self, values: Mapping[str, float]) -> dict[str, float]:
        """The derivative in each name, by a step along the imaginary axis."""
        found = {}
        for name in sorted(self.names):
            moved: dict[str, complex] = {**values, name: values[name] + 1j * _STEP}
            found[name] = self.at(moved).imag / _STEP
        return found


def _power(base: complex, exponent: complex) -> complex:
    whole = exponent.imag == 0.0 and exponent.real == int(exponent.real) and abs(exponent.real) <= 64
    if not whole:
        return complex(base**exponent)
    found = complex(1.0)
    for _ in range(abs(int(exponent.real))):  # a negative base keeps its sign, and the step its digits
        found = found * base
    return found if exponent.real >= 0 else 1.0 / found


class FormulaError(GraphError):
    """A formula that is not understood, with the place in its text."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


def read_formula(text: str) -> Sum:
    """The tree of a text with ``+ - * / ^``, brackets, numbers, names and a few functions."""
    tokens = [*_tokens(text), ("end", "", len(text))]
    found, at = _sum(tokens, 0, 0)
    if tokens[at][0] != "end":
        raise FormulaError(f"{tokens[at][1]!r} is not understood here; an operator can follow", tokens[at][2])
    return found


_Tokens = list[tuple[str, str, int]]


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        yield kind, match[kind], match.start(kind)


def _sum(tokens: _Tokens, at: int, depth: int) -> tuple[Sum, int]:
    left, at = _product(tokens, at, depth)
    while tokens[at][:2] in (("symbol", "+"), ("symbol", "-")):
        operator = tokens[at][1]
        right, at = _product(tokens, at + 1, depth)
        left = Sum(operator, (left, right))
    return left, at


def _product(tokens: _Tokens, at: int, depth: int) -> tuple[Sum, int]:
    left, at = _signed(tokens, at, depth)
    while tokens[at][:2] in (("symbol", "*"), ("symbol", "/")):
        operator = tokens[at][1]
        right, at = _signed(tokens, at + 1, depth)
        left = Sum(operator, (left, right))
    return left, at


def _signed(tokens: _Tokens, at: int, depth: int) -> tuple[Sum, int]:
    if depth > _DEEPEST:
        raise FormulaError(f"there are more than {_DEEPEST} brackets within each other", tokens[at][2])
    if tokens[at][:2] in (("symbol", "-"), ("symbol", "+")):
        inner, after = _signed(tokens, at + 1, depth + 1)
        return (Sum("-", (inner,)) if tokens[at][1] == "-" else inner), after
    base, at = _atom(tokens, at, depth)
    if tokens[at][:2] == ("symbol", "^"):
        exponent, at = _signed(tokens, at + 1, depth + 1)
        base = Sum("^", (base, exponent))
    return base, at


def _atom(tokens: _Tokens, at: int, depth: int) -> tuple[Sum, int]:
    kind, text, place = tokens[at]
    if kind == "number":
        return Sum("number", number=float(text)), at + 1
    called = tokens[at + 1][:2] == ("symbol", "(") if kind == "name" else False
    if kind == "name" and not called:
        return Sum("name", name=text), at + 1
    if called and text not in FUNCTIONS:
        raise FormulaError(f"the function {text}() is not supported; {', '.join(FUNCTIONS)} are", place)
    if called or (kind, text) == ("symbol", "("):
        opened = at + 1 if called else at
        inner, after = _sum(tokens, opened + 1, depth + 1)
        if tokens[after][:2] != ("symbol", ")"):
            raise FormulaError("this '(' is not closed; add a ')'", tokens[opened][2])
        return (Sum(text, (inner,)) if called else inner), after + 1
    shown = "the end" if kind == "end" else repr(text)
    raise FormulaError(f"a number or a name is needed here, not {shown}", place)
