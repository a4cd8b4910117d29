"""Groups of few rows, whose likelihoods have several maxima, against fits of each alone."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.estimation.district.shape import Problem
from halftrek.estimation.many.batch import fit_batch

GRAPHS = {
    "both have regressors": "z -> x -> m -> y; w -> y; x <-> y",
    "one has none": "x -> m -> y; x <-> y",
    "one in common": "z -> x -> m; z -> y; w -> y; x <-> y",
    "an instrument": "z -> x -> y; x <-> y",
    "two instruments": "z -> x -> y; w -> x; x <-> y",
    "an instrument and more": "z -> x -> y; w -> y; x <-> y",
    "two of a kind": "z -> x; w -> y; a -> b; c -> d; x <-> y; b <-> d",
}


def moments_of(names: tuple[str, ...], n: int, groups: int) -> tuple[Floats, Floats]:
    """Rows of variables all of which have to do with each other a little, so that the graphs are wrong as well."""
    rng = np.random.default_rng([n, len(names)])
    rows = rng.normal(size=(groups, n, len(names))) + 0.6 * rng.normal(size=(groups, n, 1))
    rows += 0.5 * np.cumsum(rows, axis=2) * rng.uniform(-1.0, 1.0, size=(groups, 1, len(names)))
    centred = rows - rows.mean(axis=1, keepdims=True)
    return rows.mean(axis=1), centred.transpose(0, 2, 1) @ centred / n


@pytest.mark.parametrize("n", [9, 12, 30])
@pytest.mark.parametrize("name", GRAPHS)
def test_maxima_from_roots_are_never_lower_than_those_of_a_search(
    name: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = ht.graph(GRAPHS[name])
    mean, cov = moments_of(graph.observed, n, 150)
    quick = fit_batch(graph, cov=cov, mean=mean, n=n, few_rows=True)
    monkeypatch.setattr(Problem, "two_equations", False)
    slow = fit_batch(graph, cov=cov, mean=mean, n=n, few_rows=True, starts=20)
    gain = quick.loglik - slow.loglik
    assert gain.min() > -1e-6
    assert (quick.converged | ~slow.converged).all()
    same = (quick.code == "converged") & (slow.code == "converged") & (gain < 1e-6)
    assert same.mean() > 0.9
    np.testing.assert_allclose(quick.T[same], slow.T[same], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(quick.W[same], slow.W[same], rtol=1e-4, atol=1e-6)


def test_small_groups_with_several_maxima_are_as_if_fitted_alone() -> None:
    rng = np.random.default_rng(8)
    n, groups = 10, 300  # few rows: steps are damped, and some groups are searched again
    z, w, u = rng.standard_normal((3, n * groups))
    x = 0.8 * z + u + rng.standard_normal(n * groups)
    m = 0.6 * x + rng.standard_normal(n * groups)
    y = 0.5 * m + 0.3 * w + u + rng.standard_normal(n * groups)
    table = {"z": z, "w": w, "x": x, "m": m, "y": y, "group": np.repeat(np.arange(groups), n)}
    graph = "z -> x -> m -> y; w -> y; x <-> y"
    fits = ht.fit(graph, table, by="group")
    for i in range(groups):
        alone = ht.fit(graph, {v: column[i * n : (i + 1) * n] for v, column in table.items() if v != "group"})
        assert fits.batch.loglik[i] == pytest.approx(alone.loglik, abs=1e-7)
        np.testing.assert_allclose(fits.batch.T[i], alone.model.T, atol=1e-6)
