"""The interval of a set: closed forms, unions of Anderson-Rubin sets, holes, tests of assumptions."""

from __future__ import annotations

import json
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from benchmarks.bounds_coverage import CASES, drawn, interval_at
from halftrek.partial.assumptions import State, conditions_of, read_assumptions, relaxed
from halftrek.partial.chance import interval as module
from halftrek.partial.chance.cut import cut_for
from halftrek.partial.fibre import fibre_of
from halftrek.queries.evaluate import values_of
from tests.partial.chance.oracles import anderson_rubin_union, leaky_sigma

FILE = Path(__file__).parents[2] / "reference" / "bounds" / "intervals.json"
INTERVALS: list[dict[str, Any]] = json.loads(FILE.read_text())["intervals"]
LEAK = "z -> x -> y; x <-> y"


def _leaky(first: float, n: int, **options: Any) -> ht.Bounds:
    return ht.bounds(LEAK, None, "x -> y", assume=["abs(z -> y) <= 0.1"], cov=leaky_sigma(first), n=n, **options)


@pytest.mark.parametrize("case", INTERVALS, ids=lambda case: case["id"])
def test_published_intervals(case: dict[str, Any]) -> None:
    found = ht.bounds(
        case["graph"], None, case["query"], assume=case["assume"], cov=case["Sigma"], names=case["names"], n=case["n"]
    )
    assert (found.low, found.high) == pytest.approx((case["low"], case["high"]), abs=1e-6)
    assert found.interval == pytest.approx(case["interval"], abs=1e-6)


@pytest.mark.parametrize(("first", "n"), [(0.7, 1000), (0.7, 100), (0.25, 100), (0.2, 100), (0.19, 100), (0.1, 100)])
def test_one_leaky_instrument_is_a_union_of_anderson_rubin_sets(first: float, n: int) -> None:
    found = _leaky(first, n).interval_pieces
    wanted = anderson_rubin_union(leaky_sigma(first), n, 0.1, cut_for(1))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


def test_a_weak_instrument_leaves_two_half_lines() -> None:
    """The outcome moves with the instrument, the cause hardly does: only effects around zero are excluded."""
    sigma = leaky_sigma(0.05, leak=0.5)
    found = ht.bounds(LEAK, None, "x -> y", assume=["abs(z -> y) <= 0.1"], cov=sigma, n=150)
    wanted = anderson_rubin_union(sigma, 150, 0.1, cut_for(1))
    assert len(wanted) == 2
    assert [x for piece in found.interval_pieces for x in piece] == pytest.approx(
        [x for piece in wanted for x in piece], rel=1e-4
    )
    assert np.isfinite([found.low, found.high]).all()  # the set at the estimates is bounded ...
    assert found.interval == (-inf, inf)  # ... and the data do not bound the true value
    assert {n.code for n in found.notes} >= {"set unbounded", "set excluded"}


def test_a_hole_without_any_assumption_shrinks_to_what_the_data_exclude() -> None:
    sigma = np.array([[1.0, 1.0, 0.9], [1.0, 1.96, 1.3], [0.9, 1.3, 1.81]])
    graph = "x -> m -> y; x <-> y; x <-> m"
    large, small, tiny = (ht.bounds(graph, None, "x ~> y", cov=sigma, n=n) for n in (100_000, 200, 8))
    assert large.pieces[0][1] == pytest.approx(0.41858462480280667, abs=1e-6)
    for found in (large, small):
        (_, left), (right, _) = found.interval_pieces
        assert found.pieces[0][1] < left < right < found.pieces[1][0]
    assert large.interval_pieces[0][1] < small.interval_pieces[0][1]
    assert tiny.interval_pieces == ((-inf, inf),)


def test_an_identified_question_has_the_interval_of_its_profile() -> None:
    sigma = np.array([[1.0, 0.8, 0.7], [0.8, 1.64, 1.31], [0.7, 1.31, 1.99]])
    fitted = ht.fit("x -> m -> y; x -> y", cov=sigma, n=120)
    profile = fitted.query("x ~> y", interval="profile").interval
    assert fitted.bounds("x ~> y").interval == pytest.approx(profile, abs=1e-5)
    relaxed = fitted.bounds("x ~> y", assume=["abs(corr(m <-> y)) <= 0.3"])
    assert relaxed.low == relaxed.high == pytest.approx(0.7)
    assert relaxed.interval == pytest.approx(profile, abs=1e-5)


BRUTE = {
    "bow": ("x -> y; x <-> y", "xy", [[1.5, 0.9], [0.9, 2.0]], "x -> y", ["abs(corr(x <-> y)) <= 0.3"]),
    "leak": (LEAK, "zxy", leaky_sigma(0.7), "x -> y", ["abs(z -> y) <= 0.1"]),
    "three": (
        LEAK, "zxy", [[1.0, 0.7, 0.4], [0.7, 1.49, 1.28], [0.4, 1.28, 1.91]], "x -> y",
        ["abs(z -> y) <= 0.1", "abs(corr(z <-> y)) <= 0.1", "corr(x <-> y) in [0, 0.4]"],
    ),
    "front-door": (
        "x -> m -> y; x <-> y", "xmy", [[1.0, 1.0, 0.9], [1.0, 1.96, 1.3], [0.9, 1.3, 1.81]], "x ~> y",
        ["abs(corr(x <-> m)) <= 0.2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BRUTE)
def test_no_model_within_the_cut_lies_outside(name: str) -> None:
    """Covariances drawn within a deviance, and models of each that obey: none has a value beyond the interval."""
    graph, names, sigma, question, assume = BRUTE[name]
    n, cut = 150, cut_for(1)
    S = np.asarray(sigma, dtype=float)
    found = ht.bounds(graph, None, question, assume=assume, cov=S, names=list(names), n=n)
    assert found.interval is not None
    drawn_graph = ht.graph(graph)
    assumed = read_assumptions(assume, drawn_graph)
    conditions, wide = conditions_of(assumed, drawn_graph, tuple(names)), relaxed(drawn_graph, assumed)
    rng, root, p = np.random.default_rng(2), np.linalg.cholesky(S), len(S)
    seen: list[float] = []
    for _ in range(80):
        shape = rng.normal(size=(p, p))
        shape = (shape + shape.T) / np.linalg.norm(shape + shape.T)
        other = root @ (np.eye(p) + np.sqrt(2.0 * cut / n) * rng.uniform(0.8, 1.0) * shape) @ root.T
        lost = n * (np.linalg.slogdet(other)[1] - np.linalg.slogdet(S)[1] + np.trace(np.linalg.solve(other, S)) - p)
        if lost > cut:
            continue
        fibre = fibre_of(wide, other, names=tuple(names))
        models = fibre.at(rng.standard_normal((4000, fibre.dimension)) * fibre.units)
        obeyed = (conditions.values(State(models.T, models.omega, models.sigma)) <= 0.0).all(axis=-1)
        seen += values_of(ht.parse_question(question), models)[0][obeyed, 0].tolist()
    assert len(seen) > 100
    assert found.interval[0] - 1e-9 <= min(seen)
    assert max(seen) <= found.interval[1] + 1e-9
    reach = found.interval[1] - found.interval[0]
    assert max(seen) - min(seen) > 0.5 * reach  # and they fill it, as far as chance goes


REFUTED = "abs(z1 -> y) + abs(z2 -> y) + abs(z3 -> y) <= 0.1"


@pytest.mark.parametrize(("n", "contradicted"), [(200, False), (2000, True)])
def test_assumptions_that_the_data_contradict(n: int, contradicted: bool) -> None:
    graph = "z1 -> x; z2 -> x; z3 -> x; x -> y; z1 <-> z2; z1 <-> z3; z2 <-> z3; x <-> y"
    sigma = [[1, 0.3, -0.2, 0.53, 0.371], [0.3, 1, 0.1, -0.2, 0.025], [-0.2, 0.1, 1, 0.39, 0.097],
             [0.53, -0.2, 0.39, 1.758, 1.3425], [0.371, 0.025, 0.097, 1.3425, 1.9331]]  # fmt: skip
    found = ht.bounds(graph, None, "x -> y", assume=[REFUTED], cov=sigma, names=["z1", "z2", "z3", "x", "y"], n=n)
    assert found.empty
    assert found.refuted is not None
    assert found.refuted.statistic == pytest.approx(1.4619378 * n / 200, rel=1e-4)  # proportional to n
    assert (found.refuted.p < 0.05) == contradicted
    assert ("the data contradict these assumptions" in found.explain().lower()) == contradicted
    assert (found.interval is None) == contradicted  # what chance may explain is not excluded


def test_the_test_of_one_inequality_is_that_of_a_regression() -> None:
    """x -> y >= 1 in a regression: the likelihood ratio against the slope held at 1, half of chi-squared."""
    sigma, n = np.array([[1.5, 0.9], [0.9, 2.0]]), 60
    found = ht.bounds("x -> y", None, "x -> y", assume=["x -> y >= 1"], cov=sigma, n=n)
    free = sigma[1, 1] - sigma[0, 1] ** 2 / sigma[0, 0]
    held = sigma[1, 1] - 2.0 * sigma[0, 1] + sigma[0, 0]
    assert found.refuted is not None
    assert found.refuted.statistic == pytest.approx(n * np.log(held / free), rel=1e-6)
    assert found.refuted.restrictions == 1


def test_stoye_is_close_to_the_likelihood_in_large_samples() -> None:
    by_likelihood, by_errors = (_leaky(0.7, 20_000, interval=kind) for kind in ("likelihood", "stoye"))
    assert by_likelihood.interval is not None
    assert by_errors.interval is not None
    width = np.array([by_errors.low, by_errors.high]) - np.array(by_errors.interval)
    wider = np.array([by_likelihood.low, by_likelihood.high]) - np.array(by_likelihood.interval)
    assert width / wider == pytest.approx([1.645 / 1.96] * 2, rel=0.03)  # one-sided where the set is wide


@pytest.mark.parametrize("gone", [(1,), (-1,), (-1, 1)])
def test_an_end_beside_one_whose_error_is_lost_is_not_bare(gone: tuple[int, ...], monkeypatch: Any) -> None:
    whole = _leaky(0.6, 400, interval="stoye")
    known = module._by_likelihood

    def losing(factor: Any) -> Any:
        return lambda search, end, side: nan if side in gone else known(factor)(search, end, side)

    monkeypatch.setattr(module, "_by_likelihood", losing)
    found = _leaky(0.6, 400, interval="stoye")
    assert whole.interval is not None
    assert found.interval is not None
    quantile = next(float(n.facts["quantile"]) for n in whole.notes if n.code == "stoye set")
    for k, side in enumerate((-1, 1)):
        if side in gone:
            assert found.interval[k] == side * inf
        else:  # one-sided: 1.645 errors beyond the end
            error = abs(whole.interval[k] - whole.pieces[-k][k]) / quantile
            assert abs(found.interval[k] - found.pieces[-k][k]) == pytest.approx(1.6448536 * error, rel=1e-6)
    assert [n.facts["side"] for n in found.notes if n.code == "set end lost"] == [
        {-1: "lower", 1: "upper"}[side] for side in gone
    ]


def test_a_higher_level_is_wider() -> None:
    ends = [_leaky(0.7, 200, level=level).interval for level in (0.5, 0.9, 0.99)]
    assert ends[0] is not None and ends[1] is not None and ends[2] is not None  # noqa: PT018
    assert ends[2][0] < ends[1][0] < ends[0][0] < ends[0][1] < ends[1][1] < ends[2][1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_truth_at_an_end_is_covered_in_a_fixed_sample(case: Any) -> None:
    """A small part of ``benchmarks.bounds_coverage``: of 40 samples at least 34 cover."""
    samples = drawn(case, 40)
    covered = sum(any(a <= case.truth <= b for a, b in interval_at(case, S).pieces) for S in samples)
    assert covered >= 34
