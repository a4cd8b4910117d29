"""Hidden variables that have causes, covary, or cause each other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halftrek.errors import GraphError
from halftrek.graphs import Graph
from halftrek.graphs.hidden import scaled_by, settled
from halftrek.models import CGLSCM
from halftrek.syntax import format_graph, parse_graph


def test_hidden_variables_are_sorted_by_what_they_are() -> None:
    graph = parse_graph("latent U, F, G; U -> {x, y}; z -> F; F -> {a, b, c}; F <-> G; G -> {d, e, f}")
    assert dict(graph.latents) == {"U": ("x", "y")}
    assert graph.hidden == ("F", "G")
    assert graph.observed == ("x", "y", "z", "a", "b", "c", "d", "e", "f")
    assert graph.parents("F") == ("z",)
    assert graph.children("G") == ("d", "e", "f")
    assert graph.siblings("F") == ("G",)
    assert graph.ancestors("a") == {"z", "F", "a"}
    assert len(graph) == 9
    assert graph.nodes[-2:] == ("F", "G")


def test_names_may_be_given_as_latents_or_as_hidden() -> None:
    arrows = [("z", "F"), ("F", "a"), ("F", "b")]
    one, other = Graph(arrows, latents={"F": []}), Graph([arrows[0]], latents={"F": ["a", "b"]})
    assert one == other == Graph(arrows, hidden=["F"])
    assert Graph(arrows[1:], hidden=["F"]) == Graph(latents={"F": ["a", "b"]})


def test_what_changes_nothing_observed_is_taken_out_and_said() -> None:
    graph = Graph([("x", "D"), ("U", "F"), ("F", "a"), ("F", "b"), ("x", "a")], hidden=["D", "U", "F"])
    assert graph.hidden == ()
    assert dict(graph.latents) == {"F": ("a", "b")}
    assert [note.code for note in graph.notes] == ["hidden without effects", "hidden root of one hidden"]
    assert "D" in str(graph.notes[0])
    assert "U" in str(graph.notes[1])
    kept = Graph([("U", "F"), ("F", "a"), ("F", "b"), ("x", "a")], hidden=["U", "F"], variances={"F": 1.0})
    assert kept.hidden == ("U", "F")  # the variance of F is said to be 1 without U


def test_values_travel() -> None:
    text = "latent F, G; z -> F; F -> a [1]; F -> {b, c}; F <-> G; G -> {d, e} [l]; variance a [0.5]; intercept F"
    graph = parse_graph(text)
    assert dict(graph.variances) == {"a": 0.5}
    assert dict(graph.intercepts) == {"F": "intercept of F"}
    for made in (
        pickle.loads(pickle.dumps(graph)),
        Graph.from_networkx(graph.to_networkx()),
        parse_graph(format_graph(graph)),
        eval(repr(graph), {"Graph": Graph}),
        graph.with_(),
    ):
        assert made == graph
        assert hash(made) == hash(graph)
    assert graph != graph.with_(variances={}) != graph.with_(intercepts={})
    assert graph.induced([v for v in graph.nodes if v != "z"]).hidden == ("F", "G")


def test_scales() -> None:
    graph = parse_graph("latent F, G, H; z -> {F, G, H}; F -> a [1]; F -> b; G -> {c, d}; H -> {e, f}; variance H [v]")
    assert [scaled_by(graph, v) for v in graph.hidden] == ["a", None, None]
    assert settled(graph) == ({"G": 1.0}, {"F": 0.0, "G": 0.0, "H": 0.0})
    assert dict(graph.opened.variances) == {"G": 1.0}
    assert graph.opened.hidden == ()
    equal = parse_graph("latent F; z -> F; F -> {a, b}; variance a [v]; variance b [v]")
    assert settled(equal)[0] == {"F": 1.0, "a": "v", "b": "v"}


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ({"directed": [("z", "F"), ("F", "z")], "hidden": ["F"]}, "cycle"),
        ({"directed": [("F", "z")], "hidden": ["F"], "variances": {"q": 1.0}}, "no such variable"),
        ({"directed": [("F", "z")], "hidden": ["F"], "variances": {"F": -1.0}}, "negative"),
        ({"directed": [("F", "z")], "hidden": ["F"], "intercepts": {"F": float("nan")}}, "finite number or a label"),
        ({"directed": [("F", "G")], "hidden": ["F", "G"]}, "no observed variable"),
    ],
)
def test_what_is_no_graph(pieces: dict[str, object], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        Graph(**pieces)  # type: ignore[arg-type]


def test_a_hidden_mediator_is_projected() -> None:
    graph = parse_graph("latent M; x -> M -> y; x -> y")
    assert graph.project() == Graph([("x", "y")])
    assert not graph.is_bow_free
    assert graph.hidden == ("M",)
    factor = parse_graph("latent F; z -> F -> {a, b}")
    assert factor.project() == Graph([("z", "a"), ("z", "b")], [("a", "b")])
    assert factor.m_separated("z", "a", "F")
    assert not factor.m_separated("z", "a")
    assert factor.implied_independences() == []


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_separation_is_that_of_random_models(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(6)]
    arrows = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :] if rng.random() < 0.4]
    arcs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :] if rng.random() < 0.15]
    hidden = [v for v in names if rng.random() < 0.3]
    assume(len(hidden) <= 4)
    graph = Graph(arrows, arcs, observed=[v for v in names if v not in hidden], hidden=hidden)
    full = Graph(arrows, arcs, observed=names)
    T, W = np.zeros((6, 6)), np.eye(6) * 4
    for u, v in arrows:
        T[names.index(u), names.index(v)] = rng.uniform(0.3, 1.0) * rng.choice([-1, 1])
    for u, v in arcs:
        i, j = names.index(u), names.index(v)
        W[i, j] = W[j, i] = rng.uniform(0.2, 0.5)
    cov = CGLSCM(tuple(names), T, np.zeros((0, 6)), np.zeros(6), W, (), full).cov
    x, y, *rest = rng.permutation(graph.observed).tolist()
    some = [v for v in rest if rng.random() < 0.5]
    at = [names.index(v) for v in (x, y, *some)]
    inverse = np.linalg.inv(cov[np.ix_(at, at)])
    assert graph.m_separated(x, y, some) == (abs(inverse[0, 1]) < 1e-9)
    assert graph.project().m_separated(x, y, some) == graph.m_separated(x, y, some)


@pytest.mark.parametrize("syntax", ["arrows", "dot"])
def test_every_notation_holds_hidden_variables(syntax: str) -> None:
    graph = parse_graph("latent F, G, U; U -> {x, y}; z -> F; F -> a [1]; F -> b; F <-> G; G -> {c, d}; variance G [2]")
    assert parse_graph(format_graph(graph, syntax)) == graph  # type: ignore[arg-type]


def test_dagitty_holds_hidden_variables_with_what_is_known_of_their_equations() -> None:
    graph = parse_graph("latent F, G; z -> F; F -> a [1]; F -> b; F <-> G; G -> {c, d}")
    assert parse_graph(format_graph(graph, "dagitty")) == graph
    known = graph.with_(variances={"G": 2.0})
    assert known != graph
    assert parse_graph(format_graph(known, "dagitty")) == known
