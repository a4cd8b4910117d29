"""Nesting has a limit of ours, said in words; how deep Python may call, and from where we are called, is no matter."""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

import pytest

from halftrek.errors import GraphSyntaxError, QueryError, QuestionSyntaxError
from halftrek.graphs import Graph
from halftrek.queries import Arithmetic, TotalEffect, evaluate
from halftrek.queries.kinds.terms import DEEPEST, Operation
from halftrek.queries.kinds.variants import Variant
from halftrek.simulation import random_model
from halftrek.syntax import parse_graph, parse_question
from tests.narrow import number

FAR = (330, 5_000, 100_000)


@pytest.mark.parametrize("depth", FAR)
@pytest.mark.parametrize(
    ("head", "opening", "closing"), [("dag {", "{", "}"), ("digraph {", "{", "}"), ("digraph {", "subgraph s {", "}")]
)
def test_braces(depth: int, head: str, opening: str, closing: str) -> None:
    with pytest.raises(GraphSyntaxError, match="braces are nested more than 100 deep") as caught:
        parse_graph(head + opening * depth + "x" + closing * depth + "}")
    assert caught.value.text[caught.value.start] == "{"


@pytest.mark.parametrize("depth", FAR)
@pytest.mark.parametrize("text", ["{", "y ~ ("])
def test_other_graphs_do_not_nest(depth: int, text: str) -> None:
    with pytest.raises(GraphSyntaxError, match=r"is needed here|is not closed"):
        parse_graph(text * depth + "x", "lavaan" if "~" in text else "arrows")


@pytest.mark.parametrize("depth", FAR)
@pytest.mark.parametrize(
    "text", ["{open}E[y]{close}", "{minus}E[y]", "{minus}1 * E[y]", "{both}E[y]{close}", "E[y]{plus}", "{twice}E[y]"]
)
def test_questions(depth: int, text: str) -> None:
    question = text.format(
        open="(" * depth, close=")" * depth, minus="-" * depth, both="-(" * depth, plus=" + E[y]" * depth,
        twice="2 * " * depth,
    )  # fmt: skip
    with pytest.raises(QuestionSyntaxError, match="at most 100 operations or brackets within each other"):
        parse_question(question)


@pytest.mark.parametrize("depth", [21, *FAR])
def test_subscripts(depth: int) -> None:
    with pytest.raises(QuestionSyntaxError, match="subscripts are nested more than 20 deep"):
        parse_question("E[y_{" + "m_{" * depth + "x=1" + "}" * depth + "}]")


def test_up_to_the_limit_everything_works() -> None:
    graph = parse_graph("dag {" + "{" * 99 + "x -> y" + "}" * 99 + "}")
    assert graph == Graph([("x", "y")])
    model = random_model(graph, random_state=0)
    plain = number(evaluate(parse_question("x ~> y"), model))
    assert evaluate(parse_question("(" * 100 + "x ~> y" + ")" * 100), model) == plain
    assert evaluate(parse_question("-" * 100 + "(x ~> y)"), model) == plain
    many = parse_question("(x ~> y)" + " + (x ~> y)" * 100)
    assert isinstance(many, Arithmetic)
    assert many.depth == DEEPEST
    assert evaluate(many, model) == pytest.approx(101 * plain)
    assert parse_question(str(many)) == many
    assert many.latex.count("rightsquigarrow") == 101


@pytest.mark.parametrize("operation", ["+", "-", "*", "/"])
def test_the_deepest_question_reads_back(operation: Operation) -> None:
    effect = TotalEffect("x", "y")
    left: Arithmetic | TotalEffect = effect
    right: Arithmetic | TotalEffect = effect
    for _ in range(DEEPEST):
        left, right = Arithmetic(operation, left, effect), Arithmetic(operation, effect, right)
    assert parse_question(str(left)) == left
    assert parse_question(str(right)) == right


def test_a_wide_sum_is_not_deep() -> None:
    """Sums of means are gathered into one; gathering must not make a deep question of a wide one."""
    terms = [f"(E[y | do(x={i})] + (x ~> y) * (x -> y))" for i in range(128)]
    while len(terms) > 1:
        terms = [f"({a} + {b})" for a, b in zip(terms[::2], terms[1::2], strict=True)]
    model = random_model(Graph([("x", "y")]), random_state=0)
    effect = number(evaluate(TotalEffect("x", "y"), model))
    start = number(evaluate(parse_question("E[y | do(x=0)]"), model))
    found = evaluate(parse_question(terms[0]), model)
    assert found == pytest.approx(128 * start + effect * 127 * 128 / 2 + 128 * effect**2)


def test_values_built_in_python() -> None:
    query: Arithmetic | TotalEffect = TotalEffect("x", "y")
    for _ in range(100):
        query = Arithmetic("+", query, 1.0)
    with pytest.raises(QueryError, match="at most 100 operations"):
        Arithmetic("+", 1.0, query)
    variant = Variant("y", {"x": 1.0})
    for _ in range(19):
        variant = Variant("y", {"y": variant})
    with pytest.raises(QueryError, match="more than 20 deep"):
        Variant("y", {"y": variant})


Found = TypeVar("Found")


def _from_below(frames: int, call: Callable[[], Found]) -> Found:
    return call() if frames == 0 else _from_below(frames - 1, call)


def test_python_s_own_limit_decides_nothing() -> None:
    deep_graph, deep_question = "dag {" + "{" * 99 + "x" + "}" * 99 + "}", "(" * 100 + "E[y]" + ")" * 100
    used = len(list(_frames()))
    for frames in (0, sys.getrecursionlimit() - used - 60):
        assert _from_below(frames, lambda: parse_graph(deep_graph)).observed == ("x",)
        assert str(_from_below(frames, lambda: parse_question(deep_question))) == "E[y]"
        with pytest.raises(GraphSyntaxError, match="deep"):
            _from_below(frames, lambda: parse_graph(deep_graph.replace("{", "{" * 5)))


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back
