"""Whatever the text, the answer is a value or an error of ours that points into the text."""

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.bottom.choices import Syntax
from halftrek.errors import GraphSyntaxError, QuestionSyntaxError
from halftrek.graphs import Graph
from halftrek.queries import Query
from halftrek.syntax import parse_graph, parse_question

WORDS = """
    x y z f g U 1 0 2.5 -1 NA start( label( do( P( E[ latent observed node edge graph subgraph dag{ digraph{ strict
    -> <- <-> ~ ~~ =~ := == ~> -- + * , ; : | = { } [ ] ( ) # ! /* */ dir=both latent=true beta=1 label=a " ' \\ @
"""
PIECES = st.sampled_from([*WORDS.split(), "\n"])
TEXTS = st.one_of(st.lists(PIECES, max_size=14).map(" ".join), st.text(max_size=12))


def points_into(error: GraphSyntaxError | QuestionSyntaxError, text: str) -> None:
    assert error.text == text
    assert 0 <= error.start <= len(text)
    assert error.start < error.end
    assert error.reason in str(error)


@pytest.mark.parametrize("syntax", ["auto", "arrows", "lavaan", "dagitty", "dot"])
@given(text=TEXTS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_graph_texts(syntax: Syntax | Literal["auto"], text: str) -> None:
    wrapped = {"dagitty": f"dag {{ {text} }}", "dot": f"digraph {{ {text} }}"}.get(syntax, text)
    try:
        assert isinstance(parse_graph(wrapped, syntax), Graph)
    except GraphSyntaxError as error:
        points_into(error, wrapped)


FORMULA = st.builds(
    "{} {} {}".format,
    st.sampled_from(["f", "g", "x", "y", "z"]),
    st.sampled_from(["~", "~~", "=~"]),
    st.lists(
        st.builds(
            "{}{}".format, st.sampled_from(["", "", "1*", "0*", "0.5*", "a*", "NA*"]), st.sampled_from(list("fgxyz1"))
        ),
        min_size=1,
        max_size=3,
    ).map(" + ".join),
)


@given(text=st.lists(FORMULA, min_size=1, max_size=4).map("\n".join))
@settings(max_examples=250, deadline=None, derandomize=True)
def test_lavaan_formulas(text: str) -> None:
    try:
        assert isinstance(parse_graph(text, "lavaan"), Graph)
    except GraphSyntaxError as error:
        points_into(error, text)


@given(text=TEXTS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_question_texts(text: str) -> None:
    try:
        assert isinstance(parse_question(text), Query)
    except QuestionSyntaxError as error:
        points_into(error, text)
