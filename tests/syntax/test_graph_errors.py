"""Errors in a graph's text point at the place."""

from typing import Literal

import pytest

from halftrek.bottom.choices import Syntax
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
        ("i =~ a + b\ns =~ c + d\ns ~~ «0*s»", "write s ~~ 0\\*i"),
        ("y ~ a*x; a == 1; «a» == 2", "the label 'a' is 1 and 2"),
        ("y ~ a*x; a == «b»", "no parameter of the text has the label 'b'"),
        ("y ~ a*x; z := «b»*2", "no parameter of the text has the label 'b'"),
        ("y ~ a*x; z := a«*»", "a number or a name is needed here"),
        ("y ~ a*x; z := «(»a + 1", "'\\(' is not closed"),
        ("y ~ a*x; z := «gamma»(a)", "the function gamma"),
        ("y ~ a*x; «a» := 2", "is another label too"),
        ("f =~ a + b + «equal('f=~q')*c»", "no label and no parameter"),
        ("y ~ 0.5*x; y ~ «0.4*x»", "given before as 0.5"),
        ("x ~~ 0.1*y; x ~~ «0*y»", "given before as 0.1"),
        ("x ~~ y; y ~~ «0*x»", "given before as free and is now 0.0"),
        ("y ~ a*x + «b*x»", "given before as a and is now b"),
        ("f =~ a + b; a ~ «f»", "given before with =~"),
        ("y ~ x «y»", "'y' is not understood here"),
        ("y ~ x«:»z", "interactions"),
        ("y ~ x +«»", "name is needed here, not the end"),
        ("y ~ a*x; a «==» 2*a", "constraints other than a == b"),
        ("y ~ a*x; a «<» 2", "inequality"),
        ("y ~ x; y «|» t1", "thresholds"),
        ("y ~ x; f «<~» t1", "composites"),
        ("y ~ x; z «\n»y", "one of the operators"),
        ("y ~ «c(a, b)*x»", "c\\(\\) gives a parameter one value for each group"),
        ("y ~ «lower»(0)*x", "bounds, lower"),
        ("«efa»('one')*f =~ a + b", "exploratory factors"),
        ("«level:» 1\ny ~ x", "multilevel"),
        ("«group:» 1\ny ~ x", "blocks of groups"),
        ("y ~ start«(»a*x", "'\\(' is not closed"),
        ("y ~ «2»", "can only be the intercept"),
        ("f =~ «1»", "name is needed after =~"),
        ("f =~ «0» + a", "name is needed after =~"),
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
