"""Errors in a graph's text point at the place."""

from typing import Literal

import pytest

from halftrek.choices import Syntax
from halftrek.errors import GraphSyntaxError
from halftrek.syntax import parse_graph


def marked(text: str) -> tuple[str, int, int]:
    """The text without its marks, and the stretch between them: ``x -> «y»``."""
    start = text.index("«")
    end = text.index("»") - 1
    return text.replace("«", "").replace("»", ""), start, end


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # a graph that cannot be
        ("x -> y -> z\nz -> w; «w -> y»", "cycle: y -> z -> w -> y"),
        ("x <- y; «y <- x»", "cycle: x -> y -> x"),
        ("a -> {b, c}; {b, «c} -> a»", "cycle: a -> c -> a"),
        ("a -> b; «x -> x»", "'x' has an edge to itself"),
        ("«x <-> x»", "'x' has an edge to itself"),
        ("latent U; U -> x; «U»", "'U' is both latent and observed"),
        ("observed U, x; U -> x; latent «U»", "'U' is both latent and observed"),
        ("latent «U»", "all variables are hidden"),
        ("x -> y [1]; «x -> y» [2]", "two coefficients, 1.0 and 2.0"),
        ("x <-> y [a]; «y <-> x» [b]", "two coefficients, a and b"),
        ("x -> y [«1e999»]", "not a finite number"),
        ("x -> y [«nan»]", "not a finite number"),
        ('x -> y [«""»]', "a number or a label"),
        ('x -> «"a -> b"»', "holds an arrow"),
        ('x -> «" b"»', "begins or ends with a space"),
        # a text that cannot be read
        ("x -> y «@» z", "'@' is not understood"),
        ("x -> y «z»", "'z' is not understood here"),
        ("x «--» y", "'--' is not understood here"),
        ("x «~>» y", "total effect"),
        ("x -> «->» y", "name is needed here, not '->'"),
        ("x -> y «,» z", "inside braces"),
        ("x -> «{»y, z", "'{' is not closed"),
        ("x -> {y, «->» z}", "name or '}' is needed"),
        ("x -> «{»}", "hold no name"),
        ("x -> y «[»", "not the end of the text"),
        ("x -> y «[»0.5", "'\\[' is not closed"),
        ("x -> y «[»a b]", "'\\[' is not closed"),
        ("x -> y [«;»]", "a number or a label"),
        ('x -> «"»y', "quote is not closed"),
        ("x -> y «/»* never closed", "comment is not closed"),
        # dagitty
        ("dag «{» x -> y", "'{' is not closed"),
        ("dag { x -> {y -> «}» }", "name is needed here"),
        ("dag { x -> y } «z»", "nothing can follow"),
        ("dag { x «--» y }", "does not say what causes what"),
        ("dag { x «@->» y }", "does not say what causes what"),
        ("dag { x [latent «}»", "attribute or '\\]' is needed"),
        ("dag { x [latent=«]» }", "value is needed after '='"),
        ("dag { x [«selected»]; x -> y }", "selected"),
        ("dag { U [latent]; «U» [exposure]; U -> y }", "'U' is both latent and observed"),
        ("dag { x -> y; «y -> x» }", "cycle: x -> y -> x"),
        ("«mag» { x -> y }", "a mag stands for several graphs"),
        ("«pdag» { x -> y }", "a pdag stands for several graphs"),
        # DOT
        ("digraph «{» x -> y", "'{' is not closed"),
        ("«graph» { x -- y }", "undirected"),
        ("digraph { x «--» y }", "a digraph has the edge ->"),
        ("digraph { x «<-» y }", "a digraph has the edge ->"),
        ("digraph { x -> y [dir=«none»] }", "dir=none"),
        ("digraph { x [latent=«perhaps»] }", "latent must be true or false"),
        ("digraph { x«:»n -> y }", "ports are not understood"),
        ("digraph { U [latent=true]; «U» [observed=yes]; U -> x }", "both latent and observed"),
        ("digraph { «x -> x» }", "edge to itself"),
        # lavaan
        ("y ~ x\nx ~ «y»", "cycle: y -> x -> y"),
        ("y ~ x + «0.5*y»", "'y' has an edge to itself"),
        ("f =~ a + b\n«g» =~ c + d", "f ~~ 0\\*g makes them independent"),
        ("f =~ a + b\ng =~ c + d\n«g ~~ f»", "f ~~ 0\\*g makes them independent"),
        ("f =~ a + «0.5*b»", "write f ~~ 1\\*f"),
        ("f =~ a + b\nf ~~ «2*f»", "unit variance"),
        ("f =~ a + «l*b»\ny ~ l*x", "depends on the scale of 'f'"),
        ("f =~ «l*a» + b\nf ~~ 1*f", "free it with NA"),
        ("y ~ x\ny ~~ «0.5*y»", "the variance of 'y' is fixed"),
        ("y ~ x\ny ~ «0*1»", "the intercept of 'y' is fixed"),
        ("y ~ x; y ~~ «v*y»; x ~~ v*x", "made equal"),
        ("y ~ 0.5*x; y ~ «0.4*x»", "given before as 0.5"),
        ("x ~~ 0.1*y; x ~~ «0*y»", "given before as 0.1"),
        ("x ~~ y; y ~~ «0*x»", "given before as free and is now 0.0"),
        ("y ~ a*x + «b*x»", "given before as a and is now b"),
        ("f =~ a + b; a ~ «f»", "given before with =~"),
        ("y ~ x «y»", "'y' is not understood here"),
        ("y ~ x«:»z", "interactions"),
        ("y ~ x +«»", "name is needed here, not the end"),
        ("y ~ a*x; a «==» 2", "constraints are not supported"),
        ("y ~ a*x; a «<» 2", "inequality"),
        ("y ~ x; y «|» t1", "thresholds"),
        ("y ~ x; f «<~» t1", "composites"),
        ("y ~ x; z «\n»y", "one of the operators"),
        ("y ~ «c»(a, b)*x", "modifier c\\(\\)"),
        ("y ~ start«(»a*x", "'\\(' is not closed"),
        ("y ~ «2»", "can only be the intercept"),
        ("f =~ «1»", "name is needed after =~"),
        ("f =~ «0» + a", "number alone"),
        ("f =~ «a»; y ~ f", "fixes the error of 'a', the only indicator of 'f', at zero"),
        ("f =~ «0.5*a»; f ~~ 1*f", "write a ~~ a to free it"),
        ("f =~ NA*a + «l*a»; f ~~ 1*f; y ~ l*x", "only indicator of 'f'"),
        ("y ~ x; «2» ~ y", "begins with a variable's name"),
    ],
)
def test_the_caret_is_under_the_culprit(text: str, words: str) -> None:
    plain, start, end = marked(text)
    with pytest.raises(GraphSyntaxError, match=words) as caught:
        parse_graph(plain)
    error = caught.value
    assert (error.start, error.end) == (start, end if end > start else start + 1)
    assert error.text == plain
    assert "(read as " in error.reason


def test_the_message_shows_line_and_caret() -> None:
    with pytest.raises(GraphSyntaxError) as caught:
        parse_graph("x -> y\ny -> z\nz -> x; q", "arrows")
    assert str(caught.value) == (
        "the graph has a cycle: x -> y -> z -> x. Remove or turn one of these arrows; feedback is not supported\n"
        "  line 3: z -> x; q\n"
        "          ^^^^^^"
    )


@pytest.mark.parametrize("syntax", ["auto", "arrows", "lavaan", "dagitty", "dot"])
@pytest.mark.parametrize("text", ["", " \n ", "# nothing"])
def test_empty_text(text: str, syntax: Syntax | Literal["auto"]) -> None:
    with pytest.raises(GraphSyntaxError, match=r"empty|names no variable"):
        parse_graph(text, syntax)


@pytest.mark.parametrize(
    ("text", "syntax"),
    [("y ~ x ~ z", "lavaan"), ("x - y", "arrows"), ("dag { x", "dagitty"), ("graph { x }", "dot")],
)
def test_the_assumed_syntax_is_named(text: str, syntax: str) -> None:
    with pytest.raises(GraphSyntaxError, match=f"read as {syntax} syntax"):
        parse_graph(text)


def test_a_forced_syntax_is_obeyed() -> None:
    with pytest.raises(GraphSyntaxError, match="must begin with dag"):
        parse_graph("x -> y", "dagitty")
    with pytest.raises(GraphSyntaxError, match="one of the operators"):
        parse_graph("x -> y", "lavaan")
