"""Groups of few rows, whose likelihoods have several maxima, against fits of each alone."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht


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
