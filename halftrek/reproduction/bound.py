"""The Cramér-Rao bound of a query: the least variance that an unbiased estimate from ``n`` rows can have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import NotIdentifiedError
from halftrek.models import CGLSCM

Noise = Literal["free", "unit"]


class Parameter(NamedTuple):
    """A free parameter, an entry of T, C, mu or psi; ``head`` is the variable whose equation it is in."""

    kind: Literal["T", "C", "mu", "psi"]
    tail: int
    head: int


def parameters(model: CGLSCM, noise: Noise) -> list[Parameter]:
    """The free parameters of a model without bidirected edges."""
    at = {v: i for i, v in enumerate(model.names)}
    found = [Parameter("T", at[u], at[v]) for u, v in model.graph.directed]
    found += [Parameter("C", k, at[v]) for k, u in enumerate(model.latents) for v in model.graph.latents[u]]
    found += [Parameter("mu", j, j) for j in at.values()]
    return found + ([Parameter("psi", j, j) for j in at.values()] if noise == "free" else [])


def derivatives(model: CGLSCM, theta: list[Parameter]) -> tuple[Floats, Floats]:
    """Derivatives of the mean ``B'mu`` and covariance ``B' Omega B``, one for each parameter.

    With ``dB = B dT B`` the entry ``T[i,j]`` moves the mean by ``m_i b_j`` and the covariance by
    ``Sigma_i b_j' + b_j Sigma_i'``, where ``b_j`` is row j of B.
    """
    B, mean, cov = model.B, model.mean, model.cov
    d_mean, d_cov = np.zeros((len(theta), len(mean))), np.zeros((len(theta), *cov.shape))
    for a, (kind, i, j) in enumerate(theta):
        if kind == "mu":
            d_mean[a] = B[j]
        elif kind == "psi":
            d_cov[a] = np.outer(B[j], B[j])
        else:
            half = np.outer(cov[:, i] if kind == "T" else model.C[i] @ B, B[j])
            d_cov[a] = half + half.T
            if kind == "T":
                d_mean[a] = mean[i] * B[j]
    return d_mean, d_cov


def information(model: CGLSCM, theta: list[Parameter]) -> Floats:
    """Expected information of one row: ``dm'Σ⁻¹dm + ½ tr(Σ⁻¹ dΣ Σ⁻¹ dΣ)``."""
    d_mean, d_cov = derivatives(model, theta)
    precision = np.linalg.inv(model.cov)
    scaled = precision @ d_cov
    return np.asarray(d_mean @ precision @ d_mean.T + 0.5 * np.einsum("aij,bji->ab", scaled, scaled))


def query_gradients(
    model: CGLSCM, theta: list[Parameter], do: Mapping[str, float], outcome: str
) -> tuple[Floats, Floats]:
    """Gradients of mean and variance of the outcome under ``do``: those of the edited model.

    Parameters in the equation of a variable that is held at a value have no say in it.
    """
    d_mean, d_cov = derivatives(model.do(do), theta)
    y, held = model.names.index(outcome), [model.names.index(v) for v in do]
    alive = np.array([p.head not in held for p in theta], dtype=float)
    return d_mean[:, y] * alive, d_cov[:, y, y] * alive


def cramer_rao(model: CGLSCM, noise: Noise, do: Mapping[str, float], outcome: str, rows: int) -> tuple[float, float]:
    """Bounds on the variance of estimates of the mean and of the variance of the outcome: ``g' I⁺ g / n``.

    Where the information is singular, as with free noise variances, the bound exists only for a gradient in its range.
    """
    theta = parameters(model, noise)
    values, vectors = np.linalg.eigh(information(model, theta))
    kept = values > 1e-10 * values[-1]
    bounds = []
    for gradient in query_gradients(model, theta, do, outcome):
        along = vectors.T @ gradient
        if np.linalg.norm(along[~kept]) > 1e-6 * max(1.0, float(np.linalg.norm(gradient))):
            raise NotIdentifiedError(
                f"the distribution of {outcome!r} under do({', '.join(do)}) is not identified here"
            )
        bounds.append(float(np.sum(along[kept] ** 2 / values[kept]) / rows))
    return bounds[0], bounds[1]
