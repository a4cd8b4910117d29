"""The kernels against NumPy's public functions."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.models import kernels


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("size", [0, 1, 2, 5, 40])
def test_kernels_do_what_numpy_does(size: int, present: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_PRESENT", present and kernels._PRESENT)
    rng = np.random.default_rng(size)
    root = rng.standard_normal((size, size + 3))
    matrix, right = root @ root.T, rng.standard_normal(size)
    with kernels.quiet():
        np.testing.assert_allclose(kernels.cholesky(matrix), np.linalg.cholesky(matrix))
        np.testing.assert_allclose(kernels.inverse(matrix), np.linalg.inv(matrix))
        np.testing.assert_allclose(kernels.solve(matrix, right), np.linalg.solve(matrix, right))


@pytest.mark.parametrize("present", [True, False])
def test_what_cannot_be_factored_raises_without_a_warning(present: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_PRESENT", present and kernels._PRESENT)
    flat = np.ones((3, 3))
    with kernels.quiet():
        with pytest.raises(np.linalg.LinAlgError):
            kernels.cholesky(flat - np.eye(3))
        with pytest.raises(np.linalg.LinAlgError):
            kernels.inverse(np.zeros((3, 3)))
        with pytest.raises(np.linalg.LinAlgError):
            kernels.solve(np.zeros((3, 3)), np.ones(3))


def test_this_numpy_has_them() -> None:
    assert kernels._PRESENT  # if not: only slower, but it should be known
