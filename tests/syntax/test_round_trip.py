"""Every graph is written in every syntax and read back as itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.bottom.choices import Syntax
from halftrek.errors import GraphError
from halftrek.graphs import Graph, check_name
from halftrek.syntax import detect_syntax, format_graph, parse_graph

SYNTAXES = ("arrows", "lavaan", "dagitty", "dot")
AWKWARD = [
    "a b", "x.1", "1", "2.5", "1e5", "größe", "latent", "observed", "node", "Graph", "strict", "dag", "NA", "start",
    "P", 'say "so"', "it's", "back\\slash", "two\nlines", "a;b", "#no", "// x", "/* x */", "%%", "{", "]", "~", "=~",
    "x:y", "x=1", "-", "do", "e", "u", "_", ".x", "!", "λ", "a~b", "x*y", "tab\there", "true", "²",
]  # fmt: skip


def is_name(text: str) -> bool:
    try:
        check_name(text)
    except GraphError:
        return False
    return True


NAMES = st.one_of(
    st.sampled_from("abcdefgh"), st.sampled_from(AWKWARD), st.text(min_size=1, max_size=6).filter(is_name)
)
LABELS = st.one_of(st.sampled_from(["a", "b", "b1", "NA", "x y", 'q"', "a.b", "start", "λ", "+", "c("]))
NUMBERS = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, -0.5, 1e-300, 1e300]))
R_NAMES = st.one_of(
    st.sampled_from("abcdefgh"), st.sampled_from(["x.1", "größe", "a_b", ".x", "T", "c", "start", "label", "λ", "漢字"])
)


Strategy = st.SearchStrategy[str]


@st.composite
def marked_graphs(draw: st.DrawFn, words: Strategy = NAMES, labels: Strategy = LABELS) -> Graph:
    """Graphs with awkward names, isolated variables, hidden causes with any number of children, coefficients."""
    names = draw(st.lists(words, unique=True, min_size=1, max_size=7))
    size = draw(st.integers(1, len(names)))
    order, hidden = names[:size], names[size:]
    pairs = [(u, v) for i, u in enumerate(order) for v in order[i + 1 :]]
    directed = [p for p in pairs if draw(st.booleans())]
    bidirected = [p for p in pairs if draw(st.integers(0, 3)) == 0]
    latents = {u: [v for v in order if draw(st.booleans())] for u in hidden}
    bare = Graph(directed, bidirected, latents, draw(st.permutations(order)))
    known = {}
    for u, kind, v in bare.edges():
        if draw(st.integers(0, 2)) == 0:
            known[f"{u} {kind} {v}"] = draw(st.one_of(labels, NUMBERS))
    return Graph(directed, bidirected, latents, bare.observed, known)


@st.composite
def hidden_graphs(draw: st.DrawFn, words: Strategy = NAMES, labels: Strategy = LABELS) -> Graph:
    """Graphs whose hidden variables stand anywhere, with known error variances and intercepts."""
    names = draw(st.lists(words, unique=True, min_size=2, max_size=8))
    hidden = [v for v in names[1:] if draw(st.booleans())]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    turned = [(v, u) for u, v in pairs]  # the first name is observed and may be caused by all
    directed = [p for p in turned if draw(st.integers(0, 2)) == 0]
    bidirected = [p for p in pairs if draw(st.integers(0, 4)) == 0]
    bare = Graph(directed, bidirected, observed=[v for v in names if v not in hidden], hidden=hidden)
    numbers = st.sampled_from([0.5, 2.0, -1.5])
    known = {f"{u} {k} {v}": draw(st.one_of(labels, numbers)) for u, k, v in bare.edges() if draw(st.booleans())}
    some = [v for v in bare.nodes if draw(st.integers(0, 3)) == 0]
    variances = {v: draw(st.one_of(labels, st.sampled_from([0.5, 2.0]))) for v in some if draw(st.booleans())}
    intercepts = {v: draw(st.one_of(labels, numbers)) for v in some if v not in variances}
    made = bare.with_(coefficients=known, variances=variances, intercepts=intercepts, notes=())
    return made.with_(notes=())


@pytest.mark.parametrize("syntax", SYNTAXES)
@given(data=st.data())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_hidden_variables_anywhere(syntax: Syntax, data: st.DataObject) -> None:
    graph = data.draw(hidden_graphs(R_NAMES, R_NAMES) if syntax == "lavaan" else hidden_graphs())
    back = parse_graph(format_graph(graph, syntax), syntax)
    assert back == graph
    assert (back.observed, back.hidden, tuple(back.latents)) == (graph.observed, graph.hidden, tuple(graph.latents))
    assert back.notes == ()


def graphs_for(syntax: Syntax) -> st.SearchStrategy[Graph]:
    """Graphs with names that the syntax can say: lavaan has those of R."""
    return marked_graphs(R_NAMES, R_NAMES) if syntax == "lavaan" else marked_graphs()


def said_in(graph: Graph, syntax: Syntax) -> Graph:
    """What a syntax can say of the graph: lavaan has no edge for a covariance of zero."""
    if syntax != "lavaan":
        return graph
    zero = [(u, v) for u, v in graph.bidirected if graph.coefficients.get(f"{u} <-> {v}") == 0.0]
    gone = {f"{u} <-> {v}" for u, v in zero}
    return Graph(
        graph.directed,
        [pair for pair in graph.bidirected if pair not in zero],
        graph.latents,
        graph.observed,
        {key: value for key, value in graph.coefficients.items() if key not in gone},
    )


@pytest.mark.parametrize("syntax", SYNTAXES)
@given(data=st.data())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_written_and_read_back(syntax: Syntax, data: st.DataObject) -> None:
    graph = data.draw(graphs_for(syntax))
    text = format_graph(graph, syntax)
    back = parse_graph(text, syntax)
    assert back == said_in(graph, syntax)
    assert back.observed == graph.observed
    assert tuple(back.latents) == tuple(graph.latents)
    assert back.notes == ()
    assert detect_syntax(text) == syntax


ODD_BUT_R = {
    "x.1", "größe", "latent", "observed", "node", "Graph", "strict", "dag", "start", "P", "do", "e", "u", ".x", "λ",
    "true",
}  # fmt: skip
NO_R = ["TRUE", "function", "_x", "x²", ".5", "...", "..1", ".", ".p1.", "x٣", "NA_real_"]


@pytest.mark.parametrize("name", sorted(ODD_BUT_R))
def test_lavaan_has_the_words_of_r(name: str) -> None:
    graph = Graph([(name, "y")], coefficients={f"{name} -> y": name})
    assert parse_graph(format_graph(graph, "lavaan")) == graph


@pytest.mark.parametrize("name", [*(name for name in AWKWARD if name not in ODD_BUT_R), *NO_R])
def test_lavaan_refuses_names_that_r_cannot_read(name: str) -> None:
    with pytest.raises(GraphError, match="lavaan cannot read the variable"):
        format_graph(Graph(observed=[name]), "lavaan")
    with pytest.raises(GraphError, match="lavaan cannot read the variable"):
        format_graph(Graph(latents={name: ["x"]}), "lavaan")


@pytest.mark.parametrize("label", ["a b", "NA", "q(", "_x", "if"])
def test_lavaan_refuses_labels_that_r_cannot_read(label: str) -> None:
    with pytest.raises(GraphError, match="lavaan cannot read the label"):
        format_graph(Graph([("x", "y")], coefficients={"x -> y": label}), "lavaan")


def test_what_is_written() -> None:
    graph = Graph(
        [("x", "y"), ("z", "y")],
        [("x", "z")],
        {"U": ["x", "y"], "V": ["z"]},
        ["x", "y", "z", "lonely"],
        {"x -> y": 0.5, "z -> y": "a", "V -> z": "l"},
    )
    assert format_graph(graph) == ("latent U, V\nx -> y [0.5]\nz -> y [a]\nU -> {x, y}\nV -> z [l]\nx <-> z\nlonely")
    assert format_graph(graph, "lavaan") == (
        "U =~ NA*x + y\nV =~ NA*z + l*z\nU ~~ 1*U\nV ~~ 1*V\nU ~~ 0*V\ny ~ 0.5*x + a*z\nx ~~ z\n"
        "z ~~ z\nlonely ~~ lonely"
    )
    assert format_graph(graph, "dagitty") == (
        "dag {\n  x\n  y\n  z\n  lonely\n  U [latent]\n  V [latent]\n  x -> y [beta=0.5]\n  z -> y [beta=a]\n"
        "  U -> x\n  U -> y\n  V -> z [beta=l]\n  x <-> z\n}"
    )
    assert format_graph(graph, "dot").splitlines()[5:9] == [
        "  U [latent=true, style=dotted];",
        "  V [latent=true, style=dotted];",
        '  x -> y [coefficient="0.5", label="0.5"];',
        "  z -> y [coefficient=a, label=a];",
    ]


def test_a_large_graph_is_no_work() -> None:
    names = [f"v{i}" for i in range(1500)]
    graph = Graph([(names[i // 2], names[i]) for i in range(1, 1500)], latents={"U": names[700:]}, observed=names)
    for syntax in ("arrows", "dagitty", "dot", "lavaan"):
        assert parse_graph(format_graph(graph, syntax)) == graph
