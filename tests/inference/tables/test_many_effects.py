"""Tables of many effects: the quick way against one gradient of all pairs and one sandwich for each effect."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Interval
from halftrek.data import RowReader
from halftrek.graphs import Graph
from halftrek.graphs.order import reachable
from halftrek.graphs.reach import reach_of
from halftrek.inference.evidence.strength import strengths
from halftrek.inference.how import How
from halftrek.inference.intervals import kind_of
from halftrek.inference.standard_errors.factor import Slopes, joint_factor
from halftrek.inference.tables import effects as effects_module
from halftrek.inference.tables import known as known_module
from halftrek.inference.tables import legs
from halftrek.inference.tables.effects import effect_rows, gradients_of
from halftrek.inference.tables.known import Knowledge
from halftrek.queries import DirectEffect, TotalEffect
from halftrek.queries.gradients import Gradient, linearize
from halftrek.simulation import random_graph, random_model
from tests.narrow import some


def fitted(seed: int, *, size: int = 9, n: int = 60, **options: Any) -> ht.Fit:
    graph = random_graph(size, n_edges=2 * size - 4, n_bidirected=3, random_state=seed)
    rows = np.asarray(random_model(graph, random_state=seed).sample(n, random_state=seed))
    columns = dict(zip(graph.observed, rows.T, strict=True))
    if "cluster" in options:
        columns["home"] = np.arange(n) // 4
    return ht.fit(graph, columns, **options)


def dense(fit: ht.Fit, cause: str, effect: str, kind: str) -> Gradient:
    """The gradient in every pair of variables, as one question has it; indirect is total less direct."""
    whole = linearize(TotalEffect(cause, effect), fit.model).values[0]
    if kind == "total" or effect not in fit.graph.children(cause):
        return whole
    edge = linearize(DirectEffect(cause, effect), fit.model).values[0]
    return edge if kind == "direct" else Gradient(whole.T - edge.T, whole.omega, whole.mean)


@pytest.mark.parametrize("interval", [None, "delta", "t", "robust", "sandwich"])
@pytest.mark.parametrize(
    ("seed", "options"),
    [(0, {}), (1, {}), (2, {"intercepts": "zero"}), (3, {"cluster": "home"}), (4, {"noise": {"x1": 1.0}})],
)
def test_errors_equal_those_of_dense_gradients(interval: Interval | None, seed: int, options: dict[str, Any]) -> None:
    fit = fitted(seed, **options)
    how = How(interval=interval)
    rows = [row for row in effect_rows(fit, how) if not np.isnan(row.est)]
    slopes = Slopes.of([dense(fit, row.cause, row.effect, row.kind) for row in rows])
    slow = joint_factor(fit, slopes, how, together=False)
    assert len(rows) > 10
    np.testing.assert_allclose([row.se for row in rows], slow.errors(), rtol=1e-8, atol=1e-12)
    reach = np.array([(row.ci_high - row.ci_low) / 2.0 for row in rows])
    np.testing.assert_allclose(reach, slow.reaches(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_strengths_equal_those_of_dense_gradients(seed: int) -> None:
    fit = fitted(seed, n=400)
    queries = [TotalEffect(u, v) for u, v in permutations(fit.graph.observed, 2) if v in fit.graph.descendants(u)]
    one_by_one = [linearize(q, fit.model).values[0] for q in queries]
    np.testing.assert_allclose(strengths(fit, gradients_of(fit, queries)), strengths(fit, one_by_one), rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_reach_equals_searches(seed: int) -> None:
    graph = random_graph(12, n_edges=20, random_state=seed)
    reach = reach_of(graph)
    for u, v in some(permutations(graph.observed, 2)):
        down = reachable([u], {w: graph.children(w) for w in graph.observed})
        up = reachable([v], {w: graph.parents(w) for w in graph.observed})
        assert set(reach.names(reach.below(u))) == down
        assert set(reach.names(reach.above(v))) == up
        assert set(reach.names(reach.inside(u, v))) == (down & up) - {u, v}
        used = [(a, b) for a, b in graph.directed if a in down and b in up]
        assert reach.edges_of(reach.edges_between(u, v)) == used


def test_work_grows_with_edges_and_not_with_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of 40: 780 pairs. One verdict an edge, no form but the first, one number an edge in a gradient.

    Edges into a variable whose error covaries with no other need no verdict.
    """
    names = [f"v{i}" for i in range(40)]
    graph = Graph(list(pairwise(names)), [(names[i], names[i + 3]) for i in range(0, 36, 6)])
    rows = np.asarray(random_model(graph, random_state=1).sample(200, random_state=1))
    fit = ht.fit(graph, dict(zip(names, rows.T, strict=True)))
    asked: list[object] = []
    written: list[int] = []
    sizes: list[int] = []
    ask, get, gradient = Knowledge._ask, legs.IndirectForms.__getitem__, legs.Weights.gradient

    def counted_ask(self: Knowledge, *args: object) -> object:
        asked.append(args)
        return ask(self, *args)  # type: ignore[arg-type]

    def counted_form(self: legs.IndirectForms, index: int) -> object:
        written.append(index)
        return get(self, index)

    def counted_gradient(self: legs.Weights, effect: legs.PathSum) -> Floats:
        found = gradient(self, effect)
        sizes.append(found.size)
        return found

    monkeypatch.setattr(Knowledge, "_ask", counted_ask)
    monkeypatch.setattr(legs.IndirectForms, "__getitem__", counted_form)
    monkeypatch.setattr(legs.Weights, "gradient", counted_gradient)
    known_module.remembered_knowledge.cache_clear()
    assert len(effect_rows(fit, How())) == 2 * 780
    assert len(asked) == sum(bool(graph.spouses(v)) for _, v in graph.directed) == 11
    assert set(written) == {0}
    assert set(sizes) == {39}


def test_robust_errors_of_a_table_read_the_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fitted(1, size=12)
    reader = RowReader
    passes = []
    blocks = reader.blocks

    def counted(self: object, *args: object, **options: object) -> object:
        passes.append(1)
        return blocks(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "blocks", counted)
    monkeypatch.setattr(effects_module, "PIECE", 1)  # each effect a piece of its own
    assert len(effect_rows(fit, How(interval="robust"))) > 20
    assert len(passes) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_robust_errors_in_pieces_are_those_of_single_questions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The information of districts is kept from piece to piece; a single question works it out for itself."""
    fit = fitted(seed, size=9)
    monkeypatch.setattr(effects_module, "PIECE", 60)  # two or three effects at a time
    rows = effect_rows(fit, How(interval="robust"))
    known = [row for row in rows if row.kind == "total" and not np.isnan(row.est)]
    assert len(known) > 5
    for row in known:
        queried = linearize(TotalEffect(row.cause, row.effect), fit.model).values
        alone = kind_of(How(interval="robust")).spread(fit, queried, How(interval="robust"))
        assert row.se == pytest.approx(float(alone.errors[0]), rel=1e-8)
        assert (row.ci_high - row.ci_low) / 2.0 == pytest.approx(float(alone.reach[0]), rel=1e-8)
