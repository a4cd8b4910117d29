"""Data sets of the same rows: likelihoods and slopes are those of the moments of each."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.bottom.arrays import Flags, Floats
from halftrek.data import Patterns, read_patterns
from halftrek.data.missing.layout import Layout, connected
from halftrek.data.missing.likelihood import slope
from halftrek.data.missing.redrawn import Redrawn

P = 6


def some_sets(
    n: int, share: float, *, frequent: int, part: int, sets: int = 4, p: int = P, near: Flags | None = None
) -> tuple[Redrawn, Floats, Floats]:
    """Random rows, drawn again, the rows themselves, and how often each is in a data set."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 3.0
    lacks = rng.random((n, p)) < share
    lacks[np.arange(n), rng.integers(0, p, n)] = False
    rows[lacks] = np.nan
    seen, pattern, many = np.unique(~lacks, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(-many, kind="stable")
    seen, many, pattern = seen[order], many[order], np.argsort(order)[pattern.ravel()]
    centre, scale = np.full(p, 2.5), rng.uniform(0.5, 2.0, p)
    values = np.nan_to_num((rows - centre) / scale)
    i, j = np.triu_indices(p)
    products = np.concatenate([np.ones((n, 1)), values, values[:, i] * values[:, j]], axis=1)
    times = rng.poisson(1.0, size=(n, sets)).astype(float)
    often = np.flatnonzero(many > frequent)
    sums = np.stack([products[pattern == k].T @ times[pattern == k] for k in often] or [np.zeros((0, 0))])
    rare = ~np.isin(pattern, often)
    layout = Layout(
        tuple("abcdefghijkl"[:p]), seen, int((many > 1).sum()), scale, values[rare], pattern[rare], often, part,
        near,
    )  # fmt: skip
    sums = sums.reshape(len(often), products.shape[1], sets)
    return Redrawn(layout, centre, times[rare], sums, products.T @ times), rows, times


def one_by_one(rows: Floats, times: Floats, names: tuple[str, ...]) -> list[Patterns]:
    found = [read_patterns(np.repeat(rows, count.astype(int), axis=0), names) for count in times.T]
    return [one for one in found if isinstance(one, Patterns)]


CASES = [(300, 0.2, 20, 7), (300, 0.2, 1000, 64), (300, 0.2, 0, 64), (60, 0.6, 3, 5), (400, 0.1, 4, 50)]


@pytest.mark.parametrize(("n", "share", "frequent", "part"), CASES)
def test_slopes_are_those_of_the_drawn_rows(n: int, share: float, frequent: int, part: int) -> None:
    """By rows, by sums and by both; rows in parts that are smaller than some patterns."""
    sets, rows, times = some_sets(n, share, frequent=frequent, part=part)
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, P, 9))
    mean, cov = rng.normal(size=(4, P)), root @ root.transpose(0, 2, 1) / 5.0 + np.eye(P)
    found, at_one = sets.slopes(mean, cov), sets.slopes(mean[:1], cov[:1])
    moved = sets.less(np.arange(P) * 1.0).slopes(mean - np.arange(P), cov)
    drawn = list(one_by_one(rows, times, sets.layout.names))
    assert len(drawn) == 4
    for b, alone in enumerate(drawn):
        for got, at in ((found, b), (at_one, 0), (moved, b)):
            wanted = slope(alone, mean[at], cov[at])
            assert got.value[b] == pytest.approx(wanted.value, rel=1e-12)
            np.testing.assert_allclose(got.mean[b], wanted.mean, rtol=1e-9, atol=1e-10 * np.abs(wanted.mean).max())
            np.testing.assert_allclose(got.cov[b], wanted.cov, rtol=1e-9, atol=1e-10 * np.abs(wanted.cov).max())


def few_entries(seed: int, p: int, share: float) -> tuple[Flags, Floats, Floats]:
    """Which pairs may have an entry in inverse covariances, and four means and covariances that are so."""
    rng = np.random.default_rng(seed)
    near = np.triu(rng.random((p, p)) < share, 1)
    near = near | near.T
    inverse = np.where(near, rng.normal(size=(4, p, p)), 0.0)
    inverse = inverse + inverse.transpose(0, 2, 1)
    inverse += np.eye(p) * (1.0 + np.abs(inverse).sum(axis=2))[:, :, None]
    return near, rng.normal(size=(4, p)), np.linalg.inv(inverse)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5])
@pytest.mark.parametrize(
    ("n", "missing", "frequent", "part"), [(400, 0.3, 1000, 64), (400, 0.3, 3, 7), (900, 0.1, 20, 50)]
)
def test_holes_that_nothing_connects_are_worked_on_apart(
    share: float, n: int, missing: float, frequent: int, part: int
) -> None:
    """All slopes along covariances whose inverses have no other entries, by rows and by sums."""
    near, mean, cov = few_entries(n, 8, share)
    sets, rows, times = some_sets(n, missing, frequent=frequent, part=part, p=8, near=near)
    kinds = sets.layout.kinds
    assert len(kinds.holes) < len(sets.layout.observed)
    assert kinds.summed.any()
    found, once = sets.slopes(mean, cov), sets.slopes(mean[:1], cov[:1])
    told = sets.slopes(mean, cov, (np.linalg.inv(cov), -np.linalg.slogdet(cov)[1]))
    along = near | np.eye(8, dtype=bool)
    drawn = one_by_one(rows, times, sets.layout.names)
    assert len(drawn) == 4
    for b, alone in enumerate(drawn):
        for got, at in ((found, b), (once, 0), (told, b)):
            wanted = slope(alone, mean[at], cov[at])
            assert got.value[b] == pytest.approx(wanted.value, rel=1e-12)
            np.testing.assert_allclose(got.mean[b], wanted.mean, rtol=1e-9, atol=1e-10 * np.abs(wanted.mean).max())
            ours, theirs = (cov[at] @ x @ cov[at] for x in (got.cov[b], wanted.cov))
            np.testing.assert_allclose(ours[along], theirs[along], rtol=1e-9, atol=1e-10 * np.abs(theirs).max())


def test_a_first_look_has_half_of_the_digits() -> None:
    near, mean, cov = few_entries(1, 8, 0.4)
    sets, _, _ = some_sets(400, 0.3, frequent=10, part=30, p=8, near=near)
    rough, precise = sets.rough.slopes(mean, cov), sets.slopes(mean, cov)
    cells = np.repeat(np.eye(8, dtype=np.float32).reshape(64, 1), 4, axis=1)
    assert sets.rough.layout.groups[0].pairs.swept(cells)[0].dtype == np.float32
    np.testing.assert_allclose(rough.value, precise.value, rtol=1e-6)
    np.testing.assert_allclose(rough.mean, precise.mean, atol=1e-5 * np.abs(precise.mean).max())
    np.testing.assert_allclose(rough.cov, precise.cov, atol=1e-5 * np.abs(precise.cov).max())
    assert (rough.mean != precise.mean).any()


def test_sets_of_connected_holes_are_those_of_a_search_hole_by_hole() -> None:
    rng = np.random.default_rng(4)
    near = few_entries(3, 9, 0.25)[0] | np.eye(9, dtype=bool)
    holes = rng.random((200, 9)) < 0.4

    def reached(which: set[int], start: int) -> frozenset[int]:
        found = {start}
        while more := {j for i in found for j in which if near[i, j]} - found:
            found |= more
        return frozenset(found)

    wanted = {
        (k, reached(which, j))
        for k, flags in enumerate(holes)
        for which in [set(np.flatnonzero(flags).tolist())]
        for j in which
    }
    sets, owner = connected(holes, near)
    assert len(wanted) == len(sets) > len(holes)
    assert {(int(k), frozenset(np.flatnonzero(own).tolist())) for k, own in zip(owner, sets, strict=True)} == wanted


def test_many_holes_are_inverted_as_matrices() -> None:
    sets, rows, times = some_sets(80, 0.75, frequent=1000, part=30, p=12)
    assert (~sets.layout.observed).sum(axis=1).max() > 8
    cov = np.eye(12) + 0.3
    found = sets.slopes(np.zeros((4, 12)), np.repeat(cov[None], 4, axis=0))
    for b, alone in enumerate(one_by_one(rows, times, sets.layout.names)):
        wanted = slope(alone, np.zeros(12), cov)
        assert found.value[b] == pytest.approx(wanted.value, rel=1e-12)
        np.testing.assert_allclose(found.cov[b], wanted.cov, rtol=1e-9, atol=1e-10 * np.abs(wanted.cov).max())


def test_each_has_the_patterns_of_its_rows() -> None:
    sets, rows, times = some_sets(90, 0.3, frequent=5, part=20)
    some = sets.take(np.array([False, True, False, True]))
    assert len(some) == 2
    wanted = one_by_one(rows, times[:, [1, 3]], sets.layout.names)
    for b, (got, alone) in enumerate(zip(some.patterns(), wanted, strict=True)):
        place = {flags.tobytes(): k for k, flags in enumerate(got.observed)}
        at = [place[flags.tobytes()] for flags in alone.observed]
        assert len(got) == len(alone)
        np.testing.assert_allclose(got.n[at], alone.n)
        np.testing.assert_allclose(got.mean[at], alone.mean, atol=1e-12)
        for k, cov in zip(at, alone.cov, strict=False):  # all draws of a single row are alike
            np.testing.assert_allclose(got.cov[k] if k < len(got.cov) else 0.0, cov, atol=1e-12)
        np.testing.assert_allclose(some.variances[b], alone.available[1], rtol=1e-10)
        assert some.total[b] == alone.total


def test_a_covariance_that_is_none_has_no_likelihood() -> None:
    sets, _, _ = some_sets(60, 0.3, frequent=5, part=20)
    cov = np.repeat(np.eye(P)[None], 4, axis=0)
    cov[1, 0, 0] = -1.0
    with np.errstate(all="ignore"):
        found = sets.slopes(np.zeros((4, P)), cov)
    assert np.isfinite(found.value).tolist() == [True, False, True, True]
