"""Questions in text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.errors import InputError, QuestionSyntaxError
from halftrek.queries import (
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Query,
    ThroughEffect,
    TotalEffect,
    Variant,
)
from halftrek.queries.kinds.variants import Event, single
from halftrek.syntax import parse_question
from tests.narrow import wrong
from tests.syntax.test_graph_errors import marked
from tests.syntax.test_round_trip import NAMES


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("P(y | do(x=1))", Distribution.after(("y",), {"x": 1.0})),
        ("P(y1, y2 | do(x=1, w=0), z=2)", Distribution.after(("y1", "y2"), {"x": 1.0, "w": 0.0}, {"z": 2.0})),
        ("P(y|z=-2.5e-1,do(x),w)", Distribution.after(("y",), {"x": None}, {"z": -0.25, "w": None})),
        ("p( y |\n do(x = 1), do(w = +2) )", Distribution.after(("y",), {"x": 1.0, "w": 2.0})),
        ("P(y)", Distribution.after(("y",))),
        ("E[y1, y2 | do(x=1)]", Distribution.after(("y1", "y2"), {"x": 1.0})),
        ("x -> y", DirectEffect("x", "y")),
        ("x→y", DirectEffect("x", "y")),
        ("y <- x", DirectEffect("x", "y")),
        ("x ~> y", TotalEffect("x", "y")),
        ("P ~> do", TotalEffect("P", "do")),
        ("1~>2", TotalEffect("1", "2")),
        ("x -> m -> y", PathEffect(("x", "m", "y"))),
        ("x ~> m ~> n ~> y", ThroughEffect(("x", "m", "n", "y"))),
        ("x <-> y", ErrorCovariance("x", "y")),
        ('"a b" ~> größe_1.b', TotalEffect("a b", "größe_1.b")),
        ("P(do | do(P=1), 'a, b'=0)", Distribution.after(("do",), {"P": 1.0}, {"a, b": 0.0})),
        (
            "P(y_{x=1} | x=0, y=2)",
            Distribution.across((Variant("y", {"x": 1.0}),), {Variant("x"): 0.0, Variant("y"): 2.0}),
        ),
        ("P(y_{x=1} | x)", Distribution.across((Variant("y", {"x": 1.0}),), {Variant("x"): None})),
        (
            "P( y_{ x = 1, w }, y_{x=0}, y | z=1 )",
            Distribution.across(
                (Variant("y", {"x": 1.0, "w": None}), Variant("y", {"x": 0.0}), Variant("y")),
                {Variant("z"): 1.0},
            ),
        ),
        (
            "P(y | y_{x=1}=-2, 'a b'_{\"c d\"=3})",
            Distribution.across((Variant("y"),), {Variant("y", {"x": 1.0}): -2.0, Variant("a b", {"c d": 3.0}): None}),
        ),
        ("P(y__{x_=1})", Distribution.across((Variant("y_", {"x_": 1.0}),))),
        ("P(1_{2=3})", Distribution.across((Variant("1", {"2": 3.0}),))),
        ("P(y = 2)", Probability((Event(single(Variant("y")), 2.0, 2.0, low_in=True, high_in=True),))),
    ],
)
def test_questions(text: str, query: Query) -> None:
    assert parse_question(text) == query
    assert parse_question(str(query)) == query


names = st.lists(NAMES, min_size=2, max_size=6, unique=True)
values = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))


@st.composite
def counterfactuals(draw: st.DrawFn, words: list[str]) -> Distribution:
    def potential(least: int) -> Variant:
        variable = draw(st.sampled_from(words))
        others = [v for v in words if v != variable]
        held = draw(st.lists(st.sampled_from(others), unique=True, min_size=least, max_size=2))
        return Variant(variable, {v: draw(values) for v in held})

    outcomes = dict.fromkeys([potential(1), *(potential(0) for _ in range(draw(st.integers(0, 2))))])
    given = [v for v in (potential(0) for _ in range(draw(st.integers(0, 3)))) if v not in outcomes]
    return Distribution.across(tuple(outcomes), {v: draw(values) for v in given})


@st.composite
def queries(draw: st.DrawFn) -> Query:
    words = draw(names)
    kind = draw(st.integers(0, 6))
    if kind == 6:
        return draw(counterfactuals(words))
    if kind == 0:
        cuts = sorted(draw(st.lists(st.integers(1, len(words)), min_size=2, max_size=2)))
        do = {v: draw(values) for v in words[cuts[0] : cuts[1]]}
        return Distribution.after(tuple(words[: cuts[0]]), do, {v: draw(values) for v in words[cuts[1] :]})
    if kind < 4:
        return (DirectEffect, TotalEffect, ErrorCovariance)[kind - 1](*words[:2])
    if len(words) == 2:
        return DirectEffect(*words)
    return (PathEffect if kind == 4 else ThroughEffect)(tuple(words))


@given(queries())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_canonical_text_reads_back(query: Query) -> None:
    assert parse_question(str(query)) == query


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("«y_{»x=1} -> z", "counterfactual variable is not understood here"),
        ("P(y_{x=1} | «do»(z=1))", "cannot be mixed"),
        ("P(y | do(z=1), «w_»{x=1})", "cannot be mixed"),
        ("P(y_«{»x=1", "'{' is not closed"),
        ("P(y_{x=1«)»", "',' or '}' is needed here"),
        ("P(y_{«}»)", "name is needed here"),
        ("P(y_{«y»=1})", "'y' is the outcome"),
        ("P(y_{x=1, «x»=2})", "'x' is held or given twice"),
        ("P(y_{x=1}, «y_»{x=1})", "'y' is named twice"),
        ("P(y_{x=1} | z, «z»=1)", "'z' is held or given twice"),
        ("P(«_»{x=1})", "name is needed before"),
        ("P(y_{x=«y_»{x=1}})", "a number is needed"),
        ("P(y = «a» | do(x=1))", "a number is needed"),
        ("E[y «=» 2 | do(x=1)]", "probability of an event is written P"),
        ("P«(»y | do(x=1)", "'\\(' is not closed"),
        ("P(y | do«(»x=1", "'\\(' is not closed"),
        ("P(y«]»", "',' or '\\)' is needed here"),
        ("P(y | «do x»)", "do\\(x=1\\)"),
        ("P(y | do(«)»)", "name is needed here"),
        ("P(«)»", "name is needed here"),
        ("P(y | do(x=«a»))", "a number is needed"),
        ("P(y | do(x=«1e999»))", "too large"),
        ("P(y | do(x=1), «x»=2)", "'x' is held or given twice"),
        ("RD(y > 0 | do(x=1), do(«x»=0))", "two worlds are compared with a colon"),
        ("P(y | do(x=1, «x»=2))", "'x' is held or given twice"),
        ("P(y | do(«y»=1))", "'y' is the outcome"),
        ("P(y, «y»)", "'y' is named twice"),
        ("P(y) «q»", "'q' is not understood"),
        ("x -> m «~>» y", "cannot be mixed"),
        ("x <-> y «<->» z", "has two variables"),
        ("x -> «x»", "'x' is named twice"),
        ("x«»", "the end of the text is not understood"),
        ("x -> «»", "name is needed here"),
        ("x «@» y", "'@' is not understood"),
        ("x -> «\"a -> b\"»", "holds an arrow"),
        ("«»", "empty"),
    ],
)  # fmt: skip
def test_the_caret_is_under_the_culprit(text: str, words: str) -> None:
    plain, start, end = marked(text)
    plain = plain.rstrip()
    with pytest.raises(QuestionSyntaxError, match=words) as caught:
        parse_question(plain)
    error = caught.value
    start = min(start, len(plain))
    assert (error.start, error.end) == (start, end if end > start else start + 1)


def test_only_text_is_a_question() -> None:
    with pytest.raises(InputError, match="not NoneType"):
        parse_question(wrong(None))
