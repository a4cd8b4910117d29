"""The least that an edge must be, against stored numbers, refits and brute force."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.partial import Sensitivity
from halftrek.partial.varied.omitted import robustness_value
from tests.partial.varied.oracles import FRONT_DOOR, exact, refitted, regression

SIGMA = np.array([[1.0, 0.8, 0.8], [0.8, 1.64, 1.14], [0.8, 1.14, 1.73]])
STORED = {"x <-> m": (0.52999894000318, 0.45949432086875824), "m <-> y": (0.3801429606348527, 0.3351264306883182)}


def front_door(n: float = 500.0) -> ht.Fit:
    return ht.fit(FRONT_DOOR, cov=SIGMA, names=["x", "m", "y"], n=n)


@pytest.mark.parametrize(("edge", "stored"), STORED.items())
def test_the_front_door(edge: str, stored: tuple[float, float]) -> None:
    row = front_door().robustness("x ~> y", edge).rows[0]
    assert (row.smallest, row.rv) == pytest.approx(stored, abs=1e-10)
    assert row.value is not None
    assert float(refitted(front_door(), edge, row.value).query("x ~> y").value) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("edge", ["x <-> m", "m <-> y", "x -> y"])
def test_the_interval_begins_to_hold_zero_where_it_says(edge: str) -> None:
    row = front_door().robustness("x ~> y", edge).rows[0]
    assert row.lost_value is not None
    assert row.smallest is not None
    assert row.lost is not None
    assert 0.0 < row.lost < row.smallest
    interval = refitted(front_door(), edge, row.lost_value).query("x ~> y").interval
    assert interval is not None
    assert float(interval[0]) == pytest.approx(0.0, abs=1e-5)
    for share in (0.3, 0.6, 0.9):  # and not before, to either side
        for side in (1.0, -1.0):
            inside = refitted(front_door(), edge, side * share * row.lost_value).query("x ~> y").interval
            assert inside is not None
            assert float(inside[0]) > 0.0


def test_what_is_not_significant_has_nothing_to_lose() -> None:
    row = front_door(n=6.0).robustness("x ~> y", "m <-> y").rows[0]
    assert (row.lost, row.lost_value, row.lost_rv) == (0.0, 0.0, 0.0)


def test_an_edge_that_data_tell() -> None:
    """Every value is a fit of its own, and the deviance says what it costs."""
    fit = exact("x -> m -> y", seed=4)
    row = fit.robustness("x ~> y", "m <-> y").rows[0]
    assert row.held_by_data
    assert row.value is not None
    there = refitted(fit, "m <-> y", row.value)
    assert float(there.query("x ~> y").value) == pytest.approx(0.0, abs=1e-5)
    assert row.deviance == pytest.approx(2.0 * (fit.loglik - there.loglik), rel=1e-6)
    present = fit.robustness("x ~> y", "x -> m").rows[0]
    assert (present.smallest, present.value) == (0.0, 0.0)  # without the arrow there is no effect


def test_an_edge_that_changes_nothing() -> None:
    row = exact("z -> x -> y; x <-> y", seed=1).robustness("x -> y", "z <-> x").rows[0]
    assert (row.smallest, row.value, row.rv, row.lost) == (None, None, None, None)


def _largest(sigma: np.ndarray, T: np.ndarray, pairs: list[tuple[int, int]]) -> float:
    A = np.eye(len(sigma)) - T
    errors = A.T @ sigma @ A
    sizes = np.sqrt(np.diag(errors))
    return max(abs(errors[i, j] / (sizes[i] * sizes[j])) for i, j in pairs)


def test_one_limit_for_all_arcs_of_the_front_door() -> None:
    """The effect is a product, so one of the two weights is zero: the other on a fine grid."""
    found = front_door().robustness("x ~> y")
    best = 1.0
    for weight in np.linspace(-1.5, 2.5, 8001):
        for a, b in ((0.0, weight), (weight, 0.0)):
            T = np.array([[0.0, a, 0.0], [0.0, 0.0, b], [0.0, 0.0, 0.0]])
            best = min(best, _largest(SIGMA, T, [(0, 1), (1, 2)]))
    assert found.common_arcs == pytest.approx(best, abs=2e-4)
    assert found.common_arcs is not None
    assert found.common_arcs <= best + 1e-9
    assert found.common is not None
    assert found.common <= found.common_arcs
    assert found.common_rv == pytest.approx(robustness_value(found.common_arcs))
    assert found.common_arcs <= min(row.smallest or 1.0 for row in found.rows if "<->" in row.edge)


def test_one_limit_for_all_arcs_of_a_regression() -> None:
    """x -> y is zero: the weights of w on x and y on a grid."""
    sigma = np.array([[1.0, 0.6, 0.74], [0.6, 1.36, 1.094], [0.74, 1.094, 1.9076]])
    found = ht.fit("w -> {x, y}; x -> y", cov=sigma, names=["w", "x", "y"], n=100).robustness("x -> y")
    best = 1.0
    for a in np.linspace(-0.2, 1.6, 361):
        for b in np.linspace(-0.2, 1.6, 361):
            T = np.array([[0.0, a, b], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
            best = min(best, _largest(sigma, T, [(0, 1), (0, 2), (1, 2)]))
    assert found.common_arcs == pytest.approx(best, abs=5e-3)
    assert found.common_arcs is not None
    assert found.common_arcs <= best + 1e-9


def test_all_edges_at_once_are_those_one_by_one() -> None:
    fit = front_door()
    found = fit.robustness("x ~> y")
    assert {row.edge for row in found.rows} == {"x <-> m", "m <-> y", "x -> y"}
    for row in found.rows:
        alone = fit.robustness("x ~> y", row.edge).rows[0]
        assert alone.smallest == row.smallest
    sizes = [row.smallest for row in found.rows]
    assert sizes == sorted(size for size in sizes if size is not None)
    assert list(found.to_frame()["edge"]) == [row.edge for row in found.rows]


OPEN = "a -> x; a -> y; x -> y; x <-> y"


def open_fit() -> ht.Fit:
    """Data leave x -> y open, and with it the error variance of y; a ~> y they tell."""
    rows = np.random.default_rng(3).normal(size=(300, 3))
    return ht.fit(OPEN, dict(zip("axy", (rows @ [[1.0, 0.5, 0.4], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]]).T, strict=True)))


def test_an_edge_that_leaves_the_answer_open_does_not_spoil_the_others() -> None:
    """With a <-> x the effect of a runs through x -> y, too."""
    fit = open_fit()
    found = fit.robustness("a ~> y")
    assert [row.edge for row in found.rows] == ["a <-> y"]
    assert found.rows[0] == fit.robustness("a ~> y", "a <-> y").rows[0]
    said = next(n for n in found.notes if n.code == "undetermined beside an edge")
    assert said.facts["edges"] == "a <-> x"
    assert "zero however weak they are" in str(found)
    with pytest.raises(ht.NotIdentifiedError):
        fit.robustness("a ~> y", "a <-> x")
    left = fit.bounds("a ~> y", assume=[str(said.facts["assume"])])
    assert (left.low, left.high) == (-np.inf, np.inf)


def test_no_correlation_is_given_where_an_error_variance_is_open() -> None:
    """The covariance of a <-> y at which a ~> y is zero is Cov(a, y); its correlation depends on x -> y."""
    fit = open_fit()
    covariance = float(fit.model.cov[0, 2])
    (row,) = fit.robustness("a ~> y", "a <-> y").rows
    assert row.value == pytest.approx(covariance, rel=1e-9)
    assert row.lost_value is not None
    assert 0.0 < row.lost_value < covariance
    assert (row.smallest, row.rv, row.lost, row.lost_rv) == (None, None, None, None)
    (ranked,) = (r for r in fit.assumptions("a ~> y").carrying if r.edge == "a <-> y")
    assert ranked.value == pytest.approx(covariance, rel=1e-9)
    assert (ranked.smallest, ranked.rv) == (None, None)
    assert np.isnan(ranked.slope)
    curve = fit.sensitivity("a ~> y", edge="a <-> y")
    assert isinstance(curve, Sensitivity)
    assert curve.zero == pytest.approx(covariance, rel=1e-9)
    assert np.isnan(curve.correlation).all()
    assert np.isfinite(curve.estimates).all()
    assert "the answer is zero at a covariance of" in str(curve)
    for found in (curve, fit.robustness("a ~> y")):
        assert "no correlation" in [n.code for n in found.notes]


def test_the_units_do_not_matter() -> None:
    factors = np.array([1e3, 1e-3, 7.0])
    scaled = ht.fit(FRONT_DOOR, cov=SIGMA * np.outer(factors, factors), names=["x", "m", "y"], n=500)
    for edge in ("x <-> m", "x -> y"):
        one, other = (fit.robustness("x ~> y", edge).rows[0] for fit in (front_door(), scaled))
        assert one.smallest == pytest.approx(other.smallest, rel=1e-8)
        assert one.lost == pytest.approx(other.lost, rel=1e-5)


def test_the_robustness_value() -> None:
    """A hidden cause that explains v of both ends makes their errors correlate by that much."""
    for v in (0.0, 0.01, 0.3, 0.9):
        rho = np.sqrt(v * v / (1.0 - v + v * v))
        assert robustness_value(float(rho)) == pytest.approx(v, abs=1e-12)
    assert robustness_value(1.0) == 1.0


def test_words() -> None:
    text = regression("plain").robustness("directlyharmed -> peacefactor").summary()
    assert "zero at" in text
    assert "0.0719" in text
    assert "fit.assumptions(...) lists every one" in text
    with pytest.raises(ht.InputError, match="target"):
        front_door().robustness("x ~> y", target=float("nan"))


def test_a_ratio_is_looked_for_at_one_where_its_difference_is_zero() -> None:
    rng = np.random.default_rng(0)
    age = rng.normal(size=2000)
    drug = age + rng.normal(size=2000)
    ill = 3.0 + 0.5 * drug + 0.5 * age + rng.normal(size=2000)
    fit = ht.fit("age -> {drug, ill}; drug -> ill", {"age": age, "drug": drug, "ill": ill})
    worlds = "ill | do(drug=1) : do(drug=0)"
    zero = fit.robustness(f"RD({worlds})", "drug <-> ill").rows[0]
    for ratio in (f"RR({worlds})", f"OR({worlds})"):
        found = fit.robustness(ratio, "drug <-> ill")
        assert found.target == 1.0
        assert found.rows[0].value == pytest.approx(zero.value, rel=1e-6)
        assert fit.assumptions(ratio).target == 1.0
    assert fit.robustness(f"RR({worlds})", "drug <-> ill", target=0.5).target == 0.5
    assert fit.assumptions("(age -> drug) * (drug -> ill) / (age ~> ill)").target == 0.0  # a share of effects
