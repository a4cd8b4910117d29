"""What an answer rests on and the data contradict: against whole models, refits, Sargan's test, scores of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.bottom.choices import Intercepts
from halftrek.data import Moments
from halftrek.estimation import fit
from halftrek.estimation.space import make_space
from halftrek.graphs import Edge
from halftrek.inference.checks.contradictions import Restrictions, contradictions, relaxed, restrictions_behind
from halftrek.inference.checks.edges.modification import absent_edges, with_edge
from halftrek.inference.checks.edges.relaxation import relaxation
from halftrek.inference.checks.edges.scores import Edges
from halftrek.inference.standard_errors.delta import standard_errors
from halftrek.queries import Distribution, Query, TotalEffect
from halftrek.queries.gradients import linearize
from halftrek.results.fit import Fit
from halftrek.simulation import random_graph, random_model
from tests.narrow import se_of

INSTRUMENTS = "z1 -> x; z2 -> x; x -> y; x <-> y"
CORRELATED = "z -> x; w -> x; w -> y; x -> y; x <-> y"
EFFECT = TotalEffect("x", "y")


def instruments(n: int = 2000, direct: float = 0.2, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    z1, z2, u = rng.normal(size=(3, n))
    x = z1 + z2 + u + rng.normal(size=n)
    return {"z1": z1, "z2": z2, "x": x, "y": x + u + direct * z2 + rng.normal(size=n)}


def correlated(r: float, n: int = 2000, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    z, e, u = rng.normal(size=(3, n))
    w = r * z + np.sqrt(1.0 - r * r) * e
    x = z + w + u + rng.normal(size=n)
    return {"z": z, "w": w, "x": x, "y": x + w + u + rng.normal(size=n)}


def sample_fit(seed: int, *, held: bool = False) -> Fit | None:
    graph = random_graph(5, n_edges=5, n_bidirected=2, random_state=seed)
    model = random_model(graph, random_state=seed)
    rows = np.asarray(model.sample(200, random_state=seed))
    intercepts: Intercepts = {graph.observed[-1]: 0.1} if held else "free"
    found = fit(graph, Moments(model.names, 200, rows.mean(axis=0), np.cov(rows.T, ddof=0)), intercepts=intercepts)
    return Fit.of(found) if found.converged else None


# -- how the answer moves -------------------------------------------------------------------------


def dense_step(found: Fit, edge: Edge, query: Query) -> tuple[float, float]:
    """The oracle: one scoring step in the larger model, no splitting; how it moves the edge, and the answer."""
    model = found.model
    space = make_space(with_edge(found.graph, edge), model.names, found.options)
    theta = space.vector(model)
    dmean, dcov = space.jacobian(theta)
    K = np.linalg.inv(model.cov)
    gap = found.moments.mean - model.mean
    seen = found.moments.cov + np.outer(gap, gap)
    score = 0.5 * np.einsum("aij,ij->a", dcov, K @ (seen - model.cov) @ K) + dmean @ K @ gap
    info = 0.5 * np.einsum("aij,jk,bkl,li->ab", dcov, K, dcov, K) + dmean @ K @ dmean.T
    scale = np.sqrt(np.diag(info))
    step = np.linalg.pinv(info / np.outer(scale, scale), rcond=1e-9, hermitian=True) @ (score / scale) / scale
    (gradient,) = linearize(query, model).values
    i, j = model.names.index(edge.first), model.names.index(edge.second)
    at = space.T_at if edge.kind == "->" else space.W_at
    new = next(int(a) for u, v, a in at if (u, v) == (i, j) or (edge.kind == "<->" and (v, u) == (i, j)))
    return float(step[new]), float(space.pull(gradient, theta) @ step)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), held=st.booleans(), spread=st.booleans())
def test_the_answer_moves_as_a_step_in_the_whole_larger_model_moves_it(seed: int, held: bool, spread: bool) -> None:
    """An effect, or a variance, which arcs move too."""
    found = sample_fit(seed, held=held)
    assume(found is not None)
    assert found is not None
    order = found.graph.topological_order
    query = ht.parse_question(f"Var({order[-1]})") if spread else TotalEffect(order[0], order[-1])
    assume(not np.isnan(standard_errors(found, query)[0]).any())
    (gradient,) = linearize(query, found.model).values
    freed = relaxation(found, Edges.of(*absent_edges(found)), [gradient])
    informed = ~np.isnan(freed.score) & (freed.information >= 1e-4)
    assume(informed.any())
    for k, edge in enumerate(freed.edges.named(found.model.names)):
        if not informed[k]:
            continue
        epc, change = dense_step(found, edge, query)
        assert freed.change[k] == pytest.approx(epc, rel=1e-4, abs=1e-6)
        assert freed.slopes[0, k] * freed.change[k] == pytest.approx(change, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("holes", [0.0, 0.15], ids=["complete", "holes"])
def test_the_answer_moves_as_a_refitted_model_says(holes: float) -> None:
    """Where a restriction is wrong by little the first order is nearly all there is."""
    rows = instruments(4000, direct=0.05, seed=1)
    if holes:
        rng = np.random.default_rng(2)
        rows = {v: np.where(rng.random(len(x)) < holes, np.nan, x) for v, x in rows.items()}
    found = ht.fit(INSTRUMENTS, rows)
    before = found.effect("x", "y").value
    rows_behind = [r for r in restrictions_behind(found, EFFECT) if r.behind == "answer" and {*"zy"} <= {*r.edge}]
    assert rows_behind
    for row in rows_behind:
        after = Fit.of(relaxed(found, row.edge)).effect("x", "y").value
        assert after - before == pytest.approx(row.change, rel=0.1)


@pytest.mark.parametrize("holes", [0.0, 0.2], ids=["complete", "holes"])
@pytest.mark.parametrize("held", [False, True], ids=["free", "held intercept"])
def test_scores_of_rows_are_derivatives_of_their_likelihood(holes: float, held: bool) -> None:
    """Less what the free parameters take up; by differences of each row's density along the same direction."""
    rng = np.random.default_rng(5)
    columns = {v: x + 0.3 for v, x in instruments(60, seed=3).items()}
    columns = {v: np.where(rng.random(60) < holes, np.nan, x) for v, x in columns.items()}
    found = ht.fit(INSTRUMENTS, columns, intercepts={"y": 0.1} if held else "free")
    edges = Edges.of(*absent_edges(found))
    freed = relaxation(found, edges)
    X = np.stack([columns[v] for v in found.model.names], axis=1)
    values = freed.rows.values(X - found.moments.mean, found.moments.cov)
    assert np.nanmax(np.abs(values.mean(axis=0) - freed.score)) < 1e-5
    k = edges.named(found.model.names).index(Edge("z1", "->", "y"))
    space = make_space(with_edge(found.graph, Edge("z1", "->", "y")), found.model.names, found.options)
    theta = space.vector(found.model)
    i, j = found.model.names.index("z1"), found.model.names.index("y")
    new = next(int(a) for u, v, a in space.T_at if (u, v) == (i, j))

    def scores(along: np.ndarray) -> np.ndarray:
        ends = [log_densities(X, *space.moments(theta + h * along)) for h in (1e-5, -1e-5)]
        return (ends[0] - ends[1]) / 2e-5

    each = np.stack([scores(one) for one in np.eye(space.size)], axis=1)
    rest = [a for a in range(space.size) if a != new]
    left = each[:, new] - values[:, k]  # a combination of the scores of the free parameters
    assert left == pytest.approx(each[:, rest] @ np.linalg.lstsq(each[:, rest], left, rcond=None)[0], abs=1e-4)


def log_densities(X: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    found = []
    for row in X:
        at = np.flatnonzero(~np.isnan(row))
        gap, part = row[at] - mean[at], cov[np.ix_(at, at)]
        found.append(-0.5 * (np.linalg.slogdet(part)[1] + gap @ np.linalg.solve(part, gap)))
    return np.array(found)


# -- what is contradicted -------------------------------------------------------------------------


def test_an_instrument_that_acts_by_itself_is_named() -> None:
    found = ht.fit(INSTRUMENTS, instruments())
    first, *others = contradictions(found, EFFECT)
    assert first.restriction == "z1 acts on y only through x"
    assert first.edge == "z1 -> y"
    assert {row.edge for row in others} == {"z1 <-> y", "z2 -> y", "z2 <-> y"}
    assert first.p_adjusted == first.p == pytest.approx(others[0].p)  # one and the same constraint
    assert set(first.alike) == {row.restriction for row in others}
    assert first.note.code == "contradicted, one of several"
    assert "z1 acts on y only through x, or that z2 acts on y only through x" in str(first.note)
    assert contradictions(ht.fit(INSTRUMENTS, instruments(direct=0.0)), EFFECT) == []


def test_the_test_of_two_instruments_is_sargans() -> None:
    """Near the null: n R² of the residual by two-stage least squares on the instruments."""
    rows = instruments(5000, direct=0.05, seed=4)
    Z = np.stack([rows["z1"], rows["z2"], np.ones(5000)], axis=1)
    fitted = Z @ np.linalg.lstsq(Z, rows["x"], rcond=None)[0]
    slope = np.cov(fitted, rows["y"])[0, 1] / np.cov(fitted, rows["x"])[0, 1]
    residual = rows["y"] - slope * rows["x"]
    residual = residual - residual.mean()
    explained = Z @ np.linalg.lstsq(Z, residual, rcond=None)[0]
    sargan = 5000 * (explained @ explained) / (residual @ residual)
    found = ht.fit(INSTRUMENTS + "; z1 <-> z2", rows)
    (row,) = [r for r in restrictions_behind(found, EFFECT) if r.edge == "z1 -> y"]
    assert row.statistic == pytest.approx(sargan, rel=0.005)


def test_one_false_restriction_does_not_drown_among_others() -> None:
    """Fifteen bystanders bring a hundred true independences, which this answer does not rest on."""
    rows = instruments(1000, direct=0.4, seed=6)
    rng = np.random.default_rng(7)
    rows |= {f"v{k}": rng.normal(size=1000) for k in range(15)}
    found = ht.fit(INSTRUMENTS + "; observed " + ", ".join(f"v{k}" for k in range(15)), rows)
    first = contradictions(found, EFFECT)[0]
    assert "acts on y only through x" in first.restriction
    assert first.p_adjusted == pytest.approx(first.p)
    assert not any("v" in row.edge for row in restrictions_behind(found, EFFECT))


def test_a_restriction_behind_the_width_alone_is_told_apart() -> None:
    """Correlated roots do not move the estimate, which regresses on both, but its standard error from the model."""
    found = ht.fit(CORRELATED, correlated(0.6))
    (row,) = contradictions(found, EFFECT)
    assert (row.restriction, row.edge, row.behind) == ("z and w are independent", "z <-> w", "interval")
    assert row.change == 0.0
    free = ht.fit(CORRELATED + "; z <-> w", correlated(0.6))
    assert free.effect("x", "y").value == pytest.approx(found.effect("x", "y").value)
    before, after = (se_of(one.effect("x", "y", interval="delta")) for one in (found, free))
    assert row.widening == pytest.approx(after / before, rel=1e-6)
    assert "1.2" in str(row.note)


def test_restrictions_in_words() -> None:
    words = Restrictions(ht.graph("z -> x -> m -> y; x <-> y; w -> y"))
    assert words.of(Edge("z", "->", "y")) == "z acts on y only through x"
    assert words.of(Edge("z", "<->", "y")) == "nothing hidden acts on both z and y"
    assert words.of(Edge("w", "->", "x")) == "x and w are independent"
    assert words.of(Edge("w", "->", "z")) == "z and w are independent"
    assert words.of(Edge("m", "->", "z")) == "z and m are independent given x"
    assert Restrictions(ht.graph("a <-> b")).of(Edge("a", "->", "b")) == "a does not act on b"
    hidden = Restrictions(ht.graph("latent U; U -> {a, b, c}; a -> b"))
    assert hidden.of(Edge("a", "<->", "b")) == "nothing else hidden acts on both a and b"


def test_of_several_outcomes_the_one_that_moves_most() -> None:
    rows = instruments()
    rows["v"] = rows["x"] + np.random.default_rng(8).normal(size=2000)
    found = ht.fit(INSTRUMENTS + "; x -> v", rows)
    query = Distribution.after(("v", "y"), {"x": 1.0})
    row = contradictions(found, query)[0]
    alone = contradictions(found, Distribution.after(("y",), {"x": 1.0}))[0]
    assert row.edge == alone.edge
    assert row.change == pytest.approx(alone.change)


def test_nothing_is_behind_an_answer_without_restrictions() -> None:
    found = ht.fit("x -> y", {k: v for k, v in instruments().items() if k in "xy"})
    assert restrictions_behind(found, EFFECT) == []
