"""Many models with one covariance, as questions take them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, total_effects


@dataclass(frozen=True, eq=False)
class FibreModels:
    """Parameters with leading axes; ``queries.values_of`` and ``queries.gradients_of`` take them as they are."""

    graph: Graph
    names: tuple[str, ...]
    T: Floats
    C: Floats
    omega: Floats
    sigma: Floats
    m: Floats

    @cached_property
    def W(self) -> Floats:
        """Error covariances without the hidden causes."""
        if not self.C.shape[-2]:
            return self.omega
        return np.asarray(self.omega - np.swapaxes(self.C, -1, -2) @ self.C)

    @property
    def noise(self) -> Floats:
        """Noise variances."""
        return np.asarray(np.einsum("...ii->...i", self.W))

    @cached_property
    def mu(self) -> Floats:
        """Intercepts, which give the means m."""
        return np.asarray(self.m - (self.m[..., None, :] @ self.T)[..., 0, :])

    @cached_property
    def B(self) -> Floats:
        """Total effects."""
        return total_effects(self.T)

    @property
    def mean(self) -> Floats:
        """Means of the variables."""
        return np.broadcast_to(self.m, self.T.shape[:-1])

    @property
    def cov(self) -> Floats:
        """Covariance of the variables: the same in all."""
        return np.broadcast_to(self.sigma, self.T.shape)

    def one(self, at: int | tuple[int, ...] = ()) -> CGLSCM:
        """One of the models by itself."""
        W = np.array(self.W[at])
        joined = {(self.names.index(u), self.names.index(v)) for u, v in self.graph.bidirected}
        keep = np.eye(len(W), dtype=bool)
        for i, j in joined:
            keep[i, j] = keep[j, i] = True
        return CGLSCM(
            self.names,
            self.T[at],
            self.C[at],
            self.mu[at],
            np.where(keep, W, 0.0),
            tuple(self.graph.latents),
            self.graph,
        )
