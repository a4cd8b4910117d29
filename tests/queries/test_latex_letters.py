"""Everything that halftrek writes in LaTeX is plain ASCII with every special letter escaped, and pdflatex takes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import halftrek as ht
from halftrek.queries.written.latex_letters import latex_text
from halftrek.reporting import to_tikz
from tests import public_values
from tests.latex import compile_all, faults
from tests.narrow import some

HOSTILE = (
    "50% & more_of {this} #1 $x$ ~a^b \\end",
    "β→γ ≤ Ωmega² x₁",
    "Straße, café, Łódź, žluťoučký, ñandú, Ąę, naïve",
    "中文 кириллица 🙂",
    "a--b 'q' ``w'' ?` | <tag>",
    "[1] *star",
)
ODD = ht.Graph([(HOSTILE[0], HOSTILE[1]), (HOSTILE[1], HOSTILE[2])], [(HOSTILE[0], HOSTILE[3])])


def formulas() -> dict[str, str]:
    """Every formula of the questions and verdicts that several tests share, and of names that nobody would choose."""
    found = {f"question {name}": query.latex for name, query in public_values.questions().items()}
    found |= {f"verdict {name}": v.latex for name, v in public_values.verdicts().items() if v.latex}
    cause, middle, effect = HOSTILE[:3]
    for query in (ht.parse_question(f'"{middle}" ~> "{effect}"'),):
        found |= {"odd question": query.latex, "odd verdict": str(ht.identify(ODD, query).latex)}
    assert len(found) > 40
    assert cause in ODD
    return found


def pictures() -> dict[str, str]:
    return {
        "weights": to_tikz(public_values.fits()["complete"]),
        "hidden": to_tikz(public_values.GRAPH),
        "odd": to_tikz(ODD),
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_are_ascii_and_escaped(text: str) -> None:
    assert faults(latex_text(text)) == []


def test_letters_are_what_they_were() -> None:
    assert latex_text("é ü ß ł β → ² x₁") == (
        "\\'{e} \\\"{u} \\ss{} \\l{} \\ensuremath{\\beta} \\ensuremath{\\rightarrow} \\ensuremath{^{2}} "
        "x\\ensuremath{_{1}}"
    )
    assert latex_text("a_b 5% {c} ~ ^") == "a\\_b 5\\% \\{c\\} \\textasciitilde{} \\textasciicircum{}"
    assert latex_text("a--b") == "a-{}-b"
    assert latex_text("中") == "[U+4E2D]"


def test_formulas_and_pictures_are_ascii_and_escaped() -> None:
    for name, text in some(formulas().items()):
        assert faults(f"${text}$") == [], name
    for name, text in some(pictures().items()):
        assert faults(text) == [], name


def test_the_finder_of_faults_finds_them() -> None:
    good = "\\textbf{a} \\& b \\% $x_{1}^{2}$ \\begin{tabular}{ll} a & b \\\\ \\hline \\end{tabular}"
    assert faults(good) == []
    for bad in ("β", "a_b", "x^2", "5%", "a & b", "#1", "~", "{a", "a}", "$x", "\\begin{tabular} x"):
        assert faults(bad), bad


def test_pdflatex_takes_all_of_it(tmp_path: Path) -> None:
    """Where there is one; everywhere, what it is given is looked at first."""
    shown = [f"$\\displaystyle {text}$" for text in formulas().values()]
    assert [fault for text in shown for fault in faults(text)] == []
    if shutil.which("pdflatex"):
        compile_all(tmp_path, "\\usepackage{amsmath,amssymb}", shown)
        compile_all(tmp_path, "", map(latex_text, HOSTILE))
