"""Answers about hidden variables and through them, beside the joint normal distribution of all variables and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import GraphError, InputError, NotIdentifiedError
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, Gaussian
from halftrek.partial.varied.curve import Sensitivity
from halftrek.queries import evaluate
from halftrek.simulation import random_model
from halftrek.syntax import parse_question
from tests.identification.hidden.test_second import random_graph

TEXT = "latent F; x -> F; F -> {a, b, c}; F -> y; x <-> y; F -> a [1]"


def rows(n: int = 400) -> dict[str, Floats]:
    rng = np.random.default_rng(1)
    u = rng.normal(size=n)
    x = u + rng.normal(size=n)
    F = 0.5 * x + rng.normal(size=n)
    found = {"x": x, "y": 0.7 * F + u + rng.normal(size=n)}
    return found | {v: w * F + rng.normal(size=n) for v, w in zip("abc", (1.0, 0.8, 0.6), strict=True)}


class Dense:
    """All variables, as they are and after an intervention, as functions of the same errors."""

    def __init__(self, model: CGLSCM) -> None:
        self.names, self.model = model.names, model
        self.T, self.omega, self.mu = np.array(model.T), np.array(model.W + model.C.T @ model.C), np.array(model.mu)

    def lines(self, held: dict[str, float]) -> tuple[Floats, Floats]:
        """Means, and what each error adds to each variable, where some are held."""
        T, at = self.T.copy(), {self.names.index(v): x for v, x in held.items()}
        T[:, list(at)] = 0.0
        B = np.linalg.inv(np.eye(len(T)) - T)
        mu, errors = self.mu.copy(), np.eye(len(T))
        for k, x in at.items():
            mu[k], errors[k, k] = x, 0.0
        return mu @ B, errors @ B

    def conditional(self, of: str, held: dict[str, float], seen: dict[str, float]) -> tuple[float, float]:
        """Mean and variance of a variable after an intervention, in rows in which others were seen without it."""
        mean, slopes = self.lines({})
        after, shifted = self.lines(held)
        at, k = [self.names.index(v) for v in seen], self.names.index(of)
        inner = slopes[:, at].T @ self.omega @ slopes[:, at]
        across = shifted[:, k] @ self.omega @ slopes[:, at]
        weights = np.linalg.solve(inner, across) if at else np.zeros(0)
        gap = np.array([x - mean[i] for i, x in zip(at, seen.values(), strict=True)])
        spread = shifted[:, k] @ self.omega @ shifted[:, k] - weights @ across
        return float(after[k] + weights @ gap), float(spread)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 100_000))
def test_every_question_is_answered_as_by_the_joint_distribution(seed: int) -> None:
    graph = random_graph(seed)
    assume(len(graph.hidden) > 0)
    model = random_model(graph, random_state=seed)
    dense = Dense(model)
    F = graph.hidden[0]
    x, y, w = graph.observed[:3]
    B = np.linalg.inv(np.eye(len(model.names)) - model.T)
    at = {v: i for i, v in enumerate(model.names)}
    cov = B.T @ dense.omega @ B

    def number(question: str) -> float:
        found = evaluate(parse_question(question), model)
        assert isinstance(found, float)
        return found

    assert number(f"{F} ~> {y}") == pytest.approx(B[at[F], at[y]], abs=1e-10)
    assert number(f"{x} ~> {F}") == pytest.approx(B[at[x], at[F]], abs=1e-10)
    scale = np.sqrt(cov[at[x], at[x]] / cov[at[F], at[F]])
    assert number(f"std({x} ~> {F})") == pytest.approx(B[at[x], at[F]] * scale, abs=1e-10)
    for of, held, seen in (
        (F, {x: 1.0}, {}), (y, {F: 0.5}, {}), (F, {}, {x: 1.0, y: -1.0}), (y, {x: 1.0}, {x: 0.0, w: 0.5}),
        (F, {x: 1.0}, {y: 0.3}), (y, {F: 1.0}, {F: 0.0, w: 1.0}),
    ):  # fmt: skip
        mean, variance = dense.conditional(of, held, seen)
        world = f"{of}_{{{', '.join(f'{v}={a}' for v, a in held.items())}}}" if held else of
        bar = f" | {', '.join(f'{v}={a}' for v, a in seen.items())}" if seen else ""
        assert number(f"E[{world}{bar}]") == pytest.approx(mean, abs=1e-8)
        assert number(f"Var[{world}{bar}]") == pytest.approx(variance, abs=1e-8)
    after = evaluate(parse_question(f"P({F} | do({x}=1))"), model)
    assert isinstance(after, Gaussian)
    assert (after.mean[0], after.cov[0, 0]) == pytest.approx(dense.conditional(F, {x: 1.0}, {}), abs=1e-9)


def test_standardised_effects_have_the_errors_of_the_products_that_they_are() -> None:
    fit = ht.fit(TEXT, rows())
    for effect, first, second in (("F ~> y", "F", "y"), ("x ~> F", "x", "F")):
        one = fit.query(f"std({effect})", interval="delta")
        other = fit.query(f"({effect}) * SD[{first}] / SD[{second}]", interval="delta")
        assert one.value == pytest.approx(other.value, rel=1e-9)
        assert one.se == pytest.approx(other.se, rel=1e-6)


@pytest.mark.parametrize("question", ["F ~> y", "x ~> F", "P(F | do(x=1))", "E[y_{x=1} | x=0, a=0.5]"])
def test_every_kind_of_interval_missing_values_and_files(question: str, tmp_path: Path) -> None:
    table = rows()
    holes = {
        v: np.where(np.random.default_rng(k).random(len(c)) < 0.1, np.nan, c) for k, (v, c) in enumerate(table.items())
    }
    for fit in (ht.fit(TEXT, table), ht.fit(TEXT, holes)):
        wide = {}
        for kind in ("delta", "robust", "bootstrap"):
            more = {"replicates": 60, "random_state": 1} if kind == "bootstrap" else {}
            found = fit.query(question, interval=kind, **more)  # type: ignore[arg-type]
            low, high = np.atleast_2d(np.asarray(found.interval))[0]
            wide[kind] = high - low
        assert wide["robust"] == pytest.approx(wide["delta"], rel=0.35)
        assert wide["bootstrap"] == pytest.approx(wide["delta"], rel=0.5)
        path = tmp_path / "fit.json"
        fit.save(path, overwrite=True)
        again = ht.load(path)
        assert isinstance(again, ht.Fit)
        assert str(again.query(question, interval="delta")) == str(fit.query(question, interval="delta"))
        assert json.loads(json.dumps(fit.query(question).to_dict()))["query"] == question


def test_the_jackknife_without_clusters_says_what_it_needs() -> None:
    with pytest.raises(InputError, match="needs rows in clusters"):
        ht.fit(TEXT, rows()).query("F ~> y", interval="jackknife")


def test_no_scores_of_what_data_do_not_tell() -> None:
    two = ht.fit("latent F; F -> {a, b}; F -> a [1]; variance F", rows())
    with pytest.raises(NotIdentifiedError, match="not identified"):
        two.scores()
    assert np.isnan(np.asarray(two.reliability()["omega"], dtype=float)).all()
    level = ht.fit("latent F; x -> F; F -> {a, b, c}; F -> a [1]; intercept F", rows())
    with pytest.raises(NotIdentifiedError, match="the mean of F"):
        level.scores()
    assert np.isfinite(np.asarray(level.reliability()["omega"], dtype=float)).all()


def test_sensitivity_fits_each_value() -> None:
    fit = ht.fit(TEXT, rows())
    for question, edge in (("F ~> y", "F <-> y"), ("x ~> y", "x -> y"), ("x ~> y", "a <-> b"), ("F ~> y", "F -> b")):
        values = [-0.3, 0.0, 0.2]
        found = fit.sensitivity(question, edge, values=values)
        assert isinstance(found, Sensitivity)
        free = edge in ("F <-> y", "x -> y")  # of these data say nothing: models with the fitted covariance
        assert any(n.code == ("covariance stays" if free else "fitted at each value") for n in found.notes)
        for k, value in enumerate(values):
            one = ht.fit(_held(fit.graph, edge, value), rows()).query(question)
            assert found.estimates[k] == pytest.approx(one.value, abs=1e-5)
            assert one.interval is not None
            assert found.intervals[k] == pytest.approx(np.asarray(one.interval).ravel(), abs=1e-4)
    with pytest.raises(InputError, match="sets the scale of hidden 'F'"):
        fit.sensitivity("F ~> y", "F -> a")


def _held(graph: Graph, edge: str, value: float) -> Graph:
    first, kind, second = edge.split()
    arrows, arcs = list(graph.directed), list(graph.bidirected)
    place = arrows if kind == "->" else arcs
    if (first, second) not in place:
        place.append((first, second))
    return graph.with_(directed=arrows, bidirected=arcs, coefficients={**graph.coefficients, edge: value})


def test_bounds_are_those_of_the_observed_variables() -> None:
    text = "latent m; z -> x; x -> m -> y; z -> y; x <-> y"
    table = rows()
    table = {"z": table["a"], "x": table["x"], "y": table["y"]}
    fit, plain = ht.fit(text, table), ht.fit(ht.graph(text).project(), table)
    found, wanted = fit.bounds("x ~> y"), plain.bounds("x ~> y")
    assert (found.low, found.high) == (wanted.low, wanted.high)
    assert any(n.code == "hidden adds nothing" for n in found.notes)
    with pytest.raises(GraphError, match="about hidden 'm'"):
        fit.bounds("m ~> y")
    held, wanted = (one.bounds("x ~> y", assume="abs(z -> y) <= 0.1") for one in (fit, plain))
    assert (held.low, held.high, held.interval) == (wanted.low, wanted.high, wanted.interval)
    with pytest.raises(GraphError, match="is about an arrow or error beside hidden 'm'"):
        fit.bounds("x ~> y", assume="abs(corr(x <-> y)) <= 0.1")  # the error of y has that of m in it there


def test_bounds_without_hidden_variables_that_would_add_something() -> None:
    text, table = "latent m; z -> x; x -> m -> {y, w}; x <-> {y, w}", rows()
    table = {"z": table["a"], "x": table["x"], "y": table["y"], "w": table["b"]}
    found = ht.fit(text, table).bounds("x ~> y", assume="abs(z -> x) <= 2")
    wanted = ht.fit(ht.graph(text).project(), table).bounds("x ~> y", assume="abs(z -> x) <= 2")
    assert found.pieces == wanted.pieces
    assert found.certificate == "outer"
    assert any(n.code == "bounds without hidden" for n in found.notes)
    assert "no more and no fewer" not in found.explain()


def test_bounds_of_what_is_identified_are_a_point() -> None:
    fit = ht.fit(TEXT, rows())
    found, said = fit.bounds("x ~> y"), fit.query("x ~> y")
    assert found.low == found.high == pytest.approx(said.value, abs=1e-8)
