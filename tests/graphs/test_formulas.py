"""Arithmetic with names: values as Python has them, slopes as differences have them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrek.graphs.formulas import FormulaError, read_formula

VALUES = {"a": 0.7, "b": -1.3, "c.d": 2.1}
NAMES = ("a", "b", "c.d")


@st.composite
def formulas(draw: st.DrawFn, depth: int = 3) -> str:
    """Texts with all operators, brackets and signs."""
    kind = draw(st.sampled_from(["name", "number", "sum", "power", "sign", "call"] if depth else ["name", "number"]))
    if kind == "name":
        return draw(st.sampled_from(NAMES))
    if kind == "number":
        return draw(st.sampled_from(["2", "0.5", ".25", "1e-1", "3."]))
    inner = draw(formulas(depth - 1))
    if kind == "sum":
        return f"({inner} {draw(st.sampled_from(['+', '-', '*']))} {draw(formulas(depth - 1))})"
    if kind == "power":
        return f"({inner})^{draw(st.sampled_from(['2', '3', '1']))}"
    return f"(-{inner})" if kind == "sign" else f"exp(sin({inner}))"


def by_python(text: str, values: dict[str, float]) -> float:
    """The slow and obvious way."""
    plain = {"c_d": values["c.d"], "a": values["a"], "b": values["b"], "exp": math.exp, "sin": math.sin}
    return float(eval(text.replace("c.d", "c_d").replace("^", "**"), {"__builtins__": {}}, plain))


@given(formulas())
def test_values_and_slopes(text: str) -> None:
    formula = read_formula(text)
    wanted = by_python(text, VALUES)
    assert formula.at({k: complex(v) for k, v in VALUES.items()}).real == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    slopes = formula.slopes(VALUES)
    assert slopes.keys() == formula.names
    for name, slope in slopes.items():
        up, down = ({**VALUES, name: VALUES[name] + h} for h in (1e-6, -1e-6))
        difference = (by_python(text, up) - by_python(text, down)) / 2e-6
        assert slope == pytest.approx(difference, rel=1e-4, abs=1e-4 * (1.0 + abs(wanted)))


def test_order_of_operations() -> None:
    values = {k: complex(v) for k, v in VALUES.items()}
    for text, value in (("2 + 3 * 4", 14.0), ("2 ^ 3 ^ 2", 512.0), ("-2 ^ 2", -4.0), ("8 / 4 / 2", 1.0), ("2^-1", 0.5),
                        ("abs(b)", 1.3), ("sqrt(4) - log(exp(1))", 1.0)):  # fmt: skip
        assert read_formula(text).at(values).real == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("a +", 3, "needed here, not the end"),
        ("a b", 2, "an operator can follow"),
        ("(a", 0, "not closed"),
        ("gamma(a)", 0, r"function gamma\(\)"),
        ("a * / b", 4, "needed here, not '/'"),
        ("(" * 200, 101, "more than 100 brackets"),
        ("", 0, "needed here"),
    ],
)
def test_what_is_no_formula(text: str, at: int, words: str) -> None:
    with pytest.raises(FormulaError, match=words) as caught:
        read_formula(text)
    assert caught.value.at == at
