"""The graph in all its renderings: matplotlib, SVG, TikZ; what is not identified never has a number."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

import halftrek as ht
from halftrek.reporting import draw_graph, graph_svg, to_tikz
from halftrek.reporting.plots.curves import curve, distance, node_width
from halftrek.reporting.plots.drawing import determined, label_reach, make_drawing, uncovered
from halftrek.reporting.plots.figures import GREY, new_figure
from halftrek.reporting.plots.layout import lay_out
from halftrek.simulation import random_graph, random_model

mpl.use("Agg")
TWO = ht.graph("z -> x -> y; x <-> y; a -> b; a <-> b; latent U; U -> {a, z}")


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    bow = ht.graph("z -> x -> y; x <-> y; a -> b; a <-> b")
    return ht.fit(bow, random_model(bow, random_state=1).sample(800, random_state=2))


def test_what_data_do_not_determine_has_a_question_mark(fit: ht.Fit) -> None:
    known = determined(fit)
    assert [edge for edge, is_known in known.items() if not is_known] == [("a", "->", "b"), ("a", "<->", "b")]
    ax = draw_graph(fit, ax=new_figure(6.0, 4.0).axes[0])
    labels = [t for t in ax.texts if t.get_text() not in fit.graph.observed]
    assert sum(t.get_text() == "?" for t in labels) == 2
    assert len(labels) == 5
    assert all((t.get_color() == GREY) == (t.get_text() == "?") for t in labels)
    assert graph_svg(fit).count(">?</text>") == 2
    assert to_tikz(fit).count("{$?$}") == 2


def test_the_graph_alone_can_tell_or_be_told() -> None:
    auto = {s.edge: s.known for s in make_drawing(TWO, identified="auto").strokes}
    given = make_drawing(TWO, identified={"a -> b": False, "y <-> x": False}).strokes
    for edge, is_known in auto.items():
        if edge[0] not in TWO.latents:
            assert is_known == ht.identify(TWO, " ".join(edge)).identified
    assert [s.edge for s in given if not s.known] == [("a", "->", "b"), ("x", "<->", "y")]
    with pytest.raises(ht.GraphError, match="names the edge 'b -> a'"):
        make_drawing(TWO, identified={"b -> a": True})


def test_fixed_weights_are_known() -> None:
    graph = ht.graph("x -> y [0.5]; x <-> y")
    fit = ht.fit(graph, random_model(ht.graph("x -> y"), random_state=1).sample(200, random_state=1))
    assert determined(fit) == {("x", "->", "y"): True, ("x", "<->", "y"): True}


def test_a_crowd_of_roots_is_a_star() -> None:
    card = ht.dataset("card")
    drawing = make_drawing(card.graph)
    assert len(drawing.strokes) == 15 + 30 + 1  # star, arrows (one root acts on one variable alone), the arc
    assert [n.name for n in drawing.nodes if not n.hub] == list(card.graph.observed)
    assert sum(n.hub for n in drawing.nodes) == 1
    few = ht.Graph([("a", "y")], list(itertools.combinations("abcd", 2)))
    assert not any(n.hub for n in make_drawing(few).nodes)


def test_svg_is_xml_with_every_name_and_line() -> None:
    graph = ht.Graph([("a<b", "c&d")], [("a<b", "c&d")], {"U": ["a<b"]})
    root = ElementTree.fromstring(graph_svg(graph, cause="a<b"))
    space = "{http://www.w3.org/2000/svg}"
    assert {t.text for t in root.iter(f"{space}text")} == {"a<b", "c&d", "U"}
    assert len(list(root.iter(f"{space}polyline"))) == 3
    assert len(list(root.iter(f"{space}polygon"))) == 4  # heads: one, two, one
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for box in root.iter(f"{space}rect"):
        x, y = float(box.attrib["x"]), float(box.attrib["y"])
        assert 0 <= x <= width - float(box.attrib["width"])
        assert 0 <= y <= height - float(box.attrib["height"])


def test_tikz_names_every_node_once_and_joins_them() -> None:
    text = to_tikz(ht.Graph([("a_b", "50%")], [("a_b", "50%")], {"U": ["a_b"]}), cause="a_b", effect="50%")
    assert text.startswith("\\begin{tikzpicture}[\n")
    assert text.rstrip().endswith("\\end{tikzpicture}")
    assert re.findall(r"\\node\[(\w+),.*\{(.*)\};", text) == [("cause", "a\\_b"), ("effect", "50\\%"), ("hidden", "U")]
    assert len(re.findall(r"\\draw\[(arrow|shared|covary)\]", text)) == 3
    assert text.count("{") == text.count("}")
    assert ht.graph("x -> y").to_tikz() == to_tikz(ht.graph("x -> y"))
    assert "\\draw[arrow] (n1) -- (n2);" in ht.graph("x -> y").to_tikz()
    model = ht.catalog("smoking").model
    assert "{$-" in to_tikz(model.graph, ht.CGLSCM(model.names, -model.T, model.C, model.mu, model.W, model.latents))


def test_thirty_nodes_have_hardly_an_edge_through_a_node() -> None:
    """Of about 560 edges; each of them has 28 nodes to avoid."""
    touched = 0
    for seed in range(12):
        graph = random_graph(30, n_edges=40, n_bidirected=4, n_latents=1, latent_children=3, random_state=seed)
        widths = {v: node_width(v) for v in (*graph.observed, *graph.latents)}
        layout = lay_out(graph, {v: max(1.0, w) for v, w in widths.items()})
        for (u, _, v), route in layout.routes.items():
            line = curve(route)
            touched += sum(
                bool((distance(line, layout.nodes[w], widths[w]) < 0).any()) for w in layout.nodes if w not in (u, v)
            )
    assert touched <= 6


def test_a_factor_stays_near_its_other_children() -> None:
    layout = lay_out(ht.graph("x -> m -> y; latent F; F -> {m, c, d}"))
    heights = [y for _, y in layout.nodes.values()]
    assert max(heights) - min(heights) < 1.6 * (len(heights) - 1)


@pytest.mark.parametrize("name", ht.catalog())
def test_no_edge_is_hidden_under_weights(name: str) -> None:
    """What weights cover of an edge, their own or others', leaves a head and some line to be seen."""
    entry = ht.catalog(name)
    drawing = make_drawing(entry.graph, entry.model)
    assert drawing.labels
    for stroke in drawing.strokes:
        middles = (stroke.line[1:] + stroke.line[:-1]) / 2
        steps = np.linalg.norm(np.diff(stroke.line, axis=0), axis=1)
        seen = np.ones(len(steps), dtype=bool)
        for label in drawing.labels:
            width, height = label_reach(label.text)
            seen &= ~((np.abs(middles[:, 0] - label.x) < width) & (np.abs(middles[:, 1] - label.y) < height))
        assert steps[seen].sum() > min(0.6, 0.6 * steps.sum()), stroke.edge


def test_the_weight_of_a_short_edge_stands_beside_it() -> None:
    graph = ht.graph("a -> b")
    drawing = make_drawing(graph, random_model(graph, random_state=1))
    (label,), (stroke,) = drawing.labels, drawing.strokes
    assert uncovered(stroke.line, (label.x, label.y), label.text) == pytest.approx(
        float(np.linalg.norm(np.diff(stroke.line, axis=0), axis=1).sum())
    )
    left, right, bottom, top = drawing.box
    width, height = label_reach(label.text)
    assert left <= label.x - width
    assert label.x + width <= right
    assert bottom <= label.y - height
    assert label.y + height <= top
