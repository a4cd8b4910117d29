"""Composite questions in text: what they mean, that they read back, where errors point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.errors import QuestionSyntaxError
from halftrek.queries import (
    Arithmetic,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    TotalEffect,
)
from halftrek.queries.kinds.variants import Case, Draw, Event, Scale, Shift, Sum, Variant, single
from halftrek.syntax import parse_question
from tests.queries.composites import Maker
from tests.syntax.test_graph_errors import marked

E_do = {x: Statistic("E", (single("y"),), Case({"x": float(x)})) for x in (0, 1)}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("E[y | do(x=1)] - E[y | do(x=0)]", Arithmetic("-", E_do[1], E_do[0])),
        ("E(y|do(x=1))-E(y|do(x=0))", Arithmetic("-", E_do[1], E_do[0])),
        ("2 * E[y | do(x=1)]", Arithmetic("*", 2.0, E_do[1])),
        ("-E[y | do(x=1)] / -2", Arithmetic("/", Arithmetic("*", -1.0, E_do[1]), -2.0)),
        ("E[y | do(x=1)] -1", Arithmetic("-", E_do[1], 1.0)),
        ("(E[y | do(x=1)] - 1) * 3", Arithmetic("*", Arithmetic("-", E_do[1], 1.0), 3.0)),
        ("var[y]", Statistic("Var", (single("y"),))),
        ("sd(y | z=2)", Statistic("SD", (single("y"),), Case({}, {Variant("z"): 2.0}))),
        ("Cov[y1, y2 | do(x)]", Statistic("Cov", (single("y1"), single("y2")), Case({"x": None}))),
        ("Cor[y, z]", Statistic("Corr", (single("y"), single("z")))),
        ("P(y > 2 | do(x=1))", Probability((Event(single("y"), low=2.0),), Case({"x": 1.0}))),
        ("P(2 < y | x)", Probability((Event(single("y"), low=2.0),), Case({}, {Variant("x"): None}))),
        ("Pr(-1 <= y ≤ 2)", Probability((Event(single("y"), -1.0, 2.0, low_in=True, high_in=True),))),
        ("P(2 >= y > -1)", Probability((Event(single("y"), -1.0, 2.0, high_in=True),))),
        ("P(2 > y > -1)", Probability((Event(single("y"), -1.0, 2.0),))),
        ("P(y<-2)", Probability((Event(single("y"), high=-2.0),))),
        ("P(y > 2, z < 0)", Probability((Event(single("y"), low=2.0), Event(single("z"), high=0.0)))),
        ("Q(0.9, y | do(x=1))", Quantile(0.9, single("y"), Case({"x": 1.0}))),
        (
            "P(y_{x=0} < 2 | x=1, y > 2)",
            Probability(
                (Event(single(Variant("y", {"x": 0.0})), high=2.0),),
                Case({}, {Variant("x"): 1.0}, (Event(single("y"), low=2.0),)),
            ),
        ),
        (
            "E[y_{x=1} - y_{x=0} | x=0]",
            Statistic(
                "E",
                (Sum(((1.0, Variant("y", {"x": 1.0})), (-1.0, Variant("y", {"x": 0.0})))),),
                Case({}, {Variant("x"): 0.0}),
            ),
        ),
        (
            "E[y_{x=1, m_{x=0}}]",
            Statistic("E", (single(Variant("y", {"x": 1.0, "m": Variant("m", {"x": 0.0})})),)),
        ),
        ("E[-2*y + z/4]", Statistic("E", (Sum(((-2.0, Variant("y")), (0.25, Variant("z")))),))),
        ("E[y | do(x += 1, w -= 2)]", Statistic("E", (single("y"),), Case({"x": Shift(1.0), "w": Shift(-2.0)}))),
        ("E[y | do(x *= 3, w /= 4)]", Statistic("E", (single("y"),), Case({"x": Scale(3.0), "w": Scale(0.25)}))),
        ("E[y | do(x ~ N(0, 2))]", Statistic("E", (single("y"),), Case({"x": Draw(0.0, 2.0)}))),
        ("E[y | do(x -> y = 1)]", Statistic("E", (single("y"),), Case({("x", "y"): 1.0}))),
        ("P(y | do(x += 1))", Distribution((single("y"),), Case({"x": Shift(1.0)}))),
        ("P(y - z | do(x=1))", Distribution((Sum(((1.0, Variant("y")), (-1.0, Variant("z")))),), Case({"x": 1.0}))),
        ("E[y, z | do(x=1)]", Distribution.after(("y", "z"), {"x": 1.0})),
        ("(P(y))", Distribution.after(("y",))),
        ("std(x ~> y)", Standardized(TotalEffect("x", "y"))),
        ("(x ~> y) / 2", Arithmetic("/", TotalEffect("x", "y"), 2.0)),
        ("x ~> y + x -> m -> y", Arithmetic("+", TotalEffect("x", "y"), PathEffect(("x", "m", "y")))),
        ("2 * 1 ~> 2", Arithmetic("*", 2.0, TotalEffect("1", "2"))),
        ('E["1" - 2 * "2"]', Statistic("E", (Sum(((1.0, Variant("1")), (-2.0, Variant("2")))),))),
        ("(x <-> y) * (x -> y)", Arithmetic("*", ErrorCovariance("x", "y"), DirectEffect("x", "y"))),
    ],
)
def test_questions(text: str, query: Query) -> None:
    assert parse_question(text) == query
    assert parse_question(str(query)) == query


NAMES = ["x", "y", "a b", "1", "größe", "m_", "do", "E", "v.1", '"q"']


@given(seed=st.integers(0, 10**6))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_canonical_text_reads_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [str(v) for v in rng.permutation(NAMES)[:4]]
    maker = Maker(names, [(names[0], names[1]), (names[1], names[2])], rng, left_out=True)
    query = maker.distribution() if rng.random() < 0.2 else maker.expression()
    assert parse_question(str(query)) == query
    assert _balanced(query.latex)


def _balanced(text: str) -> bool:
    depth = 0
    for i, c in enumerate(text):
        if c in "{}" and text[i - 1 : i] != "\\":
            depth += 1 if c == "{" else -1
        assert depth >= 0
    return depth == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("E[y | do(x=1)] - «»", "name is needed here"),
        ("E[y | do(x=1)] «@»", "'@' is not understood"),
        ("E[y | do(x=1)] «E»[y]", "'E' is not understood after the end"),
        ("«1 »+ 2", "asks nothing"),
        ("«3»", "is a number and asks nothing"),
        ("E[y] / «0»", "divided by zero"),
        ("E[y] - «P»(y)", "is a distribution"),
        ("P(y) «+» E[y]", "is a distribution"),
        ("«(»E[y]", "'\\(' is not closed"),
        ("(E[y]«]»", "'\\)' is needed"),
        ("«Foo»[y]", "'Foo' is not understood"),
        ("E[y «>» 2]", "probability of an event is written P"),
        ("Var[y, «z»]", "one outcome too many"),
        ("Cov[y«]»", "two different outcomes"),
        ("Cov[y, z, «w»]", "two outcomes are meant"),
        ("P(y > «a»)", "a number is needed after the comparison"),
        ("P(1 < y «>» 2)", "same way"),
        ("P(«2 »< y < 1)", "no number lies between"),
        ("P(1 > y > «»", "a number is needed"),
        ("P(y > 1 «<» 2)", "between its bounds"),
        ("P(y > 1, «z»)", "cannot be mixed"),
        ("Q«(»2, y)", "between 0 and 1"),
        ("Q(«y»)", "a number is needed for the level"),
        ("Q(0.5«)»", "',' and the outcome"),
        ("E[«y »- y]", "takes itself away"),
        ("E[y «/» 0]", "divided by zero"),
        ("E[y | do(x ~ «M»(0, 1))]", "normal distribution"),
        ("E[y | do(x ~ N(0«)»)]", "the variance are needed"),
        ("E[y | do(x ~ N(0, «-»1))]", "never negative"),
        ("E[y_{x «~» N(0, 1)}]", "in do"),
        ("E[y | do(x «/=» 0)]", "divided by zero"),
        ("E[y | do(x -> «x» = 1)]", "named twice"),
        ("E[y | do(x += 1, «x» = 2)]", "held or given twice"),
        ("E[y | do(x=1, «y»=2)]", "is the outcome"),
        ("E[y | «x »- z = 1]", "not for a sum"),
        ("E[y_{x=1} | «do»(z=1)]", "cannot be mixed"),
        ("E[y | do(x=1), «z_»{w=1} > 2]", "cannot be mixed"),
        ("std(«x» <-> y)", "only effects"),
        ("E[y | do(x=«1e999»)]", "too large"),
        ("P(y > 1 | do(«y»=1))", "is the outcome"),
    ],
)  # fmt: skip
def test_the_caret_is_under_the_culprit(text: str, words: str) -> None:
    plain, start, end = marked(text)
    plain = plain.rstrip()
    with pytest.raises(QuestionSyntaxError, match=words) as caught:
        parse_question(plain)
    assert caught.value.start == min(start, len(plain))
    if end > start and "»" in text and text[text.index("»") - 1] != " ":
        assert caught.value.end == end


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("E[y | do(x=1)]", "\\mathbb{E}\\left[y \\mid \\operatorname{do}(x = 1)\\right]"),
        ("P(y1 > 2, z < 0)", "P\\left(y_{1} > 2, z < 0\\right)"),
        ("x ~> y", "x \\rightsquigarrow y"),
        ("x -> income", "x \\to \\text{income}"),
        ("(x ~> y) / 2", "\\frac{x \\rightsquigarrow y}{2}"),
        ("E[y_{x=1} - y]", "\\mathbb{E}\\left[{y}_{x = 1} - y\\right]"),
        ("P(y | do(x), z=1)", "P\\left(y \\mid \\operatorname{do}(x), z = 1\\right)"),
        ("P(y_{x=1} | x=0)", "P\\left({y}_{x = 1} \\mid x = 0\\right)"),
        ("Q(0.9, y | do(x += 1))", "Q_{0.9}\\left(y \\mid \\operatorname{do}(x \\mathrel{+}= 1)\\right)"),
    ],
)
def test_latex(text: str, latex: str) -> None:
    assert parse_question(text).latex == latex
