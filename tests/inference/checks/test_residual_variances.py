"""Variances of residual covariances, against matrices written out pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.inference.checks.residuals import _followed, residual_variances
from halftrek.inference.information.tangent import tangent

GRAPHS = (
    "a -> b -> c -> d -> e; a -> d; b <-> d; c <-> e",
    "a -> b -> c -> d; b <-> d; d -> e; a -> e",
    "k*a -> b; k*b -> c; c -> d; d -> e; c <-> e",
)


@pytest.mark.parametrize("graph", GRAPHS)
def test_variances_from_vectors_are_those_from_matrices(graph: str) -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((60, 5)) @ (np.eye(5) + 0.4 * rng.standard_normal((5, 5)))
    coefficients = {"a -> b": "k", "b -> c": "k"} if "k*" in graph else None
    table = dict(zip("abcde", rows.T, strict=True))
    fit = ht.fit(graph.replace("k*", ""), table, coefficients=coefficients)
    S, near = fit.moments.cov, tangent(fit)
    directions, H = _followed(near)
    unit, found = np.eye(5), residual_variances(near, S)
    for i in range(5):
        for j in range(5):
            pair = (np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i])) / 2.0
            M = pair - np.einsum("k,kab->ab", directions[:, i, j], H)
            assert found[i, j] == pytest.approx(2.0 * np.trace(M @ S @ M @ S), rel=1e-9, abs=1e-11)
