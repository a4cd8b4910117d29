"""Curves and contours against formulas and refits, with everything that rows may have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.graphs import Edge
from halftrek.partial import Contours, Sensitivity, plot_sensitivity, sensitivity
from halftrek.partial.fibre import fibre_of
from halftrek.partial.varied.engine.edges import relaxed
from halftrek.queries.evaluate import values_of
from halftrek.simulation import random_graph, random_model
from halftrek.upward import graph_line
from tests.partial.varied.oracles import FRONT_DOOR, exact, refitted, with_held

MODEL = ht.CGLSCM.from_parameters(
    names=["x", "m", "y"],
    T=[[0.0, 1.6, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]],
    omega={("x", "y"): 0.4},
    graph=ht.graph(FRONT_DOOR),
)


def one(found: Sensitivity | Contours) -> Sensitivity:
    assert isinstance(found, Sensitivity)
    return found


def sample(n: int = 500) -> dict[str, Any]:
    rows = MODEL.sample(n, random_state=1)
    return {name: rows[:, k].copy() for k, name in enumerate(MODEL.names)}


def through(cov: Any, a: Any) -> Any:
    """The front door with a weight x -> m: ``a (s_my - a s_xy) / (s_mm - a s_xm)``."""
    return a * (cov[1, 2] - a * cov[0, 2]) / (cov[1, 1] - a * cov[0, 1])


def test_a_pole_is_a_gap() -> None:
    """With x -> m of 1.6 the answer runs off where the errors of x and m have a covariance of about -0.6."""
    fit = ht.fit(FRONT_DOOR, sample())
    found = one(fit.sensitivity("x ~> y", "x <-> m"))
    cov = fit.model.cov
    pole = cov[0, 1] - cov[0, 0] * cov[1, 1] / cov[0, 1]
    assert found.poles == pytest.approx((pole,), abs=1e-4)
    gap = np.isnan(found.estimates)
    assert found.values[gap] == pytest.approx(found.poles)
    assert gap.sum() == 1
    a = (cov[0, 1] - found.values[~gap]) / cov[0, 0]
    np.testing.assert_allclose(found.estimates[~gap], through(cov, a), rtol=1e-8)
    signs = np.sign(found.estimates)
    at = int(np.flatnonzero(gap)[0])
    assert signs[at - 1] == -signs[at + 1]
    assert found.zero is not None
    assert found.zero > found.poles[0]  # the change of sign at the pole is no zero
    assert through(cov, (cov[0, 1] - found.zero) / cov[0, 0]) == pytest.approx(0.0, abs=1e-9)
    assert {"a pole", "covariance stays"} <= {n.code for n in found.notes}


def test_the_old_call_has_no_trouble_with_a_pole() -> None:
    found = sensitivity(FRONT_DOOR, sample(), "x ~> y", arc=("x", "m"))
    assert found.arc == ("x", "m")
    assert np.isnan(found.estimates).sum() == 1
    assert found.covariance is found.values


@pytest.mark.parametrize("edge", ["x <-> m", "m <-> y", "x -> y"])
def test_intervals_are_those_of_a_fit_with_the_edge_held(edge: str) -> None:
    fit = ht.fit(FRONT_DOOR, cov=MODEL.cov, names=list(MODEL.names), n=300)
    found = one(fit.sensitivity("x ~> y", edge, values=[-0.1, 0.0, 0.15]))
    for value, estimate, interval in zip(found.values, found.estimates, found.intervals, strict=True):
        there = refitted(fit, edge, float(value)).query("x ~> y")
        assert estimate == pytest.approx(there.value, abs=1e-7)
        assert there.interval is not None
        assert interval == pytest.approx(np.asarray(there.interval), abs=1e-5)
    middle = np.asarray(fit.query("x ~> y").interval)
    assert found.intervals[1] == pytest.approx(middle, abs=1e-7)


def test_instruments_are_no_stronger_with_an_edge_held() -> None:
    """Where nothing is held away from zero the interval is that of the answer, from the likelihood here."""
    study = ht.dataset("mroz")
    fit = ht.fit(study.graph, study.data)
    found = one(fit.sensitivity("educ -> lwage", "fatheduc <-> lwage", values=[0.0, 0.1]))
    assert found.intervals[0] == pytest.approx(np.asarray(fit.query("educ -> lwage").interval), abs=1e-6)
    assert "profile preferred" in {n.code for n in found.notes}


def test_an_edge_that_data_tell_is_refitted() -> None:
    fit = ht.fit("x -> m -> y", sample())
    found = one(fit.sensitivity("x ~> y", "x <-> y", values=[-0.2, 0.0, 0.2]))
    assert next(n.code for n in found.notes) == "each value refitted"
    for value, estimate in zip(found.values, found.estimates, strict=True):
        assert estimate == pytest.approx(refitted(fit, "x <-> y", float(value)).query("x ~> y").value, abs=1e-7)
    weight = one(fit.sensitivity("x ~> y", "x -> m", values=[0.0, 1.0]))  # one that the graph has
    assert weight.estimates[0] == 0.0
    assert weight.estimates[1] == pytest.approx(fit.query("m -> y").value, rel=1e-6)


@pytest.mark.parametrize("kind", ["clusters", "counted", "sampling", "missing"])
def test_rows_of_every_kind(kind: str) -> None:
    """Estimates are on the fitted covariance, intervals those of the same rows with the edge held."""
    data = sample()
    n = len(data["x"])
    options: dict[str, dict[str, Any]] = {
        "clusters": {"cluster": np.repeat(np.arange(n // 5), 5)},
        "counted": {"weights": 1.0 + np.arange(n) % 3},
        "sampling": {"sampling_weights": 1.0 + np.arange(n) % 3},
        "missing": {},
    }
    told = options[kind]
    if kind == "missing":
        data["m"] = np.where(data["x"] > 0.7, np.nan, data["m"])
    fit = ht.fit(FRONT_DOOR, data, **told)
    found = one(fit.sensitivity("x ~> y", "x <-> m", values=[-0.2, 0.0, 0.3]))
    cov = fit.model.cov
    np.testing.assert_allclose(found.estimates, through(cov, (cov[0, 1] - found.values) / cov[0, 0]), rtol=1e-7)
    for k, value in enumerate(found.values):
        held = with_held(fit.graph, Edge.read("x <-> m"), float(value))
        there = ht.fit(held, data, **told).query("x ~> y")
        assert found.estimates[k] == pytest.approx(there.value, rel=1e-3)
        assert found.intervals[k] == pytest.approx(np.asarray(there.interval), rel=5e-3)


def test_missing_values_far_from_zero() -> None:
    """x is missing where y is large, and the covariance of the errors is large: still the formula of the bow."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = x + rng.normal(size=400)
    data = {"x": np.where(y > 0.0, np.nan, x), "y": y}
    fit = ht.fit("x -> y", data)
    found = one(fit.sensitivity("x -> y", "x <-> y", values=[-5.0, -1.0, 0.0, 1.0, 5.0]))
    (xx, xy), _ = fit.model.cov
    np.testing.assert_allclose(found.estimates, (xy - found.values) / xx, rtol=1e-9)
    old = sensitivity("x -> y", data, "x -> y", arc=("x", "y"), values=[-5.0, 5.0])
    np.testing.assert_allclose(old.estimates, found.estimates[[0, -1]], rtol=1e-12)


def test_a_question_that_the_arc_keeps_from_being_known() -> None:
    """In the bow the answer is known once the arc is held, whatever the fit took for it."""
    fit = ht.fit("x -> y; x <-> y", cov=np.array([[1.5, 0.9], [0.9, 2.0]]), names=["x", "y"], n=100)
    found = one(fit.sensitivity("x -> y", "x <-> y", values=[-0.4, 0.0, 0.9]))
    np.testing.assert_allclose(found.estimates, (0.9 - found.values) / 1.5, atol=1e-10)
    with pytest.raises(ht.NotIdentifiedError):
        ht.fit("x -> y; x <-> y; z -> y; z <-> y", cov=np.eye(3) + 0.2, names=["x", "y", "z"], n=100).sensitivity(
            "x -> y", "z <-> y"
        )


def test_random_graphs_against_the_fibre_in_free_weights() -> None:
    """Another way to the same models: all of the covariance, as a function of free weights (``fibre_of``)."""
    values, compared = np.array([-0.3, 0.0, 0.2]), 0
    for seed in range(16):
        graph = random_graph(5, n_edges=6, n_bidirected=2, random_state=seed)
        fit = exact(graph_line(graph), seed)
        for question in [f"{u} ~> {v}" for u, v in graph.directed if ht.identify(graph, f"{u} ~> {v}").identified][:2]:
            for row in [row for row in fit.assumptions(question).carrying if " -> " in row.edge][:2]:
                wider = relaxed(graph, (Edge.read(row.edge),))
                fibre = fibre_of(wider, fit.model.cov, names=fit.model.names, prefer=(row.edge,))
                if [str(c) for c in fibre.plan.coordinates] != [row.edge] or fibre.left:
                    continue  # it has other coordinates, or equations that are not solved
                there = values_of(ht.parse_question(question), fibre.at(values[:, None]))[0][:, 0]
                found = one(fit.sensitivity(question, row.edge, values=values.tolist()))
                np.testing.assert_allclose(found.estimates, there, rtol=1e-6, atol=1e-9)
                compared += 1
    assert compared >= 3


def test_hidden_causes_with_loadings() -> None:
    """U -> {a, b, c, d}: an arc between two indicators is told by data, one to a further effect is not."""
    fit = exact("latent U; U -> {a, b, c, d}; a -> y", seed=2)
    found = one(fit.sensitivity("a -> y", "a <-> b", values=[-0.02, 0.0, 0.02]))
    for value, estimate in zip(found.values, found.estimates, strict=True):
        assert estimate == pytest.approx(refitted(fit, "a <-> b", float(value)).query("a -> y").value, abs=1e-5)


def test_contours() -> None:
    fit = ht.fit(FRONT_DOOR, cov=MODEL.cov, names=list(MODEL.names), n=300)
    values = ([-0.2, 0.0, 0.2], [-0.1, 0.0, 0.3])
    found = fit.sensitivity("x ~> y", ["x <-> m", "m <-> y"], values=values, intervals=True)
    assert isinstance(found, Contours)
    cov = fit.model.cov
    c, d = found.values[..., 0], found.values[..., 1]
    a = (cov[0, 1] - c) / cov[0, 0]
    want = a * (cov[1, 2] - a * cov[0, 2] - d) / (cov[1, 1] - a * cov[0, 1])
    np.testing.assert_allclose(found.estimates, want, rtol=1e-8)
    line = one(fit.sensitivity("x ~> y", "m <-> y", values=values[1]))
    np.testing.assert_allclose(found.estimates[1], line.estimates, rtol=1e-9)
    np.testing.assert_allclose(found.intervals[1], line.intervals, rtol=1e-4)
    wide = fit.sensitivity("x ~> y", ["x <-> m", "m <-> y"])
    assert isinstance(wide, Contours)
    assert wide.estimates.shape == (21, 21)
    assert np.isnan(wide.intervals).all()
    there = np.isfinite(wide.estimates)
    np.testing.assert_allclose(
        wide.correlations[..., 0][there], np.broadcast_to(wide.correlations[:, :1, 0], (21, 21))[there]
    )
    assert len(wide.to_frame()) == 441


def test_marks_are_what_leaving_out_does() -> None:
    """The mark of z is the correlation of the errors of x and y in the graph that z is projected out of."""
    model = random_model(ht.graph("z -> {x, y}; x -> y"), random_state=3)
    fit = ht.fit(model.graph, cov=model.cov, names=list(model.names), n=100)
    found = one(fit.sensitivity("x -> y", "x <-> y"))
    (mark,) = found.marks
    T = fit.model.T
    i = {v: k for k, v in enumerate(fit.model.names)}
    keep = [i["x"], i["y"]]
    A = np.eye(2) - T[np.ix_(keep, keep)]
    errors = A.T @ fit.model.cov[np.ix_(keep, keep)] @ A
    assert mark.variable == "z"
    assert mark.correlation == pytest.approx(errors[0, 1] / np.sqrt(errors[0, 0] * errors[1, 1]), rel=1e-8)


@pytest.mark.parametrize(
    ("edge", "words"),
    [
        ("x <-> q", "no observed variable 'q'"),
        ("x", "is written"),
        ("y -> x", "would close a cycle"),
        ("x <-> x", "twice"),
        (["x <-> m", "m <-> x"], "twice"),
        (["x <-> m", "m <-> y", "x -> y"], "one edge or a list of two"),
    ],
)
def test_edges_that_make_no_sense(edge: Any, words: str) -> None:
    fit = ht.fit(FRONT_DOOR, cov=MODEL.cov, names=list(MODEL.names), n=300)
    with pytest.raises(ht.InputError, match=words):
        fit.sensitivity("x ~> y", edge)


def test_values_that_make_no_sense() -> None:
    fit = ht.fit(FRONT_DOOR, cov=MODEL.cov, names=list(MODEL.names), n=300)
    with pytest.raises(ht.InputError, match="at least two numbers"):
        fit.sensitivity("x ~> y", "x <-> m", values=[0.1])
    with pytest.raises(ht.InputError, match="two lists"):
        fit.sensitivity("x ~> y", ["x <-> m", "m <-> y"], values=[0.1, 0.2])
    with pytest.raises(ht.InputError, match="in one list"):
        fit.sensitivity("x ~> y", "x <-> m", values=[[0.1], [0.2]])
    with pytest.raises(ht.InputError, match="level"):
        fit.sensitivity("x ~> y", "x <-> m", level=1.5)
    with pytest.raises(ht.InputError, match="target"):
        fit.sensitivity("x ~> y", "x <-> m", target=float("inf"))
    with pytest.raises(ht.QueryError, match="several outcomes"):
        fit.sensitivity("P(m, y | do(x=1))", "x <-> m")


def test_pictures() -> None:
    from matplotlib.figure import Figure

    fit = ht.fit(FRONT_DOOR, sample())
    found = one(fit.sensitivity("x ~> y", "x <-> m"))
    ax = plot_sensitivity(found, ax=Figure().subplots())
    line = next(one for one in ax.lines if len(np.asarray(one.get_xdata())) == len(found.values))
    assert np.isnan(np.asarray(line.get_ydata())).sum() == 1  # the gap
    assert any("no bound here" in text.get_text() for text in ax.texts)
    assert any(text.get_text().startswith("zero at") for text in ax.texts)
    ax = plot_sensitivity(fit, "x ~> y", edge="x -> y", ax=Figure().subplots())
    assert ax.get_xlabel() == "assumed weight of x -> y"
    ax = plot_sensitivity(fit, "x ~> y", edge=["x <-> m", "m <-> y"], ax=Figure().subplots())
    assert "m and y" in ax.get_ylabel()
    with pytest.raises(ht.InputError, match="a fit, a question and edge"):
        plot_sensitivity(fit, "x ~> y")
