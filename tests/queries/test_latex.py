"""Names in LaTeX are set as they are, whatever characters they have."""

import re

import pytest

from halftrek.graphs import Graph
from halftrek.queries.written.latex import latex_name
from halftrek.reporting.plots.tikz import to_tikz
from halftrek.syntax import parse_question

ODD = r"a~b^c_d&e%f#g$h{i}j\k<l>m"
SET = r"a\textasciitilde{}b\textasciicircum{}c\_d\&e\%f\#g\$h\{i\}j\textbackslash{}k\textless{}l\textgreater{}m"


def test_names() -> None:
    assert latex_name(ODD) == f"\\text{{{SET}}}"
    assert latex_name("x1") == "x_{1}"
    assert latex_name("a\nb\x1b") == "\\text{a b\\textbackslash{}x1b}"


@pytest.mark.parametrize(
    "text",
    ['"{}" ~> y', 'P("{}" | do(x=1))', 'E["{}"_{{x=1}} | x=0]', 'P("{}" > 1)', 'Corr["{}", y]', 'std("{}" -> y)'],
)
def test_questions(text: str) -> None:
    quoted = ODD.replace("\\", "\\\\")
    found = parse_question(text.format(quoted)).latex
    assert SET in found
    bare = re.sub(r"\\[A-Za-z]+(\{\})?|\\[_&%#${}]", "", found.replace("_{", ""))
    assert not re.search(r"[~^&%#$]", bare)


def test_tikz() -> None:
    assert f"{{{SET}}}" in to_tikz(Graph([(ODD, "y")]))


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("SD[y] + 2", r"\operatorname{SD}\left[y\right] + 2"),
        ("SD[y] + SD[x] + 2", r"\operatorname{SD}\left[y\right] + \operatorname{SD}\left[x\right] + 2"),
        ("2 - (SD[y] + 1)", r"2 - \left(\operatorname{SD}\left[y\right] + 1\right)"),
        ("2 * (SD[y] + 1)", r"2 \cdot \left(\operatorname{SD}\left[y\right] + 1\right)"),
        ("2 * (SD[y] * 3)", r"2 \cdot \operatorname{SD}\left[y\right] \cdot 3"),
        ("(x -> y) * 3", r"\left(x \to y\right) \cdot 3"),
    ],
)
def test_brackets_stand_where_they_are_needed(text: str, latex: str) -> None:
    assert parse_question(text).latex == latex
