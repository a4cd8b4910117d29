"""The least largest of many functions, against answers that are known and a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from halftrek.bottom.arrays import Floats
from halftrek.partial.varied.engine.minimax import least_largest


@pytest.mark.parametrize("seed", range(5))
def test_on_a_plane_it_is_the_dual_norm(seed: int) -> None:
    along = np.random.default_rng(seed).standard_normal(40)

    found = least_largest(
        lambda z: (z, np.eye(40)), lambda z: (float(along @ z) - 1.0, along), np.zeros(40)
    )  # min |z|_inf on a'z = 1 is 1 / |a|_1

    assert float(along @ found) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(found).max() == pytest.approx(1.0 / np.abs(along).sum(), rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_with_bends_it_is_no_worse_than_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, Q, c = rng.standard_normal((12, 6)), 0.3 * rng.standard_normal((12, 6, 6)), rng.standard_normal(6)
    Q = Q + Q.transpose(0, 2, 1)
    along = c / (c @ c)

    def limited(z: Floats) -> tuple[Floats, Floats]:
        return A @ z + 0.5 * Q @ z @ z, A + Q @ z

    def surface(z: Floats) -> tuple[float, Floats]:
        return float(c @ z + z @ z) - 0.5, c + 2.0 * z

    found = least_largest(limited, surface, np.zeros(6))
    assert abs(surface(found)[0]) < 1e-10
    best = min(
        (
            minimize(
                lambda x: x[-1],
                np.append(start, np.abs(limited(start)[0]).max()),
                constraints=[
                    {
                        "type": "ineq",
                        "fun": lambda x: np.concatenate([x[-1] - limited(x[:-1])[0], x[-1] + limited(x[:-1])[0]]),
                    },
                    {"type": "eq", "fun": lambda x: surface(x[:-1])[0]},
                ],
                method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-12},
            )
            for start in (0.1 * along, found)
        ),
        key=lambda end: end.fun if end.success else np.inf,
    )
    assert np.abs(limited(found)[0]).max() <= best.fun * (1.0 + 1e-3)
