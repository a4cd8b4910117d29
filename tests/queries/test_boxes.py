"""A normal variable given that others lie in boxes: beside probabilities of boxes one by one, and beside draws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.queries.normal.events import box_probability
from halftrek.queries.observed import boxes
from halftrek.queries.observed.boxes import Boxed


def units(count: int, seed: int) -> Boxed:
    """Three units with boxes of all sorts."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(count + 1, count + 1)) + 2.0 * np.eye(count + 1)
    cov = root @ root.T
    low = np.where(rng.random((3, count)) < 0.4, -np.inf, rng.normal(size=(3, count)) - 0.7)
    high = np.where(rng.random((3, count)) < 0.4, np.inf, np.maximum(low, -1.0) + rng.random((3, count)) + 0.5)
    return Boxed(rng.normal(size=(3, count + 1)), cov, low, high)


def one_by_one(found: Boxed, cuts: Floats) -> Floats:
    """The slow way: a ratio of two probabilities for each unit and cut."""
    root = np.linalg.cholesky(found.cov).T
    shares = np.empty((len(found.mean), len(cuts)))
    for i, mean in enumerate(found.mean):
        low, high = np.append(found.low[i], -np.inf), np.append(found.high[i], np.inf)
        whole = box_probability(mean, root, low, high)
        for c, cut in enumerate(cuts):
            shares[i, c] = box_probability(mean, root, low, np.append(found.high[i], cut)) / whole
    return shares


@pytest.mark.parametrize(("count", "near"), [(0, 1e-14), (1, 1e-12), (2, 1e-7), (3, 2e-4)])
@pytest.mark.parametrize("seed", range(3))
def test_shares_are_ratios_of_probabilities(count: int, near: float, seed: int) -> None:
    found, cuts = units(count, seed), np.array([-1.5, 0.1, 2.0])
    np.testing.assert_allclose(found.below(cuts), one_by_one(found, cuts), atol=near)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [2, 3, 4])
def test_more_points_change_next_to_nothing(count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found, cuts = units(count, seed), np.array([-1.5, 0.1, 2.0])
    usual = found.below(cuts)
    monkeypatch.setattr(boxes, "GRID", {1: 96, 2: 60, 3: 44})
    boxes.nodes.cache_clear()
    np.testing.assert_allclose(usual, found.below(cuts), atol=2e-4 if count == 4 else 1e-6)
    boxes.nodes.cache_clear()


@pytest.mark.parametrize("count", [5, 8, 12, 16])
@pytest.mark.parametrize("load", [0.5, 0.9])
def test_a_lattice_is_right_to_a_thousandth(count: int, load: float) -> None:
    """Items of one factor, so that the factor alone is integrated over: given it, they are independent."""
    along = np.full(count + 1, load) * np.where(np.arange(count + 1) % 2, 1.0, -0.8)
    cov = np.outer(along, along)
    np.fill_diagonal(cov, 1.0)
    rng, edges = np.random.default_rng(count), np.array([-np.inf, -1.0, -0.3, 0.3, 1.0, np.inf])
    codes = np.digitize(rng.multivariate_normal(np.zeros(count + 1), cov, size=6)[:, :-1], edges[1:-1])
    found = Boxed(np.zeros((6, count + 1)), cov, edges[codes], edges[codes + 1])
    at = np.linspace(-8.0, 8.0, 4001)
    noise = np.sqrt(1.0 - along**2)
    shares = np.ones((6, len(at))) * norm.pdf(at)
    for k in range(count):
        high, low = (norm.cdf((edges[codes[:, k] + s][:, None] - along[k] * at) / noise[k]) for s in (1, 0))
        shares = shares * (high - low)
    cuts = np.array([-0.5, 0.4])
    whole = shares.sum(axis=1, keepdims=True)
    truth = shares @ norm.cdf((cuts - along[-1] * at[:, None]) / noise[-1]) / whole
    np.testing.assert_allclose(found.below(cuts), truth, atol=1e-3)
    mean = shares @ (along[-1] * at) / whole[:, 0]
    np.testing.assert_allclose(found.moments()[:, 0], mean, atol=1e-3)
    np.testing.assert_allclose(replace(found, coarse=True).below(cuts), truth, atol=2e-2)


def test_a_lattice_says_when_it_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    found = units(6, 0)
    monkeypatch.setattr(boxes, "NEAR", 1e-12)
    found.below(np.array([0.0]))
    monkeypatch.setattr(boxes, "FAR", 1e-12)
    with pytest.raises(QueryError, match="the 6 columns in categories that were seen go together so closely"):
        found.below(np.array([0.0]))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_moments_are_those_of_draws(count: int) -> None:
    found = units(count, 4)
    rng = np.random.default_rng(5)
    assert len(found.mean) > 0
    for i, mean in enumerate(found.mean):
        drawn = rng.multivariate_normal(mean, found.cov, size=400_000)
        kept = drawn[((drawn[:, :-1] > found.low[i]) & (drawn[:, :-1] < found.high[i])).all(axis=1), -1]
        near = 5.0 * kept.std() / np.sqrt(len(kept))
        first, second = found.moments()[i]
        assert abs(first - kept.mean()) < near
        assert abs(np.sqrt(second - first**2) - kept.std()) < near


@pytest.mark.parametrize("count", [1, 2])
def test_an_outcome_that_a_box_determines(count: int) -> None:
    """The outcome is the first variable in a box, turned round and moved: below a cut is above another."""
    cov = np.array([[1.0, 0.5], [0.5, 1.0]])[:count, :count]
    whole = np.block([[cov, -2.0 * cov[:, :1]], [-2.0 * cov[:1], 4.0 * cov[:1, :1]]])
    low, high = np.full((1, count), -0.3), np.full((1, count), 0.9)
    found = Boxed(np.zeros((1, count + 1)), whole, low, high, exact=True)
    root = np.linalg.cholesky(cov).T
    zero = np.zeros(count)
    part = box_probability(zero, root, np.append(0.2, low[0, 1:]), high[0])  # -2 d < -0.4 where d > 0.2
    share = part / box_probability(zero, root, low[0], high[0])
    np.testing.assert_allclose(found.below(np.array([-0.4])), [[share]], atol=1e-9)


def test_an_outcome_whose_variance_is_less_than_nothing_by_rounding_has_moments() -> None:
    cov = np.array([[1.0, 0.0], [0.0, -1e-17]])
    with np.errstate(invalid="raise"):
        found = Boxed(np.array([[0.0, 3.0]]), cov, np.array([[-1.0]]), np.array([[1.0]]), exact=True).moments()
    np.testing.assert_allclose(found, [[3.0, 9.0]], rtol=1e-9)


def test_far_boxes_keep_their_digits_and_impossible_ones_have_no_answer() -> None:
    cov = np.array([[1.0, 0.6], [0.6, 1.0]])
    far = [Boxed(np.zeros((1, 2)), cov * s, np.array([[a]]), np.array([[b]])) for s, a, b in ((1.0, 5.0, 6.0),)]
    upper = far[0].moments()[0, 0]
    lower = Boxed(np.zeros((1, 2)), cov, np.array([[-6.0]]), np.array([[-5.0]])).moments()[0, 0]
    assert upper == pytest.approx(-lower, rel=1e-12)
    assert np.isnan(Boxed(np.zeros((1, 2)), cov, np.array([[20.0]]), np.array([[21.0]])).moments()).all()


@pytest.mark.parametrize("count", [4, 5, 9, 17, 24])
def test_boxes_of_many_variables_with_one_cause(count: int) -> None:
    """Given what they have in common they are independent: one integral, whatever their number."""
    low, high, loading = np.linspace(-2.5, -1.0, count), np.linspace(0.8, 2.5, count), np.sqrt(0.4)
    root = np.linalg.cholesky(0.4 + 0.6 * np.eye(count)).T

    def given(common: float) -> float:
        inside = ndtr((high - loading * common) / np.sqrt(0.6)) - ndtr((low - loading * common) / np.sqrt(0.6))
        return float(np.exp(-0.5 * common**2) / np.sqrt(2.0 * np.pi) * inside.prod())

    expected = quad(given, -9.0, 9.0, epsabs=1e-12)[0]
    assert box_probability(np.zeros(count), root, low, high) == pytest.approx(expected, rel=1e-4)


def test_an_event_may_have_more_variables_than_a_list_of_primes() -> None:
    names = [f"v{k}" for k in range(20)]
    model = ht.CGLSCM.from_parameters(names=names, T=np.zeros((20, 20)), mu=np.full(20, 2.0))
    answer = model.query(f"P({', '.join(f'{v} > 0' for v in names)})")
    assert answer.value == pytest.approx(ndtr(2.0) ** 20, rel=1e-9)
