"""Reading takes a time that grows with the text. The bounds are some twenty times what is needed; where reading took
the square of the text's length, it took minutes or hours."""

import time
from collections.abc import Callable

import pytest

from halftrek.errors import HalftrekError
from halftrek.syntax import parse_graph, parse_question

SIZE = 100_000
SECONDS = 5.0


def _many(piece: str) -> str:
    return piece * (SIZE // len(piece))


def _counted(piece: str) -> str:
    return "".join(piece.replace("#", str(i)) for i in range(SIZE // (len(piece) + 4)))


TEXTS = {
    "lines": _counted("x# -> y#\n"),
    "chain": "a -> " + _counted("x# -> ") + "z",
    "arcs": _counted("x# <-> y#; "),
    "group": "{" + _counted("x#, ") + "} -> y",
    "children": "latent U; U -> {" + _counted("x#, ") + "}",
    "comments": _many("x -> y /* c */ # d\n"),
    "open comments": _many("x -> y /* "),
    "open comments in lavaan": "y ~ x\n" + _many("/* "),
    "escaped quotes": _many('\\"'),
    "quotes": _many("'\"\n"),
    "quoted names": _counted('"a b #" -> "c d #"\n'),
    "one name": "x" * SIZE,
    "digits": "1" * SIZE + "x",
    "digits and points": _many("1.") + "x",
    "spaces": " " * SIZE,
    "spaces after a head": "dag" + " " * SIZE,
    "semicolons": ";" * SIZE,
    "braces": "{" * SIZE,
    "dagitty": "dag {" + _counted("x# [pos=1]; x# -> y# [beta=2]\n") + "}",
    "dagitty braces": "dag {" + "{" * SIZE,
    "dagitty settings": "dag { edge [" + _counted("a#=1,") + "] " + _counted("x# -> y#;") + "}",
    "settings in braces": "digraph { node [" + _counted("a#=1,") + "] " + _counted("{x#}") + "}",
    "nested names": "dag {" + "{ a" * 99 + _counted(" x#") + "}" * 100,
    "lavaan": _counted("y# ~ x\n"),
    "lavaan causes": "y ~ " + _counted("x# + ") + "z",
    "lavaan definitions": _counted("a# := b * c\n") + "y ~ x",
    "lavaan indicators": "f =~ " + _counted("x# + ") + "z",
    "lavaan factors": _counted("f# =~ a# + b#\n"),
    "lavaan covariances": _counted("x# ~~ y#\n"),
}
QUESTIONS = {
    "path": _counted("x# -> ") + "y",
    "sum": "E[" + _counted("x# + ") + "y]",
    "conditions": "E[y | " + _counted("x#=1, ") + "z=1]",
    "digits": "E[y] * " + "1" * SIZE + "x",
    "brackets": "(" * SIZE,
    "outcomes": "P(" + _counted("x#, ") + "y)",
    "held": "P(y | do(" + _counted("x#=1, ") + "z=1))",
}


def _taken(read: Callable[[str], object], text: str) -> float:
    message = ""
    start = time.process_time()
    try:
        read(text)
    except HalftrekError as error:
        message = str(error)
    taken = time.process_time() - start
    assert len(message) < 5_000  # it shows a part of the text, not all of it
    return taken


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_graphs(text: str) -> None:
    assert _taken(parse_graph, text) < SECONDS


@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_questions(text: str) -> None:
    assert _taken(parse_question, text) < SECONDS


def test_long_lines_are_shown_in_part() -> None:
    with pytest.raises(HalftrekError) as caught:
        parse_graph("x -> y; " * 1000 + "x => y; " + "x -> y; " * 1000)
    shown, pointer = str(caught.value).splitlines()[1:]
    assert len(shown) < 200
    assert shown[pointer.index("^")] == "="
