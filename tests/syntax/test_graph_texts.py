"""What the texts of a graph mean, syntax by syntax."""

import json
from pathlib import Path
from typing import Any

import pytest

from halftrek.errors import InputError
from halftrek.graphs import Graph
from halftrek.syntax import detect_syntax, format_graph, parse_graph
from tests.narrow import wrong

CASES = json.loads((Path(__file__).parents[1] / "reference" / "lavaan_texts.json").read_text())

FRONT_DOOR = Graph([("x", "m"), ("m", "y")], [("x", "y")])
THREE = Graph(latents={"U": ["x", "y", "z"]})


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("x -> m -> y; x <-> y", FRONT_DOOR),
        ("x→m→y\nx↔y", FRONT_DOOR),
        ("y <- m <- x\ny <-> x;;\n\n", FRONT_DOOR),
        ("x ->\n m -> # the mediator\n y // comment\n %% another\n /* and\n one more */ x <-> y", FRONT_DOOR),
        ("latent U; U -> {x, y, z}", THREE),
        ("latent U\nx <- U; {y z} <- U", THREE),
        ("U -> {x,\n y; z\n}; latent U", THREE),
        ("latent {U}; U -> x; U -> y -> w; U -> z", Graph([("y", "w")], latents={"U": ["x", "y", "z"]})),
        ("latent U, V; x", Graph(latents={"U": [], "V": []}, observed=["x"])),
        ("latent U V\nx", Graph(latents={"U": [], "V": []}, observed=["x"])),
        ("lonely", Graph(observed=["lonely"])),
        ("{a, b}; observed c, d", Graph(observed=["a", "b", "c", "d"])),
        ("latent -> observed", Graph([("latent", "observed")])),
        ("{a, b} -> {c, d}", Graph([("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")])),
        ("{a, b} <-> c", Graph([], [("a", "c"), ("b", "c")])),
        ("x -> y; x -> y; x <-> y; y <-> x", Graph([("x", "y")], [("x", "y")])),
        ("x -> y [0.5] -> z [a]", Graph([("x", "y"), ("y", "z")], coefficients={"x -> y": 0.5, "y -> z": "a"})),
        ("x -> y; x -> y [-1e-3]", Graph([("x", "y")], coefficients={"x -> y": -1e-3})),
        ("y <- {x, z} [ b ]", Graph([("x", "y"), ("z", "y")], coefficients={"x -> y": "b", "z -> y": "b"})),
        ("x <-> y ['a b']", Graph([], [("x", "y")], coefficients={"x <-> y": "a b"})),
        ("1 -> 2 -> 2.5", Graph([("1", "2"), ("2", "2.5")])),
        ("\"a b\" -> 'it' -> größe.1_b", Graph([("a b", "it"), ("it", "größe.1_b")])),
        ("graph -> dag", Graph([("graph", "dag")])),
    ],
)
def test_arrows(text: str, graph: Graph) -> None:
    assert parse_graph(text) == graph
    assert parse_graph(text, "arrows") == graph
    assert parse_graph(text.replace("\n", "\r\n")) == graph


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("dag { x -> m -> y x <-> y }", FRONT_DOOR),
        ('dag "my g" {\nbb="-1,-2,1,2"\nx [exposure,pos="0,1"]\ny [outcome]\nx -> m\nm -> y\nx <-> y\n}\n', FRONT_DOOR),
        ("DAG{U [latent];x <- U -> y;U -> z [pos=\"1,1\"]}", THREE),
        ("dag{ U [unobserved] U -> {x y z} }", THREE),
        ("dag { {x y} -> {z} /* c */ # d\n}", Graph([("x", "z"), ("y", "z")])),
        (
            "dag { x -> y [beta=0.5] y -> z [beta=\"-.5\", pos=\"0,0\"] x <-> z [beta=r] }",
            Graph([("x", "y"), ("y", "z")], [("x", "z")], coefficients={"x -> y": 0.5, "y -> z": -0.5, "x <-> z": "r"}),
        ),
        ('dag { "a b" -> c.1 lonely }', Graph([("a b", "c.1")], observed=["lonely"])),
        ("dag { U [latent] x [adjusted] y }", Graph(latents={"U": []}, observed=["x", "y"])),
    ],
)  # fmt: skip
def test_dagitty(text: str, graph: Graph) -> None:
    assert parse_graph(text) == graph
    assert parse_graph(text, "dagitty") == graph


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("digraph { x -> m -> y; x -> y [dir=both] }", FRONT_DOOR),
        ('strict digraph "G" {\nrankdir=LR; node [shape=box]; x -> m\ny -> m [dir=back];\n'
         'x -> y [style=dashed, dir="both"]\n}', FRONT_DOOR),
        ("digraph { edge [dir=both]; x -> y; edge [dir=forward]; x -> m -> y }", FRONT_DOOR),
        ("digraph { x -> m -> y { edge [dir=both] x -> y } }", FRONT_DOOR),
        ('digraph { U [observed="no"]; U -> {x; y; z} }', THREE),
        ("digraph G { U [hidden=1, style=dotted]\nU -> x U -> y U -> z }", THREE),
        ("digraph { node [latent=true] U; node [latent=false]; U -> {x y z} }", THREE),
        ("digraph { subgraph cluster_a { label=\"A\"; x; y } U [latent=true]; U -> subgraph { x y z } }", THREE),
        ("digraph { x -> y [coefficient=\"0.5\"]; y -> z [coefficient=a][color=red]; x -> z [label=up] }",
         Graph([("x", "y"), ("y", "z"), ("x", "z")], coefficients={"x -> y": 0.5, "y -> z": "a"})),
        ("digraph { x -> y [label=up, coefficient=-2] }", Graph([("x", "y")], coefficients={"x -> y": -2.0})),
        ("digraph { a; \"b c\" [style=dotted] }", Graph(observed=["a", "b c"])),
    ],
)  # fmt: skip
def test_dot(text: str, graph: Graph) -> None:
    assert parse_graph(text) == graph
    assert parse_graph(text, "dot") == graph


@pytest.mark.parametrize("case", CASES, ids=[c["case"] for c in CASES])
def test_lavaan_models_of_the_reference_cases(case: dict[str, Any]) -> None:
    graph, expected = parse_graph(case["model_syntax"]), case["graph"]
    assert set(graph.observed) == set(expected["observed"])
    assert set(graph.directed) == set(map(tuple, expected["directed"]))
    arcs = [*expected["bidirected"], *expected["exogenous_covariances"]]
    assert {frozenset(e) for e in graph.bidirected} == {frozenset(e) for e in arcs}
    assert not graph.latents
    assert case["npar"] == len(graph.edges()) + len(graph) * (2 if case["intercepts"] else 1)  # as lavaan counts them
    bare = Graph(graph.directed, graph.bidirected, {}, graph.observed)
    assert parse_graph(format_graph(bare, "lavaan")) == bare


FACTOR = {"f": ["a", "b", "c"]}
FREE = "variance of f"
FACTORS = Graph(
    [("f", "a"), ("f", "b"), ("g", "c"), ("g", "d")],
    hidden=["f", "g"],
    coefficients={"f -> a": 1.0, "g -> c": 1.0},
    variances={"f": "variance of f", "g": "variance of g"},
)


def factor(known: dict[str, float | str], more: list[tuple[str, str]] | None = None, **variances: float | str) -> Graph:
    """A factor with three effects, of which more is known than that it is there."""
    arrows = [("f", "a"), ("f", "b"), ("f", "c"), *(more or [])]
    return Graph(arrows, hidden=["f"], coefficients=known, variances=variances)


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("m ~ x\n y ~ m\n x ~~ y", FRONT_DOOR),
        ("m ~ x; y ~ m; y ~~ x; x ~~ x; ab := 1*(2 + \n 3) ; y ~ 1", FRONT_DOOR),
        ("m + y ~ x", Graph([("x", "m"), ("x", "y")])),  # outcomes do not covary unless the text says so
        ("y ~ x1 + x2", Graph([("x1", "y"), ("x2", "y")], [("x1", "x2")])),
        ("y ~ 1 + x1 +\n x2 # two\n + x3 ! three", Graph([("x1", "y"), ("x2", "y"), ("x3", "y")],
                                                      [("x1", "x2"), ("x1", "x3"), ("x2", "x3")])),
        ("y ~ x1 + x2\nx1 ~~ 0*x2", Graph([("x1", "y"), ("x2", "y")])),
        ("y ~ x1 + x2\nx2 ~~ r*x1", Graph([("x1", "y"), ("x2", "y")], [("x1", "x2")], coefficients={"x1 <-> x2": "r"})),
        ("y ~ x\nz ~~ y", Graph([("x", "y")], [("y", "z")])),  # z causes nothing: no covariate, no covariance with x
        ("y ~ x1; z ~ y + x2", Graph([("x1", "y"), ("y", "z"), ("x2", "z")], [("x1", "x2")])),
        # lavaan 0.6-14: who is in a ~ 1 or ~~ covaries only as written
        ("y ~ x1; z ~ y + x2; x1 ~ 1", Graph([("x1", "y"), ("y", "z"), ("x2", "z")])),
        ("y ~ x + w + v; x ~~ w", Graph([("x", "y"), ("w", "y"), ("v", "y")], [("x", "w")])),
        ("y ~ x + w + v; x ~~ x", Graph([("x", "y"), ("w", "y"), ("v", "y")], [("w", "v")])),
        ("y ~ a*x1 + 0.5*x2 + start(0.3)*x3 + NA*x4 + -2*x5\n"
         "x1 ~~ 0*x2+0*x3+0*x4+0*x5\nx2~~0*x3+0*x4+0*x5\nx3~~0*x4+0*x5\nx4~~0*x5",
         Graph([(f"x{i}", "y") for i in range(1, 6)], coefficients={"x1 -> y": "a", "x2 -> y": 0.5, "x5 -> y": -2.0})),
        ("y ~ start(1)*x + a*x\nz ~ label('a')*y",
         Graph([("x", "y"), ("y", "z")], coefficients={"x -> y": "a", "y -> z": "a"})),
        ("x ~~ 0.3*y", Graph([], [("x", "y")], coefficients={"x <-> y": 0.3})),
        ("y ~ 0*x", Graph([("x", "y")], coefficients={"x -> y": 0.0})),
        ("x ~~ v*x", Graph(observed=["x"], variances={"x": "v"})),
        ("x ~~ 2*x; x ~ 0*1", Graph(observed=["x"], variances={"x": 2.0}, intercepts={"x": 0.0})),
        ("y ~ e*1 + x; x ~ e*1; y ~~ e*y",
         Graph([("x", "y")], variances={"y": "e"}, intercepts={"y": "e", "x": "e"})),
        ("f =~ a + b + c", factor({"f -> a": 1.0}, f=FREE)),
        ("f =~ a + b\nf =~ c\nf ~~ f\nf ~ 0*1", factor({"f -> a": 1.0}, f=FREE)),
        ("f =~ NA*a + b + c\nf ~~ 1*f", Graph(latents=FACTOR)),
        ("f =~ 2*a + b + c", factor({"f -> a": 2.0}, f=FREE)),
        ("f =~ start(0.8)*a + b + c", factor({"f -> a": 0.8}, f=FREE)),  # so lavaan: where a loading would be 1
        ("f =~ NA*a + 3*b + c", factor({"f -> b": 3.0}, f=FREE)),
        ("f =~ a + b + c\nf ~~ 1*f", Graph(latents=FACTOR, coefficients={"f -> a": 1.0})),
        ("f =~ NA*a + b + c\nf ~~ 2*f", factor({}, f=2.0)),
        ("f =~ NA*a + 0.7*b + l*c\nf ~~ 1*f", Graph(latents=FACTOR, coefficients={"f -> b": 0.7, "f -> c": "l"})),
        ("f =~ a + l*b + l*c", factor({"f -> a": 1.0, "f -> b": "l", "f -> c": "l"}, f=FREE)),
        ("f =~ a + 1*b + c", factor({"f -> a": 1.0, "f -> b": 1.0}, f=FREE)),
        ("f =~ l*a + l*b + c", factor({"f -> a": 1.0, "f -> b": 1.0}, f=FREE)),  # one of them is 1, so both are
        ("f =~ a + 0*b + c", factor({"f -> a": 1.0, "f -> b": 0.0}, f=FREE)),
        ("f =~ a + k*b + l*c; k == l", factor({"f -> a": 1.0, "f -> b": "k", "f -> c": "k"}, f=FREE)),
        ("f =~ a + k*b + l*c; k - l == 0", factor({"f -> a": 1.0, "f -> b": "k", "f -> c": "k"}, f=FREE)),
        ("f =~ a + k*b + l*c; k == -0.5; 2 == l", factor({"f -> a": 1.0, "f -> b": -0.5, "f -> c": 2.0}, f=FREE)),
        ("f =~ a + b + equal('f=~b')*c", factor({"f -> a": 1.0, "f -> b": "f_b", "f -> c": "f_b"}, f=FREE)),
        ("f =~ a + (1/4)*b + sqrt(4)*c", factor({"f -> a": 1.0, "f -> b": 0.25, "f -> c": 2.0}, f=FREE)),
        ("f =~ a + b\nc ~ f + x", factor({"f -> a": 1.0}, [("x", "c")], f=FREE)),
        ("f =~ a + b\ng =~ c + d\nf ~~ 0*g", FACTORS),
        ("f =~ a + b\ng =~ c + d", FACTORS.with_(bidirected=[("f", "g")], variances={})),
        ("f =~ a + b\ng =~ c + d\ng ~ f", FACTORS.with_(directed=[*FACTORS.directed, ("f", "g")], variances={})),
        ("f =~ a + b\nf ~ x", Graph([("x", "f"), ("f", "a"), ("f", "b")], hidden=["f"], coefficients={"f -> a": 1.0})),
        ("f =~ a + b\nf ~ 1; a ~ 0", Graph(
            [("f", "a"), ("f", "b")], hidden=["f"], coefficients={"f -> a": 1.0},
            intercepts={"f": "intercept of f", "a": 0.0},
        )),
        ('"a b" ~ größe + "c"', Graph([("größe", "a b"), ("c", "a b")], [("größe", "c")])),
    ],
)  # fmt: skip
def test_lavaan(text: str, graph: Graph) -> None:
    assert parse_graph(text) == graph
    assert parse_graph(text, "lavaan") == graph


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ("x", "arrows"),
        ("", "arrows"),
        ("x -> y # y ~ x", "arrows"),
        ('"y ~ x" -> z', "arrows"),
        ("# x -> y\ny ~ x", "lavaan"),
        ("! x -> y\ny ~ x", "lavaan"),
        ("a := 2", "lavaan"),
        ("dag -> graph", "arrows"),
        ("# head\n  dag{x}", "dagitty"),
        ("PDAG {x}", "dagitty"),
        ("/* y ~ x */ strict digraph g {x}", "dot"),
        ('digraph "dag {" { "y ~ x" }', "dot"),
    ],
)
def test_detection(text: str, syntax: str) -> None:
    assert detect_syntax(text) == syntax


def test_bad_arguments() -> None:
    with pytest.raises(InputError, match="no syntax 'yaml'"):
        parse_graph("x", wrong("yaml"))
    with pytest.raises(InputError, match="no syntax 'auto'"):
        format_graph(FRONT_DOOR, wrong("auto"))
    with pytest.raises(InputError, match="not int"):
        parse_graph(wrong(3))


def codes(text: str) -> list[str]:
    return [note.code for note in parse_graph(text).notes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y ~ x", []),
        ("y ~ a*x; twice := 2*a", []),
        ("m + y ~ x", ["lavaan outcomes"]),
        ("m + y ~ x; m ~~ y", []),
        ("m + y ~ x; y ~~ 0*m", []),
        ("m ~ x; y ~ x + m", []),
        ("f =~ a + b; y ~ f; w ~ f", ["lavaan outcomes"]),
        ("f =~ a + b; a ~ x; y ~ x", []),  # lavaan lets indicators alone
        ("i =~ 1*a + 1*b + 1*c", ["lavaan growth"]),
        ("i =~ 1*a + 1*b; s =~ 0*a + 1*b; i ~~ 0*s", ["lavaan growth", "lavaan growth"]),
        ("i =~ 1*a + 1*b + 1*c; i ~ 1; a + b + c ~ 0*1", []),
        ("i =~ 1*a + 0.5*b; i ~~ 1*i", []),  # a hidden cause that is known, and no growth curve
        ("i =~ 1*a + b + c", []),
        ("f =~ NA*a + b + c", ["lavaan scale"]),
        ("f =~ 0*a + b + c", ["lavaan scale"]),
        ("f =~ NA*a + l*b; y ~ l*x", []),  # the label says how large f is
        ("f =~ a + b + c; f ~ 1", []),
        ("f =~ a + b + c; f ~ 0*1", []),
    ],
)
def test_what_is_read_in_another_way_than_sem_reads_it_is_a_note(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_notes_name_what_they_speak_of() -> None:
    outcomes = parse_graph("y1 + y2 + y3 ~ b*x; y1 ~~ y2").notes[0]
    assert "y1, y3, y2" in str(outcomes)
    assert "y1 ~~ y3 if they do, y1 ~~ 0*y3 if not" in str(outcomes)
    many = "; ".join(f"y{i} ~ x" for i in range(30))
    assert "and 24 more" in str(parse_graph(many).notes[0])
    assert "1*b for a loading of 1, or f ~~ 1*f" in str(parse_graph("f =~ NA*b + c + d").notes[0])


def test_definitions_are_kept_with_labels_that_are_one_made_one() -> None:
    graph = parse_graph("y ~ b*x + c*z; m ~ a*x; a == b; c == 2; ab := a*b; s := sqrt(ab)/(c + 1e-3); y ~~ 0*m")
    assert dict(graph.definitions) == {"ab": "b * b", "s": "sqrt ( ab ) / ( (2) + 1e-3 )"}
    assert graph == graph.with_() == parse_graph(format_graph(graph, "lavaan"))
    assert graph.with_().definitions == graph.definitions


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("f =~ 0; f ~~ 1*f; x ~~ x", Graph(latents={"f": []}, observed=["x"])),
        ("f =~ 0\nx ~~ x", Graph(latents={"f": []}, observed=["x"])),
        (
            "f =~ a; f ~~ f",
            Graph([("f", "a")], hidden=["f"], coefficients={"f -> a": 1.0}, variances={"a": 0.0, "f": "variance of f"}),
        ),
        ("f =~ 0; f ~~ 1*f; y ~ 0.5*f; w ~ f", Graph(latents={"f": ["y", "w"]}, coefficients={"f -> y": 0.5})),
        ("f =~ NA*a; f ~~ 1*f; y ~ f; a ~~ a", Graph(latents={"f": ["a", "y"]})),
        (
            "f =~ NA*a; g =~ NA*a + b; y ~ f; f ~~ 0*g; f ~~ 1*f; g ~~ 1*g",
            Graph(latents={"f": ["a", "y"], "g": ["a", "b"]}),
        ),
        (
            'y ~ "a b"*x + "ab"*z; x ~~ 0*z',
            Graph([("x", "y"), ("z", "y")], coefficients={"x -> y": "ab", "z -> y": "ab"}),
        ),
    ],
)
def test_lavaan_corners(text: str, graph: Graph) -> None:
    assert parse_graph(text) == graph


@pytest.mark.parametrize("syntax", ["arrows", "dagitty", "dot"])
def test_notations_without_words_for_definitions_keep_them_as_remarks(syntax: Any) -> None:
    graph = parse_graph("m ~ a*x; y ~ b*m; ab := a*b", "lavaan")
    text = format_graph(graph, syntax)
    assert "ab := a * b" in text
    assert parse_graph(text, syntax) == graph
