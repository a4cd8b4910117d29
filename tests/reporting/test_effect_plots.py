"""Pictures of effects: what is drawn is what the answers say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import halftrek as ht
from halftrek.reporting import plot_dose_response, plot_effects, plot_paths
from halftrek.reporting.plots.figures import new_figure
from halftrek.reporting.plots.forest import lines_of
from tests.narrow import interval_of, there

mpl.use("Agg")


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    study = ht.dataset("front_door")
    return ht.fit(study.graph, study.data)


def axes() -> Any:
    return new_figure(6.0, 4.0).axes[0]


def segments(ax: Any) -> list[tuple[float, float]]:
    """Ends of the horizontal lines, from top to bottom."""
    drawn = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in ax.lines]
    level = [(x, y) for x, y in drawn if len(set(y)) == 1 and len(x) == 2]
    return [(x[0], x[1]) for x, _ in sorted(level, key=lambda line: -line[1][0])]


def rectangles(ax: Axes) -> list[Rectangle]:
    """The bars of a picture that has nothing but bars."""
    found = [bar for bar in ax.patches if isinstance(bar, Rectangle)]
    assert len(found) == len(ax.patches) > 0
    return found


def test_a_forest_has_a_line_for_each_effect(fit: ht.Fit) -> None:
    answers = {"all of it": fit.effect("smoking", "cancer_risk"), "one step": fit.effect("smoking", "tar")}
    ax = axes()
    assert plot_effects(answers, ax=ax, title="effects") is ax
    assert [t.get_text() for t in ax.get_yticklabels()] == list(answers)
    assert segments(ax) == [a.interval for a in answers.values()]
    dots = [np.asarray(line.get_xdata())[0] for line in ax.lines if line.get_marker() == "o"]
    assert dots == [a.value for a in answers.values()]
    assert ax.get_title() == "effects"
    labels = plot_effects(list(answers.values()), ax=axes()).get_yticklabels()
    assert [t.get_text() for t in labels] == ["smoking ~> cancer_risk", "smoking ~> tar"]


def test_a_forest_of_a_frame_leaves_out_what_has_no_number() -> None:
    fit = ht.fit("z -> x -> y; x <-> y; a -> b; a <-> b", _rows("z -> x -> y; x <-> y; a -> b; a <-> b"))
    frame = fit.params()
    edges = frame[frame["op"] == "~"]
    labels = [t.get_text() for t in plot_effects(edges, ax=axes()).get_yticklabels()]
    assert labels == ["z -> x", "x -> y"]
    effects = fit.effects()
    shown = [t.get_text() for t in plot_effects(effects, ax=axes()).get_yticklabels()]
    assert len(shown) == int(np.isfinite(effects["est"].astype(float)).sum())
    assert not any(label.startswith("a ") for label in shown)


def _rows(text: str) -> Any:
    from halftrek.simulation import random_model

    return random_model(ht.graph(text), random_state=1).sample(500, random_state=2)


def test_dots_are_full_where_zero_is_outside() -> None:
    frame = {"label": ["clear", "unclear"], "est": [1.0, 0.1], "ci_low": [0.5, -0.2], "ci_high": [1.5, 0.4]}
    dots = [line for line in plot_effects(frame, ax=axes()).lines if line.get_marker() == "o"]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [False, True]


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        ({"label": ["a"], "value": [1.0]}, "needs a column 'ci_low'"),
        ({"label": ["a"], "est": [None], "ci_low": [0], "ci_high": [1]}, "no effect with a number"),
        (3.5, "not float"),
    ],
)
def test_what_is_no_table_of_effects(effects: Any, words: str) -> None:
    with pytest.raises(ht.InputError, match=words):
        plot_effects(effects, ax=axes())


def test_paths_add_up_to_the_total() -> None:
    frame = {"path": ["x -> y", "x -> m -> y", "x -> k -> y"], "est": [0.5, 0.3, -0.2]}
    ax = axes()
    assert plot_paths(frame, ax=ax) is ax
    bars = [(bar.get_x(), bar.get_width()) for bar in rectangles(ax)]
    assert bars == [pytest.approx(b) for b in [(0.0, 0.5), (0.5, 0.3), (0.8, -0.2), (0.0, 0.6)]]
    labels = [t.get_text() for t in ax.get_yticklabels()]
    assert labels == ["x -> y\n0.5 (83%)", "x -> m -> y\n0.3 (50%)", "x -> k -> y\n−0.2 (−33%)", "total\n0.6"]


def test_paths_of_a_decomposition_of_a_fit() -> None:
    study = ht.dataset("tal_or")
    parts = ht.fit(study.graph, study.data).decompose("cond", "reaction")
    ax = plot_paths(parts, ax=axes())
    assert sorted(bar.get_width() for bar in rectangles(ax)) == pytest.approx(
        sorted([*(r.est for r in parts.rows), parts.total.est])
    )
    same = plot_paths(parts.frame(), ax=axes())
    assert [t.get_text() for t in same.get_yticklabels()] == [t.get_text() for t in ax.get_yticklabels()]
    empty = SimpleNamespace(rows=(), total=parts.total)
    with pytest.raises(ht.InputError, match="no path with a number"):
        plot_paths(empty, ax=axes())


def regression(rows: Any, doses: list[float]) -> list[float]:
    """Of the last column on the first, of rows that have both."""
    x, y = np.asarray(rows)[:, [0, -1]].T
    known = ~np.isnan(x + y)
    slope, start = np.polyfit(x[known], y[known], 1)
    return [start + slope * dose for dose in doses]


@pytest.mark.parametrize("holes", [False, True])
def test_what_is_seen_is_of_the_rows_and_not_of_the_model(holes: bool) -> None:
    """A graph that forgets an arrow: the model's line would be flatter than that of the rows."""
    rows = np.array(_rows("x -> m; m -> y; x -> y"))
    if holes:
        rows[:100, 0] = rows[50:200, 1] = np.nan
    fit = ht.fit("x -> m -> y", rows, names=["x", "m", "y"])
    ax = plot_dose_response(fit, "x", "y", values=[-1.0, 1.0], ax=axes())
    _, seen, means = ax.lines
    expected = regression(rows, [-1.0, 1.0])
    assert list(np.asarray(seen.get_ydata())) == pytest.approx(expected)
    model = [fit.model.joint.given({"x": dose}).marginal("y").mean[0] for dose in (-1.0, 1.0)]
    assert abs(np.diff(model)[0] - np.diff(expected)[0]) > 0.1
    known = ~np.isnan(rows[:, 0] + rows[:, 2])
    x, y = rows[known][:, [0, 2]].T
    near = [y[np.abs(x - dose) < 0.1].mean() for dose in np.asarray(means.get_xdata())]
    assert list(np.asarray(means.get_ydata())) == pytest.approx(near, abs=0.5)
    labels = [t.get_text() for t in there(ax.get_legend()).get_texts()]
    assert labels[2:] == ["as seen: regression of the rows", "as seen: means of groups of rows"]
    bare = plot_dose_response(ht.fit("x -> m -> y", ht.moments(rows[~np.isnan(rows).any(axis=1)], ["x", "m", "y"])),
                              "x", "y", ax=axes())  # fmt: skip
    assert len(bare.lines) == 2  # no rows, no means of them


def test_what_is_seen_given_other_variables() -> None:
    rows = np.array(_rows("z -> x; x -> y; z -> y"))
    fit = ht.fit("z -> x; x -> y; z -> y", rows, names=["z", "x", "y"])
    ax = plot_dose_response(fit, "x", "y", values=[0.0, 2.0], given={"z": 1.0}, ax=axes())
    _, seen = ax.lines
    b = np.linalg.lstsq(np.stack([np.ones(500), rows[:, 1], rows[:, 0]], axis=1), rows[:, 2], rcond=None)[0]
    assert list(np.asarray(seen.get_ydata())) == pytest.approx([b @ [1.0, dose, 1.0] for dose in (0.0, 2.0)])


def test_where_no_row_has_both_nothing_is_seen() -> None:
    rows = np.array(_rows("x -> m; m -> y"))
    rows[:250, 0] = rows[250:, 2] = np.nan
    fit = ht.fit("x -> m -> y", rows, names=["x", "m", "y"])
    assert len(plot_dose_response(fit, "x", "y", ax=axes()).lines) == 1


def test_the_dose_response_is_the_answers_and_their_intervals(fit: ht.Fit) -> None:
    doses = [-1.0, 0.0, 2.0]
    ax = plot_dose_response(fit, "smoking", "cancer_risk", values=doses, level=0.9, ax=axes())
    answers = [fit.query(f"P(cancer_risk | do(smoking={x}))", level=0.9) for x in doses]
    done, seen, means = ax.lines
    assert list(np.asarray(done.get_ydata())) == [a.mean for a in answers]
    corners = {
        (round(float(x), 9), round(float(y), 9)) for x, y in np.asarray(ax.collections[0].get_paths()[0].vertices)
    }
    for x, answer in zip(doses, answers, strict=True):
        assert {(x, round(end, 9)) for end in interval_of(answer)} <= corners
    assert list(np.asarray(seen.get_ydata())) == pytest.approx(regression(there(fit.rows).source, doses))
    assert means.get_linestyle() == "None"
    assert ax.get_xlabel() == "smoking"
    assert "90% interval" in [t.get_text() for t in there(ax.get_legend()).get_texts()]
    alone = plot_dose_response(fit, "smoking", "cancer_risk", seen=False, given={}, ax=axes())
    assert len(alone.lines) == 1
    assert alone.get_xlim()[0] == pytest.approx(fit.moments.mean[0] - 2 * np.sqrt(fit.moments.cov[0, 0]))


def test_a_dose_response_that_is_not_identified_is_not_drawn() -> None:
    fit = ht.fit("x -> y; x <-> y", _rows("x -> y; x <-> y"))
    with pytest.raises(ht.NotIdentifiedError):
        plot_dose_response(fit, "x", "y", ax=axes())
    with pytest.raises(ht.GraphError, match="no observed variable 'w'"):
        plot_dose_response(fit, "w", "y", ax=axes())
    with pytest.raises(ht.InputError, match="at least two"):
        plot_dose_response(fit, "x", "y", values=[1.0], ax=axes())


LONG = "a very long label of an effect that somebody wrote in full words for a paper"


@pytest.mark.parametrize("draw", ["effects", "paths"])
@pytest.mark.parametrize("layout", [None, "constrained"])
def test_long_labels_stay_in_their_panel(draw: str, layout: Any) -> None:
    figure = Figure(figsize=(8.0, 2.6), layout=layout)
    panels = figure.subplots(1, 2)
    frame = {"path": [LONG, "x -> y"], "est": [0.4, 0.2], "ci_low": [0.1, 0.1], "ci_high": [0.8, 0.3]}
    for ax in panels:
        plot_effects(frame, ax=ax) if draw == "effects" else plot_paths(frame, ax=ax)
    figure.draw_without_rendering()
    left, right = panels
    for ax, edge in ((left, 0.0), (right, left.get_window_extent().x1)):
        assert next(label.get_text().replace("\n", " ") for label in ax.get_yticklabels()).startswith(LONG)
        for label in ax.get_yticklabels():
            assert label.get_window_extent().x0 >= edge
        assert ax.get_window_extent().width > 60.0  # pixels: there is room left for the intervals


def test_short_labels_leave_given_axes_where_they_are() -> None:
    figure = Figure(figsize=(8.0, 2.6))
    ax = figure.subplots()
    before = ax.get_position().bounds
    plot_effects({"path": ["x"], "est": [0.4], "ci_low": [0.1], "ci_high": [0.8]}, ax=ax)
    assert ax.get_position().bounds == before


def test_a_cause_of_two_values_gets_two_points_and_no_line() -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 400).astype(float)
    rows = pd.DataFrame({"x": x, "y": 1.0 + 0.5 * x + rng.normal(size=400)})
    fit = ht.fit("x -> y", rows)
    ax = plot_dose_response(fit, "x", "y", ax=axes())
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1"]
    assert ax.get_xlim() == (-0.5, 1.5)
    assert not ax.collections  # no band
    for line in ax.lines:
        places = set(np.asarray(line.get_xdata(), dtype=float))
        assert places <= {0.0, 1.0}
        assert len(places) == 1 or line.get_linestyle() in ("None", "none", "")
    (doses,) = [line for line in ax.lines if line.get_label() == "x set by intervention"]
    assert list(np.asarray(doses.get_ydata())) == pytest.approx([fit.query(f"E[y | do(x={k})]").value for k in (0, 1)])
    whiskers = [line for line in ax.lines if line.get_linewidth() == 5.0]
    for k, whisker in enumerate(whiskers):
        assert tuple(np.asarray(whisker.get_ydata())) == pytest.approx(fit.query(f"P(y | do(x={k}))").interval)
    (seen,) = [line for line in ax.lines if str(line.get_label()).startswith("as seen")]
    assert list(np.asarray(seen.get_ydata())) == pytest.approx([rows["y"][x == k].mean() for k in (0.0, 1.0)])
    drawn = plot_dose_response(fit, "x", "y", values=[0.0, 0.5, 1.0], ax=axes())
    assert drawn.collections  # a line where values are asked for


def test_results_that_hold_effects_are_drawn_as_they_are() -> None:
    study = ht.dataset("tal_or")
    mediated = ht.fit(study.graph, study.data)
    card = ht.dataset("mroz")
    schooling = ht.fit(card.graph, card.data)
    mediation, paths = mediated.mediation("cond", "reaction"), mediated.decompose("cond", "reaction")
    tools = schooling.instruments("educ ~> lwage")
    total = mediated.effect("cond", "reaction")
    assert [(label, value) for label, value, *_ in lines_of(mediation)] == [(r.kind, r.est) for r in mediation.rows]
    assert [line[1] for line in lines_of(paths)] == [*(r.est for r in paths.rows), paths.total.est]
    assert [label for label, *_ in lines_of(tools)] == ["regression", "2SLS by fatheduc", "LIML by fatheduc"]
    assert lines_of(tools)[1][1:] == (tools.sets[0].tsls.value, *tools.sets[0].tsls.interval)
    assert [line[0] for line in lines_of(ht.table({"all": total}))] == ["all"]
    assert lines_of(ht.table([total])) == lines_of(total) == lines_of([total])
    assert plot_effects(mediation, ax=axes()).get_yticklabels()[0].get_text() == "total"


def test_an_interval_without_an_end_has_an_arrow_there() -> None:
    frame = {"label": ["weak", "strong"], "est": [1.0, 2.0], "ci_low": [-np.inf, 1.0], "ci_high": [4.0, 3.0]}
    drawn = plot_effects(frame, ax=axes()).lines
    (arrow,) = [line for line in drawn if line.get_marker() in ("<", ">")]
    (end,), (place,) = np.asarray(arrow.get_xdata()), np.asarray(arrow.get_ydata())
    assert (arrow.get_marker(), place) == ("<", 1)
    assert end < 0.0
    assert segments(SimpleNamespace(lines=drawn)) == [(end, 4.0), (1.0, 3.0)]


def test_a_forest_of_groups_is_labelled_by_them() -> None:
    x = np.random.default_rng(1).normal(size=200)
    labelled = pd.DataFrame({"x": x, "y": 0.5 * x + np.sin(np.arange(200.0))}).assign(
        site=["a", "b"] * 100, sex=["f", "f", "m", "m"] * 50
    )
    one = ht.fit("x -> y", labelled, by="site").effect("x", "y")
    assert [line[0] for line in lines_of(one)] == ["a", "b"]
    both = ht.fit("x -> y", labelled, by=["site", "sex"]).effect("x", "y")
    assert [line[0] for line in lines_of(both)] == ["a, f", "a, m", "b, f", "b, m"]
    assert [line[1] for line in lines_of(both)] == list(both["estimate"])


def test_more_lines_than_a_picture_has_room_for_are_refused() -> None:
    many = {"cause": ["x"] * 1001, "effect": ["y"] * 1001, "est": [1.0] * 1001, "ci_low": [0.0] * 1001}
    with pytest.raises(ht.InputError, match="1,001 effects do not fit into one picture, which has room for 1,000"):
        ht.plot.effects({**many, "ci_high": [2.0] * 1001})
    tests = {"constraint": ["x _||_ y"] * 1001, "p": [0.5] * 1001}
    with pytest.raises(ht.InputError, match="1,001 constraints do not fit"):
        ht.plot.constraints(tests)
