"""Boxes enclose what they say, and a proof fails where there is something beyond."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import halftrek as ht
from halftrek.partial.assumptions import read_assumptions, relaxed
from halftrek.partial.exact.compiled import Compiled
from halftrek.partial.exact.conditions import claims_of
from halftrek.partial.exact.questions import form_of
from halftrek.partial.exact.tower import Tower, exact_matrix
from halftrek.partial.fibre import fibre_of
from halftrek.partial.sets import identified_set
from halftrek.partial.sets.projection.projected import Projection
from halftrek.partial.sets.proof.bernstein import Boxed, Side
from halftrek.partial.sets.proof.beyond import Beyond
from halftrek.partial.sets.proof.charts import charts_of
from halftrek.partial.sets.proof.multipliers import multipliers_at
from halftrek.partial.sets.proof.prove import prove
from halftrek.partial.sets.space import Space
from tests.partial.graphs import random_setting
from tests.project.pages import ROOT


def random_polynomial(rng: np.random.Generator, d: int) -> Compiled:
    exponents = np.unique(rng.integers(0, 4, (6, d)), axis=0)
    return Compiled(rng.standard_normal(len(exponents)), exponents)


@pytest.mark.parametrize("seed", range(20))
def test_coefficients_enclose_all_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    polynomial = random_polynomial(rng, d)
    sides = tuple(Side(a, a + b) for a, b in zip(rng.uniform(-2, 0, d), rng.uniform(0.1, 3, d), strict=True))
    boxed = Boxed.of(polynomial, sides, polynomial.degrees)
    corner, width = np.zeros((1, d)), np.ones((1, d))
    for level in range(6):
        axis = level % d
        boxed = boxed.halved(axis)
        half = width.copy()
        half[:, axis] /= 2
        moved = corner.copy()
        moved[:, axis] += half[:, axis]
        corner, width = np.concatenate([corner, moved]), np.concatenate([half, half])
    t = corner[:, None, :] + width[:, None, :] * rng.random((len(corner), 40, d))
    u = np.stack([side.point(t[..., k]) for k, side in enumerate(sides)], axis=-1)
    values = polynomial.values(u)
    assert (values.min(axis=1) >= boxed.lowest).all()
    assert (values.max(axis=1) <= boxed.highest).all()
    assert (boxed.highest - boxed.lowest).min() < 10 * (values.max(axis=1) - values.min(axis=1)).max() + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_far_out_a_polynomial_keeps_its_sign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    polynomial = random_polynomial(rng, 2)
    columns = [0, int(rng.integers(2))]
    low, high = np.full(2, -np.inf), np.full(2, np.inf)
    covered = 0
    for chart in charts_of(low, high, columns):
        t = rng.uniform(0.01, 1.0, (50, 2))
        u = chart.points(t)
        inner = np.stack([side.point(t[:, k]) for k, side in enumerate(chart.sides)], axis=-1)
        moved = chart.moved(polynomial, chart.powers([polynomial]))
        assert (np.sign(moved.values(inner)) == np.sign(polynomial.values(u))).all()
        covered += 1
    assert covered in (5, 9)


def test_every_point_is_in_some_chart() -> None:
    rng = np.random.default_rng(0)
    points = np.tan(np.pi * (rng.random((500, 2)) - 0.5))
    for columns in ([0, 0], [0, 1]):
        seen = np.zeros(500, dtype=bool)
        for chart in charts_of(np.full(2, -np.inf), np.full(2, np.inf), columns):
            for k, u in enumerate(points):
                inner = u.copy()
                inside = True
                for group, far in zip(chart.groups, chart.far, strict=True):
                    if far is not None:
                        place, sign = far
                        inside &= sign * u[place] > 0
                        for j in group:
                            inner[j] = u[j] / abs(u[place]) if j != place else 1.0 / abs(u[place])
                inside &= all(side.low <= x <= side.high for side, x in zip(chart.sides, inner, strict=True))
                seen[k] |= inside
        assert seen.all()


def space(name: str) -> tuple[Space, float, float]:
    cases = json.loads((ROOT / "tests" / "reference" / "bounds" / "cases.json").read_text(encoding="utf-8"))["bounds"]
    case = next(c for c in cases if c["id"] == name)
    graph = ht.graph(case["graph"])
    assumed = read_assumptions(case["assume"], graph)
    fibre = fibre_of(relaxed(graph, assumed), case["Sigma"], names=case["names"])
    tower = Tower(fibre.plan, exact_matrix(np.array(case["Sigma"])), [0.0] * len(case["names"]))
    form, claims = form_of(ht.parse_question(case["query"]), tower), claims_of(assumed, graph, tower)
    assert form is not None
    assert claims is not None
    columns = [fibre.plan.names.index(c.effect) for c in fibre.plan.coordinates]
    return Space(form, claims, range(len(columns)), columns), case["low"], case["high"]


@pytest.mark.parametrize("name", ["two_causes_corner", "iv_three_assumptions"])
def test_a_level_inside_the_set_is_not_proved(name: str) -> None:
    there, low, high = space(name)
    assert prove(there.problem, Beyond(1.0, high + 1e-4)).proved
    assert prove(there.problem, Beyond(-1.0, -low + 1e-4)).proved
    for beyond in (Beyond(1.0, high - 1e-3), Beyond(-1.0, -low - 1e-3)):
        outcome = prove(there.problem, beyond)
        assert not outcome.proved
        assert len(outcome.left)


def test_a_set_that_is_not_empty_is_not_proved_to_be() -> None:
    there, _, _ = space("two_causes_corner")
    assert not prove(there.problem, None).proved


def test_a_hole_that_is_none_is_not_proved() -> None:
    there, low, high = space("two_causes_corner")
    assert not prove(there.problem, Beyond(1.0, 0.4, below=0.6)).proved
    assert prove(there.problem, Beyond(1.0, high + 0.1, below=high + 0.2)).proved
    assert low < 0.4


def test_wrong_multipliers_cannot_prove_what_is_not_so() -> None:
    there, _, high = space("two_causes_corner")
    found = there.found()
    assert found.proved
    end = found.pieces[-1].high
    [(branch, problem)] = there.branches
    assert end.u is not None
    multipliers = multipliers_at(branch.claims, problem, Beyond(1.0, end.value), end.value, end.u[there.coordinates])
    assert multipliers
    larger = tuple(m._replace(weight=3.0 * m.weight) for m in multipliers)
    assert not prove(problem, replace(Beyond(1.0, high - 1e-3), multipliers=larger)).proved


@pytest.mark.parametrize("seed", [10068, 10153, 10343, 10363, 10017, 10100, 10275, 10009, 10169])
def test_sets_that_boxes_alone_do_not_close_are_proved(seed: int) -> None:
    """Ends at infinity, needles, poles that all claims vanish at, and ridges that run to infinity."""
    setting = random_setting(seed, largest=4)
    found = identified_set(setting.graph, setting.sigma, None, setting.question, setting.assumptions)
    assert found.certificate == "proved to 1e-7"
    assert found.free == 2


@pytest.mark.parametrize("seed", [10001, 10046, 10067, 10100, 10288, 10247, 10153])
def test_projection_and_boxes_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two proofs of one set: by polynomials in the answer alone, and by boxes in all coordinates."""
    setting = random_setting(seed, largest=4)
    given = (setting.graph, setting.sigma, None, setting.question, setting.assumptions)
    exactly = identified_set(*given)
    monkeypatch.setattr(Projection, "suits", staticmethod(lambda *_: False))
    boxed = identified_set(*given)
    if boxed.proved:
        np.testing.assert_allclose(exactly.pieces, boxed.pieces, rtol=1e-6, atol=1e-6)
    else:  # what was searched lies inside
        assert exactly.low <= boxed.low + 1e-6
        assert boxed.high <= exactly.high + 1e-6


def test_what_is_seen_stays_one_number_though_the_fit_is_rounded() -> None:
    """An error covariance and its mirror image may differ in the last bit, the covariance of a fit may not."""
    setting = random_setting(20284, largest=4)
    found = identified_set(setting.graph, setting.sigma, None, setting.question, setting.assumptions)
    sd = np.sqrt(np.diag(setting.sigma))
    assert found.low == found.high == pytest.approx(setting.sigma[1, 3] / sd[1] / sd[3], abs=1e-4)


def test_a_function_of_an_effect_is_bounded_by_its_effect() -> None:
    """``Var[y | do(x)]`` is ``s_yy - 2 b s_xy + b² s_xx``, so its ends follow from those of b."""
    setting = random_setting(10288, largest=4)
    sigma, names = setting.sigma, list(setting.graph.observed)
    i, j = names.index("v1"), names.index("v2")
    of_effect, of_variance = (
        identified_set(setting.graph, sigma, None, question, setting.assumptions)
        for question in ("v1 ~> v2", "Var[v2 | do(v1=1)]")
    )
    b = np.linspace(of_effect.low, of_effect.high, 200_001)
    variance = sigma[j, j] - 2.0 * b * sigma[i, j] + b**2 * sigma[i, i]
    assert (of_variance.low, of_variance.high) == pytest.approx((variance.min(), variance.max()), rel=1e-7)
