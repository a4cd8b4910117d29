"""Pictures: what is drawn, on which axes, and how they get into files."""

from __future__ import annotations

import stat
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.patches import StepPatch
from numpy.typing import ArrayLike

from halftrek.bottom.files import output_folder, whole_file
from halftrek.data import histogram_of
from halftrek.errors import InputError, MissingExtraError, OutputError
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, Gaussian
from halftrek.reporting import draw_graph, plot_densities, save
from halftrek.reporting.plots.figures import new_figure
from halftrek.reporting.plots.graph import edge_weights
from tests.narrow import there

mpl.use("Agg")

GRAPH = Graph([("x", "m"), ("m", "y")], [("x", "m")], {"U": ["x", "y"]})
MODEL = CGLSCM.from_parameters(
    names=["x", "m", "y"],
    T=[[0, 0.5, 0], [0, 0, -2.0], [0.0, 0.0, 0.0]],
    C=[[1.5, 0, 0.25]],
    latents=["U"],
    omega={("x", "m"): 0.125},
    graph=GRAPH,
)


def test_edge_weights_come_from_the_right_matrix() -> None:
    assert edge_weights(GRAPH, MODEL) == {
        ("x", "->", "m"): 0.5,
        ("m", "->", "y"): -2.0,
        ("U", "->", "x"): 1.5,
        ("U", "->", "y"): 0.25,
        ("x", "<->", "m"): 0.125,
    }


def test_graph_shows_every_name_and_weight_on_the_given_axes() -> None:
    ax = new_figure(5.0, 3.0).axes[0]
    assert draw_graph(GRAPH, MODEL, ax=ax, cause="x", effect="y", digits=3) is ax
    shown = {text.get_text() for text in ax.texts}
    assert shown == {"x", "m", "y", "U", "0.500", "−2.000", "1.500", "0.250", "0.125"}


def test_loadings_may_be_left_out() -> None:
    ax = draw_graph(GRAPH, MODEL, ax=new_figure(5.0, 3.0).axes[0], loadings=False)
    assert {text.get_text() for text in ax.texts} == {"x", "m", "y", "U", "0.50", "−2.00", "0.12"}


def test_graph_alone_has_names_only_and_makes_its_own_axes() -> None:
    import matplotlib.pyplot as plt

    ax = draw_graph(GRAPH)
    assert {text.get_text() for text in ax.texts} == {"x", "m", "y", "U"}
    plt.close("all")


def test_names_are_shown_as_they_are_written() -> None:
    graph = Graph([("cost$", "a_b$")])
    figure = new_figure(4.0, 2.0)
    draw_graph(graph, ax=figure.axes[0])
    figure.canvas.draw()  # names with dollars are no formulas
    assert {text.get_text() for text in figure.axes[0].texts} == {"cost$", "a_b$"}


def test_labels_lie_inside_their_nodes() -> None:
    graph = Graph([("a_rather_long_name", "another_long_name"), ("another_long_name", "x")])
    figure = new_figure(7.0, 3.0)
    ax = draw_graph(graph, ax=figure.axes[0])
    figure.canvas.draw()
    nodes = [p for p in ax.patches if type(p).__name__ == "Polygon"]
    assert len(nodes) == 3
    for text in ax.texts:
        inner = text.get_window_extent()
        assert any(
            box.x0 <= inner.x0 and inner.x1 <= box.x1 and box.y0 <= inner.y0 and inner.y1 <= box.y1
            for box in (node.get_window_extent() for node in nodes)
        ), text.get_text()


def gaussian(names: tuple[str, ...], mean: list[float], cov: ArrayLike) -> Gaussian:
    return Gaussian(names, np.array(mean), np.array(cov))


def test_densities_are_normal_curves() -> None:
    ax = new_figure(5.0, 3.0).axes[0]
    seen, done = gaussian(("y",), [1.0], [[4.0]]), gaussian(("y",), [0.0], [[0.25]])
    assert plot_densities({"seen": seen, "done": done}, ax=ax, title="y") is ax
    for line, mean, sd in zip(ax.lines, (1.0, 0.0), (2.0, 0.5), strict=True):
        x, height = (np.asarray(values) for values in line.get_data())
        inside = (x > mean - 3.5 * sd) & (x < mean + 3.5 * sd)
        area = float(np.sum(height[inside]) * (x[1] - x[0]))
        assert area == pytest.approx(0.9995, abs=2e-3)
        assert np.max(height) == pytest.approx(1 / (sd * np.sqrt(2 * np.pi)), rel=1e-3)
        assert x[np.argmax(height)] == pytest.approx(mean, abs=0.03)
    assert [t.get_text() for t in there(ax.get_legend()).get_texts()] == ["seen", "done"]
    assert ax.get_xlabel() == "y"


def test_rows_are_bars() -> None:
    rows = np.random.default_rng(1).normal(size=400)
    ax = new_figure(5.0, 3.0).axes[0]
    plot_densities({"rows": rows, "y set": gaussian(("y",), [0.0], [[1.0]]), "bars": histogram_of(rows, "y")}, ax=ax)
    assert ax.get_xlabel() == "y"
    outlines = [p for p in ax.patches if isinstance(p, StepPatch)]
    assert len(outlines) == 4  # filled and drawn around, twice
    values, edges, _ = outlines[0].get_data()
    assert float((values * np.diff(edges)).sum()) == pytest.approx(1.0)
    assert [t.get_text() for t in there(ax.get_legend()).get_texts()] == ["rows", "y set", "bars"]
    assert plot_densities({"rows": rows}, ax=new_figure(5.0, 3.0).axes[0]).get_xlabel() == ""


def test_names_and_legends_are_shown_as_they_are_written() -> None:
    figure = new_figure(4.0, 3.0)
    plot_densities({"cost$ as $seen": gaussian(("a_b$",), [0.0], [[1.0]])}, ax=figure.axes[0])
    figure.canvas.draw()  # dollars are no formulas
    assert figure.axes[0].get_xlabel() == "a_b$"


def test_a_held_variable_is_a_line() -> None:
    ax = plot_densities({"held": gaussian(("y",), [2.0], [[0.0]])}, ax=new_figure(4.0, 3.0).axes[0])
    assert list(np.asarray(ax.lines[0].get_xdata())) == [2.0, 2.0]


@pytest.mark.parametrize(
    ("densities", "words"),
    [
        ({}, "at least one"),
        ({"both": gaussian(("a", "b"), [0.0, 0.0], np.eye(2))}, "marginal"),
        ({"a": gaussian(("a",), [0.0], [[1.0]]), "b": gaussian(("b",), [0.0], [[1.0]])}, "different variables: a, b"),
        ({"a": gaussian(("a",), [0.0], [[1.0]]), "b": histogram_of([1.0, 2.0], "b")}, "different variables: a, b"),
        ({"text": "no numbers"}, "'text' is neither a distribution nor the values of rows; give an answer"),
        ({"nothing": []}, "'nothing' is neither .* at least one"),
    ],
)
def test_densities_that_do_not_belong_together(densities: dict[str, Gaussian], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plot_densities(densities)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"halftrek\[plot\]"):
        new_figure(1.0, 1.0)


def test_save_writes_the_format_of_the_name(tmp_path: Path) -> None:
    figure = new_figure(2.0, 2.0)
    assert save(figure, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert save(figure, str(tmp_path / "b.SVG")).read_text().startswith("<?xml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "b.SVG"]


def test_save_refuses_what_it_cannot_write(tmp_path: Path) -> None:
    figure = new_figure(2.0, 2.0)
    with pytest.raises(OutputError, match="end the name with one of"):
        save(figure, tmp_path / "a.xyz")
    with pytest.raises(OutputError, match="there is no folder"):
        save(figure, tmp_path / "no" / "a.png")
    (tmp_path / "dir.png").mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        save(figure, tmp_path / "dir.png")


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("old")

    def fail() -> None:
        with whole_file(kept, overwrite=True) as unfinished:
            unfinished.write_text("half of the n")
            raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match=r"No space left on device. Choose another place"):
        fail()
    assert kept.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


def test_results_can_be_read_by_others(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain.txt", tmp_path / "ours.txt"
    plain.write_text("")
    with whole_file(ours) as unfinished:
        unfinished.write_text("")
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_output_folder_is_made_or_the_obstacle_named(tmp_path: Path) -> None:
    assert output_folder(tmp_path / "a" / "b").is_dir()
    assert output_folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Choose another place"):
        output_folder(tmp_path / "file" / "c")
