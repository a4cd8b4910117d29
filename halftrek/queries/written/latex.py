"""Questions in LaTeX."""

from __future__ import annotations

import re
from math import inf

from halftrek.queries.kinds.distributions import Distribution
from halftrek.queries.kinds.effects import DirectEffect, ErrorCovariance, PathEffect, ThroughEffect, TotalEffect
from halftrek.queries.kinds.terms import Arithmetic, Probability, Quantile, Standardized, Statistic
from halftrek.queries.kinds.variants import Case, Change, Draw, Event, Scale, Shift, Sum, Target, Variant
from halftrek.queries.written.latex_letters import latex_text
from halftrek.queries.written.writing import Value, Written, number

_NAMES = {"E": "\\mathbb{E}", "Var": "\\operatorname{Var}", "SD": "\\operatorname{SD}"}
_NAMES |= {"Cov": "\\operatorname{Cov}", "Corr": "\\operatorname{Corr}"}


def latex_name(name: str) -> str:
    """A variable in LaTeX: x1 as x_{1}, a word upright."""
    match = re.fullmatch(r"([A-Za-z])_?([0-9]+)", name)
    if match:
        return f"{match[1]}_{{{match[2]}}}"
    if re.fullmatch(r"[A-Za-z]|[0-9]+", name):
        return name
    return "\\text{" + latex_text(name) + "}"


def as_latex(query: Written | float) -> str:
    """A question in LaTeX."""
    match query:
        case DirectEffect(u, v):
            return _chain((u, v), "\\to")
        case PathEffect(path):
            return _chain(path, "\\to")
        case TotalEffect(u, v):
            return _chain((u, v), "\\rightsquigarrow")
        case ThroughEffect(stations):
            return _chain(stations, "\\rightsquigarrow")
        case ErrorCovariance(u, v):
            return _chain((u, v), "\\leftrightarrow")
        case Variant():
            return _variant(query)
        case Statistic(kind, of, case):
            return _call(_NAMES[kind], ", ".join(map(_sum, of)), _case(case), "[]")
        case Probability(events, case):
            return _call("P", ", ".join(map(_event, events)), _case(case))
        case Quantile(level, of, case):
            return _call(f"Q_{{{number(level)}}}", _sum(of), _case(case))
        case Distribution(of, case):
            return _call("P", ", ".join(map(_sum, of)), _case(case))
        case Standardized(effect):
            return f"\\operatorname{{std}}({as_latex(effect)})"
        case Arithmetic(operation, left, right):
            return _arithmetic(operation, left, right)
    assert not isinstance(query, Written)  # every kind of question is above
    return number(query)


def _arithmetic(operation: str, left: Written | float, right: Written | float) -> str:
    if operation == "/":
        return f"\\frac{{{as_latex(left)}}}{{{as_latex(right)}}}"
    tight = operation == "*"
    first, second = _side(left, "+-" if tight else ""), _side(right, "+-" if operation != "+" else "")
    if operation == "*" and left == -1.0:
        return f"-{second}"
    sign = "\\cdot" if tight else operation
    return f"{first} {sign} {second}"


def _side(side: Written | float, brackets: str) -> str:
    text = as_latex(side)
    arrow = isinstance(side, DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance)
    if arrow or (isinstance(side, Arithmetic) and side.operation in brackets):
        return f"\\left({text}\\right)"
    return text


def _chain(names: tuple[str, ...], arrow: str) -> str:
    return f" {arrow} ".join(map(latex_name, names))


def _call(function: str, before: str, behind: str, brackets: str = "()") -> str:
    bar = f" \\mid {behind}" if behind else ""
    return f"{function}\\left{brackets[0]}{before}{bar}\\right{brackets[1]}"


def _equal(name: str, value: Value) -> str:
    return name if value is None else f"{name} = {number(value)}"


def _do(changes: str) -> str:
    return f"\\operatorname{{do}}({changes})"


def _subscript(variable: str, text: str) -> str:
    return f"{{{latex_name(variable)}}}_{{{text}}}" if text else latex_name(variable)


def _variant(v: Variant) -> str:
    return _subscript(v.variable, ", ".join(_change(t, c) for t, c in v.changes.items()))


def _change(target: Target, change: Change) -> str:
    name = latex_name(target) if isinstance(target, str) else _chain(target, "\\to")
    match change:
        case Shift(amount):
            return f"{name} \\mathrel{{+}}= {number(amount)}"
        case Scale(factor):
            return f"{name} \\mathrel{{\\cdot}}= {number(factor)}"
        case Draw(mean, variance):
            return f"{name} \\sim \\mathcal{{N}}({number(mean)}, {number(variance)})"
        case Variant():
            return _variant(change)
    return _equal(name, change)


def _sum(of: Sum) -> str:
    texts = []
    for i, (weight, v) in enumerate(of.parts):
        size = "" if abs(weight) == 1.0 else f"{number(abs(weight))}\\,"
        sign = ("-" if weight < 0 else "") if i == 0 else (" - " if weight < 0 else " + ")
        texts.append(f"{sign}{size}{_variant(v)}")
    return "".join(texts)


def _event(event: Event) -> str:
    above, below = r"\ge" if event.low_in else ">", r"\le" if event.high_in else "<"
    if event.at is not None:
        return f"{_sum(event.of)} = {number(event.at)}"
    if event.high == inf:
        return f"{_sum(event.of)} {above} {number(event.low)}"
    if event.low == -inf:
        return f"{_sum(event.of)} {below} {number(event.high)}"
    first = r"\le" if event.low_in else "<"
    return f"{number(event.low)} {first} {_sum(event.of)} {below} {number(event.high)}"


def _case(case: Case) -> str:
    parts = [_do(", ".join(_change(t, c) for t, c in case.do.items()))] if case.do else []
    parts += [_equal(_variant(v), x) for v, x in case.given.items()]
    return ", ".join([*parts, *map(_event, case.events)])
